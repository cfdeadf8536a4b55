// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Context modelling and MQ coding in one kernel. The decisions stay in shared memory between them.
//
// A thread block has groups of warps that model and one warp that codes (the MQ warp). Each lane of
// the MQ warp is a slot: it codes one code-block after the other, independently. A group serves
// several slots. It models one plane of one block at a time, and takes next the slot that has the
// fewest modelled passes in store. It keeps no state of a block between planes, because the
// bit-planes determine that state.
//
//   model group                                    MQ lane
//   ring:    decisions of passes                   reads 16 decisions at a time
//   records: one per pass           produced ->    begin_pass .. end_pass
//            room in the ring    <- consumed
//            a new block for it  <- done           after a plane: pauses, or goes on
//
// All slots of a group share one ring, because single passes differ in size far more than the sum
// of several does. Room in the ring is given out in order and returned in the same order, so a pass
// that is coded late also holds back the room of the passes after it. Passes that were modelled
// beyond the plane after which a block pauses are discarded.
//
// There is no deadlock. A lane waits only for its group. A group waits only for room in the ring,
// and the lanes return room without the group's help: a pass is published before the next one takes
// room, and the largest pass takes less than half of a ring. tests/device/handover/ has the hand-over
// as a model, in which Spin visits every interleaving.
#pragma once

#include "kernels/ebcot/tier1_block.cuh"
#include "kernels/ebcot/tier1_modeller.cuh"
#include "kernels/ebcot/tier1_mq.cuh"
#include "kernels/simt/kernel.h"

namespace cj2k::cuda::tier1 {

/// How a thread block is divided, for code-blocks of up to kWarps * 32 cells: number of groups,
/// slots per group and bytes of a ring. These are tuning parameters.
template <uint32_t kWarps>
struct FusedShape;
template <>
struct FusedShape<1> {
  static constexpr uint32_t kGroups = 4, kSlots = 8, kRingBytes = 8 * 1024;
  static constexpr int kMinBlocks = 4;
};
template <>
struct FusedShape<4> {
  static constexpr uint32_t kGroups = 1, kSlots = 16, kRingBytes = 32 * 1024;
  static constexpr int kMinBlocks = 4;
};
template <>
struct FusedShape<8> {
  static constexpr uint32_t kGroups = 1, kSlots = 16, kRingBytes = 32 * 1024;
  static constexpr int kMinBlocks = 2;
};

/// Models and codes the blocks of a list. Tier1Close ends their codewords afterwards.
///
/// Grid: x = at most the thread blocks that run at a time; each takes blocks until there are none.
/// Block: kGroups * kWarps warps that model, a thread per cell, then one warp that codes, a lane
///   per slot.
/// Shared bytes: 47,488, 43,952 and 45,552: the rings, 1,200 to 6,240 per group for the states of a
///   block, 128 per slot for records, and the contexts and states of the MQ coder.
/// Global traffic: for each plane its bits, the signs, and all planes above and below, 4 bytes per
///   thread, most of them from the caches; the writes of the MQ coder as in MqCoder.
/// Barriers: within a group as in Tier1Model. A group and a lane synchronise by counters in shared
///   memory. The MQ warp votes twice every 16 decisions.
template <uint32_t kWarps>
struct Tier1Fused {
  using Params = FusedParams;
  using Shape = FusedShape<kWarps>;
  static constexpr uint32_t kGroups = Shape::kGroups, kSlots = Shape::kSlots;
  static constexpr uint32_t kModelThreads = kGroups * kWarps * 32;
  static constexpr int kThreads = static_cast<int>(kModelThreads + 32);
  static constexpr int kMinBlocks = Shape::kMinBlocks;
  static constexpr uint32_t kUnits = Shape::kRingBytes / 16;  ///< a ring has so many 16-byte units
  /// kRecords: capacity of a slot, in passes that are modelled and not yet coded. A group models
  /// the next plane of a slot when at most kAhead passes are waiting, that is while the plane
  /// before is coded. A plane has up to 3 passes, and one record marks the end.
  static constexpr uint32_t kRecords = 8, kAhead = 3;
  /// A lane at the end of a pass waits up to kPassRounds rounds of 16 decisions, so that several
  /// lanes handle the end of a pass together: the whole warp stands still meanwhile. A lane that
  /// has to decide on a pause, which reads all passes so far, waits up to kStopRounds rounds.
  static constexpr uint32_t kPassRounds = 4, kStopRounds = 8;
  /// Time between two polls of a group that waits for work, in ns. A lane takes about 40 us for a
  /// pass, and a warp that polls all the time takes issue slots from the warps that code.
  static constexpr uint32_t kWaitNs = 500;
  static_assert(kGroups * kSlots <= 32 && kAhead + 4 <= kRecords);
  static_assert((kUnits & (kUnits - 1)) == 0 &&
                kUnits / 2 * 16 >= model_samples(kWarps) * 5 / 2 + 16 &&
                kUnits <= 65536);  // a place in the ring has 16 bits in a record

