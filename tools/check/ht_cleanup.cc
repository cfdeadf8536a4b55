// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Reads the cleanup pass of an HT code-block (T.814 clause 7) for its magnitudes.
#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "ht.h"
#include "ht_codewords.h"

namespace cj2k_check {
namespace {

/// A row of the CxtVLC code.
struct Codeword {
  uint32_t row;  ///< 0: none
  uint32_t significance() const { return row >> 19 & 15; }
  bool has_u() const { return (row >> 18 & 1) != 0; }
  uint32_t e_k() const { return row >> 14 & 15; }
  uint32_t e_1() const { return row >> 10 & 15; }
  uint32_t length() const { return row & 7; }
};

/// The row for each context and the next 7 bits.
using CodeTable = std::array<Codeword, 8 * 128>;

template <size_t kRows>
CodeTable make_table(const uint32_t (&rows)[kRows]) {
  CodeTable table{};
  for (const uint32_t row : rows) {
    const uint32_t length = row & 7, codeword = row >> 3 & 127;
    for (uint32_t rest = 0; rest < 128u >> length; ++rest)
      table[(row >> 23) * 128 + (rest << length | codeword)] = {row};
  }
  return table;
}

/// MagSgn: forward, lowest bit first; behind 0xFF a byte has 7 bits; ones behind the end.
class MagnitudeBits {
 public:
  explicit MagnitudeBits(Bytes bytes) : bytes_(bytes) {}
  uint64_t get(uint32_t count) {
    uint64_t value = 0;
    for (uint32_t i = 0; i < count; ++i) {
      if (left_ == 0) {
        left_ = byte_ == 0xFF ? 7 : 8;
        rest_ = byte_ = at_ < bytes_.size() ? bytes_[at_++] : uint8_t{0xFF};
      }
      value |= uint64_t{rest_ & 1u} << i;
      rest_ >>= 1;
      --left_;
    }
    return value;
  }

 private:
  Bytes bytes_;
  size_t at_ = 0;
  uint32_t byte_ = 0, rest_ = 0, left_ = 0;
};

/// VLC: backward from the length word, whose 12 bits count as ones; lowest bit first.
class VlcBits {
 public:
  explicit VlcBits(Bytes tail) : bytes_(tail), at_(tail.size() - 2) {
    const uint32_t high = bytes_[at_] >> 4;
    count_ = (high & 7) == 7 ? 3 : 4;
    bits_ = high & ((1u << count_) - 1);
    before_ = high << 4 | 15;
  }
  /// The next 7 bits; zeros in front of the start.
  uint32_t peek() {
    while (count_ < 7) load();
    return static_cast<uint32_t>(bits_ & 127);
  }
  void skip(uint32_t count) {
    bits_ >>= count;
    count_ -= count;
  }
  uint32_t get(uint32_t count) {
    const uint32_t value = peek() & ((1u << count) - 1);
    skip(count);
    return value;
  }

 private:
  void load() {
    const uint32_t byte = at_ > 0 ? bytes_[--at_] : 0u;
    const uint32_t bits = before_ > 0x8F && (byte & 0x7F) == 0x7F ? 7 : 8;
    bits_ |= uint64_t{byte & ((1u << bits) - 1)} << count_;
    count_ += bits;
    before_ = byte;
  }

  Bytes bytes_;
  size_t at_;
  uint64_t bits_ = 0;
  uint32_t count_ = 0, before_ = 0;
};

/// MEL: forward, highest bit first, runs of zero events.
class MelEvents {
 public:
  explicit MelEvents(Bytes tail) : bytes_(tail) {}
  bool next() {
    static constexpr uint8_t kExponents[] = {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5};
    if (run_ == 0 && !ends_in_one_) {
      const uint32_t exponent = kExponents[state_];
      if (bit() != 0) {
        run_ = 1u << exponent;
        state_ = std::min(state_ + 1, 12u);
      } else {
        for (uint32_t i = 0; i < exponent; ++i) run_ = run_ << 1 | bit();
        ends_in_one_ = true;
        state_ = state_ > 0 ? state_ - 1 : 0;
      }
    }
    if (run_ > 0) {
      --run_;
      return false;
    }
    ends_in_one_ = false;
    return true;
  }

 private:
  uint32_t bit() {
    if (left_ == 0) {
      left_ = byte_ == 0xFF ? 7 : 8;
      // The length word counts as ones, and so does what is behind the end.
      byte_ = at_ + 2 < bytes_.size()    ? bytes_[at_]
              : at_ + 2 == bytes_.size() ? bytes_[at_] | 0x0Fu
                                         : 0xFFu;
      ++at_;
    }
    return byte_ >> --left_ & 1;
  }

  Bytes bytes_;
  size_t at_ = 0;
  uint32_t byte_ = 0, left_ = 0, state_ = 0, run_ = 0;
  bool ends_in_one_ = false;
};

/// What a row of quads leaves to the next: exponents and significance of its lower samples, with a
/// margin of two columns on each side.
struct RowBelow {
  std::vector<uint8_t> exponent, significant;
  explicit RowBelow(uint32_t width) : exponent(width + 8), significant(width + 8) {}
};

class Cleanup {
 public:
  Cleanup(Bytes cleanup, uint32_t width, uint32_t height)
      : width_(width),
        height_(height),
        tail_(cleanup.last(cleanup_tail_bytes(cleanup))),
        magnitudes_(cleanup.first(cleanup.size() - tail_.size())),
        vlc_(tail_),
        mel_(tail_),
        above_(width),
        below_(width) {}

