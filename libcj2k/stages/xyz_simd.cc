// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "stages/target.h"
#include "stages/xyz.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "stages/xyz_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace cj2k::simd {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// As xyz_bits, xyz_entry and xyz_code, for a vector of linear values.
template <class DF, class VF = hn::VFromD<DF>, class DI = hn::RebindToSigned<DF>>
hn::VFromD<DI> codes_of(DF, VF linear, const int32_t* entries) {
  const DI d;
  const auto set = [&](uint32_t value) { return hn::Set(d, static_cast<int32_t>(value)); };
  const auto bits =
      hn::Min(hn::Max(hn::BitCast(d, linear), set(XyzCodes::kFirst)), set(XyzCodes::kLast));
  // In [kFirst, kLast] all numbers are positive as signed ones, too.
  const auto is_coarse = hn::Lt(bits, set(XyzCodes::kFine));
  const auto fine = hn::ShiftRight<XyzCodes::kFineShift>(bits);
  const auto coarse = hn::ShiftRight<XyzCodes::kCoarseShift>(bits);
  constexpr uint32_t kFineBegin = (XyzCodes::kFine >> XyzCodes::kFineShift) - XyzCodes::kNumCoarse;
  constexpr uint32_t kCoarseBegin = XyzCodes::kFirst >> XyzCodes::kCoarseShift;
  const auto index =
      hn::IfThenElse(is_coarse, hn::Sub(coarse, set(kCoarseBegin)), hn::Sub(fine, set(kFineBegin)));
  const auto entry = hn::GatherIndex(d, entries, index);
  const auto mask = hn::IfThenElse(is_coarse, set((1u << XyzCodes::kCoarseShift) - 1),
                                   set((1u << XyzCodes::kFineShift) - 1));
  const auto step = hn::ShiftRight<XyzCodes::kCodeBits>(entry);
  const auto code = hn::And(entry, set((1u << XyzCodes::kCodeBits) - 1));
  // A true lane of the mask is -1.
  const auto is_before = hn::VecFromMask(d, hn::Lt(hn::And(bits, mask), step));
  return hn::Sub(hn::Add(code, is_before), set(2048 - 1));
}

void xyz(const XyzTables& tables, int32_t* r, int32_t* g, int32_t* b, int32_t count) {
  const hn::ScalableTag<float> df;
  const hn::RebindToSigned<decltype(df)> di;
  const auto lanes = static_cast<int32_t>(hn::Lanes(df));
  const auto half = static_cast<int32_t>(tables.linear.size() / 2);
  const float* linear = tables.linear.data();
  const float* m = tables.matrix.m;
  // Entries are below 2^29.
  const auto* entries = reinterpret_cast<const int32_t*>(tables.codes.data());
  int32_t x = 0;
  for (; x + lanes <= count; x += lanes) {
    const auto load = [&](const int32_t* samples) {
      return hn::GatherIndex(df, linear + half, hn::LoadU(di, samples + x));
    };
    const auto red = load(r), green = load(g), blue = load(b);
    // No MulAdd: it would round once where the reference rounds twice.
    const auto row = [&](const float* w) {
      const auto sum = hn::Add(hn::Mul(hn::Set(df, w[0]), red), hn::Mul(hn::Set(df, w[1]), green));
      return codes_of(df, hn::Add(sum, hn::Mul(hn::Set(df, w[2]), blue)), entries);
    };
    hn::StoreU(row(m), di, r + x);
    hn::StoreU(row(m + 3), di, g + x);
    hn::StoreU(row(m + 6), di, b + x);
  }
  if (x < count) ref::xyz_row(tables, r + x, g + x, b + x, count - x);
}

int64_t target() { return HWY_TARGET; }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cj2k::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cj2k::simd {
namespace {
HWY_EXPORT(xyz);
HWY_EXPORT(target);
}  // namespace

void xyz_row(const XyzTables& tables, int32_t* r, int32_t* g, int32_t* b, int32_t count) {
  HWY_DYNAMIC_DISPATCH(xyz)(tables, r, g, b, count);
}

int64_t xyz_target() { return HWY_DYNAMIC_DISPATCH(target)(); }

}  // namespace cj2k::simd
#endif
