// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What a code-block adds to a packet header if the frame has one layer: its bits depend on the
// block and the chosen hull point alone, so they are made once and not at each measurement.
#pragma once

#include <cstdint>

#include "stages/coded_block.h"

namespace cj2k {

/// One code-block in the only layer of a frame.
struct Contribution {
  /// Number of passes, Lblock and lengths (B.10.6, B.10.7): the low `bits` bits.
  uint64_t code = 0;
  uint32_t bytes = 0;  ///< of code-block data
  uint8_t bits = 0;    ///< 0: the block is not in the packet. With is_long an estimate
  uint8_t zero_planes = 0;
  /// The code is not made: it may be longer than 64 bits, or depend on the other blocks. The packet
  /// is then coded from the CodedBlocks.
  bool is_long = false;
};

/// @param points  hull points of the block that are in; 0: the block is not in the packet
Contribution contribution_of(const CodedBlock& block, uint32_t points);

}  // namespace cj2k
