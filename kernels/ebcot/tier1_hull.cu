// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/ebcot/tier1_hull.cuh"
#include "kernels/simt/launch.h"

CJ2K_KERNEL(tier1_left, cj2k::cuda::tier1::LeftDistortion)
CJ2K_KERNEL(tier1_hull, cj2k::cuda::tier1::Hulls)

namespace cj2k::cuda {

Status tier1_hull(simt::Stream& stream, const Tier1Buffers& buffers, const Tier1List& list,
                  uint32_t style, bool reversible, bool keep_all, const Tier1Output& output) {
  if (!output.adds) CJ2K_TRY(stream.fill_u32(output.totals, 0, 2));
  const tier1::HullParams params{buffers, list, style, reversible, keep_all, output};
  constexpr uint32_t kWarps = tier1::LeftDistortion::kThreads / 32;
  CJ2K_TRY(
      simt::launch<tier1::LeftDistortion>(stream, {(list.count() + kWarps - 1) / kWarps}, params));
  return simt::launch<tier1::Hulls>(stream, {(list.count() + 31) / 32}, params);
}

}  // namespace cj2k::cuda
