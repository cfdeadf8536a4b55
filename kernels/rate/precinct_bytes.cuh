// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The packet header of a precinct in a frame with one layer (T.800 B.10), counted or stored. All blocks of
// a precinct are coded at the same time. Two reductions over each node of the tag trees say which of
// its bits stand at which block: the least number of zero bit-planes, and the first block that is in.
// A prefix sum gives the place of each block's bits. Stuffing then walks the joined bits, 128 bytes
// at a time.
#pragma once

#include "kernels/rate/allocate.h"
#include "kernels/rate/frame_memory.cuh"
#include "kernels/simt/block.h"
#include "kernels/simt/kernel.h"

namespace cj2k::cuda::rate {

/// Where the headers of a frame are made.
struct HeaderMemory {
  const RateBand* bands;
  const BlockCode* codes;
  TreeNode* nodes;
  uint32_t* words;  ///< all 0 between two headers
  uint32_t* flags;  ///< RateOutcome::flags, in shared memory
};

/// Takes the bytes of a header: they are counted alone.
struct NoBytes {
  static constexpr bool kStores = false;
  template <typename T>
  CJ2K_KERNEL_FN void put(T&, uint32_t, uint32_t, uint32_t) const {}
};
/// Stores them.
struct StoredBytes {
  static constexpr bool kStores = true;
  uint8_t* out;
  /// Puts the `count` <= 4 highest bytes of `value` at `at`.
  template <typename T>
  CJ2K_KERNEL_FN void put(T& t, uint32_t at, uint32_t value, uint32_t count) const {
    CJ2K_UNROLL
    for (uint32_t i = 0; i < 4; ++i) {
      if (i < count) t.gstore(out + at + i, static_cast<uint8_t>(value >> (24 - 8 * i)));
    }
  }
};

/// A warp that makes a header.
template <typename T>
struct WarpGroup {
  T& t;
  static constexpr uint32_t kSize = 32;
  CJ2K_KERNEL_FN uint32_t rank() const { return t.lane(); }
  CJ2K_KERNEL_FN bool walks() const { return true; }
  CJ2K_KERNEL_FN void sync() { t.sync_warp(); }
  CJ2K_KERNEL_FN uint64_t sum(uint64_t value) { return t.warp_reduce_add(value); }
  CJ2K_KERNEL_FN uint32_t place(uint32_t value, uint32_t* total) {
    const uint32_t before = t.warp_exclusive_add(value);
    *total = t.shuffle(before + value, 31);
    return before;
  }
};

/// A block of threads that makes a header.
template <typename T, int kThreads>
struct BlockGroup {
  T& t;
  simt::BlockScratch<uint64_t, kThreads>& wide;
  simt::BlockScratch<uint32_t, kThreads>& narrow;
  static constexpr uint32_t kSize = kThreads;
  CJ2K_KERNEL_FN uint32_t rank() const { return t.thread(); }
  CJ2K_KERNEL_FN bool walks() const { return t.warp() == 0; }
  CJ2K_KERNEL_FN void sync() { t.sync(); }
  CJ2K_KERNEL_FN uint64_t sum(uint64_t value) { return simt::block_reduce_add(t, wide, value); }
  CJ2K_KERNEL_FN uint32_t place(uint32_t value, uint32_t* total) {
    return simt::block_exclusive_add(t, narrow, value, total);
  }
};

/// A band with the shape of its tree.
struct BandTree {
  RateBand band;
  uint32_t levels;  ///< with the leaves

  CJ2K_KERNEL_FN static uint32_t side(uint32_t leaves, uint32_t level) {
    return (leaves + (1u << level) - 1) >> level;
  }
  template <typename T>
  CJ2K_KERNEL_FN BandTree(T& t, const RateBand* source) : band(t.gload_ro(source)), levels(1) {
    while (side(band.wide, levels - 1) > 1 || side(band.high, levels - 1) > 1) ++levels;
  }
  /// Index of the first node of a level >= 1.
  CJ2K_KERNEL_FN uint32_t first_node(uint32_t level) const {
    uint32_t node = band.first_node;
    for (uint32_t l = 1; l < level; ++l) node += side(band.wide, l) * side(band.high, l);
    return node;
  }
};

/// The bits of a block before its code: inclusion and zero bit-planes.
struct TreeBits {
  uint64_t value = 0;
  uint32_t count = 0;
};
/// More bits than this are not made.
inline constexpr uint32_t kMaxTreeBits = 64;

template <typename T, typename Group>
class PacketHeader {
 public:
  CJ2K_KERNEL_FN PacketHeader(T& t, Group group, const HeaderMemory& memory)
      : t_(t), g_(group), m_(memory) {}

  /// Bytes of the packet's code-block data.
  CJ2K_KERNEL_FN uint64_t body_bytes(const RatePrecinct& precinct) {
    uint64_t bytes = 0;
    for (uint32_t i = g_.rank(); i < precinct.num_blocks; i += Group::kSize)
      bytes += t_.gload(&m_.codes[precinct.first_block + i].bytes);
    return g_.sum(bytes);
  }

