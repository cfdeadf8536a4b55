// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Stuffed bits are removed from each stream first, so that bits can be read at any place. Then the cleanup
// pass goes row of quads by row of quads: the codewords of MEL and VLC, quad by quad, which say how many bits
// each sample has; then the samples of all quads with vectors. The refinement passes work on the four
// samples of a stripe column at once, as masks of four bits.
#include "coders/ht/block_decoder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "core/ht/cxt_vlc_rows.h"
#include "pixels/target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "coders/ht/block_decoder.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef CJ2K_HT_BLOCK_DECODER_ONCE
#define CJ2K_HT_BLOCK_DECODER_ONCE
namespace cj2k {
namespace ht_decoder {

constexpr uint32_t kNegative = 0x80000000u;
constexpr size_t kMostSide = 1024, kMostSamples = 4096, kMostQuads = kMostSide / 2;
constexpr size_t kPad = HWY_MAX_BYTES / sizeof(uint32_t);
/// Bits of the largest value of MagSgn: a magnitude of 31 bits and its sign.
constexpr uint32_t kMostValueBits = 32;
/// Bits of a value that one load of 32 bits has, wherever in a byte it begins.
constexpr uint32_t kMostLoadedBits = 25;
constexpr size_t kMostTailBytes = 4079;  ///< of MEL, VLC and the length word
/// With a stuffed bit in each 15 bits. SigProp has two bits per sample at most.
constexpr size_t kMostValueBytes = kMostSamples * kMostValueBits / 8 * 16 / 15 + 8;
constexpr size_t kMostRefinementBytes = kMostSamples * 2 / 8 * 16 / 15 + 8;

/// A quad: the length of its codeword, whether it has u, 2 in the place of the context of the quad to the
/// right if one of its right samples is significant, rho, e_1, e_k, u. Shifts take the length as it is.
constexpr uint32_t kLengthMask = 63, kHasUAt = 6, kContextAt = 7, kRhoAt = 12, kE1At = 16,
                   kEkAt = 20, kUAt = 24;

/// [context << 7 | next 7 bits] a quad without u. The code is complete (tests/unit/test_ht_block.cc).
using QuadTable = std::array<uint32_t, 8 * 128>;
template <size_t kRows>
constexpr QuadTable make_quads(const CxtVlcRow (&rows)[kRows]) {
  QuadTable table{};
  for (const CxtVlcRow& row : rows) {
    const uint32_t quad = row.length | uint32_t{row.u_off} << kHasUAt |
                          (row.rho >= 4 ? 2u : 0) << kContextAt | uint32_t{row.rho} << kRhoAt |
                          uint32_t{row.e_1} << kE1At | uint32_t{row.e_k} << kEkAt;
    for (size_t rest = 0; rest < size_t{128} >> row.length; ++rest)
      table[row.c_q * size_t{128} + (row.codeword | rest << row.length)] = quad;
  }
  return table;
}
constexpr QuadTable kFirstQuads = make_quads(kCxtVlcFirstRows),
                    kOtherQuads = make_quads(kCxtVlcOtherRows);

/// What two quads of a pair have: which has u; and in the first row, if both have and the event of MEL
/// is 0, the second one may have a short codeword.
enum UMode : uint8_t { kNone, kLeft, kRight, kBoth, kBothNear, kModes };
/// The prefixes of a pair.
struct UPrefixes {
  uint32_t bits = 0;  ///< of both
  uint32_t suffix_bits[2] = {};
  uint32_t least[2] = {};  ///< u without its suffix
};
constexpr UPrefixes u_prefixes(uint32_t mode, uint32_t next) {
  constexpr uint8_t kLeast[] = {5, 1, 2, 1, 3, 1, 2, 1}, kLength[] = {3, 1, 2, 1, 3, 1, 2, 1};
  UPrefixes p;
  for (uint32_t quad = 0; quad < 2; ++quad) {
    if (mode < kBoth && mode != (quad == 0 ? kLeft : kRight)) continue;
    if (quad == 1 && mode == kBothNear && p.least[0] > 2) {
      p.least[1] = 1 + (next >> p.bits & 1);
      ++p.bits;
      continue;
    }
    const uint32_t here = next >> p.bits & 7, least = kLeast[here];
    p.bits += kLength[here];
    p.least[quad] = least;
    p.suffix_bits[quad] = least < 3 ? 0 : least == 3 ? 1 : 5;
  }
  return p;
}
/// [mode << 10 | next 10 bits] the bits of prefixes and suffixes, u << 8 of the left quad, u << 16 of the
/// right one; kLongU: there may be more than 10 bits, or an extension.
constexpr uint32_t kUBits = 10, kLongU = 1u << 31;
constexpr std::array<uint32_t, kModes << kUBits> make_u_words() {
  std::array<uint32_t, kModes << kUBits> table{};
  for (uint32_t i = 0; i < table.size(); ++i) {
    const uint32_t next = i & ((1u << kUBits) - 1);
    const UPrefixes p = u_prefixes(i >> kUBits, next);
    uint32_t word = p.bits + p.suffix_bits[0] + p.suffix_bits[1], at = p.bits;
    bool is_long = word > kUBits;
    for (uint32_t quad = 0; quad < 2; ++quad) {
      const uint32_t suffix = next >> at & ((1u << p.suffix_bits[quad]) - 1);
      at += p.suffix_bits[quad];
      is_long = is_long || suffix >= 28;
      word |= (p.least[quad] + suffix) << (8 + 8 * quad);
    }
    table[i] = is_long ? kLongU : word;
  }
  return table;
}
constexpr auto kUWords = make_u_words();

/// [members << 8 | open << 4 | next 4 bits] what SigProp finds in a column, and << 4 the bits that it reads:
/// one for each open member. A sample that is found makes the one below it a member.
constexpr std::array<uint8_t, 4096> make_found() {
  std::array<uint8_t, 4096> table{};
  for (unsigned i = 0; i < table.size(); ++i) {
    unsigned members = i >> 8, found = 0, count = 0;
    for (unsigned row = 0; row < 4; ++row) {
      if ((members & i >> 4 & 1u << row) == 0) continue;
      if ((i >> count++ & 1) == 0) continue;
      found |= 1u << row;
      members |= 2u << row;
    }
    table[i] = static_cast<uint8_t>(found | count << 4);
  }
  return table;
}
constexpr std::array<uint8_t, 4096> kFound = make_found();

/// [mask << 4 | bits] the lowest bits, moved to where the mask has its ones.
constexpr std::array<uint8_t, 256> make_spread() {
  std::array<uint8_t, 256> table{};
  for (unsigned i = 0; i < table.size(); ++i) {
    unsigned bits = i & 15, spread = 0;
    for (unsigned row = 0; row < 4; ++row) {
      if ((i >> 4 >> row & 1) == 0) continue;
      spread |= (bits & 1) << row;
      bits >>= 1;
    }
    table[i] = static_cast<uint8_t>(spread);
  }
  return table;
}
constexpr std::array<uint8_t, 256> kSpread = make_spread();

inline uint64_t load64(const uint8_t* at) {
  uint64_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
inline void store64(uint8_t* at, uint64_t value) { std::memcpy(at, &value, sizeof value); }

/// Where unstuffed bits go.
struct BitSink {
  uint8_t* at;
  uint64_t held = 0;  ///< bits that are not a byte yet
  uint32_t count = 0;

  void put(uint64_t value, uint32_t bits) {  // bits <= 56
    held |= value << count;
    store64(at, held);
    count += bits;
    at += count >> 3;
    held >>= count & ~7u;
    count &= 7;
  }
  void put64(uint64_t value) {
    store64(at, held | value << count);
    held = value >> 1 >> (63 - count);
    at += 8;
  }
  static constexpr size_t kReach = 24;  ///< bytes behind the last one that finish() fills
  void finish(uint64_t fill) {
    store64(at, held | fill << count);
    store64(at + 8, fill);
    store64(at + 16, fill);
  }
};

/// Bits from the first byte on, lowest bit first. After 0xFF a byte has 7 bits.
/// @param fill  all bits that follow
/// @return where they begin, in bits
inline size_t unstuff_forward(std::span<const uint8_t> in, uint64_t fill, uint8_t* out) {
  BitSink sink{out};
  size_t i = 0;
  uint8_t before = 0;
  while (i < in.size()) {
    size_t some = 1;
    if (in.size() - i >= 8) {
      constexpr uint64_t kOnes = 0x0101010101010101u, kHighs = 0x8080808080808080u;
      const uint64_t bytes = load64(in.data() + i), inverse = ~bytes;
      if (before != 0xFF && ((inverse - kOnes) & bytes & kHighs) == 0) {
        sink.put64(bytes);
        before = static_cast<uint8_t>(bytes >> 56);
        i += 8;
        continue;
      }
      some = 8;
    }
    for (const size_t end = i + some; i < end; before = in[i++])
      sink.put(before == 0xFF ? in[i] & 0x7Fu : in[i], before == 0xFF ? 7 : 8);
  }
  sink.finish(fill);
  return static_cast<size_t>(sink.at - out) * 8 + sink.count;
}

/// Bits from the last byte to the first, lowest bit first. A byte has 7 bits if its low 7 bits are
/// ones and the byte read before it is above 0x8F. Zeros follow.
inline void unstuff_backward(std::span<const uint8_t> in, uint8_t before, BitSink& sink) {
  constexpr uint64_t kOnes = 0x0101010101010101u, kHighs = 0x8080808080808080u;
  size_t left = in.size();
  while (left > 0) {
    size_t some = 1;
    if (left >= 8) {
      const uint64_t bytes = load64(in.data() + left - 8);
      if ((((bytes & ~kHighs) + kOnes) & kHighs) == 0) {
        sink.put64(__builtin_bswap64(bytes));
        before = static_cast<uint8_t>(bytes);
        left -= 8;
        continue;
      }
      some = 8;
    }
    for (const size_t end = left - some; left > end; before = in[left]) {
      const uint8_t byte = in[--left];
      const bool is_stuffed = before > 0x8F && (byte & 0x7F) == 0x7F;
      sink.put(is_stuffed ? 0x7F : byte, is_stuffed ? 7 : 8);
    }
  }
  sink.finish(0);
}

/// The adaptive run-length code MEL: bytes from the first on, highest bit first.
class MelReader {
 public:
  MelReader() = default;
  /// @param tail  MEL, VLC and the length word, whose 12 bits count as ones, as do bytes behind it
  explicit MelReader(std::span<const uint8_t> tail) : tail_(tail) {}

  bool event() {
    if (zeros_ < 0) read_runs();
    return --zeros_ < 0;
  }

 private:
  /// Reads how many events that are 0 come before the next 1.
  void read_runs() {
    constexpr uint8_t kExponents[] = {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5};
    zeros_ = 0;
    while (bit() != 0) {
      zeros_ += 1 << kExponents[state_];
      state_ = std::min(state_ + 1, 12);
      if (zeros_ > static_cast<int>(kMostSamples)) return;  // more than events
    }
    int run = 0;
    for (int i = kExponents[state_]; i > 0; --i) run = 2 * run + static_cast<int>(bit());
    zeros_ += run;
    state_ = std::max(state_ - 1, 0);
  }
  uint32_t bit() {
    if (left_ == 0) {
      left_ = byte_ == 0xFF ? 7 : 8;
      byte_ = next_ + 1 < tail_.size() ? tail_[next_] : uint8_t{0xFF};
      if (++next_ + 1 == tail_.size()) byte_ |= 0x0F;
    }
    return byte_ >> --left_ & 1u;
  }

  std::span<const uint8_t> tail_;
  size_t next_ = 0;
  uint8_t byte_ = 0;
  int left_ = 0, state_ = 0, zeros_ = -1;
};

/// Unstuffed bits in order. Zeros follow.
struct VlcReader {
  const uint8_t* at = nullptr;
  const uint8_t* end = nullptr;  ///< eight bytes of zeros are here
  uint64_t bits = 0;
  uint32_t left = 0;

  /// Makes at least 56 bits ready.
  void fill() {
    bits |= load64(at) << left;
    at = std::min(at + ((63 - left) >> 3), end);
    left |= 56;
  }
  void skip(uint32_t count) {
    bits >>= count;
    left -= count;
  }
  uint32_t take(uint32_t count) {
    const auto value = static_cast<uint32_t>(bits) & ((1u << count) - 1);
    skip(count);
    return value;
  }
};

/// The bits of a segment of SigProp or MagRef.
struct RefinementReader {
  const uint8_t* bytes;
  size_t at = 0, end;  ///< in bits; zeros follow
  uint32_t look() const { return static_cast<uint32_t>(load64(bytes + (at >> 3)) >> (at & 7)); }
  void skip(uint32_t count) { at = std::min(at + count, end); }
};

}  // namespace ht_decoder

/// Arrays with a `1 +` begin with the quad left of the block.
struct HtDecoder::Impl {
  static constexpr size_t kLine = 1 + ht_decoder::kMostQuads + 1 + ht_decoder::kPad;
  HWY_ALIGN uint32_t quads[kLine];
  HWY_ALIGN uint32_t contexts[kLine];  ///< by the row above, << kContextAt
  HWY_ALIGN uint32_t counts[kLine];    ///< bits of the four samples of a quad, eight bits for each
  HWY_ALIGN uint32_t starts[kLine];    ///< of a quad in value_bits; before, its bits
  /// Values of the lower samples of the quads above.
  HWY_ALIGN uint32_t left[kLine], right[kLine];
  /// Rows of samples that end within a vector.
  HWY_ALIGN uint32_t rows[2][2 * (ht_decoder::kMostQuads + ht_decoder::kPad)];
  HWY_ALIGN uint8_t value_bits[ht_decoder::kMostValueBytes + ht_decoder::BitSink::kReach];
  uint8_t tail_bits[ht_decoder::kMostTailBytes + ht_decoder::BitSink::kReach];
  uint8_t sig_prop_bits[ht_decoder::kMostRefinementBytes + ht_decoder::BitSink::kReach];
  uint8_t mag_ref_bits[ht_decoder::kMostRefinementBytes + ht_decoder::BitSink::kReach];
  /// Masks of a stripe column, with one column on each side: significant by the cleanup pass; by
  /// SigProp, too, in this stripe and in the one above.
  static constexpr size_t kColumns = ht_decoder::kMostSide + 2;
  uint8_t old[2][kColumns], now[2][kColumns];
  uint8_t ones[kColumns], signs[kColumns];  ///< that the refinement adds
};

}  // namespace cj2k
#endif

HWY_BEFORE_NAMESPACE();
namespace cj2k {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
namespace hd = ht_decoder;
using Block = HtDecoder::Block;

/// Decodes the cleanup pass of one block.
class Cleanup {
 public:
  Cleanup(const Block& block, HtDecoder::Impl& memory, uint32_t* samples)
      : block_(block),
        m_(memory),
        samples_(samples),
        width_(static_cast<size_t>(block.width)),
        num_quads_((width_ + 1) / 2) {}

