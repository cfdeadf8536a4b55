// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace cj2k {

/// What the statistics say of the code-blocks of a frame whose hull points are chosen: sums over all
/// blocks.
struct BlockTotals {
  uint64_t bytes;           ///< CodedBlock::num_bytes
  uint64_t passes;          ///< CodedBlock::num_passes
  uint64_t passes_in;       ///< of the chosen points
  uint64_t passes_resumed;  ///< CodedBlock::num_passes_resumed
  uint64_t passes_left;     ///< CodedBlock::num_passes_left
};

}  // namespace cj2k
