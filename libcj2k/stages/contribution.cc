// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "stages/contribution.h"

#include "core/contribution_code.h"

namespace cj2k {
namespace {

constexpr uint8_t kLongBits = 48;  ///< estimate

}  // namespace

Contribution contribution_of(const CodedBlock& block, uint32_t points) {
  if (points == 0) return {};
  const HullPoint& end = block.hull[points - 1];
  const uint32_t bytes = end.length_bytes;
  if (block.codes != nullptr) {
    const PointCode& own = block.codes[points - 1];
    const CodeBits code =
        contribution_code(own.first_bytes, 1, bytes - own.first_bytes, end.passes - 1u);
    if (code.count > 64) return {0, bytes, kLongBits, own.zero_bit_planes, true};
    return {code.value, bytes, static_cast<uint8_t>(code.count), own.zero_bit_planes, false};
  }
  // Segments that end inside the block; endings that are stored with the header; and no bytes, for
  // which the last block of a packet gets some (packets.cc).
  const bool is_plain = block.num_segments == 0 && block.tails == nullptr && bytes > 0;
  if (is_plain) {
    const CodeBits code = contribution_code(bytes, end.passes, 0, 0);
    if (code.count <= 64)
      return {code.value, bytes, static_cast<uint8_t>(code.count), block.zero_bit_planes, false};
  }
  return {0, bytes, kLongBits, block.zero_bit_planes, true};
}

}  // namespace cj2k
