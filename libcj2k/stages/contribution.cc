// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "stages/contribution.h"

#include <algorithm>

#include "core/pass_lengths.h"

namespace cj2k {
namespace {

constexpr uint8_t kLongBits = 48;  ///< estimate

/// A BitWriter for one code. More than 64 bits are counted, but lost.
struct CodeBits {
  uint64_t value = 0;
  int count = 0;
  void put(uint32_t bits, int number) {
    value = value << number | bits;
    count += number;
  }
};

/// Makes the code of one or two segments. @param rest_passes  0: there is one segment
CodeBits code_of(uint32_t first_bytes, uint32_t first_passes, uint32_t rest_bytes,
                 uint32_t rest_passes) {
  CodeBits out;
  put_num_passes(first_passes + rest_passes, out);
  int growth = std::max(0, missing_length_bits(first_bytes, first_passes, kFirstLblock));
  if (rest_passes > 0)
    growth = std::max(growth, missing_length_bits(rest_bytes, rest_passes, kFirstLblock));
  put_lblock(growth, out);
  put_length(first_bytes, first_passes, kFirstLblock + growth, out);
  if (rest_passes > 0) put_length(rest_bytes, rest_passes, kFirstLblock + growth, out);
  return out;
}

}  // namespace

Contribution contribution_of(const CodedBlock& block, uint32_t points) {
  if (points == 0) return {};
  const HullPoint& end = block.hull[points - 1];
  const uint32_t bytes = end.length_bytes;
  if (block.codes != nullptr) {
    const PointCode& own = block.codes[points - 1];
    const CodeBits code = code_of(own.first_bytes, 1, bytes - own.first_bytes, end.passes - 1u);
    if (code.count > 64) return {0, bytes, kLongBits, own.zero_bit_planes, true};
    return {code.value, bytes, static_cast<uint8_t>(code.count), own.zero_bit_planes, false};
  }
  // Segments that end inside the block; endings that are stored with the header; and no bytes, for
  // which the last block of a packet gets some (packets.cc).
  const bool is_plain = block.num_segments == 0 && block.tails == nullptr && bytes > 0;
  if (is_plain) {
    const CodeBits code = code_of(bytes, end.passes, 0, 0);
    if (code.count <= 64)
      return {code.value, bytes, static_cast<uint8_t>(code.count), block.zero_bit_planes, false};
  }
  return {0, bytes, kLongBits, block.zero_bit_planes, true};
}

}  // namespace cj2k
