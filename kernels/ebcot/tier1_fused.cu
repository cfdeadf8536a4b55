// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>

#include "kernels/simt/launch.h"
#include "kernels/ebcot/tier1_forms.h"
#include "kernels/ebcot/tier1_fused.cuh"

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
  const FusedGrid grid = grid_of<kWarps>(
      params.count, stream.context().info().num_multiprocessors, max_thread_blocks);
  params.num_slots = grid.num_slots;
  return simt::launch<tier1::Tier1Fused<kWarps>>(stream, {grid.thread_blocks}, params);
}

class FusedCoder final : public Tier1Coder {
 public:
  FusedCoder(uint32_t style, bool reversible, uint32_t max_thread_blocks)
      : style_(style), reversible_(reversible), max_thread_blocks_(max_thread_blocks) {}

  uint64_t scratch_bytes(uint32_t) const override { return kFusedScratchBytes; }

  Status code(simt::Stream& stream, const Tier1Buffers& buffers, const Tier1List& list,
              const Tier1Stop& stop, void* scratch) override {
    if (list.count() == 0) return Status::kOk;
    auto* taken = static_cast<uint32_t*>(scratch);
    CJ2K_TRY(stream.fill_u32(taken, 0, kTier1Sizes));
    const auto params = [&](int size) {
      uint32_t first = 0;
      for (int i = 0; i < size; ++i) first += list.counts[i];
      return tier1::FusedParams{
          buffers, list.blocks + first, list.counts[size], style_, stop, taken + size,
          0,       reversible_,         mq::kStates};
    };
    CJ2K_TRY(launch_fused<1>(stream, params(0), max_thread_blocks_));
    CJ2K_TRY(launch_fused<4>(stream, params(1), max_thread_blocks_));
    CJ2K_TRY(launch_fused<8>(stream, params(2), max_thread_blocks_));
    constexpr uint32_t kThreads = tier1::Tier1Close::kThreads;
    return simt::launch<tier1::Tier1Close>(stream, {(list.count() + kThreads - 1) / kThreads},
                                           {buffers, list, style_});
  }

 private:
  const uint32_t style_;
  const bool reversible_;
  const uint32_t max_thread_blocks_;
};

}  // namespace

std::unique_ptr<Tier1Coder> make_fused_coder(uint32_t style, bool reversible,
                                             uint32_t max_thread_blocks) {
  return std::make_unique<FusedCoder>(style, reversible, max_thread_blocks);
}

FusedGrid fused_grid(int size, uint32_t count, int num_multiprocessors,
                     uint32_t max_thread_blocks) {
  constexpr decltype(&grid_of<1>) kGrids[kTier1Sizes] = {grid_of<1>, grid_of<4>, grid_of<8>};
  return kGrids[size](count, num_multiprocessors, max_thread_blocks);
}

}  // namespace cj2k::cuda
