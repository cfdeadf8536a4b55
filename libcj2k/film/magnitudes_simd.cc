// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cstring>

#include "film/magnitudes.h"
#include "pixels/target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "film/magnitudes_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace cj2k::simd {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR
using ref::count_magnitudes;
#else
namespace hn = hwy::HWY_NAMESPACE;

/// Samples of the upper or of the lower rows of quads, at most 820 x 3, and a vector.
constexpr size_t kMostSamples = 3136;

template <class D>
hn::VFromD<D> load(D d, const float* from) {
  return hn::LoadU(d, from);
}
template <class D>
hn::VFromD<D> load(D d, const int32_t* from) {
  return hn::ConvertTo(d, hn::LoadU(hn::RebindToSigned<D>(), from));
}

template <typename Sample>
void find_classes(const Sample* row, int width, float scale, uint8_t* classes) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::Rebind<uint8_t, decltype(d)> d8;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const auto scale_v = hn::Set(d, scale);
  const auto class0 = hn::Set(di, kExponentOfClass0), highest = hn::Set(di, kMagnitudeClasses);
  int x = 0;
  for (; x + lanes <= width; x += lanes) {
    const auto value = hn::Mul(load(d, row + x), scale_v);
    const auto exponent = hn::ShiftRight<kMantissaBits>(hn::BitCast(di, hn::Mul(value, value)));
    hn::StoreU(hn::DemoteTo(d8, hn::Min(hn::Sub(exponent, class0), highest)), d8, classes + x);
  }
  for (; x < width; ++x)
    classes[x] = static_cast<uint8_t>(magnitude_class(static_cast<float>(row[x]) * scale));
}

using Bytes = hn::ScalableTag<int8_t>;

/// The classes of a block, in vectors; what follows is of class 0.
struct ClassRows {
  HWY_ALIGN uint8_t upper[kMostSamples], lower[kMostSamples];  ///< rows of quads
  HWY_ALIGN uint8_t quads[kMostSamples];                       ///< the even bytes; the others are 0
  size_t size = 0;                                             ///< a multiple of a vector
};

/// @return the largest class
int find_quads(ClassRows& rows) {
  const hn::ScalableTag<uint8_t> d;
  const hn::Repartition<uint16_t, decltype(d)> d16;
  auto largest = hn::Zero(d16);
  for (size_t i = 0; i < rows.size; i += hn::Lanes(d)) {
    const auto both =
        hn::BitCast(d16, hn::Max(hn::Load(d, rows.upper + i), hn::Load(d, rows.lower + i)));
    const auto quads = hn::Max(hn::And(both, hn::Set(d16, 0xFF)), hn::ShiftRight<8>(both));
    largest = hn::Max(largest, quads);
    hn::Store(hn::BitCast(d, quads), d, rows.quads + i);
  }
  return hn::GetLane(hn::MaxOfLanes(d16, largest));
}

/// @return how many of a vector are of class k or above
/// @param below  class k - 1
uint32_t count_at(const uint8_t* classes, hn::VFromD<Bytes> below) {
  const auto v = hn::BitCast(Bytes(), hn::Load(hn::ScalableTag<uint8_t>(), classes));
  return static_cast<uint32_t>(hn::CountTrue(Bytes(), hn::Gt(v, below)));
}

template <typename Sample>
MagnitudeCounts count_magnitudes(const Coefficients<Sample>& block, float scale, int first) {
  ClassRows rows;
  const auto width = static_cast<size_t>((block.width + 1) / 2 * 2);
  MagnitudeCounts counts{};
  for (int y = 2 * first; y < block.height; y += 2 * counted_quad_rows(block.height)) {
    const int high = std::min(block.height - y, 2);
    uint8_t* const to[] = {rows.upper + rows.size, rows.lower + rows.size};
    for (int i = 0; i < 2; ++i) {
      if (i < high) {
        to[i][width - 1] = 0;
        find_classes(block.data + (y + i) * block.stride, block.width, scale, to[i]);
      } else {
        std::memset(to[i], 0, width);
      }
    }
    rows.size += width;
    counts.samples[0] += static_cast<uint32_t>(block.width * high);
    counts.quads[0] += static_cast<uint32_t>(width / 2);
  }
  const size_t lanes = hn::Lanes(Bytes()), after = (lanes - rows.size % lanes) % lanes;
  std::memset(rows.upper + rows.size, 0, after);
  std::memset(rows.lower + rows.size, 0, after);
  rows.size += after;
  const int largest = find_quads(rows);
  for (int k = 1; k <= largest; ++k) {
    const auto below = hn::Set(Bytes(), static_cast<int8_t>(k - 1));
    for (size_t i = 0; i < rows.size; i += lanes) {
      counts.samples[k] += count_at(rows.upper + i, below) + count_at(rows.lower + i, below);
      counts.quads[k] += count_at(rows.quads + i, below);
    }
  }
  return counts;
}
#endif

}  // namespace

HWY_DLLEXPORT void CountMagnitudes97(const Coefficients<float>& block, float scale, int first,
                                     MagnitudeCounts* counts) {
  *counts = count_magnitudes(block, scale, first);
}
HWY_DLLEXPORT void CountMagnitudes53(const Coefficients<int32_t>& block, float scale, int first,
                                     MagnitudeCounts* counts) {
  *counts = count_magnitudes(block, scale, first);
}
HWY_DLLEXPORT int64_t MagnitudesTarget() { return HWY_TARGET; }

}  // namespace HWY_NAMESPACE
}  // namespace cj2k::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cj2k::simd {
HWY_EXPORT(CountMagnitudes97);
HWY_EXPORT(CountMagnitudes53);
HWY_EXPORT(MagnitudesTarget);

int64_t magnitudes_target() { return HWY_DYNAMIC_DISPATCH(MagnitudesTarget)(); }

MagnitudeCounts count_magnitudes(const Coefficients<float>& block, float scale, int first) {
  MagnitudeCounts counts;
  HWY_DYNAMIC_DISPATCH(CountMagnitudes97)(block, scale, first, &counts);
  return counts;
}
MagnitudeCounts count_magnitudes(const Coefficients<int32_t>& block, float scale, int first) {
  MagnitudeCounts counts;
  HWY_DYNAMIC_DISPATCH(CountMagnitudes53)(block, scale, first, &counts);
  return counts;
}

}  // namespace cj2k::simd
#endif  // HWY_ONCE
