// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>

#include "simt/launch.h"
#include "tier1_forms.h"
#include "tier1_fused.cuh"

CJ2K_KERNEL(tier1_fused_1, cj2k::cuda::tier1::Tier1Fused<1>)
CJ2K_KERNEL(tier1_fused_4, cj2k::cuda::tier1::Tier1Fused<4>)
CJ2K_KERNEL(tier1_fused_8, cj2k::cuda::tier1::Tier1Fused<8>)
CJ2K_KERNEL(tier1_close, cj2k::cuda::tier1::Tier1Close)

namespace cj2k::cuda {
namespace {

/// As many thread blocks as the device runs at a time, each with as many slots as it takes.
template <uint32_t kWarps>
Status launch_fused(simt::Stream& stream, tier1::FusedParams params) {
  using Kernel = tier1::Tier1Fused<kWarps>;
  if (params.count == 0) return Status::kOk;
  const auto room = static_cast<uint32_t>(
      std::max(1, stream.context().info().num_multiprocessors * Kernel::kMinBlocks));
  const auto divide = [](uint32_t a, uint32_t b) { return (a + b - 1) / b; };
  const uint32_t grid = std::min(room, divide(params.count, Kernel::kGroups));
  params.num_slots = std::min(Kernel::kSlots, divide(params.count, grid * Kernel::kGroups));
  return simt::launch<Kernel>(stream, {grid}, params);
}

class FusedCoder final : public Tier1Coder {
 public:
  FusedCoder(uint32_t style, bool reversible) : style_(style), reversible_(reversible) {}

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
    CJ2K_TRY(launch_fused<1>(stream, params(0)));
    CJ2K_TRY(launch_fused<4>(stream, params(1)));
    CJ2K_TRY(launch_fused<8>(stream, params(2)));
    constexpr uint32_t kThreads = tier1::Tier1Close::kThreads;
    return simt::launch<tier1::Tier1Close>(stream, {(list.count() + kThreads - 1) / kThreads},
                                           {buffers, list, style_});
  }

 private:
  const uint32_t style_;
  const bool reversible_;
};

}  // namespace

std::unique_ptr<Tier1Coder> make_fused_coder(uint32_t style, bool reversible) {
  return std::make_unique<FusedCoder>(style, reversible);
}

}  // namespace cj2k::cuda
