// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>

#include "kernels/pixels/coded_words.cuh"
#include "kernels/pixels/pixels.h"
#include "kernels/simt/launch.h"

CJ2K_KERNEL(round_words, cj2k::cuda::RoundWords)

namespace cj2k::cuda {
namespace {

constexpr uint32_t kMaxGridY = 65535;

}  // namespace

Status round_words(simt::Stream& stream, const PixelFormat& stored, const PixelFormat& coded,
                   const CodedWords& layout, const FrameViews& frame, uint8_t* words) {
  RoundWords::Params p{};
  p.words = words;
  p.rows = make_word_params<RoundWords::Rows>(stored, frame);
  int32_t width = 0, height = 0;
  for (uint32_t c = 0; c < coded.num_components; ++c) {
    const CodedWords::Component& to = layout.components[c];
    const PixelFormat::Component& format = coded.components[c];
    const int32_t depth = stored.components[c].depth;
    p.components[c] = {to.offset,
                       to.row_bytes,
                       to.width,
                       to.height,
                       format.is_signed ? 0 : 1 << (format.depth - 1),
                       make_sample_round(depth, depth - format.depth)};
    width = std::max(width, to.width);
    height = std::max(height, to.height);
  }
  constexpr uint32_t kBlockSamples = 4 * RoundWords::kThreads;
  const simt::Dim3 grid{(static_cast<uint32_t>(width) + kBlockSamples - 1) / kBlockSamples,
                        std::min(static_cast<uint32_t>(height), kMaxGridY), coded.num_components};
  return simt::launch<RoundWords>(stream, grid, p);
}

}  // namespace cj2k::cuda
