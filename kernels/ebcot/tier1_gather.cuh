// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "kernels/ebcot/tier1.h"
#include "kernels/simt/kernel.h"

namespace cj2k::cuda::tier1 {

/// Copies bytes of blocks from where the block coder wrote them to one place.
///
/// Grid: x = jobs / warps per thread block. Block: a warp per job, warps independent.
/// Shared bytes: none. Barriers: none.
/// Global traffic: reads and writes every 16 bytes once, adjacent over a warp; 32 bytes of jobs
///   per piece.
struct Gather {
  struct Params {
    const uint8_t* bytes;
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
    const auto* from = reinterpret_cast<const simt::U32x4*>(p.bytes + gather.from);
    auto* to = reinterpret_cast<simt::U32x4*>(p.out + gather.to);
    const uint32_t pieces = (gather.length_bytes + 15) / 16;
    for (uint32_t i = t.lane(); i < pieces; i += 32) t.gstore(to + i, t.gload_ro(from + i));
  }
};

}  // namespace cj2k::cuda::tier1
