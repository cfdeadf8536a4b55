// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace cj2k_check {

/// Reads big-endian numbers. Behind the end all bytes are 0, and `failed` is set.
class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes, size_t offset = 0) : bytes_(bytes), at_(offset) {}

  uint8_t u8() { return static_cast<uint8_t>(number(1)); }
  uint16_t u16() { return static_cast<uint16_t>(number(2)); }
  uint32_t u32() { return static_cast<uint32_t>(number(4)); }
  uint64_t number(int bytes) {
    uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) {
      const bool inside = at_ < bytes_.size();
      value = value << 8 | (inside ? bytes_[at_] : 0);
      failed_ |= !inside;
      at_ += inside;
    }
    return value;
  }
  size_t at() const { return at_; }
  size_t left() const { return bytes_.size() - std::min(at_, bytes_.size()); }
  bool failed() const { return failed_; }

 private:
  std::span<const uint8_t> bytes_;
  size_t at_;
  bool failed_ = false;
};

}  // namespace cj2k_check
