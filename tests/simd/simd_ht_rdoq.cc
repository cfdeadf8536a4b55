// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "coders/ht/ht_block.h"
#include "coders/ht/ht_rdoq.h"
#include "pixels/quantize.h"
#include "pixels/target.h"
#include "support/check.h"

namespace cj2k {
namespace {

using namespace check;

constexpr float kStep = 0.5f;

/// Laplacian coefficients, some of them far larger, and their magnitudes. No memory follows the last row.
struct Block {
  Block(int width, int height, double mean, std::mt19937_64& random)
      : width(width), height(height), coefficients(static_cast<size_t>(width * height)) {
    for (float& c : coefficients) {
      const double u = (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53;
      const double size = random() % 64 == 0 ? 5000 * mean : mean;
      c = static_cast<float>(std::log(u) * size * kStep * (random() % 2 == 0 ? 1 : -1));
    }
    samples.resize(coefficients.size());
    all = ref::quantize_97(coefficients.data(), width, width, height,
                           {1 / kStep, 0, (1u << 30) - 1}, samples.data(), width);
  }
  int width, height;
  std::vector<float> coefficients;
  std::vector<uint32_t> samples;
  uint32_t all;
};

TEST_CASE("RDOQ of HT: the same changes by all instruction sets, at every size and plane") {
  std::mt19937_64 random(17);
  const auto scratch = std::make_unique<HtRdoqScratch>();
  int changed = 0;
  for (int i = 0; i < 150; ++i) {
    const int width = 1 + static_cast<int>(random() % (i % 9 == 0 ? 1024 : 70));
    const int most = std::min(4096 / width, 1024);
    const int height = 1 + static_cast<int>(random() % static_cast<uint64_t>(most));
    const int plane = static_cast<int>(random() % (i % 3 == 0 ? 18 : 6));
    const Block block(width, height, std::ldexp(1.0 + i % 4, plane), random);
    if (block.all >> plane == 0) continue;
    const double lambda = std::ldexp(0.05 + 0.1 * (i % 5), 2 * plane);
    for (const bool reversible : {false, true}) {
      CAPTURE(width);
      CAPTURE(height);
      CAPTURE(plane);
      CAPTURE(reversible);
      const HtRdoqBlock b{{block.samples.data(), width, width, height},
                          plane,
                          reversible ? nullptr : block.coefficients.data(),
                          width,
                          1 / kStep,
                          lambda,
                          {{41, -37}, {-53, 29}}};
      std::optional<HtRdoqResult> first;
      std::vector<uint32_t> expected;
      for_each_target(simd::ht_rdoq_target, [&](const char*) {
        std::vector<uint32_t> out(block.samples.size());
        const HtRdoqResult result = ht_rdoq(b, *scratch, out.data());
        if (!first) {
          first = result;
          expected = out;
          changed += result.changes;
        }
        REQUIRE(result.changes == first->changes);
        REQUIRE(result.is_empty == first->is_empty);
        REQUIRE(result.added == first->added);
        REQUIRE(out == expected);
      });
    }
  }
  CHECK(changed > 10000);
}

}  // namespace
}  // namespace cj2k
