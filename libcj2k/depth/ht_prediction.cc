// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "depth/ht_prediction.h"

#include <algorithm>
#include <cstdlib>

#include "coders/ht/ht_points.h"
#include "core/slope.h"
#include "core/stop.h"
#include "depth/early_stop.h"

namespace cj2k {
namespace {

/// One block in this many of a share may choose a plane at the edge.
constexpr uint32_t kMostFarInShare = 256;
/// Frames of fewer blocks are estimated from the larger sample.
constexpr size_t kFewForSample = 4096;
/// Predictions from the larger sample.
constexpr int kMostHtPredictions = kMostHtOrders - 4;
/// Slopes that differ by no more take the same planes, even if S crosses a plane: those beside S are
/// coded, too.
constexpr int kSamePlanes = kHtPlaneSlopes / 8;
/// Most by which a threshold is lowered the first time that the targets are not used up: a quarter of a
/// plane. Each further time it is twice as much.
constexpr int kMostLower = kHtPlaneSlopes / 4;

/// Whether threshold `next` takes the same planes as the request's threshold, with steps that are
/// as good. @param slack  as in is_near_ht_step_set
bool is_same_ht_coding(const Plan& plan, const BlockRequest& request, const SlopeThresholds& next,
                       int slack) {
  const SlopeThresholds& now = request.thresholds;
  const uint32_t step_set = request.step_set;
  const double weight = plan.subbands[0].distortion_weight;
  for (size_t c = 0; c < plan.components.size(); ++c) {
    if (std::abs(next[c] - now[c]) > kSamePlanes &&
        ht_lowest_plane(weight, now[c], step_set) != ht_lowest_plane(weight, next[c], step_set))
      return false;
  }
  return request.steps_known || next[0] == 0 || step_set_at(plan, next) == step_set ||
         is_near_ht_step_set(weight, next[0], step_set, slack);
}

/// How much of a component's targets all blocks of the histogram leave unused, in the unit of
/// RateControl::unused_cap_steps; 0: a target is used up.
int unused_steps(const Plan& plan, const ByteTargets& targets, uint32_t component,
                 const SlopeHistogram& histogram) {
  const auto steps = [](uint64_t target, uint64_t bytes) {
    if (bytes > target) return 0;
    if (target == kNoTarget) return int{kMaxSlope};
    return 1 + log_slope(static_cast<double>(target) + 1, 1) -
           log_slope(static_cast<double>(bytes) + 1, 1);
  };
  const auto components = static_cast<uint32_t>(plan.components.size());
  return std::min(
      steps(targets.frame, histogram.bytes_at_least(0, components, 0)),
      steps(targets.component[component], histogram.bytes_at_least(component, component + 1, 0)));
}

}  // namespace

/// Whether the blocks of a share choose planes in the middle of those that are coded at the slopes, by
/// their estimates.
bool HtPrediction::is_regular(const CodedBlock* blocks, const BlockShare& share,
                              const SlopeThresholds& slopes) const {
  HtChoices choices;
  for (const uint32_t b : share.blocks) {
    const uint16_t slope = slopes[plan_.blocks[b].component];
    int points = blocks[b].num_hull;
    while (points > 0 && blocks[b].hull[points - 1].slope < slope + kHtExpected) --points;
    choices.add(plan_, b, blocks[b], points, slope, 0);
  }
  return choices.are_regular(kMostFarInShare);
}

HtPrediction::HtPrediction(const Plan& plan, const BlockSample& sample, BlockRequest& request)
    : plan_(plan),
      sample_(sample),
      request_(request),
      order_{.blocks = first_share().blocks, .anew = true, .points = HtPoints::kEstimate} {}

bool HtPrediction::goes_on(const CodedBlock* blocks, SlopeHistogram& histogram) {
  switch (part_) {
    case Part::kEstimate:
      return after_estimate(blocks, histogram);
    case Part::kFirstSteps:
      first_cost_ = sample_cost(blocks);
      part_ = Part::kOtherSteps;
      request_.step_set = step_set_of(plan_, request_);
      code(first_share().blocks);
      return true;
    case Part::kOtherSteps: {
      const bool is_worse = sample_cost(blocks) > first_cost_;
      if (is_worse) keep_steps();
      if (is_worse || codes_again() || &first_share() != &sample_.larger) return begin_larger();
      predictions_ = 1;
      break;
    }
    case Part::kLarger:
      break;
    case Part::kRest:
      return false;
  }
  if (!refine(predict(blocks, sample_.larger, histogram), histogram)) return begin_larger();
  take_rest(sample_.larger.rest);
  return true;
}

/// Whether what predicts the steps is coded again. The slope at which cleanup passes alone use up a
/// target says little: where the steps suit the frame, there are hardly points for two octaves around
/// it. So the larger sample, and a small frame's first coding, have all passes.
bool HtPrediction::codes_again() const {
  return plan_.most_ht_passes == 1 && !plan_.finer_subbands.empty();
}

bool HtPrediction::after_estimate(const CodedBlock* blocks, SlopeHistogram& histogram) {
  const BlockShare& share = first_share();
  request_.thresholds = predict(blocks, share, histogram);
  keep_steps_if_coded_before(plan_, blocks, share.blocks, request_);
  is_regular_ = is_regular(blocks, share, request_.thresholds);
  if (is_small_ht(plan_)) {
    // Rate control then says which steps to try (EarlyStop::wants_other_steps).
    request_.thresholds = {};
    request_.is_trial = codes_again() && !request_.steps_known;
    take_rest(sample_.all);
    return true;
  }
  const bool has_few_bytes = request_.targets.frame < plan_.blocks.size();
  if (!is_regular_ || has_few_bytes) keep_steps();
  if (request_.steps_known || step_set_of(plan_, request_) == 0) return begin_larger();
  // The estimates do not tell which steps are better, so the share is coded with both.
  part_ = Part::kFirstSteps;
  slopes_ = request_.thresholds;
  for (uint16_t& slope : slopes_) slope = static_cast<uint16_t>(slope + kHtExpected);
  request_.step_set = 0;
  code(share.blocks);
  return true;
}

SlopeThresholds HtPrediction::predict(const CodedBlock* blocks, const BlockShare& share,
                                      SlopeHistogram& histogram) const {
  return predict_thresholds(plan_, blocks, share.blocks, share.weights, request_.targets,
                            histogram);
}

/// Cost (squared error and bytes) of the frame at the slopes where it is expected to end, by the
/// first share.
double HtPrediction::sample_cost(const CodedBlock* blocks) const {
  const BlockShare& share = first_share();
  return cost_at(plan_, share, request_.step_set, slopes_, false,
                 [&](size_t i) -> const CodedBlock& { return blocks[share.blocks[i]]; });
}

/// Keeps the steps of quant_step, unless others are given.
void HtPrediction::keep_steps() {
  if (!request_.steps_known) request_.step_set = 0;
  request_.steps_known = true;
}

/// Codes the larger sample. Codes all blocks instead if the sample has been coded often enough, and
/// with more planes if the frame is irregular.
bool HtPrediction::begin_larger() {
  part_ = Part::kLarger;
  request_.step_set = step_set_of(plan_, request_);
  if (!is_regular_) widen_ht_range(request_);
  if (!is_regular_ || predictions_++ == kMostHtPredictions) {
    take_rest(sample_.all);
  } else {
    code(sample_.larger.blocks);
  }
  return true;
}

/// Takes over the slopes that the larger sample predicts.
/// @return whether it is coded as they ask
bool HtPrediction::refine(SlopeThresholds next, const SlopeHistogram& histogram) {
  const int before = predictions_ - 1;
  bool is_known = true;
  for (uint32_t c = 0; c < plan_.components.size(); ++c) {
    const int unused = unused_steps(plan_, request_.targets, c, histogram);
    if (unused == 0) continue;
    // The slopes of planes that are not coded are not known.
    is_known = false;
    const int lower = std::min(resume_step(unused), kMostLower << before);
    next[c] = static_cast<uint16_t>(
        std::max(request_.thresholds[c] - lower, int{request_.targets.floor}));
  }
  // Each time costs an eighth of the frame, and gains less than the time before.
  const int slack = kHtSetSlopes * (4 + before) / 4;
  const bool is_same = is_same_ht_coding(plan_, request_, next, slack);
  // The predicted slope moves against the step, so the middle is nearer to what the sample will predict
  // with other steps. Without other steps, two predictions may still point to each other.
  const bool takes_middle = is_known && !is_same && (before > 0 || chooses_steps(plan_, request_));
  for (size_t c = 0; c < next.size() && takes_middle; ++c)
    next[c] = static_cast<uint16_t>((next[c] + request_.thresholds[c]) / 2);
  request_.thresholds = next;
  return is_same;
}

const BlockShare& HtPrediction::first_share() const {
  return plan_.blocks.size() < kFewForSample ? sample_.larger : sample_;
}

void HtPrediction::code(std::span<const uint32_t> blocks) {
  order_ = {.blocks = blocks,
            .thresholds = request_.thresholds,
            .step_set = request_.step_set,
            .anew = true,
            .points = request_.points,
            .is_trial = part_ == Part::kLarger || (part_ == Part::kRest && request_.is_trial),
            .highest = request_.highest};
}

void HtPrediction::take_rest(std::span<const uint32_t> blocks) {
  part_ = Part::kRest;
  if (codes_again() && !request_.is_trial) {
    blocks = sample_.all;
    request_.step_set = step_set_of(plan_, request_);
    request_.steps_known = true;
  }
  code(blocks);
}

}  // namespace cj2k
