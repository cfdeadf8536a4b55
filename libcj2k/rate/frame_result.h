// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/block_totals.h"
#include "core/slope_search.h"
#include "plan/plan.h"

namespace cj2k {

class RateControl;

/// What the packets and the statistics need of a frame whose hull points are chosen. There are two
/// makers: host_result, and a device that has run rate control itself (cuda/device_rate.cc).
struct FrameResult {
  std::array<uint64_t, CJ2K_MAX_COMPONENTS> component_bytes{};  ///< RateControl::component_bytes
  uint64_t body_bytes = 0;                                      ///< RateControl::body_bytes
  /// An estimate, of each component, not divided by its samples.
  std::array<double, CJ2K_MAX_COMPONENTS> squared_error{};
  BlockTotals totals{};
  SlopeThresholds exhausted{};  ///< RateControl::exhausted_above
  uint16_t threshold = 0;       ///< RateControl::threshold
  int rounds = 0;               ///< cj2k_stats::rounds
  /// All of them, as they are in the codestream; empty: the host writes them.
  std::span<const uint8_t> tile_parts;

  /// Adds the squared error of a block. Called in the order of the plan.
  /// @param step_set  the quantisation of the frame
  /// @param left      CodedBlock::total_distortion without what the chosen passes remove
  void add_error(const Plan& plan, const CodeBlock& block, uint32_t step_set, double left);
};

/// Makes the result of a frame from what rate control of the host has chosen last.
FrameResult host_result(const Plan& plan, const RateControl& rate);

}  // namespace cj2k