  bool decode(std::span<const uint8_t> bytes) {
    if (!begin(bytes)) return false;
    const bool is_whole = width_ % (2 * hn::Lanes(du_)) == 0;
    for (int y = 0; y < block_.height; y += 2) {
      if (y == 0)
        read_quads<true>();
      else
        read_quads<false>();
      const bool has_lower = y + 1 < block_.height;
      if (!is_inside(has_lower)) return false;
      uint32_t* const to[2] = {samples_ + static_cast<size_t>(y) * width_,
                               samples_ + static_cast<size_t>(y + 1) * width_};
      uint32_t* const lines[2] = {is_whole ? to[0] : m_.rows[0],
                                  is_whole && has_lower ? to[1] : m_.rows[1]};
      if (!read_row(lines)) return false;
      for (int i = 0; i < (has_lower ? 2 : 1); ++i) {
        if (lines[i] != to[i]) std::memcpy(to[i], lines[i], width_ * sizeof(uint32_t));
      }
    }
    return true;
  }

 private:
  bool begin(std::span<const uint8_t> bytes) {
    if (bytes.size() < 2) return false;
    const size_t length = bytes.back() * 16u + (bytes[bytes.size() - 2] & 15u);
    if (length < 2 || length > hd::kMostTailBytes || length > bytes.size()) return false;
    const auto tail = bytes.last(length);
    mel_ = hd::MelReader(tail);
    // VLC begins in the high half of the byte before the last one.
    const uint8_t first = tail[length - 2] | 0x0F;
    const bool is_stuffed = (first & 0x7F) == 0x7F;
    hd::BitSink sink{m_.tail_bits};
    sink.put(is_stuffed ? 7u : first >> 4, is_stuffed ? 3 : 4);
    hd::unstuff_backward(tail.first(length - 2), first, sink);
    vlc_ = {m_.tail_bits, sink.at + 1, 0, 0};
    const auto values = bytes.first(std::min(bytes.size() - length, hd::kMostValueBytes));
    at_ = 0;
    end_ = hd::unstuff_forward(values, ~uint64_t{0}, m_.value_bits);
    const size_t line = num_quads_ + 2 + hn::Lanes(du_);
    for (uint32_t* const array : {m_.quads, m_.left, m_.right})
      std::fill_n(array, std::min(line, HtDecoder::Impl::kLine), 0u);
    return true;
  }

