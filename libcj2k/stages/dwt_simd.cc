// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Columns: strips of columns, each in one pass down. High rows collect in scratch (half the height
// of a strip, meant to stay in L2), low rows go straight to the top: row j of the plane is written
// only when the samples it held, those of low or high row j/2, have been lifted. A last pass scales
// the high rows and copies them to the bottom.
//
//   step t of 9/7:  d1[t]     = d[t]     + alpha (s[t-p]    + s[t+1-p])
//                   s1[t-p]   = s[t-p]   + beta  (d1[t-1]   + d1[t])
//                   d2[t-1]   = d1[t-1]  + gamma (s1[t-1-p] + s1[t-p])
//                   s2[t-1-p] = (s1[t-1-p] + delta (d2[t-2] + d2[t-1])) / K
//
// Rows: de-interleaved into two arrays in scratch (L1), lifted there step by step, and stored.
#include "core/lifting.h"
#include "stages/dwt.h"
#include "stages/target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "stages/dwt_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

// Once for all targets.
#ifndef CJ2K_STAGES_DWT_SIMD_ONCE
#define CJ2K_STAGES_DWT_SIMD_ONCE
namespace cj2k::simd {
namespace {

constexpr int32_t kLineSamples = 16;  ///< 64 bytes
/// 32 to 256 measured the same within noise (Xeon of the Sapphire Rapids family, 2 MB of L2,
/// 3840x2160), as did prefetching the rows ahead; 64 keeps a strip of 4320 rows in that L2.
constexpr int32_t kStripColumns = 64;
/// Free samples before and behind each array of a row: the longest vector (HWY_MAX_BYTES of any
/// target).
constexpr int32_t kPad = 64;

template <typename T>
T* align_to_line(T* p) {
  constexpr uintptr_t kMask = kLineSamples * sizeof(T) - 1;
  return reinterpret_cast<T*>((reinterpret_cast<uintptr_t>(p) + kMask) & ~kMask);
}

/// Where row or sample i of the low or high half lies in the interleaved signal.
constexpr int32_t low_position(int32_t i, int parity) { return 2 * i + parity; }
constexpr int32_t high_position(int32_t i, int parity) { return 2 * i + 1 - parity; }

}  // namespace
}  // namespace cj2k::simd
#endif

HWY_BEFORE_NAMESPACE();
namespace cj2k::simd {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

static_assert(HWY_MAX_BYTES <= kPad * sizeof(float));

template <class V>
V lift97_v(V x, V k, V a, V b) {
  return hn::Add(x, hn::Mul(k, hn::Add(a, b)));
}
template <class V>
V lift53_high_v(V x, V a, V b) {
  return hn::Sub(x, hn::ShiftRight<1>(hn::Add(a, b)));
}
template <class V>
V lift53_low_v(V x, V a, V b, V two) {
  return hn::Add(x, hn::ShiftRight<2>(hn::Add(hn::Add(a, b), two)));
}

// ---- Columns ----

/// One strip: where the rows of its halves are before, during and after the transform.
template <typename T>
struct Strip {
  T* top;  ///< of the plane
  ptrdiff_t stride;
  int32_t columns, num_low, num_high;
  int parity;
  T* scratch;  ///< [num_high][kStripColumns]

