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

uint64_t aligned(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

uint64_t cap_of(const Plan& plan) {
  const RateLimits limits = rate_limits(plan, plan.params);
  if (limits.component_bytes == kNoTarget) return limits.frame_bytes;
  return std::min(limits.frame_bytes, limits.component_bytes * plan.components.size());
}

Status PinnedPool::reserve(simt::Context& context, uint64_t bytes) {
  context_ = &context;
  chunks_.emplace_back();
  return chunks_.back().allocate(context, bytes);
}

Status PinnedPool::take(uint64_t bytes, uint8_t** memory) {
  bytes = aligned(bytes);
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

void PinnedPool::shrink(uint64_t taken, uint64_t kept) { used_ -= aligned(taken) - aligned(kept); }

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
  Carver carver;
  frame_jobs = plan.blocks.size() * tables.most_pieces;
  gather = carver.take<GatherJob>(frames * frame_jobs);
  if (plan.params.coder == CJ2K_CODER_HT) {
    ht = HtMemory(plan, tables, false, carver);
  } else {
    ebcot = EbcotMemory(plan, tables, false, carver);
  }
  if (tables.rate.has_value()) rate = RateMemory(tables.rate->plan, frames, false, carver);
  bytes = carver.bytes();
  input_bytes = frames * tables.input.bytes;
  size_pools(plan, tables);
}

void PinnedLayout::size_pools(const Plan& plan, const PlanTables& tables) {
  const auto frames = static_cast<uint64_t>(plan.params.gop);
  const bool is_ht = plan.params.coder == CJ2K_CODER_HT;
  const auto style = static_cast<uint32_t>(plan.params.cblk_style);
  // Those of HT blocks are in HtMemory::hulls, or made on the host.
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
