// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// R'G'B' becomes X'Y'Z' of 12 bits (SMPTE ST 428-1), between ingest and the colour transform.
//
//   linear = (R' / (2^bits - 1))^gamma          for R, G and B
//   X, Y, Z = matrix * linear R, G, B            white has Y = 1
//   X' = round(4095 * (X * 48 / 52.37)^(1/2.6))  for X, Y and Z
//
// The matrix follows from the chromaticities of the primaries and of white (SMPTE RP 177):
//
//             red           green         blue          white
//   rec709    .640  .330    .300  .600    .150  .060    .3127  .3290   ITU-R BT.709
//   p3d65     .680  .320    .265  .690    .150  .060    .3127  .3290   SMPTE EG 432-1
//   p3dci     .680  .320    .265  .690    .150  .060    .3140  .3510   SMPTE RP 431-2
//   rec2020   .708  .292    .170  .797    .131  .046    .3127  .3290   ITU-R BT.2020
//
// White keeps its chromaticity: nothing is adapted to another white.
#pragma once

#include <cstdint>
#include <vector>

#include "cj2k.h"
#include "core/xyz.h"

namespace cj2k {

struct XyzTables {
  std::vector<float> linear;    ///< [2^source bits]
  std::vector<uint32_t> codes;  ///< [XyzCodes::kNumEntries]
  XyzMatrix matrix;
};

/// @param xyz          not CJ2K_XYZ_OFF
/// @param source_bits  of R', G' and B', 1 .. 16
/// Throws std::bad_alloc.
XyzTables make_xyz_tables(cj2k_xyz xyz, double gamma, int32_t source_bits);

/// Rows of R', G' and B' as ingest gives them (level-shifted, source bits) become X', Y' and Z' in
/// place, level-shifted, 12 bits. Deterministic: yes, the same on every target and device.
/// Allocates: no. Thread-safe: yes.
namespace ref {
void xyz_row(const XyzTables& tables, int32_t* r, int32_t* g, int32_t* b, int32_t count);
}
namespace simd {
void xyz_row(const XyzTables& tables, int32_t* r, int32_t* g, int32_t* b, int32_t count);
}

}  // namespace cj2k