  /// Reads which samples are significant, and u, of a row of quads.
  template <bool kIsFirst>
  void read_quads() {
    if (!kIsFirst) find_contexts();
    const hd::QuadTable& table = kIsFirst ? hd::kFirstQuads : hd::kOtherQuads;
    hd::VlcReader vlc = vlc_;
    uint32_t* const quads = m_.quads + 1;
    uint32_t last = 0;
    const auto read = [&](size_t q) {
      uint32_t context;  // << kContextAt
      if (kIsFirst) {
        const uint32_t rho = last >> hd::kRhoAt & 15;
        context = (((rho | rho >> 1) & 1) | (rho >> 1 & 6)) << hd::kContextAt;
      } else {
        context = m_.contexts[q] | (last & 2u << hd::kContextAt);
      }
      last = table[context | (vlc.bits & 127)];
      if (context == 0 && !mel_.event()) last = 0;
      vlc.skip(last & hd::kLengthMask);
      return last;
    };
    for (size_t q = 0; q < num_quads_; q += 2) {
      vlc.fill();
      uint32_t pair[2] = {read(q), 0};
      if (q + 1 < num_quads_) pair[1] = read(q + 1);
      uint32_t mode = (pair[0] >> hd::kHasUAt & 1) | (pair[1] >> hd::kHasUAt & 1) << 1, more = 0;
      if (kIsFirst && mode == hd::kBoth) {
        if (mel_.event())
          more = 2;
        else
          mode = hd::kBothNear;
      }
      const uint32_t word = hd::kUWords[mode << hd::kUBits | (vlc.bits & ((1u << hd::kUBits) - 1))];
      uint32_t u[2] = {word >> 8 & 0xFF, word >> 16 & 0xFF};
      if (HWY_UNLIKELY((word & hd::kLongU) != 0))
        read_long_u(mode, vlc, u);
      else
        vlc.skip(word & hd::kLengthMask);
      if (kIsFirst && more != 0) {
        u[0] += more;
        u[1] += more;
      }
      quads[q] = pair[0] | u[0] << hd::kUAt;
      quads[q + 1] = pair[1] | u[1] << hd::kUAt;
    }
    vlc_ = vlc;
  }

