// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The kernels of slopes.h. They count bytes by slope and derive thresholds and stops from them.
#pragma once

#include "core/hull.h"
#include "core/slope_search.h"
#include "core/stop.h"
#include "kernels/ebcot/tier1_block.cuh"
#include "kernels/rate/slopes.h"
#include "kernels/simt/block.h"
#include "kernels/simt/kernel.h"

namespace cj2k::cuda::slopes {

/// The first lane at which a sum, taken from the last lane down to the first, exceeds a target.
struct Crossing {
  bool found;
  uint32_t lane;
  uint64_t above;  ///< sum above the lane: `above` of find_crossing and all higher lanes
};
/// Finds the crossing. All lanes must call.
/// @param mine   value of this lane
/// @param above  sum of all that comes above the last lane
template <typename T>
CJ2K_KERNEL_FN Crossing find_crossing(T& t, uint64_t mine, uint64_t above, uint64_t target) {
  const uint64_t total = t.warp_reduce_add(mine);
  const uint64_t at_least = above + total - t.warp_exclusive_add(mine);
  const uint32_t over = t.ballot(at_least > target);
  // The sums rise from the last lane down, so the highest lane over the target is the crossing.
  const uint32_t lane = over == 0 ? 0 : 31 - T::clz(over);
  return {over != 0, lane, t.shuffle(at_least - mine, lane)};
}

/// Two neighbouring entries of a table.
struct Pair {
  uint64_t low, high;
};
template <typename T>
CJ2K_KERNEL_FN Pair load_pair(T& t, const uint64_t* entries) {
  const simt::U32x4 v = t.gload_ro(reinterpret_cast<const simt::U32x4*>(entries));
  return {v.x | uint64_t{v.y} << 32, v.z | uint64_t{v.w} << 32};
}

/// The components [first, end), which share a target.
struct Scope {
  uint32_t first, end;
};
/// Scope `index` of a frame: a component, or all components for index num_components.
CJ2K_KERNEL_FN Scope scope_of(uint32_t index, uint32_t num_components) {
  return index < num_components ? Scope{index, index + 1} : Scope{0, num_components};
}
/// The target of scope `index`, in bytes.
CJ2K_KERNEL_FN uint64_t target_of(const ByteTargets& targets, uint32_t index,
                                  uint32_t num_components) {
  uint64_t target = targets.frame;
  CJ2K_UNROLL
  for (uint32_t c = 0; c < CJ2K_MAX_COMPONENTS; ++c) {
    if (c == index && c < num_components) target = targets.component[c];
  }
  return target;
}

struct AccumulateParams {
  Tier1Buffers buffers;
  Tier1List list;
  Tier1Output output;
  const uint32_t* weights;
  SlopeTables tables;
};

/// The kernel of slopes_accumulate.
///
/// Grid: x = blocks / warps per thread block. Block: a warp per code-block, warps independent.
/// Shared bytes: none. Barriers: none.
/// Global traffic: 80 bytes per block, 20 per hull point, and an atomic addition in the caches for
///   each hull point.
struct Accumulate {
  using Params = AccumulateParams;
  struct Smem {};
  static constexpr int kThreads = 128;
  static constexpr int kMinBlocks = 8;

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem&, const Params& p) {
    const uint32_t entry = t.block_x() * (kThreads / 32) + t.warp();
    if (entry >= p.list.count()) return;
    const tier1::ListedBlock block(t, p.buffers, p.list, entry);
    const uint64_t column =
        uint64_t{block.frame} * p.tables.num_components + t.gload(&block.job->component);
    uint64_t* table = p.tables.bytes + column * kAboveAllSlopes;
    const Tier1Result* result = p.output.results + p.output.place(entry, block.number);
    const HullPoint* hull = p.output.hull + t.gload(&result->first_hull);
    const uint64_t weight = t.gload_ro(p.weights + entry);
    const uint32_t points = t.gload(&result->num_hull);
    for (uint32_t i = t.lane(); i < points; i += 32) {
      const uint32_t before = i > 0 ? t.gload(&hull[i - 1].length_bytes) : 0;
      const uint32_t bytes = t.gload(&hull[i].length_bytes) - before;
      t.atomic_add(table + t.gload(&hull[i].slope), bytes * weight);
    }
  }
};

struct PredictParams {
  SlopeTables tables;
  FrameTargets targets;
  uint16_t* thresholds;
};

