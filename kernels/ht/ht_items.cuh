// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// From the largest coefficients of blocks and the orders of their frames to the planes that are coded, by
// the functions of the CPU backend (core/ht/plane_choice.h).
#pragma once

#include <bit>

#include "core/quantizer.h"
#include "core/stop.h"
#include "kernels/ht/ht_block.h"
#include "kernels/simt/kernel.h"

namespace cj2k::cuda::ht {

struct ItemsParams {
  HtBlockTable table;
  HtOrders orders;
  const uint32_t* peaks;
  const uint32_t* list;
  uint32_t count;
  HtChoice* choices;
  HtTask* tasks;
  uint32_t* num_tasks;
};

/// Makes the choices and the tasks of blocks.
///
/// Grid: x = blocks / threads. Block: a thread per block, warps independent. A warp takes room for its
///   tasks by one atomic add, so the order of the tasks varies, and nothing depends on it.
/// Shared bytes: none. Barriers: none but those of a warp.
/// Global traffic: reads 40 bytes of a block and 16 of a task; writes 24 bytes of a block and 32 of a
///   task.
template <bool kReversible>
struct Items {
  using Params = ItemsParams;
  struct Smem {};
  static constexpr int kThreads = 128;
  static constexpr int kMinBlocks = 8;

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem&, const Params& p) {
    const uint32_t entry = t.block_x() * kThreads + t.thread();
    const bool has_block = entry < p.count;
    HtChoice choice{};
    HtTask task{};
    const HtSlot* slots = nullptr;
    double lambda = 0;
    if (has_block) lambda = choose(t, p, t.gload(p.list + entry), choice, task, slots);
    const bool both = p.table.rules.both_rdoq_planes;
    const uint32_t room =
        choice.num_tasks +
        static_cast<uint32_t>(ht_rdoq_planes(lambda, choice.planes(), both).count);
    const uint32_t end = t.warp_inclusive_add(room);
    uint32_t first = 0;
    if (t.lane() == 31) first = t.atomic_add(p.num_tasks, end);
    choice.first_task = t.shuffle(first, 31) + end - room;
    if (!has_block) return;
    t.gstore(p.choices + entry, choice);
    HtTask* to = p.tasks + choice.first_task;
    if (choice.lowest >= choice.end) {
      if (choice.num_tasks > 0) store(t, to, task);
      return;
    }
    const uint64_t frame_bytes = task.cleanup;
    for (int plane = choice.end - 1; plane >= choice.lowest; --plane, ++to) {
      const auto slot = load(t, slots + plane);
      task.cleanup = frame_bytes + slot.cleanup;
      task.rest = slot.rest;
      task.both = slot.both;
      task.plane = static_cast<uint8_t>(plane);
      const int passes = ht_passes(plane, choice.lowest, choice.points, choice.most_passes);
      task.passes = choice.points == HtPoints::kEstimate ? 0 : static_cast<uint8_t>(passes);
      store(t, to, task);
      // The error without any plane is asked for once.
      task.bit_planes = 0;
    }
  }

 private:
  /// Of 16 bytes.
  template <typename T, typename Entry>
  CJ2K_KERNEL_FN static Entry load(T& t, const Entry* from) {
    return std::bit_cast<Entry>(t.gload_ro(reinterpret_cast<const simt::U32x4*>(from)));
  }
  template <typename T>
  CJ2K_KERNEL_FN static void store(T& t, HtTask* to, const HtTask& task) {
    struct Halves {
      simt::U32x4 low, high;
    };
    const auto halves = std::bit_cast<Halves>(task);
    t.gstore(reinterpret_cast<simt::U32x4*>(to), halves.low);
    t.gstore(reinterpret_cast<simt::U32x4*>(to) + 1, halves.high);
  }
  /// @param choice  all but first_task is written
  /// @param task    what the block's tasks have in common is written; in `cleanup`, where the bytes of
  ///                the frame begin
  /// @param slots   of the block's planes
  /// @return lambda of RDOQ
  template <typename T>
  CJ2K_KERNEL_FN static double choose(T& t, const Params& p, uint32_t number, HtChoice& choice,
                                      HtTask& task, const HtSlot*& slots) {
    const uint32_t frame = number / p.table.num_blocks;
    const auto block = load(t, p.table.blocks + number % p.table.num_blocks);
    const HtOrder& order = p.orders.of[frame];
    const auto band = load(t, p.table.bands + order.step_set * p.table.num_bands + block.band);
    uint32_t magnitude = t.gload(p.peaks + number);
    if constexpr (!kReversible) {
      const uint32_t most = (1u << band.max_bit_planes) - 1;
      magnitude =
          quantize97_magnitude(std::bit_cast<float>(magnitude), float_of_upper_half(band.rounder),
                               band.inverse_step, quantizer_limit(most), most);
    }
    const auto bit_planes = static_cast<int>(32 - t.clz(magnitude));
    const uint16_t threshold =
        pause_threshold(order.thresholds[block.component], block.orientation);
    const uint16_t highest = order.highest[block.component];
    const HtPlanes planes =
        ht_planes_to_code(p.table.rules, band.weight,
                          {threshold, threshold > highest ? threshold : highest}, bit_planes);
    const HtPoints points = ht_points_to_make(threshold, planes, order.points);
    const bool chooses = points == HtPoints::kNearSlope;
    const int count = planes.end > planes.lowest ? planes.end - planes.lowest : 0;
    choice.weight = band.weight;
    choice.slope = chooses ? threshold + kHtExpected : kHtNoChoice;
    choice.num_tasks = static_cast<uint8_t>(count == 0 && bit_planes > 0 ? 1 : count);
    choice.bit_planes = static_cast<uint8_t>(bit_planes);
    choice.lowest = static_cast<uint8_t>(planes.lowest);
    choice.end = static_cast<uint8_t>(planes.end);
    choice.is_all = planes.is_all;
    const double lambda = order.lambda(block.component, band.weight);
    choice.has_hull = p.table.has_hulls && points != HtPoints::kEstimate && count > 0 &&
                      count <= kHtNearPlanes && lambda == 0;
    choice.most_passes =
        static_cast<uint8_t>(most_ht_passes(p.table.rules, order.is_trial, block.samples));
    choice.points = points;
    task.cleanup = frame * p.table.frame_bytes;
    task.block = number;
    task.inverse_step = band.inverse_step;
    task.plane = kHtNoPlane;
    task.bit_planes = choice.bit_planes;
    task.max_bit_planes = band.max_bit_planes;
    task.is_counted = chooses;
    task.rounder = band.rounder;
    slots = p.table.slots + block.first_slot;
    return lambda;
  }
};

}  // namespace cj2k::cuda::ht
