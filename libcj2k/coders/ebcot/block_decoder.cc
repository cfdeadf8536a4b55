// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "coders/ebcot/block_decoder.h"

#include <algorithm>
#include <array>
#include <bit>

#include "core/ebcot/coding_passes.h"
#include "core/ebcot/mq.h"

namespace cj2k {
namespace {

constexpr uint32_t kNegative = 0x80000000u;

/// What is known of a sample and of its eight neighbours. Neighbours outside the block are
/// insignificant.
enum Flag : uint16_t {
  kNorth = 1 << 0,  // the neighbour is significant
  kSouth = 1 << 1,
  kWest = 1 << 2,
  kEast = 1 << 3,
  kNorthWest = 1 << 4,
  kNorthEast = 1 << 5,
  kSouthWest = 1 << 6,
  kSouthEast = 1 << 7,
  kNorthNegative = 1 << 8,  // the neighbour is significant and negative
  kSouthNegative = 1 << 9,
  kWestNegative = 1 << 10,
  kEastNegative = 1 << 11,
  kSignificant = 1 << 12,
  kVisited = 1 << 13,  // coded in the significance pass of this plane
  kRefined = 1 << 14,
  kOutside = 1 << 15,  // the sample is below the block
};
constexpr uint16_t kNeighbours = 0xFF;
/// What a sample in the last row of a stripe does not see with VSC (D.7).
constexpr uint16_t kBelow = kSouth | kSouthWest | kSouthEast | kSouthNegative;

/// Flags of the four samples of a stripe column, the top one in the lowest bits.
using Column = uint64_t;
constexpr int kRows = 4, kRowBits = 16;
constexpr Column kAllRows = 0x0001000100010001u;

/// What a sample that becomes significant adds to its own column and to those beside it.
struct Added {
  Column west, own, east;
};
/// [is negative][row]
constexpr std::array<std::array<Added, kRows>, 2> make_added() {
  std::array<std::array<Added, kRows>, 2> table{};
  for (unsigned sign = 0; sign < 2; ++sign) {
    for (int row = 0; row < kRows; ++row) {
      const auto at = [row](int below, unsigned flags) {
        const int r = row + below;
        return r < 0 || r >= kRows ? 0 : Column{flags} << kRowBits * r;
      };
      table[sign][static_cast<size_t>(row)] = {
          at(-1, kSouthEast) | at(0, kEast | sign * kEastNegative) | at(1, kNorthEast),
          at(-1, kSouth | sign * kSouthNegative) | at(0, kSignificant) |
              at(1, kNorth | sign * kNorthNegative),
          at(-1, kSouthWest) | at(0, kWest | sign * kWestNegative) | at(1, kNorthWest)};
    }
  }
  return table;
}
constexpr auto kAdded = make_added();

/// Table D.1: the context of zero coding, by the significance of the neighbours.
constexpr uint8_t zero_label(unsigned flags, Orientation orientation) {
  const auto count = [flags](unsigned mask) { return std::popcount(flags & mask); };
  const int rows = count(kWest | kEast), columns = count(kNorth | kSouth);
  const int d = count(kNorthWest | kNorthEast | kSouthWest | kSouthEast);
  if (orientation == kHH) {
    const int hv = std::min(rows + columns, 2);
    if (d >= 3) return 8;
    if (d == 2) return hv >= 1 ? 7 : 6;
    return static_cast<uint8_t>(3 * d + hv);
  }
  const int h = orientation == kHL ? columns : rows, v = orientation == kHL ? rows : columns;
  if (h == 2) return 8;
  if (h == 1) return v >= 1 ? 7 : d >= 1 ? 6 : 5;
  if (v >= 1) return v == 2 ? 4 : 3;
  return static_cast<uint8_t>(std::min(d, 2));
}

using Labels = std::array<uint8_t, 256>;
constexpr Labels zero_labels(Orientation orientation) {
  Labels labels{};
  for (unsigned flags = 0; flags < labels.size(); ++flags)
    labels[flags] = static_cast<uint8_t>(mq::kZero + zero_label(flags, orientation));
  return labels;
}
constexpr Labels kZeroLabels[] = {zero_labels(kLL), zero_labels(kHL), zero_labels(kLH),
                                  zero_labels(kHH)};

/// Tables D.2 and D.3: context << 1 | sign bit that is expected, by the flags of sign_index.
constexpr Labels sign_labels() {
  Labels labels{};
  for (unsigned index = 0; index < labels.size(); ++index) {
    const auto one = [index](unsigned neighbour) {
      if ((index & neighbour) == 0) return 0;
      return (index >> 4 & neighbour) != 0 ? -1 : 1;
    };
    const int h = std::clamp(one(kWest) + one(kEast), -1, 1);
    const int v = std::clamp(one(kNorth) + one(kSouth), -1, 1);
    const bool flips = h < 0 || (h == 0 && v < 0);
    const int label = h == 0 ? v * v : 3 + (flips ? -v : v);
    labels[index] = mq::symbol(static_cast<unsigned>(mq::kSign + label), flips ? 1 : 0);
  }
  return labels;
}
constexpr Labels kSignLabels = sign_labels();
constexpr unsigned sign_index(unsigned flags) { return (flags & 0xF) | (flags >> 4 & 0xF0); }

/// The MQ decoder of C.3. Both registers have their 16 bits of Figure C.15 at the top, and Chigh has the
/// bits that follow below it. As much of them as two comparisons allow is in `common_` alone: while it does
/// not fall below 0, an MPS takes the upper interval and needs no renormalisation.
class MqDecoder {
 public:
  MqDecoder() = default;
  explicit MqDecoder(std::span<const uint8_t> bytes)
      : next_(bytes.data()), end_(bytes.data() + bytes.size()) {
    uint64_t c = 0;
    byte_in(c);  // INITDEC, Figure C.20
    fill(c);
    split(kHalf, c);
  }

