// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>

#include "coders/coded_before.h"
#include "pixels/target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "coders/coded_before_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace cj2k::simd {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

HalfCounts count(const uint32_t* samples, ptrdiff_t stride, int width, int height, int plane) {
  const hn::ScalableTag<int32_t> di;
  const int lanes = static_cast<int>(hn::Lanes(di));
  const int shift = std::max(plane - kLowestHalves, 0);
  const bool has_halves = plane >= kLowestHalves;
  const auto magnitude_bits = hn::Set(di, 0x7FFFFFFF);
  const auto one = hn::Set(di, 1), least = hn::Set(di, 1 << (plane - shift));
  const auto off_half = hn::Set(di, 2), off_middle = hn::Set(di, 6), middle = hn::Set(di, 4);
  auto significant = hn::Zero(di), halves = hn::Zero(di), middles = hn::Zero(di);
  HalfCounts counts{};
  for (int y = 0; y < height; ++y) {
    const uint32_t* row = samples + y * stride;
    int x = 0;
    for (; x + lanes <= width; x += lanes) {
      const auto sample = hn::BitCast(di, hn::LoadU(hn::RebindToUnsigned<decltype(di)>(), row + x));
      // The bits, plus 1: 0 and 3, 4 and 7 become neighbours.
      const auto bits = hn::Add(hn::ShiftRightSame(hn::And(sample, magnitude_bits), shift), one);
      const auto is_significant = hn::Gt(bits, least);
      const auto is_half = hn::And(is_significant, hn::Eq(hn::And(bits, off_half), hn::Zero(di)));
      const auto is_middle = hn::And(is_significant, hn::Eq(hn::And(bits, off_middle), middle));
      // A mask is -1 in its lanes.
      significant = hn::Sub(significant, hn::VecFromMask(di, is_significant));
      halves = hn::Sub(halves, hn::VecFromMask(di, is_half));
      middles = hn::Sub(middles, hn::VecFromMask(di, is_middle));
    }
    if (x == width) continue;
    const HalfCounts rest = ref::count_halves(row + x, 0, width - x, 1, plane);
    counts.significant += rest.significant;
    counts.near_half += rest.near_half;
    counts.near_middle += rest.near_middle;
  }
  const auto sum = [di](auto v) {
    return static_cast<uint32_t>(hn::GetLane(hn::SumOfLanes(di, v)));
  };
  counts.significant += sum(significant);
  if (!has_halves) return counts;
  counts.near_half += sum(halves);
  counts.near_middle += sum(middles);
  return counts;
}

int64_t target() { return HWY_TARGET; }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cj2k::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cj2k::simd {
namespace {
HWY_EXPORT(count);
HWY_EXPORT(target);
}  // namespace

HalfCounts count_halves(const uint32_t* samples, ptrdiff_t stride, int width, int height,
                        int plane) {
  return HWY_DYNAMIC_DISPATCH(count)(samples, stride, width, height, plane);
}
int64_t coded_before_target() { return HWY_DYNAMIC_DISPATCH(target)(); }

}  // namespace cj2k::simd
#endif
