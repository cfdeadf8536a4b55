// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "film/magnitudes.h"

#include <algorithm>

namespace cj2k {
namespace {

template <typename Sample>
MagnitudeCounts count(const Coefficients<Sample>& block, float scale, int first) {
  MagnitudeCounts counts{};
  for (int y = 2 * first; y < block.height; y += 2 * counted_quad_rows(block.height)) {
    for (int x = 0; x < block.width; x += 2) {
      int largest = 0;
      for (int i = 0; i < 4; ++i) {
        if (x + i % 2 >= block.width || y + i / 2 >= block.height) continue;
        const Sample coefficient = block.data[(y + i / 2) * block.stride + x + i % 2];
        const int k = magnitude_class(static_cast<float>(coefficient) * scale);
        ++counts.samples[k];
        largest = std::max(largest, k);
      }
      ++counts.quads[largest];
    }
  }
  for (int k = kMagnitudeClasses; k > 0; --k) {
    counts.samples[k - 1] += counts.samples[k];
    counts.quads[k - 1] += counts.quads[k];
  }
  return counts;
}

}  // namespace

MagnitudeCounts ref::count_magnitudes(const Coefficients<float>& block, float scale, int first) {
  return count(block, scale, first);
}
MagnitudeCounts ref::count_magnitudes(const Coefficients<int32_t>& block, float scale, int first) {
  return count(block, scale, first);
}

}  // namespace cj2k