  [[gnu::always_inline]] unsigned decode(mq::State& context) {
    const mq::State state = context;
    const uint64_t qe = uint64_t{state & 0xFFFF0000u} << 32;
    common_ -= static_cast<int64_t>(qe);
    if (common_ >= 0) [[likely]]
      return state & 1;
    return renormalise(context, state, qe);
  }

 private:
  static constexpr uint64_t kHalf = uint64_t{0x8000} << 48;

  [[gnu::always_inline]] unsigned renormalise(mq::State& context, mq::State state, uint64_t qe) {
    const uint64_t upper = a_ + static_cast<uint64_t>(common_);  // A less Qe
    uint64_t c = c_ + static_cast<uint64_t>(common_);
    const bool is_lower = c + qe < qe;  // C was below Qe
    const bool is_less_probable = is_lower ^ (upper < qe);
    uint64_t a = is_lower ? qe : upper;
    c += is_lower ? qe : 0;
    context = mq::kStates.states[state >> (is_less_probable ? 1 : 8) & 0x7F];
    const int shift = std::countl_zero(a);  // RENORMD, Figure C.18
    a <<= shift;
    if (lowest_ + shift > 48) [[unlikely]]
      fill(c);
    c <<= shift;
    lowest_ += shift;
    split(a, c);
    return (state & 1) ^ (is_less_probable ? 1 : 0);
  }
  void split(uint64_t a, uint64_t c) {
    const uint64_t common = std::min(a - kHalf, c);
    a_ = a - common;
    c_ = c - common;
    common_ = static_cast<int64_t>(common);
  }
  void fill(uint64_t& c) {
    while (lowest_ >= 8) byte_in(c);
  }
  /// Figure C.19. Behind the last byte, and from a marker on, all bits are ones.
  void byte_in(uint64_t& c) {
    const uint32_t byte = next_ < end_ ? *next_ : 0xFF;
    if (before_ == 0xFF && byte > 0x8F) {
      lowest_ -= 8;
      c += uint64_t{0xFF} << lowest_;
      end_ = next_;
      return;
    }
    lowest_ -= before_ == 0xFF ? 7 : 8;
    c += uint64_t{byte} << lowest_;
    before_ = byte;
    ++next_;
  }

  const uint8_t* next_ = nullptr;
  const uint8_t* end_ = nullptr;
  uint64_t a_ = 0, c_ = 0;  ///< A and C less common_
  int64_t common_ = 0;
  int lowest_ = 63;  ///< where the lowest bit of the last byte is in C
  uint32_t before_ = 0;
};

/// The raw bits of D.6, from the top bit of each byte down. A byte after 0xFF has 7 bits.
class RawDecoder {
 public:
  RawDecoder() = default;
  explicit RawDecoder(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  unsigned decode() {
    if (left_ == 0) {
      left_ = byte_ == 0xFF && position_ < bytes_.size() ? 7 : 8;
      byte_ = position_ < bytes_.size() ? bytes_[position_++] : uint8_t{0xFF};
    }
    return byte_ >> --left_ & 1u;
  }

 private:
  std::span<const uint8_t> bytes_;
  size_t position_ = 0;
  uint8_t byte_ = 0;
  int left_ = 0;
};

constexpr size_t kMostSamples = 4096, kMostSide = 1024;
constexpr size_t num_stripes(size_t height) { return (height + kRows - 1) / kRows; }
/// Stripe columns with a border of one on each side, of the largest block.
constexpr size_t most_columns() {
  size_t most = 0;
  for (size_t width = 1; width <= kMostSide; ++width) {
    const size_t height = std::min(kMostSamples / width, kMostSide);
    most = std::max(most, (width + 2) * (num_stripes(height) + 2));
  }
  return most;
}

}  // namespace

struct EbcotDecoder::Impl {
  void begin(const Block& b, uint32_t* out) {
    block = b;
    samples = out;
    pitch = b.width + 2;
    const auto stripes = static_cast<ptrdiff_t>(num_stripes(static_cast<size_t>(b.height)));
    std::fill_n(columns.data(), pitch * (stripes + 2), Column{0});
    if (const int rows = b.height % kRows; rows != 0)
      std::fill_n(columns.data() + pitch * stripes + 1, b.width,
                  kAllRows * kOutside << kRowBits * rows);
    std::fill_n(samples, b.width * b.height, 0u);
    zero = kZeroLabels[b.orientation].data();
    const bool is_causal = (b.style & CJ2K_STYLE_VSC) != 0;
    seen = is_causal ? ~(Column{kBelow} << kRowBits * (kRows - 1)) : ~Column{0};
  }

