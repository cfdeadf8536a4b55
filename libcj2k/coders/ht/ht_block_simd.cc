// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The refinement passes, column by column, and what is counted before a block is coded. The cleanup
// pass is in ht_cleanup_simd.cc.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>
#include <type_traits>

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

/// The bits of the four rows of a stripe, column by column: 16 columns of four bits in a word, with a
/// word of zeros on either side.
struct Stripe {
  static constexpr size_t kWords = 1024 / 16;
  using Words = std::array<uint64_t, kWords + 2>;
  Words significant;  ///< in the cleanup pass
  Words bits;         ///< of the plane that is coded
  Words signs;
};
constexpr uint64_t kRow0 = 0x1111111111111111, kRow3 = kRow0 << 3;

/// Packs the low halves of bytes.
inline void pack_columns(const uint8_t* columns, size_t words, Stripe::Words& to) {
  for (size_t w = 0; w < words; ++w) {
    uint64_t word = 0;
    for (int half = 0; half < 2; ++half, columns += 8) {
      uint64_t bits = 0;
      for (int i = 0; i < 8; ++i) bits |= uint64_t{columns[i]} << 8 * i;
      bits = (bits | bits >> 4) & 0x00FF00FF00FF00FF;
      bits = (bits | bits >> 8) & 0x0000FFFF0000FFFF;
      word |= (bits | bits >> 16) << 32 >> 32 << 32 * half;
    }
    to[1 + w] = word;
  }
}

/// Bits, and those of the rows above and below in their columns.
constexpr uint64_t with_rows(uint64_t bits) {
  return bits | (bits & ~kRow3) << 1 | (bits & ~kRow0) >> 1;
}

}  // namespace cj2k::simd::ht
#endif

HWY_BEFORE_NAMESPACE();
namespace cj2k::simd {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// A stripe as read_columns makes it, a byte for each column.
struct Columns {
  static constexpr size_t kMost = 1024 + 16;
  uint8_t significant[kMost], bits[kMost], signs[kMost];
};

/// Planes up to this one: sums of 4096 samples below it fit into 32 bits.
constexpr int kMostSumPlane = 18;

/// Reads up to four rows of samples. @param plane  that is coded
/// @return what MagRef needs of the lower bits (core/distortion.h)
HWY_NOINLINE int64_t read_columns(const uint32_t* from, ptrdiff_t stride, int rows, int width,
                                  int plane, Columns& to) {
  const hn::ScalableTag<int32_t> di;
  const hn::Rebind<uint8_t, decltype(di)> d8;
  const int lanes = static_cast<int>(hn::Lanes(di));
  const auto zero = hn::Zero(di), one = hn::Set(di, 1);
  const auto low_mask = hn::Set(di, (1 << plane) - 1);
  auto difference_v = zero;
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
      const auto low = hn::IfThenElseZero(is, hn::And(magnitude, low_mask));
      difference_v =
          hn::Add(difference_v, hn::IfThenElse(hn::Eq(bit, one), low, hn::Sub(zero, low)));
    }
    hn::StoreU(hn::DemoteTo(d8, significant), d8, to.significant + x);
    hn::StoreU(hn::DemoteTo(d8, bits), d8, to.bits + x);
    hn::StoreU(hn::DemoteTo(d8, signs), d8, to.signs + x);
  }
  int64_t difference = hn::GetLane(hn::SumOfLanes(di, difference_v));
  for (; x < width; ++x) {
    uint32_t significant = 0, bits = 0, signs = 0;
    for (int r = 0; r < rows; ++r) {
      const uint32_t sample = from[r * stride + x];
      const uint32_t above = (sample & 0x7FFFFFFF) >> plane, bit = above & 1;
      const uint32_t is = above > 1 ? 1 : 0;
      significant |= is << r;
      bits |= bit << r;
      signs |= (sample >> 31) << r;
      const int64_t low = is != 0 ? sample & ((1u << plane) - 1) : 0;
      difference += bit != 0 ? low : -low;
    }
    to.significant[x] = static_cast<uint8_t>(significant);
    to.bits[x] = static_cast<uint8_t>(bits);
    to.signs[x] = static_cast<uint8_t>(signs);
  }
  return difference;
}

