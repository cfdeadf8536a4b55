// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What is known of a block before its passes are coded, and which of its passes are coded: those that
// rate control may choose (ht_passes_near in core/ht/plane_choice.h).
#pragma once

#include "core/ht/plane_choice.h"
#include "core/step_vote.h"
#include "kernels/ht/ht_samples.cuh"

namespace cj2k::cuda::ht {

/// LeftPlanes for magnitudes, in fewer instructions. `opaque` keeps the compiler from computing the
/// members anew for each sample.
struct LeftTerms {
  uint32_t shift, mask, least;  ///< least: the first magnitude that is significant
  uint32_t bias, significant_bias;

  template <typename T>
  CJ2K_KERNEL_FN LeftTerms(T& t, int planes, const LeftPlanes& left)
      : shift(t.opaque(static_cast<uint32_t>(left.shift))),
        mask(t.opaque((2u << left.count) - 2)),
        least(t.opaque(1u << planes)),
        bias(t.opaque(left.bias)),
        significant_bias(t.opaque(left.bias - (1u << left.count))) {}
  /// Adds the term and the significance of a sample.
  CJ2K_KERNEL_FN void add(uint32_t magnitude, uint32_t& left, uint32_t& significant) const {
    const bool is_significant = magnitude >= least;
    const uint32_t error =
        (2 * magnitude >> shift & mask) + (is_significant ? significant_bias : bias);
    left += error * error;
    significant += is_significant ? 1 : 0;
  }
  /// Adds the term of a sample that is not significant.
  CJ2K_KERNEL_FN void add_low(uint32_t magnitude, uint32_t& left) const {
    const uint32_t error = (2 * magnitude >> shift & ~1u) + bias;
    left += error * error;
  }
};

/// HalfCounts (core/step_vote.h) of the samples of a lane.
struct LaneHalves {
  uint32_t shift, one;
  uint32_t near_half = 0, near_middle = 0;

  CJ2K_KERNEL_FN explicit LaneHalves(int plane)
      : shift(plane >= kBits ? static_cast<uint32_t>(plane - kBits) : 0),
        one(plane >= kBits ? 1 : 0) {}
  CJ2K_KERNEL_FN void add(uint32_t magnitude) {
    // The bits, plus 1: 0 and 3, 4 and 7 become neighbours.
    const uint32_t bits = (magnitude >> shift) + 1;
    const uint32_t significant = bits > 1u << kBits ? one : 0;
    near_half += (bits & 2) == 0 ? significant : 0;
    near_middle += (bits & 6) == 4 ? significant : 0;
  }

 private:
  static constexpr int kBits = kLowestHalves;
};

/// Errors and significant samples of a block: HtResult.
/// @tparam kHalves  `near_half` and `near_middle` are counted
template <int kPlanes, bool kHalves = false>
struct BlockSums {
  static constexpr int kSize = kPlanes > 0 ? kPlanes : 1;
  uint64_t left[kSize], total = 0;
  uint32_t significant[kSize];
  uint32_t near_half = 0, near_middle = 0;  ///< HalfCounts of the cleanup plane

