// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Which cleanup planes of an HT block rate control can want at a slope. Each plane costs a whole
// cleanup pass, so it pays to know them before coding.
#pragma once

#include <cstdint>

#include "core/hd.h"
#include "core/slope.h"

namespace cj2k {

/// Planes [lowest, end).
struct HtPlanes {
  int lowest, end;
};

/// At a slope, all coefficients want about the same step in the picture: S^2 = 6 slope / (8 ln 2),
/// from D = S^2 / 12 and dD/dR = -2 ln 2 D per bit, as in quality_slope with S twice as large for
/// the dead zone. Measured, the plane that rate control takes is the nearest one or the one beside
/// it; together with the refinement passes, that is plane floor(log2 S) and the one above.
/// @param weight      squared error of the picture per squared unit of quantised coefficient
/// @param slope       log-slope; 0: all planes
/// @param bit_planes  of the block's magnitudes
CJ2K_HD constexpr HtPlanes ht_planes_at(double weight, uint16_t slope, int bit_planes) {
  if (slope == 0) return {0, bit_planes};
  constexpr int kTwoOctaves = 512;  // of slope: one plane
  constexpr int kStepOfSlope = 29;  // 256 log2(6 / (8 ln 2))
  const int twice_log2 = slope - log_slope(weight, 1) + kStepOfSlope;
  const int lowest = twice_log2 < 0 ? 0 : twice_log2 / kTwoOctaves;
  const int end = lowest + 2;
  return {lowest, end < bit_planes ? end : bit_planes};
}

}  // namespace cj2k
