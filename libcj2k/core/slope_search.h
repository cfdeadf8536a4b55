// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// From bytes by slope to the slope at which a number of bytes is used up: the integers and rules
// that rate control, the early stops (stages/early_stop.h) and their kernels have in common.
#pragma once

#include <cstdint>
#include <limits>

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

/// Where coding may stop, from the lowest slope whose segments, and those of all steeper ones, fit;
/// kAboveAllSlopes: nothing fits.
CJ2K_HD constexpr uint16_t predicted_threshold(uint32_t slope) {
  if (slope > kMaxSlope) slope = kMaxSlope;
  return slope > kPredictionMargin ? static_cast<uint16_t>(slope - kPredictionMargin) : uint16_t{0};
}

/// Bytes that a frame and each of its components may take; kNoTarget: any number.
struct ByteTargets {
  uint64_t frame;
  uint64_t component[4];  ///< [CJ2K_MAX_COMPONENTS]
  uint16_t floor;         ///< predictions do not go below: the quality threshold
};

/// Bytes by slope, for psb: 1024 entries of a quarter octave; T.800 knows nothing of it (Martinez-
/// del-Amor, Bruns and Sparenberg, section 5.2).
inline constexpr uint32_t kSlopeEntries = 1024;
CJ2K_HD constexpr uint32_t slope_entry(uint16_t slope) { return slope >> 6; }
CJ2K_HD constexpr uint16_t slope_of_entry(uint32_t entry) {
  return static_cast<uint16_t>(entry << 6);
}

}  // namespace cj2k
