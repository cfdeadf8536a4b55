// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The region of interest: which code-blocks it takes, against the impulse response of each
// coefficient; shifts, and what is refused.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "plan/plan_region.h"
#include "unit/params_support.h"

namespace {

using namespace cj2k::test;
using cj2k::Plan;
using cj2k::Span;
using cj2k::Status;

// ---- The inverse transform of one line, F.3, as the standard writes it ----

using Line = std::vector<double>;  // element i is position x0 + i

double& mirrored(Line& x, int64_t i) {
  const int64_t n = static_cast<int64_t>(x.size());
  while (i < 0 || i >= n) i = i < 0 ? -i : 2 * (n - 1) - i;
  return x[static_cast<size_t>(i)];
}

// From interleaved coefficients to samples, in place.
void synthesise(Line& x, int64_t x0, bool reversible) {
  if (x.size() == 1) return;
  const std::vector<double> steps =
      reversible ? std::vector<double>{-0.25, 0.5}
                 : std::vector<double>{-0.443506852, -0.882911076, 0.052980119, 1.586134342};
  for (size_t s = 0; s < steps.size(); ++s) {
    for (int64_t i = 0; i < static_cast<int64_t>(x.size()); ++i) {
      if (((x0 + i) & 1) != static_cast<int64_t>(s & 1)) continue;
      x[static_cast<size_t>(i)] += steps[s] * (mirrored(x, i - 1) + mirrored(x, i + 1));
    }
  }
}

int64_t ceil_half(int64_t v) { return (v + 1) / 2; }

// The samples on [x0, x1) that coefficient `index` of a band of this level makes.
Line response(int64_t x0, int64_t x1, int level, bool high, int64_t index, bool reversible) {
  if (level == 0) {
    Line x(static_cast<size_t>(x1 - x0));
    x[static_cast<size_t>(index - x0)] = 1;
    return x;
  }
  Line x(static_cast<size_t>(x1 - x0));
  if (level == 1 && high) {
    x[static_cast<size_t>(2 * index + 1 - x0)] = 1;
  } else {
    const int64_t low0 = ceil_half(x0);
    const Line low = response(low0, ceil_half(x1), level - 1, high, index, reversible);
    for (size_t i = 0; i < low.size(); ++i) {
      x[static_cast<size_t>(2 * (low0 + static_cast<int64_t>(i)) - x0)] = low[i];
    }
  }
  synthesise(x, x0, reversible);
  return x;
}

bool reaches(const Line& x, int64_t x0, const Span& samples) {
  for (int64_t u = samples.begin; u < samples.end; ++u) {
    if (std::fabs(x[static_cast<size_t>(u - x0)]) > 1e-12) return true;
  }
  return false;
}

// Whether a coefficient of the block reaches a sample of the region, by definition.
bool needs_block(const Plan& plan, const cj2k::CodeBlock& block, const cj2k_region& region) {
  const cj2k::Subband& band = plan.subbands[block.subband];
  const cj2k::Resolution& res = plan.resolutions[band.resolution];
  const cj2k::TileComponent& tc = plan.tile_components[res.tile_component];
  const cj2k::Component& component = plan.components[tc.component];
  const auto axis = [&](int32_t begin, int32_t size, int32_t d, int32_t tc0, int32_t tc1, bool high,
                        int32_t first, int32_t count) {
    const Span samples =
        cj2k::intersection({(begin + d - 1) / d, (begin + size + d - 1) / d}, {tc0, tc1});
    for (int32_t i = first; i < first + count && !samples.empty(); ++i) {
      if (reaches(response(tc0, tc1, band.level, high, i, plan.reversible), tc0, samples)) {
        return true;
      }
    }
    return false;
  };
  return axis(region.x, region.width, component.dx, tc.rect.x0, tc.rect.x1, band.orientation & 1,
              band.rect.x0 + block.plane_x - band.plane_x, block.width) &&
         axis(region.y, region.height, component.dy, tc.rect.y0, tc.rect.y1, band.orientation & 2,
              band.rect.y0 + block.plane_y - band.plane_y, block.height);
}

Plan plan_of(const cj2k_params& p) {
  Plan plan;
  Messages m;
  const Status status = cj2k::make_plan(resolved(p), m.log, &plan);
  INFO(m.last());
  REQUIRE(status == Status::kOk);
  return plan;
}

std::string plan_error(const cj2k_params& p, Status expected) {
  Plan plan;
  Messages m;
  CHECK(cj2k::make_plan(resolved(p), m.log, &plan) == expected);
  REQUIRE(m.lines.size() == 1);
  return m.last();
}

}  // namespace