  T* source_low(int32_t i) const {
    return top + low_position(lifting_clamp(i, num_low), parity) * stride;
  }
  T* source_high(int32_t i) const { return top + high_position(i, parity) * stride; }
  T* low(int32_t i) const { return top + lifting_clamp(i, num_low) * stride; }
  T* high(int32_t i) const {
    return scratch + static_cast<ptrdiff_t>(lifting_clamp(i, num_high)) * kStripColumns;
  }
};

/// Kernels over the columns of a strip take any tag: whole vectors first, then one lane. They
/// return the next column.
template <class D>
int32_t lift97_row(D d, float k, const float* x, const float* a, const float* b, float scale,
                   float* out, int32_t i, int32_t n) {
  const int32_t lanes = static_cast<int32_t>(hn::Lanes(d));
  const auto k_v = hn::Set(d, k);
  const auto scale_v = hn::Set(d, scale);
  for (; i + lanes <= n; i += lanes) {
    const auto v = lift97_v(hn::LoadU(d, x + i), k_v, hn::LoadU(d, a + i), hn::LoadU(d, b + i));
    hn::StoreU(hn::Mul(v, scale_v), d, out + i);
  }
  return i;
}

template <class D>
int32_t step97_row(D d, const Strip<float>& s, int32_t t, int32_t i, int32_t n) {
  const int32_t lanes = static_cast<int32_t>(hn::Lanes(d));
  const auto alpha = hn::Set(d, kAlpha97);
  const auto beta = hn::Set(d, kBeta97);
  const auto gamma = hn::Set(d, kGamma97);
  const auto delta = hn::Set(d, kDelta97);
  const auto scale = hn::Set(d, kLowScale97);
  const float* source_low0 = s.source_low(t - s.parity);
  const float* source_low1 = s.source_low(t + 1 - s.parity);
  const float* source_high = s.source_high(t);
  const float* high2 = s.high(t - 2);
  float* high1 = s.high(t - 1);
  float* high0 = s.high(t);
  float* low1 = s.low(t - 1 - s.parity);
  float* low0 = s.low(t - s.parity);
  for (; i + lanes <= n; i += lanes) {
    const auto s_prev = hn::LoadU(d, source_low0 + i);
    const auto d1_prev = hn::LoadU(d, high1 + i);
    const auto s1_prev = hn::LoadU(d, low1 + i);
    const auto d1 =
        lift97_v(hn::LoadU(d, source_high + i), alpha, s_prev, hn::LoadU(d, source_low1 + i));
    const auto s1 = lift97_v(s_prev, beta, d1_prev, d1);
    const auto d2 = lift97_v(d1_prev, gamma, s1_prev, s1);
    const auto s2 = lift97_v(s1_prev, delta, hn::LoadU(d, high2 + i), d2);
    hn::StoreU(d1, d, high0 + i);
    hn::StoreU(d2, d, high1 + i);
    hn::StoreU(s1, d, low0 + i);
    hn::StoreU(hn::Mul(s2, scale), d, low1 + i);
  }
  return i;
}

template <class D>
int32_t lift53_high_row(D d, const Strip<int32_t>& s, int32_t high, int32_t i, int32_t n) {
  const int32_t lanes = static_cast<int32_t>(hn::Lanes(d));
  const int32_t* x = s.source_high(high);
  const int32_t* a = s.source_low(high - s.parity);
  const int32_t* b = s.source_low(high + 1 - s.parity);
  int32_t* out = s.high(high);
  for (; i + lanes <= n; i += lanes) {
    const auto v = lift53_high_v(hn::LoadU(d, x + i), hn::LoadU(d, a + i), hn::LoadU(d, b + i));
    hn::StoreU(v, d, out + i);
  }
  return i;
}

template <class D>
int32_t lift53_low_row(D d, const Strip<int32_t>& s, int32_t low, int32_t i, int32_t n) {
  const int32_t lanes = static_cast<int32_t>(hn::Lanes(d));
  const auto two = hn::Set(d, 2);
  const int32_t* x = s.source_low(low);
  const int32_t* a = s.high(low - 1 + s.parity);
  const int32_t* b = s.high(low + s.parity);
  int32_t* out = s.low(low);
  for (; i + lanes <= n; i += lanes) {
    const auto v = lift53_low_v(hn::LoadU(d, x + i), hn::LoadU(d, a + i), hn::LoadU(d, b + i), two);
    hn::StoreU(v, d, out + i);
  }
  return i;
}

template <class D>
int32_t step53_row(D d, const Strip<int32_t>& s, int32_t t, int32_t i, int32_t n) {
  const int32_t lanes = static_cast<int32_t>(hn::Lanes(d));
  const auto two = hn::Set(d, 2);
  const int32_t* source_low0 = s.source_low(t - s.parity);
  const int32_t* source_low1 = s.source_low(t + 1 - s.parity);
  const int32_t* source_high = s.source_high(t);
  const int32_t* high1 = s.high(t - 1);
  int32_t* high0 = s.high(t);
  int32_t* low0 = s.low(t - s.parity);
  for (; i + lanes <= n; i += lanes) {
    const auto s0 = hn::LoadU(d, source_low0 + i);
    const auto d1 = lift53_high_v(hn::LoadU(d, source_high + i), s0, hn::LoadU(d, source_low1 + i));
    const auto s1 = lift53_low_v(s0, hn::LoadU(d, high1 + i), d1, two);
    hn::StoreU(d1, d, high0 + i);
    hn::StoreU(s1, d, low0 + i);
  }
  return i;
}

template <class D>
int32_t copy_row(D d, const float* from, float* to, int32_t i, int32_t n) {
  const int32_t lanes = static_cast<int32_t>(hn::Lanes(d));
  const auto scale = hn::Set(d, kHighScale97);
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::Mul(hn::LoadU(d, from + i), scale), d, to + i);
  return i;
}