/// The bits at the ones of a mask, moved together.
uint32_t gathered(uint32_t mask, uint32_t bits) {
#if HWY_ARCH_X86_64 && HWY_TARGET <= HWY_AVX3
  return _pext_u32(bits, mask);  // it is slow on some processors without AVX-512
#else
  uint32_t all = 0;
  for (uint32_t count = 0; mask != 0; mask >>= 4, bits >>= 4) {
    all |= uint32_t{ht::kGathered[(mask & 15) << 4 | (bits & 15)]} << count;
    count += static_cast<uint32_t>(std::popcount(mask & 15));
  }
  return all;
#endif
}

/// SigProp and MagRef, stripe by stripe, 16 columns at a time.
class Refinement {
 public:
  /// @param refines  false: SigProp alone
  Refinement(const HtSamples& samples, int plane, bool causal, uint8_t* sig_prop, bool refines)
      : samples_(samples),
        plane_(plane - 1),
        causal_(causal),
        refines_(refines),
        words_((static_cast<size_t>(samples.width) + 15) / 16),
        sig_prop_(sig_prop),
        mag_ref_(mag_ref_bytes_, false) {}

  void run() {
    std::memset(&columns_, 0, sizeof columns_);
    std::memset(stripes_, 0, sizeof stripes_);
    before_.fill(0);
    near_.fill(0);
    read_stripe(0, stripes_[0]);
    for (int y = 0, now = 0; y < samples_.height; y += 4, now = 1 - now) {
      ht::Stripe& next = stripes_[1 - now];
      if (y + 4 < samples_.height) {
        read_stripe(y + 4, next);
      } else {
        next.significant.fill(0);
      }
      find_near(stripes_[now], next);
      code_stripe(y, stripes_[now]);
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
    return refinement_distortion(plane_, reversible, refined_ones_, refined_ - refined_ones_,
                                 low_difference_);
  }

 private:
  void read_stripe(int y0, ht::Stripe& to) {
    const int rows = std::min(4, samples_.height - y0);
    low_difference_ += read_columns(samples_.data + y0 * samples_.stride, samples_.stride, rows,
                                    samples_.width, plane_, columns_);
    ht::pack_columns(columns_.significant, words_, to.significant);
    ht::pack_columns(columns_.bits, words_, to.bits);
    ht::pack_columns(columns_.signs, words_, to.signs);
  }
  /// What is significant before SigProp, in each column with the rows above and below.
  void find_near(const ht::Stripe& stripe, const ht::Stripe& next) {
    for (size_t w = 1; w <= words_; ++w) {
      const uint64_t below = causal_ ? 0 : next.significant[w] & ht::kRow0;
      near_[w] = ht::with_rows(stripe.significant[w]) | (before_[w] & ht::kRow3) >> 3 | below << 3;
    }
  }

  void code_stripe(int y0, const ht::Stripe& stripe) {
    const int rows = std::min(4, samples_.height - y0);
    const uint64_t valid_rows = ht::kRow0 * ((1u << rows) - 1);
    uint64_t last = 0;  // found in the column before the word
    for (size_t w = 1; w <= words_; ++w) {
      const int columns = std::min(16, samples_.width - 16 * static_cast<int>(w - 1));
      const uint64_t significant = stripe.significant[w], bits = stripe.bits[w];
      const uint64_t open = valid_rows & ~significant & ~uint64_t{0} >> 4 * (16 - columns);
      uint64_t members = near_[w] | near_[w] << 4 | near_[w] >> 4 | near_[w - 1] >> 60 |
                         near_[w + 1] << 60 | ht::with_rows(last);
      members &= open;
      // Each sample that is found makes members of its neighbours after it.
      uint64_t found = 0;
      for (uint64_t more = members & bits; more != 0; more = members & bits & ~found) {
        found |= more;
        members |= ((more & ~ht::kRow3) << 1 | ht::with_rows(more) << 4) & open;
      }
      last = found >> 60;
      before_[w] = significant | found;
      if (members != 0) put_members(members, bits, stripe.signs[w], found);
      if (found != 0) add_found(y0, 16 * static_cast<int>(w - 1), found);
      if (significant != 0) refine(significant, bits);
    }
  }
  /// Groups of four columns: the bits of the members, then the signs of those found.
  void put_members(uint64_t members, uint64_t bits, uint64_t signs, uint64_t found) {
    for (int shift = 0; shift < 64; shift += 16) {
      const uint32_t of = members >> shift & 0xFFFF, new_ones = found >> shift & 0xFFFF;
      const auto count = static_cast<uint32_t>(std::popcount(of));
      const uint32_t new_signs = gathered(new_ones, signs >> shift & 0xFFFF);
      sig_prop_.put(gathered(of, bits >> shift & 0xFFFF) | new_signs << count,
                    count + static_cast<uint32_t>(std::popcount(new_ones)));
    }
  }
  void add_found(int y0, int x0, uint64_t found) {
    const uint32_t low_mask = (1u << plane_) - 1;
    num_new_ += std::popcount(found);
    for (; found != 0; found &= found - 1) {
      const int i = std::countr_zero(found);
      new_low_ += samples_.data[(y0 + i % 4) * samples_.stride + x0 + i / 4] & low_mask;
    }
  }
  void refine(uint64_t significant, uint64_t bits) {
    refined_ += std::popcount(significant);
    refined_ones_ += std::popcount(significant & bits);
    for (int shift = 0; refines_ && shift < 64; shift += 32) {
      const auto of = static_cast<uint32_t>(significant >> shift);
      mag_ref_.put(gathered(of, static_cast<uint32_t>(bits >> shift)),
                   static_cast<uint32_t>(std::popcount(of)));
    }
  }

  const HtSamples& samples_;
  const int plane_;  ///< that is coded
  const bool causal_;
  const bool refines_;
  const size_t words_;  ///< of a stripe
  ForwardBits sig_prop_;
  uint8_t mag_ref_bytes_[kMaxHtRefinementBytes];
  BackwardBits mag_ref_;
  int32_t num_new_ = 0, refined_ = 0, refined_ones_ = 0;
  int64_t new_low_ = 0, low_difference_ = 0;
  Columns columns_;
  ht::Stripe stripes_[2];
  ht::Stripe::Words near_;
  ht::Stripe::Words before_;  ///< significant after SigProp, in the stripe before
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

#if HWY_TARGET == HWY_SCALAR
template <bool kShifts>
using CountLane = int32_t;
#else
template <bool kShifts>
using CountLane = std::conditional_t<kShifts, int32_t, int16_t>;
#endif

/// Adds (a - b)^2 to sums; a, b and the difference have 16 bits with their sign.
template <class D, class V, class Sum>
HWY_INLINE void add_squares(D, V a, V b, Sum (&sums)[2]) {
#if HWY_TARGET == HWY_SCALAR
  sums[0] = hn::Add(sums[0], hn::Mul(hn::Sub(a, b), hn::Sub(a, b)));
#else
  const hn::Repartition<int16_t, D> d16;
  const auto error = hn::Sub(hn::BitCast(d16, a), hn::BitCast(d16, b));
  sums[0] =
      hn::ReorderWidenMulAccumulate(hn::ScalableTag<int32_t>(), error, error, sums[0], sums[1]);
#endif
}

/// A vector of magnitudes, in any order.
template <class D>
HWY_INLINE hn::VFromD<D> load_magnitudes(D, const uint32_t* samples) {
  const hn::ScalableTag<int32_t> di;
  const hn::RebindToUnsigned<decltype(di)> du;
  const auto load = [&](const uint32_t* from) {
    return hn::BitCast(di, hn::And(hn::LoadU(du, from), hn::Set(du, 0x7FFFFFFF)));
  };
#if HWY_TARGET != HWY_SCALAR
  if constexpr (sizeof(hn::TFromD<D>) < sizeof(uint32_t))
    return hn::ReorderDemote2To(D(), load(samples), load(samples + hn::Lanes(du)));
  else
#endif
    return load(samples);
}

/// The sum of lanes, taken as integers without sign.
template <class D, class V>
uint64_t sum_of(D, V v) {
  using Lane = hwy::MakeUnsigned<hn::TFromD<D>>;
  const hn::Rebind<Lane, D> du;
  HWY_ALIGN Lane lanes[HWY_MAX_BYTES / sizeof(Lane)];
  hn::Store(hn::BitCast(du, v), du, lanes);
  return std::accumulate(lanes, lanes + hn::Lanes(du), uint64_t{0});
}

/// @tparam kPlanes  that are counted, of the lowest; those above have no significant sample
/// @tparam kShifts  a plane has more than kLeftPlanes below it, or magnitudes have more than 15 bits
template <int kPlanes, bool kShifts>
HtCounts count_planes(const HtSamples& samples, int plane, int bit_planes, bool reversible,
                      const HtNextRows& next) {
  using T = CountLane<kShifts>;
  const hn::ScalableTag<T> d;
  const hn::ScalableTag<int32_t> d_sum;
  using V = hn::Vec<decltype(d)>;
  using Sum = hn::Vec<decltype(d_sum)>;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const auto set = [&](uint32_t value) { return hn::Set(d, static_cast<T>(value)); };
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
  const V zero = hn::Zero(d);
  const Sum none = hn::Zero(d_sum);
  V significant[] = {zero, zero, zero, zero};
  Sum total[] = {none, none}, left[][2] = {{none, none}, {none, none}, {none, none}, {none, none}};
  HtCounts counts{};
  constexpr int kFewestLanes = 4;  // then 32-bit sums hold 4096 terms of at most 2047^2
  for (int y = 0; y < samples.height; ++y) {
    const uint32_t* row = samples.data + y * samples.stride;
    next.prefetch(y, y + 1);
    int x = 0;
    for (; lanes >= kFewestLanes && x + lanes <= samples.width; x += lanes) {
      const auto magnitude = load_magnitudes(d, row + x);
      const auto shifted = hn::ShiftRightSame(magnitude, all.shift);
      add_squares(d, hn::Add(hn::Add(shifted, shifted), all_bias), zero, total);
      const auto twice = hn::Add(hn::Add(magnitude, magnitude), bias0);
      for (int k = 0; k < kPlanes; ++k) {
        const Plane& of = planes[k];
        const auto is_significant = hn::VecFromMask(d, hn::Gt(magnitude, of.most));
        auto value = twice;
        if constexpr (kShifts) {
          const auto high = hn::ShiftRightSame(magnitude, of.left.shift);
          value = hn::Add(hn::Add(high, high), of.bias);
        }
        add_squares(d, hn::And(value, of.low_bits), hn::And(is_significant, of.half), left[k]);
        // A mask is -1 in its lanes.
        significant[k] = hn::Sub(significant[k], is_significant);
      }
    }
    for (; x < samples.width; ++x) {
      counts.total += all.term(row[x]);
      for (int k = 0; k < kPlanes; ++k) {
        counts.left[k] += planes[k].left.term(row[x]);
        counts.significant[k] += (row[x] & 0x7FFFFFFF) >> plane >> k > 0 ? 1 : 0;
      }
    }
  }
  counts.total += sum_of(d_sum, total[0]) + sum_of(d_sum, total[1]);
  for (int k = 0; k < kPlanes; ++k) {
    counts.left[k] += sum_of(d_sum, left[k][0]) + sum_of(d_sum, left[k][1]);
    counts.significant[k] += static_cast<uint32_t>(sum_of(d, significant[k]));
  }
  for (int k = kPlanes; k < 4; ++k) counts.left[k] = counts.total;
  if (plane == 0)
    counts.left[0] = static_cast<uint64_t>(samples.width * samples.height) - counts.significant[0];
  return counts;
}

HtCounts count(const HtSamples& samples, int plane, int bit_planes, bool reversible,
               const HtNextRows& next) {
  const auto with = [&](auto count) { return count(samples, plane, bit_planes, reversible, next); };
  constexpr int kMostNarrow = 15;
  if (plane + kHtNearPlanes - 1 > kLeftPlanes || bit_planes > kMostNarrow)
    return with(count_planes<4, true>);
  switch (bit_planes - plane) {
    case 3:
      return with(count_planes<3, false>);
    case 2:
      return with(count_planes<2, false>);
    case 1:
      return with(count_planes<1, false>);
    default:
      return with(count_planes<4, false>);
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
HWY_EXPORT(refinement);
HWY_EXPORT(count);
HWY_EXPORT(target);
}  // namespace

HtRefinement ht_refinement(const HtSamples& samples, int plane, bool causal, bool reversible,
                           uint8_t* sig_prop, uint8_t* both) {
  return HWY_DYNAMIC_DISPATCH(refinement)(samples, plane, causal, reversible, sig_prop, both);
}

HtCounts ht_count(const HtSamples& samples, int plane, int bit_planes, bool reversible,
                  const HtNextRows& next) {
  return HWY_DYNAMIC_DISPATCH(count)(samples, plane, bit_planes, reversible, next);
}

int64_t ht_block_target() { return HWY_DYNAMIC_DISPATCH(target)(); }

}  // namespace cj2k::simd
#endif
