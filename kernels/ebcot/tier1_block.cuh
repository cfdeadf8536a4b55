// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What the tier-1 kernels share: the coding state of a block, and lists of blocks by plane.
#pragma once

#include "core/ebcot/coding_passes.h"
#include "core/stop.h"
#include "kernels/ebcot/tier1_launch.h"
#include "kernels/simt/kernel.h"

namespace cj2k::cuda::tier1 {

/// Tier1State without the contexts: two accesses of 16 bytes move it.
struct alignas(16) StateHead {
  uint32_t a, c, ct;
  uint32_t bytes_written, closed_bytes;
  uint32_t num_bytes;
  uint8_t last, open, first_pass, num_passes;
  uint8_t paused, finished;
  uint8_t stopped, modelled;
};
static_assert(sizeof(StateHead) == offsetof(Tier1State, contexts));
static_assert(offsetof(StateHead, num_passes) == offsetof(Tier1State, num_passes));
static_assert(offsetof(StateHead, finished) == offsetof(Tier1State, finished));
static_assert(offsetof(StateHead, stopped) == offsetof(Tier1State, stopped));
static_assert(offsetof(StateHead, modelled) == offsetof(Tier1State, modelled));

/// Follows the last decision of a pass up to a multiple of 16, so that the MQ coder need not count.
/// Its context, which no decision has, is in a state that codes it without any effect.
inline constexpr mq::Symbol kIdleSymbol = mq::symbol(mq::kNumContexts, 0);

template <typename T>
CJ2K_KERNEL_FN StateHead load_head(T& t, const Tier1State* state) {
  return t.gload(reinterpret_cast<const StateHead*>(state));
}
template <typename T>
CJ2K_KERNEL_FN void store_head(T& t, Tier1State* state, const StateHead& head) {
  t.gstore(reinterpret_cast<StateHead*>(state), head);
}

template <typename T>
CJ2K_KERNEL_FN int bit_planes(T& t, const Tier1Buffers& buffers, uint32_t block) {
  return 32 - static_cast<int>(T::clz(t.gload_ro(buffers.planes.magnitudes + block)));
}

/// Number of planes that a block has left to code. The block must not be finished.
CJ2K_KERNEL_FN int planes_left(int bit_planes, int num_passes) {
  return bit_planes - num_planes_coded(num_passes);
}

/// The block of a list's entry.
struct ListedBlock {
  uint32_t number, frame;
  const Tier1Job* job;