/// The kernel of slopes_predict: finds the lowest slope that fits, for each component and for the
/// frame. It searches in three steps, each of which divides the range over the 32 lanes (in the
/// last step a lane has two entries).
///
/// Grid: x = frames. Block: the warps first add up chunks of 2,048 slopes of each component; then one warp
///   per scope searches.
/// Shared bytes: 1,048.
/// Global traffic: the tables once, 16 bytes per lane, adjacent, 512 KB per component; 17 KB of
///   them again.
/// Barriers: 2.
struct Predict {
  using Params = PredictParams;
  static constexpr int kThreads = 256;
  static constexpr int kMinBlocks = 4;
  static constexpr uint32_t kChunk = kAboveAllSlopes / 32, kPart = kChunk / 32;
  static_assert(kPart == 64);
  struct Smem {
    uint64_t chunks[CJ2K_MAX_COMPONENTS][32];
    uint32_t slopes[CJ2K_MAX_COMPONENTS + 1];
  };

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem& s, const Params& p) {
    const uint32_t frame = t.block_x(), num_components = p.tables.num_components;
    const uint64_t* table = p.tables.bytes + uint64_t{frame} * num_components * kAboveAllSlopes;
    for (uint32_t c = 0; c < num_components; ++c) {
      for (uint32_t chunk = t.warp(); chunk < 32; chunk += kThreads / 32) {
        const uint64_t* from = table + c * kAboveAllSlopes + chunk * kChunk + 2 * t.lane();
        uint64_t sum = 0;
        for (uint32_t i = 0; i < kChunk; i += 64) {
          const Pair pair = load_pair(t, from + i);
          sum += pair.low + pair.high;
        }
        sum = t.warp_reduce_add(sum);
        if (t.lane() == 0) t.sstore(s.chunks[c][chunk], sum);
      }
    }
    t.sync();
    if (t.warp() <= num_components) {
      const Scope scope = scope_of(t.warp(), num_components);
      const uint64_t target = target_of(p.targets.of[frame], t.warp(), num_components);
      const uint32_t slope = lowest_slope(t, s, table, scope, target);
      if (t.lane() == 0) t.sstore(s.slopes[t.warp()], slope);
    }
    t.sync();
    if (t.thread() >= CJ2K_MAX_COMPONENTS) return;
    uint16_t threshold = p.targets.of[frame].floor;
    if (t.thread() < num_components) {
      threshold = predicted_threshold(p.targets.of[frame].floor, t.sload(s.slopes[t.thread()]),
                                      t.sload(s.slopes[num_components]));
    }
    t.gstore(p.thresholds + frame * CJ2K_MAX_COMPONENTS + t.thread(), threshold);
  }

 private:
  /// The lowest slope at which the segments of that slope and of all steeper slopes take at most
  /// `target` bytes.
  template <typename T>
  CJ2K_KERNEL_FN static uint32_t lowest_slope(T& t, Smem& s, const uint64_t* table, Scope scope,
                                              uint64_t target) {
    uint64_t mine = 0;
    for (uint32_t c = scope.first; c < scope.end; ++c) mine += t.sload(s.chunks[c][t.lane()]);
    Crossing at = find_crossing(t, mine, 0, target);
    if (!at.found) return 0;
    uint32_t slope = at.lane * kChunk;

    mine = 0;
    for (uint32_t c = scope.first; c < scope.end; ++c) {
      const uint64_t* from = table + c * kAboveAllSlopes + slope + t.lane() * kPart;
      for (uint32_t i = 0; i < kPart; i += 2) {
        const Pair pair = load_pair(t, from + i);
        mine += pair.low + pair.high;
      }
    }
    at = find_crossing(t, mine, at.above, target);
    slope += at.lane * kPart;

    Pair pair{0, 0};
    for (uint32_t c = scope.first; c < scope.end; ++c) {
      const Pair of = load_pair(t, table + c * kAboveAllSlopes + slope + 2 * t.lane());
      pair.low += of.low;
      pair.high += of.high;
    }
    at = find_crossing(t, pair.low + pair.high, at.above, target);
    const bool in_high = at.above + t.shuffle(pair.high, at.lane) > target;
    return slope + 2 * at.lane + (in_high ? 1 : 0) + 1;
  }
};

struct PlaneParams {
  Tier1Buffers buffers;
  uint32_t plane;
  FrameTargets targets;
  PlaneDecisions decisions;
};

/// The code-block of a thread, in kernels with one row of the grid per frame.
struct PlaneBlock {
  uint32_t frame, index, number;
  bool valid;