  /// Room in the ring that is given out for one pass.
  struct Given {
    uint32_t record;  ///< slot | number of the slot's record << 5
    uint32_t end;     ///< position in the ring where the room ends
  };
  struct alignas(16) GroupSmem {
    uint8_t ring[Shape::kRingBytes];
    simt::U32x4 records[kSlots][kRecords];
    ModelScratch<kWarps> model;
    // Counters of the slots. `produced` and `consumed` count records, `done` counts blocks.
    uint32_t produced[kSlots], consumed[kSlots], done[kSlots];
    // Only the first lane of the group uses these. Positions in the ring are in units of 16 bytes
    // and keep counting; the place is the position modulo kUnits.
    Given given[kSlots * kRecords];
    uint32_t given_begin, given_end, ring_begin, ring_end;
    // Messages from the first warp of the group to its other warps.
    uint32_t placed;
    simt::U32x4 task;
  };
  struct Smem {
    GroupSmem groups[kGroups];
    MqWarpSmem coder;
    mq::State table[94];
  };

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem& smem, const Params& p) {
    for (uint32_t i = t.thread(); i < 94; i += kThreads) {
      t.sstore(smem.table[i], p.states.states[i]);
    }
    for (uint32_t i = t.thread(); i < kGroups * kSlots; i += kThreads) {
      GroupSmem& s = smem.groups[i / kSlots];
      t.sstore(s.produced[i % kSlots], 0);
      t.sstore(s.consumed[i % kSlots], 0);
      t.sstore(s.done[i % kSlots], 0);
      if (i % kSlots == 0) {
        t.sstore(s.given_begin, 0);
        t.sstore(s.given_end, 0);
        t.sstore(s.ring_begin, 0);
        t.sstore(s.ring_end, 0);
      }
    }
    t.sync();
    if (t.thread() >= kModelThreads) {
      code(t, smem, p);
    } else {
      model(t, smem.groups[kWarps == 1 ? t.warp() : 0], p);
    }
  }

 private:
  // ---- Modelling ----

  static constexpr uint32_t kNone = 0xFFFFFFFFu;
  static constexpr uint32_t kFirst = 1u << 31;  ///< flag in a record: first pass of a block

  template <typename T>
  using ModelGroup = Group<T, kWarps, false>;

  /// Whether this is the first warp of a group, which decides for the group.
  template <typename T>
  CJ2K_KERNEL_FN static bool leads(T& t) {
    return kWarps == 1 || t.warp() == 0;
  }

  /// A group's view of one slot. Lane i of the group's first warp keeps that of slot i.
  struct Slot {
    uint32_t block = 0;
    int plane = -1;         ///< the plane to model next; -1: none
    uint32_t produced = 0;  ///< number of records produced
    uint32_t assigned = 0;  ///< number of blocks assigned
    bool first = false;     ///< no pass of the block is modelled yet in this call
    bool closed;            ///< no more blocks will come
  };

  /// A plane to model.
  struct Task {
    uint32_t slot;  ///< kNone: all blocks are done
    uint32_t block, produced;
    int plane;
    uint32_t first;  ///< kFirst or 0
  };

  /// The Sink of the Modeller: puts the decisions into the ring, and a record per pass.
  template <typename T>
  struct RingSink {
    T& t;
    GroupSmem& s;
    const uint32_t slot, block;
    uint32_t first, produced;
    uint32_t placed = 0;

