// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The boxes of a JP2 file (T.800 Annex I) around one codestream.
#pragma once

#include <cstdint>
#include <vector>

#include "plan.h"

namespace cj2k {

/// Signature, file type, JP2 header (ihdr, bpcc, colr, cdef), and the 8-byte header of the jp2c
/// box, its length still 0. Where there are components beyond the colours of the enumerated
/// space, cdef declares each: as colour, as opacity (the last one, with `alpha`) or as unspecified.
std::vector<uint8_t> make_jp2_boxes(const Plan& plan);

/// Fills in LBox of the jp2c box. A codestream too long for 32 bits leaves 0, "to the end of the
/// file" (I.4): so the boxes have the same size whatever they hold.
/// @param boxes_end  the byte after a copy of make_jp2_boxes()
void set_jp2c_bytes(uint8_t* boxes_end, uint64_t codestream_bytes);

}  // namespace cj2k
