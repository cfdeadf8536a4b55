// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <random>
#include <vector>

#include "coders/coded_before.h"
#include "pixels/target.h"
#include "support/check.h"
#include "support/test_blocks.h"

namespace cj2k {
namespace {

using namespace check;
using test::TestBlock;

TEST_CASE("counts of samples near halves of a plane: the reference's, at every size and plane") {
  std::mt19937_64 random(11);
  std::vector<TestBlock> blocks;
  for (int i = 0; i < 200; ++i) {
    const int width = 1 + static_cast<int>(random() % (i % 9 == 0 ? 1024 : 70));
    const int height = 1 + static_cast<int>(random() % static_cast<uint64_t>(4096 / width));
    const int planes = 1 + static_cast<int>(random() % (i % 3 == 0 ? 30 : 10));
    blocks.emplace_back(width, height, planes, test::kFills[i % 7], random());
  }
  for_each_target(simd::coded_before_target, [&](const char*) {
    for (const TestBlock& b : blocks) {
      for (int plane = 0; plane < b.bit_planes(); ++plane) {
        INFO("width ", b.width(), " height ", b.height(), " plane ", plane);
        const HalfCounts e =
            ref::count_halves(b.samples().data(), b.stride(), b.width(), b.height(), plane);
        const HalfCounts a =
            simd::count_halves(b.samples().data(), b.stride(), b.width(), b.height(), plane);
        REQUIRE(a.significant == e.significant);
        REQUIRE(a.near_half == e.near_half);
        REQUIRE(a.near_middle == e.near_middle);
      }
    }
  });
}

}  // namespace
}  // namespace cj2k
