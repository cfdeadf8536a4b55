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

/// Makes the code of one segment.
CJ2K_HD constexpr CodeBits contribution_code(uint32_t bytes, uint32_t passes) {
  CodeBits out;
  put_num_passes(passes, out);
  const int missing = missing_length_bits(bytes, passes, kFirstLblock);
  const int growth = missing > 0 ? missing : 0;
  put_lblock(growth, out);
  put_length(bytes, passes, kFirstLblock + growth, out);
  return out;
}

/// Makes the code of two segments. @param rest_passes  at least 1
CJ2K_HD constexpr CodeBits contribution_code(uint32_t first_bytes, uint32_t first_passes,
                                             uint32_t rest_bytes, uint32_t rest_passes) {
  CodeBits out;
  put_num_passes(first_passes + rest_passes, out);
  const int first = missing_length_bits(first_bytes, first_passes, kFirstLblock);
  const int rest = missing_length_bits(rest_bytes, rest_passes, kFirstLblock);
  const int missing = first > rest ? first : rest;
  const int growth = missing > 0 ? missing : 0;
  put_lblock(growth, out);
  put_length(first_bytes, first_passes, kFirstLblock + growth, out);
  put_length(rest_bytes, rest_passes, kFirstLblock + growth, out);
  return out;
}

/// One code-block in the only layer of a frame.
struct alignas(16) Contribution {
  /// Number of passes, Lblock and lengths (B.10.6, B.10.7): the low `bits` bits.
  uint64_t code = 0;
  uint32_t bytes = 0;  ///< of code-block data
  uint8_t bits = 0;    ///< 0: the block is not in the packet. With is_long an estimate
  uint8_t zero_planes = 0;
  /// The code is not made: it may be longer than 64 bits, or depend on the other blocks. The packet
  /// is then coded from the CodedBlocks.
  bool is_long = false;
};
inline constexpr uint8_t kLongBits = 48;  ///< Contribution::bits with is_long: an estimate

/// The contribution of a block with a codeword of one segment and no stored endings.
/// @param passes  that are in, at least 1
CJ2K_HD constexpr Contribution plain_contribution(uint32_t bytes, uint32_t passes,
                                                  uint8_t zero_planes) {
  const CodeBits code = contribution_code(bytes, passes);
  // Without bytes, the last block of a packet gets some (packets.cc).
  if (bytes == 0 || code.count > 64) return {0, bytes, kLongBits, zero_planes, true};
  return {code.value, bytes, static_cast<uint8_t>(code.count), zero_planes, false};
}

}  // namespace cj2k
