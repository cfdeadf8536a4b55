// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace cj2k {

/// @return the bytes of the character of UTF-8 at `text`, which ends in a zero; 0 if there is none
inline size_t utf8_bytes(const char* text) {
  const auto byte = [text](size_t i) { return static_cast<uint8_t>(text[i]); };
  const size_t count = byte(0) < 0x80   ? 1
                       : byte(0) < 0xC2 ? 0
                       : byte(0) < 0xE0 ? 2
                       : byte(0) < 0xF0 ? 3
                       : byte(0) < 0xF5 ? 4
                                        : 0;
  for (size_t i = 1; i < count; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  const bool is_too_long =
      (byte(0) == 0xE0 && byte(1) < 0xA0) || (byte(0) == 0xF0 && byte(1) < 0x90);
  const bool is_no_character =  // half of a UTF-16 pair; above U+10FFFF
      (byte(0) == 0xED && byte(1) > 0x9F) || (byte(0) == 0xF4 && byte(1) > 0x8F);
  return is_too_long || is_no_character ? 0 : count;
}

/// The number of the character at `text`, which has `count` bytes (utf8_bytes).
inline uint32_t utf8_code(const char* text, size_t count) {
  const auto first = static_cast<uint8_t>(text[0]);
  uint32_t code = count == 1 ? first : first & (0xFFU >> (count + 1));
  for (size_t i = 1; i < count; ++i) code = code << 6 | (static_cast<uint8_t>(text[i]) & 0x3F);
  return code;
}

}  // namespace cj2k