TEST_CASE("roi: the coefficients of one level that a range of samples needs") {
  for (const bool reversible : {false, true}) {
    for (int64_t x0 = 0; x0 < 3; ++x0) {
      for (int64_t x1 = x0 + 1; x1 < x0 + 14; ++x1) {
        for (int64_t begin = x0; begin < x1; ++begin) {
          for (int64_t end = begin + 1; end <= x1; ++end) {
            const cj2k::BandSpans spans = cj2k::band_spans({begin, end}, {x0, x1}, reversible);
            for (int64_t u = x0; u < x1; ++u) {
              const bool high = (u & 1) != 0;
              const Span& span = high ? spans.high : spans.low;
              const bool inside = u / 2 >= span.begin && u / 2 < span.end;
              const Line line = response(x0, x1, 1, high, u / 2, reversible);
              CHECK(inside == reaches(line, x0, {begin, end}));
            }
          }
        }
      }
    }
  }
}

TEST_CASE("roi: code-blocks against the impulse response of each of their coefficients") {
  struct Case {
    const char *roi, *tile, *offset, *dx, *levels;
  };
  const Case cases[] = {{"20,11,9,7", "0", "0x0", "1", "3"},
                        {"0,0,1,1", "0", "0x0", "1", "4"},
                        {"62,40,1,1/3,33,4,2", "0", "0x0", "1,2,2", "2"},
                        {"30,20,12,9", "29x23", "5x3", "1,2,1", "3"},
                        {"0,0,500,500", "0", "7x1", "1,1,2", "2"},
                        {"31,17,1,30", "16x16", "3x3", "1", "1"},
                        {"10,10,5,5", "0", "0x0", "1", "0"}};
  size_t inside = 0, outside = 0;
  for (const Case& c : cases) {
    for (const char* wavelet : {"9/7", "5/3"}) {
      cj2k_params p = valid();
      p.width = 63;
      p.height = 41;
      for (const auto& [key, value] : {std::pair{"roi", c.roi},
                                       {"tile", c.tile},
                                       {"dx", c.dx},
                                       {"image_offset", c.offset},
                                       {"levels", c.levels},
                                       {"wavelet", wavelet},
                                       {"cblk", "4x4"},
                                       {"mct", "off"}}) {
        REQUIRE(set(&p, key, value) == Status::kOk);
      }
      const Plan plan = plan_of(p);
      size_t wrong = 0;
      for (const cj2k::CodeBlock& block : plan.blocks) {
        bool expected = false;
        for (int i = 0; i < p.num_roi; ++i) expected |= needs_block(plan, block, p.roi[i]);
        wrong += block.in_region != expected;
        wrong += block.planes_above != (expected ? 0 : plan.roi_shifts[block.component]);
        ++(expected ? inside : outside);
      }
      CAPTURE(c.roi);
      CHECK(wrong == 0);
    }
  }
  CHECK(inside > 500);
  CHECK(outside > 500);
}

