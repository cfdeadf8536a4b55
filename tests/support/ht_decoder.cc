// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "support/ht_decoder.h"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

#include "core/ht/cxt_vlc_rows.h"

namespace cj2k::test {
namespace {

struct BadBlock {
  const char* why;
};

/// First bit lowest; after 0xFF a byte has 7 bits.
class ForwardReader {
 public:
  ForwardReader(std::span<const uint8_t> data, uint8_t fill) : data_(data), fill_(fill) {}
  uint32_t bit() {
    if (left_ == 0) {
      left_ = byte_before_ == 0xFF ? 7 : 8;
      byte_ = byte_before_ = next_ < data_.size() ? data_[next_] : fill_;
      ++next_;
    }
    --left_;
    const uint32_t bit = byte_ & 1;
    byte_ = static_cast<uint8_t>(byte_ >> 1);
    return bit;
  }
  uint64_t bits(int count) {
    uint64_t value = 0;
    for (int i = 0; i < count; ++i) value |= uint64_t{bit()} << i;
    return value;
  }

 private:
  std::span<const uint8_t> data_;
  uint8_t fill_, byte_ = 0, byte_before_ = 0;
  size_t next_ = 0;
  int left_ = 0;
};

/// From the end of the data to its start, first bit lowest.
class BackwardReader {
 public:
  /// @param skip  bits of the length word; a stream without one begins as if after a byte of ones
  BackwardReader(std::span<const uint8_t> data, int skip)
      : data_(data), next_(data.size()), byte_before_(skip > 0 ? 0 : 0xFF) {
    for (int i = 0; i < skip; ++i) bit();
  }
  uint32_t bit() {
    if (left_ == 0) {
      byte_ = next_ > 0 ? data_[--next_] : uint8_t{0};
      left_ = byte_before_ > 0x8F && (byte_ & 0x7F) == 0x7F ? 7 : 8;
      byte_before_ = byte_;
    }
    --left_;
    const uint32_t bit = byte_ & 1;
    byte_ = static_cast<uint8_t>(byte_ >> 1);
    return bit;
  }
  uint32_t bits(int count) {
    uint32_t value = 0;
    for (int i = 0; i < count; ++i) value |= bit() << i;
    return value;
  }

 private:
  std::span<const uint8_t> data_;
  size_t next_;
  uint8_t byte_ = 0, byte_before_;
  int left_ = 0;
};

class MelReader {
 public:
  explicit MelReader(std::span<const uint8_t> data) : data_(data) {}
  bool event() {
    constexpr int kExponents[] = {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5};
    if (zeros_ == 0 && !one_) {
      const int exponent = kExponents[state_];
      if (bit() != 0) {
        zeros_ = 1 << exponent;
        state_ = std::min(12, state_ + 1);
      } else {
        for (int i = 0; i < exponent; ++i) zeros_ = 2 * zeros_ + static_cast<int>(bit());
        one_ = true;
        state_ = std::max(0, state_ - 1);
      }
    }
    if (zeros_ > 0) {
      --zeros_;
      return false;
    }
    one_ = false;
    return true;
  }

 private:
  uint32_t bit() {
    if (left_ == 0) {
      left_ = byte_ == 0xFF ? 7 : 8;
      byte_ = next_ < data_.size() ? data_[next_] : uint8_t{0xFF};
      ++next_;
    }
    return byte_ >> --left_ & 1;
  }

  std::span<const uint8_t> data_;
  size_t next_ = 0;
  uint8_t byte_ = 0;
  int left_ = 0, state_ = 0, zeros_ = 0;
  bool one_ = false;
};

using Words = std::map<std::tuple<int, int, int>, CxtVlcRow>;  // context, length, codeword
Words words_of(std::span<const CxtVlcRow> rows) {
  Words words;
  for (const CxtVlcRow& row : rows) words[{row.c_q, row.length, row.codeword}] = row;
  return words;
}

struct Sample {
  uint64_t value = 0;  ///< magnitude in units of the cleanup plane
  int exponent = 0;
  bool significant = false, fresh = false, negative = false;
  int64_t doubled = 0;
};

class Decoder {
 public:
  Decoder(std::span<const uint8_t> cleanup, int width, int height, int plane, bool causal)
      : width_(width),
        height_(height),
        plane_(plane),
        causal_(causal),
        length_(length_of_tail(cleanup)),
        tail_(cleanup.end() - length_, cleanup.end()),
        mel_(fill_length_word(tail_)),
        vlc_(tail_, 12),
        mag_sgn_(cleanup.first(cleanup.size() - static_cast<size_t>(length_)), 0xFF),
        samples_(static_cast<size_t>(width * height)) {}

