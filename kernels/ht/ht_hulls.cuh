// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The hulls of coded HT blocks.
#pragma once

#include <bit>

#include "core/ht/plane_choice.h"
#include "core/ht/points.h"
#include "core/hull.h"
#include "kernels/ht/ht_block.h"
#include "kernels/simt/kernel.h"

namespace cj2k::cuda::ht {

/// Makes the hulls of blocks: those with HtChoice::has_hull in the order of the list, and all of them by
/// block, if they are wanted there.
///
/// Grid: x = blocks / threads. Block: a thread per block, threads independent.
/// Shared bytes: 22,528: the points of 64 blocks, in the order of the hull, and the hulls. Point i
///   of a thread is at [i * 64]. Blocks of more planes (those of LL) work in their room in HtHulls.
/// Barriers: none.
/// Global traffic: reads 28 bytes of a block and 49 of a task; writes 16 bytes per hull point, and
///   16 where a hull ends; by block 32 bytes per hull point, and 56.
struct Hulls {
  struct Params {
    bool reversible;
    const HtTask* tasks;
    const HtChoice* choices;
    const uint32_t* list;
    uint32_t num_choices;
    const HtResult* results;
    HullPoint* hulls;
    HtHulls by_block;
  };
  static constexpr int kThreads = 64;
  static constexpr int kMinBlocks = 8;
  struct Smem {
    simt::U32x4 points[kMostHtHull * kThreads], hulls[kMostHtHull * kThreads];
  };

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem& s, const Params& p) {
    const uint32_t entry = t.block_x() * kThreads + t.thread();
    if (entry >= p.num_choices) return;
    const HtChoice choice = t.gload(p.choices + entry);
    const uint32_t block = t.gload(p.list + entry);
    const bool is_by_block = p.by_block.results != nullptr;
    if (choice.num_tasks <= kHtNearPlanes) {
      if (choice.has_hull || is_by_block)
        make(t, p, entry, block, choice, SharedMemory<T>{&t, s.points + t.thread()},
             SharedMemory<T>{&t, s.hulls + t.thread()});
      return;
    }
    if (!is_by_block || !has_room(t, p, block, choice)) return;
    const uint64_t first = first_point(t, p, block);
    // The points stand where their codes will be. No code overwrites a point that is still needed.
    make(t, p, entry, block, choice,
         GlobalMemory<T>{&t, reinterpret_cast<simt::U32x4*>(p.by_block.codes + first)},
         GlobalMemory<T>{&t, reinterpret_cast<simt::U32x4*>(p.by_block.hull + first)});
  }

 private:
  struct alignas(16) Point {
    double distortion;
    uint32_t bytes;
    uint16_t passes, task;
  };
  /// Memory of a thread for points.
  template <typename T>
  struct SharedMemory {
    T* t;
    simt::U32x4* first;
    CJ2K_KERNEL_FN simt::U32x4 load(int i) const { return t->sload(first[i * kThreads]); }
    CJ2K_KERNEL_FN void store(int i, const simt::U32x4& value) const {
      t->sstore(first[i * kThreads], value);
    }
  };
  template <typename T>
  struct GlobalMemory {
    T* t;
    simt::U32x4* first;
    CJ2K_KERNEL_FN simt::U32x4 load(int i) const { return t->gload(first + i); }
    CJ2K_KERNEL_FN void store(int i, const simt::U32x4& value) const {
      t->gstore(first + i, value);
    }
  };
  /// The points of a block, sorted.
  template <typename Memory>
  struct Points {
    Memory memory;
    int count = 0;

    CJ2K_KERNEL_FN Point load(int i) const { return std::bit_cast<Point>(memory.load(i)); }
    CJ2K_KERNEL_FN void insert(const Point& point) {
      int at = count++;
      for (; at > 0 && is_ht_point_before(point, load(at - 1)); --at)
        memory.store(at, memory.load(at - 1));
      memory.store(at, std::bit_cast<simt::U32x4>(point));
    }
  };
  /// Of a HullBuilder.
  template <typename Memory>
  struct Store {
    Memory memory;
    CJ2K_KERNEL_FN HullPoint point(int i) const { return std::bit_cast<HullPoint>(memory.load(i)); }
    CJ2K_KERNEL_FN void set_point(int i, const HullPoint& point) const {
      memory.store(i, std::bit_cast<simt::U32x4>(point));
    }
  };

  template <typename T>
  CJ2K_KERNEL_FN static uint64_t first_point(T& t, const Params& p, uint32_t block) {
    const HtHulls& to = p.by_block;
    return uint64_t{block / to.num_blocks} * to.frame_points +
           t.gload_ro(to.first_points + block % to.num_blocks);
  }

