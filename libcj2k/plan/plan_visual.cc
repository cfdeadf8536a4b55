// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "plan/plan_visual.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace cj2k {
namespace {

/// Weights of the levels 1 (the finest) to 5, from W. Zeng, S. Daly, S. Lei, "An overview of the
/// visual optimization tools in JPEG 2000", Signal Processing: Image Communication 17 (2002), Table
/// 2: 4:4:4, viewed from a distance of 1700 samples.
constexpr int kWeightedLevels = 5;
struct LevelWeights {
  double side, diagonal;  ///< HL and LH; HH
};
constexpr LevelWeights kWeights[3][kWeightedLevels] = {
    {{0.2758, 0.0901}, {0.8378, 0.7018}, {1, 1}, {1, 1}, {1, 1}},
    {{0.0863, 0.0263}, {0.2564, 0.1362}, {0.4691, 0.3346}, {0.6523, 0.5444}, {0.7797, 0.7078}},
    {{0.1835, 0.0773}, {0.4130, 0.2598}, {0.6464, 0.5040}, {0.8254, 0.7220}, {0.9424, 0.8769}}};

/// L2 norms of the columns of the inverse ICT (T.800 G.3.2): what an error of Y, Cb or Cr is in
/// R'G'B', which is what is seen.
constexpr double kColourGains[3] = {1.7320508, 1.8051135, 1.5733973};

int log2_of(int32_t power_of_two) { return std::countr_zero(static_cast<uint32_t>(power_of_two)); }

}  // namespace

Shown shown_by(const cj2k_params& p, bool use_mct, int component) {
  const bool has_differences = use_mct || p.colorspace == CJ2K_COLOR_SYCC;
  if (!has_differences || component < 1 || component > 2) return Shown::kLuma;
  return component == 1 ? Shown::kBlueDifference : Shown::kRedDifference;
}

double visual_weight(Shown shown, int level, Orientation orientation, int dx, int dy) {
  if (orientation == kLL) return 1;
  const int x = log2_of(dx), y = log2_of(dy);
  // Where one axis alone is subsampled, a diagonal band of the full grid has no counterpart. The
  // table of 4:2:2 takes the weight of the finer side band.
  const bool is_diagonal = orientation == kHH && x == y;
  const int shift = orientation == kHL ? x : orientation == kLH ? y : std::min(x, y);
  const int row = level + shift - 1;
  if (row >= kWeightedLevels) return 1;
  const LevelWeights& weights = kWeights[static_cast<int>(shown)][row];
  return is_diagonal ? weights.diagonal : weights.side;
}

// The curve of the HTJ2K white paper, as OpenHTJ2K has it: libjpeg's scale of the quality, a floor of
// sqrt(1/2) LSB, and visual weights that fade out from 65 to 97.
QFactorScale qfactor_scale(int qfactor, int depth) {
  constexpr int kFull = 65, kNone = 97;
  constexpr double kAlphaFull = 0.04, kAlphaNone = 0.10;
  const auto multiplier = [](int q) { return q < 50 ? 50.0 / q : 2.0 * (1.0 - q / 100.0); };
  double power = 1;
  if (qfactor >= kNone) {
    power = 0;
  } else if (qfactor > kFull) {
    power = std::log(multiplier(kNone) / multiplier(qfactor)) /
            std::log(multiplier(kNone) / multiplier(kFull));
  }
  const double alpha = kAlphaNone * std::pow(kAlphaFull / kAlphaNone, power);
  return {alpha * multiplier(qfactor) + std::ldexp(std::sqrt(0.5), -depth), power};
}

double band_step(const cj2k_params& p, bool use_mct, int component, int level,
                 Orientation orientation) {
  if (p.qfactor == 0) return p.quant_step;
  const int depth = *std::max_element(p.depth, p.depth + p.num_components);
  const QFactorScale scale = qfactor_scale(p.qfactor, depth);
  const Shown shown = shown_by(p, use_mct, component);
  const double weight = visual_weight(shown, level, orientation, p.dx[component], p.dy[component]);
  return std::ldexp(scale.step, depth) / std::pow(weight, scale.weight_power) * kColourGains[0] /
         kColourGains[static_cast<int>(shown)];
}

}  // namespace cj2k