  void cleanup() {
    for (int y = 0; y < height_; y += 2) {
      for (int x = 0; x < width_; x += 4) code_pair(x, y);
    }
    for (Sample& s : samples_)
      s.doubled = s.significant ? static_cast<int64_t>(2 * s.value + 1) << plane_ : 0;
  }

  void sig_prop(std::span<const uint8_t> bytes) {
    ForwardReader reader(bytes, 0);
    for (int y = 0; y < height_; y += 4) {
      for (int x = 0; x < width_; x += 4) sig_prop_group(x, y, reader);
    }
  }

  void mag_ref(std::span<const uint8_t> bytes) {
    BackwardReader reader(bytes, 0);
    for (int stripe = 0; stripe < height_; stripe += 4) {
      for (int x = 0; x < width_; ++x) {
        for (int y = stripe; y < std::min(stripe + 4, height_); ++y) {
          Sample& s = at(x, y);
          if (!s.significant) continue;
          s.doubled = static_cast<int64_t>(4 * s.value + 2 * reader.bit() + 1) << (plane_ - 1);
        }
      }
    }
  }

  std::vector<int64_t> result() const {
    std::vector<int64_t> doubled;
    for (const Sample& s : samples_) doubled.push_back(s.negative ? -s.doubled : s.doubled);
    return doubled;
  }

 private:
  static ptrdiff_t length_of_tail(std::span<const uint8_t> cleanup) {
    if (cleanup.size() < 2) throw BadBlock{"a cleanup segment of less than 2 bytes"};
    const ptrdiff_t n = cleanup.back() * 16 + (cleanup[cleanup.size() - 2] & 15);
    if (n < 2 || n > 4079 || n > std::ssize(cleanup)) throw BadBlock{"length word"};
    return n;
  }
  /// @return the bytes that MEL reads
  static std::span<const uint8_t> fill_length_word(std::vector<uint8_t>& tail) {
    tail.back() = 0xFF;
    tail[tail.size() - 2] |= 0x0F;
    return std::span<const uint8_t>(tail).first(tail.size() - 1);
  }

  bool inside(int x, int y) const { return x >= 0 && x < width_ && y >= 0 && y < height_; }
  Sample& at(int x, int y) { return samples_[static_cast<size_t>(y * width_ + x)]; }
  int sig(int x, int y) { return inside(x, y) && at(x, y).significant ? 1 : 0; }
  int exponent(int x, int y) { return inside(x, y) ? at(x, y).exponent : 0; }

  int context(int x, int y) {
    if (y == 0) return (sig(x - 2, 0) | sig(x - 2, 1)) + 2 * sig(x - 1, 0) + 4 * sig(x - 1, 1);
    return (sig(x - 1, y - 1) | sig(x, y - 1)) + 2 * (sig(x - 1, y) | sig(x - 1, y + 1)) +
           4 * (sig(x + 1, y - 1) | sig(x + 2, y - 1));
  }
  CxtVlcRow cxt_word(const Words& words, int context) {
    int codeword = 0;
    for (int length = 1; length <= 7; ++length) {
      codeword |= static_cast<int>(vlc_.bit()) << (length - 1);
      const auto found = words.find({context, length, codeword});
      if (found != words.end()) return found->second;
    }
    throw BadBlock{"no such CxtVLC codeword"};
  }
  CxtVlcRow quad_at(int x, int y) {
    static const Words first = words_of(kCxtVlcFirstRows), other = words_of(kCxtVlcOtherRows);
    const int c = context(x, y);
    if (c == 0 && !mel_.event()) return {};
    const CxtVlcRow row = cxt_word(y == 0 ? first : other, c);
    for (int i = 0; i < 4; ++i) {
      if ((row.rho >> i & 1) == 0) continue;
      if (!inside(x + i / 2, y + i % 2)) throw BadBlock{"a significant sample outside the block"};
      at(x + i / 2, y + i % 2).significant = true;
    }
    return row;
  }
  /// Prefix of a U-VLC codeword, as the least u that it stands for.
  int prefix() {
    if (vlc_.bit() != 0) return 1;
    if (vlc_.bit() != 0) return 2;
    return vlc_.bit() != 0 ? 3 : 5;
  }

