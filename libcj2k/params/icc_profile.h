// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Restricted ICC profiles (T.800 I.5.3.3): those that a JP2 file may contain. A colour profile has
// a 3x3 matrix and three curves, a grey profile has one curve.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "cj2k.h"

namespace cj2k {

/// Largest profile that is accepted. Matrices and curves take a few kilobytes.
inline constexpr size_t kMaxIccBytes = size_t{1} << 20;

/// True if the enumerated colour spaces of JP2 (16 sRGB, 17 grey, 18 sYCC) do not describe the
/// samples, so that the file gets make_icc_profile(). sYCC is always enumerated: a restricted
/// profile has no YCbCr.
/// @param p  resolved: colorspace is not AUTO
bool needs_icc_profile(const cj2k_params& p);

/// The profile of colorspace, primaries and transfer. ICC version 2.1, about 450 bytes, and 500
/// more with the sRGB curve. The same parameters give the same bytes.
/// X'Y'Z' is that of SMPTE ST 428-1: gamma 2.6, 52.37 / 48 at full scale. White is that of
/// SMPTE RP 431-2, 48 cd/m2 at x 0.314, y 0.351.
/// @param p  resolved, needs_icc_profile(p), and transfer is neither PQ nor HLG
std::vector<uint8_t> make_icc_profile(const cj2k_params& p);

/// Checks the caller's profile: size and signature, version 2 or 4, class input or display, RGB
/// (three colours) or GRAY (one), PCS XYZ, all the tags of the matrix and the curves inside of it
/// and of their types, no lookup table.
/// @param colours  1 or 3
/// @return kOk | kInvalid, with the reason
Status check_icc_profile(const void* data, size_t bytes, int colours, const Log& log);

}  // namespace cj2k
