// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Where a code-block begins, pauses and stops (stages/stop_rule.h). The CPU and the GPU decide by
// the same integers and doubles.
#pragma once

#include <cstdint>

#include "core/distortion.h"
#include "core/hd.h"
#include "core/slope.h"

namespace cj2k {

/// Slopes fall from plane to plane, by two to three octaves, where a plane costs many bytes: there
/// the last slope says that nothing more is worth its bytes. Where it costs next to none (flat
/// areas, sharp edges) slopes may rise again further down, and going on is cheap.
inline constexpr int kPauseMargin = 64;  ///< a quarter octave
inline constexpr uint32_t kSmallPlaneBytes = 40;
inline constexpr int kSmallPlaneMargin = 1536;  ///< six octaves

/// No plane removes more than 32 units of 4^plane per byte: a sample that becomes significant
/// removes less than 3.75 of them (core/distortion.h), and takes 0.94 bits at least for its place
/// and its sign. A model could learn to do with less; with 32 no picture of
/// tests/roundtrip/early_stop_slow.cc loses 0.01 dB, with 16 sharp edges lose 0.09 dB.
inline constexpr int kBestSlope = 5 * 256;

/// Upper bound on the slopes of the planes that a block has left.
/// @param weight       squared error of the picture per squared unit of coefficient
/// @param planes_left  at least 1
CJ2K_HD constexpr uint16_t best_slope_left(double weight, int planes_left) {
  const int slope =
      log_slope(weight * static_cast<double>(uint64_t{1} << (2 * (planes_left - 1))), 1) +
      kBestSlope;
  return static_cast<uint16_t>(slope < kMaxSlope ? slope : kMaxSlope);
}

/// What a call that codes blocks does with one of them.
enum class BlockStart : uint8_t {
  kNothing,  ///< it has no planes left
  kPaused,   ///< it has, and none is coded now
  kCodes,
};

/// @param planes_left      of the block
/// @param last_plane       planes below are not coded now
/// @param is_out_of_reach  bool(): best_slope_left is below the threshold; asked only of a block
///                         that
///                         has not been begun
template <typename OutOfReach>
CJ2K_HD constexpr BlockStart block_start(int planes_left, int num_passes, int last_plane,
                                         const OutOfReach& is_out_of_reach) {
  if (planes_left <= 0) return BlockStart::kNothing;
  if (planes_left <= last_plane) return BlockStart::kPaused;
  if (num_passes == 0 && is_out_of_reach()) return BlockStart::kPaused;
  return BlockStart::kCodes;
}

/// Whether a block is out of reach, by the same bound as may_pause_after's.
CJ2K_HD constexpr bool is_out_of_reach(double weight, int planes_left, uint16_t threshold) {
  return threshold != 0 && best_slope_left(weight, planes_left) < threshold;
}

/// bpi, after a bit-plane of all blocks: whether a block stops for good. Of a frame over its target
/// all blocks stop, also those that have not been begun; of a component those that were coded in
/// this plane.
CJ2K_HD constexpr bool stops_by_bytes(uint64_t frame_bytes, uint64_t frame_target,
                                      uint64_t component_bytes, uint64_t component_target,
                                      bool was_coded) {
  return frame_bytes > frame_target || (was_coded && component_bytes > component_target);
}

/// psb, after a bit-plane of all blocks: the threshold that may_pause is asked with.
/// @param own, frame  slopes at which the targets of the component and of the frame are used up
CJ2K_HD constexpr uint16_t stop_threshold(uint16_t own, uint16_t frame) {
  return own > frame ? own : frame;
}

/// After a bit-plane, where the slope is all that is known (psb).
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
    gain += removed_by(current);
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
  return least_bytes == 0 ? kMaxSlope : log_slope(weighted(least_gain, weight), least_bytes);
}

/// Whether a block may pause after these passes, the last of which ends a plane above plane 0: when
/// the planes left cannot reach the threshold, or the last slope of a plane of many bytes is below.
/// @param pass       as last_hull_slope's
/// @param threshold  as may_pause's
template <typename Passes>
CJ2K_HD constexpr bool may_pause_after(const Passes& pass, int num_passes, double weight,
                                       uint16_t threshold) {
  const auto last = pass(num_passes - 1);
  if (best_slope_left(weight, last.plane) < threshold) return true;
  const uint32_t bytes_before = num_passes > 3 ? pass(num_passes - 4).length_bytes : 0;
  if (last.length_bytes - bytes_before < kSmallPlaneBytes) return false;
  return last_hull_slope(pass, num_passes, weight) + kPauseMargin < threshold;
}

}  // namespace cj2k
