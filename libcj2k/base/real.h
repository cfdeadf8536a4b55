// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Reads a real number, whatever the locale. libc++ has std::from_chars for it from version 20 on.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>

#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 200000
#define CJ2K_STRTOD
#include <locale.h>
#if __has_include(<xlocale.h>)
#include <xlocale.h>
#endif
#endif

namespace cj2k {

/// @return false: the text is no decimal number, or one beyond double
inline bool parse_real(std::string_view text, double* value) {
#ifdef CJ2K_STRTOD
  // strtod also takes spaces, a sign +, names and hexadecimal digits.
  if (text.empty() || text[0] == '+' || text.find_first_not_of("0123456789.eE+-") != text.npos)
    return false;
  static const locale_t c_locale = newlocale(LC_ALL_MASK, "C", nullptr);
  const std::string copy(text);
  char* stop = nullptr;
  const double number = strtod_l(copy.c_str(), &stop, c_locale);
  if (stop != copy.c_str() + copy.size() || !std::isfinite(number)) return false;
  *value = number;
  return true;
#else
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *value);
  return error == std::errc() && stop == end;
#endif
}

}  // namespace cj2k
