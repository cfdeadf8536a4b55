// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Sorts the blocks of a list by the decisions that they are expected to code, most first. The 32
// blocks that share a warp of the MQ coder then take about the same time, and the longest ones
// begin first. A counting sort in two kernels: one counts the blocks of each bucket, the other one
// gives each block its place. Within a bucket the order is any; no result depends on it.
#pragma once

#include "core/ebcot/expected_pause.h"
#include "kernels/ebcot/tier1_block.cuh"
#include "kernels/ebcot/tier1_launch.h"
#include "kernels/simt/block.h"
#include "kernels/simt/kernel.h"

namespace cj2k::cuda::tier1 {

/// Bucket of a number of decisions: the position of the highest bit and the four bits below it, so
/// that the numbers of a bucket differ by a sixteenth at most. Fewer than 16 share the last bucket.
template <typename T>
CJ2K_KERNEL_FN uint32_t sort_bucket(uint32_t decisions) {
  const uint32_t n = decisions < 16 ? 16 : decisions;
  const uint32_t shift = 27 - T::clz(n);
  const uint32_t key = shift * 16 + (n >> shift & 15);
  return kSortBuckets - 1 - (key < kSortBuckets ? key : kSortBuckets - 1);
}

/// Finds the bucket of each block, and counts the blocks of each bucket.
///
/// Grid: x = blocks / kThreads. Block: a thread per code-block. Shared bytes: 1,024: a counter of
///   each bucket. Barriers: 2.
/// Global traffic: 40 bytes per block, 16 bytes per pass; 4 bytes written per block.
struct Tier1Count {
  using Params = SortParams;
  static constexpr int kThreads = kSortBuckets;
  static constexpr int kMinBlocks = 4;
  struct Smem {
    uint32_t counts[kSortBuckets];
  };

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem& s, const Params& p) {
    t.sstore(s.counts[t.thread()], 0);
    t.sync();
    const uint32_t entry = t.block_x() * kThreads + t.thread();
    if (entry < p.list.count()) {
      const uint32_t bucket = sort_bucket<T>(decisions(t, p, t.gload_ro(p.list.blocks + entry)));
      t.gstore(p.buckets + entry, bucket);
      t.atomic_add(&s.counts[bucket], 1);
    }
    t.sync();
    const uint32_t count = t.sload(s.counts[t.thread()]);
    if (count != 0) t.atomic_add(p.counts + t.thread(), count);
  }

 private:
  /// Decisions of the passes that were modelled in this call, up to the plane after which the block
  /// is expected to pause.
  template <typename T>
  CJ2K_KERNEL_FN static uint32_t decisions(T& t, const Params& p, uint32_t block) {
    const int planes = bit_planes(t, p.buffers, block);
    int plane;
    if (start_of(t, p.buffers, p.stop, block, planes, &plane) != BlockStart::kCodes) return 0;
    const Tier1Job* job = p.buffers.jobs + block % p.buffers.num_blocks;
    const PassSymbols* passes = p.buffers.pass_symbols +
                                uint64_t{block / p.buffers.num_blocks} * p.buffers.frame_passes +
                                t.gload_ro(&job->first_pass);
    ExpectedPause expected(t.gload_ro(&job->weight),
                           threshold_of(t, p.buffers, p.stop, block, t.gload_ro(&job->component)));
    uint32_t sum = 0;
    const int modelled = t.gload(&p.buffers.states[block].modelled);
    const int last = num_passes_of(planes - modelled);
    for (int pass = num_passes_of(planes - 1 - plane); pass < last; ++pass) {
      const PassSymbols made = t.gload_ro(passes + pass);
      sum += made.count;
      if (expected.add(pass_kind(pass), made.count, made.distortion, made.plane)) break;
    }
    return sum;
  }
};

/// Writes the sorted list.
///
/// Grid and block: as Tier1Count. Shared bytes: 2,080. Barriers: 5.
/// Global traffic: 8 bytes read and 4 written per block; 1 KB of counts per thread block.
struct Tier1Sort {
  using Params = SortParams;
  static constexpr int kThreads = kSortBuckets;
  static constexpr int kMinBlocks = 4;
  struct Smem {
    uint32_t counts[kSortBuckets];  ///< blocks of each bucket in this thread block
    uint32_t places[kSortBuckets];  ///< where they begin in the sorted list
    simt::BlockScratch<uint32_t, kThreads> scratch;
  };

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem& s, const Params& p) {
    t.sstore(s.counts[t.thread()], 0);
    const uint32_t begin =
        simt::block_exclusive_add(t, s.scratch, t.gload_ro(p.counts + t.thread()));
    const uint32_t entry = t.block_x() * kThreads + t.thread();
    uint32_t bucket = 0, rank = 0;
    if (entry < p.list.count()) {
      bucket = t.gload_ro(p.buckets + entry);
      rank = t.atomic_add(&s.counts[bucket], 1);
    }
    t.sync();
    const uint32_t count = t.sload(s.counts[t.thread()]);
    const uint32_t taken = count != 0 ? t.atomic_add(p.taken + t.thread(), count) : 0;
    t.sstore(s.places[t.thread()], begin + taken);
    t.sync();
    if (entry < p.list.count()) {
      t.gstore(p.sorted + t.sload(s.places[bucket]) + rank, t.gload_ro(p.list.blocks + entry));
    }
  }
};

}  // namespace cj2k::cuda::tier1
