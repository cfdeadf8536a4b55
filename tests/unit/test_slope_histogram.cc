// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "rate/slope_histogram.h"

namespace cj2k {
namespace {

struct Segment {
  uint32_t component, slope;
  uint64_t bytes;
};

uint64_t bytes_of(const std::vector<Segment>& segments, uint32_t first, uint32_t end,
                  uint32_t slope) {
  uint64_t bytes = 0;
  for (const Segment& s : segments) {
    if (s.component >= first && s.component < end && s.slope >= slope) bytes += s.bytes;
  }
  return bytes;
}

TEST_CASE("slope histogram: the sums of the segments, with memory that is reused") {
  constexpr uint32_t kComponents = 3;
  std::mt19937 random(5);
  SlopeHistogram histogram(kComponents);
  // Ranges of slopes that rise, fall, touch both ends, and are empty.
  const uint32_t ranges[][2] = {{20000, 21000}, {1, 65535}, {64000, 65535}, {1, 40}, {0, 0}};
  for (const auto& [lowest, highest] : ranges) {
    histogram.clear();
    std::vector<Segment> segments;
    for (int b = 0; highest > 0 && b < 60; ++b) {
      const uint32_t component = random() % 2 * 2;  // none in component 1
      std::vector<HullPoint> hull(1 + random() % 6);
      for (HullPoint& point : hull)
        point.slope = static_cast<uint16_t>(lowest + random() % (highest - lowest + 1));
      std::sort(hull.begin(), hull.end(),
                [](const HullPoint& a, const HullPoint& c) { return a.slope > c.slope; });
      const uint32_t weight = 1 + random() % 3;
      uint32_t length = 0;
      for (HullPoint& point : hull) {
        const uint32_t more = 1 + random() % 100;
        segments.push_back({component, point.slope, uint64_t{more} * weight});
        point.length_bytes = length += more;
      }
      CodedBlock block;
      block.hull = hull.data();
      histogram.add(component, block, static_cast<uint32_t>(hull.size()), weight);
    }
    histogram.sum();
    for (uint32_t first = 0; first < kComponents; ++first) {
      for (const uint32_t slope : {0u, 1u, lowest, lowest + 1, (lowest + highest) / 2, highest,
                                   highest + 1, 65535u, kAboveAllSlopes}) {
        CAPTURE(slope);
        CHECK(histogram.bytes_at_least(first, kComponents, slope) ==
              bytes_of(segments, first, kComponents, slope));
      }
      const uint64_t half = bytes_of(segments, first, kComponents, 0) / 2;
      const uint32_t found = histogram.lowest_slope(first, kComponents, half);
      CHECK(bytes_of(segments, first, kComponents, found) <= half);
      if (found > 0) CHECK(bytes_of(segments, first, kComponents, found - 1) > half);
    }
  }
}

TEST_CASE("slope histogram: the passes of an HT block, as layers cut them") {
  SlopeHistogram histogram(2);
  LayerCuts cuts = {};
  const uint16_t slopes[] = {300, 200, 200};
  const uint32_t bytes[] = {50, 70, 100};
  std::copy(std::begin(slopes), std::end(slopes), std::begin(cuts.slopes));
  std::copy(std::begin(bytes), std::end(bytes), std::begin(cuts.bytes));
  histogram.add(1, cuts, 3);
  histogram.add(1, cuts, 1);
  histogram.sum();
  CHECK(histogram.bytes_at_least(0, 2, 301) == 0);
  CHECK(histogram.bytes_at_least(0, 2, 300) == 100);
  CHECK(histogram.bytes_at_least(0, 2, 201) == 100);
  CHECK(histogram.bytes_at_least(1, 2, 200) == 150);
  CHECK(histogram.bytes_at_least(0, 1, 0) == 0);
}

}  // namespace
}  // namespace cj2k
