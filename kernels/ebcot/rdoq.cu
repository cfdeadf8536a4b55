// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/ebcot/rdoq.cuh"
#include "kernels/simt/launch.h"

CJ2K_KERNEL(rdoq_1, cj2k::cuda::tier1::RdoqQuantize<1>)
CJ2K_KERNEL(rdoq_4, cj2k::cuda::tier1::RdoqQuantize<4>)
CJ2K_KERNEL(rdoq_8, cj2k::cuda::tier1::RdoqQuantize<8>)

namespace cj2k::cuda {
namespace {

template <uint32_t kWarps>
Status launch_rdoq(simt::Stream& stream, uint32_t count, const tier1::RdoqQuantizeParams& params) {
  return simt::launch<tier1::RdoqQuantize<kWarps>>(stream, {count}, params);
}

}  // namespace

Status rdoq_quantize(simt::Stream& stream, const Tier1Buffers& buffers, const Tier1List& list,
                     const RdoqParams& params, const RdoqOutput& output) {
  tier1::RdoqQuantizeParams of{buffers, list.blocks, params, output};
  CJ2K_TRY(launch_rdoq<1>(stream, list.counts[0], of));
  of.blocks += list.counts[0];
  CJ2K_TRY(launch_rdoq<4>(stream, list.counts[1], of));
  of.blocks += list.counts[1];
  return launch_rdoq<8>(stream, list.counts[2], of);
}

}  // namespace cj2k::cuda
