// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "stages/early_stop.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "core/slope.h"
#include "core/stop.h"

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
  std::set_difference(all.begin(), all.end(), blocks.begin(), blocks.end(),
                      std::back_inserter(rest));
}

EarlyStop::EarlyStop(const Plan& plan, const BlockSample& sample) : plan_(plan), sample_(sample) {
  open_.reserve(sample.all.size());
}

bool EarlyStop::want_open(const CodedBlock* blocks, const SlopeThresholds& thresholds) {
  open_.clear();
  for (uint32_t b = 0; b < plan_.blocks.size(); ++b) {
    const CodedBlock& block = blocks[b];
    if (block.is_coded) {
      if (block.planes_left == 0) continue;
      const uint16_t threshold = thresholds[plan_.blocks[b].component];
      const uint16_t last = block.num_hull > 0 ? block.hull[block.num_hull - 1].slope : kMaxSlope;
      const double weight = plan_.subbands[plan_.blocks[b].subband].distortion_weight;
      if (last < threshold || best_slope_left(weight, block.planes_left) < threshold) continue;
    }
    open_.push_back(b);
  }
  wanted_ = open_;
  return !open_.empty();
}

namespace {

class StopNone final : public EarlyStop {
 public:
  StopNone(const Plan& plan, const BlockSample& sample) : EarlyStop(plan, sample) {}

  void begin(const RateControl&, const SlopeThresholds&) override { wanted_ = sample_.all; }
  bool next(const CodedBlock* blocks, RateControl& rate) override {
    rate.allocate(blocks);
    return false;
  }
};

class StopExact final : public EarlyStop {
 public:
  StopExact(const Plan& plan, const BlockSample& sample, bool backend_decides)
      : EarlyStop(plan, sample), backend_decides_(backend_decides) {}

  void begin(const RateControl& rate, const SlopeThresholds&) override {
    thresholds_ = {};
    step_ = CodeStep::kBlocks;
    if (!rate.has_limit()) {
      stage_ = Stage::kEverything;
      wanted_ = sample_.all;
      return;
    }
    stage_ = Stage::kSample;
    wanted_ = {};
    if (!rate.has_cap()) return;
    wanted_ = sample_.blocks;
    if (backend_decides_) {
      // Predicts and codes the rest in the same step.
      step_ = CodeStep::kSampled;
      stage_ = Stage::kRest;
    }
  }

  bool next(const CodedBlock* blocks, RateControl& rate) override {
    step_ = CodeStep::kBlocks;
    switch (stage_) {
      case Stage::kSample:
        return after_sample(blocks, rate);
      case Stage::kRest:
        return after_rest(blocks, rate);
      case Stage::kEverything:
        break;
    }
    rate.allocate(blocks);
    return false;
  }

 private:
  enum class Stage { kEverything, kSample, kRest };

  bool after_sample(const CodedBlock* blocks, RateControl& rate) {
    thresholds_ = rate.predict(blocks, sample_.blocks, sample_.weights);
    stage_ = Stage::kRest;
    return want_open(blocks, thresholds_) || after_rest(blocks, rate);
  }

  bool after_rest(const CodedBlock* blocks, RateControl& rate) {
    rate.allocate(blocks);
    SlopeThresholds exhausted{};
    for (uint32_t c = 0; c < plan_.components.size(); ++c) exhausted[c] = rate.exhausted_above(c);
    if (!want_open(blocks, exhausted)) return false;
    const int lower = kStepDown + kSlopePerByteDoubling * rate.room();
    do {
      for (uint32_t c = 0; c < plan_.components.size(); ++c) {
        // Where the caps are used up, only what paused above the slope they end at has to go on.
        const uint16_t next = static_cast<uint16_t>(std::max(thresholds_[c] - lower, 0));
        thresholds_[c] = exhausted[c] > 0 ? std::min(thresholds_[c], exhausted[c]) : next;
      }
    } while (!want_open(blocks, thresholds_));
    return true;
  }

  const bool backend_decides_;
  Stage stage_ = Stage::kEverything;
};

/// The threshold of the GOP before, less a margin (section 5.1).
class StopPrevious final : public EarlyStop {
 public:
  StopPrevious(const Plan& plan, const BlockSample& sample) : EarlyStop(plan, sample) {}

  void begin(const RateControl&, const SlopeThresholds& previous) override {
    wanted_ = sample_.all;
    // core/stop.h takes a margin of its own off.
    for (size_t c = 0; c < previous.size(); ++c) {
      const int slope = previous[c] - plan_.params.stop_margin + kPauseMargin;
      thresholds_[c] =
          previous[c] == 0 ? uint16_t{0} : static_cast<uint16_t>(std::clamp(slope, 0, 65535));
    }
  }
  bool next(const CodedBlock* blocks, RateControl& rate) override {
    rate.allocate(blocks);
    return false;
  }
};

}  // namespace

cj2k_stop stop_in_force(const Plan& plan) {
  const cj2k_params& p = plan.params;
  if (p.stop == CJ2K_STOP_NONE || (p.cblk_style & CJ2K_STYLE_PTERM) != 0) return CJ2K_STOP_NONE;
  if (p.stop != CJ2K_STOP_EXACT && has_byte_cap(plan)) return p.stop;
  return plan.blocks.size() < kMinBlocks ? CJ2K_STOP_NONE : CJ2K_STOP_EXACT;
}

std::unique_ptr<EarlyStop> EarlyStop::make(const Plan& plan, const BlockSample& sample,
                                           bool backend_decides) {
  switch (stop_in_force(plan)) {
    case CJ2K_STOP_PST:
      return std::make_unique<StopPrevious>(plan, sample);
    case CJ2K_STOP_PSB:
    case CJ2K_STOP_BPI:
      return make_plane_stop(plan, sample, backend_decides);
    case CJ2K_STOP_EXACT:
      return std::make_unique<StopExact>(plan, sample, backend_decides);
    case CJ2K_STOP_NONE:
      break;
  }
  return std::make_unique<StopNone>(plan, sample);
}

}  // namespace cj2k
