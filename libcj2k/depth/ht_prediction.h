// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// StopRule::kPredicted for HT: which blocks of a frame a backend codes, one share after the other.
// The results of a share decide the next one. Frames that are coded together share their waits: a
// backend codes one share of each frame, then asks each frame for its next share.
#pragma once

#include <cstdint>
#include <span>

#include "coders/coded_block.h"
#include "core/ht/plane_choice.h"
#include "depth/stop_rule.h"
#include "plan/plan.h"
#include "rate/slope_histogram.h"

namespace cj2k {

/// Blocks to code anew, and how.
struct HtShare {
  std::span<const uint32_t> blocks;
  SlopeThresholds thresholds;
  uint32_t step_set;
  HtPoints points;
  SlopeThresholds highest{};  ///< as in BlockRequest
};

/// Most shares of a frame: the sample twice, the larger sample four times, and the rest.
inline constexpr int kMostHtShares = 7;

/// One frame: code share(), then call goes_on, until it returns false.
class HtPrediction {
 public:
  /// All must outlive it.
  /// @param request  receives thresholds and step_set of the last share
  HtPrediction(const Plan& plan, const BlockSample& sample, BlockRequest& request);

  const HtShare& share() const { return share_; }
  /// Call it after share() is coded.
  /// @param blocks     [plan.blocks] of the frame
  /// @param histogram  working memory
  /// @return false: share() was the last
  bool goes_on(const CodedBlock* blocks, SlopeHistogram& histogram);

 private:
  const BlockShare& first_share() const;
  bool is_regular(const CodedBlock* blocks, const BlockShare& share,
                  const SlopeThresholds& slopes) const;
  double estimated_cost(const CodedBlock* blocks) const;
  void keep_steps();
  bool begin_larger();
  bool refine(SlopeThresholds next, const SlopeHistogram& histogram);
  void take_rest(std::span<const uint32_t> blocks);

  const Plan& plan_;
  const BlockSample& sample_;
  BlockRequest& request_;
  HtShare share_;
  int predictions_ = 0;     ///< from the larger sample, so far
  bool is_regular_ = true;  ///< HtChoices::are_regular, of the first share
  double first_cost_ = -1;  ///< estimated_cost with the step set 0; negative: not to be compared
  bool is_rest_ = false;
};

}  // namespace cj2k
