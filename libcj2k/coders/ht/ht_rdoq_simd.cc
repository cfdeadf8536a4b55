// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "coders/ht/ht_rdoq.h"
#include "core/ht/cxt_vlc.h"
#include "core/slope.h"
#include "pixels/target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "coders/ht/ht_rdoq_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef CJ2K_HT_RDOQ_ONCE
#define CJ2K_HT_RDOQ_ONCE
namespace cj2k::ht_rdoq_tables {

using namespace ht_rdoq_model;

inline constexpr uint32_t kSign = 0x80000000u;
/// The sign of a coefficient of the 9/7. @param coefficients  of the block, or null: 0
inline uint32_t sign_of(const float* coefficients, ptrdiff_t stride, ptrdiff_t x, ptrdiff_t y) {
  return coefficients == nullptr ? 0
                                 : std::bit_cast<uint32_t>(coefficients[y * stride + x]) & kSign;
}
/// The context of a quad of the first row, by the significant samples of the quad at its left.
constexpr std::array<uint8_t, 16> make_first_contexts() {
  std::array<uint8_t, 16> contexts{};
  for (uint32_t left = 0; left < 16; ++left)
    contexts[left] = static_cast<uint8_t>(around_in_first_row(left).context);
  return contexts;
}
inline constexpr std::array<uint8_t, 16> kFirstContexts = make_first_contexts();

/// Bits of a CxtVLC codeword, less those that it saves in MagSgn.
constexpr auto make_quad_bits(const CxtVlcTable& words) {
  std::array<int8_t, 2048> bits{};
  for (size_t i = 0; i < bits.size(); ++i)
    bits[i] = static_cast<int8_t>(words[i].length - popcount4(words[i].known & i >> 4 & 15));
  return bits;
}
inline constexpr std::array<int8_t, 2048> kQuadBits[2] = {make_quad_bits(kCxtVlcOther),
                                                          make_quad_bits(kCxtVlcFirst)};
constexpr auto make_u_bits() {
  std::array<int8_t, kMaxHtExponent + 1> bits{};
  for (uint32_t u = 0; u <= kMaxHtExponent; ++u) bits[u] = static_cast<int8_t>(u_bits(u));
  return bits;
}
inline constexpr std::array<int8_t, kMaxHtExponent + 1> kUBits = make_u_bits();
/// A quad without significant samples and with the context 0 has a MEL event alone.
static_assert(kQuadBits[0][0] == 0 && kQuadBits[1][0] == 0 && kUBits[0] == 0);

}  // namespace cj2k::ht_rdoq_tables
#endif  // CJ2K_HT_RDOQ_ONCE

HWY_BEFORE_NAMESPACE();
namespace cj2k {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using namespace ht_rdoq_tables;

class Optimiser {
 public:
  Optimiser(const HtRdoqBlock& block, HtRdoqScratch& scratch)
      : block_(block),
        s_(scratch),
        wide_((block.samples.width + 1) / 2),
        high_((block.samples.height + 1) / 2),
        pitch_(wide_ + 2),
        scale_(std::ldexp(block.inverse_step, kFraction - block.plane)),
        half_(shown_half(block.coefficients == nullptr, block.plane)),
        lambda_(lambda_units(block.lambda, block.plane)) {
    read();
  }

  HtRdoqResult run(uint32_t* out, uint8_t* changes) {
    count_bits();
    for (int group = 0; group < kGroups; ++group) {
      for (int qy = first_row(group); qy < high_; qy += kRows) {
        for (int qx = first_column(group); qx < wide_; qx += kColumns) {
          if (s_.candidates[at(qx, qy)] != 0) visit(qx, qy);
        }
      }
    }
    return changes_ == 0 ? HtRdoqResult{} : write(out, changes);
  }

 private:
  /// Index of a quad. Quads of zeros are above the block and at both sides.
  size_t at(int qx, int qy) const { return static_cast<size_t>((qy + 1) * pitch_ + qx + 1); }
  size_t above(size_t q) const { return q - static_cast<size_t>(pitch_); }

  using D = hn::CappedTag<uint32_t, HtRdoqScratch::kMostLanes>;
  using V = hn::Vec<D>;

