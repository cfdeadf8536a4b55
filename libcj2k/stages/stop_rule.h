// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// How far blocks are coded, as data: what a strategy (stages/early_stop.h) asks of a backend.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/slope_search.h"
#include "plan.h"

namespace cj2k {

/// Some blocks of a plan that stand for all of them, spread evenly over each subband.
struct BlockSample {
  explicit BlockSample(const Plan& plan);
  std::vector<uint32_t> all;      ///< every block
  std::vector<uint32_t> blocks;   ///< indices, rising
  std::vector<uint32_t> weights;  ///< blocks of the same subband that each stands for
  std::vector<uint32_t> rest;     ///< all others, rising
};

/// A block pauses only after a bit-plane, and never where the style has PTERM.
enum class StopRule : uint8_t {
  /// Each block is coded until it may pause at the threshold of its component (core/stop.h), 0: to
  /// its last plane. One that an earlier call left goes on from there, by a plane at least; one of
  /// which no plane can reach the threshold is not begun.
  kThresholds,
  /// The sample is coded to the end. Its bytes by slope predict the thresholds at which the targets
  /// are used up (core/slope_search.h); the rest is coded as by kThresholds.
  kPredicted,
  /// psb, bpi: plane by plane, all blocks together, the highest plane first. After each plane
  /// blocks stop for good: by bytes per slope, or by bytes (core/stop.h).
  kSlopeBytes,
  kBytes,
};

inline constexpr StopRule kStopRules[] = {StopRule::kThresholds, StopRule::kPredicted,
                                          StopRule::kSlopeBytes, StopRule::kBytes};

/// Blocks of one frame to code.
struct BlockRequest {
  uint32_t frame;
  StopRule rule;
  std::span<const uint32_t> blocks;  ///< rising; all of them but with kThresholds
  SlopeThresholds thresholds;        ///< kThresholds: given; kPredicted: a result
  ByteTargets targets;               ///< of the other rules
};

}  // namespace cj2k
