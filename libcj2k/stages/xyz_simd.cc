// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>

#include "stages/target.h"
#include "stages/xyz.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "stages/xyz_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

// Whether there are fused multiply-adds, and registers hold the scales of eight exponents.
#undef CJ2K_XYZ_CURVES
#define CJ2K_XYZ_CURVES (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2)

HWY_BEFORE_NAMESPACE();
namespace cj2k::simd {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#if CJ2K_XYZ_CURVES

using DF = hn::ScalableTag<float>;
using DI = hn::RebindToSigned<DF>;
using VF = hn::VFromD<DF>;
using VI = hn::VFromD<DI>;
constexpr int32_t kLanes = HWY_TARGET <= HWY_AVX3 ? 16 : 8;

static_assert(XyzCurve::kScales == 8);
/// The eight floats of a table, in a register; in one of 16, twice.
HWY_INLINE VF load_scales(const float* table) {
#if HWY_TARGET <= HWY_AVX3
  return VF{_mm512_broadcast_f32x8(_mm256_loadu_ps(table))};
#else
  return VF{_mm256_loadu_ps(table)};
#endif
}
/// The lowest bits of a lane of `index` choose.
HWY_INLINE VF pick(VF table, VI index) {
#if HWY_TARGET <= HWY_AVX3
  return VF{_mm512_permutexvar_ps(index.raw, table.raw)};
#else
  return VF{_mm256_permutevar8x32_ps(table.raw, index.raw)};
#endif
}

class Curve {
 public:
  HWY_INLINE explicit Curve(const XyzCurve& from)
      : fine_(load_scales(from.fine)),
        coarse_(load_scales(from.coarse)),
        least_(hn::Set(DI(), static_cast<int32_t>(from.least))) {
    for (uint32_t k = 0; k < XyzCurve::kTerms; ++k) terms_[k] = hn::Set(DF(), from.terms[k]);
  }
  /// The factors of xyz_curve_at(x).
  HWY_INLINE void factors(VF x, VF& scale, VF& polynomial) const {
    const VI bits = hn::Max(hn::BitCast(DI(), x), least_);
    const VI mask = hn::Set(DI(), static_cast<int32_t>(XyzTables::kMantissaMask));
    const VF mantissa = hn::BitCast(DF(), hn::Or(hn::And(bits, mask), hn::Set(DI(), 127 << 23)));
    scale = hn::Mul(pick(fine_, hn::ShiftRight<23>(bits)), pick(coarse_, hn::ShiftRight<26>(bits)));
    polynomial = terms_[XyzCurve::kTerms - 1];
    for (int k = XyzCurve::kTerms - 2; k >= 0; --k)
      polynomial = hn::MulAdd(polynomial, mantissa, terms_[k]);
  }

 private:
  VF fine_, coarse_;
  VI least_;
  VF terms_[XyzCurve::kTerms];
};

/// Samples become X, Y and Z in linear light: floats in the same memory.
void to_linear(const XyzTables& tables, int32_t* r, int32_t* g, int32_t* b, int32_t count) {
  const DF df;
  const DI di;
  const Curve curve(tables.linear_curve);
  const VI half = hn::Set(di, static_cast<int32_t>(tables.linear.size() / 2));
  const float* m = tables.matrix.m;
  for (int32_t x = 0; x < count; x += kLanes) {
    const auto linear = [&](const int32_t* samples) {
      VF scale, polynomial;
      curve.factors(hn::ConvertTo(df, hn::Add(hn::LoadU(di, samples + x), half)), scale,
                    polynomial);
      return hn::Mul(scale, polynomial);
    };
    const VF red = linear(r), green = linear(g), blue = linear(b);
    const auto store = [&](const float* w, int32_t* to) {
      // No MulAdd: it would round once where the reference rounds twice.
      const VF sum = hn::Add(hn::Mul(hn::Set(df, w[0]), red), hn::Mul(hn::Set(df, w[1]), green));
      const VF light = hn::Add(sum, hn::Mul(hn::Set(df, w[2]), blue));
      hn::StoreU(hn::BitCast(di, light), di, to + x);
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
  const Curve curve(tables.code_curve);
  // The sum with 1.5 * 2^23 has no bits behind the point.
  const VF round = hn::Set(df, 12582912.0f);
  const VI round_bits = hn::Set(di, 0x4B400000 + 2048);
  for (int32_t x = 0; x < count; x += kLanes) {
    VF scale, polynomial;
    curve.factors(hn::BitCast(df, hn::LoadU(di, row + x)), scale, polynomial);
    const VF code = hn::MulAdd(scale, polynomial, round);
    hn::StoreU(hn::Sub(hn::BitCast(di, code), round_bits), di, row + x);
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
