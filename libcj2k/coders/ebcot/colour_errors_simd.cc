// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <cmath>

#include "coders/ebcot/colour_errors.h"
#include "pixels/quantize.h"
#include "pixels/target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "coders/ebcot/colour_errors_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace cj2k::simd {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// What a decoder shows of magnitudes without their bits below `plane`; unit: step * 2^plane.
template <class DF, class VU>
hn::Vec<DF> shown_at(DF df, VU magnitude, int plane, float unit) {
  const hn::RebindToSigned<DF> di;
  const auto level = hn::ConvertTo(df, hn::BitCast(di, hn::ShiftRightSame(magnitude, plane)));
  const auto value = hn::Mul(hn::Add(level, hn::Set(df, 0.5f)), hn::Set(df, unit));
  return hn::IfThenZeroElse(hn::Eq(level, hn::Zero(df)), value);
}

/// One vector of samples.
template <class DF>
void add_lanes(DF df, const ChromaBlock& b, float unit, const uint32_t* samples,
               const float* coefficients, float* shift) {
  const hn::RebindToUnsigned<DF> du;
  const auto magnitude = hn::And(hn::LoadU(du, samples), hn::Set(du, ~kSignBit));
  const auto coefficient = hn::LoadU(df, coefficients);
  auto shown = shown_at(df, magnitude, b.cut.plane, unit);
  if (b.cut.upper) {
    const auto above = shown_at(df, magnitude, b.cut.plane + 1, 2 * unit);
    shown = hn::IfThenElse(hn::Eq(above, hn::Zero(df)), shown, above);
  }
  const auto error = hn::Sub(coefficient, hn::CopySign(shown, coefficient));
  hn::StoreU(hn::Add(hn::LoadU(df, shift), hn::Mul(hn::Set(df, b.factor), error)), df, shift);
}

void add_error(const ChromaBlock& b, float* shift) {
  const hn::ScalableTag<float> df;
  const hn::CappedTag<float, 1> one;
  const int lanes = static_cast<int>(hn::Lanes(df));
  const float unit = std::ldexp(b.step, b.cut.plane);
  for (int y = 0; y < b.height; ++y, shift += b.width) {
    const uint32_t* samples = b.samples + y * b.stride;
    const float* coefficients = b.coefficients + y * b.coefficient_stride;
    int x = 0;
    for (; x + lanes <= b.width; x += lanes)
      add_lanes(df, b, unit, samples + x, coefficients + x, shift + x);
    for (; x < b.width; ++x) add_lanes(one, b, unit, samples + x, coefficients + x, shift + x);
  }
}

int64_t target() { return HWY_TARGET; }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cj2k::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cj2k::simd {
namespace {
HWY_EXPORT(add_error);
HWY_EXPORT(target);
}  // namespace

void add_colour_error(const ChromaBlock& block, float* shift) {
  HWY_DYNAMIC_DISPATCH(add_error)(block, shift);
}
int64_t colour_errors_target() { return HWY_DYNAMIC_DISPATCH(target)(); }

}  // namespace cj2k::simd
#endif
