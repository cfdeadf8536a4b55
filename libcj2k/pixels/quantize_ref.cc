// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "core/distortion.h"
#include "core/quantizer.h"
#include "pixels/quantize.h"

namespace cj2k::ref {
namespace {

template <typename Sample>
uint32_t quantize_53_of(const Sample* src, ptrdiff_t src_stride, int width, int height,
                        uint32_t* out, ptrdiff_t out_stride) {
  uint32_t all = 0;
  for (int y = 0; y < height; ++y, src += src_stride, out += out_stride) {
    for (int x = 0; x < width; ++x) {
      const uint32_t magnitude = static_cast<uint32_t>(src[x] < 0 ? -src[x] : src[x]);
      out[x] = sign_magnitude(src[x] < 0, magnitude);
      all |= magnitude;
    }
  }
  return all;
}

/// @param unit  of `src`
template <typename Sample>
uint32_t quantize_97_of(const Sample* src, ptrdiff_t src_stride, int width, int height, float unit,
                        const Quantizer97& quantizer, uint32_t* out, ptrdiff_t out_stride) {
  const float rounder = quantizer_rounder(quantizer.unit);
  const float limit = quantizer_limit(quantizer.max_magnitude);
  uint32_t all = 0;
  for (int y = 0; y < height; ++y, src += src_stride, out += out_stride) {
    for (int x = 0; x < width; ++x) {
      const float c = static_cast<float>(src[x]) * unit;
      const uint32_t magnitude =
          quantize97_magnitude(c, rounder, quantizer.inverse_step, limit, quantizer.max_magnitude);
      out[x] = sign_magnitude(c < 0, magnitude);
      all |= magnitude;
    }
  }
  return all;
}

}  // namespace

uint32_t quantize_97(const float* src, ptrdiff_t src_stride, int width, int height,
                     const Quantizer97& quantizer, uint32_t* out, ptrdiff_t out_stride) {
  return quantize_97_of(src, src_stride, width, height, 1, quantizer, out, out_stride);
}

uint32_t quantize_97(const int16_t* src, ptrdiff_t src_stride, int width, int height,
                     const Quantizer97& quantizer, uint32_t* out, ptrdiff_t out_stride) {
  return quantize_97_of(src, src_stride, width, height, quantizer.unit, quantizer, out, out_stride);
}

uint32_t quantize_53(const int32_t* src, ptrdiff_t src_stride, int width, int height, uint32_t* out,
                     ptrdiff_t out_stride) {
  return quantize_53_of(src, src_stride, width, height, out, out_stride);
}

uint32_t quantize_53(const int16_t* src, ptrdiff_t src_stride, int width, int height, uint32_t* out,
                     ptrdiff_t out_stride) {
  return quantize_53_of(src, src_stride, width, height, out, out_stride);
}

uint64_t left_distortion(const uint32_t* samples, ptrdiff_t stride, int width, int height,
                         int planes, bool reversible) {
  const LeftPlanes left(planes, reversible);
  uint64_t sum = 0;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) sum += left.term(samples[y * stride + x]);
  }
  return sum;
}

}  // namespace cj2k::ref
