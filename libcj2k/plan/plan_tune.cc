// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "plan/plan_tune.h"

#include <algorithm>
#include <cmath>

#include "plan/plan_visual.h"

namespace cj2k {
namespace {

/// The distance of the published weights, in samples.
constexpr double kTableDistance = 1700;

}  // namespace

double tune_weight(const cj2k_params& p, bool use_mct, int component, int level,
                   Orientation orientation) {
  const bool opacity = p.alpha != 0 && component == p.num_components - 1;
  if (p.tune != CJ2K_TUNE_VISUAL || opacity || orientation == kLL) return 1;
  // An error of X' - Y' or Z' - Y' reaches luminance.
  const Shown shown =
      p.colorspace == CJ2K_COLOR_XYZ ? Shown::kLuma : shown_by(p, use_mct, component);
  // A band that is high-pass along one axis is seen at the frequency of that axis.
  const double wide = std::log2(p.dx[component]), high = std::log2(p.dy[component]);
  double seen = level;
  seen += orientation == kHL ? wide : orientation == kLH ? high : (wide + high) / 2;
  if (p.visual_distance > 0) seen -= std::log2(p.visual_distance * p.height / kTableDistance);
  seen = std::max(seen, 1.0);
  const int below = static_cast<int>(seen);
  const double fine = visual_weight(shown, below, orientation, 1, 1);
  const double coarse = visual_weight(shown, below + 1, orientation, 1, 1);
  const double part = seen - below;
  const double log_weight = (1 - part) * std::log(fine) + part * std::log(coarse);
  return std::exp(2 * p.visual_strength * log_weight);
}

}  // namespace cj2k
