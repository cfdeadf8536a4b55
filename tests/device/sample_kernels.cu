// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/simt/launch.h"
#include "sample_kernels.cuh"
#include "sample_kernels.h"

CJ2K_KERNEL(sample_halve, cj2k::cuda::samples::Halve)
CJ2K_KERNEL(sample_warp_u32, cj2k::cuda::samples::WarpCalls<uint32_t>)
CJ2K_KERNEL(sample_warp_i32, cj2k::cuda::samples::WarpCalls<int32_t>)
CJ2K_KERNEL(sample_warp_u64, cj2k::cuda::samples::WarpCalls<uint64_t>)
CJ2K_KERNEL(sample_block_scan, cj2k::cuda::samples::BlockScan)
CJ2K_KERNEL(sample_atomics_u32, cj2k::cuda::samples::Atomics<uint32_t>)
CJ2K_KERNEL(sample_atomics_u64, cj2k::cuda::samples::Atomics<uint64_t>)
CJ2K_KERNEL(sample_handover, cj2k::cuda::samples::Handover)
CJ2K_KERNEL(sample_flag_handover,
            cj2k::cuda::samples::FlagHandover<cj2k::cuda::samples::FlagWait::kEachLane>)
CJ2K_KERNEL(sample_flag_handover_one,
            cj2k::cuda::samples::FlagHandover<cj2k::cuda::samples::FlagWait::kOneLane>)
CJ2K_KERNEL(sample_flag_handover_bug,
            cj2k::cuda::samples::FlagHandover<cj2k::cuda::samples::FlagWait::kRelaxed>)
CJ2K_KERNEL(sample_flag_handover_one_bug,
            cj2k::cuda::samples::FlagHandover<cj2k::cuda::samples::FlagWait::kOneLaneNoSync>)
CJ2K_KERNEL(sample_large_smem, cj2k::cuda::samples::LargeSmem)
CJ2K_KERNEL(sample_reverse, cj2k::cuda::samples::Reverse<true, true>)
CJ2K_KERNEL(sample_reverse_bug, cj2k::cuda::samples::Reverse<false, true>)
CJ2K_KERNEL(sample_reverse_plain, cj2k::cuda::samples::Reverse<true, false>)
CJ2K_KERNEL(sample_reverse_plain_bug, cj2k::cuda::samples::Reverse<false, false>)
CJ2K_KERNEL(sample_warp_neighbour,
            cj2k::cuda::samples::WarpNeighbour<cj2k::cuda::samples::Between::kSyncWarp>)
CJ2K_KERNEL(sample_warp_neighbour_bug,
            cj2k::cuda::samples::WarpNeighbour<cj2k::cuda::samples::Between::kNothing>)
CJ2K_KERNEL(sample_warp_neighbour_shuffle,
            cj2k::cuda::samples::WarpNeighbour<cj2k::cuda::samples::Between::kShuffle>)
CJ2K_KERNEL(sample_iota, cj2k::cuda::samples::Iota<true>)
CJ2K_KERNEL(sample_iota_bug, cj2k::cuda::samples::Iota<false>)
CJ2K_KERNEL(sample_histogram, cj2k::cuda::samples::Histogram<true>)
CJ2K_KERNEL(sample_histogram_bug, cj2k::cuda::samples::Histogram<false>)
CJ2K_KERNEL(sample_diverging, cj2k::cuda::samples::Diverging)
CJ2K_KERNEL(sample_spin, cj2k::cuda::samples::Spin)

