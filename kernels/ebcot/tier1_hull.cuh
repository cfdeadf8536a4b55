// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The results of coded blocks for the host: packed convex hulls, and an estimate of the error in
// the planes that an early stop did not code.
#pragma once

#include <bit>

#include "core/distortion.h"
#include "core/hull.h"
#include "kernels/ebcot/tier1.h"
#include "kernels/ebcot/tier1_block.cuh"
#include "kernels/simt/kernel.h"

namespace cj2k::cuda::tier1 {

struct HullParams {
  Tier1Buffers buffers;
  Tier1List list;
  uint32_t style;
  bool reversible, keep_all;
  Tier1Output output;
};

/// Writes Tier1Result::left_distortion and no other member: the error of LeftPlanes
/// (core/distortion.h), computed from bit-planes. The square of a sum of bits, summed over samples,
/// equals a sum over pairs of planes of the number of samples that have both bits set.
///
/// Grid: x = blocks / warps per thread block. Block: a warp per code-block, warps independent.
/// Shared bytes: none. Barriers: none.
/// Global traffic: for a block with planes left, up to 10 of those planes and all planes above
///   them, each once, 4 bytes per lane, adjacent; for any other block 16 bytes.
struct LeftDistortion {
  using Params = HullParams;
  struct Smem {};
  static constexpr int kThreads = 128;
  static constexpr int kMinBlocks = 8;

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem&, const Params& p) {
    const uint32_t entry = t.block_x() * (kThreads / 32) + t.warp();
    if (entry >= p.list.count()) return;
    const ListedBlock block(t, p.buffers, p.list, entry);
    const int num_planes = bit_planes(t, p.buffers, block.number);
    const Tier1State* state = p.buffers.states + block.number;
    if (p.output.adds && t.gload(&state->stopped) != 0) return;
    const int planes =
        t.gload(&state->finished) != 0 ? 0 : planes_left(num_planes, t.gload(&state->num_passes));
    double result = 0;
    if (planes > 0) {
      const LeftPlanes left(planes, p.reversible);
      const Tier1Job job = t.gload(block.job);
      const uint32_t plane_cells = (job.width + 15u) / 16 * ((job.height + 3u) / 4) * 2;
      const uint32_t* cells = reinterpret_cast<const uint32_t*>(
          p.buffers.planes.words + block.frame * p.buffers.planes.frame_words + job.first_word);
      // The plane of the signs comes first in memory, then the highest plane of the block.
      const uint32_t* cut = cells + static_cast<uint32_t>(num_planes - planes) * plane_cells;
      int64_t sum = 0;
      for (uint32_t cell = t.lane(); cell < plane_cells; cell += 32) {
        sum += cell_error(t, left, cells + plane_cells + cell, cut + cell, plane_cells);
      }
      sum = t.warp_reduce_add(sum);
      if (left.bias != 0) sum += uint32_t{job.width} * job.height;
      result = job.weight * left.error(static_cast<uint64_t>(sum));
    }
    if (t.lane() == 0) {
      t.gstore(&p.output.results[p.output.place(entry, block.number)].left_distortion, result);
    }
  }

 private:
  /// The sum of LeftPlanes over the 32 samples of a cell, without the bias^2 of each sample. It may
  /// be negative; its magnitude is below 2^27.
  /// @param top  the cell in the highest plane
  /// @param cut  the cell in the lowest plane that is coded
  template <typename T>
  CJ2K_KERNEL_FN static int32_t cell_error(T& t, const LeftPlanes& left, const uint32_t* top,
                                           const uint32_t* cut, uint32_t plane_cells) {
    uint32_t bits[kLeftPlanes];
    CJ2K_UNROLL
    for (int i = 0; i < kLeftPlanes; ++i) {
      bits[i] = i < left.count ? t.gload_ro(cut + static_cast<uint32_t>(i + 1) * plane_cells) : 0;
    }
    uint32_t significant = 0;
    for (const uint32_t* plane = top; plane <= cut; plane += plane_cells) {
      significant |= t.gload_ro(plane);
    }
    // The term of a sample is (sum over i of w_i * b_i - unit * s + bias)^2. b_i is its bit in the
    // i-th plane under the cut and w_i = unit / 2^i; s is 1 if the sample is significant above the
    // cut, else 0. Without bias^2, the expanded square has only products of bits, and the sum of
    // such a product over the samples is a population count. Intermediate sums are modulo 2^32.
    const uint32_t unit = 1u << left.count, bias2 = 2 * left.bias;
    uint32_t sum = (unit - bias2) * unit * T::popcount(significant);
    CJ2K_UNROLL
    for (int i = 0; i < kLeftPlanes; ++i) {
      uint32_t others = 0 - unit * T::popcount(bits[i] & significant);
      CJ2K_UNROLL
      for (int k = i + 1; k < kLeftPlanes; ++k) {
        others += (unit >> k) * T::popcount(bits[i] & bits[k]);
      }
      const uint32_t weight = unit >> i;
      sum += weight * ((weight + bias2) * T::popcount(bits[i]) + 2 * others);
    }
    return static_cast<int32_t>(sum);
  }
};

/// The store of a HullBuilder in shared memory: [kMaxPasses][32], point i of a lane at [i * 32].
template <typename T>
struct HullStore {
  T* t;
  simt::U32x4* points;  ///< first point of the lane
  CJ2K_KERNEL_FN HullPoint point(int i) const {
    return std::bit_cast<HullPoint>(t->sload(points[i * 32]));
  }
  CJ2K_KERNEL_FN void set_point(int i, const HullPoint& point) const {
    t->sstore(points[i * 32], std::bit_cast<simt::U32x4>(point));
  }
};

