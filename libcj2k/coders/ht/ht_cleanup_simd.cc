// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The cleanup pass. For each row of quads, vectors find what the quads are, and the bits that each
// pair of them adds to MagSgn and to VLC. These go to memory as they are; stuffed bits are added at the
// end of the block.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "coders/ht/ht_block.h"
#include "core/ht/segments.h"
#include "pixels/target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "coders/ht/ht_cleanup_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef CJ2K_HT_CLEANUP_SIMD_ONCE
#define CJ2K_HT_CLEANUP_SIMD_ONCE
namespace cj2k::simd::ht {

constexpr size_t kMaxQuads = 512;
constexpr uint32_t kMostTogether = 16;  ///< bits of a sample
constexpr size_t kPad = HWY_MAX_BYTES / sizeof(uint32_t);

/// A row of quads. Arrays with a `1 +` begin with the quad left of the block.
struct QuadRow {
  HWY_ALIGN uint32_t value[4][kMaxQuads + kPad];  ///< 2 (magnitude - 1) + sign
  HWY_ALIGN uint32_t u[kMaxQuads + kPad];
  HWY_ALIGN uint32_t u_max[kMaxQuads + kPad];  ///< U
  HWY_ALIGN uint32_t index[kMaxQuads + kPad];  ///< cxt_vlc_index
  HWY_ALIGN uint32_t word[kMaxQuads + kPad];   ///< of WordTable
  /// Unless a U of the row is above kMostTogether: the MagSgn bits of the left and of the right
  /// samples, and their numbers, that of the right ones << 8. Up to 32 bits are all on the left.
  HWY_ALIGN uint32_t bits[2][kMaxQuads + kPad];
  HWY_ALIGN uint32_t num_bits[kMaxQuads + kPad];
  /// But for the first row: the VLC bits of each pair of quads, and their numbers.
  HWY_ALIGN uint32_t vlc[kMaxQuads / 2 + kPad];
  HWY_ALIGN uint32_t num_vlc[kMaxQuads / 2 + kPad];
  HWY_ALIGN uint32_t rho[1 + kMaxQuads + kPad];
  /// Exponents of the lower samples: of these quads, and of those above.
  HWY_ALIGN uint32_t left[2][1 + kMaxQuads + kPad];
  HWY_ALIGN uint32_t right[2][1 + kMaxQuads + kPad];
  /// Samples of rows that end within a vector, or are missing.
  HWY_ALIGN uint32_t rows[2][2 * (kMaxQuads + kPad)];
};

/// CxtVlcWord in one word: codeword, length << 8, e_k << 12.
using WordTable = std::array<uint32_t, 2048>;
constexpr WordTable make_words(const CxtVlcTable& from) {
  WordTable words{};
  for (size_t i = 0; i < words.size(); ++i)
    words[i] = static_cast<uint32_t>(from[i].codeword | from[i].length << 8 | from[i].known << 12);
  return words;
}
constexpr WordTable kFirstWords = make_words(kCxtVlcFirst), kOtherWords = make_words(kCxtVlcOther);

/// A put of RawBits stores so many bytes beyond its last one, and reads ones beyond the end.
constexpr size_t kRawRoom = 16;

/// Bits one after the other, without stuffing. They wait until there is a byte of them.
class RawBits {
 public:
  explicit RawBits(uint8_t* out) : begin_(out), out_(out) {}
  /// @param bits   no bits above `count`
  /// @param count  0 .. kMost
  static constexpr uint32_t kMost = 56;
  void put(uint64_t bits, uint32_t count) {
    pending_ |= bits << num_pending_;
    store_64(out_, pending_);
    num_pending_ += count;
    out_ += num_pending_ >> 3;
    pending_ >>= num_pending_ & ~7u;
    num_pending_ &= 7;
  }
  /// Puts all of them to the VLC stream, up to 32 at once.
  void put_vlc(HtCleanupStreams& to) const {
    const uint8_t* from = begin_;
    for (; out_ - from >= 4; from += 4) to.put_vlc(static_cast<uint32_t>(load_64(from)), 32);
    for (; from < out_; ++from) to.put_vlc(*from, 8);
    to.put_vlc(static_cast<uint32_t>(pending_), num_pending_);
  }
  /// Makes MagSgn of them. Ones fill the last byte; a decoder also reads them after the end, so a
  /// final 0xFF is not stored.
  /// @param out  bytes, with room for kRawRoom more
  /// @return bytes
  uint32_t end_mag_sgn(uint8_t* out) {
    const uint64_t all = uint64_t{8} * static_cast<uint64_t>(out_ - begin_) + num_pending_;
    put((uint64_t{1} << kMost) - 1, kMost);
    uint8_t* to = out;
    for (uint64_t done = 0; done < all;) {
      const uint64_t bits = load_64(begin_ + done / 8) >> done % 8;  // at least kMost
      const bool has_ff = ((~bits - kLowBits) & bits & kLowBits << 7) != 0;
      if (!has_ff && all - done >= kMost) {
        store_64(to, bits);
        to += kMost / 8;
        done += kMost;
        continue;
      }
      *to++ = static_cast<uint8_t>(bits);
      done += 8;
      if ((bits & 0xFF) != 0xFF || done >= all) continue;
      *to++ = static_cast<uint8_t>(bits >> 8 & 0x7F);
      done += 7;
    }
    return static_cast<uint32_t>(to - out) - (to > out && to[-1] == 0xFF ? 1 : 0);
  }

