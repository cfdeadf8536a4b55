// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Early stop without loss: code each block only as far as rate control will look, then go on where
// it looked further.
//
// A sample of the blocks is coded to the end and predicts the slope at which rate control will stop
// (constant quality without a cap knows it). The other blocks are coded down to that slope. Rate
// control then says where it really stopped: a block that paused above that slope might have had
// more to give, so it goes on, and rate control runs again, until there is none. All of it depends
// on the frame alone, so the bytes do not depend on what was encoded before, or in parallel.
#pragma once

#include <cstdint>
#include <vector>

#include "backend.h"
#include "base/status.h"
#include "plan.h"
#include "stages/rate.h"

namespace cj2k {

/// One per frame slot; reuses its memory.
class EarlyStop {
 public:
  explicit EarlyStop(const Plan& plan);

  /// Codes the blocks of a transformed frame and leaves the final selection in `rate`. Adds the
  /// times of tier-1 and rate control to `stats`.
  Status run(Backend& backend, FrameWork& work, RateControl& rate, cj2k_stats& stats);

 private:
  bool is_worth_it(const RateControl& rate) const;
  void choose_sample();
  bool collect_open(const CodedBlock* blocks, const SlopeThresholds& thresholds);

  const Plan& plan_;
  std::vector<uint32_t> all_;
  std::vector<uint32_t> sample_;          ///< block indices, rising
  std::vector<uint32_t> sample_weights_;  ///< blocks of the same subband that each stands for
  std::vector<uint32_t> open_;
};

}  // namespace cj2k
