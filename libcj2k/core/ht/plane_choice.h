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

inline constexpr int kHtPlaneSlopes = 512;  ///< two octaves of slope are one plane
inline constexpr int kHtStepOfSlope = 29;   ///< 256 log2(6 / (8 ln 2))
inline constexpr int kHtSetSlopes = 64;     ///< from one step set to the next
/// S of 1.33 2^n steps, less the margin. Measured at ten points of three photographs (0.5 to 3
/// bit/pixel, 8 bit RGB): 0.06 dB better than any step with cleanup passes alone, up to 0.2 dB
/// better than a step without regard to the frame.
inline constexpr int kHtBestPosition = 210 - 64;

/// log2 of S in steps, times 512.
CJ2K_HD constexpr int ht_step_position(double weight, uint16_t slope) {
  return slope - log_slope(weight, 1) + kHtStepOfSlope;
}

/// At a slope, all coefficients want about the same step in the picture: S^2 = 6 slope / (8 ln 2),
/// from D = S^2 / 12 and dD/dR = -2 ln 2 D per bit, as in quality_slope with S twice as large for
/// the dead zone. Measured, the plane that rate control takes is the nearest one or the one beside
/// it; together with the refinement passes, that is plane floor(log2 S) and the one above.
/// @param weight      squared error of the picture per squared unit of quantised coefficient
/// @param slope       log-slope; 0: all planes
/// @param bit_planes  of the block's magnitudes
CJ2K_HD constexpr HtPlanes ht_planes_at(double weight, uint16_t slope, int bit_planes) {
  if (slope == 0) return {0, bit_planes};
  const int position = ht_step_position(weight, slope);
  const int lowest = position < 0 ? 0 : position / kHtPlaneSlopes;
  const int end = lowest + 2;
  return {lowest, end < bit_planes ? end : bit_planes};
}

/// How far a step set s (plan.h) puts S from the best position, 2^n * 2^(kHtBestPosition / 512)
/// steps; -256 .. 255.
/// @param weight  of any band, with step set 0: steps go with the norms of the bands
/// @param slope   a threshold for coding: kPredictionMargin below the slope that is expected
CJ2K_HD constexpr int ht_step_error(double weight, uint16_t slope, uint32_t step_set) {
  const int position = ht_step_position(weight, slope) + kHtSetSlopes * static_cast<int>(step_set);
  return ((position - kHtBestPosition) % kHtPlaneSlopes + 3 * kHtPlaneSlopes / 2) % kHtPlaneSlopes -
         kHtPlaneSlopes / 2;
}

/// The step set that is nearest to the best position.
CJ2K_HD constexpr uint32_t ht_step_set(double weight, uint16_t slope) {
  uint32_t best = 0;
  for (uint32_t s = 1; s < kHtPlaneSlopes / kHtSetSlopes; ++s) {
    const int error = ht_step_error(weight, slope, s);
    const int least = ht_step_error(weight, slope, best);
    if (error * error < least * least) best = s;
  }
  return best;
}
/// Whether another step set would gain less than it costs to code the frame again.
CJ2K_HD constexpr bool is_near_ht_step_set(double weight, uint16_t slope, uint32_t step_set) {
  const int error = ht_step_error(weight, slope, step_set);
  return error >= -kHtSetSlopes && error <= kHtSetSlopes;
}

}  // namespace cj2k