    CJ2K_KERNEL_FN uint8_t* place(uint32_t count) {
      if (leads(t)) {
        if (t.lane() == 0) placed = take_room(t, s, (count + 15) / 16);
        placed = t.shuffle(placed, 0);
        t.sync_warp();  // writes to the room come after the reads that `consumed` reports
      }
      if constexpr (kWarps > 1) {
        if (t.thread() == 0) t.sstore(s.placed, placed);
        ModelGroup<T>(t, s.model.group).sync();
        placed = t.sload(s.placed);
      }
      return s.ring + placed * 16;
    }
    CJ2K_KERNEL_FN void publish(uint32_t count, int64_t distortion, int plane) {
      ModelGroup<T> group(t, s.model.group);
      group.sync();
      if (group.thread() == 0) {
        t.sstore(s.records[slot][produced % kRecords],
                 simt::U32x4{block, count | static_cast<uint32_t>(plane) << 16 | first,
                             static_cast<uint32_t>(distortion),
                             placed | static_cast<uint32_t>(distortion >> 32) << 16});
        const uint32_t end = t.sload(s.given_end);
        t.sstore(s.given[end % (kSlots * kRecords)],
                 Given{slot | produced << 5, t.sload(s.ring_end)});
        t.sstore(s.given_end, end + 1);
        t.atomic_store_block(&s.produced[slot], produced + 1);
      }
      ++produced;
      first = 0;
    }
    CJ2K_KERNEL_FN void end_plane() {}
    CJ2K_KERNEL_FN bool goes_on(int) { return true; }
  };

  /// Takes `units` contiguous units of the ring; waits until they are free.
  /// @return the place where they begin
  template <typename T>
  CJ2K_KERNEL_FN static uint32_t take_room(T& t, GroupSmem& s, uint32_t units) {
    const uint32_t end = t.sload(s.ring_end);
    const uint32_t place = end % kUnits;
    const uint32_t skipped = place + units > kUnits ? kUnits - place : 0;
    uint32_t begin = t.sload(s.ring_begin);
    uint32_t oldest = t.sload(s.given_begin);
    const uint32_t newest = t.sload(s.given_end);
    // Many small passes may fill the list `given` before they fill the ring.
    while (end + skipped + units - begin > kUnits || newest - oldest == kSlots * kRecords) {
      // At least one entry is given out: an empty ring always has enough room, because the larger
      // of the two parts around `place` holds the largest pass.
      const Given given = t.sload(s.given[oldest % (kSlots * kRecords)]);
      const uint32_t consumed = t.atomic_load_block(&s.consumed[given.record % 32]);
      if (static_cast<int32_t>((consumed << 5) - (given.record & ~31u)) <= 0) {
        t.relax(kWaitNs);
        continue;
      }
      begin = given.end;
      t.sstore(s.ring_begin, begin);
      t.sstore(s.given_begin, ++oldest);
    }
    t.sstore(s.ring_end, end + skipped + units);
    return skipped != 0 ? 0 : place;
  }

  /// Takes blocks from the list for the slots that have none. If this call codes no plane of a
  /// block, the slot stays without a block.
  template <typename T>
  CJ2K_KERNEL_FN static void assign(T& t, GroupSmem& s, const Params& p, Slot& slot, bool wants) {
    const uint32_t takers = t.ballot(wants);
    if (takers == 0) return;
    uint32_t entry = 0;
    if (t.lane() == 0) entry = t.atomic_add(p.taken, T::popcount(takers));
    entry = t.shuffle(entry, 0) + T::popcount(takers & ((1u << t.lane()) - 1));
    if (!wants) return;
    if (entry >= p.count) {
      slot.closed = true;
      t.sstore(s.records[t.lane()][slot.produced % kRecords], simt::U32x4{kNone, 0, 0, 0});
      t.atomic_store_block(&s.produced[t.lane()], ++slot.produced);
      return;
    }
    slot.block = t.gload_ro(p.blocks + entry);
    slot.plane = start_plane(t, p.buffers, p.stop, slot.block);
    if (slot.plane < 0) return;
    slot.first = true;
    ++slot.assigned;
  }

