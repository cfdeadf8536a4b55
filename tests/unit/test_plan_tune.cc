// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Contrast sensitivity: the published numbers, which row a component takes, and shifts of levels.
#include <doctest/doctest.h>

#include <cmath>

#include "params/params.h"
#include "plan/plan.h"
#include "plan/plan_tune.h"

namespace cj2k {
namespace {

cj2k_params visual(int components = 3) {
  cj2k_params p;
  set_default_params(&p);
  p.width = 1024;
  p.height = 850;
  p.num_components = components;
  p.colorspace = CJ2K_COLOR_SRGB;
  p.tune = CJ2K_TUNE_VISUAL;
  p.visual_strength = 1;
  return p;
}

double amplitude(const cj2k_params& p, bool mct, int component, int level, Orientation o) {
  return std::sqrt(tune_weight(p, mct, component, level, o));
}

TEST_CASE("tune visual: the table, by component and level") {
  const cj2k_params p = visual();
  CHECK(amplitude(p, true, 0, 1, kHL) == doctest::Approx(0.2758));
  CHECK(amplitude(p, true, 0, 1, kLH) == doctest::Approx(0.2758));
  CHECK(amplitude(p, true, 0, 2, kHH) == doctest::Approx(0.7018));
  CHECK(amplitude(p, true, 0, 3, kHL) == doctest::Approx(1));
  CHECK(amplitude(p, true, 1, 1, kHH) == doctest::Approx(0.0263));
  CHECK(amplitude(p, true, 2, 5, kLH) == doctest::Approx(0.9424));
  CHECK(amplitude(p, true, 2, 9, kLH) == doctest::Approx(1));  // beyond the table
  CHECK(amplitude(p, true, 1, 5, kLL) == doctest::Approx(1));
  // No row rises towards the finest level, and the eye sees luma best.
  for (int level = 1; level < 6; ++level) {
    for (const Orientation o : {kHL, kLH, kHH}) {
      for (int c = 0; c < 3; ++c)
        CHECK(amplitude(p, true, c, level, o) <= amplitude(p, true, c, level + 1, o));
      CHECK(amplitude(p, true, 2, level, o) < amplitude(p, true, 0, level, o));
      CHECK(amplitude(p, true, 1, level, o) < amplitude(p, true, 2, level, o));
    }
  }
}

TEST_CASE("tune visual: strength, and mse") {
  cj2k_params p = visual();
  p.visual_strength = 0.5;
  CHECK(tune_weight(p, true, 0, 1, kHH) == doctest::Approx(0.0901));
  p.visual_strength = 1;
  p.tune = CJ2K_TUNE_MSE;
  CHECK(tune_weight(p, true, 1, 1, kHH) == doctest::Approx(1));
}

TEST_CASE("tune visual: which components are colour differences") {
  cj2k_params p = visual(4);
  p.alpha = 1;
  for (const int c : {0, 1, 2})  // R, G, B as they are
    CHECK(amplitude(p, false, c, 1, kHL) == doctest::Approx(0.2758));
  CHECK(tune_weight(p, true, 3, 1, kHH) == doctest::Approx(1));
  p.colorspace = CJ2K_COLOR_SYCC;
  CHECK(amplitude(p, false, 1, 1, kHL) == doctest::Approx(0.0863));
  CHECK(amplitude(p, false, 2, 1, kHL) == doctest::Approx(0.1835));
  p.colorspace = CJ2K_COLOR_XYZ;  // X' - Y' errors reach luminance through the inverse ICT
  CHECK(amplitude(p, true, 1, 1, kHL) == doctest::Approx(0.2758));
}

TEST_CASE("tune visual: subsampling is a shift of levels") {
  cj2k_params p = visual();
  p.colorspace = CJ2K_COLOR_SYCC;
  p.dx[1] = p.dy[1] = 2;  // 4:2:0
  p.dx[2] = 2;            // 4:2:2
  for (const Orientation o : {kHL, kLH, kHH})
    CHECK(tune_weight(p, false, 1, 1, o) == doctest::Approx(tune_weight(visual(), true, 1, 2, o)));
  CHECK(tune_weight(p, false, 2, 1, kHL) ==
        doctest::Approx(tune_weight(visual(), true, 2, 2, kHL)));
  CHECK(tune_weight(p, false, 2, 1, kLH) ==
        doctest::Approx(tune_weight(visual(), true, 2, 1, kLH)));
  CHECK(amplitude(p, false, 2, 1, kHH) == doctest::Approx(std::sqrt(0.0773 * 0.2598)));
}

TEST_CASE("tune visual: twice the distance is one level") {
  cj2k_params p = visual();
  p.visual_distance = 2;  // 2 * 850 samples: the distance of the table
  CHECK(tune_weight(p, true, 0, 1, kHL) == doctest::Approx(tune_weight(visual(), true, 0, 1, kHL)));
  p.visual_distance = 1;
  CHECK(tune_weight(p, true, 1, 1, kHL) == doctest::Approx(tune_weight(visual(), true, 1, 2, kHL)));
  p.visual_distance = 4;
  CHECK(tune_weight(p, true, 1, 3, kHL) == doctest::Approx(tune_weight(visual(), true, 1, 2, kHL)));
  CHECK(tune_weight(p, true, 1, 1, kHL) == doctest::Approx(tune_weight(visual(), true, 1, 1, kHL)));
}

TEST_CASE("tune visual: in the plan, beside steps that stay; lossless ignores them") {
  const Log silent;
  for (const cj2k_wavelet wavelet : {CJ2K_WAVELET_97, CJ2K_WAVELET_53}) {
    cj2k_params p = visual();
    p.wavelet = wavelet;
    p.target_bytes = 100000;
    cj2k_params resolved;
    Plan plan, plain;
    REQUIRE(resolve_params(p, silent, &resolved) == Status::kOk);
    REQUIRE(make_plan(resolved, silent, &plan) == Status::kOk);
    p.tune = CJ2K_TUNE_MSE;
    REQUIRE(resolve_params(p, silent, &resolved) == Status::kOk);
    REQUIRE(make_plan(resolved, silent, &plain) == Status::kOk);
    REQUIRE(plan.subbands.size() == plain.subbands.size());
    for (size_t b = 0; b < plan.subbands.size(); ++b) {
      const Subband &band = plan.subbands[b], &other = plain.subbands[b];
      CHECK(band.step == other.step);
      CHECK(other.visual_weight == 1);
      CHECK(band.visual_weight == tune_weight(plan.params, true, static_cast<int>(band.component),
                                              band.level, band.orientation));
      CHECK(band.distortion_weight ==
            doctest::Approx(other.distortion_weight * band.visual_weight));
    }
  }
  cj2k_params p = visual(), resolved;
  p.lossless = 1;
  REQUIRE(resolve_params(p, silent, &resolved) == Status::kOk);
  CHECK(resolved.tune == CJ2K_TUNE_MSE);
  CHECK(resolved.visual_strength == doctest::Approx(1));
  p.visual_strength = 0;
  REQUIRE(resolve_params(p, silent, &resolved) == Status::kOk);
  CHECK(resolved.visual_strength == 0.5);
}

}  // namespace
}  // namespace cj2k
