// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The MQ decoder and the raw decoder of T.800, written from Annex C and D.6 alone. They use no code
// of the encoder under test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace cj2k::test {

/// Table C.2.
struct MqState {
  uint16_t qe;
  uint8_t nmps, nlps, switch_mps;
};
inline constexpr MqState kMqStates[47] = {
    {0x5601, 1, 1, 1},    //  0
    {0x3401, 2, 6, 0},    //  1
    {0x1801, 3, 9, 0},    //  2
    {0x0AC1, 4, 12, 0},   //  3
    {0x0521, 5, 29, 0},   //  4
    {0x0221, 38, 33, 0},  //  5
    {0x5601, 7, 6, 1},    //  6
    {0x5401, 8, 14, 0},   //  7
    {0x4801, 9, 14, 0},   //  8
    {0x3801, 10, 14, 0},  //  9
    {0x3001, 11, 17, 0},  // 10
    {0x2401, 12, 18, 0},  // 11
    {0x1C01, 13, 20, 0},  // 12
    {0x1601, 29, 21, 0},  // 13
    {0x5601, 15, 14, 1},  // 14
    {0x5401, 16, 14, 0},  // 15
    {0x5101, 17, 15, 0},  // 16
    {0x4801, 18, 16, 0},  // 17
    {0x3801, 19, 17, 0},  // 18
    {0x3401, 20, 18, 0},  // 19
    {0x3001, 21, 19, 0},  // 20
    {0x2801, 22, 19, 0},  // 21
    {0x2401, 23, 20, 0},  // 22
    {0x2201, 24, 21, 0},  // 23
    {0x1C01, 25, 22, 0},  // 24
    {0x1801, 26, 23, 0},  // 25
    {0x1601, 27, 24, 0},  // 26
    {0x1401, 28, 25, 0},  // 27
    {0x1201, 29, 26, 0},  // 28
    {0x1101, 30, 27, 0},  // 29
    {0x0AC1, 31, 28, 0},  // 30
    {0x09C1, 32, 29, 0},  // 31
    {0x08A1, 33, 30, 0},  // 32
    {0x0521, 34, 31, 0},  // 33
    {0x0441, 35, 32, 0},  // 34
    {0x02A1, 36, 33, 0},  // 35
    {0x0221, 37, 34, 0},  // 36
    {0x0141, 38, 35, 0},  // 37
    {0x0111, 39, 36, 0},  // 38
    {0x0085, 40, 37, 0},  // 39
    {0x0049, 41, 38, 0},  // 40
    {0x0025, 42, 39, 0},  // 41
    {0x0015, 43, 40, 0},  // 42
    {0x0009, 44, 41, 0},  // 43
    {0x0005, 45, 42, 0},  // 44
    {0x0001, 45, 43, 0},  // 45
    {0x5601, 46, 46, 0},  // 46
};

struct MqContext {
  uint8_t index = 0;
  uint8_t mps = 0;
};

/// The decoder of C.3. After the last byte it reads 0xFF without end (D.4.1).
class MqDecoder {
 public:
  explicit MqDecoder(std::span<const uint8_t> bytes) : bytes_(bytes) {
    c_ = static_cast<uint32_t>(byte(0)) << 16;  // INITDEC, Figure C.20
    byte_in();
    c_ <<= 7;
    ct_ -= 7;
    a_ = 0x8000;
  }

  unsigned decode(MqContext& context) {  // DECODE, Figure C.15
    const MqState& state = kMqStates[context.index];
    a_ -= state.qe;
    unsigned d;
    if ((c_ >> 16) < state.qe) {  // LPS_EXCHANGE, Figure C.17
      if (a_ < state.qe) {
        d = context.mps;
        context.index = state.nmps;
      } else {
        d = less_probable(context, state);
      }
      a_ = state.qe;
      renormalise();
      return d;
    }
    c_ -= static_cast<uint32_t>(state.qe) << 16;
    if ((a_ & 0x8000) != 0) return context.mps;
    if (a_ < state.qe) {  // MPS_EXCHANGE, Figure C.16
      d = less_probable(context, state);
    } else {
      d = context.mps;
      context.index = state.nmps;
    }
    renormalise();
    return d;
  }