  /// Makes the header of a packet that is not empty, without SOP and EPH.
  /// @return its bytes, in the warp that walks
  template <typename Bytes>
  CJ2K_KERNEL_FN uint32_t make(const RatePrecinct& precinct, const Bytes& to) {
    return stuff(precinct, place(precinct), to);
  }

  /// The first half of make: joins the header's bits, which stay in the words of the precinct.
  /// @return their number
  CJ2K_KERNEL_FN uint32_t place(const RatePrecinct& precinct) {
    for (uint32_t level = 1; level < precinct.levels; ++level) {
      for (uint32_t b = 0; b < precinct.num_bands; ++b)
        build_level(BandTree(t_, m_.bands + precinct.first_band + b), level);
      g_.sync();
    }
    const uint32_t bits = place_bits(precinct);
    g_.sync();
    return bits;
  }
  /// The second half, which any group may do: makes bytes of `bits` bits, and clears the words.
  template <typename Bytes>
  CJ2K_KERNEL_FN uint32_t stuff(const RatePrecinct& precinct, uint32_t bits, const Bytes& to) {
    uint32_t* const words = m_.words + precinct.first_word;
    uint32_t bytes = 0;
    if (g_.walks()) bytes = stuffed_bytes(words, bits, to);
    g_.sync();
    for (uint32_t i = g_.rank(); i < (bits + 31) / 32; i += Group::kSize) t_.gstore(words + i, 0);
    return bytes;
  }

 private:
  /// Node (x, y) of a level.
  CJ2K_KERNEL_FN TreeNode node_of(const BandTree& tree, uint32_t level, uint32_t x, uint32_t y) {
    if (level > 0)
      return t_.gload(m_.nodes + tree.first_node(level) + y * tree.side(tree.band.wide, level) + x);
    const uint32_t block = y * tree.band.wide + x;
    const BlockCode code = t_.gload(m_.codes + tree.band.first_block + block);
    return {code.bits > 0 ? block : kNone, code.bits > 0 ? uint32_t{code.zero_planes} : kNone};
  }

  CJ2K_KERNEL_FN void build_level(const BandTree& tree, uint32_t level) {
    if (level >= tree.levels) return;
    const uint32_t wide = tree.side(tree.band.wide, level);
    const uint32_t high = tree.side(tree.band.high, level);
    const uint32_t right = tree.side(tree.band.wide, level - 1) - 1;
    const uint32_t bottom = tree.side(tree.band.high, level - 1) - 1;
    TreeNode* const nodes = m_.nodes + tree.first_node(level);
    for (uint32_t i = g_.rank(); i < wide * high; i += Group::kSize) {
      const uint32_t x = 2 * (i % wide), y = 2 * (i / wide);
      TreeNode least{kNone, kNone};
      CJ2K_UNROLL
      for (uint32_t k = 0; k < 4; ++k) {
        const uint32_t cx = x + k % 2, cy = y + k / 2;
        const TreeNode child =
            node_of(tree, level - 1, cx < right ? cx : right, cy < bottom ? cy : bottom);
        least.first = child.first < least.first ? child.first : least.first;
        least.zero_planes =
            child.zero_planes < least.zero_planes ? child.zero_planes : least.zero_planes;
      }
      t_.gstore(nodes + i, least);
    }
  }

  /// Joins the bits of all blocks, after the bit of a packet that is not empty. @return their number
  CJ2K_KERNEL_FN uint32_t place_bits(const RatePrecinct& precinct) {
    uint32_t* const words = m_.words + precinct.first_word;
    // One word stays 0: the walk reads beyond the last bit.
    const uint32_t room = 32 * (precinct.num_words - 1);
    if (g_.rank() == 0) put_bits(words, 0, 1, 1);
    uint32_t end = 1;
    for (uint32_t b = 0; b < precinct.num_bands; ++b) {
      const BandTree tree(t_, m_.bands + precinct.first_band + b);
      const uint32_t count = tree.band.wide * tree.band.high;
      for (uint32_t first = 0; first < count; first += Group::kSize) {
        const uint32_t i = first + g_.rank();
        BlockCode code{};
        TreeBits bits;
        if (i < count) {
          code = t_.gload(m_.codes + tree.band.first_block + i);
          bits = tree_bits(tree, i, code);
        }
        uint32_t total = 0;
        const uint32_t at = end + g_.place(bits.count + code.bits, &total);
        if (at + bits.count + code.bits <= room && bits.count <= kMaxTreeBits) {
          put_bits(words, at, bits.value, bits.count);
          put_bits(words, at + bits.count, code.code, code.bits);
        } else {
          t_.atomic_or(m_.flags, kRateLongHeader);
        }
        end += total;
      }
    }
    return end < room ? end : room;
  }

