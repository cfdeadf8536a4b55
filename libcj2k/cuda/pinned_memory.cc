// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "cuda/pinned_memory.h"

#include <algorithm>

#include "coders/coded_block.h"
#include "core/slope_search.h"
#include "plan/plan_caps.h"

namespace cj2k::cuda {
namespace {

/// Of what PinnedPool::take gives.
constexpr uint64_t kAlignment = 64;
/// Arrays of the pool of hulls in a GOP, at most: three for each call that codes blocks.
constexpr uint64_t kMostHullArrays = 64;

/// The cap of a frame by the parameters; kNoTarget: none.
uint64_t cap_of(const Plan& plan) {
  const RateLimits limits = rate_limits(plan, plan.params);
  if (limits.component_bytes == kNoTarget) return limits.frame_bytes;
  return std::min(limits.frame_bytes, limits.component_bytes * plan.components.size());
}

}  // namespace

Status PinnedPool::reserve(simt::Context& context, uint64_t bytes) {
  context_ = &context;
  chunks_.emplace_back();
  return chunks_.back().allocate(context, bytes);
}

Status PinnedPool::take(uint64_t bytes, uint8_t** memory) {
  bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  while (chunk_ < chunks_.size() && used_ + bytes > chunks_[chunk_].bytes()) {
    ++chunk_;
    used_ = 0;
  }
  if (chunk_ == chunks_.size()) {
    chunks_.emplace_back();
    const Status status =
        chunks_.back().allocate(*context_, std::max<uint64_t>(bytes, chunks_[0].bytes()));
    if (status != Status::kOk) {
      chunks_.pop_back();
      return status;
    }
  }
  *memory = chunks_[chunk_].as<uint8_t>(used_);
  used_ += bytes;
  return Status::kOk;
}

uint64_t PinnedPool::most() const {
  uint64_t most = 0;
  for (size_t i = chunk_; i < chunks_.size(); ++i) {
    const uint64_t used = i == chunk_ ? used_ : 0;
    most = std::max<uint64_t>(most, (chunks_[i].bytes() - used) / kAlignment * kAlignment);
  }
  return most;
}

PinnedLayout::PinnedLayout(const Plan& plan, const PlanTables& tables) {
  const auto frames = static_cast<uint64_t>(plan.params.gop);
  const uint64_t blocks = frames * plan.blocks.size();
  const bool is_ht = plan.params.coder == CJ2K_CODER_HT;
  const uint64_t tasks = frames * tables.ht.frame_tasks;
  Carver carver;
  list = carver.take(is_ht ? 0 : blocks * sizeof(uint32_t));
  resumed_list = carver.take(is_ht ? 0 : blocks * sizeof(uint32_t));
  weights = carver.take(blocks * sizeof(uint32_t));
  thresholds = carver.take(frames * CJ2K_MAX_COMPONENTS * sizeof(uint16_t));
  results = carver.take(blocks * sizeof(Tier1Result));
  totals = carver.take(kTotals * sizeof(uint32_t));
  packed = carver.take(is_ht ? 0 : blocks * sizeof(PackedBytes));
  frame_jobs = (is_ht ? 2 : 1) * plan.blocks.size();
  gather = carver.take(frames * frame_jobs * sizeof(GatherJob));
  const bool has_rate = tables.rate.has_value();
  outcomes = carver.take(has_rate ? frames * sizeof(RateOutcome) : 0);
  left = carver.take(has_rate ? blocks * sizeof(double) : 0);
  paused_passes = carver.take(has_rate ? blocks : 0);
  peaks = carver.take(is_ht ? blocks * sizeof(uint32_t) : 0);
  ht_tasks = carver.take(tasks * sizeof(HtTask));
  ht_results = carver.take(tasks * sizeof(HtResult));
  ht_choices = carver.take(is_ht ? blocks * sizeof(HtChoice) : 0);
  const bool has_hulls = is_ht && may_have_ht_hulls(plan);
  ht_hulls = carver.take(has_hulls ? blocks * kMostHtHull * sizeof(HullPoint) : 0);
  bytes = carver.bytes();
  input_bytes = frames * tables.input.bytes;
  size_pools(plan, tables);
}

void PinnedLayout::size_pools(const Plan& plan, const PlanTables& tables) {
  const auto frames = static_cast<uint64_t>(plan.params.gop);
  const bool is_ht = plan.params.coder == CJ2K_CODER_HT;
  const auto style = static_cast<uint32_t>(plan.params.cblk_style);
  // Those of HT blocks are in ht_hulls, or made on the host.
  hull_bytes = 0;
  if (!is_ht) {
    const uint64_t point_bytes = sizeof(HullPoint) +
                                 (style & CJ2K_STYLE_PTERM ? sizeof(PassTail) : 0) +
                                 (has_segments(style) ? sizeof(SegmentEnd) : 0);
    hull_bytes = frames * tables.tier1.frame_passes * point_bytes + kMostHullArrays * kAlignment;
  }
  // Each piece of a block begins at a multiple of 16.
  const uint64_t gaps = 16 * frame_jobs, cap = cap_of(plan);
  const uint64_t most = is_ht ? tables.ht.frame_point_bytes : tables.tier1.frame_bytes;
  code_bytes = frames * (std::min(most, cap) + gaps) + kAlignment;
  chosen_bytes = 0;
  // HT brings nothing before the choice. Without a cap all that is brought is chosen.
  if (is_ht || cap == kNoTarget) return;
  chosen_bytes = code_bytes;
  // With EBCOT, more bytes come than are chosen (tier1_pack).
  const uint64_t ahead = frames * (std::min(raw_frame_bytes(plan), cap) + gaps);
  code_bytes += ahead + ahead / 4;
}

}  // namespace cj2k::cuda
