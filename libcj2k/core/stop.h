// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// When a code-block may pause after a bit-plane (stages/early_stop.h). The CPU and the GPU decide
// by the same doubles.
#pragma once

#include <cstdint>

#include "core/distortion.h"
#include "core/hd.h"
#include "core/slope.h"

namespace cj2k {

/// Slopes fall from plane to plane, by two to three octaves, where a plane costs many bytes. Where
/// it costs next to none (flat areas, sharp edges) they may rise again further down, and going on
/// is cheap: such a block pauses only when its slope is far below. Found on the pictures of
/// tests/roundtrip/early_stop_slow.cc: these are the smallest values with which none loses 0.01 dB.
inline constexpr int kPauseMargin = 64;  ///< a quarter octave
inline constexpr uint32_t kSmallPlaneBytes = 40;
inline constexpr int kSmallPlaneMargin = 1536;  ///< six octaves

/// @param slope        of the last hull segment so far (stages/hull.h)
/// @param plane_bytes  that the last bit-plane took
/// @param threshold    log-slope that rate control is expected to reach; 0: code everything
CJ2K_HD constexpr bool may_pause(uint16_t slope, uint32_t plane_bytes, uint16_t threshold) {
  return slope + (plane_bytes < kSmallPlaneBytes ? kSmallPlaneMargin : kPauseMargin) < threshold;
}

/// Slope of the last segment of the convex hull of the passes so far (core/hull.h), found without
/// the hull: from the pass that has removed most, the least slope back to what lies before it, the
/// empty block included. kMaxSlope where no pass removes anything.
/// @param pass  CodingPass pass(int), lengths as they stand now
template <typename Passes>
CJ2K_HD constexpr uint16_t last_hull_slope(const Passes& pass, int num_passes, double weight) {
  double gain = 0;  // of the best pass over the one that the loop has come to
  uint32_t best_length = 0;
  double least_gain = 0;
  uint32_t least_bytes = 0;  // 0: nothing before the best pass has been seen
  auto current = pass(num_passes - 1);
  best_length = current.length_bytes;
  for (int i = num_passes - 1; i >= 0; --i) {
    const double unit =
        weight * static_cast<double>(uint64_t{1} << (2 * current.plane)) / kDistortionOne;
    gain += unit * current.distortion;
    uint32_t length = 0;
    if (i > 0) {
      current = pass(i - 1);
      length = current.length_bytes;
    }
    if (gain <= 0) {
      gain = 0;
      best_length = length;
      least_bytes = 0;
    } else if (length < best_length) {
      const uint32_t bytes = best_length - length;
      // Of equal slopes the longer.
      if (least_bytes == 0 || gain * least_bytes <= least_gain * bytes) {
        least_gain = gain;
        least_bytes = bytes;
      }
    }
  }
  return least_bytes == 0 ? kMaxSlope : log_slope(least_gain, least_bytes);
}

}  // namespace cj2k
