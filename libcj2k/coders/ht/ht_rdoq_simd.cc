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

#include "coders/overlaps-inl.h"

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

// HtRdoqScratch::flags.
inline constexpr uint32_t kIsTried = 1, kIsChanged = 2;  ///< in the byte of a sample
inline constexpr uint32_t kExists = 0x80;  ///< in the lowest byte: a quad of the block

/// Of a codeword of CxtVLC: its bits, and one more for each sample of which it does not know U; and the
/// significant samples << 8. With U for each of them but one bit, that is what a quad takes besides U-VLC.
constexpr auto make_quad_bits() {
  std::array<uint32_t, 2 * 2048> bits{};
  for (size_t i = 0; i < bits.size(); ++i) {
    const CxtVlcWord word = (i < 2048 ? kCxtVlcOther : kCxtVlcFirst)[i & 2047];
    const auto rho = static_cast<uint32_t>(i >> 4 & 15);
    bits[i] = static_cast<uint32_t>(word.length + popcount4(rho & ~uint32_t{word.known})) |
              static_cast<uint32_t>(popcount4(rho)) << 8;
  }
  return bits;
}
inline constexpr std::array<uint32_t, 2 * 2048> kQuadBits = make_quad_bits();
inline constexpr uint32_t kFirstTable = 2048;
/// A quad without significant samples and with the context 0 has a MEL event alone.
static_assert(kQuadBits[0] == 0 && kQuadBits[kFirstTable] == 0);

}  // namespace cj2k::ht_rdoq_tables
#endif  // CJ2K_HT_RDOQ_ONCE

HWY_BEFORE_NAMESPACE();
namespace cj2k {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using namespace ht_rdoq_tables;

using D = hn::CappedTag<uint32_t, HtRdoqScratch::kMostLanes>;
using V = hn::Vec<D>;
using M = hn::Mask<D>;
using DI = hn::RebindToSigned<D>;

V set(uint32_t value) { return hn::Set(D(), value); }
V bits_if(M mask, uint32_t bits) { return hn::IfThenElseZero(mask, set(bits)); }
M is_nonzero(V v) { return hn::Ne(v, hn::Zero(D())); }
M is_negative(V v) { return hn::TestBit(v, set(kSign)); }

/// 1 in each byte that is not 0. @param bytes  below 128
V nonzero(V bytes) {
  return hn::And(hn::ShiftRight<7>(hn::Add(bytes, set(0x7F * kEachByte))), set(kEachByte));
}
/// Bit k: byte k is 1.
V gathered(V ones) { return hn::ShiftRight<24>(hn::Mul(ones, set(0x01020408))); }
/// The largest byte of each word, in all its bytes.
V largest_byte_of(V bytes) {
#if HWY_TARGET == HWY_SCALAR
  return set(largest_byte(hn::GetLane(bytes)) * kEachByte);
#else
  const hn::Repartition<uint8_t, D> d8;
  const hn::Repartition<uint16_t, D> d16;
  const auto halves = hn::BitCast(
      d16, hn::Max(hn::BitCast(d8, bytes), hn::BitCast(d8, hn::RotateRight<16>(bytes))));
  const auto turned = hn::Or(hn::ShiftLeft<8>(halves), hn::ShiftRight<8>(halves));
  return hn::BitCast(D(), hn::Max(hn::BitCast(d8, halves), hn::BitCast(d8, turned)));
#endif
}

/// The quads of a block in vectors. Those of a group (core/ht/rdoq.h) stand side by side in memory, row
/// by row, so the neighbours of a vector of quads are vectors of other groups.
class Optimiser {
 public:
  Optimiser(const HtRdoqBlock& block, HtRdoqScratch& scratch)
      : block_(block),
        s_(scratch),
        wide_((block.samples.width + 1) / 2),
        high_((block.samples.height + 1) / 2),
        pitch_((wide_ + kColumns - 1) / kColumns + 2),
        group_size_(((high_ + kRows - 1) / kRows + 2) * pitch_ +
                    static_cast<int>(HtRdoqScratch::kMostLanes)),
        scale_(std::ldexp(block.inverse_step, kFraction - block.plane)),
        half_(shown_half(block.coefficients == nullptr, block.plane)),
        lambda_(static_cast<uint32_t>(lambda_units(block.lambda, block.plane))) {
    read();
  }

