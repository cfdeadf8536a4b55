// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
//   step t of 9/7:  d1[t]   = d[t]    + alpha (s[t]    + s[t+1])
//                   s1[t]   = s[t]    + beta  (d1[t-1] + d1[t])
//                   d2[t-1] = d1[t-1] + gamma (s1[t-1] + s1[t])
//                   s2[t-1] = s1[t-1] + delta (d2[t-2] + d2[t-1])
//
// In the vertical direction all samples of a line do this at once, in any order. In the horizontal
// direction the neighbours are in the other half of the line, at the same index or next to it, and
// each lifting step is a loop over one half.
#include <algorithm>

#include "core/lifting.h"
#include "pixels/dwt.h"
#include "pixels/target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pixels/dwt_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace cj2k::simd {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

static_assert(HWY_MAX_BYTES <= kDwtVector * sizeof(float));

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

template <class D, class V>
auto widened(D d, V v) {
  if constexpr (sizeof(hn::TFromV<V>) < sizeof(hn::TFromD<D>)) {
    return hn::PromoteTo(d, v);
  } else {
    return v;
  }
}

// ---- Vertical ----

/// Calls work(tag, index in a line, vectors of the rows s0, d and s1) for the vectors of a line. The last ones are
/// filled with zeros, and go into the room after each half.
template <typename T, typename Row, class Work>
HWY_INLINE void for_vectors(const DwtLine& layout, const Row* s0, const Row* d, const Row* s1,
                            const Work& work) {
  const hn::ScalableTag<T> tag;
  const hn::Rebind<Row, decltype(tag)> tag_row;
  const int32_t lanes = static_cast<int32_t>(hn::Lanes(tag));
  const ptrdiff_t even = layout.parity == 0 ? layout.low : layout.high;
  const ptrdiff_t odd = layout.parity == 0 ? layout.high : layout.low;
  const auto pair = [&](const Row* a, const Row* b, const Row* c, int32_t i) HWY_ATTR {
    hn::VFromD<decltype(tag_row)> a0, a1, b0, b1, c0, c1;
    hn::LoadInterleaved2(tag_row, a, a0, a1);
    hn::LoadInterleaved2(tag_row, b, b0, b1);
    hn::LoadInterleaved2(tag_row, c, c0, c1);
    work(tag, even + i, widened(tag, a0), widened(tag, b0), widened(tag, c0));
    work(tag, odd + i, widened(tag, a1), widened(tag, b1), widened(tag, c1));
  };
  const int32_t width = layout.num_low + layout.num_high;
  int32_t i = 0;
  for (; i + lanes <= width / 2; i += lanes) pair(s0 + 2 * i, d + 2 * i, s1 + 2 * i, i);
  const int32_t left = width - 2 * i;
  if (left == 0) return;
  constexpr size_t kMostSamples = 2 * HWY_MAX_BYTES / sizeof(T);
  HWY_ALIGN Row rest[3][kMostSamples] = {};
  std::copy_n(s0 + 2 * i, left, rest[0]);
  std::copy_n(d + 2 * i, left, rest[1]);
  std::copy_n(s1 + 2 * i, left, rest[2]);
  pair(rest[0], rest[1], rest[2], i);
}

template <typename Row>
void step53_of(const DwtLine& layout, const Row* s0, const Row* d, const Row* s1, int32_t* state,
               int32_t* low, int32_t* high) {
  const auto work = [=](auto tag, ptrdiff_t i, auto s_v, auto d_v, auto next_v) HWY_ATTR {
    const auto d1 = lift53_high_v(d_v, s_v, next_v);
    hn::StoreU(lift53_low_v(s_v, hn::LoadU(tag, state + i), d1, hn::Set(tag, 2)), tag, low + i);
    hn::StoreU(d1, tag, high + i);
    hn::StoreU(d1, tag, state + i);
  };
  for_vectors<int32_t>(layout, s0, d, s1, work);
}
void step53(const DwtLine& layout, const int32_t* s0, const int32_t* d, const int32_t* s1,
            int32_t* state, int32_t* low, int32_t* high) {
  step53_of(layout, s0, d, s1, state, low, high);
}
void step53_16(const DwtLine& layout, const int16_t* s0, const int16_t* d, const int16_t* s1,
               int32_t* state, int32_t* low, int32_t* high) {
  step53_of(layout, s0, d, s1, state, low, high);
}

