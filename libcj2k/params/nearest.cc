// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "params/nearest.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace cj2k {
namespace {

constexpr size_t kMostLetters = 63;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

int name_distance(std::string_view a, std::string_view b) {
  a = a.substr(0, kMostLetters);
  b = b.substr(0, kMostLetters);
  // rows[i % 3][k]: the distance between the first i letters of a and the first k of b.
  std::array<std::array<int, kMostLetters + 1>, 3> rows{};
  for (size_t i = 0; i <= a.size(); ++i) {
    std::array<int, kMostLetters + 1>& row = rows[i % 3];
    const std::array<int, kMostLetters + 1>& above = rows[(i + 2) % 3];
    row[0] = static_cast<int>(i);
    for (size_t k = 1; k <= b.size(); ++k) {
      if (i == 0) {
        row[k] = static_cast<int>(k);
        continue;
      }
      const char x = lower(a[i - 1]), y = lower(b[k - 1]);
      row[k] = std::min({above[k] + 1, row[k - 1] + 1, above[k - 1] + (x != y)});
      if (i > 1 && k > 1 && x == lower(b[k - 2]) && lower(a[i - 2]) == y)
        row[k] = std::min(row[k], rows[(i + 1) % 3][k - 2] + 1);
    }
  }
  return rows[a.size() % 3][b.size()];
}

void NearestName::offer(std::string_view name) {
  if (text_.size() > kMostLetters) return;  // name_distance does not see the rest
  const bool begins = text_.size() >= 3 && name_distance(text_, name.substr(0, text_.size())) == 0;
  const int distance = begins ? 1 : name_distance(text_, name);
  const auto longer = static_cast<int>(std::max(text_.size(), name.size()));
  if (3 * distance > longer || (!name_.empty() && distance >= distance_)) return;
  name_ = name;
  distance_ = distance;
}

DidYouMean::DidYouMean(std::string_view name) {
  const auto letters = static_cast<int>(std::min(name.size(), kMostLetters));
  text[0] = '\0';
  if (letters > 0) std::snprintf(text, sizeof text, "; did you mean %.*s?", letters, name.data());
}

}  // namespace cj2k
