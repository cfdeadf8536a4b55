// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The refinement passes, column by column, and what is counted before a block is coded. The cleanup
// pass is in ht_cleanup_simd.cc.
#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "coders/ht/ht_block.h"
#include "core/distortion.h"
#include "core/ht/plane_choice.h"
#include "core/ht/segments.h"
#include "pixels/target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "coders/ht/ht_block_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef CJ2K_HT_BLOCK_SIMD_ONCE
#define CJ2K_HT_BLOCK_SIMD_ONCE
namespace cj2k::simd::ht {

/// [mask << 4 | bits] the bits at the ones of a mask of four, moved together.
constexpr std::array<uint8_t, 256> make_gathered() {
  std::array<uint8_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t count = 0;
    for (uint32_t b = 0; b < 4; ++b) {
      if ((i >> 4 >> b & 1) == 0) continue;
      table[i] = static_cast<uint8_t>(table[i] | (i >> b & 1) << count++);
    }
  }
  return table;
}
constexpr std::array<uint8_t, 256> kGathered = make_gathered();

/// [members << 8 | open << 4 | bits] the members of a column of SigProp: those known before, and
/// each open sample below a member whose bit is 1.
constexpr std::array<uint8_t, 4096> make_members() {
  std::array<uint8_t, 4096> table{};
  for (uint32_t i = 0; i < 4096; ++i) {
    uint32_t members = i >> 8;
    for (uint32_t r = 0; r < 3; ++r) members |= (members & i & 1u << r) << 1 & i >> 4;
    table[i] = static_cast<uint8_t>(members & 15);
  }
  return table;
}
constexpr std::array<uint8_t, 4096> kMembers = make_members();

}  // namespace cj2k::simd::ht
#endif

HWY_BEFORE_NAMESPACE();
namespace cj2k::simd {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// The bits of the four rows of a stripe, column by column.
struct Columns {
  static constexpr size_t kMost = 1024 + 16;
  uint8_t significant[kMost];  ///< in the cleanup pass
  uint8_t bits[kMost];         ///< of the plane that is coded
  uint8_t signs[kMost];
  uint8_t found[kMost];  ///< by SigProp
};

/// What MagRef refines in some samples, and how (core/distortion.h).
struct RefinedSums {
  int32_t ones = 0, all = 0;
  int64_t low_difference = 0;
};

/// Planes up to this one: sums of 4096 samples below it fit into 32 bits.
constexpr int kMostSumPlane = 18;

/// Reads up to four rows of samples. @param plane  that is coded
HWY_NOINLINE RefinedSums read_columns(const uint32_t* from, ptrdiff_t stride, int rows, int width,
                                      int plane, Columns& to) {
  const hn::ScalableTag<int32_t> di;
  const hn::Rebind<uint8_t, decltype(di)> d8;
  const int lanes = static_cast<int>(hn::Lanes(di));
  const auto zero = hn::Zero(di), one = hn::Set(di, 1);
  const auto low_mask = hn::Set(di, (1 << plane) - 1);
  auto ones_v = zero, all_v = zero, difference_v = zero;
  int x = 0;
  for (; x + lanes <= width; x += lanes) {
    auto significant = zero, bits = zero, signs = zero;
    for (int r = 0; r < rows; ++r) {
      const auto sample =
          hn::BitCast(di, hn::LoadU(hn::RebindToUnsigned<decltype(di)>(), from + r * stride + x));
      const auto magnitude = hn::And(sample, hn::Set(di, 0x7FFFFFFF));
      const auto above = hn::ShiftRightSame(magnitude, plane);
      const auto bit = hn::And(above, one);
      const auto is = hn::Gt(above, one);
      const auto row = hn::Set(di, 1 << r);
      significant = hn::Or(significant, hn::IfThenElseZero(is, row));
      bits = hn::Or(bits, hn::ShiftLeftSame(bit, r));
      signs = hn::Or(signs, hn::IfThenElseZero(hn::Lt(sample, zero), row));
      all_v = hn::Add(all_v, hn::IfThenElseZero(is, one));
      ones_v = hn::Add(ones_v, hn::IfThenElseZero(is, bit));
      const auto low = hn::IfThenElseZero(is, hn::And(magnitude, low_mask));
      difference_v =
          hn::Add(difference_v, hn::IfThenElse(hn::Eq(bit, one), low, hn::Sub(zero, low)));
    }
    hn::StoreU(hn::DemoteTo(d8, significant), d8, to.significant + x);
    hn::StoreU(hn::DemoteTo(d8, bits), d8, to.bits + x);
    hn::StoreU(hn::DemoteTo(d8, signs), d8, to.signs + x);
  }
  RefinedSums sums;
  sums.all = hn::GetLane(hn::SumOfLanes(di, all_v));
  sums.ones = hn::GetLane(hn::SumOfLanes(di, ones_v));
  sums.low_difference = hn::GetLane(hn::SumOfLanes(di, difference_v));
  for (; x < width; ++x) {
    uint32_t significant = 0, bits = 0, signs = 0;
    for (int r = 0; r < rows; ++r) {
      const uint32_t sample = from[r * stride + x];
      const uint32_t above = (sample & 0x7FFFFFFF) >> plane, bit = above & 1;
      const uint32_t is = above > 1 ? 1 : 0;
      significant |= is << r;
      bits |= bit << r;
      signs |= (sample >> 31) << r;
      sums.all += static_cast<int32_t>(is);
      sums.ones += static_cast<int32_t>(is & bit);
      const int64_t low = is != 0 ? sample & ((1u << plane) - 1) : 0;
      sums.low_difference += bit != 0 ? low : -low;
    }
    to.significant[x] = static_cast<uint8_t>(significant);
    to.bits[x] = static_cast<uint8_t>(bits);
    to.signs[x] = static_cast<uint8_t>(signs);
  }
  return sums;
}

/// Which samples of the row are significant in the cleanup pass: `bit`, added to `states`.
void add_row(const uint32_t* row, int width, int plane, uint8_t bit, uint8_t* states) {
  for (int x = 0; x < width; ++x) {
    const bool is = (row[x] & 0x7FFFFFFF) >> (plane + 1) != 0;
    states[x] = static_cast<uint8_t>(states[x] | (is ? bit : 0));
  }
}

/// SigProp and MagRef, in groups of four columns of a stripe of four rows.
class Refinement {
 public:
  /// @param refines  false: SigProp alone
  Refinement(const HtSamples& samples, int plane, bool causal, uint8_t* sig_prop, bool refines)
      : samples_(samples),
        plane_(plane - 1),
        causal_(causal),
        refines_(refines),
        sig_prop_(sig_prop),
        mag_ref_(mag_ref_bytes_, false) {}