void step97(const DwtLine& layout, const float* s0, const float* d, const float* s1, float* state,
            float* low, float* high) {
  float* const state_d1 = state;
  float* const state_s1 = state + layout.samples;
  float* const state_d2 = state + 2 * layout.samples;
  const auto work = [=](auto tag, ptrdiff_t i, auto s_v, auto d_v, auto next_v) HWY_ATTR {
    const auto d1_before = hn::LoadU(tag, state_d1 + i);
    const auto s1_before = hn::LoadU(tag, state_s1 + i);
    const auto d1_v = lift97_v(d_v, hn::Set(tag, kAlpha97), s_v, next_v);
    const auto s1_v = lift97_v(s_v, hn::Set(tag, kBeta97), d1_before, d1_v);
    const auto d2_v = lift97_v(d1_before, hn::Set(tag, kGamma97), s1_before, s1_v);
    const auto s2_v =
        lift97_v(s1_before, hn::Set(tag, kDelta97), hn::LoadU(tag, state_d2 + i), d2_v);
    hn::StoreU(d1_v, tag, state_d1 + i);
    hn::StoreU(s1_v, tag, state_s1 + i);
    hn::StoreU(d2_v, tag, state_d2 + i);
    hn::StoreU(hn::Mul(s2_v, hn::Set(tag, kLowScale97)), tag, low + i);
    hn::StoreU(hn::Mul(d2_v, hn::Set(tag, kHighScale97)), tag, high + i);
  };
  for_vectors<float>(layout, s0, d, s1, work);
}

// ---- Horizontal ----

/// The halves of a line and their neighbours. Steps run over whole vectors, into the room after
/// each half.
template <typename T>
struct Halves {
  Halves(const DwtLine& layout, T* line)
      : low(line + layout.low),
        high(line + layout.high),
        num_low(layout.num_low),
        num_high(layout.num_high),
        parity(layout.parity) {}
  T *low, *high;
  int32_t num_low, num_high;
  int parity;

  const T* low_before() const { return low - parity; }
  const T* low_after() const { return low + 1 - parity; }
  const T* high_before() const { return high - 1 + parity; }
  const T* high_after() const { return high + parity; }
};

/// Symmetric extension by one sample on each side, which is as far as a step reads.
template <typename T>
void extend(T* half, int32_t n) {
  half[-1] = half[0];
  half[n] = half[n - 1];
}

/// The memory for the results of a row. If it is aligned, streaming stores bypass the caches:
/// results are read again only when the whole level has been written.
template <typename T, bool kStreams = true>
class Results {
 public:
  Results(T* out, int32_t n)
      : out_(out),
        n_(n),
        is_aligned_(
            reinterpret_cast<uintptr_t>(out) % (hn::Lanes(hn::ScalableTag<T>()) * sizeof(T)) == 0) {
  }
  template <typename V>
  void set_single(V v) const {
    out_[0] = static_cast<T>(v);
  }
  /// Stores a vector at index i; lanes at index n and beyond are dropped.
  template <class D, class V>
  void store(D d, V v, int32_t i) const {
    if constexpr (sizeof(T) < sizeof(hn::TFromD<D>)) {
      const hn::Rebind<T, D> narrow;
      store(narrow, hn::DemoteTo(narrow, v), i);
    } else {
      constexpr size_t kLeastStreamed = 16;  // less cannot be streamed
      const int32_t lanes = static_cast<int32_t>(hn::Lanes(d));
      if (i + lanes > n_) {
        HWY_ALIGN T tail[HWY_MAX_BYTES / sizeof(T)];
        hn::Store(v, d, tail);
        for (int32_t lane = 0; i + lane < n_; ++lane) out_[i + lane] = tail[lane];
      } else if (kStreams && is_aligned_ && hn::Lanes(d) * sizeof(T) >= kLeastStreamed) {
        hn::Stream(v, d, out_ + i);
      } else {
        hn::StoreU(v, d, out_ + i);
      }
    }
  }

 private:
  T* out_;
  int32_t n_;
  bool is_aligned_;
};

