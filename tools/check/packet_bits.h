// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The bits of packet headers and their tag trees (T.800 B.10.1, B.10.2).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace cj2k_check {

/// Reads bits, most significant first. A byte behind 0xFF has 7 bits.
class HeaderBits {
 public:
  HeaderBits(std::span<const uint8_t> bytes, size_t at) : bytes_(bytes), at_(at) {}

  uint32_t bit() {
    if (left_ == 0) load();
    --left_;
    return byte_ >> left_ & 1u;
  }
  uint64_t bits(uint32_t count) {
    uint64_t value = 0;
    while (count-- > 0) value = value << 1 | bit();
    return value;
  }
  /// Goes to the first byte behind the header.
  size_t finish() {
    left_ = 0;
    if (byte_ == 0xFF) load();  // a header does not end in 0xFF
    return at_;
  }
  bool overrun() const { return overrun_; }
  /// A byte behind 0xFF had its highest bit set.
  bool stuffing_wrong() const { return stuffing_wrong_; }

 private:
  void load() {
    const bool stuffed = byte_ == 0xFF;
    overrun_ |= at_ >= bytes_.size();
    byte_ = at_ < bytes_.size() ? bytes_[at_++] : 0;
    left_ = stuffed ? 7 : 8;
    stuffing_wrong_ |= stuffed && (byte_ & 0x80) != 0;
  }

  std::span<const uint8_t> bytes_;
  size_t at_;
  uint32_t byte_ = 0, left_ = 0;
  bool overrun_ = false, stuffing_wrong_ = false;
};

class TagTree {
 public:
  void make(uint32_t width, uint32_t height) {
    size_t nodes = 0;
    depth_ = 0;
    for (;; width = (width + 1) / 2, height = (height + 1) / 2) {
      levels_[depth_++] = {nodes, width};
      nodes += size_t{width} * height;
      if (width <= 1 && height <= 1) break;
    }
    nodes_.assign(nodes, {});
  }

  /// Reads until it is known whether the value of a leaf is below `threshold`.
  bool is_below(HeaderBits& in, uint32_t x, uint32_t y, uint32_t threshold) {
    uint32_t low = 0;
    Node* node = nullptr;
    for (uint32_t level = depth_; level-- > 0;) {
      const Level& row = levels_[level];
      node = &nodes_[row.first + size_t{y >> level} * row.width + (x >> level)];
      low = std::max<uint32_t>(low, node->low);
      while (low < threshold && !node->known) {
        if (in.bit() != 0) {
          node->known = true;
        } else {
          ++low;
        }
      }
      // The value of a known node is its `low`.
      node->low = static_cast<uint16_t>(node->known ? std::max<uint32_t>(node->low, low) : low);
      if (node->known) low = node->low;
    }
    return node->known && node->low < threshold;
  }

 private:
  struct Node {
    uint16_t low = 0;
    bool known = false;
  };
  struct Level {
    size_t first = 0;
    uint32_t width = 0;
  };
  std::array<Level, 33> levels_{};
  uint32_t depth_ = 0;
  std::vector<Node> nodes_;
};

}  // namespace cj2k_check
