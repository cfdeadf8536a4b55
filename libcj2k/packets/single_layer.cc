// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "packets/single_layer.h"

#include <algorithm>
#include <bit>

namespace cj2k {

SingleLayerBand::SingleLayerBand(const Contribution* blocks, uint32_t wide, uint32_t high,
                                 TagNode* nodes)
    : blocks_(blocks) {
  while (true) {
    tree_[levels_] = nodes;
    width_[levels_] = wide;
    height_[levels_++] = high;
    if (wide == 1 && high == 1) break;
    nodes += size_t{wide} * high;
    wide = (wide + 1) / 2;
    high = (high + 1) / 2;
  }
}

bool SingleLayerBand::begin() {
  const size_t count = size_t{width_[0]} * height_[0];
  bool is_long = false;
  body_bytes_ = 0;
  for (size_t i = 0; i < count; ++i) {
    const Contribution& block = blocks_[i];
    is_long |= block.is_long;
    body_bytes_ += block.bytes;
    tree_[0][i] = {static_cast<uint16_t>(block.bits > 0 ? block.zero_planes : kTagNever), 0};
  }
  if (is_long) return false;
  for (int level = 1; level < levels_; ++level)
    build_tag_level(tree_[level - 1], width_[level - 1], height_[level - 1], tree_[level]);
  return true;
}

/// Codes inclusion at a block that may be the first of larger nodes: a bit for each node that begins
/// here and whose parent has a block that is in.
void SingleLayerBand::code_inclusion(uint32_t x, uint32_t y, BitWriter& out) const {
  const int top = levels_ - 1;
  int level = std::min(x == 0 && y == 0 ? top : std::countr_zero(x | y), top);
  if (level < top && node(level + 1, x, y).value == kTagNever) return;
  uint32_t bits = 0;
  int count = 0;
  for (; level >= 0; --level) {
    const bool has_block = node(level, x, y).value != kTagNever;
    bits = bits << 1 | (has_block ? 1u : 0u);
    ++count;
    if (!has_block) break;
  }
  out.put(bits, count);
}

/// Codes the zero bit-planes of a block that is in, with those of the nodes above that are not known
/// yet.
void SingleLayerBand::code_zero_planes(uint32_t x, uint32_t y, BitWriter& out) const {
  int level = 0;
  while (level < levels_ && node(level, x, y).low != kTagKnown) ++level;
  uint32_t known = level < levels_ ? node(level, x, y).value : 0;
  while (level-- > 0) {
    TagNode& next = node(level, x, y);
    out.put_zeros(next.value - known);
    out.put(1, 1);
    known = next.value;
    next.low = kTagKnown;
  }
}

void SingleLayerBand::code_row(uint32_t y, BitWriter& out) {
  const Contribution* block = blocks_ + size_t{y} * width_[0];
  const TagNode* const leaves = tree_[0] + size_t{y} * width_[0];
  const TagNode* const parents = levels_ > 1 ? tree_[1] + size_t{y / 2} * width_[1] : nullptr;
  for (uint32_t x = 0; x < width_[0]; ++x, ++block) {
    if (((x | y) & 1) == 0) {
      code_inclusion(x, y, out);
      if (block->bits == 0) continue;
      code_zero_planes(x, y, out);
    } else {
      const TagNode parent = parents[x / 2];
      if (parent.value == kTagNever) continue;
      if (block->bits == 0) {
        out.put(0, 1);
        continue;
      }
      const uint32_t zeros = leaves[x].value - uint32_t{parent.value};
      if (parent.low == kTagKnown && zeros < 30) {
        out.put(uint32_t{1} << (zeros + 1) | 1, static_cast<int>(zeros) + 2);
      } else {
        out.put(1, 1);
        code_zero_planes(x, y, out);
      }
    }
    if (block->bits > 32) out.put(static_cast<uint32_t>(block->code >> 32), block->bits - 32);
    out.put(static_cast<uint32_t>(block->code), std::min<int>(block->bits, 32));
  }
}

}  // namespace cj2k