  HtRdoqResult run(uint32_t* out, uint8_t* changes) {
    count_bits();
    for (int group = 0; group < kGroups; ++group)
      for_quads(group, [&](const Places& at, size_t f, M first) HWY_ATTR { visit(at, f, first); });
    return changes_ == 0 ? HtRdoqResult{} : write(out, changes);
  }

 private:
  /// Where the quad dx columns and dy rows from the first one of a group is.
  struct Places {
    size_t of[3][5];
    size_t operator()(int dx, int dy) const { return of[dy + 1][dx + 2]; }
  };
  /// A quad of the block, or one of zeros around it.
  size_t place(int x, int y) const {
    const int column = (x + kColumns) / kColumns - 1, row = (y + kRows) / kRows - 1;
    const int group = x - kColumns * column + kColumns * (y - kRows * row);
    return static_cast<size_t>(group * group_size_ + (row + 1) * pitch_ + column + 1);
  }
  /// Calls work(places, f, first) for each vector of a group: quads f and on, of which some may be
  /// beside the block. @param first  a mask of those in the first row
  template <typename Work>
  void for_quads(int group, const Work& work) const {
    const int x = first_column(group), y = first_row(group);
    if (x >= wide_ || y >= high_) return;
    Places at;
    for (int dy = -1; dy <= 1; ++dy) {
      for (int dx = -2; dx <= 2; ++dx) at.of[dy + 1][dx + 2] = place(x + dx, y + dy);
    }
    const auto count = static_cast<size_t>((high_ - y + kRows - 1) / kRows * pitch_);
    const size_t in_first = y == 0 ? static_cast<size_t>(pitch_) : 0;
    for (size_t f = 0; f < count; f += hn::Lanes(D()))
      work(at, f, hn::FirstN(D(), in_first > f ? in_first - f : 0));
  }

