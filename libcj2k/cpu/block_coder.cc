// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "cpu/block_coder.h"

#include <algorithm>

#include "base/parallel.h"
#include "depth/early_stop.h"

namespace cj2k {
namespace {

/// Planned bytes for coded blocks: depth + 2 bits per sample, and the hulls; and their samples, if
/// they are kept (CodedBlock::samples).
size_t planned_block_bytes(const Plan& plan) {
  const bool keeps_samples = keeps_coefficients(plan) && plan.has_rdoq;
  const size_t kept_bits = keeps_samples ? 8 * sizeof(uint32_t) : 0;
  size_t bits = 0;
  for (const Component& c : plan.components) {
    bits += static_cast<size_t>(c.rect.width()) * static_cast<size_t>(c.rect.height()) *
            (static_cast<size_t>(c.depth + 2) + kept_bits);
  }
  return bits / 8 + plan.blocks.size() * 40 * sizeof(HullPoint) / 2;
}

constexpr size_t kPartsPerWorker = 8;

}  // namespace

// A part codes its blocks in pairs; at its end one may be left alone.
size_t block_grain(size_t count, size_t most) {
  return std::clamp(count / (kPartsPerWorker * num_workers()), size_t{2}, most);
}

CpuBlocks::CpuBlocks(const Plan& plan, size_t workers)
    // Each worker may have one chunk that is not full.
    : pool_(planned_block_bytes(plan) + workers * ChunkPool::kChunkBytes),
      arenas_(workers),
      blocks_(plan.blocks.size()) {}

size_t CpuBlocks::bytes(const Plan& plan) {
  return planned_block_bytes(plan) + plan.blocks.size() * sizeof(CodedBlock);
}

void CpuBlocks::reset() {
  pool_.reset();
  for (Arena& arena : arenas_) arena.reset();
  std::fill(blocks_.begin(), blocks_.end(), CodedBlock{});
}

}  // namespace cj2k
