// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// From bytes by slope to the slope at which a number of bytes is used up: the integers and rules
// that rate control, the rules by which blocks stop (stages/stop_rule.h) and their kernels have in
// common.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "cj2k.h"
#include "core/hd.h"
#include "core/slope.h"

namespace cj2k {

/// One more than the steepest slope: nothing is taken.
inline constexpr uint32_t kAboveAllSlopes = 65536;
/// A target that is never used up.
inline constexpr uint64_t kNoTarget = std::numeric_limits<uint64_t>::max();

/// Share of a frame's bytes that is code-block data, for predictions; and how much lower than
/// predicted to start, so that few blocks have to go on later (a quarter octave).
inline constexpr double kBodyShare = 0.98;
inline constexpr uint32_t kPredictionMargin = 64;

/// Bytes of code-block data that are expected to fit under a cap of which `fixed` are spent.
CJ2K_HD constexpr uint64_t body_target(uint64_t cap, uint64_t fixed) {
  if (cap == kNoTarget) return kNoTarget;
  const uint64_t body = cap > fixed ? cap - fixed : 0;
  return static_cast<uint64_t>(static_cast<double>(body) * kBodyShare);
}

/// Where coding of a component may stop, from the lowest slopes whose segments, and those of all
/// steeper ones, fit; kAboveAllSlopes: nothing fits.
/// @param floor  ByteTargets::floor
/// @param own    of the component under its target
/// @param frame  of all components under the frame's
CJ2K_HD constexpr uint16_t predicted_threshold(uint16_t floor, uint32_t own, uint32_t frame) {
  uint32_t slope = own > frame ? own : frame;
  if (slope > kMaxSlope) slope = kMaxSlope;
  slope = slope > kPredictionMargin ? slope - kPredictionMargin : 0;
  return slope > floor ? static_cast<uint16_t>(slope) : floor;
}

/// 16-bit log-slope per component at which coding of a block may stop.
using SlopeThresholds = std::array<uint16_t, CJ2K_MAX_COMPONENTS>;

/// Bytes that a frame and each of its components may take; kNoTarget: any number.
struct ByteTargets {
  uint64_t frame;
  uint64_t component[CJ2K_MAX_COMPONENTS];
  uint16_t floor;  ///< predictions do not go below: the quality threshold
};

/// Bytes by slope, for psb: 1024 entries of a quarter octave; T.800 knows nothing of it (Martinez-
/// del-Amor, Bruns and Sparenberg, section 5.2).
inline constexpr uint32_t kSlopeEntries = 1024;
CJ2K_HD constexpr uint32_t slope_entry(uint16_t slope) { return slope >> 6; }
CJ2K_HD constexpr uint16_t slope_of_entry(uint32_t entry) {
  return static_cast<uint16_t>(entry << 6);
}

}  // namespace cj2k