  /// The samples of two rows.
  struct Rows {
    static constexpr size_t kMost = 1024 + 8 * HtRdoqScratch::kMostLanes;
    /// By column: the exponents of the upper and the lower sample, then whether their changes are tried; a
    /// byte each.
    uint32_t columns[kMost];
    uint32_t added[2][kMost];  ///< of the upper and the lower samples
  };
  void read() {
    const size_t lanes = hn::Lanes(D());
    std::fill_n(s_.exponents.data(), kGroups * group_size_, 0u);
    std::fill_n(s_.flags.data(), kGroups * group_size_, 0u);
    Rows rows;
    const auto width = static_cast<size_t>(block_.samples.width);
    std::fill(rows.columns + width, rows.columns + std::min(width + 9 * lanes, Rows::kMost), 0u);
    V significant = hn::Zero(D());
    for (int y = 0; y < block_.samples.height; ++y) store_errors(y);
    for (int y = 0; y < high_; ++y) {
      for (size_t x = 0; x < width; x += lanes) {
        const Samples upper = read_samples(x, 2 * y), lower = read_samples(x, 2 * y + 1);
        hn::StoreU(hn::Or(hn::Or(upper.exponent, hn::ShiftLeft<8>(lower.exponent)),
                          hn::Or(hn::ShiftLeft<16>(upper.tried), hn::ShiftLeft<24>(lower.tried))),
                   D(), rows.columns + x);
        hn::StoreU(upper.added, D(), rows.added[0] + x);
        hn::StoreU(lower.added, D(), rows.added[1] + x);
        significant = hn::Add(significant, bits_if(is_nonzero(upper.exponent), 1));
        significant = hn::Add(significant, bits_if(is_nonzero(lower.exponent), 1));
      }
      store_quads(rows, y);
    }
    significant_ = static_cast<int>(hn::GetLane(hn::SumOfLanes(D(), significant)));
  }
  /// Parts two rows by quads, and these by groups.
  void store_quads(const Rows& rows, int y) {
    const D d;
    const size_t lanes = hn::Lanes(d);
    constexpr size_t kMost = Rows::kMost / 2;
    uint32_t exponents[kMost], flags[kMost], added[4][kMost];
    const auto wide = static_cast<size_t>(wide_);
    const V low = set(0xFFFF);
    const size_t step = kColumns * lanes, end = (wide + step - 1) / step * step;
    for (size_t q = 0; q < end; q += lanes) {
      V left, right;
      hn::LoadInterleaved2(d, rows.columns + 2 * q, left, right);
      hn::StoreU(hn::Or(hn::And(left, low), hn::ShiftLeft<16>(right)), d, exponents + q);
      const V tried = hn::Or(hn::ShiftRight<16>(left), hn::AndNot(low, right));
      const V exists = bits_if(hn::FirstN(d, wide > q ? wide - q : 0), kExists);
      hn::StoreU(hn::Or(tried, exists), d, flags + q);
      if (q >= wide) continue;
      for (size_t k = 0; k < 2; ++k) {
        hn::LoadInterleaved2(d, rows.added[k] + 2 * q, left, right);
        hn::StoreU(left, d, added[k] + q);
        hn::StoreU(right, d, added[k + 2] + q);
      }
    }
    size_t to[kColumns];
    for (int x = 0; x < kColumns; ++x) to[x] = place(x, y);
    static_assert(kColumns == 4);
    const auto store = [&](const uint32_t* quads, uint32_t* array) HWY_ATTR {
      for (size_t i = 0; kColumns * i < wide; i += lanes) {
        V column[kColumns];
        hn::LoadInterleaved4(d, quads + kColumns * i, column[0], column[1], column[2], column[3]);
        for (size_t x = 0; x < kColumns; ++x) hn::StoreU(column[x], d, array + to[x] + i);
      }
    };
    store(exponents, s_.exponents.data());
    store(flags, s_.flags.data());
    for (size_t k = 0; k < 4; ++k) store(added[k], s_.added[k].data());
  }
  /// Where the errors of a row begin.
  int16_t* errors_of(int y) const { return s_.errors.data() + y * (block_.samples.width + 4) + 2; }
  void store_errors(int y) {
    const DI di;
    const auto width = static_cast<size_t>(block_.samples.width);
    int16_t* const errors = errors_of(y);
    errors[-2] = errors[-1] = 0;
    for (size_t x = 0; x < width; x += hn::Lanes(di)) {
      const Coefficients of = read_coefficients(x, y);
      overlaps::store_errors(di, hn::BitCast(di, of.value), hn::BitCast(di, shown(of.magnitude)),
                             of.sign, errors + x);
    }
    errors[width] = errors[width + 1] = 0;
  }
  /// What a decoder shows.
  V shown(V magnitude) const {
    const V half = set(static_cast<uint32_t>(half_));
    return hn::IfThenElseZero(is_nonzero(magnitude),
                              hn::Add(hn::ShiftLeft<kFraction>(magnitude), half));
  }
  /// A vector of samples of one row, at plane p.
  struct Coefficients {
    V magnitude;
    V value;           ///< |coefficient| in 2^p / 2^kFraction
    hn::Vec<DI> sign;  ///< -1: negative
  };
  /// @param x  the first of a vector; what is outside of the block is 0
  Coefficients read_coefficients(size_t x, int y) const {
    const D d;
    const DI di;
    const hn::RebindToFloat<D> df;
    const HtSamples& b = block_.samples;
    const size_t left = std::min(hn::Lanes(d), static_cast<size_t>(b.width) - x);
    const auto load = [left](auto tag, const auto* from) HWY_ATTR {
      if (left == hn::Lanes(tag)) return hn::LoadU(tag, from);
      HWY_ALIGN hn::TFromD<decltype(tag)> some[HWY_MAX_BYTES / sizeof(uint32_t)] = {};
      std::memcpy(some, from, left * sizeof *some);
      return hn::Load(tag, some);
    };
    const V sample = load(d, b.data + y * b.stride + x);
    const V whole = hn::AndNot(set(kSign), sample);
    V value, signs = sample;
    if (block_.coefficients != nullptr) {
      const auto c = load(df, block_.coefficients + y * block_.coefficient_stride + x);
      value = hn::BitCast(d, hn::ConvertTo(di, hn::Mul(hn::Abs(c), hn::Set(df, scale_))));
      signs = hn::BitCast(d, c);
    } else if (block_.plane <= kFraction) {
      value = hn::ShiftLeftSame(whole, kFraction - block_.plane);
    } else {
      value = hn::ShiftRightSame(whole, block_.plane - kFraction);
    }
    return {hn::ShiftRightSame(whole, block_.plane), value,
            hn::ShiftRight<31>(hn::BitCast(di, signs))};
  }
  /// A vector of samples of one row.
  struct Samples {
    V exponent;
    V tried;  ///< 1: the change is tried
    V added;  ///< by the change to D
  };
  /// @param x  the first of a vector; what is outside of the block is 0
  Samples read_samples(size_t x, int y) const {
    const D d;
    const DI di;
    const hn::RebindToFloat<D> df;
    const V zero = hn::Zero(d), one = set(1);
    const int height = block_.samples.height;
    if (y >= height) return {zero, zero, zero};
    const Coefficients of = read_coefficients(x, y);
    const V m = of.magnitude;
    // bit_width(2 m - 1), from the exponent of a float. Bits below a 1 are cleared, or the float could be
    // rounded up to the next power of two.
    const V twice = hn::Sub(hn::Add(m, m), one);
    const V top = hn::AndNot(hn::ShiftRight<1>(twice), twice);
    const V bits = hn::BitCast(d, hn::ConvertTo(df, hn::BitCast(di, top)));
    const M is_zero = hn::Eq(m, zero);
    const V exponent = hn::IfThenZeroElse(is_zero, hn::Sub(hn::ShiftRight<23>(bits), set(126)));
    // The exponent falls if m goes down by one; or the coefficient is above 1/2.
    const V below = hn::Sub(m, one);
    const M ends = hn::Eq(hn::And(below, hn::Sub(below, one)), zero);
    const M goes_up = hn::Gt(of.value, set(1 << (kFraction - 1)));
    const M changes = hn::Or(hn::And(is_zero, goes_up), hn::AndNot(is_zero, ends));
    // As ht_rdoq_model::added_error.
    V value =
        hn::BitCast(d, overlaps::targets(di, block_.overlaps, hn::BitCast(di, of.value), of.sign,
                                         errors_of(y) + x, block_.samples.width + 4, y, height));
    const V before = shown(m), after = shown(hn::IfThenElse(is_zero, one, below));
    value = hn::Min(value, hn::Add(hn::ShiftLeft<kFraction>(m), set(kMostExcess)));
    const V added =
        hn::Mul(hn::Sub(after, before), hn::Sub(hn::Add(after, before), hn::Add(value, value)));
    const M is_small = hn::Lt(m, set(kMostMagnitude + 1));
    const M is_cheap =
        is_negative(hn::Sub(added, set(lambda_ * static_cast<uint32_t>(kMostSaved))));
    return {exponent, bits_if(hn::And(hn::And(changes, is_small), is_cheap), 1), added};
  }

