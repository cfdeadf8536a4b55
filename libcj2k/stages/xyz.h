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

/// scale(e) * polynomial(m), which is a power of x, times a constant. x has the exponent e, biased as in
/// floats, and the mantissa m in [1, 2). The scale is fine[e % 8] * coarse[e / 8 % 8], rounded; the
/// polynomial is evaluated by fused multiply-adds, from the highest term on.
struct XyzCurve {
  static constexpr uint32_t kScales = 8, kTerms = 5;

  float fine[kScales], coarse[kScales];
  float terms[kTerms];  ///< [power of m]
  uint32_t least;       ///< bits of a float whose scale is 0: what smaller ones count as
};

/// Both powers are curves, within 0.05 code values of the formulas: code values are almost always the
/// nearest, and never more than one off. Instruction sets with fused multiply-add and permutations
/// compute them. The others, and devices, look the same values up: in `linear`, and in `codes`,
/// which has the places of the steps of the rounded curve.
struct XyzTables {
  std::vector<float> linear;    ///< [2^source bits]: linear_curve of each sample, never negative
  std::vector<uint32_t> codes;  ///< [XyzCodes::kNumEntries]
  XyzMatrix matrix;
  XyzCurve linear_curve;  ///< of samples without level shift
  XyzCurve code_curve;    ///< of linear light: codes before rounding

  /// The bits of a mantissa that count. Between floats with these bits, the curve of codes rises by
  /// more than its rounding errors. So the rounded one never falls, and has one step from each code
  /// to the next.
  static constexpr uint32_t kMantissaMask = 0x7FFFFF & ~uint32_t{31};
};

/// @param xyz          not CJ2K_XYZ_OFF
/// @param gamma        1 .. 4
/// @param source_bits  of R', G' and B', 8 .. 16
/// Throws std::bad_alloc.
XyzTables make_xyz_tables(cj2k_xyz xyz, double gamma, int32_t source_bits);

/// The value of a curve at x >= 0, and the nearest integer to it.
float xyz_curve_at(const XyzCurve& curve, float x);
int32_t xyz_rounded_curve_at(const XyzCurve& curve, float x);

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
