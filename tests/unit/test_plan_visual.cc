// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "params/params.h"
#include "plan/plan.h"
#include "plan/plan_visual.h"

namespace cj2k {
namespace {

cj2k_params rgb_params(int qfactor, int depth = 8) {
  cj2k_params p;
  set_default_params(&p);
  p.width = 768;
  p.height = 512;
  for (int32_t& d : p.depth) d = depth;
  p.qfactor = qfactor;
  return p;
}
Plan plan_of(const cj2k_params& p) {
  cj2k_params resolved;
  Plan plan;
  REQUIRE(resolve_params(p, Log(), &resolved) == Status::kOk);
  REQUIRE(make_plan(resolved, Log(), &plan) == Status::kOk);
  return plan;
}

TEST_CASE("qfactor: the steps are those of OpenHTJ2K") {
  // SPqcd of OpenHTJ2K, Qfactor=90, 8 bit RGB. Its gains of colours are rounded to four digits.
  const uint16_t expected[3][16] = {
      {0x66ff, 0x66d2, 0x66d2, 0x66a5, 0x5ee8, 0x5ee8, 0x5eca, 0x5734, 0x5734, 0x574b, 0x40af,
       0x40af, 0x41c7, 0x3ec7, 0x3ec7, 0x346d},
      {0x6664, 0x5808, 0x5808, 0x5852, 0x50d1, 0x50d1, 0x518f, 0x4a92, 0x4a92, 0x4c8c, 0x46e3,
       0x46e3, 0x3a7a, 0x3488, 0x3488, 0x2ae7},
      {0x5841, 0x5866, 0x5866, 0x5898, 0x5103, 0x5103, 0x518d, 0x4a5d, 0x4a5d, 0x4bc7, 0x4585,
       0x4585, 0x38c2, 0x31ef, 0x31ef, 0x36bf}};
  const Plan plan = plan_of(rgb_params(90));
  REQUIRE(plan.subbands.size() == 48);
  for (size_t i = 0; i < plan.subbands.size(); ++i) {
    const int step = plan.subbands[i].exponent << 11 | plan.subbands[i].mantissa;
    CAPTURE(i);
    CHECK(std::abs(step - expected[i / 16][i % 16]) <= 1);
  }
}

TEST_CASE("qfactor: steps fall with it, and 100 is a step of sqrt(1/2) LSB") {
  for (const int depth : {1, 8, 12, 16}) {
    std::vector<float> before;
    for (int q = 1; q <= 100; ++q) {
      const Plan plan = plan_of(rgb_params(q, depth));
      std::vector<float> steps;
      for (const Subband& band : plan.subbands) steps.push_back(band.step);
      CAPTURE(q);
      for (size_t i = 0; i < before.size(); ++i) CHECK(steps[i] <= before[i]);
      before = steps;
    }
    const QFactorScale best = qfactor_scale(100, depth);
    CHECK(std::ldexp(best.step, depth) == doctest::Approx(std::sqrt(0.5)));
    CHECK(best.weight_power == 0);
  }
}

TEST_CASE(
    "qfactor: no step is so near to the middle of two mantissas that libraries may disagree") {
  double nearest = 1;
  for (int depth = 1; depth <= 16; ++depth) {
    for (int q = 1; q <= 100; ++q) {
      const cj2k_params p = rgb_params(q, depth);
      for (int c = 0; c < 3; ++c) {
        for (int level = 1; level <= 6; ++level) {
          for (const Orientation o : {kLL, kHL, kHH}) {
            int power;
            const double step = band_step(p, true, c, level, o);
            const double mantissa = (2 * std::frexp(step, &power) - 1) * 2048;
            nearest = std::min(nearest, std::abs(mantissa - std::floor(mantissa) - 0.5));
          }
        }
      }
    }
  }
  CHECK(nearest > 1e-9);
}

TEST_CASE("visual weights: subsampled chroma has those of lower frequencies") {
  // HH, HL, LH of the levels 1 to 5, Table 2 of Zeng, Daly and Lei for 4:2:0 and 4:2:2.
  const double cb420[] = {0.1362, 0.2564, 0.2564, 0.3346, 0.4691, 0.4691, 0.5444, 0.6523,
                          0.6523, 0.7078, 0.7797, 0.7797, 1,      1,      1};
  const double cr422[] = {0.1835, 0.4130, 0.1835, 0.4130, 0.6464, 0.4130, 0.6464, 0.8254,
                          0.6464, 0.8254, 0.9424, 0.8254, 0.9424, 1,      0.9424};
  const Orientation bands[] = {kHH, kHL, kLH};
  for (int i = 0; i < 15; ++i) {
    const int level = 1 + i / 3;
    CAPTURE(i);
    CHECK(visual_weight(Shown::kBlueDifference, level, bands[i % 3], 2, 2) == cb420[i]);
    CHECK(visual_weight(Shown::kRedDifference, level, bands[i % 3], 2, 1) == cr422[i]);
  }
  for (int level = 1; level <= 32; ++level) {
    CHECK(visual_weight(Shown::kBlueDifference, level, kLL, 1, 1) == 1);
    CHECK(visual_weight(Shown::kLuma, level, kHH, 4, 4) <= 1);
  }
}

TEST_CASE("visual weights: chroma is what the ICT or sYCC says") {
  cj2k_params p = rgb_params(50);
  CHECK(shown_by(p, true, 0) == Shown::kLuma);
  CHECK(shown_by(p, true, 1) == Shown::kBlueDifference);
  CHECK(shown_by(p, true, 2) == Shown::kRedDifference);
  CHECK(shown_by(p, true, 3) == Shown::kLuma);
  CHECK(shown_by(p, false, 1) == Shown::kLuma);
  p.colorspace = CJ2K_COLOR_SYCC;
  CHECK(shown_by(p, false, 2) == Shown::kRedDifference);
}

}  // namespace
}  // namespace cj2k