  static void read_long_u(uint32_t mode, hd::VlcReader& vlc, uint32_t* u) {
    constexpr uint32_t kMostShortU = 32;  // above, there is an extension
    const hd::UPrefixes p = hd::u_prefixes(mode, static_cast<uint32_t>(vlc.bits & 63));
    vlc.skip(p.bits);
    for (int i = 0; i < 2; ++i) u[i] = p.least[i] + vlc.take(p.suffix_bits[i]);
    for (int i = 0; i < 2; ++i) {
      if (u[i] > kMostShortU) u[i] += 4 * vlc.take(4);
    }
  }

  /// The part of the contexts that follows from the row above.
  void find_contexts() {
    const auto one = hn::Set(du_, 1);
    const uint32_t* const above = m_.quads + 1;
    // Bit 0: the sample above or the one to the left of it is significant.
    const auto west = [&](size_t q) {
      return hn::And(hn::Or(hn::ShiftRight<hd::kRhoAt + 3>(hn::LoadU(du_, above + q - 1)),
                            hn::ShiftRight<hd::kRhoAt + 1>(hn::LoadU(du_, above + q))),
                     one);
    };
    for (size_t q = 0; q < num_quads_; q += hn::Lanes(du_))
      hn::StoreU(hn::ShiftLeft<hd::kContextAt>(hn::Or(west(q), hn::ShiftLeft<2>(west(q + 1)))), du_,
                 m_.contexts + q);
  }

