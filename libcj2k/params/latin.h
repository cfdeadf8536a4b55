// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// ISO/IEC 8859-15, the text of COM marker segments (T.800 Table A.44), from and to UTF-8.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cj2k {

struct Latin {
  std::string text;      ///< what is not UTF-8 as a whole stays as it is
  uint32_t missing = 0;  ///< the first character that ISO 8859-15 does not have; 0: none
};
/// @param utf8  ends in a zero
Latin to_latin(const char* utf8);

std::string from_latin(std::string_view latin);

}  // namespace cj2k
