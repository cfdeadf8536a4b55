// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Checks of any codestream for what decoders ignore: every length in it must be true.
#pragma once

#include <cstdint>
#include <vector>

#include "support/codestream_parser.h"

namespace cj2k::test {

/// The codestream of a raw file or a JP2 file. The jp2c box of a JP2 file must be the last one
/// (T.800 I.5.4).
Bytes find_codestream(const std::vector<uint8_t>& bytes);

/// Fails the running test if
/// - TLM or PLT contradict the tile-parts,
/// - tile-parts are out of order,
/// - SOP numbers are out of order (checked where PLT gives the packets),
/// - there is a marker code inside packets, or
/// - bytes follow EOC.
ParsedCodestream check_codestream(const std::vector<uint8_t>& bytes);

}  // namespace cj2k::test