  /// Samples outside the block are not significant.
  bool is_inside(bool has_lower) const {
    const uint32_t* const quads = m_.quads + 1;
    uint32_t outside = width_ % 2 != 0 ? quads[num_quads_ - 1] & 0xCu << hd::kRhoAt : 0;
    if (!has_lower) {
      for (size_t q = 0; q < num_quads_; ++q) outside |= quads[q] & 0xAu << hd::kRhoAt;
    }
    return outside == 0;
  }

  /// Reads the samples of a row of quads.
  bool read_row(uint32_t* const* lines) {
    const uint32_t most = count_bits();
    if (most > std::min(hd::kMostLoadedBits, 31u - static_cast<uint32_t>(block_.plane)))
      return read_long_values(lines);
    for (size_t q = 0; q < num_quads_; ++q) {
      const uint32_t count = m_.starts[q];
      m_.starts[q] = static_cast<uint32_t>(at_);
      at_ = std::min(at_ + count, end_);
    }
    read_values(lines);
    return true;
  }

  /// Finds the bits of each sample of a row, and of each quad. @return the largest U
  uint32_t count_bits() {
    using V = hn::VFromD<decltype(du_)>;
    const hn::RebindToSigned<decltype(du_)> di;
    const hn::RebindToFloat<decltype(du_)> df;
    const auto one = hn::Set(du_, 1), zero = hn::Zero(du_);
    V largest = zero;
    for (size_t q = 0; q < num_quads_; q += hn::Lanes(du_)) {
      const V quad = hn::LoadU(du_, m_.quads + 1 + q);
      const V rho = hn::And(hn::ShiftRight<hd::kRhoAt>(quad), hn::Set(du_, 15));
      const V above =
          hn::Or(hn::Or(hn::LoadU(du_, m_.right + q), hn::LoadU(du_, m_.left + 1 + q)),
                 hn::Or(hn::LoadU(du_, m_.right + 1 + q), hn::LoadU(du_, m_.left + 2 + q)));
      // kappa: the bits of the values above less one, at least 1; 1 if but one sample is significant.
      const auto is_single = hn::Eq(hn::And(rho, hn::Sub(rho, one)), zero);
      const V half = hn::Or(hn::ShiftRight<1>(hn::IfThenZeroElse(is_single, above)), one);
      const V sparse = hn::AndNot(hn::ShiftRight<1>(half), half);  // is not rounded up
      const V as_float = hn::BitCast(du_, hn::ConvertTo(df, hn::BitCast(di, sparse)));
      const V kappa = hn::Sub(hn::ShiftRight<23>(as_float), hn::Set(du_, 126));
      const V u_max =
          hn::IfThenZeroElse(hn::Eq(rho, zero), hn::Add(kappa, hn::ShiftRight<hd::kUAt>(quad)));
      largest = hn::Max(largest, u_max);
      V sum = zero, counts = zero;
      for (int i = 3; i >= 0; --i) {
        const auto is = hn::Ne(hn::And(rho, hn::Set(du_, 1u << i)), zero);
        const V known = hn::And(hn::ShiftRightSame(quad, static_cast<int>(hd::kEkAt) + i), one);
        const V count = hn::IfThenElseZero(is, hn::Sub(u_max, known));
        sum = hn::Add(sum, count);
        counts = hn::Or(hn::ShiftLeft<8>(counts), count);
      }
      hn::StoreU(sum, du_, m_.starts + q);
      hn::StoreU(counts, du_, m_.counts + q);
    }
    return hn::GetLane(hn::MaxOfLanes(du_, largest));
  }

