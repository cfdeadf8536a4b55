// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// A decoder of one HT code-block (T.814), bit by bit. It shares the rows of the CxtVLC code with
// the library, and nothing else.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace cj2k::test {

struct HtBlock {
  /// Samples row by row, each twice the middle of what is known of it: a magnitude that is known
  /// down to plane q is odd in units of 2^q.
  std::vector<int64_t> doubled;
  const char* error = nullptr;  ///< why the bytes are no block
};

/// @param passes  1 .. 3
/// @param plane   of the cleanup pass
HtBlock decode_ht_block(std::span<const uint8_t> cleanup, std::span<const uint8_t> refinement,
                        int width, int height, int passes, int plane, bool causal);

}  // namespace cj2k::test