  /// Waits until there is a plane to model, or all slots are closed.
  template <typename T>
  CJ2K_KERNEL_FN static Task next_task(T& t, GroupSmem& s, const Params& p, Slot& slot) {
    const uint32_t i = t.lane() < kSlots ? t.lane() : 0;
    while (true) {
      assign(t, s, p, slot, !slot.closed && t.atomic_load_block(&s.done[i]) == slot.assigned);
      uint32_t key = kNone;
      if (!slot.closed && slot.plane >= static_cast<int>(p.stop.last_plane)) {
        const uint32_t ahead = slot.produced - t.atomic_load_block(&s.consumed[i]);
        if (ahead <= kAhead) key = ahead << 5 | i;
      }
      key = t.warp_reduce_min(key);
      t.sync_warp();  // new records are written after the reads that `consumed` reports
      if (key != kNone) {
        const uint32_t of = key % 32;
        return {of, t.shuffle(slot.block, of), t.shuffle(slot.produced, of),
                t.shuffle(slot.plane, of), t.shuffle(slot.first ? kFirst : 0, of)};
      }
      if (t.all(slot.closed)) return {kNone, 0, 0, 0, 0};
      t.relax(kWaitNs);
    }
  }

  /// The loop of a model group.
  template <typename T>
  CJ2K_KERNEL_FN static void model(T& t, GroupSmem& s, const Params& p) {
    Slot slot;
    slot.closed = t.lane() >= p.num_slots;
    while (true) {
      Task task{};
      if (leads(t)) task = next_task(t, s, p, slot);
      if constexpr (kWarps > 1) {
        ModelGroup<T> group(t, s.model.group);
        if (group.thread() == 0) {
          t.sstore(s.task, simt::U32x4{task.slot, task.block, task.produced,
                                       static_cast<uint32_t>(task.plane) | task.first});
        }
        group.sync();
        const simt::U32x4 shared = t.sload(s.task);
        task = {shared.x, shared.y, shared.z, static_cast<int>(shared.w & ~kFirst),
                shared.w & kFirst};
      }
      if (task.slot == kNone) return;
      const Tier1Job job = t.gload(p.buffers.job_of(task.block));
      RingSink<T> sink{t, s, task.slot, task.block, task.first, task.produced};
      Modeller<T, ModelGroup<T>, kWarps, RingSink<T>>(t, s.model, p.buffers, job, task.block,
                                                      p.style, p.reversible, sink)
          .planes(task.plane, task.plane);
      if (t.lane() == task.slot) {
        slot.produced = sink.produced;
        slot.plane = task.plane > static_cast<int>(p.stop.last_plane) ? task.plane - 1 : -1;
        slot.first = false;
      }
    }
  }

  // ---- MQ coding ----

  /// The loop of the MQ warp. In each round a lane may end a pass, leave or enter a block and begin
  /// a pass; then all lanes that have decisions code up to 16 of them together.
  template <typename T>
  CJ2K_KERNEL_FN static void code(T& t, Smem& smem, const Params& p) {
    const uint32_t lane = in_register(t, t.lane());
    const uint32_t group = lane / kSlots, i = lane % kSlots;
    bool closed = group >= kGroups || i >= p.num_slots;
    GroupSmem& s = smem.groups[group < kGroups ? group : 0];
    const SharedBank<T> bank{&t, &smem.coder.contexts[0][0], lane * 4, smem.table};
    bank.start();
    Segments<DeviceStore<T>> segments(p.style,
                                      DeviceStore<T>(t, p.buffers, t.gload(p.buffers.jobs), 0));
    uint32_t block = kNone;
    uint16_t threshold = 0;
    uint32_t consumed = 0, done = 0;  // copies of the slot's counters
    int plane = 0;
    int64_t distortion = 0;
    const simt::U32x4* from = nullptr;
    uint32_t left = 0;  // decisions that the pass has left
    bool in_pass = false, in_plane = false, raw = false;

    for (uint32_t round = 0; t.any(!closed); ++round) {
      const bool nobody = !t.any(left > 0);
      const bool turn = nobody || round % kPassRounds == 0;
      if (left == 0 && in_pass && turn) {
        // `false` also for the last pass of a block: Tier1Close ends the codeword.
        segments.end_pass(plane, distortion, false);
        in_pass = false;
        in_plane = pass_kind(segments.num_passes()) != PassKind::kSignificance;
        t.atomic_store_block(&s.consumed[i], ++consumed);
      }
      // After a plane.
      if (block != kNone && !in_pass && !in_plane &&
          (threshold == 0 || nobody || round % kStopRounds == 0)) {
        in_plane = true;
        if (plane <= static_cast<int>(p.stop.last_plane) ||
            (threshold != 0 &&
             may_pause_now(segments, weight_of(t, p.buffers, block), threshold))) {
          leave(t, p, segments, bank, block, plane == 0);
          block = kNone;
          t.atomic_store_block(&s.done[i], ++done);
        }
      }
      if (turn && !closed && !in_pass && (in_plane || block == kNone) &&
          t.atomic_load_block(&s.produced[i]) != consumed) {
        const simt::U32x4 record = t.sload(s.records[i][consumed % kRecords]);
        closed = record.x == kNone;
        if (!closed && (record.y & kFirst) != 0) {
          block = record.x;
          in_plane = true;
          threshold = enter(t, p, segments, bank, block);
        }
        if (block == kNone) {
          t.atomic_store_block(&s.consumed[i], ++consumed);  // discards a pass of a block that left
        } else if (!closed) {
          plane = static_cast<int>(record.y >> 16 & 31);
          left = record.y & 0xFFFF;
          distortion = static_cast<int64_t>(static_cast<int32_t>(record.w) >> 16) << 32 | record.z;
          from = reinterpret_cast<const simt::U32x4*>(s.ring) + (record.w & 0xFFFF);
          raw = begin_pass(segments, bank);
          in_pass = true;
        }
      }
      t.sync_warp();  // lanes converge, so that they code together
      if (left > 0) {
        code_symbols(segments, bank, raw, t.sload(*from++), left);
        left -= left < 16 ? left : 16;
      } else if (nobody) {
        t.relax();
      }
    }
  }