  /// What a pass keeps in registers.
  struct Pass {
    explicit Pass(Impl& d)
        : coder(d.arithmetic),
          contexts(d.contexts),
          zero(d.zero),
          seen(d.seen),
          pitch(d.pitch),
          width(d.block.width),
          one(1u << d.plane) {}
    MqDecoder coder;
    mq::State* const contexts;
    const uint8_t* const zero;
    const Column seen;  ///< the flags that contexts see
    const ptrdiff_t pitch, width;
    const uint32_t one;  ///< of the plane
  };

  /// Calls visit(column, samples of its top) for each stripe column.
  template <typename Visit>
  [[gnu::always_inline]] void for_columns(const Visit& visit) {
    const int width = block.width;
    for (int top = 0; top < block.height; top += kRows) {
      Column* column = columns.data() + (top / kRows + 1) * pitch + 1;
      uint32_t* sample = samples + top * width;
      for (int x = 0; x < width; ++x) visit(column + x, sample + x);
    }
  }
  /// The flags of the sample whose bits in the column begin at `at`.
  static unsigned flags_at(Column column, int at) { return static_cast<unsigned>(column >> at); }

  /// @param flags  of the column, which is not in memory yet
  [[gnu::always_inline]] static void make_significant(const Pass& p, Column* column, Column& flags,
                                                      uint32_t* top, int row, bool negative) {
    const unsigned sign = negative ? 1 : 0;
    const Added& added = kAdded[sign][static_cast<size_t>(row)];
    column[-1] |= added.west;
    flags |= added.own;
    column[1] |= added.east;
    if (row == 0) {
      constexpr int kLast = kRowBits * (kRows - 1);
      Column* const north = column - p.pitch;
      north[-1] |= Column{kSouthEast} << kLast;
      north[0] |= Column{kSouth | sign * kSouthNegative} << kLast;
      north[1] |= Column{kSouthWest} << kLast;
    } else if (row == kRows - 1) {
      Column* const south = column + p.pitch;
      south[-1] |= kNorthEast;
      south[0] |= kNorth | sign * kNorthNegative;
      south[1] |= kNorthWest;
    }
    top[row * p.width] = (negative ? kNegative : 0) | p.one;
  }
  [[gnu::always_inline]] static bool sign(Pass& p, unsigned f) {
    const unsigned label = kSignLabels[sign_index(f)];
    return (p.coder.decode(p.contexts[label >> 1]) ^ (label & 1)) != 0;
  }

  template <bool kRaw>
  void significance_pass() {  // D.3.1
    Pass p(*this);
    for_columns([&](Column * column, uint32_t * top) __attribute__((always_inline)) {
      constexpr Column kAnyNeighbour = kAllRows * kNeighbours;
      Column flags = *column;
      if ((flags & kAnyNeighbour) == 0) return;
      // Bit 8 of a row: it has a significant neighbour and is not significant.
      const auto members = [&]() __attribute__((always_inline)) {
        const Column has_neighbour = (flags & p.seen & kAnyNeighbour) + kAnyNeighbour;
        return has_neighbour & ~(flags >> 4 | flags >> 7) & kAllRows << 8;
      };
      static_assert(kSignificant == 1 << 12 && kOutside == 1 << 15);
      for (Column left = members(); left != 0;) {
        const int at = std::countr_zero(left) - 8;
        left &= left - 1;
        const unsigned f = flags_at(flags & p.seen, at);
        flags |= Column{kVisited} << at;
        bool negative;
        if constexpr (kRaw) {
          if (raw.decode() == 0) continue;
          negative = raw.decode() != 0;
        } else {
          if (p.coder.decode(p.contexts[p.zero[f & kNeighbours]]) == 0) continue;
          negative = sign(p, f);
        }
        make_significant(p, column, flags, top, at / kRowBits, negative);
        left = members() & ~Column{0x1FF} << at;  // the row below may have become one
      }
      *column = flags;
    });
    arithmetic = p.coder;
  }