template <class D>
int32_t copy_row(D d, const int32_t* from, int32_t* to, int32_t i, int32_t n) {
  const int32_t lanes = static_cast<int32_t>(hn::Lanes(d));
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
  return i;
}

/// Scales the high rows (9/7) and puts them below the low ones.
template <typename T>
void store_high_rows(const Strip<T>& s) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 1> d1;
  for (int32_t i = 0; i < s.num_high; ++i) {
    T* to = s.top + (s.num_low + i) * s.stride;
    copy_row(d1, s.high(i), to, copy_row(d, s.high(i), to, 0, s.columns), s.columns);
  }
}

void lift97_strip_row(const Strip<float>& s, float k, const float* x, const float* a,
                      const float* b, float scale, float* out) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> d1;
  const int32_t n = s.columns;
  lift97_row(d1, k, x, a, b, scale, out, lift97_row(d, k, x, a, b, scale, out, 0, n), n);
}

/// Steps whose neighbours are all there are fused; those at the top and bottom are done one by one.
void transform_strip(const Strip<float>& s) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> d1;
  const int32_t n = s.columns, p = s.parity;
  const int32_t fused_end = HWY_MIN(s.num_high, s.num_low + p);
  const int32_t last = HWY_MAX(s.num_high, s.num_low + p);
  for (int32_t t = 0; t <= last; ++t) {
    if (t >= 2 && t < fused_end) {
      step97_row(d1, s, t, step97_row(d, s, t, 0, n), n);
      continue;
    }
    if (t < s.num_high) {
      lift97_strip_row(s, kAlpha97, s.source_high(t), s.source_low(t - p), s.source_low(t + 1 - p),
                       1.0f, s.high(t));
    }
    if (t - p >= 0 && t - p < s.num_low) {
      lift97_strip_row(s, kBeta97, s.source_low(t - p), s.high(t - 1), s.high(t), 1.0f,
                       s.low(t - p));
    }
    if (t - 1 >= 0 && t - 1 < s.num_high) {
      lift97_strip_row(s, kGamma97, s.high(t - 1), s.low(t - 1 - p), s.low(t - p), 1.0f,
                       s.high(t - 1));
    }
    if (t - 1 - p >= 0 && t - 1 - p < s.num_low) {
      lift97_strip_row(s, kDelta97, s.low(t - 1 - p), s.high(t - 2), s.high(t - 1), kLowScale97,
                       s.low(t - 1 - p));
    }
  }
  store_high_rows(s);
}

void transform_strip(const Strip<int32_t>& s) {
  const hn::ScalableTag<int32_t> d;
  const hn::CappedTag<int32_t, 1> d1;
  const int32_t n = s.columns, p = s.parity;
  const int32_t last = HWY_MAX(s.num_high, s.num_low + p);
  for (int32_t t = 0; t < last; ++t) {
    if (t >= 1 && t < s.num_high && t - p < s.num_low) {
      step53_row(d1, s, t, step53_row(d, s, t, 0, n), n);
      continue;
    }
    if (t < s.num_high) {
      lift53_high_row(d1, s, t, lift53_high_row(d, s, t, 0, n), n);
    }
    if (t - p >= 0 && t - p < s.num_low) {
      lift53_low_row(d1, s, t - p, lift53_low_row(d, s, t - p, 0, n), n);
    }
  }
  store_high_rows(s);
}

template <typename T>
void double_samples(T* samples, ptrdiff_t step, int32_t count) {
  for (int32_t i = 0; i < count; ++i) samples[i * step] *= 2;
}

template <typename T>
void transform_columns(Plane<T> plane, int parity, int32_t begin, int32_t end, T* scratch) {
  if (plane.height == 1) {
    if (parity == 1) double_samples(plane.data + begin, 1, end - begin);
    return;
  }
  const int32_t num_low = lifting_low_count(plane.height, parity);
  for (int32_t x = begin; x < end; x += kStripColumns) {
    transform_strip(Strip<T>{plane.data + x, plane.stride_samples, HWY_MIN(kStripColumns, end - x),
                             num_low, plane.height - num_low, parity, align_to_line(scratch)});
  }
}

