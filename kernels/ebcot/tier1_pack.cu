// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/ebcot/tier1_pack.cuh"
#include "kernels/simt/launch.h"

CJ2K_KERNEL(tier1_pack, cj2k::cuda::tier1::Pack)

namespace cj2k::cuda {

Status tier1_pack(simt::Stream& stream, const Tier1Buffers& buffers, const Tier1List& list,
                  const Tier1Limits& limits, const Tier1Output& output,
                  const PackedOutput& packed) {
  CJ2K_TRY(stream.fill_u32(packed.total, 0, 1));
  return simt::launch<tier1::Pack>(
      stream, {(list.count() + tier1::Pack::kThreads - 1) / tier1::Pack::kThreads},
      {buffers, list, limits, output, packed});
}

}  // namespace cj2k::cuda