  template <bool kRaw>
  void refinement_pass() {  // D.3.3
    Pass p(*this);
    for_columns([&](Column * column, uint32_t * top) __attribute__((always_inline)) {
      const Column flags = *column;
      static_assert(kVisited == kSignificant << 1 && kRefined == kSignificant << 2);
      const Column members = flags & ~(flags >> 1) & kAllRows * kSignificant;
      if (members == 0) return;
      for (Column left = members; left != 0; left &= left - 1) {
        const int at = std::countr_zero(left) - 12;
        const unsigned f = flags_at(flags & p.seen, at);
        const unsigned label = (f & kRefined) != 0 ? 2 : (f & kNeighbours) != 0 ? 1 : 0;
        const unsigned bit = kRaw ? raw.decode() : p.coder.decode(p.contexts[mq::kRefine + label]);
        top[at / kRowBits * p.width] |= bit != 0 ? p.one : 0;
      }
      *column = flags | members << 2;
    });
    arithmetic = p.coder;
  }

  void cleanup_pass() {  // D.3.4
    Pass p(*this);
    for_columns([&](Column * column, uint32_t * top) __attribute__((always_inline)) {
      Column flags = *column;
      Column left = ~(flags | flags >> 1 | flags >> 3) & kAllRows * kSignificant;
      bool is_one = false;          // the run says so
      if ((flags & p.seen) == 0) {  // all contexts are zero: the column is coded as a run
        if (p.coder.decode(p.contexts[mq::kRun]) == 0) return;
        const unsigned high = p.coder.decode(p.contexts[mq::kUniform]);
        const unsigned row = 2 * high + p.coder.decode(p.contexts[mq::kUniform]);
        left &= ~Column{0} << kRowBits * row;
        is_one = true;
      }
      for (; left != 0; left &= left - 1) {
        const int at = std::countr_zero(left) - 12;
        const unsigned f = flags_at(flags & p.seen, at);
        if (is_one || p.coder.decode(p.contexts[p.zero[f & kNeighbours]]) != 0)
          make_significant(p, column, flags, top, at / kRowBits, sign(p, f));
        is_one = false;
      }
      *column = flags & ~(kAllRows * kVisited);
    });
    if ((block.style & CJ2K_STYLE_SEGSYM) != 0) {  // D.5
      unsigned symbol = 0;
      for (int i = 0; i < 4; ++i) symbol = symbol << 1 | p.coder.decode(p.contexts[mq::kUniform]);
      is_right = is_right && symbol == 0xA;
    }
    arithmetic = p.coder;
  }

  void pass(int number, bool is_raw) {
    if ((block.style & CJ2K_STYLE_RESET) != 0) mq::reset_contexts(contexts);
    plane = block.bit_planes - num_planes_begun(number + 1);
    switch (pass_kind(number)) {
      case PassKind::kSignificance:
        return is_raw ? significance_pass<true>() : significance_pass<false>();
      case PassKind::kRefinement:
        return is_raw ? refinement_pass<true>() : refinement_pass<false>();
      case PassKind::kCleanup:
        return cleanup_pass();
    }
  }

  Block block{};
  uint32_t* samples = nullptr;
  const uint8_t* zero = nullptr;
  ptrdiff_t pitch = 0;
  int plane = 0;
  Column seen = 0;
  bool is_right = true;
  MqDecoder arithmetic;
  RawDecoder raw;
  mq::State contexts[mq::kNumContexts];
  std::array<Column, most_columns()> columns;
};

EbcotDecoder::EbcotDecoder() : impl_(std::make_unique<Impl>()) {}
EbcotDecoder::~EbcotDecoder() = default;

bool EbcotDecoder::decode(const Block& block, std::span<const CodedSegment> segments,
                          uint32_t* samples) {
  Impl& d = *impl_;
  d.begin(block, samples);
  d.is_right = true;
  mq::reset_contexts(d.contexts);
  int number = 0;
  for (const CodedSegment& segment : segments) {
    const bool is_raw = pass_is_raw(block.style, number);
    if (is_raw) {
      d.raw = RawDecoder(segment.bytes);
    } else {
      d.arithmetic = MqDecoder(segment.bytes);
    }
    for (const int end = number + segment.passes; number < end; ++number) d.pass(number, is_raw);
  }
  return d.is_right;
}

}  // namespace cj2k
