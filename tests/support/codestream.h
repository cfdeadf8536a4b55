// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What decoders do not look at, checked on any codestream: that every length in it is true.
#pragma once

#include <cstdint>
#include <vector>

#include "support/codestream_parser.h"

namespace cj2k::test {

/// The codestream itself: behind the boxes of a JP2 file, whose jp2c box must be the last (T.800
/// I.5.4).
Bytes find_codestream(const std::vector<uint8_t>& bytes);

/// Fails the running test where TLM or PLT disagree with the tile-parts, tile-parts are out of
/// order, SOP numbers are out of order (where PLT tells the packets), a marker code stands inside
/// packets, or bytes follow EOC.
ParsedCodestream check_codestream(const std::vector<uint8_t>& bytes);

}  // namespace cj2k::test
