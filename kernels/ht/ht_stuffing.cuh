// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The bit streams of an HT block (core/ht/bit_streams.h), by a warp. The lanes first put their bits
// side by side into shared memory, without stuffing. Then the warp makes bytes, 128 at a time, up to
// the first one that needs a stuffed bit behind or in it; from there it begins again.
#pragma once

#include <cstdint>

#include "kernels/simt/kernel.h"

namespace cj2k::cuda::ht {

/// Bits in shared memory, the first one lowest. Word i is words[i & mask].
struct RawBits {
  uint32_t* words;
  uint32_t mask;

  /// Adds bits of one lane. The words must be 0 before.
  template <typename T>
  CJ2K_KERNEL_FN void put(T& t, uint32_t position, uint32_t bits) const {
    if (bits == 0) return;
    put_word(t, position >> 5, bits << (position & 31));
    put_word(t, (position >> 5) + 1, t.funnel_left(bits, 0, position));
  }
  template <typename T>
  CJ2K_KERNEL_FN void put_long(T& t, uint32_t position, uint64_t bits) const {
    const auto low = static_cast<uint32_t>(bits), high = static_cast<uint32_t>(bits >> 32);
    put_word(t, position >> 5, low << (position & 31));
    put_word(t, (position >> 5) + 1, t.funnel_left(low, high, position));
    put_word(t, (position >> 5) + 2, t.funnel_left(high, 0, position));
  }
  template <typename T>
  CJ2K_KERNEL_FN void put_word(T& t, uint32_t index, uint32_t bits) const {
    if (bits != 0) t.atomic_or(&words[index & mask], bits);
  }
  /// @return the 32 bits from `position` on; those from `end` on have any value
  template <typename T>
  CJ2K_KERNEL_FN uint32_t get(T& t, uint32_t position, uint32_t end) const {
    if (position >= end) return 0;
    const uint32_t i = position >> 5;
    return t.funnel_right(t.sload(words[i & mask]), t.sload(words[(i + 1) & mask]), position & 31);
  }
  /// Clears words [first, end). All lanes call.
  template <typename T>
  CJ2K_KERNEL_FN void clear(T& t, uint32_t first, uint32_t end) const {
    for (uint32_t i = first + t.lane(); i < end; i += 32) t.sstore(words[i & mask], 0u);
  }
};

/// Stores bytes one behind the other, as words. It keeps the last, incomplete word.
template <bool kGlobal>
struct ByteWriter {
  uint32_t* to;
  uint32_t bytes = 0;
  uint32_t held = 0;  ///< the bytes of the incomplete word, highest

  template <typename T>
  CJ2K_KERNEL_FN void store(T& t, uint32_t index, uint32_t word) {
    if constexpr (kGlobal) {
      t.gstore(to + index, word);
    } else {
      t.sstore(to[index], word);
    }
  }
  /// @param word   lane l has bytes 4 * l to 4 * l + 3
  /// @param count  of bytes, 1 .. 128
  template <typename T>
  CJ2K_KERNEL_FN void put(T& t, uint32_t word, uint32_t count) {
    const uint32_t shift = 8 * (bytes & 3);
    const uint32_t total = (bytes & 3) + count, full = total >> 2, rest = total & 3;
    const uint32_t before = t.shuffle_up(word, 1);
    const uint32_t own = t.funnel_left(t.lane() == 0 ? held : before, word, shift);
    if (t.lane() < full) store(t, (bytes >> 2) + t.lane(), own);
    const uint32_t last =
        t.shuffle(full < 32 ? own : t.funnel_left(word, 0, shift), full < 32 ? full : 31);
    held = rest == 0 ? 0 : last << (32 - 8 * rest);
    bytes += count;
  }
  /// Stores the incomplete word, with zeros behind.
  template <typename T>
  CJ2K_KERNEL_FN void flush(T& t) {
    const uint32_t rest = bytes & 3;
    if (rest > 0 && t.lane() == 0) store(t, bytes >> 2, held >> (32 - 8 * rest));
  }
};

/// The lowest of the first bytes of a lane's word that `marks` marks, by bit 7 of each byte.
struct FirstMark {
  bool found;
  uint32_t lane, byte;
};
template <typename T>
CJ2K_KERNEL_FN FirstMark first_mark(T& t, uint32_t marks, uint32_t count) {
  const uint32_t behind = 4 * t.lane();
  const uint32_t byte = marks != 0 ? t.ctz(marks) >> 3 : 4;
  const uint32_t lanes = t.ballot(byte < 4 && behind + byte < count);
  const uint32_t lane = lanes != 0 ? t.ctz(lanes) : 0;
  return {lanes != 0, lane, t.shuffle(byte, lane)};
}

/// MagSgn, SigProp and MEL: the byte after 0xFF has 7 bits.
/// @tparam kReversed  MEL: the first bit of a byte is its highest
template <bool kGlobal, bool kReversed = false>
struct ForwardStuffing {
  ByteWriter<kGlobal> out;
  uint32_t position = 0;  ///< of the next bit
  uint32_t after_ff = 0;

