// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Packet header bits to bytes with the bit stuffing of T.800 B.10.1.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cj2k {

/// The most significant bit comes first. The byte after an 0xFF begins with a stuffed 0, and the
/// last byte is never 0xFF. The class writes into the caller's memory and checks no bounds: before
/// a put, the caller makes sure that room() is large enough.
class BitWriter {
 public:
  constexpr BitWriter(uint8_t* out, size_t capacity)
      : begin_(out), next_(out), end_(out + capacity) {}

  /// Writes the low `count` bits of `value`, 0 <= count <= 32. The bits above them must be 0.
  constexpr void put(uint32_t value, int count) {
    pending_ = pending_ << count | value;
    num_pending_ += count;
    if (num_pending_ >= 32) emit();
  }
  constexpr void put_zeros(uint32_t count) {
    for (; count > 32; count -= 32) put(0, 32);
    put(0, static_cast<int>(count));
  }
  /// Pads the last byte with zeros. Nothing may be put afterwards. @return all bytes written
  constexpr size_t finish() {
    while (num_pending_ > 0) {
      if (num_pending_ < 8) {
        pending_ <<= 8 - num_pending_;
        num_pending_ = 8;
      }
      emit_byte();
    }
    return bytes();
  }

  /// Up to four bytes less than were put: some bits are still pending.
  constexpr size_t bytes() const { return static_cast<size_t>(next_ - begin_); }
  /// @return bytes free in the caller's memory
  constexpr size_t room() const { return static_cast<size_t>(end_ - next_); }
  /// Continues in a larger buffer, which must begin with a copy of the bytes() written so far.
  constexpr void move_to(uint8_t* out, size_t capacity) {
    next_ = out + bytes();
    begin_ = out;
    end_ = out + capacity;
  }

 private:
  /// Writes the pending bits but for the last 0 .. 7 or 0 .. 31.
  constexpr void emit() {
    const auto word = static_cast<uint32_t>(pending_ >> (num_pending_ - 32));
    // No byte is 0xFF: no byte of ~word is 0.
    if (((~word - 0x01010101u) & word & 0x80808080u) == 0) {
      next_[0] = static_cast<uint8_t>(word >> 24);
      next_[1] = static_cast<uint8_t>(word >> 16);
      next_[2] = static_cast<uint8_t>(word >> 8);
      next_[3] = static_cast<uint8_t>(word);
      next_ += 4;
      num_pending_ -= 32;
      return;
    }
    while (num_pending_ >= 8) emit_byte();
  }
  constexpr void emit_byte() {
    num_pending_ -= 8;
    const auto byte = static_cast<uint8_t>(pending_ >> num_pending_);
    *next_++ = byte;
    if (byte != 0xFF) return;
    pending_ &= (uint64_t{1} << num_pending_) - 1;  // the stuffed bit is the next one, a 0
    ++num_pending_;
  }

  uint8_t* begin_;
  uint8_t* next_;
  uint8_t* end_;
  uint64_t pending_ = 0;  // the low num_pending_ bits (< 32 between calls) are not written yet
  int num_pending_ = 0;
};

}  // namespace cj2k
