// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/ebcot/tier1_model.cuh"
#include "kernels/simt/launch.h"

CJ2K_KERNEL(tier1_model_1, cj2k::cuda::tier1::Tier1Model<1>)
CJ2K_KERNEL(tier1_model_4, cj2k::cuda::tier1::Tier1Model<4>)
CJ2K_KERNEL(tier1_model_8, cj2k::cuda::tier1::Tier1Model<8>)

namespace cj2k::cuda::tier1 {

Status tier1_model(simt::Stream& stream, const ModelParams& params, int size) {
  constexpr uint32_t kGroups = Tier1Model<1>::kGroups;
  switch (size) {
    case 0:
      return simt::launch<Tier1Model<1>>(stream, {(params.count + kGroups - 1) / kGroups}, params);
    case 1:
      return simt::launch<Tier1Model<4>>(stream, {params.count}, params);
    default:
      return simt::launch<Tier1Model<8>>(stream, {params.count}, params);
  }
}

}  // namespace cj2k::cuda::tier1
