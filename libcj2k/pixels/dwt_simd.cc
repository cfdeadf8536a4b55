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

template <typename Row, typename T>
void split(const DwtLine& layout, const Row* row, T* line) {
  const hn::ScalableTag<T> d;
  const hn::Rebind<Row, decltype(d)> d_row;
  const int32_t lanes = static_cast<int32_t>(hn::Lanes(d));
  T* even = line + (layout.parity == 0 ? layout.low : layout.high);
  T* odd = line + (layout.parity == 0 ? layout.high : layout.low);
  const int32_t width = layout.num_low + layout.num_high;
  int32_t i = 0;
  for (; i + lanes <= width / 2; i += lanes) {
    hn::VFromD<decltype(d_row)> v0, v1;
    hn::LoadInterleaved2(d_row, row + 2 * i, v0, v1);
    hn::StoreU(widened(d, v0), d, even + i);
    hn::StoreU(widened(d, v1), d, odd + i);
  }
  for (; i < width / 2; ++i) {
    even[i] = row[2 * i];
    odd[i] = row[2 * i + 1];
  }
  if ((width & 1) != 0) even[i] = row[2 * i];
}

void split53(const DwtLine& layout, const int32_t* row, int32_t* line) { split(layout, row, line); }
void split53_16(const DwtLine& layout, const int16_t* row, int32_t* line) {
  split(layout, row, line);
}
void split97(const DwtLine& layout, const float* row, float* line) { split(layout, row, line); }

// ---- Vertical ----

void step53(ptrdiff_t samples, const int32_t* s0, const int32_t* d, const int32_t* s1,
            int32_t* state, int32_t* low, int32_t* high) {
  const hn::ScalableTag<int32_t> tag;
  const int32_t lanes = static_cast<int32_t>(hn::Lanes(tag));
  const auto two = hn::Set(tag, 2);
  for (ptrdiff_t i = 0; i < samples; i += lanes) {
    const auto s = hn::LoadU(tag, s0 + i);
    const auto d1 = lift53_high_v(hn::LoadU(tag, d + i), s, hn::LoadU(tag, s1 + i));
    hn::StoreU(lift53_low_v(s, hn::LoadU(tag, state + i), d1, two), tag, low + i);
    hn::StoreU(d1, tag, high + i);
    hn::StoreU(d1, tag, state + i);
  }
}

void step97(ptrdiff_t samples, const float* s0, const float* d, const float* s1, float* state,
            float* low, float* high) {
  const hn::ScalableTag<float> tag;
  const int32_t lanes = static_cast<int32_t>(hn::Lanes(tag));
  const auto alpha = hn::Set(tag, kAlpha97);
  const auto beta = hn::Set(tag, kBeta97);
  const auto gamma = hn::Set(tag, kGamma97);
  const auto delta = hn::Set(tag, kDelta97);
  const auto low_scale = hn::Set(tag, kLowScale97);
  const auto high_scale = hn::Set(tag, kHighScale97);
  float* state_d1 = state;
  float* state_s1 = state + samples;
  float* state_d2 = state + 2 * samples;
  for (ptrdiff_t i = 0; i < samples; i += lanes) {
    const auto s_v = hn::LoadU(tag, s0 + i);
    const auto d1_before = hn::LoadU(tag, state_d1 + i);
    const auto s1_before = hn::LoadU(tag, state_s1 + i);
    const auto d1_v = lift97_v(hn::LoadU(tag, d + i), alpha, s_v, hn::LoadU(tag, s1 + i));
    const auto s1_v = lift97_v(s_v, beta, d1_before, d1_v);
    const auto d2_v = lift97_v(d1_before, gamma, s1_before, s1_v);
    const auto s2_v = lift97_v(s1_before, delta, hn::LoadU(tag, state_d2 + i), d2_v);
    hn::StoreU(d1_v, tag, state_d1 + i);
    hn::StoreU(s1_v, tag, state_s1 + i);
    hn::StoreU(d2_v, tag, state_d2 + i);
    hn::StoreU(hn::Mul(s2_v, low_scale), tag, low + i);
    hn::StoreU(hn::Mul(d2_v, high_scale), tag, high + i);
  }
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
    const float most = quantizer_.most;
    results_.set_single(static_cast<int16_t>(std::clamp(v * quantizer_.inverse_step, -most, most)));
  }
  template <class D, class V>
  void store(D d, V v, int32_t i) const {
    const auto most = hn::Set(d, quantizer_.most);
    const auto q = hn::Mul(v, hn::Set(d, quantizer_.inverse_step));
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
HWY_EXPORT(split53);
HWY_EXPORT(split53_16);
HWY_EXPORT(split97);
HWY_EXPORT(step53);
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

void dwt_split(const DwtLine& layout, const int32_t* row, int32_t* line) {
  HWY_DYNAMIC_DISPATCH(split53)(layout, row, line);
}

void dwt_split(const DwtLine& layout, const int16_t* row, int32_t* line) {
  HWY_DYNAMIC_DISPATCH(split53_16)(layout, row, line);
}

void dwt_split(const DwtLine& layout, const float* row, float* line) {
  HWY_DYNAMIC_DISPATCH(split97)(layout, row, line);
}

void dwt_step(ptrdiff_t samples, const int32_t* s0, const int32_t* d, const int32_t* s1,
              int32_t* state, int32_t* low, int32_t* high) {
  HWY_DYNAMIC_DISPATCH(step53)(samples, s0, d, s1, state, low, high);
}

void dwt_step(ptrdiff_t samples, const float* s0, const float* d, const float* s1, float* state,
              float* low, float* high) {
  HWY_DYNAMIC_DISPATCH(step97)(samples, s0, d, s1, state, low, high);
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