/// The same with floats that are quantised. The limit comes before the conversion, which truncates.
class QuantizedResults {
 public:
  QuantizedResults(const QuantizedRow& row, int32_t n)
      : results_(row.out, n), quantizer_(row.quantizer) {}
  void set_single(float v) const {
    const float most = quantizer_.most, rounder = quantizer_.rounder;
    const float q = (v * quantizer_.inverse_step + rounder) - rounder;
    results_.set_single(static_cast<int16_t>(std::clamp(q, -most, most)));
  }
  template <class D, class V>
  void store(D d, V v, int32_t i) const {
    const auto most = hn::Set(d, quantizer_.most);
    const auto rounder = hn::Set(d, quantizer_.rounder);
    const auto q =
        hn::Sub(hn::Add(hn::Mul(v, hn::Set(d, quantizer_.inverse_step)), rounder), rounder);
    const hn::RebindToSigned<D> d_integer;
    const auto limited = hn::Max(hn::Min(q, most), hn::Neg(most));
    results_.store(d_integer, hn::ConvertTo(d_integer, limited), i);
  }

 private:
  Results<int16_t> results_;
  DwtQuantizer quantizer_;
};

struct NoResults {
  template <class D, class V>
  void store(D, V, int32_t) const {}
};

/// x[i] = lift97(x[i], k, a[i], b[i]). Stores x[i] * scale to `out`.
template <class Out>
void lift97_half(float k, float* x, const float* a, const float* b, int32_t n, float scale,
                 const Out out) {
  const hn::ScalableTag<float> d;
  const int32_t lanes = static_cast<int32_t>(hn::Lanes(d));
  const auto k_v = hn::Set(d, k);
  const auto scale_v = hn::Set(d, scale);
  for (int32_t i = 0; i < n; i += lanes) {
    const auto v = lift97_v(hn::LoadU(d, x + i), k_v, hn::LoadU(d, a + i), hn::LoadU(d, b + i));
    hn::StoreU(v, d, x + i);
    out.store(d, hn::Mul(v, scale_v), i);
  }
}

/// Handles a row of one sample, which has no neighbours to lift with (F.4.8). @return whether it is
/// one
template <typename T, class Low, class High>
bool is_single(const Halves<T>& h, const Low& low, const High& high) {
  if (h.num_low + h.num_high != 1) return false;
  if (h.num_low == 1) low.set_single(h.low[0]);
  if (h.num_high == 1) high.set_single(h.high[0] * 2);
  return true;
}

template <class Low, class High>
void row97_to(const Halves<float>& h, const Low& low, const High& high) {
  if (is_single(h, low, high)) return;
  extend(h.low, h.num_low);
  lift97_half(kAlpha97, h.high, h.low_before(), h.low_after(), h.num_high, 1.0f, NoResults());
  extend(h.high, h.num_high);
  lift97_half(kBeta97, h.low, h.high_before(), h.high_after(), h.num_low, 1.0f, NoResults());
  extend(h.low, h.num_low);
  lift97_half(kGamma97, h.high, h.low_before(), h.low_after(), h.num_high, kHighScale97, high);
  extend(h.high, h.num_high);
  lift97_half(kDelta97, h.low, h.high_before(), h.high_after(), h.num_low, kLowScale97, low);
}

void row97(const DwtLine& layout, float* line, float* low, float* high) {
  const Halves<float> h(layout, line);
  row97_to(h, Results<float>(low, h.num_low), Results<float>(high, h.num_high));
}
void row97_cached(const DwtLine& layout, float* line, float* low, float* high) {
  const Halves<float> h(layout, line);
  row97_to(h, Results<float, false>(low, h.num_low), Results<float>(high, h.num_high));
}
void row97_cached_16(const DwtLine& layout, float* line, float* low, const QuantizedRow& high) {
  const Halves<float> h(layout, line);
  row97_to(h, Results<float, false>(low, h.num_low), QuantizedResults(high, h.num_high));
}
void row97_16(const DwtLine& layout, float* line, const QuantizedRow& low,
              const QuantizedRow& high) {
  const Halves<float> h(layout, line);
  row97_to(h, QuantizedResults(low, h.num_low), QuantizedResults(high, h.num_high));
}

template <class Low, class High>
void row53_to(const Halves<int32_t>& h, const Low low, const High high) {
  if (is_single(h, low, high)) return;
  const hn::ScalableTag<int32_t> d;
  const int32_t lanes = static_cast<int32_t>(hn::Lanes(d));
  const auto two = hn::Set(d, 2);
  extend(h.low, h.num_low);
  for (int32_t i = 0; i < h.num_high; i += lanes) {
    const auto v = lift53_high_v(hn::LoadU(d, h.high + i), hn::LoadU(d, h.low_before() + i),
                                 hn::LoadU(d, h.low_after() + i));
    hn::StoreU(v, d, h.high + i);
    high.store(d, v, i);
  }
  extend(h.high, h.num_high);
  for (int32_t i = 0; i < h.num_low; i += lanes) {
    const auto v = lift53_low_v(hn::LoadU(d, h.low + i), hn::LoadU(d, h.high_before() + i),
                                hn::LoadU(d, h.high_after() + i), two);
    low.store(d, v, i);
  }
}