  /// Reads the samples, two rows at a time: interleaved, they are in the order of quads. The last vector
  /// of a row writes zeros behind the row.
  void read() {
    const D d;
    const size_t lanes = hn::Lanes(d);
    const auto quads = static_cast<size_t>((high_ + 1) * pitch_);
    for (auto* columns : {&s_.exponent_columns, &s_.candidate_columns})
      std::fill_n(columns->data(), 2 * quads, uint16_t{0});
    const auto width = static_cast<size_t>(block_.samples.width);
    for (int qy = 0; qy < high_; ++qy) {
      for (size_t x = 0; x < width; x += lanes) {
        const size_t column = 2 * at(0, qy) + x;
        const Samples upper = read_samples(x, 2 * qy), lower = read_samples(x, 2 * qy + 1);
        hn::StoreInterleaved2(upper.magnitude, lower.magnitude, d,
                              s_.magnitude.data() + 2 * column);
        hn::StoreInterleaved2(upper.value, lower.value, d, s_.value.data() + 2 * column);
        store_columns(upper.exponent, lower.exponent, s_.exponent_columns.data() + column);
        store_columns(upper.candidate, lower.candidate, s_.candidate_columns.data() + column);
      }
    }
    const auto quad = [](const uint16_t* columns) -> QuadBytes {
      return columns[0] | static_cast<uint32_t>(columns[1]) << 16;
    };
    for (size_t q = 0; q < quads; ++q) {
      s_.exponents[q] = quad(s_.exponent_columns.data() + 2 * q);
      const uint32_t rho = nonzero_bytes(s_.exponents[q]);
      s_.rho[q] = static_cast<uint8_t>(rho);
      s_.candidates[q] =
          static_cast<uint8_t>(nonzero_bytes(quad(s_.candidate_columns.data() + 2 * q)));
      significant_ += popcount4(rho);
    }
  }
  /// A vector of samples of one row.
  struct Samples {
    V magnitude, value, exponent, candidate;
  };
  /// @param x  the first of a vector; what is outside of the block is 0
  Samples read_samples(size_t x, int y) const {
    const D d;
    const hn::RebindToFloat<D> df;
    const hn::RebindToSigned<D> di;
    const V zero = hn::Zero(d), one = hn::Set(d, 1);
    const HtSamples& b = block_.samples;
    if (y >= b.height) return {zero, zero, zero, zero};
    const size_t left = std::min(hn::Lanes(d), static_cast<size_t>(b.width) - x);
    const auto load = [left](auto tag, const auto* from) HWY_ATTR {
      if (left == hn::Lanes(tag)) return hn::LoadU(tag, from);
      HWY_ALIGN hn::TFromD<decltype(tag)> some[HWY_MAX_BYTES / sizeof(uint32_t)] = {};
      std::memcpy(some, from, left * sizeof *some);
      return hn::Load(tag, some);
    };
    const V whole = hn::AndNot(hn::Set(d, kSign), load(d, b.data + y * b.stride + x));
    const V m = hn::ShiftRightSame(whole, block_.plane);
    V value;
    if (block_.coefficients != nullptr) {
      const auto c = load(df, block_.coefficients + y * block_.coefficient_stride + x);
      value = hn::BitCast(d, hn::ConvertTo(di, hn::Mul(hn::Abs(c), hn::Set(df, scale_))));
    } else if (block_.plane <= kFraction) {
      value = hn::ShiftLeftSame(whole, kFraction - block_.plane);
    } else {
      value = hn::ShiftRightSame(whole, block_.plane - kFraction);
    }
    // bit_width(2 m - 1), from the exponent of a float. Bits below a 1 are cleared, or the float could be
    // rounded up to the next power of two.
    const V twice = hn::Sub(hn::Add(m, m), one);
    const V top = hn::AndNot(hn::ShiftRight<1>(twice), twice);
    const V bits = hn::BitCast(d, hn::ConvertTo(df, hn::BitCast(di, top)));
    const auto is_zero = hn::Eq(m, zero);
    const V exponent =
        hn::IfThenZeroElse(is_zero, hn::Sub(hn::ShiftRight<23>(bits), hn::Set(d, 126)));
    // The exponent falls if m goes down by one; or the coefficient is above 1/2.
    const V below = hn::Sub(m, one);
    const auto ends = hn::Eq(hn::And(below, hn::Sub(below, one)), zero);
    const auto is_small = hn::Lt(m, hn::Set(d, kMostMagnitude + 1));
    const auto goes_up = hn::Gt(value, hn::Set(d, 1 << (kFraction - 1)));
    const auto is_candidate = hn::Or(hn::And(is_zero, goes_up), hn::AndNot(is_zero, ends));
    return {m, value, exponent, hn::IfThenElseZero(hn::And(is_candidate, is_small), one)};
  }
  static void store_columns(V upper, V lower, uint16_t* to) {
    const hn::Rebind<uint16_t, D> d16;
    hn::StoreU(hn::TruncateTo(d16, hn::Or(upper, hn::ShiftLeft<8>(lower))), d16, to);
  }

