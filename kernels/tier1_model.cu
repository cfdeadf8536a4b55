// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "simt/launch.h"
#include "tier1_model.cuh"

CJ2K_KERNEL(tier1_model_1, cj2k::cuda::tier1::Tier1Model<1>)
CJ2K_KERNEL(tier1_model_4, cj2k::cuda::tier1::Tier1Model<4>)
CJ2K_KERNEL(tier1_model_8, cj2k::cuda::tier1::Tier1Model<8>)

namespace cj2k::cuda {

Status tier1_model(simt::Stream& stream, const Tier1Buffers& buffers, const Tier1List& list,
                   int size, uint32_t style, int first_plane, int last_plane) {
  const tier1::ModelParams params{buffers, list, style, first_plane, last_plane};
  constexpr uint32_t kGroups = tier1::Tier1Model<1>::kGroups;
  switch (size) {
    case 0:
      return simt::launch<tier1::Tier1Model<1>>(stream, {(list.count + kGroups - 1) / kGroups},
                                                params);
    case 1:
      return simt::launch<tier1::Tier1Model<4>>(stream, {list.count}, params);
    default:
      return simt::launch<tier1::Tier1Model<8>>(stream, {list.count}, params);
  }
}

}  // namespace cj2k::cuda