  /// What the codewords of quads depend on beside their own samples.
  struct Around {
    V context, kappa;  ///< as in core/ht/rdoq.h
    V table;           ///< of their codewords, in kQuadBits
  };
  /// Of quads that are not in the first row.
  /// @param left, above_left, above, above_right  exponents of the quads there
  static Around around_below_row(V left, V above_left, V above, V above_right) {
    const V byte = set(0xFF);
    const V a = hn::ShiftRight<24>(above_left), b = hn::And(hn::ShiftRight<8>(above), byte);
    const V c = hn::ShiftRight<24>(above), e = hn::And(hn::ShiftRight<8>(above_right), byte);
    const V context =
        hn::Or(bits_if(is_nonzero(hn::Or(a, b)), 1),
               hn::Or(bits_if(hn::Gt(left, set(0xFFFF)), 2), bits_if(is_nonzero(hn::Or(c, e)), 4)));
    const V most = hn::Max(hn::Max(hn::Max(a, b), hn::Max(c, e)), set(2));
    return {context, hn::Sub(most, set(1)), hn::Zero(D())};
  }
  /// @param first  those in the first row
  static Around around(M first, V left, V above_left, V above, V above_right) {
    Around of = around_below_row(left, above_left, above, above_right);
    if (hn::AllFalse(D(), first)) return of;
    const V context = hn::Or(bits_if(is_nonzero(hn::And(left, set(0xFFFF))), 1),
                             hn::Or(bits_if(is_nonzero(hn::And(left, set(0xFF0000))), 2),
                                    bits_if(is_nonzero(hn::ShiftRight<24>(left)), 4)));
    of.context = hn::IfThenElse(first, context, of.context);
    of.kappa = hn::IfThenElse(first, set(1), of.kappa);
    of.table = bits_if(first, kFirstTable);
    return of;
  }
  /// R of quads with these exponents.
  V cost(const Around& around, V exponents) const {
    const V one = set(1), ones = nonzero(exponents);
    const V rho = hn::And(gathered(ones), set(15)), largest = largest_byte_of(exponents);
    const M several = is_nonzero(hn::And(rho, hn::Sub(rho, one)));
    const V kappa = hn::IfThenElse(several, around.kappa, one);
    const V bound = hn::Max(hn::ShiftRight<24>(largest), kappa), u = hn::Sub(bound, kappa);
    const V smaller = gathered(nonzero(hn::Xor(exponents, largest)));
    const V eps = hn::IfThenElseZero(is_nonzero(u), hn::AndNot(smaller, set(15)));
    const V index = hn::Add(
        around.table, hn::Or(hn::Or(hn::ShiftLeft<8>(around.context), hn::ShiftLeft<4>(rho)), eps));
    const hn::RebindToSigned<D> di;
    const V word = hn::GatherIndex(D(), kQuadBits.data(), hn::BitCast(di, index));
    const V values = hn::Mul(hn::ShiftRight<8>(word), hn::Sub(bound, one));
    // As u_bits.
    const V of_u = hn::Add(hn::Min(u, set(2)),
                           hn::Add(bits_if(hn::Gt(u, set(2)), 2), bits_if(hn::Gt(u, set(4)), 4)));
    const V bits = hn::Add(hn::Add(hn::And(word, set(0xFF)), values), of_u);
    const V event = hn::IfThenElse(is_nonzero(exponents), set(mel_[1]), set(mel_[0]));
    return hn::Add(hn::ShiftLeft<std::countr_zero(unsigned{kBitCost})>(bits),
                   hn::IfThenZeroElse(is_nonzero(around.context), event));
  }

