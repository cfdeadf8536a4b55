// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "plan/plan_caps.h"

#include <algorithm>
#include <cmath>

#include "core/slope.h"
#include "core/slope_search.h"
#include "params/params.h"

namespace cj2k {
namespace {

uint64_t cap_or_none(int64_t cap) { return cap > 0 ? static_cast<uint64_t>(cap) : kNoTarget; }

uint64_t frame_cap_of(const Plan& plan, const cj2k_params& p) {
  uint64_t cap = cap_or_none(byte_cap(p));
  if (!p.lossless && p.target_bytes == 0 && p.num_layer_rates > 0) {
    const double ratio = p.layer_rates[p.num_layer_rates - 1];
    if (ratio > 1) {
      cap =
          std::min(cap, static_cast<uint64_t>(static_cast<double>(raw_frame_bytes(plan)) / ratio));
    }
  }
  return cap;
}

}  // namespace

bool has_byte_cap(const Plan& plan) {
  return frame_cap_of(plan, plan.params) != kNoTarget || plan.params.max_component_bytes > 0;
}

RateLimits rate_limits(const Plan& plan, const cj2k_params& p) {
  int depth = 0;
  for (const Component& c : plan.components) depth = std::max(depth, c.depth);
  return {frame_cap_of(plan, p), cap_or_none(p.max_component_bytes),
          p.quality > 0 ? quality_slope(p.quality, depth) : uint16_t{0}};
}

uint64_t raw_frame_bytes(const Plan& plan) {
  uint64_t bits = 0;
  for (const Component& c : plan.components) {
    bits += static_cast<uint64_t>(c.rect.width()) * static_cast<uint64_t>(c.rect.height()) *
            static_cast<uint64_t>(c.depth);
  }
  return (bits + 7) / 8;
}

uint16_t quality_slope(double quality, int depth) {
  constexpr double kPerSquaredStep = 16 * 0.69314718055994530942 / 12;
  const double step = std::ldexp(quality, depth - 8);
  return log_slope(kPerSquaredStep * step * step, 1);
}

}  // namespace cj2k
