// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>

#include "pixels/target.h"
#include "pixels/xyz.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pixels/xyz_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

// Whether registers hold the curve of codes.
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

constexpr int kMantissaBits = 23;
static_assert(XyzLight::kSegments == 32 && XyzCurve::kSegments == 32 && XyzCurve::kScales == 8);

#if HWY_TARGET <= HWY_AVX3

/// 32 floats. The five lowest bits of index, once shifted, choose.
class Table {
 public:
  HWY_INLINE explicit Table(const float* from)
      : low_{_mm512_loadu_ps(from)}, high_{_mm512_loadu_ps(from + kLanes)} {}
  HWY_INLINE VF at(VI index) const {
    return VF{_mm512_permutex2var_ps(low_.raw, index.raw, high_.raw)};
  }
  template <int kShift>
  HWY_INLINE VF at(VI bits) const {
    return at(hn::ShiftRight<kShift>(bits));
  }

 private:
  VF low_, high_;
};

class Scale {
 public:
  HWY_INLINE explicit Scale(const XyzCurve& from) : table_(from.scale) {}
  HWY_INLINE VF of(VI bits) const { return table_.at<kMantissaBits>(bits); }

 private:
  Table table_;
};

HWY_INLINE VF mantissa_of(VF x) {
  return VF{_mm512_getmant_ps(x.raw, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src)};
}

#else

/// Eight floats of a table, by the three lowest bits of an index.
HWY_INLINE VF pick(const float* table, VI index) {
  return VF{_mm256_permutevar8x32_ps(_mm256_loadu_ps(table), index.raw)};
}

/// 32 floats, chosen by five neighbouring bits.
class Table {
 public:
  HWY_INLINE explicit Table(const float* from) : from_(from) {}
  HWY_INLINE VF at(VI index) const {
    // A blend looks at the sign.
    const __m256 bit3 = _mm256_castsi256_ps(hn::ShiftLeft<28>(index).raw);
    const __m256 bit4 = _mm256_castsi256_ps(hn::ShiftLeft<27>(index).raw);
    const VF low = VF{_mm256_blendv_ps(pick(from_, index).raw, pick(from_ + 8, index).raw, bit3)};
    const VF high =
        VF{_mm256_blendv_ps(pick(from_ + 16, index).raw, pick(from_ + 24, index).raw, bit3)};
    return VF{_mm256_blendv_ps(low.raw, high.raw, bit4)};
  }
  template <int kShift>
  HWY_INLINE VF at(VI bits) const {
    return at(hn::ShiftRight<kShift>(bits));
  }

 private:
  const float* from_;
};

class Scale {
 public:
  HWY_INLINE explicit Scale(const XyzCurve& from) : from_(from) {}
  HWY_INLINE VF of(VI bits) const {
    return hn::Mul(pick(from_.fine, hn::ShiftRight<kMantissaBits>(bits)),
                   pick(from_.coarse, hn::ShiftRight<kMantissaBits + 3>(bits)));
  }

 private:
  const XyzCurve& from_;
};

HWY_INLINE VF mantissa_of(VF x) {
  const VI one = hn::Set(DI(), 127 << kMantissaBits);
  return hn::BitCast(DF(), hn::OrAnd(one, hn::BitCast(DI(), x), hn::Set(DI(), 0x7FFFFF)));
}

#endif

class Light {
 public:
  HWY_INLINE explicit Light(const XyzTables& tables)
      : offset_(hn::Set(DF(), tables.light.offset)),
        shift_(hn::Set(DI(), tables.light.shift)),
        constant_(tables.light.terms[0]),
        slope_(tables.light.terms[1]),
        square_(tables.light.terms[2]) {}
  HWY_INLINE VF of(VI samples) const {
    const VF y = hn::Add(hn::ConvertTo(DF(), samples), offset_);
    const VI segment = hn::Shr(hn::BitCast(DI(), y), shift_);
    return hn::MulAdd(hn::MulAdd(square_.at(segment), y, slope_.at(segment)), y,
                      constant_.at(segment));
  }

 private:
  VF offset_;
  VI shift_;
  Table constant_, slope_, square_;
};

