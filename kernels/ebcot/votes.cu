// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/ebcot/votes.cuh"
#include "kernels/simt/launch.h"

CJ2K_KERNEL(tier1_votes, cj2k::cuda::tier1::Votes)

namespace cj2k::cuda {

Status tier1_votes(simt::Stream& stream, const Tier1Buffers& buffers, const Tier1List& list,
                   uint8_t* votes) {
  constexpr uint32_t kWarps = tier1::Votes::kThreads / 32;
  return simt::launch<tier1::Votes>(stream, {(list.count() + kWarps - 1) / kWarps},
                                    {buffers, list, votes});
}

}  // namespace cj2k::cuda
