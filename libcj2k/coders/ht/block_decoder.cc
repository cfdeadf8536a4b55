// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "coders/ht/block_decoder.h"

#include <algorithm>
#include <array>
#include <bit>

#include "core/ht/cxt_vlc_rows.h"

namespace cj2k {
namespace {

constexpr uint32_t kNegative = 0x80000000u;
/// Bits of the largest value of MagSgn: a magnitude of 31 bits and its sign.
constexpr int kMostValueBits = 32;

/// Bits from the first byte on, lowest bit first. After 0xFF a byte has 7 bits.
class ForwardReader {
 public:
  ForwardReader() = default;
  /// @param fill  the bytes after the last one
  ForwardReader(std::span<const uint8_t> bytes, uint8_t fill) : bytes_(bytes), fill_(fill) {}

  /// @param count  0 .. 56
  uint64_t bits(int count) {
    while (left_ < count) {
      const uint8_t byte = next_ < bytes_.size() ? bytes_[next_++] : fill_;
      const int count_in_byte = before_ == 0xFF ? 7 : 8;
      buffer_ |= (byte & ((uint64_t{1} << count_in_byte) - 1)) << left_;
      left_ += count_in_byte;
      before_ = byte;
    }
    const uint64_t value = buffer_ & ((uint64_t{1} << count) - 1);
    buffer_ >>= count;
    left_ -= count;
    return value;
  }

 private:
  std::span<const uint8_t> bytes_;
  size_t next_ = 0;
  uint64_t buffer_ = 0;
  int left_ = 0;
  uint8_t fill_ = 0, before_ = 0;
};

/// Bits from the last byte to the first, lowest bit first. Zeros follow. A byte has 7 bits if its
/// low 7 bits are ones and the byte read before it is above 0x8F.
class BackwardReader {
 public:
  BackwardReader() = default;
  /// @param before  the byte that counts as read before the last one
  BackwardReader(std::span<const uint8_t> bytes, uint8_t before)
      : bytes_(bytes), left_in_span_(bytes.size()), before_(before) {}

  /// The next bits, which stay. @param count  0 .. 56
  uint64_t look(int count) {
    while (left_ < count) {
      const uint8_t byte = left_in_span_ > 0 ? bytes_[--left_in_span_] : uint8_t{0};
      const int count_in_byte = before_ > 0x8F && (byte & 0x7F) == 0x7F ? 7 : 8;
      buffer_ |= (byte & ((uint64_t{1} << count_in_byte) - 1)) << left_;
      left_ += count_in_byte;
      before_ = byte;
    }
    return buffer_ & ((uint64_t{1} << count) - 1);
  }
  void skip(int count) {
    buffer_ >>= count;
    left_ -= count;
  }
  uint32_t bits(int count) {
    const auto value = static_cast<uint32_t>(look(count));
    skip(count);
    return value;
  }

 private:
  std::span<const uint8_t> bytes_;
  size_t left_in_span_ = 0;
  uint64_t buffer_ = 0;
  int left_ = 0;
  uint8_t before_ = 0;
};

/// The adaptive run-length code MEL: bytes from the first on, highest bit first.
class MelReader {
 public:
  MelReader() = default;
  explicit MelReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  bool event() {
    if (zeros_ == 0 && !ends_in_one_) read_run();
    if (zeros_ > 0) {
      --zeros_;
      return false;
    }
    ends_in_one_ = false;
    return true;
  }

 private:
  void read_run() {
    constexpr int kExponents[] = {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5};
    const int exponent = kExponents[state_];
    if (bit() != 0) {
      zeros_ = 1 << exponent;
      state_ = std::min(state_ + 1, 12);
      return;
    }
    for (int i = 0; i < exponent; ++i) zeros_ = 2 * zeros_ + static_cast<int>(bit());
    ends_in_one_ = true;
    state_ = std::max(state_ - 1, 0);
  }
  uint32_t bit() {
    if (left_ == 0) {
      left_ = byte_ == 0xFF ? 7 : 8;
      byte_ = next_ < bytes_.size() ? bytes_[next_++] : uint8_t{0xFF};
    }
    return byte_ >> --left_ & 1;
  }

