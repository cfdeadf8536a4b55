// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Sorts the blocks of a list by what the MQ coder will have to do for them, most first. The 32
// blocks that share a warp of it then take about the same time, and the longest ones begin first.
// Counting sorts: within a bucket the order is any; no result depends on it.
//
// The classic form sorts a list once, as a whole: one kernel counts the blocks of each bucket,
// another one gives each block its place. CIBO sorts the list of each plane, when modelling of the
// plane and MQ coding of the plane above have ended and MQ coding of the plane waits: one kernel,
// which needs no memory, sorts tiles of it side by side.
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
    const Tier1Job* job = p.buffers.job_of(block);
    const PassSymbols* passes = p.buffers.pass_symbols +
                                uint64_t{block / p.buffers.num_blocks} * p.buffers.frame_passes +
                                t.gload_ro(&job->first_pass);
    ExpectedPause expected(t.gload_ro(&job->weight),
                           threshold_of(t, p.buffers, p.stop, block, job));
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

/// Sorts the lists of a plane, in place. With n tiles, tile i is every n-th group of 32 entries,
/// from group i on. Its blocks go back into these entries, so that groups side by side, each of
/// another tile, have about the same work, and the list is nearly sorted as a whole.
///
/// Grid: x = maximum number of tiles, y = tier1_size; thread blocks beyond the tiles of the list on
///   the device return at once. Block: up to kPerThread entries a thread. It should find room beside
///   the kernels of other GOPs, so it is no larger.
/// Shared bytes: 1,088: a counter of each bucket. Barriers: 4.
/// Global traffic: 14 or 18 bytes read and 4 written per block.
struct Tier1SortPlane {
  using Params = SortPlaneParams;
  static constexpr int kThreads = 512;
  static constexpr int kMinBlocks = 2;
  static constexpr uint32_t kPerThread = kSortTile / kThreads, kBatch = 4, kNone = UINT32_MAX;
  struct Smem {
    uint32_t counts[kSortBuckets];  ///< blocks of each bucket, then where they begin in the tile
    simt::BlockScratch<uint32_t, kThreads> scratch;
  };

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem& s, const Params& p) {
    const uint32_t size = t.block_y(), plane = static_cast<uint32_t>(p.plane);
    const uint32_t count = t.gload_ro(p.lists.counts + plane * kTier1Sizes + size);
    const uint32_t num_tiles = (count + kSortTile - 1) / kSortTile, tile = t.block_x();
    if (tile >= num_tiles) return;
    uint32_t* const list =
        p.lists.blocks + uint64_t{plane} * p.lists.stride + first_of(p.lists, size);
    const auto entry_of = [&](uint32_t place) {
      return (place / 32 * num_tiles + tile) * 32 + place % 32;
    };

    const bool has_bucket = t.thread() < kSortBuckets;
    if (has_bucket) t.sstore(s.counts[t.thread()], 0);
    t.sync();
    uint32_t blocks[kPerThread], places[kPerThread];  // places: bucket << 16 | rank in it
    CJ2K_UNROLL
    for (uint32_t first = 0; first < kPerThread; first += kBatch) {
      CJ2K_UNROLL
      for (uint32_t i = first; i < first + kBatch; ++i) places[i] = kNone;
      const uint32_t own = entry_of(first * kThreads + t.warp() * 32);
      if (own >= count) continue;
      // No branch and no atomic among the loads, so that those of a batch are under way together.
      uint32_t buckets[kBatch];
      CJ2K_UNROLL
      for (uint32_t i = first; i < first + kBatch; ++i) {
        const uint32_t entry = entry_of(i * kThreads + t.thread());
        blocks[i] = t.gload(list + (entry < count ? entry : own));
      }
      CJ2K_UNROLL
      for (uint32_t i = 0; i < kBatch; ++i) {
        static_assert(tier1_symbol_capacity(32, 32, 1) / 16 < kSortBuckets);
        static_assert(tier1_symbol_capacity(64, 64, 1) / 16 / 4 < kSortBuckets);
        const uint32_t rounds = rounds_of(t, p, blocks[first + i]) >> (size == 0 ? 0 : 2);
        buckets[i] = kSortBuckets - 1 - (rounds < kSortBuckets ? rounds : kSortBuckets - 1);
      }
      CJ2K_UNROLL
      for (uint32_t i = 0; i < kBatch; ++i) {
        if (entry_of((first + i) * kThreads + t.thread()) >= count) continue;
        places[first + i] = buckets[i] << 16 | t.atomic_add(&s.counts[buckets[i]], 1);
      }
    }
    t.sync();
    const uint32_t begin =
        simt::block_exclusive_add(t, s.scratch, has_bucket ? t.sload(s.counts[t.thread()]) : 0);
    if (has_bucket) t.sstore(s.counts[t.thread()], begin);
    t.sync();
    CJ2K_UNROLL
    for (uint32_t i = 0; i < kPerThread; ++i) {
      if (places[i] == kNone) continue;
      const uint32_t place = t.sload(s.counts[places[i] >> 16]) + (places[i] & 0xFFFF);
      t.gstore(list + entry_of(place), blocks[i]);
    }
  }

 private:
  /// How often the MQ coder meets the other lanes for 16 decisions of a pass of this plane.
  template <typename T>
  CJ2K_KERNEL_FN static uint32_t rounds_of(T& t, const Params& p, uint32_t block) {
    const int planes = bit_planes(t, p.buffers, block);
    const Tier1Job* job = p.buffers.job_of(block);
    const PassSymbols* passes = p.buffers.pass_symbols +
                                uint64_t{block / p.buffers.num_blocks} * p.buffers.frame_passes +
                                t.gload_ro(&job->first_pass);
    const int cleanup = num_passes_of(planes - p.plane) - 1;
    // The highest plane has a clean-up pass alone.
    const bool is_highest = planes - 1 == p.plane;
    uint32_t rounds = 0;
    CJ2K_UNROLL
    for (int i = 0; i < 3; ++i) {
      const uint32_t count = t.gload_ro(&passes[is_highest ? cleanup : cleanup - i].count);
      rounds += is_highest && i > 0 ? 0 : (count + 15) / 16;
    }
    return rounds;
  }
};

}  // namespace cj2k::cuda::tier1
