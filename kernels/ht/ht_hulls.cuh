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

/// Makes the hulls of blocks with HtChoice::has_hull.
///
/// Grid: x = blocks / threads. Block: a thread per block, threads independent.
/// Shared bytes: 22,528: the points of 64 blocks, in the order of the hull, and the hulls. Point i
///   of a thread is at [i * 64].
/// Barriers: none.
/// Global traffic: reads 24 bytes of a block and 49 of a task; writes 16 bytes per hull point, and
///   16 where a hull ends.
struct Hulls {
  struct Params {
    bool reversible;
    const HtTask* tasks;
    const HtChoice* choices;
    uint32_t num_choices;
    const HtResult* results;
    HullPoint* hulls;
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
    if (!choice.has_hull) return;
    Points<T> points{t, s.points + t.thread()};
    const double total = ht_left_error(p.reversible, choice.weight, choice.bit_planes,
                                       t.gload(&p.results[choice.first_task].total_left));
    for (uint32_t i = 0; i < choice.num_tasks; ++i) {
      const HtResult result = t.gload(p.results + choice.first_task + i);
      if (result.passes == 0) continue;
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
    HullBuilder<Store<T>> builder{{&t, s.hulls + t.thread()}};
    for (int i = 0; i < points.count; ++i) {
      const Point point = points.load(i);
      builder.push_point(point.distortion, point.bytes, i + 1);
    }
    const int size = builder.finish(choice.weight, false);
    HullPoint* const to = p.hulls + uint64_t{entry} * kMostHtHull;
    for (int i = 0; i < size; ++i) {
      HullPoint point = builder.store.point(i);
      const Point of = points.load(point.passes - 1);
      point.passes = static_cast<uint16_t>(of.passes | of.task << kHtHullTaskShift);
      t.gstore(reinterpret_cast<simt::U32x4*>(to + i), std::bit_cast<simt::U32x4>(point));
    }
    if (size < static_cast<int>(kMostHtHull))
      t.gstore(reinterpret_cast<simt::U32x4*>(to + size), simt::U32x4{0, 0, 0, 0});
  }

 private:
  struct alignas(16) Point {
    double distortion;
    uint32_t bytes;
    uint16_t passes, task;
  };
  /// The points of a block, sorted.
  template <typename T>
  struct Points {
    T& t;
    simt::U32x4* memory;  ///< first point of the thread
    int count = 0;

    CJ2K_KERNEL_FN Point load(int i) const {
      return std::bit_cast<Point>(t.sload(memory[i * kThreads]));
    }
    CJ2K_KERNEL_FN void insert(const Point& point) {
      int at = count++;
      for (; at > 0 && is_ht_point_before(point, load(at - 1)); --at)
        t.sstore(memory[at * kThreads], t.sload(memory[(at - 1) * kThreads]));
      t.sstore(memory[at * kThreads], std::bit_cast<simt::U32x4>(point));
    }
  };
  /// Of a HullBuilder.
  template <typename T>
  struct Store {
    T* t;
    simt::U32x4* points;  ///< first point of the thread
    CJ2K_KERNEL_FN HullPoint point(int i) const {
      return std::bit_cast<HullPoint>(t->sload(points[i * kThreads]));
    }
    CJ2K_KERNEL_FN void set_point(int i, const HullPoint& point) const {
      t->sstore(points[i * kThreads], std::bit_cast<simt::U32x4>(point));
    }
  };
};

}  // namespace cj2k::cuda::ht