  V exponents(size_t at) const { return hn::LoadU(D(), s_.exponents.data() + at); }
  V bits(size_t at) const { return hn::LoadU(D(), s_.bits.data() + at); }
  V flags(size_t at) const { return hn::LoadU(D(), s_.flags.data() + at); }
  M exist(size_t at) const { return hn::TestBit(flags(at), set(kExists)); }
  Around around_of(const Places& at, size_t f, M first) const {
    return around(first, exponents(at(-1, 0) + f), exponents(at(-1, -1) + f),
                  exponents(at(0, -1) + f), exponents(at(1, -1) + f));
  }

  /// Counts MEL events, and the bits of all quads.
  void count_bits() {
    uint32_t events[2] = {};
    const auto for_all = [&](const auto& work) HWY_ATTR {
      for (int group = 0; group < kGroups; ++group) for_quads(group, work);
    };
    // Without those of MEL first: the events stand above them.
    constexpr int kEventBit = 24;
    for_all([&](const Places& at, size_t f, M first) HWY_ATTR {
      const size_t own = at(0, 0) + f;
      const Around around = around_of(at, f, first);
      const V now = exponents(own);
      const M has_event = hn::AndNot(is_nonzero(around.context), exist(own));
      const M is_one = hn::And(has_event, is_nonzero(now));
      const auto ones = static_cast<uint32_t>(hn::CountTrue(D(), is_one));
      events[1] += ones;
      events[0] += static_cast<uint32_t>(hn::CountTrue(D(), has_event)) - ones;
      const V event = hn::Add(bits_if(has_event, 1 << kEventBit), bits_if(is_one, 1 << kEventBit));
      hn::StoreU(hn::Add(cost(around, now), event), D(), s_.bits.data() + own);
    });
    for (int kind = 0; kind < 2; ++kind) mel_[kind] = static_cast<uint32_t>(mel_cost(events, kind));
    for_all([&](const Places& at, size_t f, M) HWY_ATTR {
      uint32_t* const to = s_.bits.data() + at(0, 0) + f;
      const V both = hn::LoadU(D(), to), event = hn::ShiftRight<kEventBit>(both);
      const V mel = hn::IfThenElse(hn::Eq(event, set(1)), set(mel_[0]),
                                   bits_if(hn::Eq(event, set(2)), mel_[1]));
      hn::StoreU(hn::Add(hn::And(both, set((1 << kEventBit) - 1)), mel), D(), to);
    });
  }

