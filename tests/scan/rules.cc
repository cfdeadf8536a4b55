// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "scan/rules.h"

#include <algorithm>
#include <cmath>

namespace cj2k::test {

double error_per_byte(double quality, int32_t depth) {
  const double step = std::ldexp(quality, depth - 8);
  return 8 * 2 * std::log(2.0) * step * step / 12;
}

bool is_by_quality(const Point& point, const Limits& limits) {
  return limits.quality > 0 && point.bytes * 1000 < limits.max_frame_bytes * 995;
}

double loss_db(const Point& mine, const Point& other, const Limits& limits, int32_t depth,
               bool is_same_coding) {
  const bool is_quality = is_by_quality(other, limits);
  double more = mine.squared_error - other.squared_error;
  double error = std::max(other.squared_error, 1.0);
  const double few = other.samples / (is_same_coding && !is_quality ? 100 : 4);
  if (other.squared_error < few) more -= 3 * std::sqrt(2 * error);
  if (is_quality) {
    const double cost = error_per_byte(limits.quality, depth);
    const int64_t bytes = mine.bytes - other.bytes;
    more += cost * static_cast<double>(bytes > 0 ? std::max<int64_t>(0, bytes - kFewBytes) : bytes);
    error = std::max(error, cost * static_cast<double>(other.bytes) / 10);
  }
  return more <= -error ? kLosesNothing : 10 * std::log10(1 + more / error);
}

double percent_over_caps(const Point& point, const Limits& limits) {
  const auto over = [](int64_t bytes, int64_t cap) {
    return cap == 0 ? -100.0 : 100.0 * static_cast<double>(bytes - cap) / static_cast<double>(cap);
  };
  return std::max({over(point.bytes, limits.target_bytes),
                   over(point.bytes, limits.max_frame_bytes),
                   over(point.most_component_bytes, limits.max_component_bytes)});
}

}  // namespace cj2k::test
