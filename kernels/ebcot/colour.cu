// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/ebcot/colour.cuh"
#include "kernels/simt/launch.h"

CJ2K_KERNEL(colour_errors, cj2k::cuda::tier1::ColourErrors)

namespace cj2k::cuda {

Status colour_errors(simt::Stream& stream, const Tier1Buffers& buffers, const Tier1List& list,
                     const Tier1Output& hulls, const ColourJob* jobs, uint32_t component,
                     const RdoqParams& params, float* shifted) {
  return simt::launch<tier1::ColourErrors>(
      stream, {list.count()}, {buffers, list, hulls, jobs, component, params, shifted});
}

}  // namespace cj2k::cuda
