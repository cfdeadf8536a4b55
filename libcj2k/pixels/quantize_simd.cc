// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cstdlib>

#include "core/distortion.h"
#include "core/quantizer.h"
#include "pixels/quantize.h"
#include "pixels/target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pixels/quantize_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace cj2k::simd {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class DU>
uint32_t or_of_lanes(DU d, hn::VFromD<DU> v) {
  HWY_ALIGN uint32_t lanes[HWY_MAX_BYTES / sizeof(uint32_t)];
  hn::Store(v, d, lanes);
  uint32_t all = 0;
  for (size_t i = 0; i < hn::Lanes(d); ++i) all |= lanes[i];
  return all;
}

/// The magnitude with the sign bit of `sign_source`, or 0 without a sign.
template <class DU, class V>
V with_sign(DU d, V sign_source, V magnitude) {
  const V sign = hn::And(sign_source, hn::Set(d, kSignBit));
  return hn::Or(magnitude, hn::IfThenZeroElse(hn::Eq(magnitude, hn::Zero(d)), sign));
}

template <class D>
hn::VFromD<D> load_widened(D d, const int32_t* from) {
  return hn::LoadU(d, from);
}
template <class D>
hn::VFromD<D> load_widened(D d, const int16_t* from) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<int16_t, D>(), from));
}

uint32_t quantize97(const float* src, ptrdiff_t src_stride, int width, int height,
                    const Quantizer97& quantizer, uint32_t* out, ptrdiff_t out_stride) {
  const hn::ScalableTag<float> df;
  const hn::RebindToSigned<decltype(df)> di;
  const hn::RebindToUnsigned<decltype(df)> du;
  const int lanes = static_cast<int>(hn::Lanes(df));
  const float rounder = quantizer_rounder(quantizer.unit);
  const float limit = quantizer_limit(quantizer.max_magnitude);
  const auto limit_v = hn::Set(df, limit);
  const auto max_v = hn::Set(du, quantizer.max_magnitude);
  const auto rounder_v = hn::Set(df, rounder);
  const auto inverse_v = hn::Set(df, quantizer.inverse_step);
  auto all_v = hn::Zero(du);
  uint32_t all = 0;
  for (int y = 0; y < height; ++y, src += src_stride, out += out_stride) {
    int x = 0;
    for (; x + lanes <= width; x += lanes) {
      const auto c = hn::LoadU(df, src + x);
      const auto q = hn::Mul(hn::Sub(hn::Add(hn::Abs(c), rounder_v), rounder_v), inverse_v);
      const auto truncated = hn::BitCast(du, hn::ConvertTo(di, hn::Min(q, limit_v)));
      const auto clamped = hn::RebindMask(du, hn::Gt(q, limit_v));
      const auto magnitude = hn::IfThenElse(clamped, max_v, truncated);
      hn::StoreU(with_sign(du, hn::BitCast(du, c), magnitude), du, out + x);
      all_v = hn::Or(all_v, magnitude);
    }
    for (; x < width; ++x) {
      const uint32_t magnitude = quantize97_magnitude(src[x], rounder, quantizer.inverse_step,
                                                      limit, quantizer.max_magnitude);
      out[x] = sign_magnitude(src[x] < 0, magnitude);
      all |= magnitude;
    }
  }
  return all | or_of_lanes(du, all_v);
}

/// The products stay far below 2^31.
uint32_t quantize97_16(const int16_t* src, ptrdiff_t src_stride, int width, int height,
                       const Quantizer97& quantizer, uint32_t* out, ptrdiff_t out_stride) {
  const hn::ScalableTag<int32_t> di;
  const hn::RebindToUnsigned<decltype(di)> du;
  const hn::RebindToFloat<decltype(di)> df;
  const int lanes = static_cast<int>(hn::Lanes(di));
  const float inverse = quantizer.inverse_step * quantizer.unit;
  const auto most = static_cast<int32_t>(quantizer.max_magnitude);
  const auto inverse_v = hn::Set(df, inverse);
  const auto most_v = hn::Set(di, most);
  auto all_v = hn::Zero(du);
  uint32_t all = 0;
  for (int y = 0; y < height; ++y, src += src_stride, out += out_stride) {
    int x = 0;
    for (; x + lanes <= width; x += lanes) {
      const auto c = hn::ConvertTo(df, load_widened(di, src + x));
      const auto q = hn::ConvertTo(di, hn::Mul(c, inverse_v));
      const auto magnitude = hn::BitCast(du, hn::Min(hn::Abs(q), most_v));
      const auto sign = hn::And(hn::BitCast(du, q), hn::Set(du, kSignBit));
      hn::StoreU(hn::Or(magnitude, sign), du, out + x);
      all_v = hn::Or(all_v, magnitude);
    }
    for (; x < width; ++x) {
      const auto q = static_cast<int32_t>(static_cast<float>(src[x]) * inverse);
      const auto magnitude = static_cast<uint32_t>(std::min(std::abs(q), most));
      out[x] = sign_magnitude(q < 0, magnitude);
      all |= magnitude;
    }
  }
  return all | or_of_lanes(du, all_v);
}

