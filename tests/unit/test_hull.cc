// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

#include "coders/hull.h"
#include "core/distortion.h"
#include "core/slope.h"

namespace cj2k {
namespace {

struct Point {
  uint32_t length;
  int passes;
  double gain;
};

/// All points of the passes, beginning with (0, 0).
std::vector<Point> points_of(const std::vector<CodingPass>& passes, double weight) {
  std::vector<Point> points = {{0, 0, 0.0}};
  double removed = 0;
  for (size_t i = 0; i < passes.size(); ++i) {
    removed += std::ldexp(static_cast<double>(passes[i].distortion), passes[i].plane);
    points.push_back(
        {passes[i].length_bytes, static_cast<int>(i + 1), weight * (removed / kDistortionOne)});
  }
  return points;
}

/// The upper hull, found by a search from each of its points for the steepest step. Among equal
/// steps the longest one wins. A step that gains without bytes is the steepest.
std::vector<Point> brute_force_hull(const std::vector<Point>& points) {
  std::vector<Point> hull;
  size_t from = 0;
  while (true) {
    size_t best = from;
    for (size_t to = from + 1; to < points.size(); ++to) {
      // Lengths do not fall, so a later point with no more gain is no better.
      if (points[to].gain <= points[best].gain) continue;
      if (best == from) {
        best = to;
        continue;
      }
      // Whether (gain / length) of `to` is at least that of `best`. Lengths may be 0.
      const double to_gain = points[to].gain - points[from].gain;
      const double best_gain = points[best].gain - points[from].gain;
      const double to_bytes = points[to].length - points[from].length;
      const double best_bytes = points[best].length - points[from].length;
      if (to_bytes == 0 && best_bytes == 0) {
        if (to_gain >= best_gain) best = to;
      } else if (to_gain * best_bytes >= best_gain * to_bytes) {
        best = to;
      }
    }
    if (best == from) return hull;
    hull.push_back(points[best]);
    from = best;
  }
}

uint16_t slope_between(const Point& a, const Point& b) {
  return b.gain > a.gain ? log_slope(b.gain - a.gain, b.length - a.length) : kMinSlope;
}

/// A point whose slope in 16 bits is not below the slope before it replaces the point before.
std::vector<Point> merge_equal_slopes(std::vector<Point> hull) {
  for (size_t i = 0; i + 1 < hull.size();) {
    const Point origin = {0, 0, 0.0};
    const Point& before = i > 0 ? hull[i - 1] : origin;
    if (slope_between(before, hull[i]) > slope_between(hull[i], hull[i + 1])) {
      ++i;
      continue;
    }
    hull.erase(hull.begin() + static_cast<ptrdiff_t>(i));
    i = i > 0 ? i - 1 : 0;
  }
  return hull;
}

void check_invariants(const std::vector<HullPoint>& hull) {
  for (size_t i = 0; i < hull.size(); ++i) {
    CHECK(hull[i].slope >= kMinSlope);
    if (i == 0) {
      CHECK(hull[i].passes >= 1);
      continue;
    }
    REQUIRE(hull[i].length_bytes > hull[i - 1].length_bytes);
    REQUIRE(hull[i].passes > hull[i - 1].passes);
    REQUIRE(hull[i].slope < hull[i - 1].slope);
  }
}

std::vector<HullPoint> hull_of(const std::vector<CodingPass>& passes, double weight, bool keep_all,
                               double* total) {
  HullPoint hull[kMaxPasses];
  const int n =
      build_hull(passes.data(), static_cast<int>(passes.size()), weight, keep_all, hull, total);
  REQUIRE(n <= static_cast<int>(passes.size()));
  return std::vector<HullPoint>(hull, hull + n);
}

/// Passes like those of a block. `roughness` 0: like coded data, 1: anything.
std::vector<CodingPass> random_passes(std::mt19937& random, int planes, int roughness) {
  std::vector<CodingPass> passes;
  uint32_t length = 0;
  for (int pass = 0; pass < 3 * planes - 2; ++pass) {
    const int plane = planes - 1 - (pass + 2) / 3;
    uint32_t step = 1 + random() % 60;
    int64_t distortion = static_cast<int64_t>(random() % 4000) << plane;
    if (roughness > 0) {
      if (random() % 4 == 0) step = 0;
      if (random() % 4 == 0) distortion = -distortion;
      if (random() % 8 == 0) distortion = 0;
      if (random() % 30 == 0) step = 5000;
    } else if (random() % 10 == 0) {
      distortion = -distortion / 8;
    }
    length += step;
    passes.push_back({length, static_cast<uint8_t>(plane), distortion});
  }
  return passes;
}

TEST_CASE("hull: equals the brute-force upper hull") {
  std::mt19937 random(1);
  size_t points = 0;
  for (int round = 0; round < 20000; ++round) {
    const std::vector<CodingPass> passes =
        random_passes(random, 1 + static_cast<int>(random() % 31), round % 2);
    const double weight =
        std::ldexp(1.0 + random() % 1000 / 1000.0, static_cast<int>(random() % 40) - 20);
    double total = 0;
    const std::vector<HullPoint> hull = hull_of(passes, weight, false, &total);
    check_invariants(hull);
    const std::vector<Point> all = points_of(passes, weight);
    CHECK(total == all.back().gain);
    const std::vector<Point> expected = merge_equal_slopes(brute_force_hull(all));
    INFO("round ", round);
    REQUIRE(hull.size() == expected.size());
    for (size_t i = 0; i < hull.size(); ++i) {
      REQUIRE(hull[i].passes == expected[i].passes);
      REQUIRE(hull[i].length_bytes == expected[i].length);
      REQUIRE(hull[i].distortion == expected[i].gain);
      const Point before = i > 0 ? expected[i - 1] : Point{0, 0, 0.0};
      REQUIRE(hull[i].slope == slope_between(before, expected[i]));
    }
    points += hull.size();
  }
  CHECK(points > 100000);
}

TEST_CASE("hull: keep_all ends with the last pass") {
  std::mt19937 random(2);
  for (int round = 0; round < 5000; ++round) {
    const std::vector<CodingPass> passes =
        random_passes(random, 1 + static_cast<int>(random() % 12), round % 2);
    double total = 0, total_without = 0;
    const std::vector<HullPoint> hull = hull_of(passes, 1.0, true, &total);
    const std::vector<HullPoint> without = hull_of(passes, 1.0, false, &total_without);
    check_invariants(hull);
    REQUIRE(!hull.empty());
    CHECK(hull.back().passes == passes.size());
    CHECK(hull.back().length_bytes == passes.back().length_bytes);
    CHECK(hull.back().distortion == total);
    CHECK(total == total_without);
    if (!without.empty() && without.back().passes == passes.size()) {
      CHECK(hull.size() == without.size());
    }
  }
}

TEST_CASE("hull: nothing gained, nothing kept") {
  double total = 1;
  CHECK(hull_of({}, 1.0, false, &total).empty());
  CHECK(total == 0);
  CHECK(hull_of({}, 1.0, true, &total).empty());
  CHECK(hull_of({{10, 1, -5}, {20, 0, 0}}, 1.0, false, &total).empty());
  CHECK(total == -5.0 * 2 / kDistortionOne);
  const std::vector<HullPoint> kept = hull_of({{10, 1, -5}, {20, 0, 0}}, 1.0, true, &total);
  REQUIRE(kept.size() == 1);
  CHECK(kept[0].slope == kMinSlope);
}

/// Tier-1 never makes such lengths, but the result must be usable all the same.
TEST_CASE("hull: lengths that fall do no harm") {
  std::mt19937 random(3);
  for (int round = 0; round < 5000; ++round) {
    std::vector<CodingPass> passes = random_passes(random, 1 + static_cast<int>(random() % 12), 1);
    for (CodingPass& p : passes) p.length_bytes = 1 + random() % 500;
    for (const bool keep_all : {false, true}) {
      double total = 0;
      check_invariants(hull_of(passes, 1.0, keep_all, &total));
    }
  }
}

TEST_CASE("log slope: within 3/256 below log2, and monotone") {
  std::mt19937_64 random(4);
  double worst = 0;
  for (int round = 0; round < 200000; ++round) {
    const double gain = std::ldexp(1.0 + static_cast<double>(random() % (1u << 30)) * 0x1p-30,
                                   static_cast<int>(random() % 120) - 40);
    const uint32_t bytes = 1 + static_cast<uint32_t>(random() % (round % 2 != 0 ? 100 : 1000000));
    const double exact = 256 * std::log2(gain / bytes) + kSlopeUnit;
    const double off = exact - log_slope(gain, bytes);
    worst = std::max(worst, std::abs(off));
    // Rounded down to 8 bits of the mantissa, at most 1.44 steps, and down to whole steps.
    REQUIRE(off >= -1e-6);
    const double more = gain * (1 + 1e-12 * static_cast<double>(random() % 100000));
    REQUIRE(log_slope(more, bytes) >= log_slope(gain, bytes));
    REQUIRE(log_slope(gain, bytes + 1) <= log_slope(gain, bytes));
  }
  MESSAGE("log slope is at most " << worst << " of 1/256 octave below log2");
  CHECK(worst <= 1 + 1.4427);
  CHECK(log_slope(1.0, 1) == kSlopeUnit);
  CHECK(log_slope(2.0, 1) == kSlopeUnit + 256);
  CHECK(log_slope(1.0, 4) == kSlopeUnit - 512);
  CHECK(log_slope(1e-300, 1) == kMinSlope);
  CHECK(log_slope(5e-324, 4000000) == kMinSlope);
  CHECK(log_slope(1e300, 1) == kMaxSlope);
}

}  // namespace
}  // namespace cj2k