  /// Reads values of at most kMostLoadedBits.
  void read_values(uint32_t* const* lines) {
    using V = hn::VFromD<decltype(du_)>;
    const hn::RebindToSigned<decltype(du_)> di;
    const auto one = hn::Set(du_, 1), zero = hn::Zero(du_);
    const auto* const bits = reinterpret_cast<const uint32_t*>(m_.value_bits);
    for (size_t q = 0; q < num_quads_; q += hn::Lanes(du_)) {
      const V quad = hn::LoadU(du_, m_.quads + 1 + q);
      V counts = hn::LoadU(du_, m_.counts + q), start = hn::LoadU(du_, m_.starts + q);
      V samples[4], values[4];
      for (int i = 0; i < 4; ++i) {
        const V count = hn::And(counts, hn::Set(du_, 0xFF));
        counts = hn::ShiftRight<8>(counts);
        const V word =
            hn::Shr(hn::GatherOffset(du_, bits, hn::BitCast(di, hn::ShiftRight<3>(start))),
                    hn::And(start, hn::Set(du_, 7)));
        start = hn::Add(start, count);
        const V known = hn::And(hn::ShiftRightSame(quad, static_cast<int>(hd::kE1At) + i), one);
        const V value =
            hn::Or(hn::And(word, hn::Sub(hn::Shl(one, count), one)), hn::Shl(known, count));
        const auto is = hn::Ne(hn::And(quad, hn::Set(du_, (1u << hd::kRhoAt) << i)), zero);
        const V magnitude = hn::ShiftLeftSame(hn::Add(hn::ShiftRight<1>(value), one), block_.plane);
        samples[i] = hn::IfThenElseZero(is, hn::Or(magnitude, hn::ShiftLeft<31>(value)));
        values[i] = hn::IfThenElseZero(is, value);
      }
      hn::StoreInterleaved2(samples[0], samples[2], du_, lines[0] + 2 * q);
      hn::StoreInterleaved2(samples[1], samples[3], du_, lines[1] + 2 * q);
      hn::StoreU(values[1], du_, m_.left + 1 + q);
      hn::StoreU(values[3], du_, m_.right + 1 + q);
    }
  }

