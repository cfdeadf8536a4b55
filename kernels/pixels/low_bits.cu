// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>

#include "kernels/pixels/low_bits.cuh"
#include "kernels/simt/launch.h"

CJ2K_KERNEL(find_low_bits, cj2k::cuda::FindLowBits)

namespace cj2k::cuda {

Status find_low_bits(simt::Stream& stream, const PixelFormat& stored, const LowBitsOf* components,
                     const FrameViews& frame, uint64_t* first) {
  FindLowBits::Params p{};
  p.first = first;
  p.rows = make_word_params<FindLowBits::Rows>(stored, frame);
  int32_t width = 0, height = 0;
  for (uint32_t c = 0; c < stored.num_components; ++c) {
    const PixelFormat::Component& format = stored.components[c];
    p.components[c] = {components[c], format.depth, format.is_signed ? 0 : 1 << (format.depth - 1)};
    width = std::max(width, components[c].width);
    height = std::max(height, components[c].height);
  }
  return simt::launch<FindLowBits>(stream,
                                   grid_of<FindLowBits>(width, height, stored.num_components), p);
}

}  // namespace cj2k::cuda
