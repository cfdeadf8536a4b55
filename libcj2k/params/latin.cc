// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "params/latin.h"

#include "base/utf8.h"

namespace cj2k {
namespace {

// Where ISO 8859-15 is not ISO 8859-1, whose bytes are the numbers of the characters.
constexpr struct {
  uint32_t code;
  uint8_t byte;
} kOthers[] = {{0x20AC, 0xA4}, {0x160, 0xA6}, {0x161, 0xA8}, {0x17D, 0xB4},
               {0x17E, 0xB8},  {0x152, 0xBC}, {0x153, 0xBD}, {0x178, 0xBE}};

/// @return the byte of a character; -1: there is none
int byte_of(uint32_t code) {
  for (const auto& other : kOthers) {
    if (other.code == code) return other.byte;
    if (other.byte == code) return -1;
  }
  return code <= 0xFF ? static_cast<int>(code) : -1;
}

}  // namespace

Latin to_latin(const char* utf8) {
  Latin latin;
  for (const char* at = utf8; *at != '\0';) {
    const size_t count = utf8_bytes(at);
    if (count == 0) return {utf8};
    const uint32_t code = utf8_code(at, count);
    const int byte = byte_of(code);
    if (byte < 0 && latin.missing == 0) latin.missing = code;
    latin.text += static_cast<char>(byte);
    at += count;
  }
  return latin;
}

std::string from_latin(std::string_view latin) {
  std::string utf8;
  for (const char c : latin) {
    uint32_t code = static_cast<uint8_t>(c);
    for (const auto& other : kOthers)
      if (other.byte == code) code = other.code;
    if (code < 0x80) {
      utf8 += static_cast<char>(code);
      continue;
    }
    if (code < 0x800) {
      utf8 += static_cast<char>(0xC0 | code >> 6);
    } else {
      utf8 += static_cast<char>(0xE0 | code >> 12);
      utf8 += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    }
    utf8 += static_cast<char>(0x80 | (code & 0x3F));
  }
  return utf8;
}

}  // namespace cj2k
