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
  bool is_all = false;  ///< no plane below may be coded
};

inline constexpr int kHtPlaneSlopes = 512;  ///< two octaves of slope are one plane
inline constexpr int kHtStepOfSlope = 29;   ///< 256 log2(6 / (8 ln 2))
inline constexpr int kHtSetSlopes = 64;     ///< from one step set to the next
/// S of 1.35 2^n steps, less the margin. Measured at twenty points of five photographs (0.5 to 3
/// bit/pixel, 8 bit RGB): within 0.01 dB of the best position on average, up to 0.2 dB better than a
/// step without regard to the frame.
inline constexpr int kHtBestPosition = 160;

/// log2 of S in steps, times 512.
CJ2K_HD constexpr int ht_step_position(double weight, uint16_t slope) {
  return slope - log_slope(weight, 1) + kHtStepOfSlope;
}

/// The plane of S, rounded down. @param weight  with step set 0
CJ2K_HD constexpr int ht_lowest_plane(double weight, uint16_t slope, uint32_t step_set = 0) {
  if (slope == 0) return 0;
  const int position = ht_step_position(weight, slope) + kHtSetSlopes * static_cast<int>(step_set);
  return position < 0 ? 0 : position / kHtPlaneSlopes;
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
  const int lowest = ht_lowest_plane(weight, slope);
  const int end = lowest + 2;
  return {lowest, end < bit_planes ? end : bit_planes};
}

/// Passes of a cleanup plane, where coding goes down to plane `lowest`: cleanup; with SigProp; with
/// SigProp and MagRef. At the lowest plane, MagRef would make a step of half of S or less. Measured:
/// of 35,198 points chosen, 1 had it, while SigProp alone is chosen where bytes are left over.
/// @param cleanup_alone  for a first sample (stages/early_stop.h)
CJ2K_HD constexpr int ht_passes(int plane, int lowest, bool cleanup_alone) {
  if (plane == 0 || cleanup_alone) return 1;
  return plane == lowest ? 2 : 3;
}

/// Whether a block that paused has planes that a slope asks for. What is paused below them has not
/// been chosen in any measurement, however steep the last slope of the block is.
/// @param planes_left  of the block, that are not coded
CJ2K_HD constexpr bool ht_resumes(double weight, uint16_t slope, int planes_left) {
  return planes_left > 0 && ht_planes_at(weight, slope, planes_left).lowest < planes_left;
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
/// Whether another step set would gain less than it costs to code blocks again.
/// @param slack  of ht_step_error: kHtSetSlopes for a sample; twice that for a whole frame, where it
///               moves PSNR by 0.14 dB at most, up or down
CJ2K_HD constexpr bool is_near_ht_step_set(double weight, uint16_t slope, uint32_t step_set,
                                           int slack) {
  const int error = ht_step_error(weight, slope, step_set);
  return error >= -slack && error <= slack;
}

}  // namespace cj2k
