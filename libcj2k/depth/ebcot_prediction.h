// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// StopRule::kPredicted for EBCOT: which blocks of a frame are coded, one order after the other. The
// twin of HtPrediction. Without RDOQ and step sets the CUDA backend runs its two orders (the sample, the
// rest) on the device without a wait in between (cuda/ebcot_coder.cc).
#pragma once

#include <vector>

#include "coders/coded_block.h"
#include "depth/stop_rule.h"
#include "plan/plan.h"
#include "rate/slope_histogram.h"

namespace cj2k {

/// One frame: code order(), then call goes_on, until it returns false. The orders are
///
///   1. the sample, in full, with the step set 0: it predicts thresholds and a step set;
///   2. without RDOQ: the sample with that step set, if it is another one; then the rest;
///   3. with RDOQ: the sample with that step set, if it is another one and may prove worse; the larger
///      sample, once or until its blocks reach below what they predict; then all blocks with RDOQ.
class EbcotPrediction {
 public:
  /// All must outlive it.
  /// @param request  thresholds, step_set and rdoq are written: how the frame is coded at the end
  /// @param plain    memory for BlockOutcome::plain
  EbcotPrediction(const Plan& plan, const BlockSample& sample, BlockRequest& request,
                  std::vector<CodedBlock>& plain);

  const BlockOrder& order() const { return order_; }
  /// Call it when order() is coded.
  /// @param blocks     [plan.blocks] of the frame
  /// @param histogram  working memory
  /// @return false: order() was the last
  bool goes_on(const CodedBlock* blocks, SlopeHistogram& histogram);

 private:
  enum class Part { kSample, kOtherSteps, kTrial, kLarger, kLast };
  bool after_sample(const CodedBlock* blocks, SlopeHistogram& histogram);
  double sample_cost(const CodedBlock* blocks, uint32_t step_set) const;
  bool code_larger(bool anew);
  bool code_with_rdoq(const CodedBlock* blocks);

  const Plan& plan_;
  const BlockSample& sample_;
  BlockRequest& request_;
  std::vector<CodedBlock>& plain_;
  Part part_ = Part::kSample;
  BlockOrder order_;
  double first_cost_ = 0;  ///< of the sample with the step set 0
};

}  // namespace cj2k