  std::span<const uint8_t> bytes_;
  size_t next_ = 0;
  uint8_t byte_ = 0;
  int left_ = 0, state_ = 0, zeros_ = 0;
  bool ends_in_one_ = false;
};

/// CxtVLC codewords: [context][next 7 bits]. Length 0: there is no such codeword.
constexpr int kMostCodewordBits = 7;
using CodewordTable = std::array<std::array<CxtVlcRow, 1 << kMostCodewordBits>, 8>;
template <size_t kRows>
constexpr CodewordTable codewords(const CxtVlcRow (&rows)[kRows]) {
  CodewordTable table{};
  for (const CxtVlcRow& row : rows) {
    for (unsigned rest = 0; rest < 1u << (kMostCodewordBits - row.length); ++rest)
      table[row.c_q][row.codeword | rest << row.length] = row;
  }
  return table;
}
constexpr CodewordTable kFirstCodewords = codewords(kCxtVlcFirstRows);
constexpr CodewordTable kOtherCodewords = codewords(kCxtVlcOtherRows);

constexpr int kMostSide = 1024, kMostSamples = 4096;
/// Samples with a border of one on each side: 1026 x 6 at most.
constexpr int kMostStates = (kMostSide + 2) * (kMostSamples / kMostSide + 2);
static_assert(kMostStates >= (64 + 2) * (64 + 2));

enum State : uint8_t { kOld = 1, kFresh = 2 };  // significant by cleanup, by SigProp

}  // namespace

struct HtDecoder::Impl {
  bool begin(const Block& b, std::span<const uint8_t> bytes, uint32_t* out);
  bool cleanup();
  bool pair(int x, int y);
  bool quad(int x, int y, CxtVlcRow& row);
  void read_u(bool is_first, const CxtVlcRow* quads, int* u);
  bool values(int x, int y, const CxtVlcRow& quad, int u);
  void sig_prop(std::span<const uint8_t> bytes);
  void mag_ref(std::span<const uint8_t> bytes);

  /// The least u of a U-VLC codeword with this prefix.
  int prefix() {
    constexpr uint8_t kLeast[] = {5, 1, 2, 1, 3, 1, 2, 1}, kLength[] = {3, 1, 2, 1, 3, 1, 2, 1};
    const uint64_t next = vlc.look(3);
    vlc.skip(kLength[next]);
    return kLeast[next];
  }
  uint8_t* state(int x, int y) { return states.data() + (y + 1) * (block.width + 2) + x + 1; }
  /// Calls visit(x, y) for the samples of the columns [left, right) of a stripe.
  template <typename Visit>
  void for_stripe(int top, int left, int right, const Visit& visit) {
    for (int x = left; x < right; ++x) {
      for (int y = top; y < std::min(top + 4, block.height); ++y) visit(x, y);
    }
  }

