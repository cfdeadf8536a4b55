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

EarlyStop::EarlyStop(const Plan& plan) : plan_(plan), all_(plan.blocks.size()) {
  std::iota(all_.begin(), all_.end(), 0u);
  open_.reserve(all_.size());
  choose_sample();
}

bool EarlyStop::is_worth_it(const RateControl& rate) const {
  return plan_.params.stop == CJ2K_STOP_EXACT && all_.size() >= kMinBlocks && rate.has_limit();
}

/// Blocks spread evenly over each subband of each tile-component. The blocks of a subband lie in
/// one run per precinct, so counting goes on from precinct to precinct.
void EarlyStop::choose_sample() {
  std::vector<uint32_t> blocks_of(plan_.subbands.size());
  for (const CodeBlock& b : plan_.blocks) ++blocks_of[b.subband];
  std::vector<uint32_t> seen(plan_.subbands.size());
  for (uint32_t b = 0; b < plan_.blocks.size(); ++b) {
    const uint32_t band = plan_.blocks[b].subband;
    const uint64_t blocks = blocks_of[band];
    const uint64_t samples =
        std::min<uint64_t>(blocks, std::max<uint64_t>(kMinSample, blocks / kSampleStride));
    // Sample k is the block in the middle of the k-th of `samples` equal parts.
    const uint64_t k = seen[band] * samples / blocks;
    const uint64_t middle = (2 * k + 1) * blocks / (2 * samples);
    if (seen[band]++ != middle) continue;
    sample_.push_back(b);
    sample_weights_.push_back(
        static_cast<uint32_t>(((k + 1) * blocks) / samples - (k * blocks) / samples));
  }
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
  return !open_.empty();
}

Status EarlyStop::run(Backend& backend, FrameWork& work, RateControl& rate, cj2k_stats& stats) {
  using Clock = std::chrono::steady_clock;
  const auto timed = [&](auto call) {
    const auto start = Clock::now();
    call();
    stats.stage_ms[3] += std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  };
  SlopeThresholds thresholds{};
  if (!is_worth_it(rate)) {
    CJ2K_TRY(backend.code_blocks(work, all_, thresholds, stats));
    timed([&] { rate.allocate(work.blocks()); });
    return Status::kOk;
  }
  if (rate.has_cap()) CJ2K_TRY(backend.code_blocks(work, sample_, thresholds, stats));
  timed([&] { thresholds = rate.predict(work.blocks(), sample_, sample_weights_); });
  collect_open(work.blocks(), thresholds);
  while (true) {
    CJ2K_TRY(backend.code_blocks(work, open_, thresholds, stats));
    timed([&] { rate.allocate(work.blocks()); });
    SlopeThresholds exhausted{};
    for (uint32_t c = 0; c < plan_.components.size(); ++c) exhausted[c] = rate.exhausted_above(c);
    if (!collect_open(work.blocks(), exhausted)) return Status::kOk;
    const int lower = kStepDown + kSlopePerByteDoubling * rate.room();
    do {
      for (uint32_t c = 0; c < plan_.components.size(); ++c) {
        // Where the caps are used up, only what paused above the slope they end at has to go on.
        const uint16_t next = static_cast<uint16_t>(std::max(thresholds[c] - lower, 0));
        thresholds[c] = exhausted[c] > 0 ? std::min(thresholds[c], exhausted[c]) : next;
      }
    } while (!collect_open(work.blocks(), thresholds));
  }
}

}  // namespace cj2k