  /// As CleanupPass::context.
  Around around(size_t q, bool first) const {
    const uint32_t left = s_.rho[q - 1];
    if (first) return {kFirstContexts[left], 1};
    const QuadBytes* e = s_.exponents.data() + above(q);
    return around_below(left, e[-1] >> 24, byte_of(e[0], 1), e[0] >> 24, byte_of(e[1], 1));
  }

  /// R of a quad with these exponents. @param first  it is in the first row
  int32_t cost(const Around& around, QuadBytes exponents, bool first) const {
    const QuadWords words = quad_words(around, exponents);
    const int bits = kQuadBits[first][words.index] + kUBits[words.u] + words.value_bits();
    return kBitCost * bits + mel_[event(around, exponents)];
  }
  /// Index of the cost of a MEL event.
  static size_t event(const Around& around, QuadBytes exponents) {
    return around.context != 0 ? kNoEvent : exponents != 0 ? 1 : 0;
  }

  /// Counts MEL events, and the bits of all quads.
  void count_bits() {
    uint32_t events[3] = {};
    for (int qy = 0; qy < high_; ++qy) {
      for (int qx = 0; qx < wide_; ++qx) {
        const size_t q = at(qx, qy);
        const Around near = around(q, qy == 0);
        s_.bits[q] = cost(near, s_.exponents[q], qy == 0);
        s_.event[q] = static_cast<uint8_t>(event(near, s_.exponents[q]));
        ++events[s_.event[q]];
      }
    }
    for (int kind = 0; kind < 2; ++kind) mel_[kind] = mel_cost(events, kind);
    for (int qy = 0; qy < high_; ++qy) {
      for (size_t q = at(0, qy); q < at(wide_, qy); ++q) s_.bits[q] += mel_[s_.event[q]];
    }
  }

  /// Tries the changes of a quad's candidates.
  void visit(int qx, int qy) {
    const size_t q = at(qx, qy);
    const Around near = around(q, qy == 0);
    for (uint32_t left = s_.candidates[q]; left != 0; left &= left - 1) {
      const int k = std::countr_zero(left);
      const size_t i = 4 * q + static_cast<size_t>(k);
      const uint32_t from = s_.magnitude[i], to = changed_magnitude(from);
      const int64_t added = added_error(from, to, half_, s_.value[i]);
      if (added >= lambda_ * kMostSaved) continue;
      const QuadBytes one = QuadBytes{1} << 8 * k;
      const QuadBytes exponents = s_.exponents[q] + (from == 0 ? one : 0 - one);
      const int32_t bits = cost(near, exponents, qy == 0);
      if (added + lambda_ * (bits - s_.bits[q] - kNearSaved) >= 0) continue;
      if (!try_change(qx, qy, k, exponents, bits, added)) continue;
      s_.magnitude[i] = to;
      s_.changed[static_cast<size_t>(changes_++)] = static_cast<uint16_t>(i);
      significant_ += from == 0 ? 1 : to == 0 ? -1 : 0;
      added_ += added;
    }
  }

  /// Gives a quad other exponents, of which sample k differs, if that lowers D + lambda R.
  /// @param bits   R of the quad with these exponents
  /// @param added  to D
  bool try_change(int qx, int qy, int k, QuadBytes exponents, int32_t bits, int64_t added) {
    const bool is_low = (k & 1) != 0, is_right = (k & 2) != 0;
    const size_t q = at(qx, qy);
    const QuadBytes before = s_.exponents[q];
    const uint8_t rho_before = s_.rho[q];
    s_.exponents[q] = exponents;
    s_.rho[q] = static_cast<uint8_t>(nonzero_bytes(exponents));
    // Quads whose bits may change. Only the lower samples are seen from below, two quads see each.
    struct {
      size_t q;
      int32_t bits;
    } near[3];
    int count = 0;
    int64_t more = bits - s_.bits[q];
    const auto look = [&](int x, int y) {
      if (x < 0 || x >= wide_ || y >= high_) return;
      const size_t other = at(x, y);
      near[count] = {other, cost(around(other, y == 0), s_.exponents[other], y == 0)};
      more += near[count++].bits - s_.bits[other];
    };
    if (s_.rho[q] != rho_before && (qy == 0 || is_right)) look(qx + 1, qy);
    if (is_low) {
      look(qx, qy + 1);
      look(is_right ? qx + 1 : qx - 1, qy + 1);
    }
    if (added + lambda_ * more >= 0) {
      s_.exponents[q] = before;
      s_.rho[q] = rho_before;
      return false;
    }
    s_.bits[q] = bits;
    for (int n = 0; n < count; ++n) s_.bits[near[n].q] = near[n].bits;
    return true;
  }

