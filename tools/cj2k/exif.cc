// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "exif.h"

#include <cstddef>
#include <cstdint>

namespace cj2k_tool {

int read_orientation(std::string_view exif) {
  constexpr uint32_t kOrientation = 274;
  const bool is_big_endian = exif.substr(0, 1) == "M";
  const auto number = [&](size_t at, size_t size) {  // 0 where the bytes end before it
    uint32_t value = 0;
    if (at > exif.size() || size > exif.size() - at) return value;
    for (size_t i = 0; i < size; ++i) {
      const size_t byte = is_big_endian ? at + i : at + size - 1 - i;
      value = value << 8 | static_cast<unsigned char>(exif[byte]);
    }
    return value;
  };
  const size_t directory = number(4, 4);
  for (size_t i = 0; i < number(directory, 2); ++i) {
    const size_t entry = directory + 2 + 12 * i;
    if (number(entry, 2) == kOrientation) return static_cast<int>(number(entry + 8, 2));
  }
  return 1;
}

}  // namespace cj2k_tool
