// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "film/magnitudes.h"
#include "pixels/target.h"
#include "support/check.h"

namespace cj2k {
namespace {

using namespace check;

/// Compares the counts of a block. No memory follows its last row.
template <typename Sample>
void check_counts(int width, int height, const std::vector<Sample>& samples, float scale) {
  CAPTURE(width);
  CAPTURE(height);
  const Coefficients<Sample> block{samples.data(), width, width, height};
  for (int first = 0; first < counted_quad_rows(height); ++first) {
    const MagnitudeCounts expected = ref::count_magnitudes(block, scale, first);
    for_each_target(simd::magnitudes_target, [&](const char*) {
      const MagnitudeCounts counts = simd::count_magnitudes(block, scale, first);
      CHECK(std::ranges::equal(counts.samples, expected.samples));
      CHECK(std::ranges::equal(counts.quads, expected.quads));
    });
  }
}

TEST_CASE("magnitudes: the same counts by all instruction sets, at every size") {
  std::mt19937_64 random(5);
  for (int i = 0; i < 120; ++i) {
    const int width = 1 + static_cast<int>(random() % (i % 9 == 0 ? 1024 : 70));
    const int most = std::min(4096 / width, 1024);
    const int height =
        i % 7 == 0 ? most : 1 + static_cast<int>(random() % static_cast<uint64_t>(most));
    std::vector<float> floats(static_cast<size_t>(width * height));
    std::vector<int32_t> integers(floats.size());
    const int largest = static_cast<int>(random() % 33);
    for (size_t at = 0; at < floats.size(); ++at) {
      const auto bits = static_cast<int32_t>(random());
      floats[at] = std::ldexp(static_cast<float>(bits), largest - 31);
      integers[at] = bits >> std::min(largest, 31);
      if (random() % 8 == 0) floats[at] = 0;
    }
    check_counts(width, height, floats, i % 2 == 0 ? 1.0f : 0.3f);
    check_counts(width, height, integers, 1);
  }
}

TEST_CASE("magnitudes: classes begin at powers of the square root of 2") {
  CHECK(magnitude_class(0) == 0);
  CHECK(magnitude_class(0.999f) == 0);
  CHECK(magnitude_class(-1) == 1);
  CHECK(magnitude_class(1.414f) == 1);
  CHECK(magnitude_class(1.415f) == 2);
  CHECK(magnitude_class(-2) == 3);
  CHECK(magnitude_class(std::ldexp(1.0f, 30)) == 61);
  CHECK(magnitude_class(std::ldexp(1.0f, 40)) == kMagnitudeClasses);
}

TEST_CASE("magnitudes: a quad counts by its largest sample, at the edges too") {
  const std::vector<float> samples = {0, 0, 9, 0, 2, 0};  // 3 x 2
  const MagnitudeCounts counts = ref::count_magnitudes({samples.data(), 3, 3, 2}, 1.0f, 0);
  CHECK(counts.samples[0] == 6);
  CHECK(counts.quads[0] == 2);
  CHECK(counts.samples[1] == 2);
  CHECK(counts.quads[3] == 2);
  CHECK(counts.samples[4] == 1);
  CHECK(counts.quads[7] == 1);
  CHECK(counts.quads[8] == 0);
}

}  // namespace
}  // namespace cj2k
