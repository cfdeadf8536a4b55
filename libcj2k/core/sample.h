// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// From a stored word to a sample: alignment shift, depth, sign, and the DC level shift of T.800
// G.1.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/hd.h"

namespace cj2k {

/// sample = ((word >> shift) & mask ^ flip) - offset. Signed samples of `depth` bits are
/// sign-extended by flipping their sign bit and taking 2^(depth-1) off; unsigned ones are
/// level-shifted by taking the same off without the flip.
struct SampleDecode {
  int32_t shift;
  uint32_t mask;
  uint32_t flip;
  int32_t offset;
};

CJ2K_HD constexpr SampleDecode make_sample_decode(int32_t word_bytes, int32_t shift, int32_t depth,
                                                  bool is_signed) {
  const uint32_t half = 1u << (depth - 1);
  // The bits of the word itself: where a wider unit is loaded, its other bytes fall out with the
  // mask.
  const uint32_t word_mask = 0xFFFFFFFFu >> (32 - 8 * word_bytes);
  return {shift, (2 * half - 1) & (word_mask >> shift), is_signed ? half : 0,
          static_cast<int32_t>(half)};
}

CJ2K_HD constexpr int32_t decode_sample(uint32_t word, const SampleDecode& decode) {
  return static_cast<int32_t>(((word >> decode.shift) & decode.mask) ^ decode.flip) - decode.offset;
}

/// Host byte order, any alignment.
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