/// Computes the hulls of the blocks of a list and packs them.
///
/// Grid: x = blocks / 32. Block: one warp, a lane per code-block. The warp takes room in each
///   packed array by one atomic add, and its lanes copy together.
/// Shared bytes: 46,592: 32 hulls of up to 91 points, point i of a lane at [i * 32].
/// Global traffic: reads 16 bytes per pass; writes 16 bytes per hull point and 48 bytes per block.
/// Barriers: of the warp only.
struct Hulls {
  using Params = HullParams;
  static constexpr int kThreads = 32;
  static constexpr int kMinBlocks = 4;
  struct Smem {
    simt::U32x4 points[kMaxPasses][32];
  };

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem& smem, const Params& p) {
    const uint32_t entry = t.block_x() * 32 + t.lane();
    bool listed = entry < p.list.count();
    uint32_t place = 0;
    const HullStore<T> points{&t, &smem.points[0][t.lane()]};
    Tier1Result result{};
    uint64_t first_pass = 0;
    bool finished = true;
    if (listed && p.output.adds) {
      const uint32_t number = t.gload_ro(p.list.blocks + entry);
      listed = t.gload(&p.buffers.states[number].stopped) == 0;
    }
    if (listed) {
      const ListedBlock block(t, p.buffers, p.list, entry);
      const int num_planes = bit_planes(t, p.buffers, block.number);
      const Tier1State* state = p.buffers.states + block.number;
      place = p.output.place(entry, block.number);
      first_pass = block.frame * uint64_t{p.buffers.frame_passes} + t.gload(&block.job->first_pass);
      finished = t.gload(&state->finished) != 0;
      result.num_passes = t.gload(&state->num_passes);
      result.num_bytes = t.gload(&state->num_bytes);
      result.bit_planes = static_cast<uint8_t>(num_planes);
      if (!finished) {
        result.planes_left = static_cast<uint8_t>(planes_left(num_planes, result.num_passes));
      }
      build(t, p, block, first_pass, points, result);
    }
    result.first_hull = take_room(t, p.output.totals, result.num_hull);
    if (uint64_t{result.first_hull} + result.num_hull > p.output.room) result.num_hull = 0;
    const bool with_segments = p.output.segments != nullptr;
    if (with_segments) {
      const int segments = num_terminated(p.style, result.num_passes);
      result.first_segment = take_room(t, p.output.totals + 1, static_cast<uint32_t>(segments));
    }
    if (listed) {
      result.left_distortion = t.gload(&p.output.results[place].left_distortion);
      t.gstore(p.output.results + place, result);
    }

    t.sync_warp();
    for (uint32_t lane = 0; lane < 32; ++lane) {
      const uint32_t num_hull = t.shuffle(uint32_t{result.num_hull}, lane);
      const uint32_t first_hull = t.shuffle(result.first_hull, lane);
      auto* to = reinterpret_cast<simt::U32x4*>(p.output.hull + first_hull);
      for (uint32_t i = t.lane(); i < num_hull; i += 32) {
        t.gstore(to + i, t.sload(smem.points[i][lane]));
      }
      if (!with_segments) continue;
      const uint32_t num_passes = t.shuffle(uint32_t{result.num_passes}, lane);
      SegmentEnd* segments = p.output.segments + t.shuffle(result.first_segment, lane);
      const CodingPass* from = p.buffers.passes + t.shuffle(first_pass, lane);
      for (uint32_t i = t.lane(); i < num_passes; i += 32) {
        const int pass = static_cast<int>(i);
        if (!pass_terminates(p.style, pass)) continue;
        t.gstore(segments + num_terminated(p.style, pass),
                 SegmentEnd{t.gload(&from[i].length_bytes), i + 1});
      }
    }
    if (p.output.tails == nullptr) return;
    for (int i = 0; i < result.num_hull; ++i) {
      // A pass that ends its segment needs no tail.
      const int pass = points.point(i).passes - 1;
      const bool open =
          (pass + 1 < result.num_passes || !finished) && !pass_terminates(p.style, pass);
      t.gstore(p.output.tails + result.first_hull + i,
               open ? t.gload(p.buffers.tails + first_pass + pass) : PassTail{});
    }
  }

 private:
  /// Makes the points of a block.
  template <typename T>
  CJ2K_KERNEL_FN static void build(T& t, const Params& p, const ListedBlock& block,
                                   uint64_t first_pass, const HullStore<T>& points,
                                   Tier1Result& result) {
    const double weight = t.gload(&block.job->weight);
    HullBuilder<HullStore<T>> hull{points};
    for (int i = 0; i < result.num_passes; ++i) {
      CodingPass pass = t.gload(p.buffers.passes + first_pass + i);
      if (p.output.removed != nullptr)
        pass.distortion += t.gload(p.output.removed + first_pass + i);
      hull.push(pass, i, weight);
    }
    result.total_distortion = weighted(hull.removed, weight);
    result.num_hull = static_cast<uint8_t>(hull.finish(weight, p.keep_all));
    if (p.output.removed != nullptr && result.num_passes > 0)
      result.total_distortion += weight * t.gload(p.output.total_removed + block.number);
  }
  /// Adds the `count` of every lane to *total.
  /// @return where the lane's part begins
  template <typename T>
  CJ2K_KERNEL_FN static uint32_t take_room(T& t, uint32_t* total, uint32_t count) {
    const uint32_t sum = t.warp_inclusive_add(count);
    uint32_t first = 0;
    if (t.lane() == 31) first = t.atomic_add(total, sum);
    return t.shuffle(first, 31) + sum - count;
  }
};

}  // namespace cj2k::cuda::tier1
