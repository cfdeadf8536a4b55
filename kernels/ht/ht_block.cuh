// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "kernels/ht/ht_cleanup.cuh"
#include "kernels/ht/ht_refinement.cuh"

namespace cj2k::cuda::ht {

/// The largest coefficient of each block.
///
/// Grid: x = blocks / warps per thread block, y = frame. Block: a warp per block, warps independent.
/// Shared bytes: none. Barriers: none.
/// Global traffic: reads each coefficient once, 16 bytes at a time where aligned.
/// Not tuned: no GPU was available when it was written.
template <bool kReversible>
struct Peaks {
  struct Params {
    const QuantizeJob* jobs;
    uint32_t num_blocks;
    const uint32_t* samples;
    uint64_t frame_samples;
    uint32_t* peaks;
  };
  struct Smem {};
  static constexpr int kThreads = 128;
  static constexpr int kMinBlocks = 16;

  CJ2K_KERNEL_FN static uint32_t size(uint32_t bits) {
    if constexpr (kReversible) {
      const auto c = static_cast<int32_t>(bits);
      return static_cast<uint32_t>(c < 0 ? -c : c);
    } else {
      return bits & 0x7FFFFFFFu;
    }
  }
  CJ2K_KERNEL_FN static uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem&, const Params& p) {
    const uint32_t index = t.block_x() * (kThreads / 32) + t.warp();
    if (index >= p.num_blocks) return;
    const QuantizeJob job = t.gload(p.jobs + index);
    const uint32_t* source = p.samples + t.block_y() * p.frame_samples + job.source;
    const bool aligned = ((job.source | job.stride) & 3) == 0;
    const uint32_t wide = (job.width + 3u) / 4, num_groups = wide * job.height;
    PairPlace place(t.lane(), wide);
    uint32_t peak = 0;
    for (; place.index < num_groups; place.step()) {
      const uint32_t* from = source + uint64_t{place.y} * job.stride + 4 * place.x;
      const uint32_t count = job.width - 4 * place.x;
      if (aligned && count >= 4) {
        const simt::U32x4 v = t.gload_ro(reinterpret_cast<const simt::U32x4*>(from));
        peak = larger(peak, larger(larger(size(v.x), size(v.y)), larger(size(v.z), size(v.w))));
      } else {
        for (uint32_t i = 0; i < count && i < 4; ++i)
          peak = larger(peak, size(t.gload_ro(from + i)));
      }
    }
    peak = t.warp_reduce_max(peak);
    if (t.lane() == 0) t.gstore(p.peaks + uint64_t{t.block_y()} * p.num_blocks + index, peak);
  }
};

/// The passes of a block at a cleanup plane.
///
/// Grid: x = tasks / warps per thread block. Block: a warp per task, warps independent.
/// Shared bytes: 8.7 KB per warp, 6.7 KB without refinement. Barriers: none but those of a warp.
/// Global traffic: reads each coefficient once, with refinement nearly twice; writes the segments.
/// Not tuned: no GPU was available when it was written.
template <bool kReversible, bool kRefine>
struct Encode {
  struct Params {
    const QuantizeJob* jobs;
    uint32_t num_blocks;
    const uint32_t* samples;
    uint64_t frame_samples;
    const uint16_t* table;
    const HtTask* tasks;
    uint32_t count;
    bool causal;
    uint8_t* bytes;
    HtResult* results;
  };
  static constexpr int kThreads = 128;
  static constexpr int kMinBlocks = kRefine ? 4 : 6;
  struct Smem {
    WarpMemory<kRefine> warps[kThreads / 32];
  };

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem& s, const Params& p) {
    const uint32_t entry = t.block_x() * (kThreads / 32) + t.warp();
    if (entry >= p.count) return;
    WarpMemory<kRefine>& memory = s.warps[t.warp()];
    const HtTask task = t.gload(p.tasks + entry);
    const QuantizeJob job = t.gload(p.jobs + task.block % p.num_blocks);
    const uint32_t frame = task.block / p.num_blocks;
    const uint32_t max_magnitude = (1u << task.max_bit_planes) - 1;
    const BlockReader<kReversible> block{p.samples + frame * p.frame_samples + job.source,
                                         job.stride,
                                         job.width,
                                         job.height,
                                         max_magnitude,
                                         task.inverse_step,
                                         quantizer_limit(max_magnitude),
                                         ((job.source | job.stride) & 3) == 0};
    HtResult result{};
    if (task.passes == 0) {
      count(t, block, task, result);
      if (t.lane() == 0) t.gstore(p.results + entry, result);
      return;
    }
    uint8_t* const cleanup_bytes = p.bytes + task.cleanup;
    Cleanup<T, kReversible, kRefine> cleanup(t, memory, block, task, p.table, cleanup_bytes);
    result.cleanup_bytes = cleanup.run();
    result.significant = static_cast<uint16_t>(t.warp_reduce_add(cleanup.significant()));
    result.left = t.warp_reduce_add(uint64_t{cleanup.left()});
    result.total_left = t.warp_reduce_add(uint64_t{cleanup.total_left()});
    if constexpr (kRefine) {
      if (task.passes > 1) {
        t.sync_warp();
        Refiner<T, kReversible> refiner(t, memory, block, task, p.causal);
        const Refinement refinement =
            refiner.run(cleanup_bytes + task.rest, cleanup_bytes + task.both);
        result.sig_prop_bytes = refinement.sig_prop_bytes;
        result.both_bytes = refinement.both_bytes;
        result.sig_prop_last = static_cast<uint16_t>(refinement.sig_prop_last);
        result.sig_prop_distortion = refinement.sig_prop_distortion;
        result.mag_ref_distortion = refinement.mag_ref_distortion;
      }
    }
    if (t.lane() == 0) t.gstore(p.results + entry, result);
  }

  /// What HtResult has of a block that is not coded.
  template <typename T>
  CJ2K_KERNEL_FN static void count(T& t, const BlockReader<kReversible>& block, const HtTask& task,
                                   HtResult& result) {
    const bool has_plane = task.plane != kHtNoPlane;
    const int plane = has_plane ? task.plane : 0;
    const LeftPlanes left(plane, kReversible), total(task.bit_planes, kReversible);
    const uint32_t pairs_wide = (block.width + 3) / 4;
    const uint32_t num_pairs = pairs_wide * ((block.height + 1) / 2);
    uint32_t significant = 0, left_sum = 0, total_sum = 0;
    PairPlace place(t.lane(), pairs_wide);
    for (uint32_t pair = t.lane(); pair < num_pairs; pair += 32, place.step()) {
      uint32_t value[8];
      block.read(t, place.x, place.y, value);
      CJ2K_UNROLL
      for (uint32_t i = 0; i < 8; ++i) {
        if (!block.has(place, i)) continue;
        const uint32_t magnitude = value[i] & 0x7FFFFFFFu;
        significant += magnitude >> plane != 0 ? 1 : 0;
        left_sum += plane > 0 ? left.term(value[i]) : magnitude == 0 ? 1 : 0;
        total_sum += total.term(value[i]);
      }
    }
    if (has_plane) {
      result.significant = static_cast<uint16_t>(t.warp_reduce_add(significant));
      result.left = t.warp_reduce_add(uint64_t{left_sum});
    }
    if (task.bit_planes > 0) result.total_left = t.warp_reduce_add(uint64_t{total_sum});
  }
};

}  // namespace cj2k::cuda::ht