  /// Reads values of any number of bits. @return false: one has too many, or its magnitude has
  bool read_long_values(uint32_t* const* lines) {
    for (size_t q = 0; q < num_quads_; ++q) {
      const uint32_t quad = m_.quads[1 + q];
      uint32_t values[4] = {};
      for (uint32_t i = 0; i < 4; ++i) {
        uint32_t& sample = lines[i % 2][2 * q + i / 2];
        sample = 0;
        if ((quad >> hd::kRhoAt >> i & 1) == 0) continue;
        const uint32_t count = m_.counts[q] >> 8 * i & 0xFF;
        if (count > hd::kMostValueBits) return false;
        const uint64_t bits = hd::load64(m_.value_bits + (at_ >> 3)) >> (at_ & 7);
        at_ = std::min(at_ + count, end_);
        const uint64_t value =
            (bits & ((uint64_t{1} << count) - 1)) | uint64_t{quad >> hd::kE1At >> i & 1} << count;
        const uint64_t magnitude = ((value >> 1) + 1) << block_.plane;
        if (magnitude >= hd::kNegative) return false;
        sample = static_cast<uint32_t>(magnitude) | static_cast<uint32_t>(value << 31);
        values[i] = static_cast<uint32_t>(value);
      }
      m_.left[1 + q] = values[1];
      m_.right[1 + q] = values[3];
    }
    return true;
  }

