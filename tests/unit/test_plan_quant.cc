// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Norms and steps of the subbands, against transforms of impulses and of the worst pictures.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "params/params.h"
#include "plan/plan.h"
#include "plan/plan_quant.h"

namespace {

using cj2k::Orientation;
using cj2k::Plan;
using cj2k::Status;

std::string g_messages;
const cj2k::Log kLog([](void*, cj2k_log_level, const char* message) { g_messages = message; },
                     nullptr);

cj2k_params picture(int32_t width, int32_t height, int components, int depth) {
  cj2k_params p;
  cj2k::set_default_params(&p);
  p.width = width;
  p.height = height;
  p.num_components = components;
  for (int32_t& d : p.depth) d = depth;
  return p;
}

Status try_plan(const cj2k_params& p, Plan* plan) {
  cj2k_params resolved;
  REQUIRE(cj2k::resolve_params(p, kLog, &resolved) == Status::kOk);
  return cj2k::make_plan(resolved, kLog, plan);
}

Plan plan_of(const cj2k_params& p) {
  Plan plan;
  const Status status = try_plan(p, &plan);
  INFO(g_messages);
  REQUIRE(status == Status::kOk);
  return plan;
}

int gain_of(const cj2k::Subband& band) {
  return (band.orientation == 0) ? 0 : band.orientation == 3 ? 2 : 1;
}

// One level of the inverse transform of T.800 F.3 on interleaved even and odd samples, in double,
// from the text of F.3.8.
void inverse_level(std::vector<double>& x, bool reversible) {
  const int n = static_cast<int>(x.size());
  const auto at = [&](int i) -> double& { return x[i < 0 ? -i : i >= n ? 2 * n - 2 - i : i]; };
  const auto step = [&](int parity, double factor) {
    for (int i = parity; i < n; i += 2) x[i] -= factor * (at(i - 1) + at(i + 1));
  };
  if (reversible) {
    step(0, 0.25);
    step(1, -0.5);
    return;
  }
  for (int i = 0; i < n; ++i) x[i] *= i % 2 ? 1 / 1.230174104914001 : 1.230174104914001;
  step(0, 0.443506852043971);
  step(1, 0.882911075530934);
  step(0, -0.052980118572961);
  step(1, -1.586134342059924);
}

// The picture of one coefficient near the middle of a band.
std::vector<double> impulse_picture(bool reversible, int level, bool high, int position) {
  std::vector<double> band(64);
  band[static_cast<size_t>(position)] = 1;
  for (int n = level; n > 0; --n) {
    std::vector<double> x(band.size() * 2);
    for (size_t i = 0; i < band.size(); ++i) x[2 * i + (n == level && high)] = band[i];
    inverse_level(x, reversible);
    band = x;
  }
  return band;
}

// The inner product of the pictures of two coefficients that are so far apart.
double impulse_product(bool reversible, int level, bool high, int distance) {
  const auto a = impulse_picture(reversible, level, high, 32);
  const auto b = impulse_picture(reversible, level, high, 32 + distance);
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}
double impulse_energy(bool reversible, int level, bool high) {
  return impulse_product(reversible, level, high, 0);
}

int32_t floor_div(int32_t a, int32_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

// The integer 5/3 of F.4.8.1 along one line. The result has the low band first, then the high band.
void forward_53(std::vector<int32_t>& x) {
  const int n = static_cast<int>(x.size());
  const auto at = [&](int i) { return x[i < 0 ? -i : i >= n ? 2 * n - 2 - i : i]; };
  for (int i = 1; i < n; i += 2) x[i] -= floor_div(at(i - 1) + at(i + 1), 2);
  for (int i = 0; i < n; i += 2) x[i] += floor_div(at(i - 1) + at(i + 1) + 2, 4);
  std::vector<int32_t> y;
  for (int i = 0; i < n; i += 2) y.push_back(x[i]);
  for (int i = 1; i < n; i += 2) y.push_back(x[i]);
  x = y;
}

constexpr int kSide = 64;
using Square = std::vector<int32_t>;

// `levels` levels on a square, vertical first, as F.4.2.
void forward_53_square(Square& s, int levels) {
  for (int n = 0, size = kSide; n < levels; ++n, size /= 2) {
    std::vector<int32_t> line(size);
    for (int x = 0; x < size; ++x) {
      for (int y = 0; y < size; ++y) line[y] = s[y * kSide + x];
      forward_53(line);
      for (int y = 0; y < size; ++y) s[y * kSide + x] = line[y];
    }
    for (int y = 0; y < size; ++y) {
      line.assign(s.begin() + y * kSide, s.begin() + y * kSide + size);
      forward_53(line);
      std::copy(line.begin(), line.end(), s.begin() + y * kSide);
    }
  }
}

/// Levels whose coefficients are rounded to units.
int levels_with_units(const Plan& plan) {
  int levels = plan.params.levels;
  for (const cj2k::Subband& band : plan.subbands)
    if (band.unit == 0) levels = std::min(levels, band.level - 1);
  for (const cj2k::Subband& band : plan.subbands) CHECK((band.unit > 0) == (band.level <= levels));
  return levels;
}

TEST_CASE("quant: overlaps are three quarters of the inner products of pictures of impulses") {
  for (const bool reversible : {false, true}) {
    for (int level = 0; level <= 6; ++level) {
      for (const Orientation o : {cj2k::kLL, cj2k::kHL, cj2k::kLH, cj2k::kHH}) {
        if (level == 0 && o != cj2k::kLL) continue;
        const cj2k::Overlaps overlaps = cj2k::overlaps_of(reversible, level, o);
        for (int d = 1; d <= 2; ++d) {
          const auto part = [&](bool high) {
            return 192 * impulse_product(reversible, level, high, d) /
                   impulse_energy(reversible, level, high);
          };
          CHECK(std::fabs(overlaps.x[d - 1] - part((o & 1) != 0)) <= 0.501);
          CHECK(std::fabs(overlaps.y[d - 1] - part((o & 2) != 0)) <= 0.501);
        }
      }
    }
  }
  CHECK(cj2k::overlaps_of(false, 2, cj2k::kHL).x[0] == -31);
  CHECK(cj2k::overlaps_of(true, 1, cj2k::kHL).y[0] == 32);
}

TEST_CASE("quant: HT that chooses its steps rounds the levels that 16 bits hold well enough") {
  cj2k_params p = picture(2048, 1080, 3, 8);
  p.coder = CJ2K_CODER_HT;
  const Plan plan = plan_of(p);
  CHECK(levels_with_units(plan) == 2);
  for (const cj2k::Subband& band : plan.subbands) {
    const double most = 128 * cj2k::analysis_l1_norm(false, band.level, band.orientation & 1) *
                        cj2k::analysis_l1_norm(false, band.level, band.orientation & 2);
    if (band.unit == 0) continue;
    int exponent;
    CHECK(std::frexp(band.unit, &exponent) == 0.5);
    CHECK(most / band.unit <= 32767);
    CHECK(most / band.unit > 16383);
    CHECK(band.unit <= band.step / 8);
  }
  for (const std::vector<cj2k::Subband>& finer : plan.finer_subbands)
    for (size_t b = 0; b < finer.size(); ++b) CHECK(finer[b].unit == plan.subbands[b].unit);
  p.depth[0] = p.depth[1] = p.depth[2] = 10;
  CHECK(levels_with_units(plan_of(p)) == 2);
  p.depth[0] = p.depth[1] = p.depth[2] = 12;
  CHECK(levels_with_units(plan_of(p)) == 0);
  p = picture(2048, 1080, 3, 8);
  p.effort = 2;
  CHECK(levels_with_units(plan_of(p)) == 0);
  p.coder = CJ2K_CODER_HT;
  CHECK(levels_with_units(plan_of(p)) == 0);
  p.effort = 1;
  p.frame_steps = 0;
  CHECK(levels_with_units(plan_of(p)) == 0);
}

}  // namespace

TEST_CASE("quant: energies are those of impulses") {
  for (const bool reversible : {false, true}) {
    for (int level = 1; level <= 6; ++level) {
      for (const bool high : {false, true}) {
        CAPTURE(reversible);
        CAPTURE(level);
        CAPTURE(high);
        CHECK(cj2k::synthesis_energy(reversible, level, high) ==
              doctest::Approx(impulse_energy(reversible, level, high)).epsilon(1e-9));
      }
    }
  }
  CHECK(cj2k::synthesis_energy(true, 0, false) == 1);
  // By hand from the taps: (1/2 1 1/2) and (-1/8 -1/4 3/4 -1/4 -1/8).
  CHECK(cj2k::synthesis_energy(true, 1, false) == 1.5);
  CHECK(cj2k::synthesis_energy(true, 1, true) == 0.71875);
  CHECK(cj2k::synthesis_energy(false, 1, false) == doctest::Approx(1.96591).epsilon(1e-5));
  CHECK(cj2k::synthesis_energy(false, 1, true) == doctest::Approx(0.52022).epsilon(1e-4));
  // Analysis: (-1/8 1/4 3/4 1/4 -1/8), (-1/2 1 -1/2).
  CHECK(cj2k::analysis_l1_norm(true, 1, false) == 1.5);
  CHECK(cj2k::analysis_l1_norm(true, 1, true) == 2);
  // In the limit a factor of two per level, up to the last level.
  CHECK(cj2k::synthesis_energy(false, 32, false) / cj2k::synthesis_energy(false, 31, false) ==
        doctest::Approx(2));
  for (const bool reversible : {false, true}) {
    CHECK(cj2k::analysis_l1_norm(reversible, 0, false) == 1);
    for (int level = 9; level <= 32; ++level) {
      for (const bool high : {false, true})
        CHECK(cj2k::analysis_l1_norm(reversible, level, high) ==
              doctest::Approx(cj2k::analysis_l1_norm(reversible, 8, high)).epsilon(0.02));
    }
  }
}

TEST_CASE("quant: the bound of 5/3 coefficients holds and is tight") {
  for (int run = 0; run < 9; ++run) {
    const int level = 1 + run / 3;
    const int amplitude = std::vector<int>{1, 3, 1 << 15}[run % 3];
    // The weights of the samples in one coefficient, from the transform of scaled impulses. In the
    // worst picture each sample has the sign of its weight.
    for (int o = 0; o < 4; ++o) {
      const int size = kSide >> level;
      const int cx = (o & 1 ? size : 0) + size / 2, cy = (o & 2 ? size : 0) + size / 2;
      const auto line_signs = [&](int coefficient) {
        std::vector<int> signs;
        for (int i = 0; i < kSide; ++i) {
          Square s(kSide * kSide);
          for (int y = 0; y < kSide; ++y) s[y * kSide + i] = 1 << 20;
          forward_53_square(s, level);
          signs.push_back(
              s[coefficient] >= 0 ? 1 : -1);  // of row 0, where the picture is constant vertically
        }
        return signs;
      };
      const std::vector<int> sx = line_signs(cx), sy = line_signs(cy);
      Square s(kSide * kSide);
      for (int y = 0; y < kSide; ++y) {
        for (int x = 0; x < kSide; ++x) {
          s[y * kSide + x] = sx[x] * sy[y] > 0 ? amplitude - 1 : -amplitude;
        }
      }
      forward_53_square(s, level);
      const double bound = cj2k::max_coefficient_53(amplitude, level, static_cast<Orientation>(o));
      const double got = std::abs(s[cy * kSide + cx]);
      CAPTURE(level);
      CAPTURE(o);
      CHECK(got <= bound);
      if (amplitude > 3) CHECK(got >= 0.999 * bound);  // smaller amplitudes: rounding dominates
    }
  }
}

TEST_CASE("quant: 5/3") {
  // 8 bits, no RCT: two guard bits hold |c| < 2^(8 + gain + 1). The largest coefficient is below
  // 2.95 * 2^7 * 2^gain.
  cj2k_params p = picture(512, 512, 1, 8);
  p.lossless = 1;
  Plan plan = plan_of(p);
  CHECK(plan.reversible);
  for (const cj2k::Subband& band : plan.subbands) {
    CHECK(band.exponent == 8 + gain_of(band));
    CHECK(band.mantissa == 0);
    CHECK(band.step == 1);
    CHECK(band.inverse_step == 1);
    CHECK(band.distortion_weight ==
          doctest::Approx(cj2k::synthesis_energy(true, band.level, band.orientation & 1) *
                          cj2k::synthesis_energy(true, band.level, band.orientation & 2)));
  }
  // M_b planes hold the largest coefficient with any number of guard bits, with and without RCT.
  for (int depth = 1; depth <= 16; ++depth) {
    for (int guard = 1; guard <= 7; ++guard) {
      for (const cj2k_mct mct : {CJ2K_MCT_OFF, CJ2K_MCT_ON}) {
        p = picture(512, 512, 3, depth);
        p.lossless = 1;
        p.guard_bits = guard;
        p.mct = mct;
        plan = plan_of(p);
        for (const cj2k::Subband& band : plan.subbands) {
          const double amplitude = std::ldexp(1.0, depth - 1 + (mct == CJ2K_MCT_ON));
          CHECK(cj2k::max_coefficient_53(amplitude, band.level, band.orientation) <
                std::ldexp(1.0, band.max_bit_planes));
          CHECK(band.exponent >= depth + gain_of(band));
          CHECK(band.max_bit_planes == guard + band.exponent - 1);
        }
      }
    }
  }
  // Components of equal depth share exponents. With the RCT, HL of level 1 needs no more, LL does.
  p = picture(64, 64, 3, 8);
  p.lossless = 1;
  p.levels = 1;
  plan = plan_of(p);
  for (size_t c = 0; c < 3; ++c) {
    CHECK(plan.subbands[c * 4].exponent == 9);
    CHECK(plan.subbands[c * 4 + 1].exponent == 9);
    CHECK(plan.subbands[c * 4 + 3].exponent == 10);
  }
  // Different depths: each has its own exponents, and weights are relative to the deepest.
  p = picture(64, 64, 2, 8);
  p.depth[1] = 10;
  p.lossless = 1;
  p.levels = 0;
  plan = plan_of(p);
  CHECK(plan.subbands[0].exponent == 8);
  CHECK(plan.subbands[1].exponent == 10);
  CHECK(plan.subbands[0].distortion_weight == 16);
  CHECK(plan.subbands[1].distortion_weight == 1);
}

TEST_CASE("quant: 9/7 steps") {
  for (const double quant_step : {1.0, 0.25, 3.0}) {
    cj2k_params p = picture(2048, 1080, 4, 12);
    p.depth[3] = 8;
    p.quant_step = quant_step;
    const Plan plan = plan_of(p);
    const size_t bands = plan.subbands.size() / 4;
    for (size_t i = 0; i < plan.subbands.size(); ++i) {
      const cj2k::Subband& band = plan.subbands[i];
      const int depth = p.depth[band.component];
      // The step that a decoder computes from exponent and mantissa, (E-3).
      const double step =
          std::ldexp(1 + band.mantissa / 2048.0, depth + gain_of(band) - band.exponent);
      CHECK(band.step == step);
      CHECK(band.inverse_step == 1.0f / band.step);
      const double norm =
          std::sqrt(cj2k::synthesis_energy(false, band.level, band.orientation & 1) *
                    cj2k::synthesis_energy(false, band.level, band.orientation & 2));
      CHECK(step * norm == doctest::Approx(std::ldexp(quant_step, depth - 12)).epsilon(1.0 / 4096));
      CHECK(band.exponent == plan.subbands[i % bands].exponent);
      CHECK(band.mantissa == plan.subbands[i % bands].mantissa);
      // The columns of the ICT in G.3.2, and LSB^2 of the deepest component.
      const double colour[] = {3.0, 0.344136 * 0.344136 + 1.772 * 1.772,
                               1.402 * 1.402 + 0.714136 * 0.714136, 1.0};
      const double scale = depth == 8 ? 256 : 1;
      CHECK(band.distortion_weight ==
            doctest::Approx(step * step * norm * norm * colour[band.component] * scale));
    }
  }
}

TEST_CASE("quant: 9/7 bit-planes hold every picture, one guard bit included") {
  for (const int depth : {1, 8, 12, 16}) {
    cj2k_params p = picture(512, 512, 1, depth);
    p.guard_bits = 1;
    const Plan plan = plan_of(p);
    for (const cj2k::Subband& band : plan.subbands) {
      const double largest = std::ldexp(1.0, depth - 1) *
                             cj2k::analysis_l1_norm(false, band.level, band.orientation & 1) *
                             cj2k::analysis_l1_norm(false, band.level, band.orientation & 2) /
                             band.step;
      CHECK(largest < std::ldexp(1.0, band.max_bit_planes));
    }
  }
}

TEST_CASE("quant: levels beyond the size of the picture, and steps out of range") {
  // The basis of a band stops growing once one sample is left. So 32 levels need no finer steps
  // than 10 here.
  cj2k_params p = picture(1024, 600, 3, 12);
  p.levels = 32;
  Plan plan = plan_of(p);
  cj2k_params ten = p;
  ten.levels = 10;
  CHECK(plan.subbands[0].exponent == plan_of(ten).subbands[0].exponent);
  p.lossless = 1;
  CHECK(plan_of(p).subbands[0].max_bit_planes <= 16);

  p = picture(4096, 2160, 3, 16);
  p.levels = 12;
  p.quant_step = 1.0 / 64;
  CHECK(try_plan(p, &plan) == Status::kNotSupported);
  CHECK(g_messages.find("quant_step 0.015625 (wavelet 9/7, depth[0] 16") == 0);
  CHECK(g_messages.find("not in [0, 31]") != std::string::npos);
  p.levels = 5;
  CHECK(try_plan(p, &plan) == Status::kOk);
  p = picture(64, 64, 1, 1);
  p.quant_step = 1024;
  CHECK(try_plan(p, &plan) == Status::kNotSupported);
  CHECK(g_messages.find("quant_step 1024") == 0);
}

TEST_CASE("quant: RCT weights") {
  cj2k_params p = picture(64, 64, 3, 8);
  p.wavelet = CJ2K_WAVELET_53;
  p.levels = 0;
  const Plan plan = plan_of(p);
  CHECK(plan.subbands[0].distortion_weight == 3);
  CHECK(plan.subbands[1].distortion_weight == 0.6875);
  CHECK(plan.subbands[2].distortion_weight == 0.6875);
}