  template <typename T>
  CJ2K_KERNEL_FN PlaneBlock(T& t, const PlaneParams& p)
      : frame(t.block_y()),
        index(t.block_x() * t.num_threads() + t.thread()),
        number(frame * p.buffers.num_blocks + index),
        valid(index < p.buffers.num_blocks) {}
};

/// The record of a block after `plane`; slope is 0. A block that has not stopped is coded in every
/// plane that it has.
template <typename T>
CJ2K_KERNEL_FN PlaneRecord next_record(T& t, const PlaneParams& p, uint32_t number,
                                       const tier1::StateHead& head) {
  const uint32_t before = t.gload(&p.decisions.records[number].num_bytes);
  const bool active =
      head.stopped == 0 && tier1::bit_planes(t, p.buffers, number) > static_cast<int>(p.plane);
  if (!active) return {before, 0, 0, 0};
  return {head.num_bytes, head.num_bytes - before, 0, 1};
}

/// psb, the first kernel: adds the bytes that the plane took at the slope of the block's last hull
/// segment, and writes the block's record.
///
/// Grid: x = blocks / kThreads, y = frames. Block: a thread per code-block.
/// Shared bytes: none.
/// Global traffic: 48 bytes per block; for an active block also 16 bytes per pass so far, and one
///   atomic addition.
/// Barriers: none.
struct PlaneSlopes {
  using Params = PlaneParams;
  struct Smem {};
  static constexpr int kThreads = 128;
  static constexpr int kMinBlocks = 8;

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem&, const Params& p) {
    const PlaneBlock block(t, p);
    if (!block.valid) return;
    const tier1::StateHead head = tier1::load_head(t, p.buffers.states + block.number);
    PlaneRecord record = next_record(t, p, block.number, head);
    if (record.active != 0) {
      const Tier1Job* job = p.buffers.jobs + block.index;
      const CodingPass* passes = p.buffers.passes + uint64_t{block.frame} * p.buffers.frame_passes +
                                 t.gload(&job->first_pass);
      record.slope = last_hull_slope([&](int i) { return t.gload(passes + i); }, head.num_passes,
                                     t.gload(&job->weight));
      const uint64_t row =
          uint64_t{block.frame} * p.decisions.num_components + t.gload(&job->component);
      t.atomic_add(p.decisions.bytes + row * kSlopeEntries +
                       slope_entry(static_cast<uint16_t>(record.slope)),
                   record.plane_bytes);
    }
    t.gstore(p.decisions.records + block.number, record);
  }
};

/// psb, the second kernel: finds the slopes at which the targets are used up.
///
/// Grid: x = frames. Block: a warp per scope. Shared bytes: 10.
/// Global traffic: 8 KB per component, twice. Barriers: 1.
struct PlaneThresholds {
  using Params = PlaneParams;
  static constexpr int kThreads = 32 * (CJ2K_MAX_COMPONENTS + 1);
  static constexpr int kMinBlocks = 4;
  static constexpr uint32_t kPart = kSlopeEntries / 32;
  static_assert(kPart == 32);
  struct Smem {
    uint16_t thresholds[CJ2K_MAX_COMPONENTS + 1];
  };

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem& s, const Params& p) {
    const uint32_t frame = t.block_x(), num_components = p.decisions.num_components;
    const uint64_t* table = p.decisions.bytes + uint64_t{frame} * num_components * kSlopeEntries;
    if (t.warp() <= num_components) {
      const Scope scope = scope_of(t.warp(), num_components);
      const uint64_t target = target_of(p.targets.of[frame], t.warp(), num_components);
      const uint16_t slope = threshold(t, table, scope, target);
      if (t.lane() == 0) t.sstore(s.thresholds[t.warp()], slope);
    }
    t.sync();
    if (t.thread() >= CJ2K_MAX_COMPONENTS) return;
    uint16_t result = 0;
    if (t.thread() < num_components) {
      result =
          stop_threshold(t.sload(s.thresholds[t.thread()]), t.sload(s.thresholds[num_components]));
    }
    t.gstore(p.decisions.thresholds + frame * CJ2K_MAX_COMPONENTS + t.thread(), result);
  }

 private:
  /// The result of SlopeByteTable::threshold.
  template <typename T>
  CJ2K_KERNEL_FN static uint16_t threshold(T& t, const uint64_t* table, Scope scope,
                                           uint64_t target) {
    uint64_t mine = 0;
    for (uint32_t c = scope.first; c < scope.end; ++c) {
      const uint64_t* from = table + c * kSlopeEntries + t.lane() * kPart;
      for (uint32_t i = 0; i < kPart; i += 2) {
        const Pair pair = load_pair(t, from + i);
        mine += pair.low + pair.high;
      }
    }
    Crossing at = find_crossing(t, mine, 0, target);
    if (!at.found) return 0;
    const uint32_t first = at.lane * kPart;
    mine = 0;
    for (uint32_t c = scope.first; c < scope.end; ++c) {
      mine += t.gload_ro(table + c * kSlopeEntries + first + t.lane());
    }
    at = find_crossing(t, mine, at.above, target);
    return slope_of_entry(first + at.lane);
  }
};