  /// Sums over the samples of a block by a warp; all lanes get the sums.
  /// @param lowest      the cleanup plane; [k] of the sums are of the plane k above it
  /// @param bit_planes  of the block; 0: `total` is not needed
  template <typename T, typename Block>
  CJ2K_KERNEL_FN BlockSums(T& t, const Block& block, int lowest, int bit_planes) {
    constexpr bool kReversible = Block::kReversible;
    static_assert(kPlanes <= 4);
    // Those behind kPlanes are not used, and there may be no such planes.
    constexpr auto above = [](int k) { return k < kPlanes ? k : 0; };
    const LeftTerms planes[4] = {{t, lowest, {lowest, kReversible}},
                                 {t, lowest + above(1), {lowest + above(1), kReversible}},
                                 {t, lowest + above(2), {lowest + above(2), kReversible}},
                                 {t, lowest + above(3), {lowest + above(3), kReversible}}};
    const LeftTerms all(t, bit_planes, {bit_planes, kReversible});
    LaneHalves halves(lowest);
    // Of a lane, at most 128 terms.
    uint32_t lane_left[kSize], lane_total = 0;
    // One by one: a list would be a variable of the module.
    CJ2K_UNROLL
    for (int k = 0; k < kSize; ++k) {
      left[k] = 0;
      lane_left[k] = significant[k] = 0;
    }
    const uint32_t num_pairs = block.num_pairs();
    PairPlace place(t.lane(), block.pairs_wide());
    for (uint32_t pair = t.lane(); pair < num_pairs; pair += 32, place.step()) {
      uint32_t value[8];
      block.read(t, place.x, place.y, value);
      CJ2K_UNROLL
      for (uint32_t i = 0; i < 8; ++i) value[i] &= 0x7FFFFFFF;
      CJ2K_UNROLL
      for (uint32_t i = 0; i < 8; ++i) {
        CJ2K_UNROLL
        for (int k = 0; k < kPlanes; ++k) planes[k].add(value[i], lane_left[k], significant[k]);
        if (bit_planes > 0) all.add_low(value[i], lane_total);
        if constexpr (kHalves) halves.add(value[i]);
      }
    }
    // Samples of pairs that are not in the block were summed up as 0.
    const uint32_t samples = block.width * block.height, outside = block.outside();
    CJ2K_UNROLL
    for (int k = 0; k < kPlanes; ++k) {
      significant[k] = t.warp_reduce_add(significant[k]);
      left[k] = t.warp_reduce_add(uint64_t{lane_left[k]}) - outside * planes[k].bias;
      if (kReversible && k == 0 && lowest == 0) left[0] = samples - significant[0];
    }
    if (bit_planes > 0) total = t.warp_reduce_add(uint64_t{lane_total}) - outside * all.bias;
    if constexpr (kHalves) {
      near_half = t.warp_reduce_add(halves.near_half);
      near_middle = t.warp_reduce_add(halves.near_middle);
    }
  }
};

/// Counts for the blocks that choose: what HtResult has of their tasks before these are coded.
///
/// Grid: x = blocks / warps per thread block. Block: a warp per block, warps independent.
/// Shared bytes: none. Barriers: none.
/// Global traffic: reads each coefficient once, 16 bytes at a time where aligned.
template <bool kReversible>
struct Count {
  struct Params {
    Source source;
    const HtTask* tasks;
    const HtChoice* choices;
    uint32_t num_choices;
    HtResult* results;
  };
  struct Smem {};
  static constexpr int kThreads = 128;
  static constexpr int kMinBlocks = 6;  // the sums of four planes take 80 registers

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem&, const Params& p) {
    const uint32_t entry = t.block_x() * (kThreads / 32) + t.warp();
    if (entry >= p.num_choices) return;
    const HtChoice choice = t.gload(p.choices + entry);
    if (choice.slope == kHtNoChoice) return;
    // The tasks begin with the highest plane.
    const HtTask task = t.gload(p.tasks + choice.first_task + choice.num_tasks - 1);
    const auto block = read_block<kReversible>(t, p.source, task);
    // A switch would become a table of jumps.
    if (choice.num_tasks == 1) return count<1>(t, p, choice, block, task.plane);
    if (choice.num_tasks == 2) return count<2>(t, p, choice, block, task.plane);
    if (choice.num_tasks == 3) return count<3>(t, p, choice, block, task.plane);
    count<kHtNearPlanes>(t, p, choice, block, task.plane);
  }

 private:
  template <int kPlanes, typename T>
  CJ2K_KERNEL_FN static void count(T& t, const Params& p, const HtChoice& choice,
                                   const BlockReader<kReversible>& block, int lowest) {
    const BlockSums<kPlanes> sums(t, block, lowest, choice.bit_planes);
    HtResult result{};
    CJ2K_UNROLL
    for (uint32_t k = 0; k < kPlanes; ++k) {
      const bool is_mine = t.lane() + k + 1 == kPlanes;
      result.left = is_mine ? sums.left[k] : result.left;
      result.significant =
          is_mine ? static_cast<uint16_t>(sums.significant[k]) : result.significant;
    }
    if (t.lane() == 0) result.total_left = sums.total;
    if (t.lane() < kPlanes) t.gstore(p.results + choice.first_task + t.lane(), result);
  }
};

