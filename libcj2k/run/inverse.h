// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// From coefficients back to samples, plainly: the inverse transforms of T.800 F.3 and G.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/view.h"
#include "core/lifting.h"
#include "plan/plan.h"

namespace cj2k {

/// Columns that are transformed vertically together.
inline constexpr int32_t kStripColumns = 64;

/// `width` lines side by side: element i is a row with sample i of every line, so that the compiler
/// can vectorise over lines.
template <typename Sample>
struct Lines {
  Sample* data;
  int32_t count, width;
  Sample* operator[](int32_t i) const { return data + static_cast<ptrdiff_t>(i) * width; }
};

/// target[i] = step(target[i], a, b), with the neighbours a = neighbours[i + first] and
/// b = neighbours[i + first + 1]. Neighbours beyond the ends are those at the ends.
template <typename Sample, typename Step>
void lift_lines(const Lines<Sample>& target, const Lines<Sample>& neighbours, int32_t first,
                Step step) {
  const auto lift = [&](int32_t i) {
    Sample* t = target[i];
    const Sample* a = neighbours[lifting_clamp(i + first, neighbours.count)];
    const Sample* b = neighbours[lifting_clamp(i + first + 1, neighbours.count)];
    for (int32_t k = 0; k < target.width; ++k) t[k] = step(t[k], a[k], b[k]);
  };
  int32_t i = 0;
  if (target.width == 1) {  // the compiler can vectorise along the line
    for (; i < std::min(-first, target.count); ++i) lift(i);
    const int32_t end = std::min(target.count, neighbours.count - first - 1);
    Sample* __restrict t = target.data;
    const Sample* __restrict a = neighbours.data;
    for (; i < end; ++i) t[i] = step(t[i], a[i + first], a[i + first + 1]);
  }
  for (; i < target.count; ++i) lift(i);
}

/// Inverse lifting of `width` lines of `n` samples, low samples first, in place.
template <typename Sample>
void unlift(Sample* data, int32_t n, int parity, int32_t width) {
  const int32_t num_low = lifting_low_count(n, parity);
  const Lines<Sample> low{data, num_low, width};
  const Lines<Sample> high{data + static_cast<ptrdiff_t>(num_low) * width, n - num_low, width};
  if (n == 1) {
    if (parity == 1) {
      for (int32_t k = 0; k < width; ++k) high[0][k] /= 2;
    }
    return;
  }
  const int32_t before_low = parity - 1, before_high = -parity;
  if constexpr (std::is_same_v<Sample, int32_t>) {
    lift_lines(low, high, before_low,
               [](int32_t x, int32_t a, int32_t b) { return x - ((a + b + 2) >> 2); });
    lift_lines(high, low, before_high,
               [](int32_t x, int32_t a, int32_t b) { return x + ((a + b) >> 1); });
  } else {
    for (int64_t k = 0; k < int64_t{num_low} * width; ++k) low.data[k] *= kHighScale97;
    for (int64_t k = 0; k < int64_t{high.count} * width; ++k) high.data[k] *= kLowScale97;
    const auto step = [](float factor) {
      return [factor](float x, float a, float b) { return lift97(x, -factor, a, b); };
    };
    lift_lines(low, high, before_low, step(kDelta97));
    lift_lines(high, low, before_high, step(kGamma97));
    lift_lines(low, high, before_low, step(kBeta97));
    lift_lines(high, low, before_high, step(kAlpha97));
  }
}

/// The position of sample i of a line (low samples first) after interleaving.
inline int32_t interleaved(int32_t i, int32_t num_low, int parity) {
  return i < num_low ? 2 * i + parity : 2 * (i - num_low) + 1 - parity;
}

/// Inverts one level: rows, then columns.
/// @param scratch  at least one row, and kStripColumns columns
template <typename Sample>
void inverse_level(Plane<Sample> plane, int parity_x, int parity_y, Sample* scratch) {
  const int32_t low_columns = lifting_low_count(plane.width, parity_x);
  for (int32_t y = 0; y < plane.height; ++y) {
    Sample* row = plane.row(y);
    std::copy_n(row, plane.width, scratch);
    unlift(scratch, plane.width, parity_x, 1);
    for (int32_t i = 0; i < plane.width; ++i)
      row[interleaved(i, low_columns, parity_x)] = scratch[i];
  }
  const int32_t low_rows = lifting_low_count(plane.height, parity_y);
  for (int32_t x = 0; x < plane.width; x += kStripColumns) {
    const int32_t width = std::min(kStripColumns, plane.width - x);
    for (int32_t y = 0; y < plane.height; ++y)
      std::copy_n(plane.row(y) + x, width, scratch + static_cast<ptrdiff_t>(y) * width);
    unlift(scratch, plane.height, parity_y, width);
    for (int32_t y = 0; y < plane.height; ++y) {
      std::copy_n(scratch + static_cast<ptrdiff_t>(y) * width, width,
                  plane.row(interleaved(y, low_rows, parity_y)) + x);
    }
  }
}

template <typename Sample>
void inverse_transform(const Plan& plan, const TileComponent& tc, Plane<Sample> plane,
                       Sample* scratch) {
  for (int r = 1; r <= plan.params.levels; ++r) {
    const Rect& rect = plan.resolutions[tc.first_resolution + static_cast<uint32_t>(r)].rect;
    if (rect.empty()) continue;
    inverse_level(plane.sub(0, 0, rect.width(), rect.height()), rect.x0 & 1, rect.y0 & 1, scratch);
  }
}

/// Inverse RCT (T.800 G.2.2) or ICT (G.3.2) of one sample of components 0, 1 and 2.
inline void inverse_colour(int32_t* s) {
  const int32_t g = s[0] - ((s[1] + s[2]) >> 2);
  const int32_t r = s[2] + g, b = s[1] + g;
  s[0] = r;
  s[1] = g;
  s[2] = b;
}
inline void inverse_colour(float* s) {
  const float y = s[0], cb = s[1], cr = s[2];
  s[0] = y + 1.402f * cr;
  s[1] = y - 0.344136f * cb - 0.714136f * cr;
  s[2] = y + 1.772f * cb;
}

struct TileSize {
  int32_t width = 0, height = 0;
  size_t samples() const { return static_cast<size_t>(width) * static_cast<size_t>(height); }
};
inline TileSize largest_tile(const Plan& plan, uint32_t component) {
  TileSize largest;
  for (const TileComponent& tc : plan.tile_components) {
    if (tc.component != component) continue;
    largest.width = std::max(largest.width, tc.rect.width());
    largest.height = std::max(largest.height, tc.rect.height());
  }
  return largest;
}
/// Samples of the memory that inverse_transform needs.
inline size_t scratch_samples(const TileSize& size) {
  return static_cast<size_t>(std::max<int64_t>(size.width, int64_t{kStripColumns} * size.height));
}

}  // namespace cj2k