TEST_CASE("roi: the shift of a component is at least its largest M_b; weights of the region") {
  cj2k_params p = valid();
  p.lossless = 1;
  p.depth[1] = p.depth[2] = 10;
  Plan plan = plan_of(p);
  CHECK(plan.roi_shifts[0] == 0);
  CHECK(plan.region_gain == 1);
  REQUIRE(set(&p, "roi", "4,4,2,2") == Status::kOk);
  plan = plan_of(p);
  int most_planes = 0;
  for (uint32_t c = 0; c < 3; ++c) {
    int most = 0, bits = 0;
    for (const cj2k::Subband& band : plan.subbands) {
      CHECK(band.magnitude_bits <= band.max_bit_planes);
      if (band.component != c) continue;
      most = std::max<int>(most, band.max_bit_planes);
      bits = std::max<int>(bits, band.magnitude_bits);
    }
    CHECK(plan.roi_shifts[c] == std::max(most, bits + 1));
    if (c == 1) most_planes = most;
  }
  CHECK(plan.roi_shifts[1] == plan.roi_shifts[0] + 2);
  CHECK(plan.region_gain == std::ldexp(1.0, 2 * plan.roi_shifts[1]));
  for (const cj2k::CodeBlock& block : plan.blocks) {
    const double weight = plan.subbands[block.subband].distortion_weight;
    CHECK(cj2k::distortion_weight(plan, block) ==
          (block.in_region ? weight * plan.region_gain : weight));
  }
  // A larger shift is taken; the largest of all counts.
  const int least = plan.roi_shifts[1];
  p.num_roi = 2;
  p.roi[0].shift = least + 1;
  p.roi[1] = {0, 0, 1, 1, least};
  plan = plan_of(p);
  CHECK(plan.roi_shifts[0] == least + 1);
  CHECK(plan.roi_shifts[2] == least + 1);
  p.num_roi = 1;
  p.roi[0].shift = most_planes;
  CHECK(plan_of(p).roi_shifts[1] == most_planes);
  p.roi[0].shift = most_planes - 1;
  int bits = 0;
  for (const cj2k::Subband& band : plan.subbands) {
    if (band.component == 1) bits = std::max<int>(bits, band.magnitude_bits);
  }
  const std::string planes = std::to_string(most_planes);
  CHECK(contains(plan_error(p, Status::kInvalid),
                 "roi shift " + std::to_string(most_planes - 1) + " not in [" + planes + ", " +
                     std::to_string(30 - bits) + "]: component 1 has " + planes + " bit-planes"));
}

TEST_CASE("roi: too many bit-planes are refused with the figures; the chosen step leaves room") {
  cj2k_params p = valid();
  REQUIRE(set(&p, "roi", "4,4,2,2") == Status::kOk);
  for (const char* depth : {"8", "10", "12", "16"}) {
    for (int levels : {0, 3, 5, 6, 9}) {
      p.levels = levels;
      REQUIRE(set(&p, "depth", depth) == Status::kOk);
      const Plan plan = plan_of(p);
      CHECK(plan.roi_shifts[0] > 0);
    }
  }
  p.levels = 5;
  for (p.guard_bits = 1; p.guard_bits <= 7; ++p.guard_bits) {
    const Plan plan = plan_of(p);
    int planes = 0;
    for (const cj2k::Subband& band : plan.subbands)
      planes = std::max(planes, plan.roi_shifts[0] + band.magnitude_bits);
    CHECK(planes >= 29);
    CHECK(planes <= 30);
  }
  p.guard_bits = 3;
  p.quant_step = 128;
  CHECK(contains(plan_error(p, Status::kNotSupported),
                 "(depth 16, levels 5, 9/7, mct on, guard_bits 3) has coefficients of up to 14 "
                 "bits, and 31 with the shift of 17; decoders hold 30"));
  p.guard_bits = 0;
  p.quant_step = 0;
  p.lossless = 1;
  REQUIRE(set(&p, "depth", "12") == Status::kOk);
  CHECK(contains(plan_error(p, Status::kNotSupported), "and 31 with the shift of 16"));
  p.mct = CJ2K_MCT_OFF;
  CHECK(plan_of(p).roi_shifts[0] == 15);
}
