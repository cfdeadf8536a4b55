// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The launchers of sample_kernels.cuh, like those in kernels/: no CUDA types and no kernel code.
#pragma once

#include <cstdint>

#include "kernels/simt/device.h"

namespace cj2k::cuda::samples {

Status halve(simt::Stream& stream, const uint32_t* in, uint32_t* out, uint32_t count);
inline constexpr uint32_t kWarpCallsThreads = 128, kWarpCallsResults = 28;
Status warp_calls(simt::Stream& stream, const uint32_t* in, uint32_t* out);
Status warp_calls(simt::Stream& stream, const int32_t* in, int32_t* out);
Status warp_calls(simt::Stream& stream, const uint64_t* in, uint64_t* out);
inline constexpr uint32_t kBlockScanThreads = 256;
Status block_scan(simt::Stream& stream, const uint32_t* in, uint32_t* before, uint32_t* totals,
                  uint32_t* bits, uint32_t num_blocks);
inline constexpr uint32_t kAtomicsThreads = 96;
Status atomics(simt::Stream& stream, const uint32_t* in, uint32_t* out, uint32_t num_blocks);
Status atomics(simt::Stream& stream, const uint64_t* in, uint64_t* out, uint32_t num_blocks);
inline constexpr uint32_t kHandoverThreads = 128;
Status handover(simt::Stream& stream, const uint32_t* in, uint32_t* out, uint32_t rounds);
/// How FlagHandover waits. The last two are planted bugs.
enum class FlagWait {
  kEachLane,       ///< each lane acquires
  kOneLane,        ///< one lane acquires, then sync_warp
  kRelaxed,        ///< the flag is not released
  kOneLaneNoSync,  ///< one lane acquires, then a vote, which orders no memory
};
Status flag_handover(simt::Stream& stream, const uint32_t* in, uint32_t* out, FlagWait wait);
Status large_smem(simt::Stream& stream, const uint32_t* in, uint32_t* out, uint32_t count);

// The last arguments select a planted bug.
inline constexpr uint32_t kReverseThreads = 128;
Status reverse(simt::Stream& stream, const uint32_t* in, uint32_t* out, uint32_t num_blocks,
               bool barrier, bool checked);
/// What stands between store and load of WarpNeighbour.
enum class Between { kSyncWarp, kNothing, kShuffle };
Status warp_neighbour(simt::Stream& stream, uint32_t* out, Between between);
Status iota(simt::Stream& stream, uint32_t* out, uint32_t count, bool check);
inline constexpr uint32_t kHistogramThreads = 64;
Status histogram(simt::Stream& stream, const uint32_t* in, uint32_t* counts, uint32_t num_blocks,
                 bool atomic);
Status diverging(simt::Stream& stream, uint32_t* out, uint32_t how);
inline constexpr uint32_t kSpinThreads = 256;
Status spin(simt::Stream& stream, uint32_t* out, uint32_t num_blocks, uint32_t rounds,
            uint32_t what);

}  // namespace cj2k::cuda::samples