  /// Makes bytes of the bits below `end` while there are at least `least` bytes, 1 .. 128.
  template <typename T>
  CJ2K_KERNEL_FN void run(T& t, const RawBits& raw, uint32_t end, uint32_t least) {
    while (true) {
      const uint32_t available = (end - position + after_ff) >> 3;
      if (available < least) return;
      const uint32_t most = available < 128 ? available : 128;
      // After 0xFF the first byte has 7 bits, so the others begin one bit before.
      const bool is_short = after_ff != 0 && t.lane() == 0;
      const uint32_t early = t.lane() > 0 ? after_ff : 0;
      uint32_t word = raw.get(t, position + 32 * t.lane() - early, end);
      if (is_short) word = kReversed ? word << 1 : (word & 0x7F) | (word << 1 & 0xFFFFFF00);
      const uint32_t inverse = ~word;
      const FirstMark ff = first_mark(t, (inverse - 0x01010101u) & word & 0x80808080u, most);
      const uint32_t count = ff.found ? 4 * ff.lane + ff.byte + 1 : most;
      out.put(t, kReversed ? t.byte_permute(t.reverse_bits(word), 0, 0x0123) : word, count);
      position += 8 * count - after_ff;
      after_ff = ff.found ? 1 : 0;
    }
  }
  /// The bits of the last byte, of which there are fewer than it holds; run with least = 1 before.
  template <typename T>
  CJ2K_KERNEL_FN uint32_t last_byte(T& t, const RawBits& raw, uint32_t end) const {
    return raw.get(t, position, end) & ((1u << (end - position)) - 1);
  }
};

/// VLC and MagRef, in the order in which the bytes are made: if the byte before is above 0x8F and
/// the 7 low bits are ones, a byte has only these.
struct BackwardStuffing {
  ByteWriter<false> out;
  uint32_t position = 0;
  uint32_t above_8f = 1;

  template <typename T>
  CJ2K_KERNEL_FN void run(T& t, const RawBits& raw, uint32_t end) {
    constexpr uint32_t kLow = 0x7F7F7F7Fu, kHigh = 0x80808080u;
    while (true) {
      const uint32_t bits = end - position;
      uint32_t word = raw.get(t, position + 32 * t.lane(), end);
      uint32_t before = t.shuffle_up(word, 1) >> 24;
      if (t.lane() == 0) before = above_8f != 0 ? 0xFF : 0;
      const uint32_t sevens = ~((~word & kLow) + kLow) & kHigh;
      const uint32_t previous = word << 8 | before;
      const uint32_t above = previous & (previous << 1 | previous << 2 | previous << 3) & kHigh;
      const FirstMark stuffed = first_mark(t, sevens & above, (bits + 1) >> 3);
      uint32_t count = bits >> 3 < 128 ? bits >> 3 : 128;
      if (stuffed.found) {
        count = 4 * stuffed.lane + stuffed.byte + 1;
        if (t.lane() == stuffed.lane) word &= ~(0x80u << 8 * stuffed.byte);
      }
      if (count == 0) return;
      out.put(t, word, count);
      const uint32_t last = t.shuffle(word, (count - 1) >> 2) >> 8 * ((count - 1) & 3) & 0xFF;
      above_8f = last > 0x8F ? 1 : 0;
      position += 8 * count - (stuffed.found ? 1 : 0);
    }
  }
  template <typename T>
  CJ2K_KERNEL_FN uint32_t last_byte(T& t, const RawBits& raw, uint32_t end) const {
    return raw.get(t, position, end) & ((1u << (end - position)) - 1);
  }
};

/// Byte i of words in shared memory.
template <typename T>
CJ2K_KERNEL_FN uint32_t shared_byte(T& t, const uint32_t* words, uint32_t i) {
  return t.sload(words[i >> 2]) >> 8 * (i & 3) & 0xFF;
}

}  // namespace cj2k::cuda::ht
