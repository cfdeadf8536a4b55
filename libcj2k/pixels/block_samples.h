// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The samples of a code-block, from its coefficients.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/buffer.h"
#include "pixels/coefficients.h"
#include "pixels/quantize.h"
#include "plan/plan.h"

namespace cj2k {

/// Prefetches the coefficients of a block to the second-level cache. The rows of a block are too far
/// apart for the processor to predict.
inline void prefetch_block(const CoefficientPlanes& planes, const CodeBlock& block) {
  const auto prefetch = [&block](const auto& plane) {
    constexpr int kLine = kCacheLineBytes / sizeof(*plane.data);
    const auto* row = plane.data;
    for (int y = 0; y < block.height; ++y, row += plane.stride_samples) {
      for (int x = 0; x < block.width; x += kLine) __builtin_prefetch(row + x, 0, 2);
    }
  };
  if (planes.is_narrow(block)) {
    prefetch(planes.block<int16_t>(block));
  } else {
    prefetch(planes.block<int32_t>(block));
  }
}

inline Quantizer97 quantizer_of(const Subband& band) {
  return {band.inverse_step, band.unit, (uint32_t{1} << band.max_bit_planes) - 1};
}

/// Quantises a block (pixels/quantize.h), if its plane is not quantised.
/// @return the bitwise OR of all magnitudes
inline uint32_t quantize_block(const Plan& plan, const CoefficientPlanes& planes,
                               const CodeBlock& block, uint32_t step_set, uint32_t* samples,
                               ptrdiff_t stride) {
  const Subband& band = subband_of(plan, block, step_set);
  if (planes.is_narrow(block)) {
    const auto plane = planes.block<int16_t>(block);
    if (band.unit > 0) {
      return simd::quantize_97(plane.data, plane.stride_samples, block.width, block.height,
                               quantizer_of(band), samples, stride);
    }
    return simd::quantize_53(plane.data, plane.stride_samples, block.width, block.height, samples,
                             stride);
  }
  if (plan.reversible) {
    const auto plane = planes.block<int32_t>(block);
    return simd::quantize_53(plane.data, plane.stride_samples, block.width, block.height, samples,
                             stride);
  }
  const auto plane = planes.block<float>(block);
  return simd::quantize_97(plane.data, plane.stride_samples, block.width, block.height,
                           quantizer_of(band), samples, stride);
}

}  // namespace cj2k