  void run() {
    std::memset(before_, 0, sizeof before_);
    std::memset(&columns_, 0, sizeof columns_);
    std::memset(states_, 0, sizeof states_);
    std::memset(members_, 0, sizeof members_);
    for (int y = 0; y < samples_.height; y += 4) {
      read_stripe(y);
      find_members(y);
      bool found = false;
      for (int x = 0; x < samples_.width; x += 4) found |= code_group(x);
      if (found) add_new_low(y);
      if (refines_) refine();
      // Row 3 is above row 0 of the next stripe.
      for (int x = 0; x < samples_.width; ++x)
        before_[x] = static_cast<uint8_t>(states_[1 + x] >> 4 & 1);
    }
    sig_prop_.drain();
    mag_ref_.drain();
  }
  ForwardBits& sig_prop() { return sig_prop_; }
  BackwardBits& mag_ref() { return mag_ref_; }
  const uint8_t* mag_ref_bytes() const { return mag_ref_bytes_; }
  int64_t sig_prop_distortion(bool reversible) const {
    return significance_distortion(plane_, reversible, num_new_, new_low_);
  }
  int64_t mag_ref_distortion(bool reversible) const {
    return refinement_distortion(plane_, reversible, refined_.ones, refined_.all - refined_.ones,
                                 refined_.low_difference);
  }

 private:
  static constexpr uint8_t kCounts[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};

  /// Rows -1 .. 4 of the stripe are bits 0 .. 5 of a state.
  void read_stripe(int y0) {
    const int width = samples_.width, rows = std::min(4, samples_.height - y0);
    const uint32_t* from = samples_.data + y0 * samples_.stride;
    const RefinedSums sums = read_columns(from, samples_.stride, rows, width, plane_, columns_);
    refined_.ones += sums.ones;
    refined_.all += sums.all;
    refined_.low_difference += sums.low_difference;
    for (int x = 0; x < width; ++x)
      states_[1 + x] = static_cast<uint8_t>(before_[x] | columns_.significant[x] << 1);
    if (!causal_ && y0 + 4 < samples_.height)
      add_row(from + 4 * samples_.stride, width, plane_, 0x20, states_ + 1);
  }
  /// The members but for those that samples found next to them add; as rows 0 .. 3.
  void find_members(int y0) {
    rows_ = samples_.height - y0 >= 4 ? 0xF : (1u << (samples_.height - y0)) - 1;
    for (int x = 0; x < samples_.width; ++x) {
      const int near = states_[x] | states_[1 + x] | states_[2 + x];
      members_[x] = static_cast<uint8_t>((near | near << 1 | near >> 1) >> 1 &
                                         ~columns_.significant[x] & static_cast<int>(rows_));
    }
  }

