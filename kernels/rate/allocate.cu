// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/rate/allocate.h"
#include "kernels/rate/frame_end.cuh"
#include "kernels/simt/launch.h"

CJ2K_KERNEL(rate_allocate, cj2k::cuda::rate::Allocate<false>)
CJ2K_KERNEL(ht_allocate, cj2k::cuda::rate::Allocate<true>)

namespace cj2k::cuda {

uint64_t rate_scratch_bytes(const RatePlan& plan) { return rate::ScratchLayout(plan).bytes; }

Status allocate_rate(simt::Stream& stream, const RatePlan& plan, uint32_t num_frames,
                     const FrameRates& rates, bool again, const RateInput& input, void* scratch,
                     const RateOutput& output) {
  const rate::AllocateParams params{
      plan, rates, input, output, static_cast<uint8_t*>(scratch), rate::ScratchLayout(plan), again};
  return input.codes != nullptr ? simt::launch<rate::Allocate<true>>(stream, {num_frames}, params)
                                : simt::launch<rate::Allocate<false>>(stream, {num_frames}, params);
}

}  // namespace cj2k::cuda
