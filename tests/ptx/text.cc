// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Pieces of PTX text.
#include "text.h"

#include <cctype>
#include <charconv>

namespace cj2k::ptx {
namespace {

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

}  // namespace

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (c == separator && depth == 0) {
      parts.push_back(trim(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  const std::string_view last = trim(text.substr(begin));
  if (!last.empty() || !parts.empty()) parts.push_back(last);
  return parts;
}

Type type_of(std::string_view name) {
  struct Row {
    std::string_view name;
    Type type;
  };
  static constexpr Row kRows[] = {{"u8", Type::kU8},   {"u16", Type::kU16}, {"u32", Type::kU32},
                                  {"u64", Type::kU64}, {"s8", Type::kS8},   {"s16", Type::kS16},
                                  {"s32", Type::kS32}, {"s64", Type::kS64}, {"b8", Type::kU8},
                                  {"b16", Type::kU16}, {"b32", Type::kU32}, {"b64", Type::kU64},
                                  {"f32", Type::kF32}, {"f64", Type::kF64}, {"pred", Type::kPred}};
  for (const Row& row : kRows) {
    if (row.name == name) return row.type;
  }
  return Type::kNone;
}

std::string_view take_word(std::string_view& text) {
  text = trim(text);
  size_t end = 0;
  while (end < text.size() && !is_space(text[end])) ++end;
  const std::string_view word = text.substr(0, end);
  text = trim(text.substr(end));
  return word;
}

uint64_t number_of(std::string_view text) {
  std::string_view digits = text;
  const bool negative = !digits.empty() && digits[0] == '-';
  if (negative) digits.remove_prefix(1);
  int base = 10;
  if (digits.size() > 2 && digits[0] == '0' && std::string_view("xXfFdD").find(digits[1]) < 6) {
    base = 16;
    digits.remove_prefix(2);
  }
  if (!digits.empty() && digits.back() == 'U') digits.remove_suffix(1);
  uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    throw Failure{"not a number: " + std::string(text)};
  }
  return negative ? uint64_t{0} - value : value;
}

std::string without_comments(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\0') continue;
    const std::string_view two = text.substr(i, 2);
    if (two == "//") {
      while (i < text.size() && text[i] != '\n') ++i;
      result += '\n';
    } else if (two == "/*") {
      const size_t end = text.find("*/", i);
      if (end == std::string_view::npos) throw Failure{"a comment without an end"};
      i = end + 1;
    } else {
      result += text[i];
    }
  }
  return result;
}

}  // namespace cj2k::ptx
