// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The code of a block in the packet header of a frame with one layer, after the tag trees: number of
// passes, Lblock and lengths (T.800 B.10.6, B.10.7). Used on host and device.
#pragma once

#include <cstdint>

#include "core/hd.h"
#include "core/pass_lengths.h"

namespace cj2k {

/// A BitWriter for one code. More than 64 bits are counted, but lost.
struct CodeBits {
  uint64_t value = 0;
  int count = 0;
  CJ2K_HD constexpr void put(uint32_t bits, int number) {
    value = value << number | bits;
    count += number;
  }
};

/// Makes the code of one or two segments. @param rest_passes  0: there is one segment
CJ2K_HD constexpr CodeBits contribution_code(uint32_t first_bytes, uint32_t first_passes,
                                             uint32_t rest_bytes, uint32_t rest_passes) {
  CodeBits out;
  put_num_passes(first_passes + rest_passes, out);
  int growth = missing_length_bits(first_bytes, first_passes, kFirstLblock);
  if (rest_passes > 0) {
    const int rest = missing_length_bits(rest_bytes, rest_passes, kFirstLblock);
    growth = growth > rest ? growth : rest;
  }
  growth = growth > 0 ? growth : 0;
  put_lblock(growth, out);
  put_length(first_bytes, first_passes, kFirstLblock + growth, out);
  if (rest_passes > 0) put_length(rest_bytes, rest_passes, kFirstLblock + growth, out);
  return out;
}

}  // namespace cj2k