  Block block{};
  uint32_t* samples = nullptr;
  std::array<uint8_t, 4096> tail;  ///< MEL, VLC and the length word
  MelReader mel;
  BackwardReader vlc;
  ForwardReader mag_sgn;
  /// Of the rows of quads above and at the current one, from column -2 on: the exponents of the
  /// lower samples, and which samples are significant (bit 0: upper, bit 1: lower).
  static constexpr int kBorder = 2, kLine = kMostSide + 2 * kBorder + 2;
  std::array<uint8_t, kLine> exponents_above, exponents, significant_above, significant;
  std::array<uint8_t, kMostStates> states;
};

bool HtDecoder::Impl::begin(const Block& b, std::span<const uint8_t> bytes, uint32_t* out) {
  block = b;
  samples = out;
  std::fill_n(samples, b.width * b.height, 0u);
  if (bytes.size() < 2) return false;
  const size_t length = bytes.back() * 16u + (bytes[bytes.size() - 2] & 15u);
  if (length < 2 || length > 4079 || length > bytes.size()) return false;
  std::copy(bytes.end() - static_cast<ptrdiff_t>(length), bytes.end(), tail.begin());
  tail[length - 1] = 0xFF;
  tail[length - 2] |= 0x0F;
  mel = MelReader(std::span(tail).first(length - 1));
  vlc = BackwardReader(std::span(tail).first(length), 0);
  vlc.bits(12);
  mag_sgn = ForwardReader(bytes.first(bytes.size() - length), 0xFF);
  return true;
}

bool HtDecoder::Impl::cleanup() {
  const int line = block.width + 2 * kBorder + 2;
  std::fill_n(exponents.data(), line, uint8_t{0});
  std::fill_n(significant.data(), line, uint8_t{0});
  for (int y = 0; y < block.height; y += 2) {
    std::copy_n(exponents.data(), line, exponents_above.data());
    std::copy_n(significant.data(), line, significant_above.data());
    std::fill_n(exponents.data(), line, uint8_t{0});
    std::fill_n(significant.data(), line, uint8_t{0});
    for (int x = 0; x < block.width; x += 4) {
      if (!pair(x, y)) return false;
    }
  }
  return true;
}

bool HtDecoder::Impl::pair(int x, int y) {
  CxtVlcRow quads[2] = {};
  const bool has_second = x + 2 < block.width;
  if (!quad(x, y, quads[0]) || (has_second && !quad(x + 2, y, quads[1]))) return false;
  int u[2] = {0, 0};
  read_u(y == 0, quads, u);
  return values(x, y, quads[0], u[0]) && (!has_second || values(x + 2, y, quads[1], u[1]));
}

/// Reads which samples of a quad are significant.
bool HtDecoder::Impl::quad(int x, int y, CxtVlcRow& row) {
  const uint8_t* const here = significant.data() + kBorder + x;
  const uint8_t* const above = significant_above.data() + kBorder + x;
  unsigned context;
  if (y == 0) {
    context = (here[-2] != 0 ? 1u : 0) | (here[-1] & 1u) << 1 | (here[-1] & 2u) << 1;
  } else {
    const unsigned west = here[-1] != 0 ? 2 : 0;
    context = ((above[-1] | above[0]) >> 1 & 1u) | west | ((above[1] | above[2]) & 2u) << 1;
  }
  if (context == 0 && !mel.event()) return true;
  row = (y == 0 ? kFirstCodewords : kOtherCodewords)[context][vlc.look(kMostCodewordBits)];
  if (row.length == 0) return false;
  vlc.skip(row.length);
  // Samples outside the block are not significant.
  const unsigned outside = (x + 1 < block.width ? 0 : 0xCu) | (y + 1 < block.height ? 0 : 0xAu);
  if ((row.rho & outside) != 0) return false;
  significant[static_cast<size_t>(kBorder + x)] = row.rho & 3;
  significant[static_cast<size_t>(kBorder + x + 1)] = static_cast<uint8_t>(row.rho >> 2);
  return true;
}

/// Reads u of both quads of a pair.
void HtDecoder::Impl::read_u(bool is_first, const CxtVlcRow* quads, int* u) {
  const bool both = quads[0].u_off != 0 && quads[1].u_off != 0;
  const int base = both && is_first && mel.event() ? 2 : 0;
  int prefixes[2] = {0, 0};
  if (quads[0].u_off != 0) prefixes[0] = prefix();
  if (quads[1].u_off != 0) {
    if (both && is_first && base == 0 && prefixes[0] > 2) {
      u[1] = static_cast<int>(vlc.bits(1)) + 1;
    } else {
      prefixes[1] = prefix();
    }
  }
  int suffixes[2] = {0, 0};
  for (int i = 0; i < 2; ++i) {
    if (prefixes[i] > 2) suffixes[i] = static_cast<int>(vlc.bits(prefixes[i] == 3 ? 1 : 5));
  }
  for (int i = 0; i < 2; ++i) {
    if (prefixes[i] == 0) continue;
    const bool is_extended = prefixes[i] == 5 && suffixes[i] >= 28;
    const int extension = is_extended ? static_cast<int>(vlc.bits(4)) : 0;
    u[i] = base + prefixes[i] + suffixes[i] + 4 * extension;
  }
}

/// Reads magnitudes and signs of the significant samples of a quad.
bool HtDecoder::Impl::values(int x, int y, const CxtVlcRow& quad, int u) {
  int kappa = 1;
  if (y > 0 && (quad.rho & (quad.rho - 1)) != 0) {  // more than one is significant
    const uint8_t* const above = exponents_above.data() + kBorder + x;
    kappa = std::max(1, std::max({above[-1], above[0], above[1], above[2]}) - 1);
  }
  for (int i = 0; i < 4; ++i) {
    if ((quad.rho >> i & 1) == 0) continue;
    const int bits = kappa + u - (quad.e_k >> i & 1);
    if (bits > kMostValueBits) return false;
    const uint64_t value = mag_sgn.bits(bits) | uint64_t{quad.e_1 >> i & 1u} << bits;
    const uint64_t magnitude = ((value >> 1) + 1) << block.plane;
    if (magnitude >= kNegative) return false;
    samples[(y + i % 2) * block.width + x + i / 2] =
        ((value & 1) != 0 ? kNegative : 0) | static_cast<uint32_t>(magnitude);
    if (i % 2 == 1)
      exponents[static_cast<size_t>(kBorder + x + i / 2)] =
          static_cast<uint8_t>(std::bit_width(value | 1));
  }
  return true;
}

void HtDecoder::Impl::sig_prop(std::span<const uint8_t> bytes) {
  ForwardReader reader(bytes, 0);
  std::fill_n(states.data(), (block.width + 2) * (block.height + 2), uint8_t{0});
  for (int y = 0; y < block.height; ++y) {
    for (int x = 0; x < block.width; ++x) {
      if (samples[y * block.width + x] != 0) *state(x, y) = kOld;
    }
  }
  const int pitch = block.width + 2;
  const auto is_member = [&](const uint8_t* s, bool hides_below) {
    int any = s[-1] | s[1] | s[-pitch - 1] | s[-pitch] | s[-pitch + 1];
    if (!hides_below) any |= s[pitch - 1] | s[pitch] | s[pitch + 1];
    return any != 0;
  };
  for (int top = 0; top < block.height; top += 4) {
    for (int left = 0; left < block.width; left += 4) {
      uint32_t* found[16];
      int count = 0;
      for_stripe(top, left, std::min(left + 4, block.width), [&](int x, int y) {
        uint8_t* const s = state(x, y);
        if (*s != 0 || !is_member(s, block.is_causal && y % 4 == 3) || reader.bits(1) == 0) return;
        *s = kFresh;
        found[count++] = samples + y * block.width + x;
      });
      for (int i = 0; i < count; ++i)
        *found[i] = (reader.bits(1) != 0 ? kNegative : 0) | 1u << (block.plane - 1);
    }
  }
}

void HtDecoder::Impl::mag_ref(std::span<const uint8_t> bytes) {
  BackwardReader reader(bytes, 0xFF);
  for (int top = 0; top < block.height; top += 4) {
    for_stripe(top, 0, block.width, [&](int x, int y) {
      if (*state(x, y) == kOld) samples[y * block.width + x] |= reader.bits(1) << (block.plane - 1);
    });
  }
}

HtDecoder::HtDecoder() : impl_(std::make_unique<Impl>()) {}
HtDecoder::~HtDecoder() = default;

bool HtDecoder::decode(const Block& block, std::span<const uint8_t> cleanup,
                       std::span<const uint8_t> refinement, uint32_t* samples) {
  Impl& d = *impl_;
  if (!d.begin(block, cleanup, samples) || !d.cleanup()) return false;
  if (block.passes > 1) d.sig_prop(refinement);
  if (block.passes > 2) d.mag_ref(refinement);
  return true;
}

}  // namespace cj2k
