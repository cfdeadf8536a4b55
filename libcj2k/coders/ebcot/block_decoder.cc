// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "coders/ebcot/block_decoder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

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
};
constexpr uint16_t kNeighbours = 0xFF;
/// What a sample in the last row of a stripe does not see with VSC (D.7).
constexpr uint16_t kBelow = kSouth | kSouthWest | kSouthEast | kSouthNegative;

/// Flags of the four samples of a stripe column, from the top.
constexpr int kRows = 4;
constexpr uint64_t kVisitedRows = 0x0001000100010001u * kVisited;

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

/// The MQ decoder of C.3.
class MqDecoder {
 public:
  MqDecoder() = default;
  explicit MqDecoder(std::span<const uint8_t> bytes) : bytes_(bytes) {
    c_ = at(0) << 16;  // INITDEC, Figure C.20
    byte_in();
    c_ <<= 7;
    ct_ -= 7;
    a_ = 0x8000;
  }

  unsigned decode(mq::State& context) {
    const uint32_t qe = context >> 16;
    const unsigned mps = context & 1;
    a_ -= qe;
    if ((c_ >> 16) >= qe) {
      c_ -= qe << 16;
      if ((a_ & 0x8000) != 0) return mps;
      return exchange(context, a_ < qe);
    }
    const bool is_less_probable = a_ >= qe;
    a_ = qe;
    return exchange(context, is_less_probable);
  }

 private:
  uint32_t at(size_t i) const { return i < bytes_.size() ? bytes_[i] : 0xFF; }

  unsigned exchange(mq::State& context, bool is_less_probable) {
    const mq::State state = context;
    const unsigned next = is_less_probable ? state >> 1 & 0x7F : state >> 8 & 0x7F;
    context = mq::kStates.states[next];
    do {  // RENORMD, Figure C.18
      if (ct_ == 0) byte_in();
      const auto zeros = static_cast<uint32_t>(std::countl_zero(a_)) - 16;
      const uint32_t shift = std::min(zeros, ct_);
      a_ <<= shift;
      c_ <<= shift;
      ct_ -= shift;
    } while ((a_ & 0x8000) == 0);
    return (state & 1) ^ (is_less_probable ? 1 : 0);
  }

  void byte_in() {  // Figure C.19
    const uint32_t next = at(position_ + 1);
    if (at(position_) != 0xFF) {
      ++position_;
      c_ += next << 8;
      ct_ = 8;
    } else if (next > 0x8F) {
      c_ += 0xFF00;
      ct_ = 8;
    } else {
      ++position_;
      c_ += next << 9;
      ct_ = 7;
    }
  }

  std::span<const uint8_t> bytes_;
  size_t position_ = 0;
  uint32_t c_ = 0, a_ = 0, ct_ = 0;
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
/// Stripe columns with a border of one on each side: 1026 x 3 at most.
constexpr size_t kMostFlags = kRows * (kMostSide + 2) * (kMostSamples / kMostSide / kRows + 2);
static_assert(kMostFlags >= kRows * (64 + 2) * (64 / kRows + 2));
static_assert(kMostFlags >= kRows * (kRows + 2) * (kMostSide / kRows + 2));

}  // namespace

struct EbcotDecoder::Impl {
  void begin(const Block& b, uint32_t* out) {
    block = b;
    samples = out;
    pitch = kRows * (b.width + 2);
    std::fill_n(flags.data(), pitch * ((b.height + kRows - 1) / kRows + 2), uint16_t{0});
    std::fill_n(samples, b.width * b.height, 0u);
    zero = kZeroLabels[b.orientation].data();
    is_causal = (b.style & CJ2K_STYLE_VSC) != 0;
  }

  /// Calls visit(flags, x, y) for each sample of each stripe column where wanted(column) holds.
  template <typename Wanted, typename Visit>
  void for_samples(const Wanted& wanted, const Visit& visit) {
    for (int top = 0; top < block.height; top += kRows) {
      uint16_t* column = flags.data() + (top / kRows + 1) * pitch + kRows;
      const int rows = std::min(kRows, block.height - top);
      for (int x = 0; x < block.width; ++x, column += kRows) {
        if (!wanted(load(column))) continue;
        for (int row = 0; row < rows; ++row) visit(column + row, x, top + row);
      }
    }
  }
  static uint64_t load(const uint16_t* column) {
    uint64_t rows;
    std::memcpy(&rows, column, sizeof rows);
    return rows;
  }
  /// The flags of a sample in row `row` of its stripe, as its context sees them.
  unsigned seen(unsigned f, int row) const { return is_causal && row == 3 ? f & ~kBelow : f; }
  uint32_t& sample(int x, int y) { return samples[y * block.width + x]; }

