// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "kernels/ebcot/tier1.h"
#include "kernels/simt/kernel.h"

namespace cj2k::cuda::tier1 {

/// Copies the first bytes of blocks from where tier-1 wrote them to one place.
///
/// Grid: x = jobs / warps per thread block. Block: a warp per job, warps independent.
/// Shared bytes: none. Barriers: none.
/// Global traffic: reads and writes every 16 bytes once, adjacent over a warp; 80 bytes of jobs per
///   block.
/// Not tuned: no GPU was available when it was written.
struct Gather {
  struct Params {
    Tier1Buffers buffers;
    const GatherJob* jobs;
    uint32_t count;
    uint8_t* out;
  };
  struct Smem {};
  static constexpr int kThreads = 128;
  static constexpr int kMinBlocks = 16;

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem&, const Params& p) {
    const uint32_t entry = t.block_x() * (kThreads / 32) + t.warp();
    if (entry >= p.count) return;
    const GatherJob gather = t.gload(p.jobs + entry);
    const uint32_t frame = gather.block / p.buffers.num_blocks;
    const Tier1Job* job = p.buffers.jobs + gather.block % p.buffers.num_blocks;
    const auto* from = reinterpret_cast<const simt::U32x4*>(
        p.buffers.bytes + frame * p.buffers.frame_bytes + t.gload(&job->bytes_offset));
    auto* to = reinterpret_cast<simt::U32x4*>(p.out + gather.to);
    const uint32_t pieces = (gather.length_bytes + 15) / 16;
    for (uint32_t i = t.lane(); i < pieces; i += 32) t.gstore(to + i, t.gload_ro(from + i));
  }
};

}  // namespace cj2k::cuda::tier1