 private:
  static constexpr uint64_t kLowBits = 0x0101010101010101;
  static void store_64(uint8_t* to, uint64_t bits) {
    store_word(to, static_cast<uint32_t>(bits));
    store_word(to + 4, static_cast<uint32_t>(bits >> 32));
  }
  static uint64_t load_64(const uint8_t* from) {
    uint64_t bits = 0;
    for (int i = 0; i < 8; ++i) bits |= uint64_t{from[i]} << 8 * i;
    return bits;
  }

  uint8_t* begin_;
  uint8_t* out_;
  uint64_t pending_ = 0;
  uint32_t num_pending_ = 0;
};
}  // namespace cj2k::simd::ht
#endif

HWY_BEFORE_NAMESPACE();
namespace cj2k::simd {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using ht::QuadRow;

/// The bits of 2 `magnitude` - 1; 0 for 0.
template <class DU, class V>
V exponent_of(DU du, V magnitude) {
  const hn::RebindToSigned<DU> di;
  const hn::RebindToFloat<DU> df;
  const auto odd = hn::Sub(hn::Add(magnitude, magnitude), hn::Set(du, 1));
  // Without two ones in a row, the conversion does not round up to a power of two.
  const auto sparse = hn::AndNot(hn::ShiftRight<1>(odd), odd);
  const auto as_float = hn::BitCast(du, hn::ConvertTo(df, hn::BitCast(di, sparse)));
  const auto exponent = hn::Sub(hn::ShiftRight<23>(as_float), hn::Set(du, 126));
  return hn::IfThenZeroElse(hn::Eq(magnitude, hn::Zero(du)), exponent);
}

/// Fills in all of `row` but `index`. @param now  of row.left and row.right
/// Not inlined: clang 14 with -g and ThreadSanitizer crashes on it.
HWY_NOINLINE void analyse_quads(const uint32_t* top, const uint32_t* bottom, size_t quads,
                                int plane, int now, QuadRow& row) {
  const hn::ScalableTag<uint32_t> du;
  using V = hn::VFromD<decltype(du)>;
  const auto one = hn::Set(du, 1), two = hn::Set(du, 2);
  const auto zero = hn::Zero(du);
  const uint32_t* above_left = row.left[1 - now] + 1;
  const uint32_t* above_right = row.right[1 - now] + 1;
  for (size_t q = 0; q < quads; q += hn::Lanes(du)) {
    V samples[4], exponents[4];
    hn::LoadInterleaved2(du, top + 2 * q, samples[0], samples[2]);
    hn::LoadInterleaved2(du, bottom + 2 * q, samples[1], samples[3]);
    auto rho = zero, largest = zero;
    for (uint32_t i = 0; i < 4; ++i) {
      const auto magnitude =
          hn::ShiftRightSame(hn::And(samples[i], hn::Set(du, 0x7FFFFFFF)), plane);
      const auto less = hn::Sub(magnitude, one);
      hn::StoreU(hn::Add(hn::Add(less, less), hn::ShiftRight<31>(samples[i])), du,
                 row.value[i] + q);
      exponents[i] = exponent_of(du, magnitude);
      rho = hn::Or(rho, hn::IfThenZeroElse(hn::Eq(magnitude, zero), hn::Set(du, 1u << i)));
      largest = hn::Max(largest, exponents[i]);
    }
    const auto above =
        hn::Max(hn::Max(hn::LoadU(du, above_right + q - 1), hn::LoadU(du, above_left + q)),
                hn::Max(hn::LoadU(du, above_right + q), hn::LoadU(du, above_left + q + 1)));
    const auto is_single = hn::Eq(hn::And(rho, hn::Sub(rho, one)), zero);
    const auto kappa = hn::IfThenElse(is_single, one, hn::Sub(hn::Max(above, two), one));
    const auto u_max = hn::Max(largest, kappa);
    const auto u = hn::Sub(u_max, kappa);
    auto eps = zero;
    for (uint32_t i = 0; i < 4; ++i)
      eps = hn::Or(eps, hn::IfThenElseZero(hn::Eq(exponents[i], largest), hn::Set(du, 1u << i)));
    eps = hn::IfThenZeroElse(hn::Eq(u, zero), eps);
    hn::StoreU(u, du, row.u + q);
    hn::StoreU(u_max, du, row.u_max + q);
    hn::StoreU(rho, du, row.rho + 1 + q);
    hn::StoreU(hn::Or(hn::ShiftLeft<4>(rho), eps), du, row.index + q);
    hn::StoreU(exponents[1], du, row.left[now] + 1 + q);
    hn::StoreU(exponents[3], du, row.right[now] + 1 + q);
  }
}

/// Adds the contexts to row.index, and looks up the codewords.
/// @return false: no quad has a context or a significant sample
bool add_contexts(size_t quads, bool first, int now, QuadRow& row) {
  const hn::ScalableTag<uint32_t> du;
  const hn::RebindToSigned<decltype(du)> di;
  const ht::WordTable& table = first ? ht::kFirstWords : ht::kOtherWords;
  const auto zero = hn::Zero(du);
  auto any = zero;
  const uint32_t* above_left = row.left[1 - now] + 1;
  const uint32_t* above_right = row.right[1 - now] + 1;
  for (size_t q = 0; q < quads; q += hn::Lanes(du)) {
    const auto before = hn::LoadU(du, row.rho + q);
    auto context = zero;
    if (first) {
      const auto left = hn::And(hn::Or(before, hn::ShiftRight<1>(before)), hn::Set(du, 1));
      context = hn::Or(left, hn::And(hn::ShiftRight<1>(before), hn::Set(du, 6)));
    } else {
      const auto flag = [&](auto of, uint32_t bit) {
        return hn::IfThenZeroElse(hn::Eq(of, zero), hn::Set(du, bit));
      };
      const auto west = hn::Or(hn::LoadU(du, above_right + q - 1), hn::LoadU(du, above_left + q));
      const auto east = hn::Or(hn::LoadU(du, above_right + q), hn::LoadU(du, above_left + q + 1));
      context =
          hn::Or(flag(west, 1), hn::Or(flag(hn::And(before, hn::Set(du, 0xC)), 2), flag(east, 4)));
    }
    const auto index = hn::Or(hn::LoadU(du, row.index + q), hn::ShiftLeft<8>(context));
    hn::StoreU(index, du, row.index + q);
    hn::StoreU(hn::GatherIndex(du, table.data(), hn::BitCast(di, index)), du, row.word + q);
    any = hn::Or(any, index);
  }
  return !hn::AllTrue(du, hn::Eq(any, zero));
}

/// @param v  below 2^31
template <class DU, class V>
auto is_above(DU du, V v, int32_t limit) {
  const hn::RebindToSigned<DU> di;
  return hn::RebindMask(du, hn::Gt(hn::BitCast(di, v), hn::Set(di, limit)));
}

/// Joins the MagSgn bits of the samples of each quad.
/// @return false: a U is above kMostTogether, and they are not joined
bool join_values(size_t quads, QuadRow& row) {
  const hn::ScalableTag<uint32_t> du;
  const auto one = hn::Set(du, 1);
  auto largest = hn::Zero(du);
  for (size_t q = 0; q < quads; q += hn::Lanes(du)) {
    const auto u_max = hn::LoadU(du, row.u_max + q), rho = hn::LoadU(du, row.rho + 1 + q);
    const auto known = hn::ShiftRight<12>(hn::LoadU(du, row.word + q));
    largest = hn::Max(largest, u_max);
    const auto most = hn::Min(u_max, hn::Set(du, ht::kMostTogether));
    hn::VFromD<decltype(du)> bits[4], counts[4];
    for (int i = 0; i < 4; ++i) {
      const auto less = hn::And(hn::ShiftRightSame(known, i), one);
      const auto is = hn::Eq(hn::And(hn::ShiftRightSame(rho, i), one), one);
      counts[i] = hn::IfThenElseZero(is, hn::Sub(most, less));
      const auto mask = hn::Sub(hn::Shl(one, counts[i]), one);
      bits[i] = hn::And(hn::LoadU(du, row.value[i] + q), mask);
    }
    const auto left = hn::Or(bits[0], hn::Shl(bits[1], counts[0]));
    const auto right = hn::Or(bits[2], hn::Shl(bits[3], counts[2]));
    const auto num_left = hn::Add(counts[0], counts[1]), num_right = hn::Add(counts[2], counts[3]);
    const auto all = hn::Add(num_left, num_right);
    const auto is_apart = is_above(du, all, 32);
    // Where num_left is 32, there is nothing on the right, or they are apart.
    const auto moved = hn::Shl(right, hn::Min(num_left, hn::Set(du, 31)));
    hn::StoreU(hn::Or(left, hn::IfThenZeroElse(is_apart, moved)), du, row.bits[0] + q);
    hn::StoreU(hn::IfThenElseZero(is_apart, right), du, row.bits[1] + q);
    const auto apart = hn::Or(num_left, hn::ShiftLeft<8>(num_right));
    hn::StoreU(hn::IfThenElse(is_apart, apart, all), du, row.num_bits + q);
  }
  // The last pair may have one quad.
  row.bits[0][quads] = row.bits[1][quads] = row.num_bits[quads] = 0;
  return hn::AllTrue(
      du, hn::Eq(hn::Max(largest, hn::Set(du, ht::kMostTogether)), hn::Set(du, ht::kMostTogether)));
}

/// Codes the values of a row. @param joined  by join_values
void put_values(const QuadRow& row, size_t quads, bool joined, ht::RawBits& mag_sgn) {
  for (size_t q = 0; !joined && q < quads; ++q) {
    const uint32_t u_max = row.u_max[q], known = row.word[q] >> 12, rho = row.rho[1 + q];
    for (uint32_t i = 0; i < 4; ++i) {
      const uint32_t here = (u_max - (known >> i & 1)) & (0 - (rho >> i & 1));
      mag_sgn.put(row.value[i][q] & ((uint64_t{1} << here) - 1), here);
    }
  }
  for (size_t q = 0; joined && q < quads; q += 2) {
    const uint32_t first = row.num_bits[q], count = first + row.num_bits[q + 1];
    if (count <= ht::RawBits::kMost) {
      mag_sgn.put(row.bits[0][q] | uint64_t{row.bits[0][q + 1]} << first, count);
      continue;
    }
    for (size_t i = q; i < q + 2; ++i) {
      mag_sgn.put(row.bits[0][i], row.num_bits[i] & 0xFF);
      mag_sgn.put(row.bits[1][i], row.num_bits[i] >> 8);
    }
  }
}

/// Codes the quads of the first row in pairs.
void put_first_quads(const QuadRow& row, size_t quads, HtCleanupStreams& streams) {
  for (size_t q = 0; q < quads; q += 2) {
    uint32_t bits = 0, count = 0, u[2] = {};
    for (size_t i = 0; i < std::min<size_t>(quads - q, 2); ++i) {
      const uint32_t index = row.index[q + i], word = row.word[q + i];
      u[i] = row.u[q + i];
      if (index < 0x100) streams.put_event(index != 0);
      bits |= (word & 0xFF) << count;
      count += word >> 8 & 15;
    }
    streams.put_vlc(bits, count);
    streams.put_u_pair(u[0], u[1], true);
  }
}

/// The U-VLC words (uvlc_word) of vectors of u, which are at most kMaxHtExponent.
template <class V>
struct UWords {
  V prefix, prefix_bits, suffix, suffix_bits;
};
template <class DU, class V = hn::VFromD<DU>>
UWords<V> u_words(DU du, V u) {
  const auto three = hn::Set(du, 3), five = hn::Set(du, 5);
  const auto has_suffix = is_above(du, u, 2), is_long = is_above(du, u, 4);
  const auto prefix = hn::IfThenElse(has_suffix, hn::Set(du, 4), u);
  const auto suffix = hn::Sub(u, hn::IfThenElse(is_long, five, three));
  return {hn::IfThenZeroElse(is_long, prefix), hn::Min(u, three),
          hn::IfThenElseZero(has_suffix, suffix),
          hn::IfThenElseZero(has_suffix, hn::IfThenElse(is_long, five, hn::Set(du, 1)))};
}

/// Joins the VLC bits of each two quads.
void join_vlc(size_t quads, QuadRow& row) {
  const hn::ScalableTag<uint32_t> du;
  using V = hn::VFromD<decltype(du)>;
  for (size_t q = 0; q < quads; q += 2 * hn::Lanes(du)) {
    V words[2], u[2];
    hn::LoadInterleaved2(du, row.word + q, words[0], words[1]);
    hn::LoadInterleaved2(du, row.u + q, u[0], u[1]);
    const UWords<V> u0 = u_words(du, u[0]), u1 = u_words(du, u[1]);
    const auto length = [&](V word) { return hn::And(hn::ShiftRight<8>(word), hn::Set(du, 15)); };
    const auto codeword = [&](V word) { return hn::And(word, hn::Set(du, 0xFF)); };
    V bits = codeword(words[0]), count = length(words[0]);
    const auto append = [&](V more, V num) {
      bits = hn::Or(bits, hn::Shl(more, count));
      count = hn::Add(count, num);
    };
    append(codeword(words[1]), length(words[1]));
    append(u0.prefix, u0.prefix_bits);
    append(u1.prefix, u1.prefix_bits);
    append(u0.suffix, u0.suffix_bits);
    append(u1.suffix, u1.suffix_bits);
    hn::StoreU(bits, du, row.vlc + q / 2);
    hn::StoreU(count, du, row.num_vlc + q / 2);
  }
}

/// The lanes of a mask as bits, the first one lowest.
template <class D, class M>
uint64_t bits_of(D d, M mask) {
  uint8_t bytes[8];
  uint64_t bits = 0;
  const size_t count = hn::StoreMaskBits(d, mask, bytes);
  for (size_t i = 0; i < count; ++i) bits |= uint64_t{bytes[i]} << 8 * i;
  return bits;
}

/// The MEL events of a row: of the quads without a context, which of them are not empty.
void put_events(const QuadRow& row, size_t quads, HtCleanupStreams& streams) {
  const hn::ScalableTag<uint32_t> du;
  const size_t lanes = hn::Lanes(du);
  constexpr size_t kMost = 64;
  for (size_t begin = 0; begin < quads; begin += kMost) {
    const size_t count = std::min(quads - begin, kMost);
    uint64_t coded = 0, empty = 0;
    for (size_t q = 0; q < count; q += lanes) {
      const auto index = hn::LoadU(du, row.index + begin + q);
      coded |= bits_of(du, hn::Eq(hn::ShiftRight<8>(index), hn::Zero(du))) << q;
      empty |= bits_of(du, hn::Eq(index, hn::Zero(du))) << q;
    }
    coded &= ~uint64_t{0} >> (kMost - count);
    for (uint64_t events = coded & ~empty; events != 0; events &= events - 1) {
      const uint64_t before = (events & (0 - events)) - 1;
      streams.put_zero_events(static_cast<uint32_t>(std::popcount(coded & before)));
      streams.put_event(true);
      coded &= ~(before << 1 | 1);
    }
    streams.put_zero_events(static_cast<uint32_t>(std::popcount(coded)));
  }
}

uint32_t cleanup(const HtSamples& samples, int plane, uint8_t* out, const HtNextRows& next) {
  const hn::ScalableTag<uint32_t> du;
  HtCleanupMemory memory;
  HtCleanupStreams streams(memory);
  uint8_t mag_sgn_memory[kMaxMagSgnBytes + ht::kRawRoom], vlc_memory[kMaxVlcBytes + ht::kRawRoom];
  ht::RawBits mag_sgn(mag_sgn_memory), vlc(vlc_memory);
  QuadRow row;
  const auto width = static_cast<size_t>(samples.width);
  const size_t quads = (width + 1) / 2;
  const bool whole = width % (2 * hn::Lanes(du)) == 0;
  for (int i = 0; i < 2; ++i) {
    std::fill_n(row.left[i], 1 + quads + ht::kPad, 0u);
    std::fill_n(row.right[i], 1 + quads + ht::kPad, 0u);
  }
  row.rho[0] = 0;
  if (!whole || samples.height % 2 != 0) std::memset(row.rows, 0, sizeof row.rows);
  int now = 0;
  for (int y = 0; y < samples.height; y += 2, now = 1 - now) {
    next.prefetch(y, y + 2);
    const uint32_t* lines[2] = {samples.data + y * samples.stride, row.rows[1]};
    if (y + 1 < samples.height) {
      lines[1] = lines[0] + samples.stride;
    } else {
      std::memset(row.rows[1], 0, sizeof row.rows[1]);
    }
    if (!whole) {
      for (int i = 0; i < 2; ++i) {
        if (lines[i] == row.rows[i]) continue;
        std::memcpy(row.rows[i], lines[i], width * sizeof(uint32_t));
        lines[i] = row.rows[i];
      }
    }
    analyse_quads(lines[0], lines[1], quads, plane, now, row);
    if (!add_contexts(quads, y == 0, now, row)) {
      streams.put_zero_events(static_cast<uint32_t>(quads));
      continue;
    }
    row.word[quads] = row.u[quads] = 0;  // the last pair may have one quad
    put_values(row, quads, join_values(quads, row), mag_sgn);
    if (y == 0) {
      put_first_quads(row, quads, streams);
      continue;
    }
    join_vlc(quads, row);
    for (size_t p = 0; p < (quads + 1) / 2; ++p) vlc.put(row.vlc[p], row.num_vlc[p]);
    put_events(row, quads, streams);
  }
  vlc.put_vlc(streams);
  const uint32_t mag_sgn_bytes = mag_sgn.end_mag_sgn(out);
  return mag_sgn_bytes + streams.end_mel_and_vlc(out + mag_sgn_bytes);
}

int64_t target() { return HWY_TARGET; }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cj2k::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cj2k::simd {
namespace {
HWY_EXPORT(cleanup);
HWY_EXPORT(target);
}  // namespace

uint32_t ht_cleanup(const HtSamples& samples, int plane, uint8_t* out, const HtNextRows& next) {
  return HWY_DYNAMIC_DISPATCH(cleanup)(samples, plane, out, next);
}

int64_t ht_cleanup_target() { return HWY_DYNAMIC_DISPATCH(target)(); }

}  // namespace cj2k::simd
#endif
