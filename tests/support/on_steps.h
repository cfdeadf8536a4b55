// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// A picture as a decoder shows it after a coding that cut every block at one plane.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include "plan/plan.h"
#include "support/picture.h"

namespace cj2k::test {

/// One line of the inverse 9/7, T.800 F.3.8.2: low-pass samples first. The length is even.
inline void inverse_97(std::vector<double>& line) {
  const auto n = static_cast<int>(line.size());
  constexpr double kScale = 1.230174104914001;
  std::vector<double> out(line.size());
  for (int i = 0; i < n / 2; ++i) {
    out[static_cast<size_t>(2 * i)] = kScale * line[static_cast<size_t>(i)];
    out[static_cast<size_t>(2 * i + 1)] = line[static_cast<size_t>(n / 2 + i)] / kScale;
  }
  const auto at = [&](int i) {
    return out[static_cast<size_t>(i < 0 ? -i : i < n ? i : 2 * n - 2 - i)];
  };
  const auto lift = [&](int first, double factor) {
    for (int i = first; i < n; i += 2)
      out[static_cast<size_t>(i)] -= factor * (at(i - 1) + at(i + 1));
  };
  lift(0, 0.443506852043971);
  lift(1, 0.882911075530934);
  lift(0, -0.052980118572961);
  lift(1, -1.586134342059924);
  line = out;
}

/// The picture of one component of 8 bits or more, without tiles, whose size is a multiple of
/// 2^levels. Its magnitudes are (q + 1/2) * 2^plane steps of `plan`, or 0.
/// @param scale  of the steps: 1 for those of the plan
inline Picture picture_on_steps(const Plan& plan, int plane, double scale, uint64_t seed) {
  const cj2k_params& p = plan.params;
  Picture picture = picture_shape(p);
  ComponentPlane& c = picture.components[0];
  const auto width = static_cast<size_t>(c.width), height = static_cast<size_t>(c.height);
  std::vector<double> all(width * height);
  std::mt19937_64 random(seed);
  for (const Subband& band : plan.subbands) {
    const bool right = band.orientation == kHL || band.orientation == kHH;
    const bool lower = band.orientation == kLH || band.orientation == kHH;
    const size_t w = width >> band.level, h = height >> band.level;
    for (size_t y = 0; y < h; ++y) {
      for (size_t x = 0; x < w; ++x) {
        const double u = (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53;
        const double q = std::floor(-std::log(u) * 0.7 * band.level);
        const double sign = (random() & 1) != 0 ? -1 : 1;
        if (q > 0)
          all[(y + (lower ? h : 0)) * width + x + (right ? w : 0)] =
              sign * std::ldexp((q + 0.5) * static_cast<double>(band.step) * scale, plane);
      }
    }
  }
  std::vector<double> line;
  for (int level = p.levels; level > 0; --level) {
    const size_t w = width >> (level - 1), h = height >> (level - 1);
    for (size_t y = 0; y < h; ++y) {
      const auto row = all.begin() + static_cast<ptrdiff_t>(y * width);
      line.assign(row, row + static_cast<ptrdiff_t>(w));
      inverse_97(line);
      std::copy(line.begin(), line.end(), row);
    }
    line.resize(h);
    for (size_t x = 0; x < w; ++x) {
      for (size_t y = 0; y < h; ++y) line[y] = all[y * width + x];
      inverse_97(line);
      for (size_t y = 0; y < h; ++y) all[y * width + x] = line[y];
    }
    line.clear();
  }
  for (size_t i = 0; i < all.size(); ++i) {
    const auto value = static_cast<int32_t>(std::lround(all[i])) + (1 << (c.depth - 1));
    c.samples[i] = std::clamp(value, c.min_value(), c.max_value());
  }
  return picture;
}

}  // namespace cj2k::test