  template <typename T>
  CJ2K_KERNEL_FN static bool has_room(T& t, const Params& p, uint32_t block,
                                      const HtChoice& choice) {
    const uint32_t* const first = p.by_block.first_points + block % p.by_block.num_blocks;
    return 3 * choice.num_tasks <= t.gload_ro(first + 1) - t.gload_ro(first);
  }

  template <typename T, typename Memory>
  CJ2K_KERNEL_FN static void make(T& t, const Params& p, uint32_t entry, uint32_t block,
                                  const HtChoice& choice, const Memory& for_points,
                                  const Memory& for_hull) {
    Points<Memory> points{for_points};
    double total = 0;
    uint32_t num_bytes = 0, num_passes = 0;
    if (choice.bit_planes > 0)
      total = ht_left_error(p.reversible, choice.weight, choice.bit_planes,
                            t.gload(&p.results[choice.first_task].total_left));
    for (uint32_t i = 0; i < choice.num_tasks; ++i) {
      const HtResult result = t.gload(p.results + choice.first_task + i);
      if (result.passes == 0) continue;
      num_passes += result.passes;
      num_bytes += result.cleanup_bytes + (result.passes == 2   ? result.sig_prop_bytes
                                           : result.passes == 3 ? result.both_bytes
                                                                : 0);
      const int plane = t.gload(&p.tasks[choice.first_task + i].plane);
      const double left = ht_left_error(p.reversible, choice.weight, plane, result.left);
      const HtPlaneSums sums{plane,
                             result.passes,
                             result.cleanup_bytes,
                             result.sig_prop_bytes,
                             result.both_bytes,
                             result.sig_prop_distortion,
                             result.mag_ref_distortion,
                             left};
      for_each_ht_point(
          sums, choice.weight, total, [&](int passes, uint32_t bytes, double distortion) {
            points.insert(
                {distortion, bytes, static_cast<uint16_t>(passes), static_cast<uint16_t>(i)});
          });
    }
    HullBuilder<Store<Memory>> builder{{for_hull}};
    for (int i = 0; i < points.count; ++i) {
      const Point point = points.load(i);
      builder.push_point(point.distortion, point.bytes, i + 1);
    }
    const int size = builder.finish(choice.weight, false);
    if (choice.has_hull && p.hulls != nullptr)
      store_in_order(t, p, entry, points, builder.store, size);
    if (p.by_block.results == nullptr) return;
    Tier1Result result{};
    result.total_distortion = total;
    result.num_bytes = num_bytes;
    result.num_hull = static_cast<uint8_t>(size);
    result.num_passes = static_cast<uint8_t>(num_passes);
    result.bit_planes = choice.bit_planes;
    result.planes_left = static_cast<uint8_t>(ht_planes_left(choice.planes(), choice.bit_planes));
    store_by_block(t, p, block, choice, points, builder.store, result);
  }

  template <typename T, typename Memory>
  CJ2K_KERNEL_FN static void store_in_order(T& t, const Params& p, uint32_t entry,
                                            const Points<Memory>& points, const Store<Memory>& hull,
                                            int size) {
    HullPoint* const to = p.hulls + uint64_t{entry} * kMostHtHull;
    for (int i = 0; i < size; ++i) {
      HullPoint point = hull.point(i);
      const Point of = points.load(point.passes - 1);
      point.passes = static_cast<uint16_t>(of.passes | of.task << kHtHullTaskShift);
      t.gstore(reinterpret_cast<simt::U32x4*>(to + i), std::bit_cast<simt::U32x4>(point));
    }
    if (size < static_cast<int>(kMostHtHull))
      t.gstore(reinterpret_cast<simt::U32x4*>(to + size), simt::U32x4{0, 0, 0, 0});
  }

  template <typename T, typename Memory>
  CJ2K_KERNEL_FN static void store_by_block(T& t, const Params& p, uint32_t block,
                                            const HtChoice& choice, const Points<Memory>& points,
                                            const Store<Memory>& hull, Tier1Result& result) {
    const uint64_t first = first_point(t, p, block);
    for (int i = 0; i < result.num_hull; ++i) {
      HullPoint point = hull.point(i);
      const Point of = points.load(point.passes - 1);
      const HtTask task = t.gload(p.tasks + choice.first_task + of.task);
      const HtResult of_task = t.gload(p.results + choice.first_task + of.task);
      point.passes = of.passes;
      t.gstore(p.by_block.hull + first + i, point);
      t.gstore(p.by_block.codes + first + i,
               {task.cleanup, of_task.cleanup_bytes,
                static_cast<uint16_t>((of.passes == 2 ? task.rest : task.both) / 16),
                static_cast<uint8_t>(task.max_bit_planes - 1 - task.plane), task.plane});
    }
    result.first_hull = static_cast<uint32_t>(first);
    t.gstore(p.by_block.results + block, result);
    t.gstore(p.by_block.weights + block, choice.weight);
  }
};

}  // namespace cj2k::cuda::ht
