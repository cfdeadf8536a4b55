// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Context modelling without MQ coding: a kernel that writes the decisions to global memory. The
// classic and the CIBO form use it.
#pragma once

#include "core/ebcot/expected_pause.h"
#include "kernels/ebcot/tier1_block.cuh"
#include "kernels/ebcot/tier1_launch.h"
#include "kernels/ebcot/tier1_modeller.cuh"
#include "kernels/simt/kernel.h"

namespace cj2k::cuda::tier1 {

/// Models blocks of one size: all planes that they have left, or those that are expected to be coded
/// (classic), or one plane (CIBO).
///
/// Grid: x = maximum number of blocks / kGroups. Where the device counts the list, thread blocks
///   beyond the count return at once. The kernel is not persistent, because the MQ coder of the
///   plane before shares the multiprocessors and must find room on them.
/// Block: kGroups code-blocks of kWarps warps each, a thread per cell.
///   kWarps = 1:  32 cells (32x32, 64x16), 4 code-blocks
///   kWarps = 4: 128 cells (64x64, 1024x4)
///   kWarps = 8: 256 cells (4x1024)
/// Shared bytes: 15,360, 14,976 and 16,576: three states of all cells with padding, and the
///   decisions of one plane, 2.5 per sample.
/// Global traffic: reads the signs and each plane once, 4 bytes per thread, adjacent over a warp.
///   In CIBO all planes above the plane are read, too, for the significance. For the distortions
///   all planes below each plane are read once more, most of them from the caches. Writes the
///   decisions, 16 bytes per thread, and 16 bytes per pass.
/// Barriers: per plane 3, plus those of 3 scans and 6 sums, plus one and a vote for each step in
///   which N grows (2 to 4 steps are typical). With kWarps = 1 all barriers are of one warp.
template <uint32_t kWarps>
struct Tier1Model {
  using Params = ModelParams;
  static constexpr uint32_t kGroups = kWarps == 1 ? 4 : 1;
  static constexpr int kThreads = static_cast<int>(kWarps * 32 * kGroups);
  static constexpr int kMinBlocks = kWarps == 8 ? 3 : 8;
  /// Room for the decisions of a plane (see tier1_symbol_capacity); each pass starts at a multiple
  /// of 16.
  static constexpr uint32_t kStagedBytes = model_samples(kWarps) / 2 * 5 + 64;

  struct BlockSmem {
    alignas(16) uint8_t symbols[kStagedBytes];
    ModelScratch<kWarps> model;
  };
  struct Smem {
    BlockSmem groups[kGroups];
  };

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem& smem, const Params& p) {
    const uint32_t group = kWarps == 1 ? t.warp() : 0;
    const uint32_t entry = entry_of(t);
    const uint32_t count = p.device_count == nullptr ? p.count : t.gload_ro(p.device_count);
    if (entry >= count) return;
    const uint32_t block = t.gload_ro(p.blocks + entry);
    const Tier1Job job = t.gload(p.buffers.job_of(block));
    const uint32_t frame = block / p.buffers.num_blocks;
    const int planes = bit_planes(t, p.buffers, block);
    int plane = p.plane, last_plane = p.plane;
    uint32_t first = 0;
    if (plane == kPlanesLeft) {
      if (start_of(t, p.buffers, p.stop, block, planes, &plane) != BlockStart::kCodes) plane = -1;
      last_plane = static_cast<int>(p.stop.last_plane);
      if (plane >= last_plane && ModelGroup<T>(t, smem.groups[group].model.group).thread() == 0) {
        t.gstore(&p.buffers.states[block].modelled, static_cast<uint8_t>(last_plane));
      }
    } else if ((plane & 1) != 0) {
      first = static_cast<uint32_t>(tier1_symbol_capacity(job.width, job.height, 1));
    }
    StagedSink<T> sink{t,
                       smem.groups[group],
                       p.buffers.symbols + frame * p.buffers.frame_symbols + job.symbols_offset,
                       p.buffers.pass_symbols + uint64_t{frame} * p.buffers.frame_passes +
                           job.first_pass +
                           static_cast<uint32_t>(num_passes_of(planes - 1 - plane)),
                       p,
                       first};
    Modeller<T, ModelGroup<T>, kWarps, StagedSink<T>>(t, smem.groups[group].model, p.buffers, job,
                                                      block, p.style, p.reversible, sink)
        .planes(plane, last_plane);
  }