  /// u of both quads of a pair.
  void read_u(bool first_row, const CxtVlcRow (&quads)[2], int (&u)[2]) {
    int prefixes[2] = {0, 0}, base = 0;
    const bool both = quads[0].u_off != 0 && quads[1].u_off != 0;
    if (both && first_row && mel_.event()) base = 2;
    for (int i = 0; i < 2; ++i) {
      if (quads[i].u_off == 0) continue;
      if (i == 1 && both && first_row && base == 0 && prefixes[0] > 2) {
        u[1] = static_cast<int>(vlc_.bit()) + 1;
      } else {
        prefixes[i] = prefix();
      }
    }
    int suffixes[2] = {0, 0};
    for (int i = 0; i < 2; ++i) {
      if (prefixes[i] > 2) suffixes[i] = static_cast<int>(vlc_.bits(prefixes[i] == 3 ? 1 : 5));
    }
    for (int i = 0; i < 2; ++i) {
      if (prefixes[i] == 0) continue;
      const bool extended = prefixes[i] == 5 && suffixes[i] >= 28;
      const int extension = extended ? static_cast<int>(vlc_.bits(4)) : 0;
      u[i] = base + prefixes[i] + suffixes[i] + 4 * extension;
    }
  }

  void code_pair(int x, int y) {
    CxtVlcRow quads[2] = {quad_at(x, y), {}};
    if (x + 2 < width_) quads[1] = quad_at(x + 2, y);
    int u[2] = {0, 0};
    read_u(y == 0, quads, u);
    for (int i = 0; i < 2; ++i) read_values(x + 2 * i, y, quads[i], u[i]);
  }

  void read_values(int x, int y, const CxtVlcRow& quad, int u) {
    int kappa = 1;
    if (y > 0 && std::popcount(quad.rho) > 1) {
      for (int d = -1; d <= 2; ++d) kappa = std::max(kappa, exponent(x + d, y - 1) - 1);
    }
    for (int i = 0; i < 4; ++i) {
      if ((quad.rho >> i & 1) == 0) continue;
      Sample& s = at(x + i / 2, y + i % 2);
      const int bits = kappa + u - (quad.e_k >> i & 1);
      const uint64_t v = mag_sgn_.bits(bits) | uint64_t{quad.e_1 >> i & 1u} << bits;
      s.negative = (v & 1) != 0;
      s.value = (v >> 1) + 1;
      s.exponent = std::bit_width(v | 1);
    }
  }

  bool is_member(int x, int y) {
    for (int dy = -1; dy <= 1; ++dy) {
      if (causal_ && dy == 1 && y % 4 == 3) continue;
      for (int dx = -1; dx <= 1; ++dx) {
        if (!inside(x + dx, y + dy)) continue;
        if (at(x + dx, y + dy).significant || at(x + dx, y + dy).fresh) return true;
      }
    }
    return false;
  }
  void sig_prop_group(int x0, int y0, ForwardReader& reader) {
    std::vector<Sample*> found;
    for (int x = x0; x < std::min(x0 + 4, width_); ++x) {
      for (int y = y0; y < std::min(y0 + 4, height_); ++y) {
        Sample& s = at(x, y);
        if (s.significant || !is_member(x, y) || reader.bit() == 0) continue;
        s.fresh = true;
        found.push_back(&s);
      }
    }
    for (Sample* s : found) {
      s->negative = reader.bit() != 0;
      s->doubled = int64_t{3} << (plane_ - 1);
    }
  }

  const int width_, height_, plane_;
  const bool causal_;
  const ptrdiff_t length_;  ///< bytes from MEL on
  std::vector<uint8_t> tail_;
  MelReader mel_;
  BackwardReader vlc_;
  ForwardReader mag_sgn_;
  std::vector<Sample> samples_;
};

}  // namespace

HtBlock decode_ht_block(std::span<const uint8_t> cleanup, std::span<const uint8_t> refinement,
                        int width, int height, int passes, int plane, bool causal) {
  HtBlock block;
  try {
    Decoder decoder(cleanup, width, height, plane, causal);
    decoder.cleanup();
    if (passes > 1) decoder.sig_prop(refinement);
    if (passes > 2) decoder.mag_ref(refinement);
    block.doubled = decoder.result();
  } catch (const BadBlock& bad) {
    block.error = bad.why;
  }
  return block;
}

}  // namespace cj2k::test
