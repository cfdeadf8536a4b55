// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// How far the blocks of a frame are coded (cj2k_params::stop). A strategy gives the backend a stop
// rule (depth/stop_rule.h). For exact, it also says which blocks resume after rate control:
//
//   none   Every block is coded to its last plane.
//   exact  Blocks are coded only as far as rate control looks:
//          1. A sample of the blocks predicts the slope at which rate control will end. (With
//             constant quality and no cap, that slope is known.)
//          2. The other blocks are coded until they may pause at that slope (core/stop.h).
//          3. Rate control runs and says where it really ended. The frame is done if its blocks are
//             expected to hold every point that full coding would choose there. Otherwise blocks
//             are coded further, and rate control runs again. docs/stop.md has the rule for each
//             coder, why it suffices, and what the scan (tests/scan) finds.
//          Single bytes may differ from none where a paused block is cut (docs/rate-control.md).
//   pst, psb, bpi
//          The strategies of Martinez-del-Amor, Bruns and Sparenberg, "Parallel efficient rate
//          control methods for JPEG 2000" (2017), sections 5.1 to 5.3. A block that has stopped
//          never resumes, so they lose quality. They need a cap in bytes; without one they are
//          `exact`.
//
// With PTERM every strategy is `none`. pst depends on where the GOP before ended. With every other
// strategy, the bytes of a frame depend on that frame alone, not on what was encoded before it or
// in parallel.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "coders/coded_block.h"
#include "coders/ebcot/colour_errors.h"
#include "coders/ht/ht_points.h"
#include "depth/stop_rule.h"
#include "plan/plan.h"
#include "rate/rate.h"
#include "rate/slope_histogram.h"

namespace cj2k {

/// The step set of a frame whose blocks are coded at these thresholds: the one whose planes lie best
/// (core/ht/plane_choice.h). 0 where the plan has no other.
uint32_t step_set_at(const Plan& plan, const SlopeThresholds& thresholds);

/// The step set of a request whose thresholds were predicted: step_set_at, if it is not given.
inline uint32_t step_set_of(const Plan& plan, const BlockRequest& request) {
  return request.steps_known ? request.step_set : step_set_at(plan, request.thresholds);
}

/// Whether the steps of a request are still to be chosen.
inline bool chooses_steps(const Plan& plan, const BlockRequest& request) {
  return !plan.finer_subbands.empty() && !request.steps_known;
}
/// Keeps the step set 0 if the step set is still to be chosen and these blocks, which were coded
/// with it, vote that the frame was coded with its steps before (coders/coded_before.h).
void keep_steps_if_coded_before(const Plan& plan, const CodedBlock* blocks,
                                std::span<const uint32_t> share, BlockRequest& request);

/// Whether a frame is coded with RDOQ: not if its blocks have less than a byte each.
bool may_use_rdoq(const Plan& plan, const ByteTargets& targets);
/// Whether frames are coded as with effort 1 first. RDOQ then knows the slope, and the error to
/// compare with.
bool codes_plain_first(const Plan& plan);
/// BlockOrder::rdoq for thresholds that were predicted. @param floor  ByteTargets::floor
SlopeThresholds rdoq_slopes(const Plan& plan, const SlopeThresholds& thresholds, uint16_t floor);
/// Squared error of quantisation itself: uniform over the step.
inline double step_error(const Plan& plan, const CodeBlock& block, uint32_t step_set) {
  if (plan.reversible) return 0;
  return distortion_weight(plan, block, step_set) * block.width * block.height / 12;
}
/// The least cost of a block, squared error plus `slope` x bytes, over its points.
/// @param slope  the exchange rate: error per byte
/// @param left   error_left of its component
double least_cost(const CodedBlock& coded, double slope, double left);
/// The cost of the frame for which a share stands.
/// @param slopes    log-slopes
/// @param coded     CodedBlock of the share's block i
/// @param has_rdoq  it is coded with RDOQ
template <typename Coded>
double cost_at(const Plan& plan, const BlockShare& share, uint32_t step_set,
               const SlopeThresholds& slopes, bool has_rdoq, const Coded& coded) {
  double cost = 0;
  for (size_t i = 0; i < share.blocks.size(); ++i) {
    const CodeBlock& block = plan.blocks[share.blocks[i]];
    const double left = has_rdoq ? error_left(plan, block.component) : 1;
    cost += share.weights[i] * (least_cost(coded(i), slope_value(slopes[block.component]), left) +
                                left * step_error(plan, block, step_set));
  }
  return cost;
}
/// HT: lets an order take more planes, for a frame that is not regular (HtChoices): one more below its
/// thresholds, and all above. Ten pictures at 0.03 to 2 bit/pixel, twelve of 110 points irregular: the
/// same PSNR as with all planes.
void widen_ht_range(BlockOrder& order);
inline bool has_wide_ht_range(const BlockOrder& order) { return order.highest[0] == kMaxSlope; }
/// Thresholds to code the larger sample to: low enough to reach the slope that it predicts.
SlopeThresholds below_prediction(const SlopeThresholds& thresholds);
/// The step set of a frame whose larger sample was coded with `set` and predicts `thresholds`:
/// `set`, unless another one is better by more than a step.
uint32_t step_set_after(const Plan& plan, const SlopeThresholds& thresholds, uint32_t set);

/// Where rate control on a device ended with an HT frame.
struct HtEnd {
  SlopeThresholds exhausted;  ///< RateControl::exhausted_above
  uint64_t body_bytes;
  HtChoices choices;
};
/// Whether EarlyStop would go on with a frame, after its first request, without RDOQ.
/// @param coded  as the backend has coded it: not a trial, with a threshold for each component
bool goes_on_ht(const Plan& plan, const BlockRequest& coded, const HtEnd& end);

/// The requests of one frame: code request(), let rate control choose, then ask goes_on() whether
/// blocks resume. The memory is reused from frame to frame.
class EarlyStop {
 public:
  /// What a request of a frame is for. next_round says which follows which.
  enum class Round : uint8_t {
    kFirst,       ///< what the strategy asks for
    kResume,      ///< EBCOT: paused blocks go on
    kOtherSteps,  ///< all blocks anew, with another step set
    kFirstSteps,  ///< all blocks anew, with the first step set, because the other one did not pay
    kCleanup,     ///< all blocks anew, with cleanup passes alone, after trials with all passes
    kHtPoints,    ///< HT: blocks anew, with the planes of more slopes
    kRdoq,        ///< all blocks anew, with RDOQ
    kRdoqFirstSteps,  ///< all blocks anew, with RDOQ and the first step set
    kRdoqOpen,        ///< blocks anew, with RDOQ and in full
    kPlain,           ///< all blocks anew, without RDOQ, which did not pay
  };

