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

/// What every frame's EarlyStop looks up.
struct BlockSample {
  explicit BlockSample(const Plan& plan);
  std::vector<uint32_t> all;      ///< every block
  std::vector<uint32_t> blocks;   ///< indices, rising
  std::vector<uint32_t> weights;  ///< blocks of the same subband that each stands for
};

/// The decisions of one frame: begin, then code what `next` asks for until it asks for nothing.
/// Reuses its memory.
class EarlyStop {
 public:
  EarlyStop(const Plan& plan, const BlockSample& sample);

  /// A new frame. Its first request is in `request()`.
  void begin(const RateControl& rate);
  /// The request has been coded: the next one, or false when the final selection is in `rate`.
  /// Adds the time of rate control to `stats`.
  bool next(const CodedBlock* blocks, RateControl& rate, cj2k_stats& stats);
  /// What to code; `frame` is the caller's.
  BlockRequest request(uint32_t frame) const { return {frame, wanted_, thresholds_}; }

 private:
  enum class Step { kEverything, kSample, kRest };

  bool is_worth_it(const RateControl& rate) const;
  bool collect_open(const CodedBlock* blocks, const SlopeThresholds& thresholds);
  bool after_sample(const CodedBlock* blocks, RateControl& rate);
  bool after_rest(const CodedBlock* blocks, RateControl& rate);

  const Plan& plan_;
  const BlockSample& sample_;
  Step step_ = Step::kEverything;
  SlopeThresholds thresholds_{};
  std::span<const uint32_t> wanted_;
  std::vector<uint32_t> open_;
};

}  // namespace cj2k
