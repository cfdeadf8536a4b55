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

/// Takes room for the bytes of a code-block of each lane, and copies them. All lanes of the warp must
/// call.
/// @param from   where the lane's bytes are in `source`; a multiple of 16
/// @param bytes  how many; 0 where there is no room
/// @return where they are in `to`, in units of 16 bytes
template <typename T>
CJ2K_KERNEL_FN uint32_t pack_bytes(T& t, const uint8_t* source, uint64_t from, uint32_t* bytes,
                                   uint8_t* to, uint32_t room, uint32_t* total) {
  const uint32_t units = (*bytes + 15) / 16;
  const uint32_t sum = t.warp_inclusive_add(units);
  uint32_t first = 0;
  if (t.lane() == 31) first = t.atomic_add(total, sum);
  first = t.shuffle(first, 31) + sum - units;
  // 32 bits are enough for the sum: they count 64 GiB.
  if (first + units > room) *bytes = first = 0;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint32_t count = (t.shuffle(*bytes, lane) + 15) / 16;
    const auto* read = reinterpret_cast<const simt::U32x4*>(source + t.shuffle(from, lane));
    auto* write = reinterpret_cast<simt::U32x4*>(to) + t.shuffle(first, lane);
    for (uint32_t i = t.lane(); i < count; i += 32) t.gstore(write + i, t.gload_ro(read + i));
  }
  return first;
}

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
      const uint32_t threshold = threshold_of(t, p.buffers, p.limits, block.number, job);
      packed.length_bytes = length(t, p, entry, threshold, t.gload_ro(&job->bytes_capacity));
    }
    packed.first = pack_bytes(t, p.buffers.bytes, from, &packed.length_bytes, p.packed.bytes,
                              p.packed.room, p.packed.total);
    if (listed) t.gstore(p.packed.blocks + entry, packed);
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
