// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What the host learns when a frame is allocated: the points of each block, and the bytes. And the
// kernel itself.
#pragma once

#include "core/ht/plane_choice.h"
#include "kernels/rate/allocate.cuh"

namespace cj2k::cuda::rate {

template <typename T, bool kHt>
class FrameEnd {
 public:
  CJ2K_KERNEL_FN FrameEnd(T& t, AllocateSmem& s, const AllocateParams& p, uint32_t frame,
                          FrameRateControl<T, kHt>& control)
      : t_(t), s_(s), p_(p), frame_(frame), control_(control), m_(control.memory()) {}

  CJ2K_KERNEL_FN void run() {
    store_chosen();
    if constexpr (kHt) count_choices();
    const uint16_t unused = unused_cap_steps();
    store_bytes();
    if (t_.thread() != 0) return;
    RateOutcome* const out = outcome();
    uint16_t threshold = kMaxSlope;
    for (uint32_t c = 0; c < p_.plan.num_components; ++c) {
      const uint16_t exhausted = t_.sload(s_.exhausted[c]);
      threshold = exhausted < threshold ? exhausted : threshold;
    }
    t_.gstore(&out->threshold, threshold);
    t_.gstore(&out->unused_cap_steps, unused);
    t_.gstore(&out->flags, t_.sload(s_.flags));
    t_.gstore(&out->num_resumed, 0);
    t_.gstore(&out->long_block, t_.sload(s_.long_block));
    t_.gstore(&out->rounds, p_.again ? t_.gload(&out->rounds) + 1 : 1);
  }

 private:
  CJ2K_KERNEL_FN RateOutcome* outcome() const { return p_.output.outcomes + frame_; }

  CJ2K_KERNEL_FN void store_chosen() {
    const uint64_t first = uint64_t{frame_} * p_.plan.num_blocks;
    for (uint32_t b = t_.thread(); b < p_.plan.num_blocks; b += kRateThreads) {
      const Tier1Result result = t_.gload(p_.input.results + first + b);
      const RateBlock block = t_.gload_ro(p_.plan.blocks + b);
      const BlockRecord record = t_.gload(m_.blocks() + b);
      ChosenBlock chosen{};
      chosen.points = static_cast<uint8_t>(record.points);
      if constexpr (!kHt)
        chosen.zero_bit_planes = static_cast<uint8_t>(block.planes - result.bit_planes);
      chosen.planes_left = result.planes_left;
      if (record.points > 0) {
        const HullPoint point = t_.gload(p_.input.hull + record.first_hull + record.points - 1);
        chosen.distortion = point.distortion;
        chosen.length_bytes = point.length_bytes;
        chosen.passes = static_cast<uint8_t>(point.passes);
        if constexpr (kHt) chosen.zero_bit_planes = t_.gload(&code_of(record)->zero_bit_planes);
      }
      t_.gstore(p_.output.chosen + first + b, chosen);
      // HT segments have room for the worst case.
      if constexpr (!kHt) {
        if (result.num_bytes > t_.gload(&p_.plan.jobs[b].bytes_capacity)) {
          t_.atomic_or(&s_.flags, kRateLongBlock);
          t_.atomic_min(&s_.long_block, b);
        }
      }
    }
    t_.sync();
  }
  CJ2K_KERNEL_FN const HtPointCode* code_of(const BlockRecord& record) const {
    return p_.input.codes + record.first_hull + record.points - 1;
  }

  /// HtChoices::add for all blocks.
  CJ2K_KERNEL_FN void count_choices() {
    const double* const weights = p_.input.weights + uint64_t{frame_} * p_.plan.num_blocks;
    uint32_t choices = 0, far = 0;
    for (uint32_t b = t_.thread(); b < p_.plan.num_blocks; b += kRateThreads) {
      const RateBlock block = t_.gload_ro(p_.plan.blocks + b);
      const BlockRecord record = t_.gload(m_.blocks() + b);
      if (record.points == 0 || block.is_ll) continue;
      const int plane = t_.gload(&code_of(record)->plane);
      const int planes = plane + 1 + t_.gload(&code_of(record)->zero_bit_planes);
      ++choices;
      far += is_far_ht_plane(t_.gload(weights + b), t_.sload(s_.exhausted[block.component]), planes,
                             plane)
                 ? 1
                 : 0;
    }
    choices = simt::block_reduce_add(t_, s_.narrow, choices);
    far = simt::block_reduce_add(t_, s_.narrow, far);
    if (t_.thread() != 0) return;
    t_.gstore(&outcome()->num_choices, choices);
    t_.gstore(&outcome()->num_far, far);
  }

  CJ2K_KERNEL_FN uint16_t unused_cap_steps() {
    const FrameRate& rate = control_.rate();
    uint64_t cap = rate.frame_bytes;
    if (cap == kNoTarget) {
      if (rate.component_bytes == kNoTarget) return 0;
      cap = rate.component_bytes * p_.plan.num_components;
    }
    return unused_steps(cap, control_.measured_bytes(control_.scope_of(p_.plan.num_components, 0)));
  }

  CJ2K_KERNEL_FN void store_bytes() {
    const uint32_t c = t_.thread();
    if (c >= CJ2K_MAX_COMPONENTS) return;
    const bool is_there = c < p_.plan.num_components;
    t_.gstore(&outcome()->header_bytes[c], is_there ? t_.sload(s_.measured.header[c]) : 0);
    t_.gstore(&outcome()->body_bytes[c], is_there ? t_.sload(s_.measured.body[c]) : 0);
    t_.gstore(&outcome()->exhausted[c], is_there ? t_.sload(s_.exhausted[c]) : uint16_t{0});
  }

  T& t_;
  AllocateSmem& s_;
  const AllocateParams& p_;
  const uint32_t frame_;
  FrameRateControl<T, kHt>& control_;
  const FrameMemory m_;
};

/// The kernel of allocate_rate, for EBCOT and for HT.
///
/// Grid: x = frames. Block: one frame.
/// A GOP waits for it, so it takes all threads of a multiprocessor. For that the state of the search,
///   168 bytes which are the same in all threads, is in local memory while precincts are measured.
/// Shared bytes: 35 KB. Barriers: some hundreds for each measurement and search step.
/// Global traffic: the hull points within the limits once or twice, 16 bytes each, or without a cap
///   the last one of each block; 48 bytes of each block; for each measurement 16 bytes of each block
///   in a precinct that has changed. With HT 16 bytes more of each hull point.
template <bool kHt>
struct Allocate {
  using Params = AllocateParams;
  using Smem = AllocateSmem;
  static constexpr int kThreads = kRateThreads;
  static constexpr int kMinBlocks = 1;

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem& s, const Params& p) {
    const uint32_t frame = t.block_x();
    if ((p.rates.frames >> frame & 1) == 0 || (p.again && !has_resumed(t, p, frame))) return;
    if (t.thread() == 0) {
      t.sstore(s.flags, 0);
      t.sstore(s.long_block, UINT32_MAX);
    }
    t.sync();
    FrameRateControl<T, kHt> control(t, s, p, frame);
    control.allocate();
    FrameEnd<T, kHt>(t, s, p, frame, control).run();
  }

 private:
  template <typename T>
  CJ2K_KERNEL_FN static bool has_resumed(T& t, const Params& p, uint32_t frame) {
    const uint32_t blocks = t.gload(&p.output.outcomes[frame].num_resumed);
    t.sync();  // all have read it
    return blocks > 0;
  }
};

}  // namespace cj2k::cuda::rate