  static constexpr hn::ScalableTag<uint32_t> du_{};
  const Block block_;
  HtDecoder::Impl& m_;
  uint32_t* const samples_;
  const size_t width_, num_quads_;
  hd::MelReader mel_;
  hd::VlcReader vlc_;
  size_t at_ = 0, end_ = 0;  ///< in m_.value_bits, in bits; ones follow
};

/// Decodes SigProp, and MagRef.
void refine(const Block& block, std::span<const uint8_t> bytes, HtDecoder::Impl& m,
            uint32_t* samples) {
  const auto some = bytes.first(std::min(bytes.size(), hd::kMostRefinementBytes));
  hd::RefinementReader sig_prop{m.sig_prop_bits, 0, hd::unstuff_forward(some, 0, m.sig_prop_bits)};
  hd::BitSink sink{m.mag_ref_bits};
  hd::unstuff_backward(bytes.last(some.size()), 0xFF, sink);
  hd::RefinementReader mag_ref{m.mag_ref_bits, 0,
                               static_cast<size_t>(sink.at - m.mag_ref_bits) * 8 + sink.count};
  const auto width = static_cast<size_t>(block.width);
  const auto find_old = [&](int top, uint8_t* old) {
    std::fill_n(old, width + 2, uint8_t{0});
    for (int r = 0; r < std::min(4, block.height - top); ++r) {
      const uint32_t* const row = samples + static_cast<size_t>(top + r) * width;
      for (size_t x = 0; x < width; ++x)
        old[1 + x] = static_cast<uint8_t>(old[1 + x] | (row[x] != 0 ? 1u << r : 0u));
    }
  };
  uint8_t *old = m.old[0], *below = m.old[1], *now = m.now[0], *above = m.now[1];
  find_old(0, below);
  std::fill_n(above, width + 2, uint8_t{0});
  for (int top = 0; top < block.height; top += 4) {
    std::swap(old, below);
    find_old(top + 4, below);
    std::copy_n(old, width + 2, now);
    const unsigned rows = (1u << std::min(4, block.height - top)) - 1;
    for (size_t left = 0; left < width; left += 4) {
      const size_t right = std::min(left + 4, width);
      for (size_t x = left; x < right; ++x) {
        // now[1 + x - 1] is the column to the left.
        const unsigned beside = now[x] | old[1 + x] | old[2 + x];
        unsigned members = beside | beside << 1 | beside >> 1;
        members |= (above[x] | above[1 + x] | above[2 + x]) >> 3;
        if (!block.is_causal) members |= (below[x] | below[1 + x] | below[2 + x]) << 3 & 8u;
        const unsigned open = rows & ~old[1 + x];
        const unsigned entry =
            hd::kFound[(members & 15) << 8 | (open & 15) << 4 | (sig_prop.look() & 15)];
        sig_prop.skip(entry >> 4);
        m.ones[x] = entry & 15;
        now[1 + x] = static_cast<uint8_t>(old[1 + x] | (entry & 15));
      }
      for (size_t x = left; x < right; ++x) {
        const unsigned found = m.ones[x];
        m.signs[x] = hd::kSpread[found << 4 | (sig_prop.look() & 15)];
        sig_prop.skip(static_cast<uint32_t>(std::popcount(found)));
      }
    }
    if (block.passes > 2) {
      for (size_t x = 0; x < width; ++x) {
        const unsigned refined = old[1 + x];
        m.ones[x] |= hd::kSpread[refined << 4 | (mag_ref.look() & 15)];
        mag_ref.skip(static_cast<uint32_t>(std::popcount(refined)));
      }
    }
    for (int r = 0; r < std::min(4, block.height - top); ++r) {
      uint32_t* const row = samples + static_cast<size_t>(top + r) * width;
      for (size_t x = 0; x < width; ++x)
        row[x] |= (m.ones[x] >> r & 1u) << (block.plane - 1) | (m.signs[x] >> r & 1u) << 31;
    }
    std::swap(now, above);
  }
}

bool decode_block(const Block& block, std::span<const uint8_t> cleanup,
                  std::span<const uint8_t> refinement, HtDecoder::Impl& memory, uint32_t* samples) {
  if (!Cleanup(block, memory, samples).decode(cleanup)) return false;
  if (block.passes > 1) refine(block, refinement, memory, samples);
  return true;
}

int64_t target() { return HWY_TARGET; }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cj2k
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cj2k {
namespace {
HWY_EXPORT(decode_block);
HWY_EXPORT(target);
}  // namespace

HtDecoder::HtDecoder() : impl_(new Impl) {}
HtDecoder::~HtDecoder() = default;

bool HtDecoder::decode(const Block& block, std::span<const uint8_t> cleanup,
                       std::span<const uint8_t> refinement, uint32_t* samples) {
  return HWY_DYNAMIC_DISPATCH(decode_block)(block, cleanup, refinement, *impl_, samples);
}

int64_t simd::ht_decoder_target() { return HWY_DYNAMIC_DISPATCH(target)(); }

}  // namespace cj2k
#endif
