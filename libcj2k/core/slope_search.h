// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The slope at which a number of bytes is used up, found from the bytes at each slope. Rate
// control, the stop rules (depth/stop_rule.h) and their kernels share these integers and rules.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "cj2k.h"
#include "core/hd.h"
#include "core/slope.h"

namespace cj2k {

/// One more than the steepest slope. With it as the lowest slope, nothing is taken.
inline constexpr uint32_t kAboveAllSlopes = 65536;
/// A byte target that is never used up.
inline constexpr uint64_t kNoTarget = std::numeric_limits<uint64_t>::max();

/// Predictions assume that this share of a frame's bytes is code-block data.
inline constexpr double kBodyShare = 0.98;
/// Coding starts with a threshold that is this much below the prediction (a quarter octave), so
/// that few blocks have to be resumed.
inline constexpr uint32_t kPredictionMargin = 64;

/// Bytes of code-block data that are expected to fit under `cap` when `fixed` bytes of it are
/// spent.
CJ2K_HD constexpr uint64_t body_target(uint64_t cap, uint64_t fixed) {
  if (cap == kNoTarget) return kNoTarget;
  const uint64_t body = cap > fixed ? cap - fixed : 0;
  return static_cast<uint64_t>(static_cast<double>(body) * kBodyShare);
}

/// The threshold at which blocks of a component may pause. `own` and `frame` are the lowest slopes
/// at which the hull segments of that slope and of all steeper slopes fit; kAboveAllSlopes: none
/// fits.
/// @param floor  ByteTargets::floor
/// @param own    for the component under its own target
/// @param frame  for all components under the frame's target
CJ2K_HD constexpr uint16_t predicted_threshold(uint16_t floor, uint32_t own, uint32_t frame) {
  uint32_t slope = own > frame ? own : frame;
  if (slope > kMaxSlope) slope = kMaxSlope;
  slope = slope > kPredictionMargin ? slope - kPredictionMargin : 0;
  return slope > floor ? static_cast<uint16_t>(slope) : floor;
}

/// One log-slope per component: the threshold at which its blocks may pause; 0: at no slope.
using SlopeThresholds = std::array<uint16_t, CJ2K_MAX_COMPONENTS>;

/// Log-slopes from the lowest to the highest, both included.
struct SlopeRange {
  uint16_t lowest, highest;
};

/// Bytes that a frame and each of its components may take; kNoTarget: no limit.
struct ByteTargets {
  uint64_t frame;
  uint64_t component[CJ2K_MAX_COMPONENTS];
  uint16_t floor;  ///< log-slope: no predicted threshold is lower (the quality threshold)
};

/// The table of bytes by slope for stop = psb: 1024 entries of a quarter octave (Martinez-del-Amor,
/// Bruns and Sparenberg, section 5.2). It is not part of T.800.
inline constexpr uint32_t kSlopeEntries = 1024;
CJ2K_HD constexpr uint32_t slope_entry(uint16_t slope) { return slope >> 6; }
CJ2K_HD constexpr uint16_t slope_of_entry(uint32_t entry) {
  return static_cast<uint16_t>(entry << 6);
}

}  // namespace cj2k
