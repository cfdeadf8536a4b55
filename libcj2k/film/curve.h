// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The curve of a frame (cj2k_curve): its bytes and its squared error over the slope at which it is
// cut, from the hulls of its coded blocks.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "cj2k.h"
#include "cj2k_film.h"
#include "core/hull.h"
#include "core/slope.h"
#include "core/slope_search.h"
#include "plan/plan.h"
#include "plan/plan_caps.h"

namespace cj2k {

/// The slope of a curve's point 0, and the steps from point to point.
inline constexpr int kCurveLowest = kSlopeUnit - 6 * 256;
inline constexpr int kCurveStep = 128;
constexpr int curve_slope(int point) { return kCurveLowest + kCurveStep * point; }

/// Sums up the blocks of one frame, always in the same order, since doubles are summed.
class CurveSum {
 public:
  /// Adds a block. @param error  squared error without any point
  void add(uint32_t component, std::span<const HullPoint> points, double error);
  /// Adds all blocks of another sum.
  void add(const CurveSum& other);
  /// @param empty_bytes  a frame without any point
  /// @param limits       those of the components count
  /// @param lowest       log-slope below which points are not known; 0: all are. The curve is flat there
  cj2k_curve curve(uint64_t empty_bytes, const RateLimits& limits, int lowest) const;

 private:
  /// Of one component: what the points in each step of slope add.
  struct Steps {
    std::array<uint64_t, CJ2K_CURVE_POINTS> bytes{};
    std::array<double, CJ2K_CURVE_POINTS> removed{};
    double error = 0;  ///< without any point
  };
  std::array<Steps, CJ2K_MAX_COMPONENTS> components_{};
};

}  // namespace cj2k
