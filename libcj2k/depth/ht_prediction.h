// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// StopRule::kPredicted for HT: which blocks of a frame a backend codes, one order after the other.
// The results of one give the next, so frames that are coded together share their waits: a backend
// codes the orders of all of them, and then asks each for its next.
#pragma once

#include <cstdint>
#include <span>

#include "coders/coded_block.h"
#include "core/ht/plane_choice.h"
#include "depth/stop_rule.h"
#include "plan/plan.h"
#include "rate/slope_histogram.h"

namespace cj2k {

/// Most orders of a frame: the first share once to predict and twice to choose the steps, the larger
/// sample four times, and the rest.
inline constexpr int kMostHtOrders = 8;

/// One frame: code order(), then call goes_on, until it returns false.
class HtPrediction {
 public:
  /// All must outlive it.
  /// @param request  thresholds and step_set are written; they are those of the last order
  HtPrediction(const Plan& plan, const BlockSample& sample, BlockRequest& request);

  const BlockOrder& order() const { return order_; }
  /// Whether order() is the last one. goes_on then needs no blocks.
  bool is_last() const { return part_ == Part::kRest; }
  /// Call it when order() is coded.
  /// @param blocks     [plan.blocks] of the frame
  /// @param histogram  working memory
  /// @return false: order() was the last
  bool goes_on(const CodedBlock* blocks, SlopeHistogram& histogram);

 private:
  /// What order() is for.
  enum class Part : uint8_t {
    kEstimate,    ///< the first share, whose estimates predict
    kFirstSteps,  ///< the first share, with the step set 0
    kOtherSteps,  ///< the first share, with the steps that the estimates ask for
    kLarger,      ///< the larger sample, with the steps that were chosen
    kRest,        ///< the other blocks, or all
  };
  bool after_estimate(const CodedBlock* blocks, SlopeHistogram& histogram);
  SlopeThresholds predict(const CodedBlock* blocks, const BlockShare& share,
                          SlopeHistogram& histogram) const;
  const BlockShare& first_share() const;
  bool is_regular(const CodedBlock* blocks, const BlockShare& share,
                  const SlopeThresholds& slopes) const;
  double sample_cost(const CodedBlock* blocks) const;
  void keep_steps();
  bool codes_again() const;
  bool begin_larger();
  bool refine(SlopeThresholds next, const SlopeHistogram& histogram);
  void code(std::span<const uint32_t> blocks);
  void take_rest(std::span<const uint32_t> blocks);

  const Plan& plan_;
  const BlockSample& sample_;
  BlockRequest& request_;
  BlockOrder order_;
  int predictions_ = 0;       ///< from the larger sample, so far
  bool is_regular_ = true;    ///< HtChoices::are_regular, of the first order
  double first_cost_ = 0;     ///< sample_cost with the step set 0
  SlopeThresholds slopes_{};  ///< of sample_cost
  Part part_ = Part::kEstimate;
};

}  // namespace cj2k
