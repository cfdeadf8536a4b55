// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "stages/early_stop.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "core/slope.h"

namespace cj2k {
namespace {

/// Below this many blocks a sample is most of the frame.
constexpr size_t kMinBlocks = 512;
/// Of each subband one block in `kSampleStride`, but `kMinSample` where it has them.
constexpr uint32_t kSampleStride = 64;
constexpr uint32_t kMinSample = 3;
/// Steps down when the caps are not used up: bytes grow about with the root of the falling slope;
/// and a little more.
constexpr int kSlopePerByteDoubling = 2;
constexpr int kStepDown = 64;

}  // namespace

/// Blocks spread evenly over each subband of each tile-component. The blocks of a subband lie in
/// one run per precinct, so counting goes on from precinct to precinct.
BlockSample::BlockSample(const Plan& plan) : all(plan.blocks.size()) {
  std::iota(all.begin(), all.end(), 0u);
  std::vector<uint32_t> blocks_of(plan.subbands.size());
  for (const CodeBlock& b : plan.blocks) ++blocks_of[b.subband];
  std::vector<uint32_t> seen(plan.subbands.size());
  for (uint32_t b = 0; b < plan.blocks.size(); ++b) {
    const uint32_t band = plan.blocks[b].subband;
    const uint64_t count = blocks_of[band];
    const uint64_t samples =
        std::min<uint64_t>(count, std::max<uint64_t>(kMinSample, count / kSampleStride));
    // Sample k is the block in the middle of the k-th of `samples` equal parts.
    const uint64_t k = seen[band] * samples / count;
    const uint64_t middle = (2 * k + 1) * count / (2 * samples);
    if (seen[band]++ != middle) continue;
    blocks.push_back(b);
    weights.push_back(static_cast<uint32_t>(((k + 1) * count) / samples - (k * count) / samples));
  }
}

EarlyStop::EarlyStop(const Plan& plan, const BlockSample& sample) : plan_(plan), sample_(sample) {
  open_.reserve(sample.all.size());
}

bool EarlyStop::is_worth_it(const RateControl& rate) const {
  return plan_.params.stop == CJ2K_STOP_EXACT && sample_.all.size() >= kMinBlocks &&
         rate.has_limit();
}

void EarlyStop::begin(const RateControl& rate) {
  thresholds_ = {};
  if (!is_worth_it(rate)) {
    step_ = Step::kEverything;
    wanted_ = sample_.all;
    return;
  }
  step_ = Step::kSample;
  wanted_ =
      rate.has_cap() ? std::span<const uint32_t>(sample_.blocks) : std::span<const uint32_t>();
}

bool EarlyStop::next(const CodedBlock* blocks, RateControl& rate, cj2k_stats& stats) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  bool more = false;
  switch (step_) {
    case Step::kEverything:
      rate.allocate(blocks);
      break;
    case Step::kSample:
      more = after_sample(blocks, rate);
      break;
    case Step::kRest:
      more = after_rest(blocks, rate);
      break;
  }
  stats.stage_ms[3] += std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  return more;
}

bool EarlyStop::after_sample(const CodedBlock* blocks, RateControl& rate) {
  thresholds_ = rate.predict(blocks, sample_.blocks, sample_.weights);
  step_ = Step::kRest;
  return collect_open(blocks, thresholds_) || after_rest(blocks, rate);
}

bool EarlyStop::after_rest(const CodedBlock* blocks, RateControl& rate) {
  rate.allocate(blocks);
  SlopeThresholds exhausted{};
  for (uint32_t c = 0; c < plan_.components.size(); ++c) exhausted[c] = rate.exhausted_above(c);
  if (!collect_open(blocks, exhausted)) return false;
  const int lower = kStepDown + kSlopePerByteDoubling * rate.room();
  do {
    for (uint32_t c = 0; c < plan_.components.size(); ++c) {
      // Where the caps are used up, only what paused above the slope they end at has to go on.
      const uint16_t next = static_cast<uint16_t>(std::max(thresholds_[c] - lower, 0));
      thresholds_[c] = exhausted[c] > 0 ? std::min(thresholds_[c], exhausted[c]) : next;
    }
  } while (!collect_open(blocks, thresholds_));
  return true;
}

/// Blocks that are not coded yet, or paused at a slope not below the threshold of their component.
bool EarlyStop::collect_open(const CodedBlock* blocks, const SlopeThresholds& thresholds) {
  open_.clear();
  for (uint32_t b = 0; b < plan_.blocks.size(); ++b) {
    const CodedBlock& block = blocks[b];
    const uint16_t last = block.num_hull > 0 ? block.hull[block.num_hull - 1].slope : kMaxSlope;
    if (!block.is_coded || (block.planes_left > 0 && last >= thresholds[plan_.blocks[b].component]))
      open_.push_back(b);
  }
  wanted_ = open_;
  return !open_.empty();
}

}  // namespace cj2k
