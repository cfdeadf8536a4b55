// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "core/colour.h"
#include "pixels/colour.h"
#include "pixels/target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pixels/colour_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace cj2k::simd {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Each function takes the tag as an argument. It runs on whole vectors first, then with a tag of
// one lane on the rest of the row.
template <class D>
using OneLane = hn::CappedTag<hn::TFromD<D>, 1>;

template <class D>
int32_t rct_lanes(D d, int32_t* c0, int32_t* c1, int32_t* c2, int32_t x, int32_t count) {
  const int32_t lanes = static_cast<int32_t>(hn::Lanes(d));
  for (; x + lanes <= count; x += lanes) {
    const auto r = hn::LoadU(d, c0 + x);
    const auto g = hn::LoadU(d, c1 + x);
    const auto b = hn::LoadU(d, c2 + x);
    const auto sum = hn::Add(hn::Add(r, hn::Add(g, g)), b);
    hn::StoreU(hn::ShiftRight<2>(sum), d, c0 + x);
    hn::StoreU(hn::Sub(b, g), d, c1 + x);
    hn::StoreU(hn::Sub(r, g), d, c2 + x);
  }
  return x;
}

template <class DF, class V>
V ict_vector(DF d, V r, V g, V b, float kr, float kg, float kb) {
  const V rg = hn::Add(hn::Mul(hn::Set(d, kr), r), hn::Mul(hn::Set(d, kg), g));
  return hn::Add(rg, hn::Mul(hn::Set(d, kb), b));
}

template <class D>
int32_t ict_lanes(D d, int32_t* c0, int32_t* c1, int32_t* c2, int32_t x, int32_t count) {
  const hn::RebindToFloat<D> df;
  const int32_t lanes = static_cast<int32_t>(hn::Lanes(d));
  for (; x + lanes <= count; x += lanes) {
    const auto r = hn::ConvertTo(df, hn::LoadU(d, c0 + x));
    const auto g = hn::ConvertTo(df, hn::LoadU(d, c1 + x));
    const auto b = hn::ConvertTo(df, hn::LoadU(d, c2 + x));
    const auto y = ict_vector(df, r, g, b, kIctYr, kIctYg, kIctYb);
    const auto cb = ict_vector(df, r, g, b, kIctCbR, kIctCbG, kIctCbB);
    const auto cr = ict_vector(df, r, g, b, kIctCrR, kIctCrG, kIctCrB);
    hn::StoreU(hn::BitCast(d, y), d, c0 + x);
    hn::StoreU(hn::BitCast(d, cb), d, c1 + x);
    hn::StoreU(hn::BitCast(d, cr), d, c2 + x);
  }
  return x;
}

template <class D>
int32_t to_float_lanes(D d, int32_t* c, int32_t x, int32_t count) {
  const hn::RebindToFloat<D> df;
  const int32_t lanes = static_cast<int32_t>(hn::Lanes(d));
  for (; x + lanes <= count; x += lanes) {
    hn::StoreU(hn::BitCast(d, hn::ConvertTo(df, hn::LoadU(d, c + x))), d, c + x);
  }
  return x;
}

void rct(int32_t* c0, int32_t* c1, int32_t* c2, int32_t count) {
  const hn::ScalableTag<int32_t> d;
  const int32_t x = rct_lanes(d, c0, c1, c2, 0, count);
  rct_lanes(OneLane<decltype(d)>(), c0, c1, c2, x, count);
}

void ict(int32_t* c0, int32_t* c1, int32_t* c2, int32_t count) {
  const hn::ScalableTag<int32_t> d;
  const int32_t x = ict_lanes(d, c0, c1, c2, 0, count);
  ict_lanes(OneLane<decltype(d)>(), c0, c1, c2, x, count);
}

void to_float(int32_t* c, int32_t count) {
  const hn::ScalableTag<int32_t> d;
  const int32_t x = to_float_lanes(d, c, 0, count);
  to_float_lanes(OneLane<decltype(d)>(), c, x, count);
}

int64_t target() { return HWY_TARGET; }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cj2k::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cj2k::simd {
namespace {
HWY_EXPORT(rct);
HWY_EXPORT(ict);
HWY_EXPORT(to_float);
HWY_EXPORT(target);
}  // namespace

void rct_row(int32_t* c0, int32_t* c1, int32_t* c2, int32_t count) {
  HWY_DYNAMIC_DISPATCH(rct)(c0, c1, c2, count);
}

void ict_row(int32_t* c0, int32_t* c1, int32_t* c2, int32_t count) {
  HWY_DYNAMIC_DISPATCH(ict)(c0, c1, c2, count);
}

void to_float_row(int32_t* c, int32_t count) { HWY_DYNAMIC_DISPATCH(to_float)(c, count); }

int64_t colour_target() { return HWY_DYNAMIC_DISPATCH(target)(); }

}  // namespace cj2k::simd
#endif
