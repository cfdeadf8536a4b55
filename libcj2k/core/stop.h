// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// When a code-block is begun, pauses and stops (depth/stop_rule.h). The CPU and the GPU decide by
// the same integers and doubles.
//
// A pause is a prediction: slopes are expected to keep falling, or to stay below kBestSlope. If a
// paused block has a steeper pass further down, stop = exact loses that pass, unless slope_left
// sees it.
#pragma once

#include <cstdint>

#include "core/distortion.h"
#include "core/hd.h"
#include "core/orientation.h"
#include "core/slope.h"

namespace cj2k {

/// Margins between the last slope of a block and the threshold, in log-slope steps. In a plane that
/// takes many bytes, slopes fall by two to three octaves from plane to plane: if the last slope is
/// below the threshold, the planes below are not expected to be worth their bytes. In a plane that
/// takes few bytes (flat areas, sharp edges) slopes may rise again further down, and coding on is
/// cheap.
inline constexpr int kPauseMargin = 64;  ///< a quarter octave
inline constexpr uint32_t kSmallPlaneBytes = 40;
inline constexpr int kSmallPlaneMargin = 1536;  ///< six octaves

/// Most that a plane is assumed to remove per byte: 32 * 4^plane, as a log-slope. A sample that
/// becomes significant removes less than 3.75 * 4^plane (core/distortion.h); 32 per byte means that
/// its place and its sign take at least 0.94 bits. This is not a proven bound, since the contexts
/// can adapt to fewer bits. It was tuned on pictures: with 32, no picture of
/// tests/roundtrip/early_stop_slow.cc loses 0.01 dB; with 16, sharp edges lose 0.09 dB.
inline constexpr int kBestSlope = 5 * 256;

/// Bound, by kBestSlope, on the slopes of the planes that a block has left.
/// @param weight       squared error of the picture per squared unit of coefficient
/// @param planes_left  at least 1
CJ2K_HD constexpr uint16_t best_slope_left(double weight, int planes_left) {
  const int slope =
      log_slope(weight * static_cast<double>(uint64_t{1} << (2 * (planes_left - 1))), 1) +
      kBestSlope;
  return static_cast<uint16_t>(slope < kMaxSlope ? slope : kMaxSlope);
}

/// What a call that codes blocks does with one block.
enum class BlockStart : uint8_t {
  kNothing,  ///< the block has no planes left
  kPaused,   ///< the block has planes left, and none of them is coded in this call
  kCodes,    ///< at least one plane is coded
};

/// @param planes_left      planes of the block that are not coded yet
/// @param num_passes       passes coded so far; 0: the block has not been begun
/// @param last_plane       planes below this one are not coded in this call
/// @param is_out_of_reach  bool(): whether best_slope_left is below the threshold; called only for
///                         a block that has not been begun
template <typename OutOfReach>
CJ2K_HD constexpr BlockStart block_start(int planes_left, int num_passes, int last_plane,
                                         const OutOfReach& is_out_of_reach) {
  if (planes_left <= 0) return BlockStart::kNothing;
  if (planes_left <= last_plane) return BlockStart::kPaused;
  if (num_passes == 0 && is_out_of_reach()) return BlockStart::kPaused;
  return BlockStart::kCodes;
}

/// Whether no plane of a block can reach the threshold, by the same bound as in may_pause_after.
CJ2K_HD constexpr bool is_out_of_reach(double weight, int planes_left, uint16_t threshold) {
  return threshold != 0 && best_slope_left(weight, planes_left) < threshold;
}

/// The threshold at which a block may pause; 0: never. Blocks of LL never do: a constant makes many
/// samples significant at once, in a plane that is flatter than the next ones, and there are few
/// such blocks.
/// @param threshold  of its component
CJ2K_HD constexpr uint16_t pause_threshold(uint16_t threshold, Orientation orientation) {
  return orientation == kLL ? uint16_t{0} : threshold;
}

/// How far thresholds are lowered, after rate control, where the caps are not used up: bytes grow
/// about with the square root of the falling slope, so two log-slope steps per step of missing
/// bytes, and a quarter octave more.
/// @param unused_cap_steps  RateControl::unused_cap_steps
CJ2K_HD constexpr int resume_step(int unused_cap_steps) {
  constexpr int kStepDown = 64, kSlopePerByteDoubling = 2;
  return kStepDown + kSlopePerByteDoubling * unused_cap_steps;
}

/// The threshold of a component after it has been lowered so often. Where the caps are used up, only
/// blocks resume that reach the slope where the component ended, so it is lowered once.
/// @param exhausted  RateControl::exhausted_above of the component; 0: its points are all in
/// @param lower      resume_step
CJ2K_HD constexpr uint16_t lowered_threshold(uint32_t threshold, uint32_t exhausted, uint32_t lower,
                                             uint32_t times) {
  if (exhausted > 0) return static_cast<uint16_t>(threshold < exhausted ? threshold : exhausted);
  const uint64_t all = uint64_t{times} * lower;
  return static_cast<uint16_t>(all < threshold ? threshold - all : 0);
}

/// How often a threshold is lowered until a paused block that reaches `reach` (slope_left) resumes.
inline constexpr uint32_t kNeverResumes = UINT32_MAX;
CJ2K_HD constexpr uint32_t times_to_resume(uint32_t threshold, uint32_t exhausted, uint32_t lower,
                                           uint32_t reach) {
  if (exhausted > 0)
    return reach >= lowered_threshold(threshold, exhausted, lower, 1) ? 1 : kNeverResumes;
  return reach >= threshold ? 1 : (threshold - reach + lower - 1) / lower;
}

/// stop = bpi, after a bit-plane of all blocks: whether a block stops for good. When the frame is
/// over its target, all blocks stop, also those that have not been begun. When only a component is
/// over its target, its blocks that were coded in this plane stop.
CJ2K_HD constexpr bool stops_by_bytes(uint64_t frame_bytes, uint64_t frame_target,
                                      uint64_t component_bytes, uint64_t component_target,
                                      bool was_coded) {
  return frame_bytes > frame_target || (was_coded && component_bytes > component_target);
}

/// stop = psb, after a bit-plane of all blocks: the threshold for may_pause.
/// @param own, frame  slopes at which the targets of the component and of the frame are used up
CJ2K_HD constexpr uint16_t stop_threshold(uint16_t own, uint16_t frame) {
  return own > frame ? own : frame;
}

/// stop = psb: whether a block stops after a bit-plane, decided by the slope alone.
/// @param slope        log-slope of the last hull segment so far (coders/hull.h)
/// @param plane_bytes  bytes that the last bit-plane took
/// @param threshold    log-slope that rate control is expected to reach; 0: code everything
CJ2K_HD constexpr bool may_pause(uint16_t slope, uint32_t plane_bytes, uint16_t threshold) {
  return slope + (plane_bytes < kSmallPlaneBytes ? kSmallPlaneMargin : kPauseMargin) < threshold;
}

/// Log-slope of the last segment of the convex hull of the passes so far (core/hull.h), found
/// without building the hull. That segment ends at the pass with the most squared error removed in
/// total. Its slope is the least of all slopes from an earlier pass, or from the empty block, to
/// that pass.
/// @param pass  CodingPass pass(int), with the lengths known so far
/// @return kMaxSlope if no pass removes anything
template <typename Passes>
CJ2K_HD constexpr uint16_t last_hull_slope(const Passes& pass, int num_passes, double weight) {
  double gain = 0;  // squared error removed after pass i - 1, up to and with the best pass
  uint32_t best_length = 0;
  double least_gain = 0;
  uint32_t least_bytes = 0;  // 0: no point before the best pass has been seen
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
      // Of two equal slopes, the longer segment counts.
      if (least_bytes == 0 || gain * least_bytes <= least_gain * bytes) {
        least_gain = gain;
        least_bytes = bytes;
      }
    }
  }
  return least_bytes == 0 ? kMaxSlope : log_slope(weighted(least_gain, weight), least_bytes);
}

