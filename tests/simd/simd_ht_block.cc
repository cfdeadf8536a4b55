// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <array>
#include <bit>
#include <utility>

#include "coders/ht/ht_block.h"
#include "core/ht/plane_choice.h"
#include "pixels/target.h"
#include "support/check.h"
#include "support/test_blocks.h"

namespace cj2k {
namespace {

using namespace check;
using test::TestBlock;

std::vector<uint8_t> cleanup(const TestBlock& block, int plane, bool simd) {
  const HtSamples samples{block.samples().data(), block.stride(), block.width(), block.height()};
  std::vector<uint8_t> out(kMaxHtCleanupBytes);
  out.resize((simd ? simd::ht_cleanup : ref::ht_cleanup)(samples, plane, out.data()));
  return out;
}

HtCounts count(const TestBlock& block, int plane, bool simd) {
  const HtSamples samples{block.samples().data(), block.stride(), block.width(), block.height()};
  return (simd ? simd::ht_count : ref::ht_count)(samples, plane, block.bit_planes(),
                                                 block.height() % 2 == 0);
}
bool operator==(const HtCounts& a, const HtCounts& b) {
  return std::equal(a.significant, a.significant + kHtNearPlanes, b.significant) &&
         std::equal(a.left, a.left + kHtNearPlanes, b.left) && a.total == b.total;
}

struct Refined {
  std::vector<uint8_t> sig_prop, both;
  int64_t distortions[2];
  bool operator==(const Refined& o) const {
    return sig_prop == o.sig_prop && both == o.both && distortions[0] == o.distortions[0] &&
           distortions[1] == o.distortions[1];
  }
};
Refined refine(const TestBlock& block, int plane, bool causal, bool simd) {
  const HtSamples samples{block.samples().data(), block.stride(), block.width(), block.height()};
  Refined out;
  out.sig_prop.resize(kMaxHtRefinementBytes);
  out.both.resize(kMaxHtRefinementBytes);
  const HtRefinement r = (simd ? simd::ht_refinement : ref::ht_refinement)(
      samples, plane, causal, plane % 2 == 0, out.sig_prop.data(), out.both.data());
  out.sig_prop.resize(r.sig_prop_bytes);
  out.both.resize(r.both_bytes);
  out.distortions[0] = r.sig_prop_distortion;
  out.distortions[1] = r.mag_ref_distortion;
  return out;
}

/// SigProp without MagRef: the same segment and distortion as with it.
bool sig_prop_alone_is(const Refined& both, const TestBlock& block, int plane, bool causal,
                       bool simd) {
  const HtSamples samples{block.samples().data(), block.stride(), block.width(), block.height()};
  std::vector<uint8_t> alone(kMaxHtRefinementBytes);
  const HtRefinement r = (simd ? simd::ht_refinement : ref::ht_refinement)(
      samples, plane, causal, plane % 2 == 0, alone.data(), nullptr);
  alone.resize(r.sig_prop_bytes);
  return alone == both.sig_prop && r.both_bytes == 0 &&
         r.sig_prop_distortion == both.distortions[0];
}

TEST_CASE("HT passes: the bytes of the reference, at every size, content and plane") {
  std::mt19937_64 random(7);
  std::vector<TestBlock> blocks;
  for (int i = 0; i < 400; ++i) {
    const int width = 1 + static_cast<int>(random() % (i % 9 == 0 ? 1024 : 70));
    const int most = std::min(4096 / width, i % 9 == 1 ? 1024 : 40);
    const int height = 1 + static_cast<int>(random() % static_cast<uint64_t>(most));
    const int planes = 1 + static_cast<int>(random() % (i % 3 == 0 ? 30 : 10));
    blocks.emplace_back(width, height, planes, test::kFills[i % 7], random());
  }
  for (const int side : {4, 8, 16, 32, 64})
    blocks.emplace_back(side, 64, 9, test::Fill::kLaplacian, random());
  for_each_target(simd::ht_block_target, [&](const char*) {
    for (const TestBlock& block : blocks) {
      for (int plane = 0; plane < block.bit_planes(); plane += 1 + block.bit_planes() / 4) {
        INFO("width ", block.width(), " height ", block.height(), " plane ", plane);
        REQUIRE(cleanup(block, plane, true) == cleanup(block, plane, false));
        REQUIRE((count(block, plane, true) == count(block, plane, false)));
        if (plane == 0) continue;
        for (const bool causal : {false, true}) {
          const Refined expected = refine(block, plane, causal, false);
          REQUIRE(refine(block, plane, causal, true) == expected);
          for (const bool simd : {false, true})
            REQUIRE(sig_prop_alone_is(expected, block, plane, causal, simd));
        }
      }
    }
  });
}

}  // namespace
}  // namespace cj2k