void row53(const DwtLine& layout, int32_t* line, int32_t* low, int32_t* high) {
  const Halves<int32_t> h(layout, line);
  row53_to(h, Results<int32_t>(low, h.num_low), Results<int32_t>(high, h.num_high));
}
void row53_16(const DwtLine& layout, int32_t* line, int16_t* low, int16_t* high) {
  const Halves<int32_t> h(layout, line);
  row53_to(h, Results<int16_t>(low, h.num_low), Results<int16_t>(high, h.num_high));
}
void row53_cached(const DwtLine& layout, int32_t* line, int32_t* low, int32_t* high) {
  const Halves<int32_t> h(layout, line);
  row53_to(h, Results<int32_t, false>(low, h.num_low), Results<int32_t>(high, h.num_high));
}
void row53_cached_16(const DwtLine& layout, int32_t* line, int32_t* low, int16_t* high) {
  const Halves<int32_t> h(layout, line);
  row53_to(h, Results<int32_t, false>(low, h.num_low), Results<int16_t>(high, h.num_high));
}

int64_t target() { return HWY_TARGET; }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cj2k::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cj2k::simd {
namespace {
HWY_EXPORT(step53);
HWY_EXPORT(step53_16);
HWY_EXPORT(step97);
HWY_EXPORT(row53);
HWY_EXPORT(row53_16);
HWY_EXPORT(row53_cached);
HWY_EXPORT(row53_cached_16);
HWY_EXPORT(row97);
HWY_EXPORT(row97_cached);
HWY_EXPORT(row97_cached_16);
HWY_EXPORT(row97_16);
HWY_EXPORT(target);
}  // namespace

void dwt_step(const DwtLine& layout, const int32_t* s0, const int32_t* d, const int32_t* s1,
              int32_t* state, int32_t* low, int32_t* high) {
  HWY_DYNAMIC_DISPATCH(step53)(layout, s0, d, s1, state, low, high);
}

void dwt_step(const DwtLine& layout, const int16_t* s0, const int16_t* d, const int16_t* s1,
              int32_t* state, int32_t* low, int32_t* high) {
  HWY_DYNAMIC_DISPATCH(step53_16)(layout, s0, d, s1, state, low, high);
}

void dwt_step(const DwtLine& layout, const float* s0, const float* d, const float* s1, float* state,
              float* low, float* high) {
  HWY_DYNAMIC_DISPATCH(step97)(layout, s0, d, s1, state, low, high);
}

void dwt_row(const DwtLine& layout, int32_t* line, int32_t* low, int32_t* high) {
  HWY_DYNAMIC_DISPATCH(row53)(layout, line, low, high);
}

void dwt_row(const DwtLine& layout, int32_t* line, int16_t* low, int16_t* high) {
  HWY_DYNAMIC_DISPATCH(row53_16)(layout, line, low, high);
}

void dwt_row(const DwtLine& layout, float* line, float* low, float* high) {
  HWY_DYNAMIC_DISPATCH(row97)(layout, line, low, high);
}

void dwt_row(const DwtLine& layout, int32_t* line, CachedRow<int32_t> low, int32_t* high) {
  HWY_DYNAMIC_DISPATCH(row53_cached)(layout, line, low.out, high);
}

void dwt_row(const DwtLine& layout, int32_t* line, CachedRow<int32_t> low, int16_t* high) {
  HWY_DYNAMIC_DISPATCH(row53_cached_16)(layout, line, low.out, high);
}

void dwt_row(const DwtLine& layout, float* line, CachedRow<float> low, float* high) {
  HWY_DYNAMIC_DISPATCH(row97_cached)(layout, line, low.out, high);
}

void dwt_row(const DwtLine& layout, float* line, CachedRow<float> low, const QuantizedRow& high) {
  HWY_DYNAMIC_DISPATCH(row97_cached_16)(layout, line, low.out, high);
}

void dwt_row(const DwtLine& layout, float* line, const QuantizedRow& low,
             const QuantizedRow& high) {
  HWY_DYNAMIC_DISPATCH(row97_16)(layout, line, low, high);
}

int64_t dwt_target() { return HWY_DYNAMIC_DISPATCH(target)(); }

}  // namespace cj2k::simd
#endif
