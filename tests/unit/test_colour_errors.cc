// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "coders/ebcot/colour_errors.h"
#include "params_support.h"
#include "plan/plan.h"

namespace cj2k {
namespace {

using test::resolved;
using test::valid;

cj2k_params coupled() {
  cj2k_params p = valid();
  p.width = 203;
  p.height = 147;
  p.num_components = 4;
  p.alpha = 1;
  p.tile_width = 100;
  p.tile_height = 90;
  p.cblk_width = p.cblk_height = 16;
  p.target_bytes = 10000;
  p.effort = 2;
  return p;
}

Plan plan_of(const cj2k_params& p) {
  Plan plan;
  REQUIRE(make_plan(resolved(p), Log(), &plan) == Status::kOk);
  return plan;
}

TEST_CASE("colour errors: components are coupled by RDOQ of the ICT alone") {
  CHECK(couples_colours(plan_of(coupled())));
  const auto with = [](auto change) {
    cj2k_params p = coupled();
    change(p);
    const Plan plan = plan_of(p);
    CHECK(colour_order(plan).triples.empty());
    CHECK(colour_order(plan).rest.empty());
    return couples_colours(plan);
  };
  CHECK_FALSE(with([](cj2k_params& p) { p.effort = 1; }));
  CHECK_FALSE(with([](cj2k_params& p) { p.tune = CJ2K_TUNE_VISUAL; }));
  CHECK_FALSE(with([](cj2k_params& p) { p.mct = CJ2K_MCT_OFF; }));
  CHECK_FALSE(with([](cj2k_params& p) { p.wavelet = CJ2K_WAVELET_53; }));
  CHECK_FALSE(with([](cj2k_params& p) {
    p.tile_width = p.tile_height = 0;
    p.num_roi = 1;
    p.roi[0] = {10, 10, 50, 40, 0};
  }));
}

TEST_CASE("colour errors: triples lie at one place, and each block is coded once") {
  const Plan plan = plan_of(coupled());
  const ColourOrder order = colour_order(plan);
  REQUIRE(order.triples.size() % 3 == 0);
  std::vector<uint32_t> all = order.triples;
  all.insert(all.end(), order.rest.begin(), order.rest.end());
  REQUIRE(all.size() == plan.blocks.size());
  std::sort(all.begin(), all.end());
  for (uint32_t b = 0; b < all.size(); ++b) REQUIRE(all[b] == b);
  for (const uint32_t b : order.rest) CHECK(plan.blocks[b].component == 3);
  for (size_t i = 0; i < order.triples.size(); i += 3) {
    const CodeBlock& luma = plan.blocks[order.triples[i + 2]];
    for (size_t k = 0; k < 3; ++k) {
      const CodeBlock& block = plan.blocks[order.triples[i + k]];
      CHECK(block.component == (k + 1) % 3);
      CHECK(block.plane_x == luma.plane_x);
      CHECK(block.plane_y == luma.plane_y);
      CHECK(block.width == luma.width);
      CHECK(block.height == luma.height);
      CHECK(block.orientation == luma.orientation);
      CHECK(luma_block(plan, order.triples[i + k]) == order.triples[i + 2]);
    }
  }
}

TEST_CASE("colour errors: some blocks bring the others of their triples, and no more") {
  const Plan plan = plan_of(coupled());
  const ColourOrder order = colour_order(plan);
  REQUIRE(order.triples.size() >= 9);
  REQUIRE(order.rest.size() >= 2);
  CHECK(order.some({}).triples.empty());
  CHECK(order.some({}).rest.empty());
  // One of the second triple, two of the third, and one without a triple.
  std::vector<uint32_t> blocks = {order.triples[4], order.triples[6], order.triples[8],
                                  order.rest[1]};
  std::sort(blocks.begin(), blocks.end());
  const ColourOrder some = order.some(blocks);
  CHECK(some.triples ==
        std::vector<uint32_t>(order.triples.begin() + 3, order.triples.begin() + 9));
  CHECK(some.rest == std::vector<uint32_t>{order.rest[1]});
}

TEST_CASE("colour errors: the factor makes R, G and B best") {
  // The columns of T.800 G.3.2.
  constexpr double kColumns[3][3] = {{1, 1, 1}, {0, -0.344136, 1.772}, {1.402, -0.714136, 0}};
  const auto error_of = [&](int component, double luma) {
    double sum = 0;
    for (int k = 0; k < 3; ++k) {
      const double e = kColumns[component][k] + luma;
      sum += e * e;
    }
    return sum;
  };
  cj2k_params p = coupled();
  Plan plan = plan_of(p);
  const ColourOrder order = colour_order(plan);
  for (const size_t component : {1u, 2u}) {
    // An error of 1 in Cb or Cr, and -shift in Y.
    const double shift = colour_factor(plan, order.triples[component - 1]) / kColourShift;
    const double least = error_of(static_cast<int>(component), -shift);
    CHECK(least < error_of(static_cast<int>(component), -shift + 0.001));
    CHECK(least < error_of(static_cast<int>(component), -shift - 0.001));
    // What is left if Y makes up for a part of it.
    const double left = error_of(static_cast<int>(component), -kColourShift * shift);
    const double all = error_of(static_cast<int>(component), 0);
    CHECK(error_left(plan, static_cast<uint32_t>(component)) ==
          doctest::Approx(left / all).epsilon(1e-4));
  }
  CHECK(error_left(plan, 0) == 1);
  CHECK(error_left(plan, 3) == 1);
  p.mct = CJ2K_MCT_OFF;
  plan = plan_of(p);
  for (uint32_t component = 0; component < 4; ++component) CHECK(error_left(plan, component) == 1);
}

TEST_CASE("colour errors: what is unknown after each pass") {
  struct Row {
    int passes, plane;
    bool upper;
  };
  for (const Row row : {Row{0, 31, false}, Row{1, 4, false}, Row{2, 3, true}, Row{3, 3, false},
                        Row{4, 3, false}, Row{5, 2, true}, Row{13, 0, false}}) {
    INFO(row.passes);
    const PlaneCut cut = plane_cut(5, row.passes);
    CHECK(cut.plane == row.plane);
    CHECK(cut.upper == row.upper);
  }
}

}  // namespace
}  // namespace cj2k
