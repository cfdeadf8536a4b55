// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The packet headers of frames with one layer (T.800 B.10), from contributions that are made
// already. The bits are those that packets.cc makes for any number of layers.
#pragma once

#include <cstdint>

#include "core/bit_writer.h"
#include "core/tag_tree.h"
#include "packets/contribution.h"

namespace cj2k {

/// The code-blocks of one subband in one precinct, while their part of the header is coded. With one
/// layer the inclusion tag tree says whether a block is in at all, so one tree does for both: the
/// least number of zero bit-planes among the blocks that are in; kTagNever: none is in.
class SingleLayerBand {
 public:
  SingleLayerBand() = default;
  /// @param blocks  [wide x high], raster; wide, high >= 1
  /// @param nodes   TagTree::num_nodes(wide, high) of them
  SingleLayerBand(const Contribution* blocks, uint32_t wide, uint32_t high, TagNode* nodes);

  /// Reads the contributions: the tree's leaves, and body_bytes.
  /// @return false: one of them has no code
  bool begin();
  bool is_empty() const { return tree_[levels_ - 1][0].value == kTagNever; }
  uint64_t body_bytes() const { return body_bytes_; }
  /// @return bound on the bytes that code_row writes
  size_t row_bytes() const { return size_t{width_[0]} * kMaxBlockBits / 7 + 8; }
  uint32_t high() const { return height_[0]; }
  /// Codes row `y` of the blocks. The writer has room for it.
  void code_row(uint32_t y, BitWriter& out);

 private:
  /// Inclusion; zero bit-planes, of 8 bits, on a path of kMaxTagLevels nodes; Contribution::code. In
  /// a byte there are at least 7 bits.
  static constexpr size_t kMaxBlockBits = kMaxTagLevels + (256 + kMaxTagLevels) + 64;

  TagNode& node(int level, uint32_t x, uint32_t y) const {
    return tree_[level][size_t{y >> level} * width_[level] + (x >> level)];
  }
  void code_inclusion(uint32_t x, uint32_t y, BitWriter& out) const;
  void code_zero_planes(uint32_t x, uint32_t y, BitWriter& out) const;

  const Contribution* blocks_ = nullptr;
  uint64_t body_bytes_ = 0;
  int levels_ = 0;
  TagNode* tree_[kMaxTagLevels] = {};
  uint32_t width_[kMaxTagLevels] = {};
  uint32_t height_[kMaxTagLevels] = {};
};

}  // namespace cj2k