/// The expected slope of the next planes of a paused block: one plane removes all error that is
/// left, in eight times the bytes of the last plane. If the last clean-up pass took few bytes,
/// significant samples have nearly all of the error, and one plane of as many bytes as the last may
/// remove it. In charts and text, where many samples are equal, it does. The factors were tuned
/// with tests/scan. With the bytes of one plane for all blocks, photographs take 3 % more
/// instructions.
/// @param point   HullPoint point(int)
/// @param points  on the hull so far, at least 1; there are at most three in a plane
/// @param left    squared error that is left at the last point, weighted
template <typename Point>
CJ2K_HD constexpr uint16_t next_slope(const Point& point, int points, double left) {
  constexpr uint32_t kMoreBytes = 8, kFewCleanup = 8;
  if (left <= 0) return kMinSlope;
  const auto last = point(points - 1);
  const uint32_t bytes = last.length_bytes - (points > 3 ? point(points - 4).length_bytes : 0);
  const bool ends_in_cleanup = last.passes % 3 == 1;
  const uint32_t cleanup = !ends_in_cleanup ? 0
                           : points > 1     ? last.length_bytes - point(points - 2).length_bytes
                                            : bytes;
  return log_slope(left, kFewCleanup * cleanup < bytes ? bytes : kMoreBytes * bytes);
}

/// The steepest slope that a paused block's uncoded planes are expected to have. For a block that
/// was begun it is the slope of the last point, or next_slope if steeper, up to two octaves above
/// kBestSlope, since contexts adapt in charts and text, where a flat plane may come before steep
/// ones. The block resumes if this reaches the slope where rate control ended.
/// @param point, points, left  as in next_slope; points may be 0
template <typename Point>
CJ2K_HD constexpr uint16_t slope_left(const Point& point, int points, double left, double weight,
                                      int planes_left) {
  constexpr int kAboveBest = 512;
  const int best = best_slope_left(weight, planes_left);
  if (points == 0) return static_cast<uint16_t>(best);
  const uint16_t last = point(points - 1).slope;
  const uint16_t next = next_slope(point, points, left);
  const int slope = next > last ? next : last;
  const int most = best + kAboveBest < kMaxSlope ? best + kAboveBest : kMaxSlope;
  return static_cast<uint16_t>(slope < most ? slope : most);
}

/// Whether a block may pause after these passes. The last pass ends a plane above plane 0. The
/// block may pause when
///   - the bound on the slopes of the planes left is below the threshold (best_slope_left), or
///   - the last plane took kSmallPlaneBytes or more, and the last slope is below the threshold by
///     more than kPauseMargin.
/// @param pass       as in last_hull_slope
/// @param threshold  as in may_pause
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
