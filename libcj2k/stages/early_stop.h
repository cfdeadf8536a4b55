// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// How far the blocks of a frame are coded (cj2k_params::stop). A strategy is a rule that a backend
// codes all blocks by (stages/stop_rule.h), and, for exact, what happens when rate control has seen
// the result:
//
//   none   every block to its last plane.
//   exact  only as far as rate control looks. A sample of the blocks predicts the slope at which
//          rate control will stop (constant quality without a cap knows it), the others are coded
//          down to that slope. Rate control then says where it really stopped: a block that paused
//          above that slope, and has planes left that could reach it, goes on, and rate control
//          runs again, until there is none.
//   pst, psb, bpi   the strategies of Martinez-del-Amor, Bruns and Sparenberg, "Parallel efficient
//          rate control methods for JPEG 2000" (2017), sections 5.1 to 5.3. Nothing goes on after
//          its stop, so they lose quality. They need a cap in bytes; without one they are `exact`.
//
// With PTERM all are `none`. But for pst, which is told where the GOP before ended, all depends on
// the frame alone: the bytes do not depend on what was encoded before, or in parallel.
#pragma once

#include <cstdint>
#include <vector>

#include "plan.h"
#include "stages/coded_block.h"
#include "stages/rate.h"
#include "stages/stop_rule.h"

namespace cj2k {

/// The strategy that the frames of a plan are coded by: params.stop, or what stands in for it.
/// Exact may still have no cap to predict for (RateControl::has_cap).
cj2k_stop stop_in_force(const Plan& plan);

/// The requests of one frame: code `request`, let rate control choose, then ask whether blocks go
/// on. Reuses its memory.
class EarlyStop {
 public:
  /// `plan` and `sample` must outlive it. Throws std::bad_alloc.
  EarlyStop(const Plan& plan, const BlockSample& sample);

  /// A new frame.
  /// @param previous  for pst: where the last frame of the GOP before ended; 0: there was none
  void begin(uint32_t frame, const RateControl& rate, const SlopeThresholds& previous);
  /// What to code; a rule that predicts writes its thresholds there.
  BlockRequest& request() { return request_; }
  /// After RateControl::allocate: false where its selection is final, else `request` is the next.
  bool goes_on(const CodedBlock* blocks, const RateControl& rate);

 private:
  bool want_open(const CodedBlock* blocks, const SlopeThresholds& thresholds);

  const Plan& plan_;
  const BlockSample& sample_;
  const cj2k_stop stop_;
  BlockRequest request_{};
  bool may_go_on_ = false;
  std::vector<uint32_t> open_;
};

}  // namespace cj2k
