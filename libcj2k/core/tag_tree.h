// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Tag trees of T.800 B.10.2: they code a two-dimensional array of small integers step by step.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/bit_writer.h"

namespace cj2k {

/// The value of a node is the minimum of the (up to four) nodes below it.
struct TagNode {
  uint16_t value;
  uint16_t low;  ///< the decoder knows that value >= low; kTagKnown: it knows the value
};

inline constexpr uint16_t kTagKnown = 0xFFFF;
/// The value of a leaf that is never encoded. It is larger than every threshold except kTagAll, so
/// it adds no bits to the nodes above it.
inline constexpr uint16_t kTagNever = 0xFFFF;
/// The threshold that codes a leaf's value completely. Values must be below kTagAll.
inline constexpr uint32_t kTagAll = 0xFFFF;
/// 2^13 code-blocks is the longest side of a precinct band (B.6, B.7: PP <= 15, xcb >= 2).
inline constexpr int kMaxTagLevels = 16;

/// Makes the nodes of a level from those of the level below it, which is width x height.
constexpr void build_tag_level(const TagNode* child, uint32_t width, uint32_t height,
                               TagNode* node) {
  for (uint32_t y = 0; y < height; y += 2) {
    const TagNode* upper = child + size_t{y} * width;
    const TagNode* lower = y + 1 < height ? upper + width : upper;
    for (uint32_t x = 0; x < width; x += 2) {
      const uint32_t right = x + 1 < width ? x + 1 : x;
      *node++ = {std::min(std::min(upper[x].value, upper[right].value),
                          std::min(lower[x].value, lower[right].value)),
                 0};
    }
  }
}

/// A tree in the caller's memory: the leaves in raster order, then each higher level, then the
/// root.
class TagTree {
 public:
  static constexpr size_t num_nodes(uint32_t width, uint32_t height) {
    if (width == 0 || height == 0) return 0;
    size_t nodes = size_t{width} * height;
    while (width > 1 || height > 1) {
      width = (width + 1) / 2;
      height = (height + 1) / 2;
      nodes += size_t{width} * height;
    }
    return nodes;
  }

  constexpr TagTree() = default;
  /// @param nodes  num_nodes(width, height) of them; width, height >= 1
  constexpr TagTree(uint32_t width, uint32_t height, TagNode* nodes) : nodes_(nodes) {
    uint32_t offset = 0;
    while (true) {
      width_[levels_] = width;
      height_[levels_] = height;
      offset_[levels_++] = offset;
      if (width == 1 && height == 1) break;
      offset += width * height;
      width = (width + 1) / 2;
      height = (height + 1) / 2;
    }
  }

  /// Leaf (x, y) is leaf(y * width + x). Set all leaves, then build(), then encode().
  constexpr void set_leaf(size_t leaf, uint32_t value) {
    nodes_[leaf] = {static_cast<uint16_t>(value), 0};
  }

  constexpr void build() {
    for (int level = 1; level < levels_; ++level) {
      build_tag_level(nodes_ + offset_[level - 1], width_[level - 1], height_[level - 1],
                      nodes_ + offset_[level]);
    }
  }

  /// Codes whether the value of leaf (x, y) is below `threshold` and, if so, the value. Successive
  /// thresholds of one leaf must not fall. Writes at most max_bits(threshold) bits.
  constexpr void encode(uint32_t x, uint32_t y, uint32_t threshold, BitWriter& out) {
    // The nodes up to the first ancestor that has nothing left to code: for most leaves, one node.
    uint32_t path[kMaxTagLevels];
    int depth = 0;
    uint32_t bound = 0;
    for (int level = 0; level < levels_; ++level) {
      const uint32_t node = offset_[level] + (y >> level) * width_[level] + (x >> level);
      if (nodes_[node].low >= threshold) {
        bound = std::min(nodes_[node].low, nodes_[node].value);
        break;
      }
      path[depth++] = node;
    }
    while (depth > 0) {
      TagNode& node = nodes_[path[--depth]];
      const uint32_t low = std::max<uint32_t>(node.low, bound);
      bound = std::min<uint32_t>(node.value, threshold);
      if (bound > low) out.put_zeros(bound - low);
      node.low = static_cast<uint16_t>(bound);
      if (node.value < threshold) {
        out.put(1, 1);
        node.low = kTagKnown;
      }
    }
  }

  static constexpr size_t max_bits(uint32_t max_value) {
    return size_t{kMaxTagLevels} * (max_value + size_t{1});
  }

 private:
  TagNode* nodes_ = nullptr;
  int levels_ = 0;
  uint32_t width_[kMaxTagLevels] = {};
  uint32_t height_[kMaxTagLevels] = {};
  uint32_t offset_[kMaxTagLevels] = {};
};

}  // namespace cj2k