template <typename Sample>
uint32_t quantize53_of(const Sample* src, ptrdiff_t src_stride, int width, int height,
                       uint32_t* out, ptrdiff_t out_stride) {
  const hn::ScalableTag<int32_t> di;
  const hn::RebindToUnsigned<decltype(di)> du;
  const int lanes = static_cast<int>(hn::Lanes(di));
  auto all_v = hn::Zero(du);
  uint32_t all = 0;
  for (int y = 0; y < height; ++y, src += src_stride, out += out_stride) {
    int x = 0;
    for (; x + lanes <= width; x += lanes) {
      const auto c = load_widened(di, src + x);
      const auto magnitude = hn::BitCast(du, hn::Abs(c));
      hn::StoreU(hn::Or(magnitude, hn::And(hn::BitCast(du, c), hn::Set(du, kSignBit))), du,
                 out + x);
      all_v = hn::Or(all_v, magnitude);
    }
    for (; x < width; ++x) {
      const uint32_t magnitude = static_cast<uint32_t>(src[x] < 0 ? -src[x] : src[x]);
      out[x] = sign_magnitude(src[x] < 0, magnitude);
      all |= magnitude;
    }
  }
  return all | or_of_lanes(du, all_v);
}

uint32_t quantize53(const int32_t* src, ptrdiff_t src_stride, int width, int height, uint32_t* out,
                    ptrdiff_t out_stride) {
  return quantize53_of(src, src_stride, width, height, out, out_stride);
}
uint32_t quantize53_16(const int16_t* src, ptrdiff_t src_stride, int width, int height,
                       uint32_t* out, ptrdiff_t out_stride) {
  return quantize53_of(src, src_stride, width, height, out, out_stride);
}

uint64_t left_error(const uint32_t* samples, ptrdiff_t stride, int width, int height, int planes,
                    bool reversible) {
  const hn::ScalableTag<uint32_t> du;
  const hn::RebindToSigned<decltype(du)> di;
  const int lanes = static_cast<int>(hn::Lanes(du));
  const LeftPlanes left(planes, reversible);
  const uint32_t low_bits = (uint32_t{1} << left.count) - 1;
  const auto magnitude_bits = hn::Set(du, 0x7FFFFFFFu);
  const auto low_v = hn::Set(du, low_bits);
  const auto bias = hn::Set(du, left.bias);
  const auto middle = hn::Set(du, low_bits + 1);
  constexpr int kFewestLanes = 4;  // then 32-bit sums hold 4096 terms of at most 2047^2
  auto sum_v = hn::Zero(du);
  uint64_t sum = 0;
  for (int y = 0; y < height; ++y, samples += stride) {
    int x = 0;
    for (; lanes >= kFewestLanes && x + lanes <= width; x += lanes) {
      const auto magnitude = hn::And(hn::LoadU(du, samples + x), magnitude_bits);
      const auto value = hn::ShiftRightSame(magnitude, left.shift);
      const auto low = hn::And(value, low_v);
      const auto is_above = hn::Gt(hn::BitCast(di, value), hn::BitCast(di, low_v));
      const auto reconstructed = hn::IfThenElseZero(hn::RebindMask(du, is_above), middle);
      const auto error = hn::Sub(hn::Add(hn::Add(low, low), bias), reconstructed);
      sum_v = hn::Add(sum_v, hn::Mul(error, error));
    }
    for (; x < width; ++x) sum += left.term(samples[x]);
  }
  HWY_ALIGN uint32_t sums[HWY_MAX_BYTES / sizeof(uint32_t)];
  hn::Store(sum_v, du, sums);
  for (int i = 0; i < lanes; ++i) sum += sums[i];
  return sum;
}

int64_t target() { return HWY_TARGET; }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cj2k::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cj2k::simd {
namespace {
HWY_EXPORT(quantize97);
HWY_EXPORT(quantize97_16);
HWY_EXPORT(quantize53);
HWY_EXPORT(quantize53_16);
HWY_EXPORT(left_error);
HWY_EXPORT(target);
}  // namespace

uint32_t quantize_97(const float* src, ptrdiff_t src_stride, int width, int height,
                     const Quantizer97& quantizer, uint32_t* out, ptrdiff_t out_stride) {
  return HWY_DYNAMIC_DISPATCH(quantize97)(src, src_stride, width, height, quantizer, out,
                                          out_stride);
}

uint32_t quantize_97(const int16_t* src, ptrdiff_t src_stride, int width, int height,
                     const Quantizer97& quantizer, uint32_t* out, ptrdiff_t out_stride) {
  return HWY_DYNAMIC_DISPATCH(quantize97_16)(src, src_stride, width, height, quantizer, out,
                                             out_stride);
}

uint32_t quantize_53(const int32_t* src, ptrdiff_t src_stride, int width, int height, uint32_t* out,
                     ptrdiff_t out_stride) {
  return HWY_DYNAMIC_DISPATCH(quantize53)(src, src_stride, width, height, out, out_stride);
}

uint32_t quantize_53(const int16_t* src, ptrdiff_t src_stride, int width, int height, uint32_t* out,
                     ptrdiff_t out_stride) {
  return HWY_DYNAMIC_DISPATCH(quantize53_16)(src, src_stride, width, height, out, out_stride);
}

uint64_t left_distortion(const uint32_t* samples, ptrdiff_t stride, int width, int height,
                         int planes, bool reversible) {
  return HWY_DYNAMIC_DISPATCH(left_error)(samples, stride, width, height, planes, reversible);
}

int64_t quantize_target() { return HWY_DYNAMIC_DISPATCH(target)(); }

}  // namespace cj2k::simd
#endif
