// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Pieces of the text of parameters: numbers, names, lists. For params.cc and params_records.cc.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include "base/log.h"
#include "base/real.h"
#include "base/status.h"
#include "cj2k.h"

namespace cj2k::param_text {

template <typename T>
bool parse_number(std::string_view text, T* value) {
  if constexpr (std::is_floating_point_v<T>) {
    return parse_real(text, value);
  } else {
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, *value);
    return error == std::errc() && stop == end;
  }
}

inline char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Case is ignored, and "9/7" may be written "97".
inline bool same_name(std::string_view name, std::string_view text) {
  size_t t = 0;
  for (const char c : name) {
    if (t < text.size() && c == lower(text[t])) {
      ++t;
    } else if (c != '/') {
      return false;
    }
  }
  return t == text.size() && !text.empty();
}

// Index of `text` in a list of names separated by '|', or -1.
inline int find_name(std::string_view names, std::string_view text) {
  for (int index = 0;; ++index) {
    const size_t bar = names.find('|');
    if (same_name(names.substr(0, bar), text)) return index;
    if (bar == std::string_view::npos) return -1;
    names.remove_prefix(bar + 1);
  }
}

// Calls `f(part)` for each part of `text` between separators, until f refuses one.
template <typename F>
bool for_each_part(std::string_view text, char separator, F f) {
  for (;;) {
    const size_t end = text.find(separator);
    if (!f(text.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
}

// The name at position `index` of a list separated by '|'; empty if there is none.
inline std::string_view name_at(std::string_view names, int32_t index) {
  for (; index > 0; --index) {
    const size_t bar = names.find('|');
    if (bar == std::string_view::npos) return {};
    names.remove_prefix(bar + 1);
  }
  return index < 0 ? std::string_view() : names.substr(0, names.find('|'));
}

class TextOut {
 public:
  void add(std::string_view text) {
    text.copy(text_ + size_, text.size());
    size_ += text.size();
    text_[size_] = '\0';
  }
  template <typename T>
  void add_number(T value) {  // a double: the shortest text that reads as the same number
    char* const end = std::end(text_) - 1;
    size_ = static_cast<size_t>(std::to_chars(text_ + size_, end, value).ptr - text_);
    text_[size_] = '\0';
  }
  void add_pair(int32_t first, int32_t second) {
    add_number(first);
    add("x");
    add_number(second);
  }
  void add_comma() {
    if (size_ > 0) add(",");
  }
  /// Numbers separated by ','.
  void add_numbers(std::initializer_list<int32_t> values) {
    const char* separator = "";
    for (const int32_t value : values) {
      add(std::exchange(separator, ","));
      add_number(value);
    }
  }
  size_t size() const { return size_; }
  const char* c_str() const { return text_; }

 private:
  char text_[CJ2K_MAX_PARAM_TEXT] = "";
  size_t size_ = 0;
};
// The longest values: 33 pairs of numbers, 64 numbers of 24 characters, 32 progressions of five
// numbers and a name, or 255 characters of text.
static_assert(CJ2K_MAX_RESOLUTIONS * 24 < CJ2K_MAX_PARAM_TEXT);
static_assert(CJ2K_MAX_LAYER_RATES * 25 < CJ2K_MAX_PARAM_TEXT);
static_assert(CJ2K_MAX_REGIONS * 5 * 12 < CJ2K_MAX_PARAM_TEXT);
static_assert(CJ2K_MAX_PROGRESSIONS * (5 * 12 + 5) < CJ2K_MAX_PARAM_TEXT);

inline Status check_count(const char* name, int32_t count, int32_t most, const Log& log) {
  if (count >= 0 && count <= most) return Status::kOk;
  return log.fail(Status::kInvalid, "%s %d not in [0, %d]", name, count, most);
}

}  // namespace cj2k::param_text