// ---- Rows ----

/// The halves of one row, each with kPad free samples on both sides. Steps run over whole vectors,
/// into the padding.
template <typename T>
struct Halves {
  T* low;
  T* high;
  int32_t num_low, num_high;
  int parity;

  const T* low_before() const { return low - parity; }
  const T* low_after() const { return low + 1 - parity; }
  const T* high_before() const { return high - 1 + parity; }
  const T* high_after() const { return high + parity; }
};

template <typename T>
Halves<T> split_scratch(T* scratch, int32_t width, int parity) {
  const int32_t num_low = lifting_low_count(width, parity);
  T* low = align_to_line(scratch) + kPad;
  T* high = low + (num_low + kLineSamples - 1) / kLineSamples * kLineSamples + 2 * kPad;
  return {low, high, num_low, width - num_low, parity};
}

template <typename T>
void load_row(const Halves<T>& h, const T* row) {
  const hn::ScalableTag<T> d;
  const int32_t lanes = static_cast<int32_t>(hn::Lanes(d));
  T* even = h.parity == 0 ? h.low : h.high;
  T* odd = h.parity == 0 ? h.high : h.low;
  const int32_t pairs = (h.num_low + h.num_high) / 2;
  int32_t i = 0;
  for (; i + lanes <= pairs; i += lanes) {
    hn::VFromD<decltype(d)> v0, v1;
    hn::LoadInterleaved2(d, row + 2 * i, v0, v1);
    hn::StoreU(v0, d, even + i);
    hn::StoreU(v1, d, odd + i);
  }
  for (; i < pairs; ++i) {
    even[i] = row[2 * i];
    odd[i] = row[2 * i + 1];
  }
  if (((h.num_low + h.num_high) & 1) != 0) even[i] = row[2 * i];
  // What the last vectors compute behind the halves is not used, but let it be finite.
  hn::StoreU(hn::Zero(d), d, h.low + h.num_low);
  hn::StoreU(hn::Zero(d), d, h.high + h.num_high);
}

/// Symmetric extension by the one sample that a step looks at.
template <typename T>
void extend(T* half, int32_t n) {
  half[-1] = half[0];
  half[n] = half[n - 1];
}