 private:
  template <typename T>
  CJ2K_KERNEL_FN static uint32_t entry_of(T& t) {
    return t.block_x() * kGroups + (kWarps == 1 ? t.warp() : 0);
  }

  template <typename T>
  using ModelGroup = Group<T, kWarps, true>;

  /// The Sink of the Modeller: collects the decisions of a plane in shared memory and then copies
  /// them to global memory.
  template <typename T>
  struct StagedSink {
    T& t;
    BlockSmem& smem;
    uint8_t* symbols;
    PassSymbols* pass;
    const Params& p;
    uint32_t cursor;      ///< where the plane begins in `symbols`, in bytes
    uint32_t staged = 0;  ///< bytes of the plane in shared memory

    CJ2K_KERNEL_FN uint8_t* place(uint32_t) { return smem.symbols + staged; }
    CJ2K_KERNEL_FN void publish(uint32_t count, int64_t distortion, int plane) {
      if (ModelGroup<T>(t, smem.model.group).thread() == 0) {
        t.gstore(pass, PassSymbols{cursor + staged, static_cast<uint16_t>(count),
                                   static_cast<uint16_t>(plane), distortion});
      }
      ++pass;
      staged += (count + 15) / 16 * 16;
    }
    CJ2K_KERNEL_FN void end_plane() {
      ModelGroup<T> group(t, smem.model.group);
      group.sync();
      const auto* from = reinterpret_cast<const simt::U32x4*>(smem.symbols);
      auto* to = reinterpret_cast<simt::U32x4*>(symbols + cursor);
      for (uint32_t i = group.thread(); i < staged / 16; i += ModelGroup<T>::kThreads) {
        t.gstore(to + i, t.sload(from[i]));
      }
      cursor += staged;
      staged = 0;
      group.sync();
    }
    CJ2K_KERNEL_FN bool goes_on(int plane) {
      // With eight warps there are no registers for it.
      if (kWarps == 8 || p.stop.modelled != Tier1Limits::Modelled::kExpected) return true;
      ModelGroup<T> group(t, smem.model.group);
      const bool is_first = group.thread() == 0;
      if (!group.any(is_first && expects_pause(plane))) return true;
      if (is_first) t.gstore(&p.buffers.states[block()].modelled, static_cast<uint8_t>(plane));
      return false;
    }
    /// Read again, which takes no register meanwhile.
    CJ2K_KERNEL_FN uint32_t block() const { return t.gload_ro(p.blocks + entry_of(t)); }
    /// Whether the block is expected to pause after a plane whose passes this thread has published.
    CJ2K_KERNEL_FN bool expects_pause(int plane) {
      const uint32_t number = block();
      const Tier1Job* job = p.buffers.job_of(number);
      ExpectedPause expected(t.gload_ro(&job->weight),
                             threshold_of(t, p.buffers, p.stop, number, job));
      // The highest plane has a clean-up pass alone.
      const int first = plane + 1 == bit_planes(t, p.buffers, number) ? 2 : 0;
      bool pauses = false;
      for (int i = first; i < 3; ++i) {
        const PassSymbols made = t.gload(pass - 3 + i);
        pauses = expected.add(i == 0   ? PassKind::kSignificance
                              : i == 1 ? PassKind::kRefinement
                                       : PassKind::kCleanup,
                              made.count, made.distortion, plane);
      }
      return pauses;
    }
  };
};

}  // namespace cj2k::cuda::tier1