  void make_significant(uint16_t* f, int x, int y, bool negative) {
    const auto add = [](uint16_t& flag, unsigned bits) {
      flag = static_cast<uint16_t>(flag | bits);
    };
    uint16_t* const north = y % kRows == 0 ? f - pitch + (kRows - 1) : f - 1;
    uint16_t* const south = y % kRows == kRows - 1 ? f + pitch - (kRows - 1) : f + 1;
    const unsigned sign = negative ? 1 : 0;
    add(f[-kRows], kEast | sign * kEastNegative);
    add(f[kRows], kWest | sign * kWestNegative);
    add(north[0], kSouth | sign * kSouthNegative);
    add(north[-kRows], kSouthEast);
    add(north[kRows], kSouthWest);
    add(south[0], kNorth | sign * kNorthNegative);
    add(south[-kRows], kNorthEast);
    add(south[kRows], kNorthWest);
    add(*f, kSignificant);
    sample(x, y) = (negative ? kNegative : 0) | 1u << plane;
  }
  bool sign(MqDecoder& coder, unsigned f) {
    const unsigned label = kSignLabels[sign_index(f)];
    return (coder.decode(contexts[label >> 1]) ^ (label & 1)) != 0;
  }

  template <bool kRaw>
  void significance_pass() {  // D.3.1
    MqDecoder coder = arithmetic;
    constexpr uint64_t kAnyNeighbour = 0x0001000100010001u * kNeighbours;
    for_samples([](uint64_t column) { return (column & kAnyNeighbour) != 0; },
                [&](uint16_t* at, int x, int y) {
                  const unsigned f = seen(*at, y % kRows);
                  if ((f & kSignificant) != 0 || (f & kNeighbours) == 0) return;
                  *at = static_cast<uint16_t>(*at | kVisited);
                  if constexpr (kRaw) {
                    if (raw.decode() != 0) make_significant(at, x, y, raw.decode() != 0);
                  } else if (coder.decode(contexts[zero[f & kNeighbours]]) != 0) {
                    make_significant(at, x, y, sign(coder, f));
                  }
                });
    arithmetic = coder;
  }

  template <bool kRaw>
  void refinement_pass() {  // D.3.3
    MqDecoder coder = arithmetic;
    constexpr uint64_t kAnySignificant = 0x0001000100010001u * kSignificant;
    for_samples([](uint64_t column) { return (column & kAnySignificant) != 0; },
                [&](uint16_t* at, int x, int y) {
                  const unsigned f = seen(*at, y % kRows);
                  if ((f & (kSignificant | kVisited)) != kSignificant) return;
                  const int label = (f & kRefined) != 0 ? 2 : (f & kNeighbours) != 0 ? 1 : 0;
                  const unsigned bit =
                      kRaw ? raw.decode() : coder.decode(contexts[mq::kRefine + label]);
                  sample(x, y) |= bit << plane;
                  *at = static_cast<uint16_t>(*at | kRefined);
                });
    arithmetic = coder;
  }

  void cleanup_pass() {  // D.3.4
    MqDecoder coder = arithmetic;
    for (int top = 0; top < block.height; top += kRows) {
      uint16_t* column = flags.data() + (top / kRows + 1) * pitch + kRows;
      const int rows = std::min(kRows, block.height - top);
      for (int x = 0; x < block.width; ++x, column += kRows) {
        int row = 0;
        bool is_one = false;  // the run says so
        if (rows == kRows && is_run(column)) {
          if (coder.decode(contexts[mq::kRun]) == 0) continue;
          const unsigned high = coder.decode(contexts[mq::kUniform]);
          row = static_cast<int>(2 * high + coder.decode(contexts[mq::kUniform]));
          is_one = true;
        }
        for (; row < rows; ++row) {
          const unsigned f = seen(column[row], row);
          if ((f & (kSignificant | kVisited)) != 0) continue;
          if (is_one || coder.decode(contexts[zero[f & kNeighbours]]) != 0)
            make_significant(column + row, x, top + row, sign(coder, f));
          is_one = false;
        }
        const uint64_t unvisited = load(column) & ~kVisitedRows;
        std::memcpy(column, &unvisited, sizeof unvisited);
      }
    }
    if ((block.style & CJ2K_STYLE_SEGSYM) != 0) {  // D.5
      unsigned symbol = 0;
      for (int i = 0; i < 4; ++i) symbol = symbol << 1 | coder.decode(contexts[mq::kUniform]);
      is_right = is_right && symbol == 0xA;
    }
    arithmetic = coder;
  }
  /// Whether a whole stripe column is coded as a run: all contexts are zero.
  bool is_run(const uint16_t* column) const {
    uint16_t any = 0;
    for (int row = 0; row < kRows; ++row) any = static_cast<uint16_t>(any | seen(column[row], row));
    return any == 0;
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
  bool is_causal = false, is_right = true;
  MqDecoder arithmetic;
  RawDecoder raw;
  mq::State contexts[mq::kNumContexts];
  std::array<uint16_t, kMostFlags> flags;
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