  /// The check that a decoder can make after the last symbol of a segment with predictable
  /// termination (D.4.2). The bytes are the lower end of the final interval, cut where the interval
  /// allows it. So the register is below the unit of the last bit sent, and no byte is left over.
  bool ends_predictably() const {
    int sent = 0;
    for (size_t i = 0; i < bytes_.size(); ++i) sent += i > 0 && bytes_[i - 1] == 0xFF ? 7 : 8;
    int beyond = sent - shifts_;  // bits sent below bit 15 of the interval's lower end
    if (beyond < 0) beyond += 8;  // the last byte was an 0xFF, which is left out
    if (beyond < 0 || beyond >= 8) return false;
    return (c_ >> 16) < (uint32_t{0x8000} >> beyond);
  }

 private:
  uint8_t byte(size_t i) const { return i < bytes_.size() ? bytes_[i] : uint8_t{0xFF}; }

  static unsigned less_probable(MqContext& context, const MqState& state) {
    const unsigned d = 1u - context.mps;
    if (state.switch_mps != 0) context.mps ^= 1;
    context.index = state.nlps;
    return d;
  }

  void byte_in() {  // Figure C.19
    if (byte(position_) == 0xFF) {
      if (byte(position_ + 1) > 0x8F) {
        c_ += 0xFF00;
        ct_ = 8;
      } else {
        ++position_;
        c_ += static_cast<uint32_t>(byte(position_)) << 9;
        ct_ = 7;
      }
    } else {
      ++position_;
      c_ += static_cast<uint32_t>(byte(position_)) << 8;
      ct_ = 8;
    }
  }

  void renormalise() {  // Figure C.18
    do {
      if (ct_ == 0) byte_in();
      a_ <<= 1;
      c_ <<= 1;
      --ct_;
      ++shifts_;
    } while ((a_ & 0x8000) == 0);
  }

  std::span<const uint8_t> bytes_;
  size_t position_ = 0;
  uint32_t c_ = 0, a_ = 0;
  int ct_ = 0;
  int shifts_ = 0;
};

/// The raw bits of D.6, from the top bit of each byte down. A byte after 0xFF has 7 bits. All bits
/// after the end are ones.
class RawDecoder {
 public:
  explicit RawDecoder(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  unsigned decode() {
    if (left_ == 0) {
      const bool after_ff = position_ > 0 && position_ <= bytes_.size() && byte_ == 0xFF;
      left_ = after_ff ? 7 : 8;
      if (position_ >= bytes_.size()) left_ = 8;
      byte_ = position_ < bytes_.size() ? bytes_[position_] : uint8_t{0xFF};
      ++position_;
    }
    --left_;
    return byte_ >> left_ & 1u;
  }

  /// The check that a decoder can make after the last bit of a segment with predictable termination
  /// (D.4.2): the rest of the byte is 0101.., and no byte is left over. After a complete 0xFF there
  /// is one more byte, which has the stuffed 0 and then the pattern.
  bool ends_predictably() const {
    RawDecoder rest = *this;
    if (left_ == 0 && byte_ == 0xFF) {
      if (position_ >= bytes_.size()) return false;
      rest.decode();
      if (rest.byte_ >> 7 != 0) return false;
      rest.left_ = 7;
    }
    const unsigned pattern = 0x55u >> (8 - rest.left_);
    return rest.position_ == bytes_.size() && (rest.byte_ & ((1u << rest.left_) - 1)) == pattern;
  }

 private:
  std::span<const uint8_t> bytes_;
  size_t position_ = 0;
  uint8_t byte_ = 0;
  int left_ = 0;
};

}  // namespace cj2k::test
