// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Big-endian integers, as every marker segment and box stores them (T.800 A.2, I.4).
#pragma once

#include <cstdint>
#include <vector>

namespace cj2k {

/// @return the byte after the last one stored
inline uint8_t* store_u8(uint8_t* out, uint32_t value) {
  *out = static_cast<uint8_t>(value);
  return out + 1;
}
inline uint8_t* store_u16(uint8_t* out, uint32_t value) {
  return store_u8(store_u8(out, value >> 8), value);
}
inline uint8_t* store_u32(uint8_t* out, uint32_t value) {
  return store_u16(store_u16(out, value >> 16), value);
}

inline void append_u8(std::vector<uint8_t>& out, uint32_t value) {
  out.push_back(static_cast<uint8_t>(value));
}
inline void append_u16(std::vector<uint8_t>& out, uint32_t value) {
  append_u8(out, value >> 8);
  append_u8(out, value);
}
inline void append_u32(std::vector<uint8_t>& out, uint32_t value) {
  append_u16(out, value >> 16);
  append_u16(out, value);
}

}  // namespace cj2k
