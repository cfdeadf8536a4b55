// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The bytes of blocks that rate control will probably choose, packed for the host before it chooses.
#pragma once

#include "core/hull.h"
#include "kernels/ebcot/tier1.h"
#include "kernels/ebcot/tier1_block.cuh"
#include "kernels/simt/kernel.h"

namespace cj2k::cuda::tier1 {

struct PackParams {
  Tier1Buffers buffers;
  Tier1List list;
  Tier1Limits limits;
  Tier1Output output;
  PackedOutput packed;
};

/// Copies the bytes of each block of a list up to its last hull point that reaches the threshold.
///
/// Grid: x = blocks / 32 / warps per thread block. Block: warps independent, a lane per code-block.
///   The warp takes room by one atomic add, and its lanes copy one code-block after the other.
/// Shared bytes: none. Barriers: none.
/// Global traffic: reads 16 bytes per hull point that reaches the threshold, and of one more; reads
///   and writes the bytes once, adjacent over the warp; about 60 bytes per block besides.
/// Not tuned: no GPU was available when it was written.
struct Pack {
  using Params = PackParams;
  struct Smem {};
  static constexpr int kThreads = 128;
  static constexpr int kMinBlocks = 8;

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem&, const Params& p) {
    const uint32_t entry = (t.block_x() * (kThreads / 32) + t.warp()) * 32 + t.lane();
    const bool listed = entry < p.list.count();
    PackedBytes packed{};
    uint64_t from = 0;
    if (listed) {
      const ListedBlock block(t, p.buffers, p.list, entry);
      const Tier1Job* job = block.job;
      from = block.frame * p.buffers.frame_bytes + t.gload_ro(&job->bytes_offset);
      const uint32_t threshold =
          threshold_of(t, p.buffers, p.limits, block.number, t.gload_ro(&job->component));
      packed.length_bytes = length(t, p, entry, threshold, t.gload_ro(&job->bytes_capacity));
    }
    const uint32_t units = (packed.length_bytes + 15) / 16;
    const uint32_t sum = t.warp_inclusive_add(units);
    uint32_t first = 0;
    if (t.lane() == 31) first = t.atomic_add(p.packed.total, sum);
    packed.first = t.shuffle(first, 31) + sum - units;
    // 32 bits are enough for the sum: they count 64 GiB.
    if (packed.first + units > p.packed.room) packed = {};
    if (listed) t.gstore(p.packed.blocks + entry, packed);
    for (uint32_t lane = 0; lane < 32; ++lane) {
      const uint32_t count = (t.shuffle(packed.length_bytes, lane) + 15) / 16;
      const auto* source =
          reinterpret_cast<const simt::U32x4*>(p.buffers.bytes + t.shuffle(from, lane));
      auto* target = reinterpret_cast<simt::U32x4*>(p.packed.bytes) + t.shuffle(packed.first, lane);
      for (uint32_t i = t.lane(); i < count; i += 32) t.gstore(target + i, t.gload_ro(source + i));
    }
  }

 private:
  /// Bytes up to the last hull point that reaches the threshold: slopes fall. 0 for a block that
  /// needs more than its capacity.
  template <typename T>
  CJ2K_KERNEL_FN static uint32_t length(T& t, const Params& p, uint32_t entry, uint32_t threshold,
                                        uint32_t capacity) {
    const Tier1Result* result = p.output.results + entry;
    if (t.gload(&result->num_bytes) > capacity) return 0;
    const uint32_t count = t.gload(&result->num_hull);
    const HullPoint* hull = p.output.hull + t.gload(&result->first_hull);
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < count; ++i) {
      const HullPoint point = t.gload(hull + i);
      if (point.slope + kPackMargin < threshold) break;
      bytes = point.length_bytes;
    }
    return bytes;
  }
};

}  // namespace cj2k::cuda::tier1