  std::optional<uint32_t> run() {
    static const CodeTable first = make_table(kHtFirstRow), other = make_table(kHtOtherRows);
    for (uint32_t y = 0; y < height_; y += 2) {
      table_ = y == 0 ? &first : &other;
      left_ = 0;
      below_ = RowBelow(width_);
      for (uint32_t x = 0; x < width_; x += 4) {
        if (!pair(x, y)) return std::nullopt;
      }
      std::swap(above_, below_);
    }
    return static_cast<uint32_t>(std::bit_width(largest_));
  }

 private:
  uint32_t context(uint32_t x, uint32_t y) const {
    const uint32_t l = left_;
    if (y == 0) return ((l | l >> 1) & 1) | (l >> 2 & 1) << 1 | (l >> 3 & 1) << 2;
    const uint8_t* up = &above_.significant[x + 2];
    return static_cast<uint32_t>(up[-1] | up[0]) | ((l >> 2 | l >> 3) & 1) << 1 |
           static_cast<uint32_t>(up[1] | up[2]) << 2;
  }

  bool quad(uint32_t x, uint32_t y, Codeword& codeword) {
    codeword = {0};
    const uint32_t c = context(x, y);
    if (c != 0 || mel_.next()) {
      codeword = (*table_)[c * 128 + vlc_.peek()];
      if (codeword.row == 0) return false;
      vlc_.skip(codeword.length());
    }
    left_ = codeword.significance();
    // No sample outside of the block is significant.
    if (y + 1 == height_ && (left_ & 10) != 0) return false;
    return x + 1 < width_ || (left_ & 12) == 0;
  }

  uint32_t prefix() {
    if (vlc_.get(1) != 0) return 1;
    if (vlc_.get(1) != 0) return 2;
    return vlc_.get(1) != 0 ? 3 : 5;
  }

  void exponent_steps(bool first_row, const Codeword (&quads)[2], uint32_t (&u)[2]) {
    const bool both = quads[0].has_u() && quads[1].has_u();
    const bool both_large = both && first_row && mel_.next();
    uint32_t head[2] = {0, 0}, suffix[2] = {0, 0};
    for (int i = 0; i < 2; ++i) {
      if (!quads[i].has_u()) continue;
      if (i == 1 && both && first_row && !both_large && head[0] > 2) {
        u[1] = vlc_.get(1) + 1;
      } else {
        head[i] = prefix();
      }
    }
    for (int i = 0; i < 2; ++i) {
      if (head[i] > 2) suffix[i] = vlc_.get(head[i] == 3 ? 1 : 5);
    }
    for (int i = 0; i < 2; ++i) {
      if (head[i] == 0) continue;
      const uint32_t extension = head[i] == 5 && suffix[i] >= 28 ? vlc_.get(4) : 0;
      u[i] = head[i] + suffix[i] + 4 * extension + (both_large ? 2 : 0);
    }
  }

  bool values(uint32_t x, uint32_t y, const Codeword& codeword, uint32_t u) {
    const uint32_t significant = codeword.significance();
    uint32_t bits = 1;
    if (y > 0 && std::popcount(significant) > 1) {
      const uint8_t* up = &above_.exponent[x + 2];
      const uint32_t most = std::max({up[-1], up[0], up[1], up[2]});
      bits = std::max(bits, most > 0 ? most - 1 : 0);
    }
    bits += u;
    if (bits > 63) return false;
    for (uint32_t i = 0; i < 4; ++i) {
      if ((significant >> i & 1) == 0) continue;
      const uint32_t known = codeword.e_k() >> i & 1;
      const uint64_t value = magnitudes_.get(bits - known) | uint64_t{codeword.e_1() >> i & 1}
                                                                 << (bits - known);
      largest_ = std::max(largest_, (value >> 1) + 1);
      if (i % 2 == 0) continue;
      below_.significant[x + i / 2 + 2] = 1;
      below_.exponent[x + i / 2 + 2] = static_cast<uint8_t>(std::bit_width(value | 1));
    }
    return true;
  }

  bool pair(uint32_t x, uint32_t y) {
    Codeword quads[2] = {{0}, {0}};
    if (!quad(x, y, quads[0])) return false;
    if (x + 2 < width_ && !quad(x + 2, y, quads[1])) return false;
    uint32_t u[2] = {0, 0};
    exponent_steps(y == 0, quads, u);
    return values(x, y, quads[0], u[0]) && values(x + 2, y, quads[1], u[1]);
  }

  const uint32_t width_, height_;
  const Bytes tail_;  ///< MEL and VLC
  MagnitudeBits magnitudes_;
  VlcBits vlc_;
  MelEvents mel_;
  RowBelow above_, below_;
  const CodeTable* table_ = nullptr;
  uint32_t left_ = 0;  ///< significance of the quad to the left
  uint64_t largest_ = 0;
};

}  // namespace

std::optional<uint32_t> cleanup_magnitude_bits(Bytes cleanup, uint32_t width, uint32_t height) {
  return Cleanup(cleanup, width, height).run();
}

}  // namespace cj2k_check
