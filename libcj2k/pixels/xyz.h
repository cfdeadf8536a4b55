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

/// Samples to linear light: a quadratic of y = sample + offset in each of 32 segments. With fused
/// multiply-adds: terms[0] + y * (terms[1] + y * terms[2]). The segments are halves, quarters or
/// eighths of octaves, one after another: the lowest bits of y's exponent and the highest of its
/// mantissa number them, modulo 32.
struct XyzLight {
  static constexpr uint32_t kSegments = 32;

  float terms[3][kSegments];  ///< [power of y][segment]
  float offset;               ///< for level-shifted samples
  int32_t shift;              ///< what the bits of y are shifted by to get the segment
};

/// Linear light to codes, before rounding: scale(e) * (start(s) + slope(s) * m). The exponent is e,
/// the mantissa m in [1, 2), and s its highest five bits. All is of x + kXyzBlack for light x.
struct XyzCurve {
  static constexpr uint32_t kSegments = 32, kScales = 8;
  static constexpr int kSegmentShift = 18;  ///< of the bits of a float, modulo 32

  float start[kSegments], slope[kSegments];
  float scale[4 * kScales];              ///< [e, biased as in floats, modulo 32], which is
  float fine[kScales], coarse[kScales];  ///< fine[e % 8] * coarse[e / 8 % 8], rounded
};

/// Both powers are curves: light is about within 0.5 codes of the formula, with gammas from 2 to 2.6
/// within 0.14, and codes of light within 0.05 from code 16 on. So codes are mostly the nearest, and
/// never more than one off. With AVX2 and AVX-512 the curves are computed. Others, and devices, look
/// the same values up: light in `linear`, and codes in `codes`, which has the places of the steps of
/// the rounded curve. That never falls: each operation rises with the mantissa in a segment, and no
/// segment begins below the end of the last.
struct XyzTables {
  std::vector<float> linear;    ///< [2^source bits]: `light` at each sample
  std::vector<uint32_t> codes;  ///< [XyzCodes::kNumEntries]: `curve`, rounded
  XyzMatrix matrix;
  XyzLight light;
  XyzCurve curve;
};

/// @param xyz          not CJ2K_XYZ_OFF
/// @param gamma        1 .. 4
/// @param source_bits  of R', G' and B', 8 .. 16
/// Throws std::bad_alloc.
XyzTables make_xyz_tables(cj2k_xyz xyz, double gamma, int32_t source_bits);

/// Linear light of a level-shifted sample.
float xyz_light_at(const XyzLight& light, int32_t sample);
/// The code of x >= 2^-32, and the nearest integer to it.
float xyz_curve_at(const XyzCurve& curve, float x);
int32_t xyz_rounded_curve_at(const XyzCurve& curve, float x);

/// Rows of R', G' and B' as ingest gives them (level-shifted, source bits) become X', Y' and Z' in
/// place, level-shifted, 12 bits. Fast with fused multiply-adds only: a processor of before 2013 has
/// none, and takes the reference. Deterministic: yes, the same on every target and device.
/// Allocates: no. Thread-safe: yes.
namespace ref {
void xyz_row(const XyzTables& tables, int32_t* r, int32_t* g, int32_t* b, int32_t count);
}
namespace simd {
void xyz_row(const XyzTables& tables, int32_t* r, int32_t* g, int32_t* b, int32_t count);
}

}  // namespace cj2k