namespace cj2k::cuda::samples {

using simt::launch;
using simt::Stream;

static_assert(WarpCalls<uint32_t>::kNumResults == kWarpCallsResults &&
              WarpCalls<uint32_t>::kThreads == kWarpCallsThreads);
static_assert(BlockScan::kThreads == kBlockScanThreads &&
              Atomics<uint32_t>::kThreads == kAtomicsThreads);
static_assert(Handover::kThreads == kHandoverThreads &&
              Reverse<true, true>::kThreads == kReverseThreads);
static_assert(Histogram<true>::kThreads == kHistogramThreads && Spin::kThreads == kSpinThreads);

Status halve(Stream& stream, const uint32_t* in, uint32_t* out, uint32_t count) {
  constexpr uint32_t kPerBlock = Halve::kThreads * 4;
  return launch<Halve>(stream, {(count + kPerBlock - 1) / kPerBlock}, {in, out, count});
}
Status warp_calls(Stream& stream, const uint32_t* in, uint32_t* out) {
  return launch<WarpCalls<uint32_t>>(stream, {1}, {in, out});
}
Status warp_calls(Stream& stream, const int32_t* in, int32_t* out) {
  return launch<WarpCalls<int32_t>>(stream, {1}, {in, out});
}
Status warp_calls(Stream& stream, const uint64_t* in, uint64_t* out) {
  return launch<WarpCalls<uint64_t>>(stream, {1}, {in, out});
}
Status block_scan(Stream& stream, const uint32_t* in, uint32_t* before, uint32_t* totals,
                  uint32_t* bits, uint32_t num_blocks) {
  return launch<BlockScan>(stream, {num_blocks}, {in, before, totals, bits});
}
Status atomics(Stream& stream, const uint32_t* in, uint32_t* out, uint32_t num_blocks) {
  return launch<Atomics<uint32_t>>(stream, {num_blocks}, {in, out});
}
Status atomics(Stream& stream, const uint64_t* in, uint64_t* out, uint32_t num_blocks) {
  return launch<Atomics<uint64_t>>(stream, {num_blocks}, {in, out});
}
Status handover(Stream& stream, const uint32_t* in, uint32_t* out, uint32_t rounds) {
  return launch<Handover>(stream, {1}, {in, out, rounds});
}
Status flag_handover(Stream& stream, const uint32_t* in, uint32_t* out, FlagWait wait) {
  using enum FlagWait;
  switch (wait) {
    case kEachLane:
      return launch<FlagHandover<kEachLane>>(stream, {1}, {in, out});
    case kOneLane:
      return launch<FlagHandover<kOneLane>>(stream, {1}, {in, out});
    case kRelaxed:
      return launch<FlagHandover<kRelaxed>>(stream, {1}, {in, out});
    case kOneLaneNoSync:
      break;
  }
  return launch<FlagHandover<kOneLaneNoSync>>(stream, {1}, {in, out});
}
Status large_smem(Stream& stream, const uint32_t* in, uint32_t* out, uint32_t count) {
  return launch<LargeSmem>(stream, {1}, {in, out, count});
}

Status reverse(Stream& stream, const uint32_t* in, uint32_t* out, uint32_t num_blocks, bool barrier,
               bool checked) {
  if (barrier && checked) return launch<Reverse<true, true>>(stream, {num_blocks}, {in, out});
  if (barrier) return launch<Reverse<true, false>>(stream, {num_blocks}, {in, out});
  if (checked) return launch<Reverse<false, true>>(stream, {num_blocks}, {in, out});
  return launch<Reverse<false, false>>(stream, {num_blocks}, {in, out});
}
Status warp_neighbour(Stream& stream, uint32_t* out, Between between) {
  using enum Between;
  if (between == kSyncWarp) return launch<WarpNeighbour<kSyncWarp>>(stream, {1}, {out});
  if (between == kNothing) return launch<WarpNeighbour<kNothing>>(stream, {1}, {out});
  return launch<WarpNeighbour<kShuffle>>(stream, {1}, {out});
}
Status iota(Stream& stream, uint32_t* out, uint32_t count, bool check) {
  const simt::Dim3 grid = {(count + 63) / 64};
  return check ? launch<Iota<true>>(stream, grid, {out, count})
               : launch<Iota<false>>(stream, grid, {out, count});
}
Status histogram(Stream& stream, const uint32_t* in, uint32_t* counts, uint32_t num_blocks,
                 bool atomic) {
  return atomic ? launch<Histogram<true>>(stream, {num_blocks}, {in, counts})
                : launch<Histogram<false>>(stream, {num_blocks}, {in, counts});
}
Status diverging(Stream& stream, uint32_t* out, uint32_t how) {
  return launch<Diverging>(stream, {1}, {how, out});
}
Status spin(Stream& stream, uint32_t* out, uint32_t num_blocks, uint32_t rounds, uint32_t what) {
  return launch<Spin>(stream, {num_blocks}, {out, rounds, what});
}

}  // namespace cj2k::cuda::samples