  /// @return whether samples were found
  bool code_group(int x0) {
    uint32_t members;
    std::memcpy(&members, members_ + x0, sizeof members);
    std::memset(columns_.found + x0, 0, 4);
    if (members == 0 && last_found_ == 0) return false;
    const int end = std::min(x0 + 4, samples_.width);
    uint32_t bits = 0, count = 0, signs = 0, num_signs = 0, left = last_found_;
    for (int x = x0; x < end; ++x) {
      const uint32_t open = ~uint32_t{columns_.significant[x]} & rows_;
      const uint32_t here = members_[x] | ((left | left << 1 | left >> 1) & open);
      const uint32_t plane_bits = columns_.bits[x];
      const uint32_t coded = ht::kMembers[here << 8 | open << 4 | plane_bits];
      left = coded & plane_bits;
      bits |= uint32_t{ht::kGathered[coded << 4 | plane_bits]} << count;
      count += kCounts[coded];
      signs |= uint32_t{ht::kGathered[left << 4 | columns_.signs[x]]} << num_signs;
      num_signs += kCounts[left];
      columns_.found[x] = static_cast<uint8_t>(left);
      states_[1 + x] = static_cast<uint8_t>(states_[1 + x] | left << 1);
    }
    last_found_ = end < samples_.width ? left : 0;
    sig_prop_.put(bits | signs << count, count + num_signs);
    num_new_ += static_cast<int32_t>(num_signs);
    return num_signs > 0;
  }
  void add_new_low(int y0) {
    const uint32_t low_mask = (1u << plane_) - 1;
    const int rows = std::min(4, samples_.height - y0);
    for (int r = 0; r < rows; ++r) {
      const uint32_t* row = samples_.data + (y0 + r) * samples_.stride;
      uint32_t sum = 0;
      for (int x = 0; x < samples_.width; ++x)
        sum += row[x] & low_mask & (0 - uint32_t{columns_.found[x] >> r & 1u});
      new_low_ += sum;
    }
  }
  void refine() {
    for (int x = 0; x < samples_.width; x += 4) {
      uint32_t any;
      std::memcpy(&any, columns_.significant + x, sizeof any);
      if (any == 0) continue;
      uint32_t bits = 0, count = 0;
      for (int i = x; i < x + 4; ++i) {
        const uint32_t mask = columns_.significant[i];
        bits |= uint32_t{ht::kGathered[mask << 4 | columns_.bits[i]]} << count;
        count += kCounts[mask];
      }
      mag_ref_.put(bits, count);
    }
  }