  template <typename T>
  CJ2K_KERNEL_FN ListedBlock(T& t, const Tier1Buffers& buffers, const Tier1List& list,
                             uint32_t entry)
      : number(t.gload_ro(list.blocks + entry)),
        frame(number / buffers.num_blocks),
        job(buffers.job_of(number)) {}
};

/// Log-slope at which a block may pause; 0: none.
template <typename T>
CJ2K_KERNEL_FN uint16_t threshold_of(T& t, const Tier1Buffers& buffers, const Tier1Limits& stop,
                                     uint32_t block, uint32_t component, uint32_t orientation) {
  if (stop.thresholds == nullptr) return 0;
  const uint32_t frame = block / buffers.num_blocks;
  return pause_threshold(t.gload_ro(stop.thresholds + frame * CJ2K_MAX_COMPONENTS + component),
                         static_cast<Orientation>(orientation));
}
template <typename T>
CJ2K_KERNEL_FN uint16_t threshold_of(T& t, const Tier1Buffers& buffers, const Tier1Limits& stop,
                                     uint32_t block, const Tier1Job& job) {
  return threshold_of(t, buffers, stop, block, job.component, job.orientation);
}
template <typename T>
CJ2K_KERNEL_FN uint16_t threshold_of(T& t, const Tier1Buffers& buffers, const Tier1Limits& stop,
                                     uint32_t block, const Tier1Job* job) {
  return threshold_of(t, buffers, stop, block, t.gload_ro(&job->component),
                      t.gload_ro(&job->orientation));
}

/// The lowest plane of a block that a call codes.
template <typename T>
CJ2K_KERNEL_FN int last_plane_of(T& t, const Tier1Limits& stop, uint32_t block) {
  const uint32_t own = stop.last_planes == nullptr ? 0 : t.gload_ro(stop.last_planes + block);
  return static_cast<int>(own > stop.last_plane ? own : stop.last_plane);
}

/// Decides whether a call codes planes of a block.
/// @param plane  set to the block's next plane; valid with kCodes
template <typename T>
CJ2K_KERNEL_FN BlockStart start_of(T& t, const Tier1Buffers& buffers, const Tier1Limits& stop,
                                   uint32_t block, int bit_planes, int* plane) {
  const StateHead head = load_head(t, buffers.states + block);
  const int left = planes_left(bit_planes, head.num_passes);
  *plane = left - 1;
  const bool is_open = head.paused == 0 || stop.modelled != Tier1Limits::Modelled::kOpen;
  if (head.finished != 0 || head.stopped != 0 || !is_open) return BlockStart::kNothing;
  const auto out_of_reach = [&] {
    const Tier1Job* job = buffers.job_of(block);
    const uint16_t threshold = threshold_of(t, buffers, stop, block, job);
    return is_out_of_reach(t.gload_ro(&job->weight), left, threshold);
  };
  return block_start(left, head.num_passes, last_plane_of(t, stop, block), out_of_reach);
}

/// The plane at which a block starts or resumes in this call. -1: the call codes no plane of it;
/// then its state is set to finished or paused where it was not yet.
/// @param one_below  return the plane below stop.last_plane, too
template <typename T>
CJ2K_KERNEL_FN int start_plane(T& t, const Tier1Buffers& buffers, const Tier1Limits& stop,
                               uint32_t block, bool one_below = false) {
  const int planes = bit_planes(t, buffers, block);
  int plane;
  const BlockStart start = start_of(t, buffers, stop, block, planes, &plane);
  if (start == BlockStart::kCodes) return plane;
  Tier1State* state = buffers.states + block;
  if (planes == 0) t.gstore(&state->finished, 1);
  if (start != BlockStart::kPaused) return -1;
  t.gstore(&state->paused, 1);
  return one_below && plane + 1 == static_cast<int>(stop.last_plane) ? plane : -1;
}

CJ2K_KERNEL_FN uint32_t first_of(const PlaneLists& lists, uint32_t size) {
  return size == 0 ? lists.first_of[0] : size == 1 ? lists.first_of[1] : lists.first_of[2];
}

/// Appends the blocks of the lanes in the mask `among` to the list of a plane and size, in the
/// order of lanes. All lanes of the warp must call, with the same size and plane.
template <typename T>
CJ2K_KERNEL_FN void append(T& t, const PlaneLists& lists, uint32_t plane, uint32_t size,
                           uint32_t among, uint32_t block) {
  uint32_t at = 0;
  if (t.lane() == 0) {
    at = t.atomic_add(lists.counts + plane * kTier1Sizes + size, T::popcount(among));
  }
  at = t.shuffle(at, 0);
  if ((among >> t.lane() & 1) == 0) return;
  at += T::popcount(among & ((1u << t.lane()) - 1));
  t.gstore(lists.blocks + uint64_t{plane} * lists.stride + first_of(lists, size) + at, block);
}

/// The kernel of tier1_start.
///
/// Grid: x = blocks / kThreads. Block: a lane per code-block, warps independent.
/// Shared bytes: none. Barriers: none.
/// Global traffic: 40 bytes read per block, 8 or 12 written. A warp adds to up to three counters
///   for each plane at which its blocks start.
struct Tier1Start {
  using Params = StartParams;
  struct Smem {};
  static constexpr int kThreads = 256;
  static constexpr int kMinBlocks = 8;

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem&, const Params& p) {
    const uint32_t entry = t.block_x() * kThreads + t.thread();
    uint32_t block = 0;
    int plane = -1;
    if (entry < p.list.count()) {
      block = t.gload_ro(p.list.blocks + entry);
      plane = start_plane(t, p.buffers, p.stop, block, p.by_plane);
    }
    const uint32_t* counts = p.list.counts;
    const uint32_t size = entry < counts[0] ? 0 : entry < counts[0] + counts[1] ? 1 : 2;
    const uint32_t key = static_cast<uint32_t>(plane) * kTier1Sizes + size;
    const uint32_t last = p.stop.last_plane;
    const uint32_t last_modelled = p.by_plane && last > 0 ? last - 1 : last;
    uint32_t rest = t.ballot(plane >= 0);
    while (rest != 0) {
      const uint32_t group = t.shuffle(key, T::ctz(rest));
      const uint32_t among = t.ballot((rest >> t.lane() & 1) != 0 && key == group);
      const uint32_t group_plane = group / kTier1Sizes, group_size = group % kTier1Sizes;
      const bool is_coded = group_plane >= last;
      if (is_coded) append(t, p.to_code, group_plane, group_size, among, block);
      if (!p.by_plane || !is_coded) {
        append(t, p.to_model, group_plane, group_size, among, block);
      }
      if (group_plane > last_modelled) {
        append(t, p.to_model, group_plane - 1, group_size, among, block);
      }
      rest &= ~among;
    }
  }
};

}  // namespace cj2k::cuda::tier1
