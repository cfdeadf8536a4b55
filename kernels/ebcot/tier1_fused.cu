// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>

#include "kernels/ebcot/tier1_fused.cuh"
#include "kernels/simt/launch.h"

CJ2K_KERNEL(tier1_fused_1, cj2k::cuda::tier1::Tier1Fused<1>)
CJ2K_KERNEL(tier1_fused_4, cj2k::cuda::tier1::Tier1Fused<4>)
CJ2K_KERNEL(tier1_fused_8, cj2k::cuda::tier1::Tier1Fused<8>)
CJ2K_KERNEL(tier1_close, cj2k::cuda::tier1::Tier1Close)

namespace cj2k::cuda {
namespace {

template <uint32_t kWarps>
FusedGrid grid_of(uint32_t count, int num_multiprocessors, uint32_t max_thread_blocks) {
  using Kernel = tier1::Tier1Fused<kWarps>;
  auto room = static_cast<uint32_t>(std::max(1, num_multiprocessors * Kernel::kMinBlocks));
  if (max_thread_blocks != 0) room = std::min(room, max_thread_blocks);
  const auto divide = [](uint32_t a, uint32_t b) { return (a + b - 1) / b; };
  const uint32_t grid = std::min(room, divide(count, Kernel::kGroups));
  return {grid, std::min(Kernel::kSlots, divide(count, grid * Kernel::kGroups)), Kernel::kSlots};
}

template <uint32_t kWarps>
Status launch_fused(simt::Stream& stream, tier1::FusedParams params, uint32_t max_thread_blocks) {
  if (params.count == 0) return Status::kOk;
  const FusedGrid grid =
      grid_of<kWarps>(params.count, stream.context().info().num_multiprocessors, max_thread_blocks);
  params.num_slots = grid.num_slots;
  return simt::launch<tier1::Tier1Fused<kWarps>>(stream, {grid.thread_blocks}, params);
}

}  // namespace

FusedGrid fused_grid(int size, uint32_t count, int num_multiprocessors,
                     uint32_t max_thread_blocks) {
  constexpr decltype(&grid_of<1>) kGrids[kTier1Sizes] = {grid_of<1>, grid_of<4>, grid_of<8>};
  return kGrids[size](count, num_multiprocessors, max_thread_blocks);
}

Status tier1::tier1_fused(simt::Stream& stream, FusedParams params, int size,
                          uint32_t max_thread_blocks) {
  constexpr decltype(&launch_fused<1>) kLaunches[kTier1Sizes] = {launch_fused<1>, launch_fused<4>,
                                                                 launch_fused<8>};
  return kLaunches[size](stream, params, max_thread_blocks);
}

Status tier1::tier1_close(simt::Stream& stream, const Tier1Buffers& buffers, const Tier1List& list,
                          uint32_t style) {
  constexpr uint32_t kThreads = Tier1Close::kThreads;
  return simt::launch<Tier1Close>(stream, {(list.count() + kThreads - 1) / kThreads},
                                  {buffers, list, style});
}

}  // namespace cj2k::cuda
