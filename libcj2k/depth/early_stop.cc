// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "depth/early_stop.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>

#include "coders/coded_before.h"
#include "coders/ebcot/rdoq.h"
#include "coders/ht/ht_points.h"
#include "core/ht/plane_choice.h"
#include "core/slope.h"
#include "core/stop.h"

namespace cj2k {
namespace {

/// With fewer blocks, RDOQ's larger sample would be most of the frame.
constexpr size_t kMinRdoqBlocks = 1024;
/// The sample has one block in kSampleStride of each subband, and at least kMinSample blocks if the
/// subband has that many.
constexpr uint32_t kSampleStride = 64;
constexpr uint32_t kMinSample = 3;
/// The larger sample of HT, and of RDOQ.
constexpr uint32_t kLargerStride = 8, kRdoqStride = 16;
constexpr uint32_t kMinLarger = 12;
/// The larger sample of RDOQ is coded to half an octave below the prediction of the first.
constexpr int kLargerMargin = 128;
/// The slope for RDOQ is so far below the one where rate control is predicted to end; here above, where
/// RDOQ gains most. Rate control ends 20/256 octave below the prediction, because with RDOQ more goes in.
constexpr int kRdoqShift = -15;
/// HT: the slope for RDOQ is so far below the one where rate control ended without, and rate control
/// ends about kHtRdoqEnd below that.
constexpr int kHtRdoqShift = 30, kHtRdoqEnd = 120;
/// RDOQ is repeated if rate control ends further than this from its slope, below or above. It often
/// overshoots harmlessly: RDOQ leaves few points just below its slope. So the slope moves by a
/// part.
constexpr int kRdoqNear = 256, kRdoqNearAbove = 128;
constexpr int kRdoqMovePercent = 60;
/// HT: where blocks have fewer bytes on average, whole bytes count more than slopes.
constexpr uint64_t kFewBytes = 8;
/// HT: one block in this many may choose a plane at an end of those that were coded.
constexpr uint32_t kMostFar = 64;
/// Rounds after which a frame is coded in full.
constexpr int kMostRounds = 8;
/// The gain is an estimate. RDOQ must gain at least a 256th.
constexpr double kLeastGain = 255.0 / 256;
/// RDOQ takes more than that from the cost of nearly every frame whose steps suit it.
constexpr double kUsualRdoqCost = 0.97;
/// Most times that a frame is coded with RDOQ at slopes of its own.
constexpr int kRdoqTries = 2;

/// EBCOT's step sets. The slope over the square of the step, as a log-slope, stands best at
/// kBestPhase between two planes, where the cut falls after a clean-up pass (docs/effort.md).
constexpr int kBestPhase = 272;
constexpr int kPlaneSlopes = 512;
constexpr int kSetSlopes = kPlaneSlopes / static_cast<int>(kStepSets);

/// Squared error per byte, in LSB^2, at which steps in the picture are two LSB: S^2 = 6 slope / (8 ln 2)
/// (core/ht/plane_choice.h).
constexpr double kRoundedSlope = 3.7;

/// Distance of a step set from kBestPhase, 0 .. kPlaneSlopes / 2.
/// @param weight     of any band, with step set 0
/// @param threshold  for coding, as in step_set_at
int phase_error(double weight, uint16_t threshold, uint32_t set) {
  const int slope = threshold + static_cast<int>(kPredictionMargin) - kRdoqShift;
  const int position = slope - log_slope(weight, 1) + kSetSlopes * static_cast<int>(set);
  const int phase = ((position - kBestPhase) % kPlaneSlopes + kPlaneSlopes) % kPlaneSlopes;
  return std::min(phase, kPlaneSlopes - phase);
}

/// Whether decoders round most of the error at a slope away. The estimates of errors say little there.
/// @param threshold  for coding, as in step_set_at
bool is_rounded_away(uint16_t threshold) {
  return threshold == 0 || slope_value(threshold + kPredictionMargin) < kRoundedSlope;
}

uint32_t ebcot_step_set(double weight, uint16_t threshold) {
  uint32_t best = 0;
  for (uint32_t set = 1; set < kStepSets; ++set) {
    if (phase_error(weight, threshold, set) < phase_error(weight, threshold, best)) best = set;
  }
  return best;
}

/// Whether another step set would gain less than it costs to code the frame again.
bool is_near_step_set(const Plan& plan, uint16_t threshold, uint32_t set) {
  const double weight = plan.subbands[0].distortion_weight;
  if (plan.params.coder == CJ2K_CODER_HT)
    return is_near_ht_step_set(weight, threshold, set, 2 * kHtSetSlopes);
  return phase_error(weight, threshold, set) <= kSetSlopes;
}

/// pst: the threshold of the GOP before, less `margin` (section 5.1); 0 if there is none.
uint16_t threshold_after(uint16_t previous, int32_t margin) {
  if (previous == 0) return 0;
  // may_pause_after subtracts kPauseMargin, so it is added here.
  return static_cast<uint16_t>(std::clamp(previous - margin + kPauseMargin, 0, int{kMaxSlope}));
}

/// @param stride  one block in `stride` of each subband
/// @param least   blocks of each subband, if it has that many
///
/// The blocks of a subband are contiguous only inside a precinct, so the count of blocks seen runs
/// on from precinct to precinct.
BlockShare share_of(const Plan& plan, const std::vector<uint32_t>& all, uint32_t stride,
                    uint32_t least) {
  BlockShare share;
  std::vector<uint32_t> blocks_of(plan.subbands.size());
  for (const CodeBlock& b : plan.blocks) ++blocks_of[b.subband];
  std::vector<uint32_t> seen(plan.subbands.size());
  for (uint32_t b = 0; b < plan.blocks.size(); ++b) {
    const uint32_t band = plan.blocks[b].subband;
    const uint64_t count = blocks_of[band];
    const uint64_t samples = std::min<uint64_t>(count, std::max<uint64_t>(least, count / stride));
    // Sample k is the block in the middle of the k-th of `samples` equal parts.
    const uint64_t k = seen[band] * samples / count;
    const uint64_t middle = (2 * k + 1) * count / (2 * samples);
    if (seen[band]++ != middle) continue;
    share.blocks.push_back(b);
    share.weights.push_back(
        static_cast<uint32_t>(((k + 1) * count) / samples - (k * count) / samples));
  }
  std::set_difference(all.begin(), all.end(), share.blocks.begin(), share.blocks.end(),
                      std::back_inserter(share.rest));
  return share;
}

SlopeThresholds exhausted_by(const RateControl& rate) {
  SlopeThresholds ended{};
  for (uint32_t c = 0; c < CJ2K_MAX_COMPONENTS; ++c) ended[c] = rate.exhausted_above(c);
  return ended;
}

/// The thresholds of another step set where rate control ended so far from the prediction that it is
/// the best.
std::optional<SlopeThresholds> other_steps_at(const Plan& plan, const BlockRequest& request,
                                              const SlopeThresholds& exhausted) {
  if (request.steps_known) return {};
  SlopeThresholds ended = request.thresholds;
  for (uint32_t c = 0; c < plan.components.size(); ++c) {
    if (exhausted[c] == 0) return {};
    const uint32_t lower = std::max<uint32_t>(exhausted[c], kPredictionMargin + 1);
    ended[c] = static_cast<uint16_t>(lower - kPredictionMargin);
  }
  // A trial is coded again in any case.
  const bool is_near = !request.is_trial && is_near_step_set(plan, ended[0], request.step_set);
  if (is_near || step_set_at(plan, ended) == request.step_set) return {};
  return ended;
}

/// HT: whether rate control ended outside of the slopes that the points of a component cover.
bool lacks_ht_points(const Plan& plan, const BlockOrder& order, uint32_t component, int end) {
  const int lowest = order.thresholds[component], margin = ht_far(plan.most_ht_passes);
  if (lowest == 0) return false;
  const int off = end - kHtExpected, highest = std::max<int>(order.highest[component], lowest);
  return end == 0 || off < lowest - margin || off > highest + margin;
}

/// HT: whether the selected points are in the middle of the planes that were coded.
bool is_regular_ht(const Plan& plan, uint64_t body_bytes, const HtChoices& choices) {
  return body_bytes >= kFewBytes * plan.blocks.size() && choices.are_regular(kMostFar);
}

bool has_ebcot_rdoq(const Plan& plan) {
  return plan.has_rdoq && plan.params.coder == CJ2K_CODER_EBCOT;
}

}  // namespace

BlockSample::BlockSample(const Plan& plan) : all(plan.blocks.size()) {
  std::iota(all.begin(), all.end(), 0u);
  static_cast<BlockShare&>(*this) = share_of(plan, all, kSampleStride, kMinSample);
  if (plan.params.coder == CJ2K_CODER_HT) {
    larger = share_of(plan, all, kLargerStride, kMinLarger);
  } else if (plan.has_rdoq) {
    larger = share_of(plan, all, kRdoqStride, kMinLarger);
  }
}

uint32_t step_set_at(const Plan& plan, const SlopeThresholds& thresholds) {
  if (plan.finer_subbands.empty() || is_rounded_away(thresholds[0])) return 0;
  const double weight = plan.subbands[0].distortion_weight;
  if (plan.params.coder == CJ2K_CODER_HT) return ht_step_set(weight, thresholds[0]);
  return ebcot_step_set(weight, thresholds[0]);
}

void keep_steps_if_coded_before(const Plan& plan, const CodedBlock* blocks,
                                std::span<const uint32_t> share, BlockRequest& request) {
  if (!chooses_steps(plan, request) || !was_coded_before(blocks, share)) return;
  request.step_set = 0;
  request.steps_known = request.outcome.coded_before = true;
}

void widen_ht_range(BlockOrder& order) {
  for (uint16_t& slope : order.thresholds)
    slope = static_cast<uint16_t>(std::max(slope - kHtPlaneSlopes, 0));
  order.highest.fill(kMaxSlope);
  order.points = HtPoints::kAll;
}

bool may_use_rdoq(const Plan& plan, const ByteTargets& targets) {
  return plan.has_rdoq && targets.frame >= plan.blocks.size();
}

bool codes_plain_first(const Plan& plan) {
  return has_ebcot_rdoq(plan) &&
         (plan.blocks.size() < kMinRdoqBlocks || plan.stop == CJ2K_STOP_NONE);
}

SlopeThresholds rdoq_slopes(const Plan& plan, const SlopeThresholds& thresholds, uint16_t floor) {
  SlopeThresholds slopes{};
  for (size_t c = 0; c < plan.components.size(); ++c) {
    if (thresholds[c] == 0) return {};
    // The floor of constant quality has no margin.
    const uint32_t margin = thresholds[c] > floor ? kPredictionMargin : 0;
    slopes[c] =
        static_cast<uint16_t>(std::max(static_cast<int>(thresholds[c] + margin) - kRdoqShift, 1));
  }
  return slopes;
}

double least_cost(const CodedBlock& coded, double slope, double left) {
  double least = left * coded.total_distortion;
  for (int i = 0; i < coded.num_hull; ++i) {
    least = std::min(least, left * (coded.total_distortion - coded.hull[i].distortion) +
                                slope * coded.hull[i].length_bytes);
  }
  return least;
}

SlopeThresholds below_prediction(const SlopeThresholds& thresholds) {
  SlopeThresholds below{};
  for (size_t c = 0; c < thresholds.size(); ++c)
    below[c] = static_cast<uint16_t>(std::max(thresholds[c] - kLargerMargin, 0));
  return below;
}

uint32_t step_set_after(const Plan& plan, const SlopeThresholds& thresholds, uint32_t set) {
  return is_near_step_set(plan, thresholds[0], set) ? set : step_set_at(plan, thresholds);
}

bool goes_on_ht(const Plan& plan, const BlockRequest& coded, const HtEnd& end) {
  for (uint32_t c = 0; c < plan.components.size(); ++c) {
    if (lacks_ht_points(plan, coded, c, end.exhausted[c])) return true;
  }
  return !is_regular_ht(plan, end.body_bytes, end.choices) ||
         other_steps_at(plan, coded, end.exhausted).has_value();
}

EarlyStop::EarlyStop(const Plan& plan, const BlockSample& sample)
    : plan_(plan), sample_(sample), stop_(plan.stop) {
  open_.reserve(sample.all.size());
  if (plan.has_rdoq) resumed_.reserve(sample.all.size());
}

void EarlyStop::begin(uint32_t frame, const RateControl& rate, const SlopeThresholds& previous,
                      std::optional<uint32_t> step_set) {
  first_set_ = step_set.value_or(0);
  request_ = {{.blocks = sample_.all, .step_set = first_set_}};
  request_.frame = frame;
  round_ = Round::kFirst;
  request_.steps_known = step_set.has_value();
  may_go_on_ = stop_ == CJ2K_STOP_EXACT && rate.has_limit();
  may_change_steps_ = false;
  tried_.reset();
  rounds_ = 0;
  plain_cost_ = first_cost_ = -1;
  resumed_.clear();
  rdoq_left_ = rate.has_limit() && may_use_rdoq(plan_, rate.prediction_targets()) ? kRdoqTries : 0;
  // Without RDOQ the steps are those of effort 1.
  request_.steps_known |= has_ebcot_rdoq(plan_) && rdoq_left_ == 0;
  rdoq_steps_known_ = request_.steps_known;
  if (rdoq_left_ > 0 && codes_plain_first(plan_)) {
    request_.votes = chooses_steps(plan_, request_);
    request_.steps_known = true;
  }
  coded_before_ = false;
  switch (stop_) {
    case CJ2K_STOP_NONE:
      break;
    case CJ2K_STOP_EXACT:
      if (!may_go_on_) break;
      request_.targets = rate.prediction_targets();
      // HT also has to know whether a frame is regular (HtChoices).
      if (rate.has_cap() || plan_.params.coder == CJ2K_CODER_HT) {
        request_.rule = StopRule::kPredicted;
        may_change_steps_ = chooses_steps(plan_, request_);
      } else {
        request_.thresholds.fill(request_.targets.floor);
        request_.step_set = step_set_of(plan_, request_);
      }
      break;
    case CJ2K_STOP_PST:
      for (size_t c = 0; c < previous.size(); ++c)
        request_.thresholds[c] = threshold_after(previous[c], plan_.params.stop_margin);
      break;
    case CJ2K_STOP_PSB:
    case CJ2K_STOP_BPI:
      request_.rule = stop_ == CJ2K_STOP_PSB ? StopRule::kSlopeBytes : StopRule::kBytes;
      request_.targets = rate.caps();
      break;
  }
}

void EarlyStop::take(const BlockRequest& coded) {
  request_.thresholds = coded.thresholds;
  request_.step_set = coded.step_set;
  request_.rdoq = coded.rdoq;
  request_.highest = coded.highest;
  request_.points = coded.points;
  if (!coded.outcome.plain.empty()) request_.outcome.plain = coded.outcome.plain;
  request_.steps_known = coded.steps_known;
  request_.is_trial = coded.is_trial;
  coded_before_ |= coded.outcome.coded_before;
  // Further rounds are the host's.
  request_.limits = nullptr;
}

bool EarlyStop::goes_on(const CodedBlock* blocks, const RateControl& rate) {
  const std::optional<Round> next = next_round(blocks, rate);
  if (next) round_ = *next;
  return next.has_value();
}

/// What the frame lacks, in the order in which it is mended. Each test writes the request.
std::optional<EarlyStop::Round> EarlyStop::next_round(const CodedBlock* blocks,
                                                      const RateControl& rate) {
  const bool is_plain = request_.rdoq[0] == 0;
  if (is_plain && may_go_on_) {
    request_.anew = false;
    if (plan_.params.coder == CJ2K_CODER_HT && wants_ht_points(blocks, rate))
      return Round::kHtPoints;
    if (request_.is_trial) {
      tried_ = other_steps_at(plan_, request_, exhausted_by(rate));
      may_change_steps_ = false;
      request_all({}, first_set_);
      return Round::kCleanup;
    }
    if (wants_first_steps(blocks, rate)) return Round::kFirstSteps;
    if (wants_other_steps(blocks, rate)) return Round::kOtherSteps;
    if (plan_.params.coder == CJ2K_CODER_EBCOT && resumes(blocks, rate)) return Round::kResume;
  }
  if (plan_.params.coder == CJ2K_CODER_HT) {
    if (is_plain && rdoq_left_ > 0 && wants_ht_rdoq(blocks, rate)) return Round::kRdoq;
    if (is_plain) return {};
    if (may_go_on_ && wants_ht_points(blocks, rate)) return Round::kHtPoints;
    if (wants_no_ht_rdoq(blocks, rate)) return Round::kPlain;
    return {};
  }
  if (rdoq_left_ > 0) {
    if (is_plain) note_plain(blocks, rate);
    if (wants_rdoq(blocks, rate)) return Round::kRdoq;
  }
  if (is_plain) return {};
  if (wants_rdoq_open(blocks, rate)) return Round::kRdoqOpen;
  if (wants_rdoq_first_steps(blocks, rate)) return Round::kRdoqFirstSteps;
  if (wants_no_rdoq(blocks, rate)) return Round::kPlain;
  return {};
}

/// Requests all blocks anew.
void EarlyStop::request_all(const SlopeThresholds& thresholds, uint32_t step_set) {
  const uint32_t frame = request_.frame;
  request_ = {
      {.blocks = sample_.all, .thresholds = thresholds, .step_set = step_set, .anew = true}};
  request_.frame = frame;
}

/// Notes what is known of the frame without RDOQ, to compare with later.
void EarlyStop::note_plain(const CodedBlock* blocks, const RateControl& rate) {
  plain_cost_ = cost_of(blocks, rate);
  resumed_.clear();
  for (uint32_t b = 0; b < plan_.blocks.size(); ++b)
    resumed_.push_back(blocks[b].num_passes_resumed > 0 ? 1 : 0);
}

/// Squared error of the frame, weighted; with constant quality also what the bytes are worth.
double EarlyStop::cost_of(const CodedBlock* blocks, const RateControl& rate) const {
  const uint16_t floor = rate.prediction_targets().floor;
  double error = floor > 0 ? slope_value(floor) * static_cast<double>(rate.body_bytes()) : 0;
  for (uint32_t b = 0; b < plan_.blocks.size(); ++b) {
    const CodedBlock& coded = blocks[b];
    const int points = rate.selection().final_points[b];
    const double of_block = coded.total_distortion -
                            (points > 0 ? coded.hull[points - 1].distortion : 0) +
                            step_error(plan_, plan_.blocks[b], request_.step_set);
    const bool has_rdoq = request_.rdoq[0] != 0;
    error += (has_rdoq ? error_left(plan_, plan_.blocks[b].component) : 1) * of_block;
  }
  return error;
}

/// Requests all blocks anew without RDOQ if the frame is worse with it. It compares the cost of
/// all blocks, if they were coded without RDOQ; else the larger sample, at the slopes where rate
/// control ended, or those of RDOQ if these are higher: further down, RDOQ has left too little.
bool EarlyStop::wants_no_rdoq(const CodedBlock* blocks, const RateControl& rate) {
  bool is_worse = false;
  if (!request_.outcome.plain.empty()) {
    SlopeThresholds ended{};
    for (uint32_t c = 0; c < plan_.components.size(); ++c)
      ended[c] = std::max(rate.exhausted_above(c), request_.rdoq[c]);
    const auto cost = [&](bool has_rdoq, const auto& of) {
      return cost_at(plan_, sample_.larger, request_.step_set, ended, has_rdoq, of);
    };
    is_worse = cost(true, [&](size_t i) -> const CodedBlock& {
                 return blocks[sample_.larger.blocks[i]];
               }) > cost(false, [&](size_t i) -> const CodedBlock& {
                      return request_.outcome.plain[i];
                    }) * kLeastGain;
  } else {
    is_worse = plain_cost_ >= 0 && cost_of(blocks, rate) > plain_cost_ * kLeastGain;
  }
  if (!is_worse) return false;
  SlopeThresholds thresholds{};
  for (uint32_t c = 0; c < plan_.components.size() && stop_ == CJ2K_STOP_EXACT; ++c)
    thresholds[c] = static_cast<uint16_t>(
        std::max(rate.exhausted_above(c) - static_cast<int>(kPredictionMargin), 0));
  request_all(thresholds, first_set_);
  rdoq_left_ = 0;
  may_change_steps_ = false;
  ++rounds_;
  return true;
}

/// Requests all blocks anew with RDOQ: after the first coding, and again if rate control ended far
/// from the slopes of the last time.
bool EarlyStop::wants_rdoq(const CodedBlock* blocks, const RateControl& rate) {
  --rdoq_left_;
  const bool is_first = request_.rdoq[0] == 0;
  bool is_near = !is_first, fits = false;
  SlopeThresholds slopes{}, thresholds{};
  for (size_t c = 0; c < plan_.components.size(); ++c) {
    const int end = rate.exhausted_above(static_cast<uint32_t>(c));
    fits |= end == 0;
    const int off = end - request_.rdoq[c];
    is_near &= off >= -kRdoqNear && off <= kRdoqNearAbove;
    const int slope = is_first ? end - kRdoqShift : request_.rdoq[c] + off * kRdoqMovePercent / 100;
    slopes[c] = static_cast<uint16_t>(std::max(slope, 1));
    thresholds[c] = static_cast<uint16_t>(std::max(slope - static_cast<int>(kPredictionMargin), 0));
  }
  if (is_near || (is_first && fits)) return false;
  const uint16_t thresholds_at = thresholds[0];
  const bool was_plain = is_first && codes_plain_first(plan_);
  if (was_plain) request_.steps_known = rdoq_steps_known_;
  if (request_.votes) {
    keep_steps_if_coded_before(plan_, blocks, sample_.all, request_);
    coded_before_ = request_.outcome.coded_before;
  }
  // With steps of less than an LSB in the picture there is nothing to gain.
  if (is_first && slope_value(slopes[0]) < kRoundedSlope / 4) return false;
  const bool steps_known = request_.steps_known;
  const std::span<const CodedBlock> plain = request_.outcome.plain;
  if (codes_plain_first(plan_)) thresholds = {};
  request_all(thresholds, request_.step_set);
  request_.outcome.plain = plain;
  request_.steps_known = steps_known;
  if (fits) {
    // Without RDOQ everything may go in.
    rdoq_left_ = 0;
    request_.thresholds = {};
    return true;
  }
  request_.rdoq = slopes;
  if (was_plain && !steps_known && !plan_.finer_subbands.empty()) {
    // The first coding had the step set 0.
    request_.step_set = ebcot_step_set(plan_.subbands[0].distortion_weight, thresholds_at);
  }
  return true;
}

/// HT: requests all blocks anew with RDOQ, with the same steps. Blocks keep their points without RDOQ.
bool EarlyStop::wants_ht_rdoq(const CodedBlock* blocks, const RateControl& rate) {
  rdoq_left_ = 0;
  SlopeThresholds slopes{}, thresholds{};
  for (uint32_t c = 0; c < plan_.components.size(); ++c) {
    const uint16_t end = rate.exhausted_above(c);
    // Where decoders round most of the error away, it could lose.
    if (end == 0 || slope_value(end) < kRoundedSlope) return false;
    slopes[c] = static_cast<uint16_t>(std::max(end - kHtRdoqShift, 1));
    // Frames that were coded in full without RDOQ are again, and irregular ones with more planes.
    if (request_.thresholds[c] > 0)
      thresholds[c] = static_cast<uint16_t>(std::max(end - kHtRdoqEnd - kHtExpected, 0));
  }
  plain_cost_ = cost_of(blocks, rate);
  plain_ = request_;
  request_all(thresholds, request_.step_set);
  if (has_wide_ht_range(plain_)) widen_ht_range(request_);
  request_.steps_known = true;
  request_.rdoq = slopes;
  return true;
}

/// HT: requests all blocks as before RDOQ if that gains next to nothing: where blocks have few points,
/// other ones may fill a cap less.
bool EarlyStop::wants_no_ht_rdoq(const CodedBlock* blocks, const RateControl& rate) {
  if (cost_of(blocks, rate) <= plain_cost_ * kLeastGain) return false;
  request_all(plain_.thresholds, plain_.step_set);
  request_.highest = plain_.highest;
  request_.points = plain_.points;
  request_.steps_known = true;
  ++rounds_;
  return true;
}

/// Requests all blocks anew with RDOQ and the first steps, once, if RDOQ with other steps gains so
/// little that these must be worse.
bool EarlyStop::wants_rdoq_first_steps(const CodedBlock* blocks, const RateControl& rate) {
  if (plain_cost_ < 0 || request_.step_set == first_set_) return false;
  if (cost_of(blocks, rate) < plain_cost_ * kUsualRdoqCost) return false;
  const SlopeThresholds slopes = request_.rdoq;
  request_all({}, first_set_);
  request_.rdoq = slopes;
  rdoq_left_ = 0;
  ++rounds_;
  return true;
}

/// Requests anew with RDOQ, and in full, the paused blocks whose next planes are expected to be
/// worth their bytes. These are the blocks that went on without RDOQ, and the blocks that paused
/// above the plane for which RDOQ chose their samples and whose next_slope reaches the end. The
/// slope of the last point does not count, since RDOQ makes blocks end there.
bool EarlyStop::wants_rdoq_open(const CodedBlock* blocks, const RateControl& rate) {
  if (!may_go_on_ || rounds_ >= kMostRounds) return false;
  open_.clear();
  for (uint32_t b = 0; b < plan_.blocks.size(); ++b) {
    const CodedBlock& block = blocks[b];
    if (block.planes_left == 0 || block.num_hull == 0) continue;
    const uint32_t c = plan_.blocks[b].component;
    const double weight = distortion_weight(plan_, plan_.blocks[b], request_.step_set);
    const auto point = [&block](int i) { return block.hull[i]; };
    const double left = block.total_distortion - block.hull[block.num_hull - 1].distortion;
    const bool resumed = !resumed_.empty() && resumed_[b] != 0;
    const bool goes_on =
        block.planes_left > lowest_rdoq_plane(request_.rdoq[c], weight, plan_.reversible) &&
        next_slope(point, block.num_hull, left) >= rate.exhausted_above(c);
    if (resumed || goes_on) open_.push_back(b);
  }
  if (open_.empty()) return false;
  request_.rule = StopRule::kThresholds;
  request_.blocks = open_;
  request_.thresholds = {};
  request_.anew = true;
  rdoq_left_ = 0;
  ++rounds_;
  return true;
}

/// Requests the paused blocks that are expected to go on to points above the slope where rate control
/// ended (docs/stop.md).
bool EarlyStop::resumes(const CodedBlock* blocks, const RateControl& rate) {
  const auto lower = static_cast<uint32_t>(resume_step(rate.unused_cap_steps()));
  uint32_t times = kNeverResumes;
  bool begins = false;
  for_paused(blocks, [&](uint32_t, uint32_t component, uint16_t reach) {
    const uint16_t end = rate.exhausted_above(component);
    times = std::min(times, times_to_resume(request_.thresholds[component], end, lower, reach));
    begins |= reach >= end;
  });
  if (!begins) return false;
  for (uint32_t c = 0; c < plan_.components.size(); ++c) {
    request_.thresholds[c] =
        lowered_threshold(request_.thresholds[c], rate.exhausted_above(c), lower, times);
  }
  open_.clear();
  for_paused(blocks, [&](uint32_t b, uint32_t component, uint16_t reach) {
    if (reach >= request_.thresholds[component]) open_.push_back(b);
  });
  request_.rule = StopRule::kThresholds;
  request_.blocks = open_;
  ++rounds_;
  return true;
}

/// Calls work(block, component, reach) for the paused blocks; they are expected to make points of the
/// slope `reach` if they go on (slope_left).
template <typename Work>
void EarlyStop::for_paused(const CodedBlock* blocks, const Work& work) const {
  for (uint32_t b = 0; b < plan_.blocks.size(); ++b) {
    const CodedBlock& block = blocks[b];
    if (block.planes_left == 0) continue;
    const double weight = distortion_weight(plan_, plan_.blocks[b], request_.step_set);
    const auto point = [&block](int i) { return block.hull[i]; };
    const double removed = block.num_hull > 0 ? block.hull[block.num_hull - 1].distortion : 0;
    const double left = block.total_distortion - removed;
    work(b, plan_.blocks[b].component,
         slope_left(point, block.num_hull, left, weight, block.planes_left));
  }
}

/// Requests all blocks anew, once, with other steps if these are the best (other_steps_at).
bool EarlyStop::wants_other_steps(const CodedBlock* blocks, const RateControl& rate) {
  std::optional<SlopeThresholds> at =
      may_change_steps_ ? other_steps_at(plan_, request_, exhausted_by(rate)) : tried_;
  may_change_steps_ = false;
  tried_.reset();
  if (!at) return false;
  const uint32_t best = step_set_at(plan_, *at);
  if (request_.thresholds[0] == 0) {
    at = SlopeThresholds{};
    first_cost_ = cost_of(blocks, rate);
  }
  request_all(*at, best);
  request_.steps_known = true;
  ++rounds_;
  return true;
}

/// Requests all blocks anew with the first steps, if the frame was coded in full with both and is
/// worse with the others.
bool EarlyStop::wants_first_steps(const CodedBlock* blocks, const RateControl& rate) {
  if (first_cost_ < 0) return false;
  const bool is_worse = cost_of(blocks, rate) > first_cost_;
  first_cost_ = -1;
  if (is_worse) request_all({}, first_set_);
  return is_worse;
}

bool EarlyStop::are_regular(const CodedBlock* blocks, const RateControl& rate) const {
  HtChoices choices;
  for (uint32_t b = 0; b < plan_.blocks.size(); ++b) {
    const uint16_t end = rate.exhausted_above(plan_.blocks[b].component);
    choices.add(plan_, b, blocks[b], rate.selection().final_points[b], end, request_.step_set);
  }
  return is_regular_ht(plan_, rate.body_bytes(), choices);
}

/// HT: requests anew the blocks of components whose slope is outside of the range that their points
/// cover, with the points of all slopes from that range to it.
bool EarlyStop::wants_ht_points(const CodedBlock* blocks, const RateControl& rate) {
  SlopeThresholds lowest = request_.thresholds, highest = request_.highest;
  std::array<bool, CJ2K_MAX_COMPONENTS> lacks{};
  for (uint32_t c = 0; c < plan_.components.size(); ++c) {
    if (lowest[c] == 0) continue;
    const int end = rate.exhausted_above(c);
    lacks[c] = lacks_ht_points(plan_, request_, c, end);
    highest[c] = std::max(highest[c], lowest[c]);
    if (!lacks[c]) continue;
    // If points are missing, rate control may end far below where it would end after full coding.
    const int lower =
        end == 0 ? lowest[c] - std::max(resume_step(rate.unused_cap_steps()), kHtPlaneSlopes)
                 : std::max(end - static_cast<int>(kPredictionMargin), lowest[c] - kHtPlaneSlopes);
    lowest[c] =
        static_cast<uint16_t>(std::clamp(end == 0 && rounds_ > 0 ? 0 : lower, 0, int{lowest[c]}));
    highest[c] = static_cast<uint16_t>(std::max(end, int{highest[c]}));
  }
  const bool is_done = std::none_of(lacks.begin(), lacks.end(), [](bool lack) { return lack; });
  // With RDOQ finer planes pay more often. Irregular frames were found before.
  const bool has_rdoq = request_.rdoq[0] != 0;
  if (is_done && (lowest == SlopeThresholds{} || has_rdoq || has_wide_ht_range(request_) ||
                  are_regular(blocks, rate)))
    return false;
  if (++rounds_ >= kMostRounds || is_done) {
    lacks.fill(true);
    if (!is_done) lowest = {};
    // Other steps suit photographs.
    if (may_change_steps_) request_.step_set = first_set_;
    may_change_steps_ = false;
  }
  open_.clear();
  for (uint32_t b = 0; b < plan_.blocks.size(); ++b) {
    if (lacks[plan_.blocks[b].component]) open_.push_back(b);
  }
  request_.rule = StopRule::kThresholds;
  request_.blocks = open_;
  request_.thresholds = lowest;
  request_.highest = highest;
  request_.points = HtPoints::kAll;
  request_.anew = true;
  if (is_done) widen_ht_range(request_);
  return true;
}

}  // namespace cj2k