  /// Whether D + lambda R falls. @param more  R
  M falls(V added, V more) const {
    return is_negative(hn::Add(added, hn::Mul(more, set(lambda_))));
  }
  /// Quads whose bits may change: those where `are` is set have `bits` then.
  struct Near {
    size_t at;
    M are;
    V bits;
  };
  Near near(size_t at, M may, const Around& around) const {
    return {at, hn::And(may, exist(at)), cost(around, exponents(at))};
  }
  V more_bits(const Near& near) const {
    return hn::IfThenElseZero(near.are, hn::Sub(near.bits, bits(near.at)));
  }
  void keep(const Near& near, M accepted) {
    uint32_t* const to = s_.bits.data() + near.at;
    const M are = hn::And(near.are, accepted);
    hn::StoreU(hn::IfThenElse(are, near.bits, hn::LoadU(D(), to)), D(), to);
  }

  /// Tries the changes of a vector of quads, sample by sample.
  void visit(const Places& at, size_t f, M first) {
    const D d;
    const size_t own = at(0, 0) + f;
    V own_flags = flags(own);
    const V tried = hn::And(own_flags, set(kIsTried * kEachByte));
    if (hn::AllTrue(d, hn::Eq(tried, hn::Zero(d)))) return;
    const Around around = around_of(at, f, first);
    V now = exponents(own), now_bits = bits(own);
    for (int k = 0; k < 4; ++k) {
      const M is_tried = hn::TestBit(tried, set(kIsTried << 8 * k));
      if (hn::AllFalse(d, is_tried)) continue;
      const V exponent = hn::And(hn::ShiftRightSame(now, 8 * k), set(0xFF)), one = set(1u << 8 * k);
      const M goes_up = hn::Eq(exponent, hn::Zero(d));
      const V changed = hn::IfThenElse(goes_up, hn::Add(now, one), hn::Sub(now, one));
      const V changed_bits = cost(around, changed), added = hn::LoadU(d, s_.added[k].data() + own);
      V more = hn::Sub(changed_bits, now_bits);
      M accepted = hn::And(is_tried, falls(added, hn::Sub(more, set(kNearSaved))));
      if (hn::AllFalse(d, accepted)) continue;
      // Only the lower samples are seen from below, two quads see each.
      const bool is_low = (k & 1) != 0, is_right = (k & 2) != 0;
      const M rho_changes = hn::Lt(exponent, set(2));
      const M beside_sees = hn::And(accepted, is_right ? rho_changes : hn::And(rho_changes, first));
      // The constructor of an aggregate of vectors would have the compiler's own instruction set.
      const Near none{own, is_tried, now};
      Near seen[3] = {none, none, none};
      int count = 0;
      if (!hn::AllFalse(d, beside_sees)) {
        seen[count++] = near(at(1, 0) + f, beside_sees,
                             Optimiser::around(first, changed, exponents(at(0, -1) + f),
                                               exponents(at(1, -1) + f), exponents(at(2, -1) + f)));
      }
      if (is_low) {
        const V left = exponents(at(-1, 0) + f), right = exponents(at(1, 0) + f);
        seen[count++] = near(at(0, 1) + f, accepted,
                             around_below_row(exponents(at(-1, 1) + f), left, changed, right));
        seen[count++] = is_right ? near(at(1, 1) + f, accepted,
                                        around_below_row(exponents(at(0, 1) + f), changed, right,
                                                         exponents(at(2, 0) + f)))
                                 : near(at(-1, 1) + f, accepted,
                                        around_below_row(exponents(at(-2, 1) + f),
                                                         exponents(at(-2, 0) + f), left, changed));
      }
      for (int i = 0; i < count; ++i) more = hn::Add(more, more_bits(seen[i]));
      accepted = hn::And(accepted, falls(added, more));
      if (hn::AllFalse(d, accepted)) continue;
      for (int i = 0; i < count; ++i) keep(seen[i], accepted);
      now = hn::IfThenElse(accepted, changed, now);
      now_bits = hn::IfThenElse(accepted, changed_bits, now_bits);
      own_flags = hn::Or(own_flags, bits_if(accepted, kIsChanged << 8 * k));
      note(accepted, goes_up, exponent, added);
    }
    hn::StoreU(now, d, s_.exponents.data() + own);
    hn::StoreU(now_bits, d, s_.bits.data() + own);
    hn::StoreU(own_flags, d, s_.flags.data() + own);
  }
  void note(M accepted, M goes_up, V exponent, V added) {
    const D d;
    const hn::RebindToSigned<D> di;
    const auto count = [&](M mask) HWY_ATTR {
      return static_cast<int>(hn::CountTrue(d, hn::And(accepted, mask)));
    };
    changes_ += static_cast<int>(hn::CountTrue(d, accepted));
    significant_ += count(goes_up) - count(hn::Eq(exponent, set(1)));
    added_ += hn::GetLane(hn::SumOfLanes(di, hn::BitCast(di, hn::IfThenElseZero(accepted, added))));
  }

