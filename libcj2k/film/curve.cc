// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "film/curve.h"

#include <algorithm>

namespace cj2k {
namespace {

using Values = std::array<double, CJ2K_CURVE_POINTS>;

/// Holds a component to its cap: further down it has the error that it has at the cap.
void hold(double cap, Values& bytes, Values& error) {
  for (int i = CJ2K_CURVE_POINTS - 1; i >= 0; --i) {
    const auto at = static_cast<size_t>(i);
    if (bytes[at] <= cap) continue;
    if (i + 1 < CJ2K_CURVE_POINTS && bytes[at + 1] < cap) {
      const double share = (cap - bytes[at + 1]) / (bytes[at] - bytes[at + 1]);
      error[at] = error[at + 1] - (error[at + 1] - error[at]) * share;
    } else if (i + 1 < CJ2K_CURVE_POINTS) {
      error[at] = error[at + 1];
    }
    bytes[at] = cap;
  }
}

}  // namespace

void CurveSum::add(uint32_t component, std::span<const HullPoint> points, double error) {
  Steps& steps = components_[component];
  steps.error += error;
  uint32_t bytes = 0;
  double removed = 0;
  for (const HullPoint& point : points) {
    if (point.slope < kCurveLowest) return;
    const auto step = static_cast<size_t>(
        std::min((point.slope - kCurveLowest) / kCurveStep, CJ2K_CURVE_POINTS - 1));
    steps.bytes[step] += point.length_bytes - bytes;
    steps.removed[step] += point.distortion - removed;
    bytes = point.length_bytes;
    removed = point.distortion;
  }
}

void CurveSum::add(const CurveSum& other) {
  for (size_t c = 0; c < components_.size(); ++c) {
    Steps& steps = components_[c];
    const Steps& more = other.components_[c];
    steps.error += more.error;
    for (size_t i = 0; i < CJ2K_CURVE_POINTS; ++i) {
      steps.bytes[i] += more.bytes[i];
      steps.removed[i] += more.removed[i];
    }
  }
}

cj2k_curve CurveSum::curve(uint64_t empty_bytes, const RateLimits& limits, int lowest) const {
  Values all_bytes{}, all_error{};
  for (const Steps& steps : components_) {
    Values bytes{}, error{};
    double body = 0, left = steps.error;
    for (size_t i = CJ2K_CURVE_POINTS; i-- > 0;) {
      // What lies below `lowest` is not known.
      if (curve_slope(static_cast<int>(i)) >= lowest) {
        body += static_cast<double>(steps.bytes[i]) / kBodyShare;
        left -= steps.removed[i];
      }
      bytes[i] = body;
      error[i] = std::max(left, 0.0);
    }
    if (limits.component_bytes != kNoTarget)
      hold(static_cast<double>(limits.component_bytes), bytes, error);
    for (size_t i = 0; i < CJ2K_CURVE_POINTS; ++i) {
      all_bytes[i] += bytes[i];
      all_error[i] += error[i];
    }
  }
  cj2k_curve curve;
  for (size_t i = 0; i < CJ2K_CURVE_POINTS; ++i) {
    const double bytes = all_bytes[i] + static_cast<double>(empty_bytes);
    curve.bytes[i] = static_cast<uint32_t>(std::min(bytes, 4294967295.0));
    curve.error[i] = static_cast<float>(all_error[i]);
  }
  return curve;
}

}  // namespace cj2k
