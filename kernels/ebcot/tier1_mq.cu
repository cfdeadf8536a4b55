// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>

#include "kernels/ebcot/tier1_mq.cuh"
#include "kernels/ebcot/tier1_sort.cuh"
#include "kernels/simt/launch.h"

CJ2K_KERNEL(tier1_mq, cj2k::cuda::tier1::MqCoder<false>)
CJ2K_KERNEL(tier1_mq_plane, cj2k::cuda::tier1::MqCoder<true>)
CJ2K_KERNEL(tier1_start, cj2k::cuda::tier1::Tier1Start)
CJ2K_KERNEL(tier1_count, cj2k::cuda::tier1::Tier1Count)
CJ2K_KERNEL(tier1_sort, cj2k::cuda::tier1::Tier1Sort)
CJ2K_KERNEL(tier1_sort_plane, cj2k::cuda::tier1::Tier1SortPlane)

namespace cj2k::cuda::tier1 {

Status tier1_mq(simt::Stream& stream, MqParams params) {
  constexpr uint32_t kWarps = MqCoder<false>::kThreads / 32;
  // A warp is faster with fewer blocks, whose lanes part less often. So few blocks are spread over
  // warps, until each of the four schedulers of a multiprocessor has one.
  const auto most_warps = 4 * static_cast<uint32_t>(stream.context().info().num_multiprocessors);
  const uint32_t count = params.list.count();
  params.blocks_per_warp = 32;
  while (params.blocks_per_warp > 1 && 2 * count <= most_warps * params.blocks_per_warp)
    params.blocks_per_warp /= 2;
  const uint32_t of_thread_block = kWarps * params.blocks_per_warp;
  return simt::launch<MqCoder<false>>(stream, {(count + of_thread_block - 1) / of_thread_block},
                                      params);
}

Status tier1_mq_plane(simt::Stream& stream, MqParams params) {
  constexpr uint32_t kThreads = MqCoder<true>::kThreads;
  uint32_t groups = 0;
  for (int size = 0; size < kTier1Sizes; ++size) {
    params.first_group_of[size] = groups;
    groups += (params.list.counts[size] + kThreads - 1) / kThreads;
  }
  return simt::launch<MqCoder<true>>(stream, {groups}, params);
}

Status tier1_sort(simt::Stream& stream, const SortParams& params) {
  constexpr uint32_t kThreads = kSortBuckets;
  const simt::Dim3 grid{(params.list.count() + kThreads - 1) / kThreads};
  CJ2K_TRY(simt::launch<Tier1Count>(stream, grid, params));
  return simt::launch<Tier1Sort>(stream, grid, params);
}

Status tier1_sort_plane(simt::Stream& stream, const SortPlaneParams& params,
                        const uint32_t* max_blocks) {
  const uint32_t most = *std::max_element(max_blocks, max_blocks + kTier1Sizes);
  return simt::launch<Tier1SortPlane>(
      stream, {(most + kSortTile - 1) / kSortTile, static_cast<uint32_t>(kTier1Sizes)}, params);
}

Status tier1_start(simt::Stream& stream, const StartParams& params) {
  constexpr uint32_t kThreads = Tier1Start::kThreads;
  return simt::launch<Tier1Start>(stream, {(params.list.count() + kThreads - 1) / kThreads},
                                  params);
}

}  // namespace cj2k::cuda::tier1