  HtRdoqResult write(uint32_t* out, uint8_t* changes) const {
    const HtSamples& b = block_.samples;
    for (int y = 0; y < b.height; ++y)
      std::copy_n(b.data + y * b.stride, b.width, out + y * b.stride);
    const int pairs_wide = (wide_ + 1) / 2;
    if (changes != nullptr) std::fill_n(changes, pairs_wide * high_, uint8_t{0});
    for (int group = 0; group < kGroups; ++group) {
      for (int qy = first_row(group); qy < high_; qy += kRows) {
        const uint32_t* flags = s_.flags.data() + place(first_column(group), qy);
        for (int qx = first_column(group); qx < wide_; qx += kColumns) {
          const uint32_t changed = low_bits(*flags++ / kIsChanged);
          if (changed == 0) continue;
          if (changes != nullptr)
            changes[qy * pairs_wide + qx / 2] |= static_cast<uint8_t>(changed << 4 * (qx & 1));
          for (uint32_t left = changed; left != 0; left &= left - 1)
            change(out, 2 * qx, 2 * qy, std::countr_zero(left));
        }
      }
    }
    return {changes_, significant_ == 0, added_ht_error(added_, block_.plane)};
  }

  /// Changes sample k of the quad at (x, y).
  void change(uint32_t* out, int x, int y, int k) const {
    x += k / 2;
    y += k % 2;
    uint32_t* to = out + y * block_.samples.stride + x;
    *to = changed_sample(*to, sign_of(block_.coefficients, block_.coefficient_stride, x, y),
                         block_.plane);
  }

  const HtRdoqBlock& block_;
  HtRdoqScratch& s_;
  const int wide_, high_;         ///< quads
  const int pitch_, group_size_;  ///< of quads in memory
  const float scale_;             ///< of coefficients
  const int32_t half_;            ///< from a magnitude to what a decoder shows
  const uint32_t lambda_;         ///< D for each unit of R
  uint32_t mel_[2] = {};          ///< R of the events 0 and 1
  int significant_ = 0;           ///< samples
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