  /// `plan` and `sample` must outlive it. Throws std::bad_alloc.
  EarlyStop(const Plan& plan, const BlockSample& sample);

  /// Begins a new frame.
  /// @param previous  for pst: the slopes where the last frame of the GOP before ended; 0: none
  /// @param step_set  the quantisation that the frame must have, if it may not choose
  void begin(uint32_t frame, const RateControl& rate, const SlopeThresholds& previous,
             std::optional<uint32_t> step_set = {});
  /// What to code. A rule that predicts writes its thresholds here.
  BlockRequest& request() { return request_; }
  /// Takes over the results of the request; the backend coded a copy of it.
  void take(const BlockRequest& coded);
  Round round() const { return round_; }
  /// How often blocks of the frame were coded again because a prediction was wrong.
  int rounds() const { return rounds_; }
  /// Whether the steps are kept because the frame was coded with them before.
  bool coded_before() const { return coded_before_; }
  /// Call it after RateControl::allocate.
  /// @return false: the selection is final; true: request() has the blocks that resume
  bool goes_on(const CodedBlock* blocks, const RateControl& rate);

 private:
  std::optional<Round> next_round(const CodedBlock* blocks, const RateControl& rate);
  void request_all(const SlopeThresholds& thresholds, uint32_t step_set);
  bool wants_other_steps(const CodedBlock* blocks, const RateControl& rate);
  bool wants_first_steps(const CodedBlock* blocks, const RateControl& rate);
  bool are_regular(const CodedBlock* blocks, const RateControl& rate) const;
  bool wants_ht_points(const CodedBlock* blocks, const RateControl& rate);
  bool resumes(const CodedBlock* blocks, const RateControl& rate);
  bool wants_rdoq(const CodedBlock* blocks, const RateControl& rate);
  bool wants_ht_rdoq(const CodedBlock* blocks, const RateControl& rate);
  bool wants_no_ht_rdoq(const CodedBlock* blocks, const RateControl& rate);
  void note_plain(const CodedBlock* blocks, const RateControl& rate);
  double cost_of(const CodedBlock* blocks, const RateControl& rate) const;
  bool wants_rdoq_first_steps(const CodedBlock* blocks, const RateControl& rate);
  bool wants_rdoq_open(const CodedBlock* blocks, const RateControl& rate);
  bool wants_no_rdoq(const CodedBlock* blocks, const RateControl& rate);
  template <typename Work>
  void for_paused(const CodedBlock* blocks, const Work& work) const;

  const Plan& plan_;
  const BlockSample& sample_;
  const cj2k_stop stop_;
  BlockRequest request_{};
  Round round_ = Round::kFirst;
  bool may_go_on_ = false;
  bool may_change_steps_ = false;
  std::optional<SlopeThresholds> tried_;  ///< other_steps_at, of a trial (BlockOrder::is_trial)
  uint32_t first_set_ = 0;                ///< the step set that is given, or 0
  int rounds_ = 0;          ///< times that blocks were coded again because a prediction was wrong
  double plain_cost_ = -1;  ///< cost_of the frame without RDOQ; negative: not known
  double first_cost_ =
      -1;  ///< cost_of the frame with the first steps; negative: not to be compared
  bool coded_before_ = false;
  BlockOrder plain_;               ///< HT: how the frame was coded without RDOQ
  int rdoq_left_ = 0;              ///< times that RDOQ may still be requested
  bool rdoq_steps_known_ = false;  ///< BlockRequest::steps_known for RDOQ
  std::vector<uint8_t> resumed_;   ///< [blocks] whether it went on without RDOQ; empty: not known
  std::vector<uint32_t> open_;
};

}  // namespace cj2k
