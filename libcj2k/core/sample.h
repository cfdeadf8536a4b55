// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// A stored word becomes a sample: alignment shift, depth, sign, and the DC level shift of T.800
// G.1.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/hd.h"

namespace cj2k {

/// sample = ((word >> shift) & mask ^ flip) - offset. For signed samples of `depth` bits, flipping
/// the sign bit and subtracting 2^(depth-1) extends the sign. For unsigned samples, subtracting
/// 2^(depth-1) without the flip is the level shift.
struct SampleDecode {
  int32_t shift;
  uint32_t mask;
  uint32_t flip;
  int32_t offset;
};

CJ2K_HD constexpr SampleDecode make_sample_decode(int32_t word_bytes, int32_t shift, int32_t depth,
                                                  bool is_signed) {
  const uint32_t half = 1u << (depth - 1);
  // The bits of the word itself. Where a wider unit is loaded, the mask drops its other bytes.
  const uint32_t word_mask = 0xFFFFFFFFu >> (32 - 8 * word_bytes);
  return {shift, (2 * half - 1) & (word_mask >> shift), is_signed ? half : 0,
          static_cast<int32_t>(half)};
}

CJ2K_HD constexpr int32_t decode_sample(uint32_t word, const SampleDecode& decode) {
  return static_cast<int32_t>(((word >> decode.shift) & decode.mask) ^ decode.flip) - decode.offset;
}

/// Rounds the lowest bits of a level-shifted sample away: halves go up, `most` clips.
struct SampleRound {
  int32_t half, shift, most;
};

/// @param depth  bits of the sample
/// @param bits   of them, those to round away: 0 .. depth - 1
CJ2K_HD constexpr SampleRound make_sample_round(int32_t depth, int32_t bits) {
  return {bits == 0 ? 0 : 1 << (bits - 1), bits, (1 << (depth - bits - 1)) - 1};
}

CJ2K_HD constexpr int32_t round_sample(int32_t sample, const SampleRound& round) {
  const int32_t rounded = (sample + round.half) >> round.shift;
  return rounded < round.most ? rounded : round.most;
}

/// Whether the low bits of a sample add something to the upper ones (pixels/low_bits.h).
class LowBits {
 public:
  /// @param depth  upper bits. @param low  the others, at least 1
  CJ2K_HD constexpr LowBits(int32_t depth, int32_t low)
      : low_(low),
        // (2^low - 1) / (2^depth - 1) in 1/65536: how scaling to the full range fills the low bits
        scale_(((1u << low) - 1) * 65536 / ((1u << depth) - 1)) {}

  /// @param sample  as it is stored, without its sign
  CJ2K_HD constexpr bool adds(uint32_t sample) const {
    const uint32_t upper = sample >> low_, lower = sample & low_mask();
    // Bits that are repeated and values that are scaled and rounded differ by one at most.
    const uint32_t repeated = (upper * scale_ + 32768) >> 16;
    return lower != 0 && lower + 1 - repeated > 2;
  }
  CJ2K_HD constexpr uint32_t low_mask() const { return (1u << low_) - 1; }

 private:
  int32_t low_;
  uint32_t scale_;
};

/// Loads a word of 1, 2 or 4 bytes: host byte order, any alignment.
CJ2K_HD inline uint32_t load_word(const uint8_t* data, int32_t word_bytes) {
  if (word_bytes == 1) return *data;
  if (word_bytes == 2) {
    uint16_t word;
    std::memcpy(&word, data, sizeof(word));
    return word;
  }
  uint32_t word;
  std::memcpy(&word, data, sizeof(word));
  return word;
}

}  // namespace cj2k
