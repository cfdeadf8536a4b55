// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "simt/launch.h"
#include "tier1_mq.cuh"

CJ2K_KERNEL(tier1_mq, cj2k::cuda::tier1::MqCoder)

namespace cj2k::cuda {

Status tier1_mq(simt::Stream& stream, const Tier1Buffers& buffers, const Tier1List& list,
                uint32_t style) {
  constexpr uint32_t kThreads = tier1::MqCoder::kThreads;
  return simt::launch<tier1::MqCoder>(stream, {(list.count + kThreads - 1) / kThreads},
                                      {buffers, list, style, mq::kStates});
}

}  // namespace cj2k::cuda
