// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "coders/layer_cuts.h"

#include <algorithm>

#include "core/slope.h"

namespace cj2k {

LayerCuts make_layer_cuts(int passes, const uint32_t* bytes, const double* distortion) {
  LayerCuts cuts{};
  std::copy_n(bytes, passes, cuts.bytes);
  const auto slope_between = [&](int first, int end) -> uint16_t {
    const double gain = distortion[end - 1] - (first > 0 ? distortion[first - 1] : 0.0);
    const uint32_t length = bytes[end - 1] - (first > 0 ? bytes[first - 1] : 0);
    if (gain <= 0) return kMinSlope;
    return length > 0 ? log_slope(gain, length) : kMaxSlope;
  };
  int first_of_edge[3] = {0, 0, 0};
  int edges = 0;
  for (int i = 0; i < passes; ++i) {
    int first = i;
    uint16_t slope = slope_between(i, i + 1);
    // The cleanup pass and SigProp stay together. A pass without bytes cannot be a contribution of
    // its own.
    while (edges > 0 &&
           (first == 1 || slope >= cuts.slopes[first - 1] || bytes[i] == bytes[first - 1])) {
      first = first_of_edge[--edges];
      slope = slope_between(first, i + 1);
    }
    first_of_edge[edges++] = first;
    std::fill(cuts.slopes + first, cuts.slopes + i + 1, slope);
  }
  return cuts;
}

}  // namespace cj2k
