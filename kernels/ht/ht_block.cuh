// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "kernels/ht/ht_choose.cuh"
#include "kernels/ht/ht_cleanup.cuh"
#include "kernels/ht/ht_rdoq.cuh"
#include "kernels/ht/ht_refinement.cuh"

namespace cj2k::cuda::ht {

/// The largest coefficient of each block.
///
/// Grid: x = blocks / warps per thread block, y = frame. Block: a warp per block, warps independent.
/// Shared bytes: none. Barriers: none.
/// Global traffic: reads each coefficient once, 16 bytes at a time where aligned.
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
/// Grid: x = most tasks / warps per thread block. Block: a warp per task, warps independent. Warps
///   behind the last task end at once.
/// Shared bytes: 8.7 KB per warp, 6.7 KB without refinement. Barriers: none but those of a warp.
/// Global traffic: reads each coefficient once, with refinement nearly twice; writes the segments.
/// @tparam kMayChange  HtWork::changes
template <bool kReversible, bool kRefine, bool kMayChange = false>
struct Encode {
  using Block = BlockReader<kReversible, kMayChange>;
  struct Params {
    Source source;
    const uint16_t* table;
    HtWork work;
    uint8_t* bytes;
    HtResult* results;
  };
  static constexpr int kThreads = 128;
  static constexpr int kMinBlocks = kMayChange ? 5 : 6;
  struct Smem {
    WarpMemory<kRefine> warps[kThreads / 32];
  };

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem& s, const Params& p) {
    const uint32_t entry = task_at(t, p.work, t.block_x() * (kThreads / 32) + t.warp());
    if (entry == kNoTask) return;
    WarpMemory<kRefine>& memory = s.warps[t.warp()];
    const HtTask task = t.gload(p.work.tasks + entry);
    const Block block = read_block<kReversible, kMayChange>(t, p.source, task, p.work.changes);
    HtResult* const to = p.results + entry;
    if (task.passes == 0) {
      count(t, block, task, to);
      return;
    }
    uint8_t* const cleanup_bytes = p.bytes + task.cleanup;
    Cleanup<T, Block, kRefine> cleanup(t, memory, block, task, p.table, cleanup_bytes);
    const uint32_t num_bytes = cleanup.run();
    if (!kRefine || !task.is_counted) {
      const uint64_t left = cleanup.left(), total_left = cleanup.total_left();
      if (t.lane() == 0) {
        t.gstore(&to->left, left);
        t.gstore(&to->total_left, total_left);
      }
    }
    if (t.lane() == 0) {
      t.gstore(&to->cleanup_bytes, num_bytes);
      t.gstore(&to->significant, static_cast<uint16_t>(cleanup.significant()));
      t.gstore(&to->passes, task.passes);
    }
    Refinement refinement{};
    if constexpr (kRefine) {
      if (task.passes > 1) {
        t.sync_warp();
        Refiner<T, Block> refiner(t, memory, block, task, p.work.causal);
        refinement = refiner.run(cleanup_bytes + task.rest, cleanup_bytes + task.both);
      }
    }
    if (t.lane() == 0) {
      t.gstore(&to->sig_prop_distortion, refinement.sig_prop_distortion);
      t.gstore(&to->mag_ref_distortion, refinement.mag_ref_distortion);
      t.gstore(&to->sig_prop_bytes, refinement.sig_prop_bytes);
      t.gstore(&to->both_bytes, refinement.both_bytes);
      t.gstore(&to->sig_prop_last, static_cast<uint8_t>(refinement.sig_prop_last));
    }
  }

 private:
  static constexpr uint32_t kNoTask = UINT32_MAX;
  /// The task of a warp.
  template <typename T>
  CJ2K_KERNEL_FN static uint32_t task_at(T& t, const HtWork& work, uint32_t at) {
    if constexpr (kRefine) {
      if (work.lists.tasks != nullptr) {
        const auto counts = t.gload(reinterpret_cast<const simt::U32x4*>(work.lists.counts));
        const uint32_t of_kind[kHtKinds] = {counts.x, counts.y, counts.z, counts.w};
        // The longest first.
        CJ2K_UNROLL
        for (uint32_t k = kHtKinds; k-- > 0;) {
          if (at < of_kind[k])
            return t.gload(work.lists.tasks + uint64_t{k} * work.lists.capacity + at);
          at -= of_kind[k];
        }
        return kNoTask;
      }
    }
    return at < t.gload(work.num_tasks) ? at : kNoTask;
  }
  /// What HtResult has of a block that is not coded.
  template <typename T>
  CJ2K_KERNEL_FN static void count(T& t, const Block& block, const HtTask& task, HtResult* to) {
    HtResult result{};
    // Without loss, each plane is coded.
    if (!kRefine || task.plane == kHtNoPlane) {
      result.total_left = BlockSums<0>(t, block, 0, task.bit_planes).total;
    } else {
      const BlockSums<1, !kReversible> sums(t, block, task.plane, task.bit_planes);
      result.significant = static_cast<uint16_t>(sums.significant[0]);
      result.left = sums.left[0];
      result.total_left = sums.total;
      result.sig_prop_bytes = sums.near_half;
      result.both_bytes = sums.near_middle;
    }
    if (t.lane() == 0) t.gstore(to, result);
  }
};

}  // namespace cj2k::cuda::ht
