// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "cuda/pinned_memory.h"

#include <algorithm>

#include "stages/coded_block.h"

namespace cj2k::cuda {
namespace {

/// Planned average of hull points per block. The pool grows when a GOP has more.
constexpr uint64_t kPlannedHullPoints = 12;

}  // namespace

Status PinnedPool::reserve(simt::Context& context, uint64_t bytes) {
  context_ = &context;
  chunks_.emplace_back();
  return chunks_.back().allocate(context, bytes);
}

Status PinnedPool::take(uint64_t bytes, uint8_t** memory) {
  bytes = (bytes + 63) / 64 * 64;
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
    most = std::max<uint64_t>(most, (chunks_[i].bytes() - used) / 64 * 64);
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

  // Those of HT blocks are in ht_hulls, or made on the host.
  hull_bytes = is_ht ? 0 : blocks * kPlannedHullPoints * sizeof(HullPoint);
  // Without a cap: the size of the uncompressed frame.
  uint64_t frame = 0;
  for (const Component& c : plan.components) {
    frame += static_cast<uint64_t>(c.rect.width()) * static_cast<uint64_t>(c.rect.height()) *
             static_cast<uint64_t>(c.depth) / 8;
  }
  for (const int64_t cap : {plan.params.target_bytes, plan.params.max_frame_bytes}) {
    if (cap > 0) frame = std::min(frame, static_cast<uint64_t>(cap));
  }
  code_bytes = frames * (frame + 16 * plan.blocks.size());
  // With EBCOT, more bytes come than are chosen (tier1_pack).
  if (!is_ht) code_bytes += code_bytes / 4;
}

}  // namespace cj2k::cuda
