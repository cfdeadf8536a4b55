// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <vector>

#include "coders/hull.h"
#include "core/slope.h"
#include "core/stop.h"

namespace cj2k {
namespace {

uint16_t last_slope(const std::vector<CodingPass>& passes, double weight) {
  return last_hull_slope([&](int i) { return passes[static_cast<size_t>(i)]; },
                         static_cast<int>(passes.size()), weight);
}

TEST_CASE("the last slope is that of the last point of the hull") {
  std::mt19937_64 random(1);
  int equal = 0, points_seen = 0, none = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    std::vector<CodingPass> passes;
    int plane = static_cast<int>(random() % 9);
    uint32_t length = 0;
    while (true) {
      length += static_cast<uint32_t>(random() % (trial % 3 == 0 ? 4 : 200));
      const auto distortion =
          (static_cast<int64_t>(random() % 4000) - 1000) * (int64_t{1} << plane);
      passes.push_back({length, static_cast<uint8_t>(plane), distortion});
      if (passes.size() % 3 != 1) continue;
      if (plane-- == 0) break;
    }
    const double weight = 1.0 + static_cast<double>(random() % 1000) / 64;
    HullPoint hull[kMaxPasses];
    double total = 0;
    const int points =
        build_hull(passes.data(), static_cast<int>(passes.size()), weight, false, hull, &total);
    const int slope = last_slope(passes, weight);
    if (points == 0) {
      CHECK(slope == kMaxSlope);
      ++none;
      continue;
    }
    // The hull merges points whose slopes are equal in 16 bits.
    CHECK(std::abs(slope - hull[points - 1].slope) <= 1);
    equal += slope == hull[points - 1].slope;
    ++points_seen;
  }
  CHECK(none > 10);
  CHECK(equal > points_seen * 99 / 100);
}

TEST_CASE("the last slope of few passes, by hand") {
  // On plane 0 with this weight, gains are the distortions as given.
  const auto slope = [](std::vector<CodingPass> passes) {
    return last_slope(passes, kDistortionOne);
  };
  CHECK(slope({{10, 0, 0}}) == kMaxSlope);
  CHECK(slope({{10, 0, -5}, {20, 0, 4}}) == kMaxSlope);
  CHECK(slope({{0, 0, 5}}) == kMaxSlope);
  CHECK(slope({{10, 0, 40}}) == kSlopeUnit + 2 * 256);
  CHECK(slope({{10, 0, 40}, {20, 0, 10}}) == kSlopeUnit);
  // Passes after the best pass do not count, and points below the hull are left out.
  CHECK(slope({{10, 0, 40}, {20, 0, 10}, {30, 0, -1}}) == kSlopeUnit);
  CHECK(slope({{10, 0, 40}, {20, 0, 5}, {30, 0, 15}}) == kSlopeUnit);
  CHECK(slope({{10, 0, 10}, {20, 0, 70}}) == kSlopeUnit + 2 * 256);
  // A length that is not exact yet can be above the next one.
  CHECK(slope({{10, 0, 40}, {25, 0, 5}, {20, 0, 5}}) == kSlopeUnit);
  // A pass of plane 2 counts four times.
  CHECK(slope({{10, 2, 10}}) == kSlopeUnit + 2 * 256);
}

TEST_CASE("a pause needs a margin, and a wide one after a plane of few bytes") {
  CHECK_FALSE(may_pause(1000, 40, 1000));
  CHECK_FALSE(may_pause(1000, 40, 1000 + kPauseMargin));
  CHECK(may_pause(1000, 40, 1001 + kPauseMargin));
  CHECK_FALSE(may_pause(1000, 39, 1000 + kSmallPlaneMargin));
  CHECK(may_pause(1000, 39, 1001 + kSmallPlaneMargin));
  CHECK_FALSE(may_pause(1, 1000, 0));
  CHECK_FALSE(may_pause(kMaxSlope, 1000, kMaxSlope));
}

TEST_CASE("the best slope left, by hand") {
  // 32 units of weight * 4^plane for one byte.
  CHECK(best_slope_left(1.0, 1) == kSlopeUnit + 5 * 256);
  CHECK(best_slope_left(1.0, 2) == kSlopeUnit + 7 * 256);
  CHECK(best_slope_left(1.0, 31) == kSlopeUnit + 65 * 256);
  CHECK(best_slope_left(0.25, 1) == kSlopeUnit + 3 * 256);
  CHECK(best_slope_left(0x1p100, 31) == kMaxSlope);
}

TEST_CASE("a paused block resumes for the error that is left, not for its last slope alone") {
  const HullPoint hull[] = {{100, 1, 30000, 9000},
                            {150, 4, 29000, 9500},
                            {260, 5, 28500, 9600},
                            {300, 6, 28000, 9700},
                            {400, 7, 26000, 9800}};
  const auto point = [&](int i) { return hull[i]; };
  // Little is left: the last slope counts.
  CHECK(slope_left(point, 5, 1, 1e9, 4) == 26000);
  // As much as would be steeper in eight times the bytes of the last plane, those of three points.
  const double left = 300.0 * 8 * 250;  // 400 - 150 bytes
  CHECK(slope_left(point, 5, left, 1e9, 4) == log_slope(300, 1));
  CHECK(log_slope(300, 1) > 26000);
  // With three points or fewer, in all bytes. The last pass is a significance pass: the clean-up pass
  // removed nothing, so the bytes of one plane count.
  CHECK(slope_left(point, 3, 400.0 * 260, 1e9, 4) == std::max<int>(28500, log_slope(400, 1)));
  // At most two octaves above the bound, and at most the bound where nothing was coded.
  CHECK(slope_left(point, 5, 1e30, 1.0, 2) == best_slope_left(1.0, 2) + 512);
  CHECK(slope_left(point, 5, 1e300, 0x1p100, 31) == kMaxSlope);
  CHECK(slope_left(point, 0, 1e30, 1.0, 2) == best_slope_left(1.0, 2));
}

TEST_CASE(
    "the next slope counts one plane's bytes where the clean-up pass took less than an eighth") {
  for (const uint32_t cleanup : {31u, 32u}) {
    const HullPoint hull[] = {{100, 1, 30000, 9000},
                              {300 - cleanup, 5, 28500, 9600},
                              {350 - cleanup, 6, 28000, 9700},
                              {350, 7, 26000, 9800}};
    const auto point = [&](int i) { return hull[i]; };
    // 350 - 100 bytes
    CHECK(next_slope(point, 4, 5000) == log_slope(5000, cleanup == 31 ? 250 : 8 * 250));
    CHECK(next_slope(point, 3, 5000) == log_slope(5000, 350 - cleanup));
    CHECK(next_slope(point, 1, 5000) == log_slope(5000, 8 * 100));
    CHECK(next_slope(point, 4, 0) == kMinSlope);
  }
}

TEST_CASE("blocks of LL never pause") {
  CHECK(pause_threshold(1234, kLL) == 0);
  CHECK(pause_threshold(1234, kHL) == 1234);
}

TEST_CASE("the value of a slope is the least that reaches it") {
  for (int slope = 2; slope < 65536; slope += 7) {
    const double value = slope_value(static_cast<uint16_t>(slope));
    CHECK(log_slope(value, 1) >= slope);
    CHECK(log_slope(value * (1 - 0x1p-52), 1) < slope);
  }
}

TEST_CASE("a pause from passes: what lies below the last plane, and the last plane's bytes") {
  // Plane 2 adds 39 or 40 bytes to 60. Its slope is one unit per byte or less.
  for (const uint32_t bytes : {39u, 40u}) {
    const std::vector<CodingPass> passes = {
        {60, 3, 3200}, {70, 2, 1}, {80, 2, 1}, {60 + bytes, 2, 1}};
    const auto pass = [&](int i) { return passes[static_cast<size_t>(i)]; };
    const uint16_t slope = last_hull_slope(pass, 4, 1.0);
    const uint16_t left = best_slope_left(1.0, 2);
    REQUIRE(slope + kPauseMargin < left);
    CHECK(may_pause_after(pass, 4, 1.0, static_cast<uint16_t>(left + 1)));
    CHECK(may_pause_after(pass, 4, 1.0, left) == (bytes == 40));
    CHECK(may_pause_after(pass, 4, 1.0, static_cast<uint16_t>(slope + kPauseMargin + 1)) ==
          (bytes == 40));
    CHECK_FALSE(may_pause_after(pass, 4, 1.0, static_cast<uint16_t>(slope + kPauseMargin)));
    CHECK_FALSE(may_pause_after(pass, 4, 1.0, 0));
  }
  // On the first plane all bytes are its own: 8 units for 40 or 39 bytes.
  const uint16_t slope = log_slope(8.0, 40);
  const auto first = [](int) { return CodingPass{40, 5, 1}; };
  CHECK(may_pause_after(first, 1, 1.0, static_cast<uint16_t>(slope + kPauseMargin + 1)));
  CHECK_FALSE(may_pause_after(first, 1, 1.0, static_cast<uint16_t>(slope + kPauseMargin)));
  const auto small = [](int) { return CodingPass{39, 5, 1}; };
  CHECK_FALSE(may_pause_after(small, 1, 1.0, best_slope_left(1.0, 5)));
}

}  // namespace
}  // namespace cj2k