/// Samples become X, Y and Z in linear light: floats in the same memory.
void to_linear(const XyzTables& tables, int32_t* r, int32_t* g, int32_t* b, int32_t count) {
  const DF df;
  const DI di;
  const Light light(tables);
  const VF black = hn::Set(df, kXyzBlack);
  const float* m = tables.matrix.m;
  for (int32_t x = 0; x < count; x += kLanes) {
    const VF red = light.of(hn::LoadU(di, r + x)), green = light.of(hn::LoadU(di, g + x)),
             blue = light.of(hn::LoadU(di, b + x));
    const auto store = [&](const float* w, int32_t* to) {
      VF sum = hn::MulAdd(hn::Set(df, w[0]), red, black);
      sum = hn::MulAdd(hn::Set(df, w[1]), green, sum);
      sum = hn::MulAdd(hn::Set(df, w[2]), blue, sum);
      hn::StoreU(hn::BitCast(di, sum), di, to + x);
    };
    store(m, r);
    store(m + 3, g);
    store(m + 6, b);
  }
}

/// Linear light becomes code values, in the same memory.
void to_codes(const XyzTables& tables, int32_t* r, int32_t* g, int32_t* b, int32_t count) {
  const DF df;
  const DI di;
  const Scale scale(tables.curve);
  const Table start(tables.curve.start), slope(tables.curve.slope);
  // The sum with 1.5 * 2^23 has no bits behind the point.
  const VF round = hn::Set(df, 12582912.0f);
  const VI round_bits = hn::Set(di, 0x4B400000 + 2048);
  const auto code = [&](int32_t* row) {
    const VI bits = hn::LoadU(di, row);
    const VF line =
        hn::MulAdd(slope.at<XyzCurve::kSegmentShift>(bits), mantissa_of(hn::BitCast(df, bits)),
                   start.at<XyzCurve::kSegmentShift>(bits));
    const VF rounded = hn::MulAdd(scale.of(bits), line, round);
    hn::StoreU(hn::Sub(hn::BitCast(di, rounded), round_bits), di, row);
  };
  for (int32_t x = 0; x < count; x += kLanes) {
    code(r + x);
    code(g + x);
    code(b + x);
  }
}

/// Whole vectors. Two loops, because one would have more operations that wait for each other than a
/// processor looks ahead; in between are few enough pixels to stay in its nearest cache.
void whole_vectors(const XyzTables& tables, int32_t* r, int32_t* g, int32_t* b, int32_t count) {
  constexpr int32_t kChunk = 384;
  for (int32_t x = 0; x < count; x += kChunk) {
    const int32_t n = std::min(kChunk, count - x);
    to_linear(tables, r + x, g + x, b + x, n);
    to_codes(tables, r + x, g + x, b + x, n);
  }
}

void xyz(const XyzTables& tables, int32_t* r, int32_t* g, int32_t* b, int32_t count) {
  const int32_t whole = count - count % kLanes;
  whole_vectors(tables, r, g, b, whole);
  if (whole < count) ref::xyz_row(tables, r + whole, g + whole, b + whole, count - whole);
}

#elif HWY_NATIVE_FMA

/// As xyz_bits, xyz_entry and xyz_code, for a vector of linear values.
template <class DF, class VF = hn::VFromD<DF>, class DI = hn::RebindToSigned<DF> >
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
    const auto row = [&](const float* w) {
      auto sum = hn::MulAdd(hn::Set(df, w[0]), red, hn::Set(df, kXyzBlack));
      sum = hn::MulAdd(hn::Set(df, w[1]), green, sum);
      return codes_of(df, hn::MulAdd(hn::Set(df, w[2]), blue, sum), entries);
    };
    hn::StoreU(row(m), di, r + x);
    hn::StoreU(row(m + 3), di, g + x);
    hn::StoreU(row(m + 6), di, b + x);
  }
  if (x < count) ref::xyz_row(tables, r + x, g + x, b + x, count - x);
}

#else

void xyz(const XyzTables& tables, int32_t* r, int32_t* g, int32_t* b, int32_t count) {
  ref::xyz_row(tables, r, g, b, count);
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
