// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The reference. For each line: split it into low and high samples, lift, write back in Mallat
// order.
#include "core/lifting.h"
#include "pixels/dwt.h"

namespace cj2k {

size_t dwt_scratch_samples(int32_t width, int32_t height) {
  return static_cast<size_t>(width > height ? width : height);
}

namespace ref {
namespace {

/// The low and high samples of one line, in scratch.
template <typename T>
struct Split {
  T* low;
  T* high;
  int32_t num_low, num_high;
  int parity;

  T low_before(int32_t i) const { return low[lifting_clamp(i - parity, num_low)]; }
  T low_after(int32_t i) const { return low[lifting_clamp(i + 1 - parity, num_low)]; }
  T high_before(int32_t i) const { return high[lifting_clamp(i - 1 + parity, num_high)]; }
  T high_after(int32_t i) const { return high[lifting_clamp(i + parity, num_high)]; }
};

void lift(const Split<int32_t>& s) {
  for (int32_t i = 0; i < s.num_high; ++i) {
    s.high[i] = lift53_high(s.high[i], s.low_before(i), s.low_after(i));
  }
  for (int32_t i = 0; i < s.num_low; ++i) {
    s.low[i] = lift53_low(s.low[i], s.high_before(i), s.high_after(i));
  }
}

void lift(const Split<float>& s) {
  for (int32_t i = 0; i < s.num_high; ++i) {
    s.high[i] = lift97(s.high[i], kAlpha97, s.low_before(i), s.low_after(i));
  }
  for (int32_t i = 0; i < s.num_low; ++i) {
    s.low[i] = lift97(s.low[i], kBeta97, s.high_before(i), s.high_after(i));
  }
  for (int32_t i = 0; i < s.num_high; ++i) {
    s.high[i] = lift97(s.high[i], kGamma97, s.low_before(i), s.low_after(i));
  }
  for (int32_t i = 0; i < s.num_low; ++i) {
    s.low[i] = lift97(s.low[i], kDelta97, s.high_before(i), s.high_after(i));
  }
  for (int32_t i = 0; i < s.num_low; ++i) s.low[i] *= kLowScale97;
  for (int32_t i = 0; i < s.num_high; ++i) s.high[i] *= kHighScale97;
}

template <typename T>
void transform_line(T* line, ptrdiff_t step, int32_t n, int parity, T* scratch) {
  if (n == 1) {  // F.4.8: no neighbours to lift with
    if (parity == 1) line[0] *= 2;
    return;
  }
  const int32_t num_low = lifting_low_count(n, parity);
  const Split<T> split{scratch, scratch + num_low, num_low, n - num_low, parity};
  for (int32_t i = 0; i < n; ++i) {
    T* half = ((i + parity) & 1) == 0 ? split.low : split.high;
    half[i >> 1] = line[i * step];
  }
  lift(split);
  for (int32_t i = 0; i < n; ++i) line[i * step] = scratch[i];
}

template <typename T>
void transform_columns(Plane<T> plane, int parity, int32_t begin, int32_t end, T* scratch) {
  for (int32_t x = begin; x < end; ++x) {
    transform_line(plane.data + x, plane.stride_samples, plane.height, parity, scratch);
  }
}

template <typename T>
void transform_rows(Plane<T> plane, int parity, int32_t begin, int32_t end, T* scratch) {
  for (int32_t y = begin; y < end; ++y) {
    transform_line(plane.row(y), 1, plane.width, parity, scratch);
  }
}

}  // namespace

void dwt53_vertical(Plane<int32_t> plane, int parity, int32_t column_begin, int32_t column_end,
                    int32_t* scratch) {
  transform_columns(plane, parity, column_begin, column_end, scratch);
}

void dwt53_horizontal(Plane<int32_t> plane, int parity, int32_t row_begin, int32_t row_end,
                      int32_t* scratch) {
  transform_rows(plane, parity, row_begin, row_end, scratch);
}

void dwt97_vertical(Plane<float> plane, int parity, int32_t column_begin, int32_t column_end,
                    float* scratch) {
  transform_columns(plane, parity, column_begin, column_end, scratch);
}

void dwt97_horizontal(Plane<float> plane, int parity, int32_t row_begin, int32_t row_end,
                      float* scratch) {
  transform_rows(plane, parity, row_begin, row_end, scratch);
}

}  // namespace ref
}  // namespace cj2k