/// Chooses the passes of the blocks that Count has counted, and lists the tasks of all blocks by
/// their passes, so that the warps of a thread block have about the same to do.
///
/// Grid: x = blocks / threads. Block: a thread per block, warps independent. A warp takes room in a
///   list by one atomic add, so the order of the lists varies, and nothing depends on it.
/// Shared bytes: none. Barriers: none but those of a warp.
/// Global traffic: reads 24 bytes of a block and 64 of a task; writes 6 bytes of a task.
template <bool kReversible>
struct Choose {
  struct Params {
    const QuantizeJob* jobs;
    uint32_t num_blocks;
    HtTask* tasks;
    const HtChoice* choices;
    uint32_t num_choices;
    HtResult* results;
    HtTaskLists lists;
  };
  struct Smem {};
  static constexpr int kThreads = 128;
  static constexpr int kMinBlocks = 8;

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem&, const Params& p) {
    const uint32_t entry = t.block_x() * kThreads + t.thread();
    HtChoice choice{};
    HtPasses passes{};
    if (entry < p.num_choices) {
      choice = t.gload(p.choices + entry);
      if (choice.slope != kHtNoChoice) passes = choose(t, p, choice);
    }
    const uint32_t most = t.warp_reduce_max(uint32_t{choice.num_tasks});
    for (uint32_t i = 0; i < most; ++i) {
      const bool has_task = i < choice.num_tasks;
      const uint32_t task = choice.first_task + i;
      uint32_t kind = 0;
      bool is_listed = has_task;
      if (has_task) {
        if (choice.slope == kHtNoChoice) {
          kind = t.gload(&p.tasks[task].passes);
        } else {
          CJ2K_UNROLL
          for (uint32_t k = 0; k < kHtNearPlanes; ++k) {
            kind = i + k + 1 == choice.num_tasks ? static_cast<uint32_t>(passes.of[k]) : kind;
          }
          is_listed = kind > 0;
          t.gstore(&p.tasks[task].passes, static_cast<uint8_t>(kind));
          t.gstore(&p.results[task].passes, static_cast<uint8_t>(kind));
        }
      }
      list(t, p.lists, is_listed, kind, task);
    }
  }

 private:
  template <typename T>
  CJ2K_KERNEL_FN static HtPasses choose(T& t, const Params& p, const HtChoice& choice) {
    // From the lowest plane up.
    const HtResult* result = p.results + choice.first_task + choice.num_tasks - 1;
    const HtTask* task = p.tasks + choice.first_task + choice.num_tasks - 1;
    const QuantizeJob* job = p.jobs + t.gload(&task->block) % p.num_blocks;
    const int lowest = t.gload(&task->plane), planes = static_cast<int>(choice.num_tasks);
    const double total = ht_left_error(kReversible, choice.weight, choice.bit_planes,
                                       t.gload(&p.results[choice.first_task].total_left));
    double left[kHtNearPlanes] = {};
    uint32_t significant[kHtNearPlanes] = {};
    CJ2K_UNROLL
    for (int k = 0; k < kHtNearPlanes; ++k) {
      if (k >= planes) continue;
      left[k] = ht_left_error(kReversible, choice.weight, lowest + k, t.gload(&(result - k)->left));
      significant[k] = t.gload(&(result - k)->significant);
    }
    const uint32_t samples = uint32_t{t.gload(&job->width)} * t.gload(&job->height);
    return ht_passes_near(
        ht_block_sums(samples, choice.weight, lowest, planes, total, left, significant),
        choice.slope, lowest, planes, choice.most_passes);
  }
  template <typename T>
  CJ2K_KERNEL_FN static void list(T& t, const HtTaskLists& lists, bool is_listed, uint32_t kind,
                                  uint32_t task) {
    for (uint32_t k = 0; k < kHtKinds; ++k) {
      const uint32_t listed = t.ballot(is_listed && kind == k);
      if (listed == 0) continue;
      uint32_t at = 0;
      if (t.lane() == 0) at = t.atomic_add(lists.counts + k, t.popcount(listed));
      at = t.shuffle(at, 0) + t.popcount(listed & ((1u << t.lane()) - 1));
      if (is_listed && kind == k) t.gstore(lists.tasks + uint64_t{k} * lists.capacity + at, task);
    }
  }
};

}  // namespace cj2k::cuda::ht