/// psb, the third kernel: blocks that may pause at the thresholds stop.
///
/// Grid: x = blocks / kThreads, y = frames. Block: a thread per code-block.
/// Shared bytes: none. Barriers: none. Global traffic: 19 bytes per block.
struct MarkBySlope {
  using Params = PlaneParams;
  struct Smem {};
  static constexpr int kThreads = 256;
  static constexpr int kMinBlocks = 8;

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem&, const Params& p) {
    const PlaneBlock block(t, p);
    if (!block.valid) return;
    const PlaneRecord record = t.gload(p.decisions.records + block.number);
    if (record.active == 0) return;
    const uint32_t component = t.gload(&p.buffers.jobs[block.index].component);
    const uint16_t threshold =
        t.gload(p.decisions.thresholds + block.frame * CJ2K_MAX_COMPONENTS + component);
    if (may_pause(static_cast<uint16_t>(record.slope), record.plane_bytes, threshold)) {
      t.gstore(&p.buffers.states[block.number].stopped, 1);
    }
  }
};

/// bpi, the first kernel: adds up the bytes that the plane took per frame and component, and writes
/// the records of the blocks.
///
/// Grid: x = blocks / kThreads, y = frames. Block: a thread per code-block.
/// Shared bytes: 64.
/// Global traffic: 68 bytes per block; an atomic addition per thread block and component.
/// Barriers: 2 per component.
struct PlaneBytes {
  using Params = PlaneParams;
  static constexpr int kThreads = 256;
  static constexpr int kMinBlocks = 8;
  struct Smem {
    simt::BlockScratch<uint64_t, kThreads> sums;
  };

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem& s, const Params& p) {
    const PlaneBlock block(t, p);
    uint32_t component = 0;
    PlaneRecord record{};
    if (block.valid) {
      component = t.gload(&p.buffers.jobs[block.index].component);
      record =
          next_record(t, p, block.number, tier1::load_head(t, p.buffers.states + block.number));
      t.gstore(p.decisions.records + block.number, record);
    }
    for (uint32_t c = 0; c < p.decisions.num_components; ++c) {
      const uint64_t sum =
          simt::block_reduce_add(t, s.sums, c == component ? record.plane_bytes : uint64_t{0});
      if (t.thread() == 0 && sum != 0) {
        t.atomic_add(p.decisions.bytes + block.frame * CJ2K_MAX_COMPONENTS + c, sum);
      }
    }
  }
};

/// bpi, the second kernel: blocks stop where stops_by_bytes (core/stop.h) says so.
///
/// Grid: x = blocks / kThreads, y = frames. Block: a thread per code-block.
/// Shared bytes: none. Barriers: none. Global traffic: 18 bytes per block.
struct MarkByBytes {
  using Params = PlaneParams;
  struct Smem {};
  static constexpr int kThreads = 256;
  static constexpr int kMinBlocks = 8;

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem&, const Params& p) {
    const PlaneBlock block(t, p);
    if (!block.valid) return;
    const uint32_t component = t.gload(&p.buffers.jobs[block.index].component);
    const uint64_t* bytes = p.decisions.bytes + block.frame * CJ2K_MAX_COMPONENTS;
    uint64_t all = 0, own = 0;
    for (uint32_t c = 0; c < p.decisions.num_components; ++c) {
      const uint64_t of = t.gload_ro(bytes + c);
      all += of;
      if (c == component) own = of;
    }
    const bool is_active = t.gload(&p.decisions.records[block.number].active) != 0;
    const ByteTargets& targets = p.targets.of[block.frame];
    const uint64_t target = target_of(targets, component, p.decisions.num_components);
    if (stops_by_bytes(all, targets.frame, own, target, is_active)) {
      t.gstore(&p.buffers.states[block.number].stopped, 1);
    }
  }
};

}  // namespace cj2k::cuda::slopes