  HtRdoqResult write(uint32_t* out, uint8_t* changes) const {
    const HtSamples& b = block_.samples;
    for (int y = 0; y < b.height; ++y)
      std::copy_n(b.data + y * b.stride, b.width, out + y * b.stride);
    const auto pairs_wide = static_cast<uint32_t>(wide_ + 1) / 2;
    if (changes != nullptr)
      std::fill_n(changes, pairs_wide * static_cast<uint32_t>(high_), uint8_t{0});
    for (int n = 0; n < changes_; ++n) {
      const uint32_t i = s_.changed[static_cast<size_t>(n)], q = i / 4;
      const auto pitch = static_cast<uint32_t>(pitch_);
      const uint32_t qx = q % pitch - 1, qy = q / pitch - 1;
      const uint32_t x = 2 * qx + (i >> 1 & 1), y = 2 * qy + (i & 1);
      uint32_t* to = out + y * b.stride + x;
      *to = changed_sample(*to, sign_of(block_.coefficients, block_.coefficient_stride, x, y),
                           block_.plane);
      if (changes != nullptr) changes[qy * pairs_wide + qx / 2] |= 1 << (4 * (qx & 1) + (i & 3));
    }
    return {changes_, significant_ == 0, added_ht_error(added_, block_.plane)};
  }

  static constexpr size_t kNoEvent = 2;

  const HtRdoqBlock& block_;
  HtRdoqScratch& s_;
  const int wide_, high_;  ///< quads
  const int pitch_;
  const float scale_;     ///< of coefficients
  const int32_t half_;    ///< from a magnitude to what a decoder shows
  const int64_t lambda_;  ///< D for each unit of R
  int32_t mel_[3] = {};   ///< R of the events 0 and 1, and of none
  int significant_ = 0;   ///< samples
  int changes_ = 0;
  int64_t added_ = 0;  ///< to D, by the changes
};

}  // namespace

HWY_DLLEXPORT HtRdoqResult HtRdoq(const HtRdoqBlock& block, HtRdoqScratch& scratch, uint32_t* out,
                                  uint8_t* changes) {
  return Optimiser(block, scratch).run(out, changes);
}

HWY_DLLEXPORT int64_t HtRdoqTarget() { return HWY_TARGET; }

}  // namespace HWY_NAMESPACE
}  // namespace cj2k
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cj2k {
HWY_EXPORT(HtRdoq);
HWY_EXPORT(HtRdoqTarget);

int64_t simd::ht_rdoq_target() { return HWY_DYNAMIC_DISPATCH(HtRdoqTarget)(); }

HtRdoqResult ht_rdoq(const HtRdoqBlock& block, HtRdoqScratch& scratch, uint32_t* out,
                     uint8_t* changes) {
  return HWY_DYNAMIC_DISPATCH(HtRdoq)(block, scratch, out, changes);
}

void apply_ht_changes(const uint8_t* changes, int plane, int width, int height,
                      const float* coefficients, ptrdiff_t stride, uint32_t* samples) {
  const int pairs_wide = (width + 3) / 4;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const int bit = 4 * (x >> 1 & 1) + 2 * (x & 1) + (y & 1);
      if ((changes[y / 2 * pairs_wide + x / 4] >> bit & 1) == 0) continue;
      uint32_t& sample = samples[y * width + x];
      sample = ht_rdoq_model::changed_sample(
          sample, ht_rdoq_tables::sign_of(coefficients, stride, x, y), plane);
    }
  }
}

}  // namespace cj2k
#endif  // HWY_ONCE
