// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Votes on steps, counted in bit-planes.
#pragma once

#include "core/orientation.h"
#include "core/step_vote.h"
#include "kernels/ebcot/tier1_block.cuh"
#include "kernels/ebcot/votes.h"
#include "kernels/simt/kernel.h"

namespace cj2k::cuda::tier1 {

/// Counts the samples of HalfCounts in each plane of a block, and votes.
///
/// Grid: x = blocks / warps per thread block. Block: a warp per code-block, warps independent. A lane
///   counts in 32 samples of all planes; lane p keeps the sums of plane p.
/// Shared bytes: none. Barriers: none.
/// Global traffic: all planes once, 4 bytes per lane, adjacent; 56 bytes read and one written per block.
struct Votes {
  struct Params {
    Tier1Buffers buffers;
    Tier1List list;
    uint8_t* votes;
  };
  struct Smem {};
  static constexpr int kThreads = 128;
  static constexpr int kMinBlocks = 8;

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem&, const Params& p) {
    const uint32_t entry = t.block_x() * (kThreads / 32) + t.warp();
    if (entry >= p.list.count()) return;
    const ListedBlock block(t, p.buffers, p.list, entry);
    const Tier1Job job = t.gload(block.job);
    const int num_planes = bit_planes(t, p.buffers, block.number);
    StepVote vote = StepVote::kNone;
    if (job.orientation != kLL && num_planes > kLowestHalves) {
      const uint32_t plane_cells = (job.width + 15u) / 16 * ((job.height + 3u) / 4) * 2;
      const uint32_t* cells = reinterpret_cast<const uint32_t*>(
          p.buffers.planes.words + block.frame * p.buffers.planes.frame_words + job.first_word);
      const HalfCounts own = count_halves(t, cells, plane_cells, num_planes);
      StepVoter voter;
      for (int plane = num_planes - 1; plane >= kLowestHalves - 1; --plane) {
        const auto lane = static_cast<uint32_t>(plane);
        voter.add(plane, {t.shuffle(own.significant, lane), t.shuffle(own.near_half, lane),
                          t.shuffle(own.near_middle, lane)});
      }
      vote = voter.vote();
    }
    if (t.lane() == 0) t.gstore(p.votes + entry, static_cast<uint8_t>(vote));
  }

 private:
  /// @param cells  of the signs, then of the planes from the highest; 32 samples each
  /// @return the counts of the plane with the number of the lane
  template <typename T>
  CJ2K_KERNEL_FN static HalfCounts count_halves(T& t, const uint32_t* cells, uint32_t plane_cells,
                                                int num_planes) {
    static_assert(kLowestHalves == 3);
    HalfCounts own{};
    for (uint32_t first = 0; first < plane_cells; first += 32) {
      const uint32_t cell = first + t.lane();
      const auto load = [&](int plane) {
        if (cell >= plane_cells) return 0u;
        return t.gload_ro(cells + static_cast<uint32_t>(num_planes - plane) * plane_cells + cell);
      };
      const int top = num_planes - 1;
      // The plane and those below it.
      uint32_t bits = load(top), below = load(top - 1), below2 = load(top - 2), significant = 0;
      for (int plane = top; plane >= kLowestHalves - 1; --plane) {
        const bool has_halves = plane >= kLowestHalves;
        const uint32_t below3 = has_halves ? load(plane - 3) : 0;
        significant |= bits;
        const uint32_t near_half = has_halves ? significant & ~(below2 ^ below3) : 0;
        const uint32_t near_middle = near_half & (below ^ below2);
        const HalfCounts sums{t.warp_reduce_add(T::popcount(significant)),
                              t.warp_reduce_add(T::popcount(near_half)),
                              t.warp_reduce_add(T::popcount(near_middle))};
        if (static_cast<int>(t.lane()) == plane) {
          own.significant += sums.significant;
          own.near_half += sums.near_half;
          own.near_middle += sums.near_middle;
        }
        bits = below;
        below = below2;
        below2 = below3;
      }
    }
    return own;
  }
};

}  // namespace cj2k::cuda::tier1
