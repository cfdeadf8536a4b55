// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "depth/ebcot_prediction.h"

#include "depth/early_stop.h"

namespace cj2k {
namespace {

/// RDOQ gains from other steps, the sample without it does not.
constexpr double kMuchWorse = 1.0625;

/// Whether blocks that paused at `below` tell of the slopes of a prediction.
bool is_reached(const SlopeThresholds& predicted, const SlopeThresholds& below) {
  bool all = true;
  for (size_t c = 0; c < below.size(); ++c) all &= predicted[c] >= below[c];
  return all;
}

}  // namespace

EbcotPrediction::EbcotPrediction(const Plan& plan, const BlockSample& sample, BlockRequest& request,
                                 std::vector<CodedBlock>& plain)
    : plan_(plan),
      sample_(sample),
      request_(request),
      plain_(plain),
      order_{.blocks = sample.blocks, .votes = request.votes || chooses_steps(plan, request)} {}

bool EbcotPrediction::goes_on(const CodedBlock* blocks, SlopeHistogram& histogram) {
  switch (part_) {
    case Part::kSample:
      return after_sample(blocks, histogram);
    case Part::kOtherSteps:
      part_ = Part::kLast;
      order_ = {
          .blocks = sample_.rest, .thresholds = request_.thresholds, .step_set = request_.step_set};
      return true;
    case Part::kTrial:
      // Where samples are multiples of something coarse, the steps of the step set 0 are better.
      if (sample_cost(blocks, request_.step_set) > first_cost_ * kMuchWorse) {
        request_.step_set = 0;
        request_.steps_known = true;
      }
      return code_larger(true);
    case Part::kLarger: {
      const BlockShare& larger = sample_.larger;
      request_.thresholds = predict_thresholds(plan_, blocks, larger.blocks, larger.weights,
                                               request_.targets, histogram);
      if (!is_reached(request_.thresholds, order_.thresholds)) return code_larger(false);
      if (!request_.steps_known)
        request_.step_set = step_set_after(plan_, request_.thresholds, request_.step_set);
      return code_with_rdoq(blocks);
    }
    case Part::kLast:
      break;
  }
  return false;
}

bool EbcotPrediction::after_sample(const CodedBlock* blocks, SlopeHistogram& histogram) {
  request_.thresholds = predict_thresholds(plan_, blocks, sample_.blocks, sample_.weights,
                                           request_.targets, histogram);
  keep_steps_if_coded_before(plan_, blocks, sample_.blocks, request_);
  request_.step_set = step_set_of(plan_, request_);
  if (!may_use_rdoq(plan_, request_.targets) || codes_plain_first(plan_)) {
    part_ = Part::kOtherSteps;
    if (request_.step_set == 0) return goes_on(blocks, histogram);
    order_ = {.blocks = sample_.blocks,
              .thresholds = request_.thresholds,
              .step_set = request_.step_set,
              .anew = true};
    return true;
  }
  if (request_.thresholds[0] == 0) return code_with_rdoq(blocks);
  if (request_.steps_known || request_.step_set == 0) return code_larger(true);
  part_ = Part::kTrial;
  first_cost_ = sample_cost(blocks, 0);
  order_ = {.blocks = sample_.blocks,
            .thresholds = below_prediction(request_.thresholds),
            .step_set = request_.step_set,
            .anew = true};
  return true;
}

double EbcotPrediction::sample_cost(const CodedBlock* blocks, uint32_t step_set) const {
  return cost_at(plan_, sample_, step_set, request_.thresholds, false,
                 [&](size_t i) -> const CodedBlock& { return blocks[sample_.blocks[i]]; });
}

bool EbcotPrediction::code_larger(bool anew) {
  part_ = Part::kLarger;
  order_ = {.blocks = sample_.larger.blocks,
            .thresholds = below_prediction(request_.thresholds),
            .step_set = request_.step_set,
            .anew = anew};
  return true;
}

bool EbcotPrediction::code_with_rdoq(const CodedBlock* blocks) {
  part_ = Part::kLast;
  request_.rdoq = rdoq_slopes(plan_, request_.thresholds, request_.targets.floor);
  plain_.clear();
  if (request_.rdoq[0] != 0) {
    for (const uint32_t b : sample_.larger.blocks) plain_.push_back(blocks[b]);
  }
  request_.outcome.plain = plain_;
  order_ = request_;
  order_.anew = true;
  order_.votes = false;
  return true;
}

}  // namespace cj2k
