// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Numbers of passes and lengths of codeword segments in a packet header (T.800 B.10.6, B.10.7).
// `out` is a BitWriter or has a `put` like it.
#pragma once

#include <bit>
#include <cstdint>

#include "core/hd.h"

namespace cj2k {

inline constexpr int kFirstLblock = 3;  ///< Lblock before the first contribution (B.10.7.1)

/// Codes the number of passes, Table B.4.
template <typename Writer>
CJ2K_HD constexpr void put_num_passes(uint32_t passes, Writer& out) {
  if (passes == 1) {
    out.put(0b0, 1);
  } else if (passes == 2) {
    out.put(0b10, 2);
  } else if (passes <= 5) {
    out.put(0b1100 | (passes - 3), 4);
  } else if (passes <= 36) {
    out.put(0b1111u << 5 | (passes - 6), 9);
  } else {
    out.put(0b111111111u << 7 | (passes - 37), 16);
  }
}

CJ2K_HD constexpr int floor_log2(uint32_t value) {
  return static_cast<int>(std::bit_width(value)) - 1;
}

/// By how much Lblock must grow to code a length of `bytes` for `passes` passes (B.10.7.1).
CJ2K_HD constexpr int missing_length_bits(uint32_t bytes, uint32_t passes, int lblock) {
  return static_cast<int>(std::bit_width(bytes)) - (lblock + floor_log2(passes));
}

template <typename Writer>
CJ2K_HD constexpr void put_length(uint32_t bytes, uint32_t passes, int lblock, Writer& out) {
  const int bits = lblock + floor_log2(passes);
  if (bits > 32) out.put(0, bits - 32);
  out.put(bytes, bits < 32 ? bits : 32);
}

template <typename Writer>
CJ2K_HD constexpr void put_lblock(int growth, Writer& out) {
  // A length has at most 32 bits, so Lblock grows by at most 29.
  out.put(((uint32_t{1} << growth) - 1) << 1, growth + 1);
}

}  // namespace cj2k