/// A vector of results goes to the row itself, except where it would run over the end of its half.
template <class D, class V, typename T = hn::TFromD<D>>
void store_in_row(D d, V v, T* row, int32_t i, int32_t n) {
  const int32_t lanes = static_cast<int32_t>(hn::Lanes(d));
  if (i + lanes <= n) {
    hn::StoreU(v, d, row + i);
    return;
  }
  HWY_ALIGN T tail[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(v, d, tail);
  for (int32_t lane = 0; i + lane < n; ++lane) row[i + lane] = tail[lane];
}

/// x[i] = lift97(x[i], k, a[i], b[i]), and x[i] * scale to `row` where there is one.
void lift97_half(float k, float* x, const float* a, const float* b, int32_t n, float scale,
                 float* row) {
  const hn::ScalableTag<float> d;
  const int32_t lanes = static_cast<int32_t>(hn::Lanes(d));
  const auto k_v = hn::Set(d, k);
  const auto scale_v = hn::Set(d, scale);
  for (int32_t i = 0; i < n; i += lanes) {
    const auto v = lift97_v(hn::LoadU(d, x + i), k_v, hn::LoadU(d, a + i), hn::LoadU(d, b + i));
    hn::StoreU(v, d, x + i);
    if (row != nullptr) store_in_row(d, hn::Mul(v, scale_v), row, i, n);
  }
}

void transform_row(const Halves<float>& h, float* row) {
  load_row(h, row);
  extend(h.low, h.num_low);
  lift97_half(kAlpha97, h.high, h.low_before(), h.low_after(), h.num_high, 1.0f, nullptr);
  extend(h.high, h.num_high);
  lift97_half(kBeta97, h.low, h.high_before(), h.high_after(), h.num_low, 1.0f, nullptr);
  extend(h.low, h.num_low);
  lift97_half(kGamma97, h.high, h.low_before(), h.low_after(), h.num_high, kHighScale97,
              row + h.num_low);
  extend(h.high, h.num_high);
  lift97_half(kDelta97, h.low, h.high_before(), h.high_after(), h.num_low, kLowScale97, row);
}

void transform_row(const Halves<int32_t>& h, int32_t* row) {
  const hn::ScalableTag<int32_t> d;
  const int32_t lanes = static_cast<int32_t>(hn::Lanes(d));
  const auto two = hn::Set(d, 2);
  load_row(h, row);
  extend(h.low, h.num_low);
  for (int32_t i = 0; i < h.num_high; i += lanes) {
    const auto v = lift53_high_v(hn::LoadU(d, h.high + i), hn::LoadU(d, h.low_before() + i),
                                 hn::LoadU(d, h.low_after() + i));
    hn::StoreU(v, d, h.high + i);
    store_in_row(d, v, row + h.num_low, i, h.num_high);
  }
  extend(h.high, h.num_high);
  for (int32_t i = 0; i < h.num_low; i += lanes) {
    const auto v = lift53_low_v(hn::LoadU(d, h.low + i), hn::LoadU(d, h.high_before() + i),
                                hn::LoadU(d, h.high_after() + i), two);
    store_in_row(d, v, row, i, h.num_low);
  }
}

template <typename T>
void transform_rows(Plane<T> plane, int parity, int32_t begin, int32_t end, T* scratch) {
  if (plane.width == 1) {
    if (parity == 1) double_samples(plane.row(begin), plane.stride_samples, end - begin);
    return;
  }
  const Halves<T> halves = split_scratch(scratch, plane.width, parity);
  for (int32_t y = begin; y < end; ++y) transform_row(halves, plane.row(y));
}

void vertical53(Plane<int32_t> plane, int parity, int32_t begin, int32_t end, int32_t* scratch) {
  transform_columns(plane, parity, begin, end, scratch);
}
void horizontal53(Plane<int32_t> plane, int parity, int32_t begin, int32_t end, int32_t* scratch) {
  transform_rows(plane, parity, begin, end, scratch);
}
void vertical97(Plane<float> plane, int parity, int32_t begin, int32_t end, float* scratch) {
  transform_columns(plane, parity, begin, end, scratch);
}
void horizontal97(Plane<float> plane, int parity, int32_t begin, int32_t end, float* scratch) {
  transform_rows(plane, parity, begin, end, scratch);
}

int64_t target() { return HWY_TARGET; }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cj2k::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cj2k {

size_t dwt_scratch_samples(int32_t width, int32_t height) {
  const size_t strip = (static_cast<size_t>(height) / 2 + 1) * simd::kStripColumns;
  const size_t row = static_cast<size_t>(width) + 4 * simd::kPad + 2 * simd::kLineSamples;
  // The reference takes one line. All begin at the next 64-byte boundary.
  const size_t line = static_cast<size_t>(HWY_MAX(width, height));
  return HWY_MAX(HWY_MAX(strip, row), line) + simd::kLineSamples;
}

namespace simd {
namespace {
HWY_EXPORT(vertical53);
HWY_EXPORT(horizontal53);
HWY_EXPORT(vertical97);
HWY_EXPORT(horizontal97);
HWY_EXPORT(target);
}  // namespace

void dwt53_vertical(Plane<int32_t> plane, int parity, int32_t column_begin, int32_t column_end,
                    int32_t* scratch) {
  HWY_DYNAMIC_DISPATCH(vertical53)(plane, parity, column_begin, column_end, scratch);
}

void dwt53_horizontal(Plane<int32_t> plane, int parity, int32_t row_begin, int32_t row_end,
                      int32_t* scratch) {
  HWY_DYNAMIC_DISPATCH(horizontal53)(plane, parity, row_begin, row_end, scratch);
}

void dwt97_vertical(Plane<float> plane, int parity, int32_t column_begin, int32_t column_end,
                    float* scratch) {
  HWY_DYNAMIC_DISPATCH(vertical97)(plane, parity, column_begin, column_end, scratch);
}

void dwt97_horizontal(Plane<float> plane, int parity, int32_t row_begin, int32_t row_end,
                      float* scratch) {
  HWY_DYNAMIC_DISPATCH(horizontal97)(plane, parity, row_begin, row_end, scratch);
}

int64_t dwt_target() { return HWY_DYNAMIC_DISPATCH(target)(); }

}  // namespace simd
}  // namespace cj2k
#endif
