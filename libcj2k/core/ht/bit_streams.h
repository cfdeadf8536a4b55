// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The bit streams of an HT code-block (T.814), with their bit stuffing: no two bytes of a segment
// are above 0xFF8F, and none ends with 0xFF.
//
//   ForwardBits   MagSgn and SigProp: first bit lowest; the byte after 0xFF has 7 bits
//   BackwardBits  VLC and MagRef: first bit lowest; if the byte before is above 0x8F and the 7 low
//                 bits are ones, the byte has only these. Its bytes are stored here in the order in
//                 which they are made; in the segment they stand in reverse
//   MelBits       MEL: first bit highest; the byte after 0xFF has 7 bits
//
// Each has whole bytes in `out`, and a last byte that has bits below its capacity.
#pragma once

#include <cstdint>

#include "core/hd.h"
#include "core/ht/cxt_vlc.h"

namespace cj2k {

CJ2K_HD constexpr bool has_zero_byte(uint32_t word) {
  return ((word - 0x01010101u) & ~word & 0x80808080u) != 0;
}
/// The lowest byte first.
CJ2K_HD constexpr void store_word(uint8_t* out, uint32_t word) {
  out[0] = static_cast<uint8_t>(word);
  out[1] = static_cast<uint8_t>(word >> 8);
  out[2] = static_cast<uint8_t>(word >> 16);
  out[3] = static_cast<uint8_t>(word >> 24);
}

/// Bits wait until there are 32 of them, since most groups of four bytes need no stuffing. After the
/// last put, call drain.
class ForwardBits {
 public:
  CJ2K_HD constexpr explicit ForwardBits(uint8_t* out) : out_(out) {}
  /// @param bits   no bits above `count`
  /// @param count  0 .. 32
  CJ2K_HD constexpr void put(uint32_t bits, uint32_t count) {
    pending_ |= uint64_t{bits} << num_pending_;
    num_pending_ += count;
    if (num_pending_ < 32) return;
    const auto word = static_cast<uint32_t>(pending_);
    if (capacity_ == 8 && !has_zero_byte(~word)) {
      store_word(out_ + num_bytes_, word);
      num_bytes_ += 4;
      pending_ >>= 32;
      num_pending_ -= 32;
    } else {
      drain();
    }
  }
  CJ2K_HD constexpr void drain() {
    while (num_pending_ >= capacity_) {
      const uint32_t byte = static_cast<uint32_t>(pending_) & ((1u << capacity_) - 1);
      out_[num_bytes_++] = static_cast<uint8_t>(byte);
      pending_ >>= capacity_;
      num_pending_ -= capacity_;
      capacity_ = byte == 0xFF ? 7 : 8;
    }
  }
  CJ2K_HD constexpr uint32_t num_bytes() const { return num_bytes_; }
  CJ2K_HD constexpr uint32_t last_byte() const { return static_cast<uint32_t>(pending_); }
  /// Bits of the last byte; 0: it need not be written, unless after_ff().
  CJ2K_HD constexpr uint32_t last_bits() const { return num_pending_; }
  CJ2K_HD constexpr bool after_ff() const { return capacity_ == 7; }

 private:
  uint8_t* out_;
  uint64_t pending_ = 0;
  uint32_t num_pending_ = 0, capacity_ = 8, num_bytes_ = 0;
};

class BackwardBits {
 public:
  /// @param length_word  the stream begins with the 12 bits of the length of the MEL and VLC part.
  ///                     They count as ones; 4 of them are in the first byte made here
  CJ2K_HD constexpr BackwardBits(uint8_t* out, bool length_word)
      : out_(out), pending_(length_word ? 0xF : 0), num_pending_(length_word ? 4 : 0) {}
  /// @param bits   no bits above `count`
  /// @param count  0 .. 32
  CJ2K_HD constexpr void put(uint32_t bits, uint32_t count) {
    pending_ |= uint64_t{bits} << num_pending_;
    num_pending_ += count;
    if (num_pending_ < 32) return;
    const auto word = static_cast<uint32_t>(pending_);
    // No byte has seven low ones.
    if (!has_zero_byte(~word & 0x7F7F7F7F)) {
      store_word(out_ + num_bytes_, word);
      num_bytes_ += 4;
      above_8f_ = word >> 24 > 0x8F;
      pending_ >>= 32;
      num_pending_ -= 32;
    } else {
      drain();
    }
  }
  CJ2K_HD constexpr void drain() {
    while (num_pending_ >= 7) {
      const bool stuffs = above_8f_ && (pending_ & 0x7F) == 0x7F;
      const uint32_t capacity = stuffs ? 7 : 8;
      if (num_pending_ < capacity) return;
      const uint32_t byte = static_cast<uint32_t>(pending_) & ((1u << capacity) - 1);
      out_[num_bytes_++] = static_cast<uint8_t>(byte);
      above_8f_ = byte > 0x8F;
      pending_ >>= capacity;
      num_pending_ -= capacity;
    }
  }
  CJ2K_HD constexpr uint32_t num_bytes() const { return num_bytes_; }
  CJ2K_HD constexpr uint32_t last_byte() const { return static_cast<uint32_t>(pending_); }
  CJ2K_HD constexpr uint32_t last_bits() const { return num_pending_; }

 private:
  uint8_t* out_;
  uint64_t pending_;
  uint32_t num_pending_, num_bytes_ = 0;
  bool above_8f_ = true;
};

/// The MEL coder with its bytes.
class MelBits {
 public:
  CJ2K_HD constexpr explicit MelBits(uint8_t* out) : out_(out) {}
  CJ2K_HD constexpr void put_event(bool event) {
    const uint32_t exponent = kMelExponents[state_];
    if (event) {
      // A zero, and the length of the run that the event breaks.
      put(run_, exponent + 1);
      run_ = 0;
      if (state_ > 0) --state_;
    } else if (++run_ == 1u << exponent) {
      put(1, 1);
      run_ = 0;
      if (state_ + 1 < kMelStates) ++state_;
    }
  }
  /// The same as `count` times put_event(false).
  CJ2K_HD constexpr void put_zeros(uint32_t count) {
    while (count > 0) {
      const uint32_t left = (1u << kMelExponents[state_]) - run_;
      if (count < left) {
        run_ += count;
        return;
      }
      count -= left;
      put(1, 1);
      run_ = 0;
      if (state_ + 1 < kMelStates) ++state_;
    }
  }
  /// Codes a run that no event has ended: the decoder may see more zeros than there are.
  CJ2K_HD constexpr void finish() {
    if (run_ > 0) put(1, 1);
    run_ = 0;
  }
  CJ2K_HD constexpr uint32_t num_bytes() const { return num_bytes_; }
  /// Its bits are the highest ones, below a stuffed bit if there is one.
  CJ2K_HD constexpr uint32_t last_byte() const { return byte_; }
  CJ2K_HD constexpr uint32_t free_bits() const { return free_bits_; }

 private:
  CJ2K_HD constexpr void put(uint32_t bits, uint32_t count) {
    while (count > 0) {
      --count;
      --free_bits_;
      byte_ |= (bits >> count & 1) << free_bits_;
      if (free_bits_ > 0) continue;
      out_[num_bytes_++] = static_cast<uint8_t>(byte_);
      free_bits_ = byte_ == 0xFF ? 7 : 8;
      byte_ = 0;
    }
  }

  uint8_t* out_;
  uint32_t num_bytes_ = 0, byte_ = 0, free_bits_ = 8;
  uint32_t state_ = 0, run_ = 0;
};

}  // namespace cj2k
