// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>

#include "stages/target.h"
#include "stages/xyz.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "stages/xyz_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

// Whether two registers hold the coefficients of a power for all segments.
#undef CJ2K_XYZ_CURVES
#define CJ2K_XYZ_CURVES (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3)

HWY_BEFORE_NAMESPACE();
namespace cj2k::simd {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#if CJ2K_XYZ_CURVES

using DF = hn::Full512<float>;
using DI = hn::Full512<int32_t>;
using VF = hn::Vec512<float>;
using VI = hn::Vec512<int32_t>;
constexpr int32_t kLanes = 16;

template <int kShift>
class Curve {
 public:
  HWY_INLINE explicit Curve(const XyzCurve& from) : magic_(hn::Set(DF(), from.magic)) {
    for (int i = 0; i < 8; ++i) table_[i] = hn::LoadU(DF(), from.coefficients + kLanes * i);
  }
  /// As xyz_curve_at.
  HWY_INLINE VF operator()(VF x) const {
    // Bits of x >= 0 are not negative.
    const VF root = hn::BitCast(DF(), hn::ShiftRight<kShift>(hn::BitCast(DI(), x)));
    const VI segment = hn::BitCast(DI(), hn::Add(root, magic_));
    // The lowest five bits of a lane choose.
    const auto pick = [&](int power) {
      return VF{
          _mm512_permutex2var_ps(table_[2 * power].raw, segment.raw, table_[2 * power + 1].raw)};
    };
    return hn::MulAdd(hn::MulAdd(hn::MulAdd(pick(3), x, pick(2)), x, pick(1)), x, pick(0));
  }

 private:
  VF table_[8];
  VF magic_;
};

/// Samples become X, Y and Z in linear light: floats in the same memory.
void to_linear(const XyzTables& tables, int32_t* r, int32_t* g, int32_t* b, int32_t count) {
  const DF df;
  const DI di;
  const Curve<XyzTables::kLinearShift> curve(tables.linear_curve);
  const VI half = hn::Set(di, static_cast<int32_t>(tables.linear.size() / 2));
  const VI mask = hn::Set(di, static_cast<int32_t>(XyzTables::kLightMask));
  const float* m = tables.matrix.m;
  for (int32_t x = 0; x < count; x += kLanes) {
    const auto linear = [&](const int32_t* samples) {
      return curve(hn::ConvertTo(df, hn::Add(hn::LoadU(di, samples + x), half)));
    };
    const VF red = linear(r), green = linear(g), blue = linear(b);
    const auto store = [&](const float* w, int32_t* to) {
      // No MulAdd: it would round once where the reference rounds twice.
      const VF sum = hn::Add(hn::Mul(hn::Set(df, w[0]), red), hn::Mul(hn::Set(df, w[1]), green));
      const VF light = hn::Add(sum, hn::Mul(hn::Set(df, w[2]), blue));
      hn::StoreU(hn::And(hn::BitCast(di, light), mask), di, to + x);
    };
    store(m, r);
    store(m + 3, g);
    store(m + 6, b);
  }
}

/// Linear light becomes code values, in the same memory.
void to_codes(const XyzTables& tables, int32_t* row, int32_t count) {
  const DF df;
  const DI di;
  const Curve<XyzTables::kCodeShift> curve(tables.code_curve);
  // The sum with 1.5 * 2^23 has no bits behind the point.
  const VF round = hn::Set(df, 12582912.0f);
  const VI round_bits = hn::Set(di, 0x4B400000 + 2048);
  for (int32_t x = 0; x < count; x += kLanes) {
    const VF code = curve(hn::BitCast(df, hn::LoadU(di, row + x)));
    hn::StoreU(hn::Sub(hn::BitCast(di, hn::Add(code, round)), round_bits), di, row + x);
  }
}

/// Whole vectors. Two loops, because one would have more operations that wait for each other than a
/// processor looks ahead; in between are few enough pixels to stay in its nearest cache.
void whole_vectors(const XyzTables& tables, int32_t* r, int32_t* g, int32_t* b, int32_t count) {
  constexpr int32_t kChunk = 1024;
  for (int32_t x = 0; x < count; x += kChunk) {
    const int32_t n = std::min(kChunk, count - x);
    to_linear(tables, r + x, g + x, b + x, n);
    to_codes(tables, r + x, n);
    to_codes(tables, g + x, n);
    to_codes(tables, b + x, n);
  }
}

void xyz(const XyzTables& tables, int32_t* r, int32_t* g, int32_t* b, int32_t count) {
  const int32_t whole = count - count % kLanes;
  whole_vectors(tables, r, g, b, whole);
  if (whole < count) ref::xyz_row(tables, r + whole, g + whole, b + whole, count - whole);
}

#else

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

#endif

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