  const HtSamples& samples_;
  const int plane_;  ///< that is coded
  const bool causal_;
  const bool refines_;
  ForwardBits sig_prop_;
  uint8_t mag_ref_bytes_[kMaxHtRefinementBytes];
  BackwardBits mag_ref_;
  int32_t num_new_ = 0;
  int64_t new_low_ = 0;
  RefinedSums refined_;
  uint32_t rows_ = 0;        ///< rows of the stripe, as bits
  uint32_t last_found_ = 0;  ///< in the column before the group
  Columns columns_;
  uint8_t states_[Columns::kMost + 2];  ///< [1 + x]
  uint8_t members_[Columns::kMost];
  uint8_t before_[Columns::kMost];  ///< the last row of the stripe before
};

HtRefinement refinement(const HtSamples& samples, int plane, bool causal, bool reversible,
                        uint8_t* sig_prop, uint8_t* both) {
  if (plane - 1 > kMostSumPlane)
    return ref::ht_refinement(samples, plane, causal, reversible, sig_prop, both);
  Refinement passes(samples, plane, causal, sig_prop, both != nullptr);
  passes.run();
  uint32_t both_bytes = 0;
  if (both != nullptr)
    both_bytes = join_refinement(passes.sig_prop(), sig_prop, passes.mag_ref(),
                                 passes.mag_ref_bytes(), both);
  return {end_sig_prop(passes.sig_prop(), sig_prop), both_bytes,
          passes.sig_prop_distortion(reversible), passes.mag_ref_distortion(reversible)};
}

/// @tparam kShifts  a plane has more than kLeftPlanes below it
template <bool kShifts>
HtCounts count_planes(const HtSamples& samples, int plane, int bit_planes, bool reversible) {
  const hn::ScalableTag<int32_t> di;
  using V = hn::Vec<decltype(di)>;
  const int lanes = static_cast<int>(hn::Lanes(di));
  const auto set = [&](uint32_t value) { return hn::Set(di, static_cast<int32_t>(value)); };
  const auto magnitude_bits = hn::Set(di, 0x7FFFFFFF);
  const LeftPlanes all(bit_planes, reversible);
  const V all_bias = set(all.bias), bias0 = set(kShifts || !reversible ? 1 : 0);
  struct Plane {
    LeftPlanes left;
    V most, low_bits, half, bias;  ///< low_bits: of twice the magnitude
  };
  const auto plane_of = [&](int k) {
    const LeftPlanes left(plane + k, reversible);
    const uint32_t half = uint32_t{1} << left.count;
    // Magnitudes have 31 bits.
    return Plane{left, set((uint32_t{1} << std::min(plane + k, 31)) - 1), set(2 * half - 1),
                 set(half), set(left.bias)};
  };
  static_assert(kHtNearPlanes == 4);
  const Plane planes[] = {plane_of(0), plane_of(1), plane_of(2), plane_of(3)};
  V significant[4], left[4], total = hn::Zero(di);
  for (int k = 0; k < 4; ++k) significant[k] = left[k] = hn::Zero(di);
  HtCounts counts{};
  constexpr int kFewestLanes = 4;  // then 32-bit sums hold 4096 terms of at most 2047^2
  for (int y = 0; y < samples.height; ++y) {
    const uint32_t* row = samples.data + y * samples.stride;
    int x = 0;
    for (; lanes >= kFewestLanes && x + lanes <= samples.width; x += lanes) {
      const auto sample = hn::BitCast(di, hn::LoadU(hn::RebindToUnsigned<decltype(di)>(), row + x));
      const auto magnitude = hn::And(sample, magnitude_bits);
      const auto shifted = hn::ShiftRightSame(magnitude, all.shift);
      const auto error_of_all = hn::Add(hn::Add(shifted, shifted), all_bias);
      total = hn::Add(total, hn::Mul(error_of_all, error_of_all));
      const auto twice = hn::Add(hn::Add(magnitude, magnitude), bias0);
      for (int k = 0; k < 4; ++k) {
        const Plane& of = planes[k];
        const auto is_significant = hn::VecFromMask(di, hn::Gt(magnitude, of.most));
        auto value = twice;
        if constexpr (kShifts) {
          const auto high = hn::ShiftRightSame(magnitude, of.left.shift);
          value = hn::Add(hn::Add(high, high), of.bias);
        }
        const auto error = hn::Sub(hn::And(value, of.low_bits), hn::And(is_significant, of.half));
        left[k] = hn::Add(left[k], hn::Mul(error, error));
        // A mask is -1 in its lanes.
        significant[k] = hn::Sub(significant[k], is_significant);
      }
    }
    for (; x < samples.width; ++x) {
      counts.total += all.term(row[x]);
      for (int k = 0; k < 4; ++k) {
        counts.left[k] += planes[k].left.term(row[x]);
        counts.significant[k] += (row[x] & 0x7FFFFFFF) >> plane >> k > 0 ? 1 : 0;
      }
    }
  }
  const auto sum = [&](V v) {
    HWY_ALIGN uint32_t sums[HWY_MAX_BYTES / sizeof(uint32_t)];
    hn::Store(hn::BitCast(hn::RebindToUnsigned<decltype(di)>(), v),
              hn::RebindToUnsigned<decltype(di)>(), sums);
    return std::accumulate(sums, sums + lanes, uint64_t{0});
  };
  counts.total += sum(total);
  for (int k = 0; k < 4; ++k) {
    counts.left[k] += sum(left[k]);
    counts.significant[k] += static_cast<uint32_t>(sum(significant[k]));
  }
  if (plane == 0)
    counts.left[0] = static_cast<uint64_t>(samples.width * samples.height) - counts.significant[0];
  return counts;
}

HtCounts count(const HtSamples& samples, int plane, int bit_planes, bool reversible) {
  return plane + kHtNearPlanes - 1 > kLeftPlanes
             ? count_planes<true>(samples, plane, bit_planes, reversible)
             : count_planes<false>(samples, plane, bit_planes, reversible);
}

int64_t target() { return HWY_TARGET; }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cj2k::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cj2k::simd {
namespace {
HWY_EXPORT(refinement);
HWY_EXPORT(count);
HWY_EXPORT(target);
}  // namespace

HtRefinement ht_refinement(const HtSamples& samples, int plane, bool causal, bool reversible,
                           uint8_t* sig_prop, uint8_t* both) {
  return HWY_DYNAMIC_DISPATCH(refinement)(samples, plane, causal, reversible, sig_prop, both);
}

HtCounts ht_count(const HtSamples& samples, int plane, int bit_planes, bool reversible) {
  return HWY_DYNAMIC_DISPATCH(count)(samples, plane, bit_planes, reversible);
}

int64_t ht_block_target() { return HWY_DYNAMIC_DISPATCH(target)(); }

}  // namespace cj2k::simd
#endif
