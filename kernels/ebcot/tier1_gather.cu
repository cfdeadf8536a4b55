// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/ebcot/tier1_gather.cuh"
#include "kernels/simt/launch.h"

CJ2K_KERNEL(tier1_gather, cj2k::cuda::tier1::Gather)

namespace cj2k::cuda {

Status tier1_gather(simt::Stream& stream, const uint8_t* bytes, const GatherJob* jobs,
                    uint32_t count, uint8_t* out) {
  constexpr uint32_t kWarps = tier1::Gather::kThreads / 32;
  return simt::launch<tier1::Gather>(stream, {(count + kWarps - 1) / kWarps},
                                     {bytes, jobs, count, out});
}

}  // namespace cj2k::cuda
