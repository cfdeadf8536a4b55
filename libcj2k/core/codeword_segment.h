// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What a block coder hands to the packets stage: codeword segments and truncation points, in the
// terms of the packet header (T.800 B.10). Used on host and device.
#pragma once

#include <cstdint>

namespace cj2k {

/// The end of a codeword segment: bytes and passes from the start of the block.
struct SegmentEnd {
  uint32_t bytes;
  uint32_t passes;
};

/// The ending of a codeword segment that is cut at a truncation point inside it. The coder did not
/// end the segment there, so with PTERM (D.4.2) the ending must be stored separately.
struct PassTail {
  /// From the start of the block. From here on, `count` bytes replace those of the block.
  uint32_t offset_bytes;
  uint8_t count;
  uint8_t bytes[7];
};

}  // namespace cj2k
