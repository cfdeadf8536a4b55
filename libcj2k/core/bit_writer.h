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
    while (num_pending_ >= byte_bits_) emit();
  }
  constexpr void put_zeros(uint32_t count) {
    for (; count > 32; count -= 32) put(0, 32);
    put(0, static_cast<int>(count));
  }
  /// Pads the last byte with zeros. Nothing may be put afterwards. @return all bytes written
  constexpr size_t finish() {
    if (num_pending_ > 0 || byte_bits_ == 7) {
      pending_ <<= byte_bits_ - num_pending_;
      num_pending_ = byte_bits_;
      emit();
    }
    return bytes();
  }

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
  constexpr void emit() {
    num_pending_ -= byte_bits_;
    const auto byte =
        static_cast<uint8_t>(pending_ >> num_pending_ & ((uint32_t{1} << byte_bits_) - 1));
    *next_++ = byte;
    byte_bits_ = byte == 0xFF ? 7 : 8;
  }

  uint8_t* begin_;
  uint8_t* next_;
  uint8_t* end_;
  uint64_t pending_ = 0;  // the low num_pending_ bits (< 8 between calls) are not written yet
  int num_pending_ = 0;
  int byte_bits_ = 8;  // bits that the next byte takes: 7 after an 0xFF, else 8
};

}  // namespace cj2k