  CJ2K_KERNEL_FN TreeBits tree_bits(const BandTree& tree, uint32_t block, const BlockCode& code) {
    const uint32_t x = block % tree.band.wide, y = block / tree.band.wide;
    const uint32_t top = tree.levels - 1;
    // The largest node that begins at the block.
    uint32_t largest = top;
    if ((x | y) != 0) {
      largest = T::ctz(x | y);
      largest = largest < top ? largest : top;
    }
    if (code.bits == 0) return no_inclusion(tree, x, y, largest);
    TreeBits bits = zero_planes(tree, block, x, y, code.zero_planes);
    bits.value |= bits.count < 64 ? ((uint64_t{2} << largest) - 1) << bits.count : 0;
    bits.count += largest + 1;
    return bits;
  }

  /// Inclusion of a block that is not in: a bit for each node that begins here and whose parent has a
  /// block that is in.
  CJ2K_KERNEL_FN TreeBits no_inclusion(const BandTree& tree, uint32_t x, uint32_t y,
                                       uint32_t largest) {
    uint32_t empty = 0;  // the nodes up to this level have no block
    while (empty < tree.levels - 1) {
      if (node_of(tree, empty + 1, x >> (empty + 1), y >> (empty + 1)).first != kNone) break;
      if (++empty > largest) return {};
    }
    return {((uint64_t{1} << (largest - empty)) - 1) << 1, largest - empty + 1};
  }

  /// Zero bit-planes of a block that is in: those of each node whose first block it is.
  CJ2K_KERNEL_FN TreeBits zero_planes(const BandTree& tree, uint32_t block, uint32_t x, uint32_t y,
                                      uint32_t planes) {
    TreeBits bits;
    for (uint32_t level = 1;; ++level) {
      TreeNode above{kNone, 0};
      if (level < tree.levels) above = node_of(tree, level, x >> level, y >> level);
      if (bits.count < 64) bits.value |= uint64_t{1} << bits.count;
      bits.count += 1 + planes - above.zero_planes;
      if (above.first != block) return bits;
      planes = above.zero_planes;
    }
  }

  /// Puts the low `count` <= 64 bits of `value` at bit `at` of words that are 0 there.
  CJ2K_KERNEL_FN void put_bits(uint32_t* words, uint32_t at, uint64_t value, uint32_t count) {
    if (value == 0) return;
    const uint64_t bits = value << (64 - count);
    const uint32_t shift = at % 32;
    uint32_t* const word = words + at / 32;
    const auto first = static_cast<uint32_t>(bits >> (32 + shift));
    const auto second = static_cast<uint32_t>(bits >> shift);
    const auto third = static_cast<uint32_t>(bits << 32 >> shift);
    if (first != 0) t_.atomic_or(word, first);
    if (second != 0) t_.atomic_or(word + 1, second);
    if (third != 0) t_.atomic_or(word + 2, third);
  }

  /// 32 bits of `count` in `words`, from bit `at` on; those behind the last one are 0.
  CJ2K_KERNEL_FN uint32_t bits_at(const uint32_t* words, uint32_t count, uint32_t at) {
    if (at >= count) return 0;
    const uint32_t* const word = words + at / 32;
    const uint32_t next = at / 32 < (count - 1) / 32 ? t_.gload(word + 1) : 0;
    return T::funnel_left(next, t_.gload(word), at % 32);
  }

  /// The bytes of BitWriter for `count` bits: after a byte 0xFF, the next one has 7. A warp walks.
  template <typename Bytes>
  CJ2K_KERNEL_FN uint32_t stuffed_bytes(const uint32_t* words, uint32_t count, const Bytes& to) {
    uint32_t bytes = 0, at = 0;
    while (at < count) {
      const uint32_t bits = bits_at(words, count, at + 32 * t_.lane());
      // The highest bit of each byte whose bits are all 1.
      uint32_t ones = bits & bits << 1;
      ones &= ones << 2;
      ones = ones & ones << 4 & 0x80808080u;
      const uint32_t lanes = t_.ballot(ones != 0);
      if (lanes == 0) {
        const uint32_t left = (count - at + 7) / 8, whole = left < 128 ? left : 128;
        put(to, bytes, bits, whole);
        bytes += whole;
        at += 1024;
        continue;
      }
      const uint32_t lane = T::ctz(lanes);
      const uint32_t whole = 4 * lane + t_.shuffle(T::clz(ones) / 8, lane) + 1;
      put(to, bytes, bits, whole);
      if constexpr (Bytes::kStores) {
        const uint32_t seven = bits_at(words, count, at + 8 * whole) >> 1;
        to.put(t_, bytes + whole, seven, t_.lane() == 0 ? 1 : 0);
      }
      bytes += whole + 1;
      at += 8 * whole + 7;
    }
    return bytes;
  }

  /// Puts the first `whole` of the 128 bytes that the lanes have.
  template <typename Bytes>
  CJ2K_KERNEL_FN void put(const Bytes& to, uint32_t at, uint32_t bits, uint32_t whole) {
    const uint32_t before = 4 * t_.lane();
    const uint32_t own = whole > before ? whole - before : 0;
    to.put(t_, at + before, bits, own < 4 ? own : 4);
  }

  T& t_;
  Group g_;
  const HeaderMemory m_;
};

}  // namespace cj2k::cuda::rate