  /// Starts a block, or resumes it.
  /// @return the threshold of the block
  template <typename T>
  CJ2K_KERNEL_FN static uint16_t enter(T& t, const Params& p, Segments<DeviceStore<T>>& segments,
                                       const SharedBank<T>& bank, uint32_t block) {
    const uint32_t frame = block / p.buffers.num_blocks;
    const Tier1Job job = t.gload(p.buffers.job_of(block));
    const Tier1State* state = p.buffers.states + block;
    const StateHead head = load_head(t, state);
    segments = Segments<DeviceStore<T>>(p.style, DeviceStore<T>(t, p.buffers, job, frame));
    segments.resume(head);
    start_contexts(t, bank, state, head.num_passes);
    return threshold_of(t, p.buffers, p.stop, block, job);
  }

  /// Saves the state of a block that is finished or pauses. Its codeword stays open.
  template <typename T>
  CJ2K_KERNEL_FN static void leave(T& t, const Params& p, Segments<DeviceStore<T>>& segments,
                                   const SharedBank<T>& bank, uint32_t block, bool finished) {
    Tier1State* state = p.buffers.states + block;
    StateHead head{};
    segments.save(head);
    head.num_bytes = segments.num_bytes();
    head.paused = !finished;
    head.finished = finished;
    if (!finished) save_contexts(t, bank, state);
    segments.leave();
    store_head(t, state, head);
  }
};

struct CloseParams {
  Tier1Buffers buffers;
  Tier1List list;
  uint32_t style;
};

/// Ends the open codewords of the blocks of a list, which computes the lengths of their passes.
/// This is a kernel of its own, because the lanes of a warp do it together in the time that one
/// lane takes alone.
///
/// Grid: x = blocks / kThreads. Block: a lane per code-block. Shared bytes: none. Barriers: none.
/// Global traffic: 32 bytes of state, 24 bytes per pass, the last bytes of the segment once per
/// pass.
struct Tier1Close {
  using Params = CloseParams;
  struct Smem {};
  static constexpr int kThreads = 64;
  static constexpr int kMinBlocks = 8;

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem&, const Params& p) {
    const uint32_t entry = t.block_x() * kThreads + t.thread();
    if (entry >= p.list.count()) return;
    const uint32_t block = t.gload_ro(p.list.blocks + entry);
    Tier1State* state = p.buffers.states + block;
    const StateHead head = load_head(t, state);
    if (head.open == 0 || head.stopped != 0) return;
    const uint32_t frame = block / p.buffers.num_blocks;
    const Tier1Job job = t.gload(p.buffers.job_of(block));
    Segments<DeviceStore<T>> segments(p.style, DeviceStore<T>(t, p.buffers, job, frame));
    segments.resume(head);
    if (head.finished != 0) {
      segments.finish();
      t.gstore(&state->open, 0);
    } else {
      segments.pause();
    }
    t.gstore(&state->num_bytes, segments.num_bytes());
  }
};

}  // namespace cj2k::cuda::tier1
