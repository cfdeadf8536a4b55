// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "packets/contribution.h"

#include "core/contribution_code.h"

namespace cj2k {

Contribution contribution_of(const CodedBlock& block, uint32_t points) {
  if (points == 0) return {};
  const HullPoint& end = block.hull[points - 1];
  const uint32_t bytes = end.length_bytes;
  if (block.codes != nullptr) {
    const PointCode& own = block.codes[points - 1];
    const CodeBits code =
        end.passes > 1
            ? contribution_code(own.first_bytes, 1, bytes - own.first_bytes, end.passes - 1u)
            : contribution_code(own.first_bytes, 1);
    if (code.count > 64) return {0, bytes, kLongBits, own.zero_bit_planes, true};
    return {code.value, bytes, static_cast<uint8_t>(code.count), own.zero_bit_planes, false};
  }
  // Segments that end inside the block; endings that are stored with the header; and no bytes, for
  // which the last block of a packet gets some (packets.cc).
  if (block.num_segments == 0 && block.tails == nullptr)
    return plain_contribution(bytes, end.passes, block.zero_bit_planes);
  return {0, bytes, kLongBits, block.zero_bit_planes, true};
}

}  // namespace cj2k
