// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The kernels of resume.h.
#pragma once

#include "core/stop.h"
#include "kernels/ebcot/tier1.h"
#include "kernels/rate/resume.h"
#include "kernels/simt/block.h"
#include "kernels/simt/kernel.h"

namespace cj2k::cuda::resume {

struct ResumeParams {
  Tier1Buffers buffers;
  uint32_t num_components;
  Tier1Output output;
  ResumeOutput resume;
  bool releases;  ///< Tier1State::stopped of all blocks becomes 0, and nothing else is done
};

/// Marks the blocks that resume. A paused block resumes at the thresholds that it reaches
/// (`reach`), which are lowered as often as the first block needs, if a block reaches where the caps
/// were used up (core/stop.h).
///
/// Grid: x = frames. Block: each thread takes one block after the other, twice.
/// Shared bytes: 136. Barriers: 7.
/// Global traffic: about 110 bytes per block, of which 1 or 2 are written.
struct Resume {
  using Params = ResumeParams;
  static constexpr int kThreads = 1024;
  static constexpr int kMinBlocks = 1;
  struct Smem {
    simt::BlockScratch<uint32_t, kThreads> scratch;
    uint16_t next[CJ2K_MAX_COMPONENTS];
  };

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem& s, const Params& p) {
    const uint32_t frame = t.block_x();
    if ((p.resume.frames >> frame & 1) == 0) {
      if (!p.releases && t.thread() == 0) t.gstore(&p.resume.outcomes[frame].num_resumed, 0);
      return;
    }
    if (p.releases) {
      Tier1State* const states = p.buffers.states + uint64_t{frame} * p.buffers.num_blocks;
      for (uint32_t b = t.thread(); b < p.buffers.num_blocks; b += kThreads) {
        t.gstore(&states[b].stopped, 0);
      }
      return;
    }
    RateOutcome* const outcome = p.resume.outcomes + frame;
    const bool is_allocated = t.gload(&outcome->flags) == 0;
    const uint16_t* thresholds = p.resume.thresholds + frame * CJ2K_MAX_COMPONENTS;
    const uint32_t lower = static_cast<uint32_t>(resume_step(t.gload(&outcome->unused_cap_steps)));
    uint32_t steps = kNever;
    bool begins = false;  // a block of this thread begins a round
    for_blocks(t, p, frame, [&](uint32_t number, uint32_t component, uint32_t reach) {
      if (p.resume.paused_passes != nullptr) {
        t.gstore(p.resume.paused_passes + number, t.gload(&p.output.results[number].num_passes));
      }
      if (!is_allocated) return;
      const uint32_t exhausted = t.gload(&outcome->exhausted[component]);
      if (reach == kNever) return;
      const uint32_t needed =
          times_to_resume(t.gload(thresholds + component), exhausted, lower, reach);
      begins |= reach >= exhausted;
      if (needed < steps) steps = needed;
    });
    // The maximum of what is left is the minimum of the steps.
    steps = kNever - simt::block_reduce(t, s.scratch, kNever - steps, simt::op::Max{});
    if (simt::block_reduce_or(t, s.scratch, begins ? 1 : 0) == 0) steps = kNever;
    if (t.thread() < CJ2K_MAX_COMPONENTS) {
      const uint32_t c = t.thread();
      uint16_t next = t.gload(thresholds + c);
      if (steps != kNever && c < p.num_components) {
        next = lowered_threshold(next, t.gload(&outcome->exhausted[c]), lower, steps);
      }
      t.sstore(s.next[c], next);
      t.gstore(p.resume.next + frame * CJ2K_MAX_COMPONENTS + c, next);
    }
    t.sync();
    uint32_t open = 0;
    for_blocks(t, p, frame, [&](uint32_t number, uint32_t component, uint32_t reach) {
      const bool resumes =
          steps != kNever && reach != kNever && reach >= t.sload(s.next[component]);
      t.gstore(&p.buffers.states[number].stopped, resumes ? 0 : 1);
      open += resumes;
    });
    open = simt::block_reduce_add(t, s.scratch, open);
    if (t.thread() == 0) t.gstore(&outcome->num_resumed, open);
  }

 private:
  static constexpr uint32_t kNever = kNeverResumes;

  /// Calls work(number, component, reach) for the blocks of a frame.
  /// reach: the highest threshold at which the block resumes; kNever: at none, it is finished
  template <typename T, typename Work>
  CJ2K_KERNEL_FN static void for_blocks(T& t, const Params& p, uint32_t frame, const Work& work) {
    for (uint32_t b = t.thread(); b < p.buffers.num_blocks; b += kThreads) {
      const uint32_t number = frame * p.buffers.num_blocks + b;
      const Tier1Result* result = p.output.results + number;
      const Tier1Job* job = p.buffers.jobs + b;
      uint32_t reach = kNever;
      const uint8_t planes = t.gload(&result->planes_left);
      if (planes > 0) {
        const HullPoint* const hull = p.output.hull + t.gload(&result->first_hull);
        const auto point = [&](int i) { return t.gload(hull + i); };
        const int points = t.gload(&result->num_hull);
        double left = t.gload(&result->total_distortion) + t.gload(&result->left_distortion);
        if (points > 0) left -= t.gload(&hull[points - 1].distortion);
        reach = slope_left(point, points, left, t.gload_ro(&job->weight), planes);
      }
      work(number, t.gload_ro(&job->component), reach);
    }
  }
};

}  // namespace cj2k::cuda::resume
