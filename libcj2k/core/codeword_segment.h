// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What a block coder hands to the packets: codeword segments and truncation points, in the terms of
// the packet header (T.800 B.10), on host and device.
#pragma once

#include <cstdint>

namespace cj2k {

/// The end of a codeword segment, counted from the start of the block.
struct SegmentEnd {
  uint32_t bytes;
  uint32_t passes;
};

/// What ends the codeword segment of a block that is cut at a truncation point, where the coder
/// went on without an end (PTERM: D.4.2).
struct PassTail {
  uint32_t offset_bytes;  ///< from here on `count` bytes replace those of the block
  uint8_t count;
  uint8_t bytes[7];
};

}  // namespace cj2k
