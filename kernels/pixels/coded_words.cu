// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>

#include "kernels/pixels/coded_words.cuh"
#include "kernels/pixels/pixels.h"
#include "kernels/simt/launch.h"

CJ2K_KERNEL(round_words, cj2k::cuda::RoundWords)
CJ2K_KERNEL(xyz_words, cj2k::cuda::XyzWords)

namespace cj2k::cuda {
namespace {

WordPlane plane_of(const CodedWords::Component& to) {
  return {to.offset, to.row_bytes, to.width, to.height};
}

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
    p.components[c] = {plane_of(to), format.is_signed ? 0 : 1 << (format.depth - 1),
                       make_sample_round(depth, depth - format.depth)};
    width = std::max(width, to.width);
    height = std::max(height, to.height);
  }
  return simt::launch<RoundWords>(stream, grid_of<RoundWords>(width, height, coded.num_components),
                                  p);
}

Status xyz_words(simt::Stream& stream, const PixelFormat& stored, const DeviceXyz& xyz,
                 const CodedWords& layout, const FrameViews& frame, uint8_t* words) {
  XyzWords::Params p{};
  p.words = words;
  for (size_t c = 0; c < 3; ++c) p.planes[c] = plane_of(layout.components[c]);
  p.linear = xyz.linear;
  p.codes = xyz.codes;
  std::copy_n(xyz.matrix, 9, p.matrix.m);
  p.half = 1 << (stored.components[0].depth - 1);
  p.rows = make_word_params<XyzWords::Rows>(stored, frame);
  return simt::launch<XyzWords>(stream, grid_of<XyzWords>(p.planes[0].width, p.planes[0].height, 1),
                                p);
}

}  // namespace cj2k::cuda
