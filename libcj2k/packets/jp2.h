// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The boxes of a JP2 file (T.800 Annex I) around one codestream.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace cj2k {

/// Makes the signature box, the file type box, the JP2 header box (ihdr, bpcc, colr, cdef, res), the
/// caller's boxes, and the 8-byte header of the jp2c box, with length 0. colr has an enumerated
/// colour space, or an ICC profile: the caller's, or ours where no enumerated space fits
/// (icc_profile.h). If there are more components than colours in the space, cdef declares each one:
/// as colour, as opacity (the last one, with `alpha`) or as unspecified.
std::vector<uint8_t> make_jp2_boxes(const Plan& plan);

/// Fills in LBox of the jp2c box. If the box is too long for 32 bits, LBox stays 0, which means "to
/// the end of the file" (I.4). So the size of the boxes does not depend on the codestream.
/// @param boxes_end  the byte after a copy of make_jp2_boxes()
void set_jp2c_bytes(uint8_t* boxes_end, uint64_t codestream_bytes);

}  // namespace cj2k
