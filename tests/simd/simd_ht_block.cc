// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <array>
#include <bit>
#include <utility>

#include "coders/ht/block_decoder.h"
#include "coders/ht/ht_block.h"
#include "core/ht/plane_choice.h"
#include "pixels/target.h"
#include "support/check.h"
#include "support/test_blocks.h"

namespace cj2k {
namespace {

using namespace check;
using test::TestBlock;

HtNextRows rows_of(const TestBlock& block) {
  constexpr int kBytes = sizeof(uint32_t);
  return {reinterpret_cast<const uint8_t*>(block.samples().data()), block.stride() * kBytes,
          block.height(), block.width() * kBytes};
}

std::vector<uint8_t> cleanup(const TestBlock& block, int plane, bool simd) {
  const HtSamples samples{block.samples().data(), block.stride(), block.width(), block.height()};
  std::vector<uint8_t> out(kMaxHtCleanupBytes);
  out.resize(simd ? simd::ht_cleanup(samples, plane, out.data(), rows_of(block))
                  : ref::ht_cleanup(samples, plane, out.data()));
  return out;
}

HtCounts count(const TestBlock& block, int plane, bool simd) {
  const HtSamples samples{block.samples().data(), block.stride(), block.width(), block.height()};
  const bool reversible = block.height() % 2 == 0;
  return simd ? simd::ht_count(samples, plane, block.bit_planes(), reversible, rows_of(block))
              : ref::ht_count(samples, plane, block.bit_planes(), reversible);
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
    REQUIRE(simd::ht_cleanup_target() == simd::ht_block_target());
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

/// What the decoder makes of a block; nothing if it refuses the bytes.
std::vector<uint32_t> decode(const HtDecoder::Block& b, const std::vector<uint8_t>& cleanup,
                             const std::vector<uint8_t>& refinement) {
  static HtDecoder decoder;
  Guarded<uint32_t> samples(static_cast<size_t>(b.width * b.height), 0);
  const bool is_right = decoder.decode(b, cleanup, refinement, samples.data());
  CHECK(samples.guards_intact());
  if (!is_right) return {};
  return {samples.data(), samples.data() + samples.count()};
}

// That the samples are right, on one instruction set, is checked in tests/unit/test_ht_block.cc.
TEST_CASE("HT decoder: the same samples on every instruction set, of damaged bytes, too") {
  struct Case {
    HtDecoder::Block block;
    std::vector<uint8_t> cleanup, refinement;
    std::vector<uint32_t> expected;
  };
  std::vector<Case> cases;
  std::mt19937_64 random(17);
  const auto below = [&random](size_t n) { return static_cast<int>(random() % n); };
  size_t num_right = 0;
  for (int i = 0; i < 3000; ++i) {
    const int width = 1 + below(i % 9 == 0 ? 1024 : 70), most = std::min(4096 / width, 70);
    const int planes = 1 + below(i % 3 == 0 ? 30 : 10);
    const TestBlock block(width, 1 + below(static_cast<size_t>(most)), planes, test::kFills[i % 7],
                          random());
    if (block.bit_planes() == 0) continue;
    const int plane = below(static_cast<size_t>(block.bit_planes()));
    Case c{
        {block.width(), block.height(), plane, plane == 0 ? 1 : 1 + i % 3, i % 2 == 0}, {}, {}, {}};
    c.cleanup = cleanup(block, plane, false);
    if (plane > 0) {
      const Refined refined = refine(block, plane, c.block.is_causal, false);
      c.refinement = c.block.passes == 2 ? refined.sig_prop : refined.both;
    }
    if (i % 2 != 0) {
      for (int k = below(4); k >= 0; --k) c.cleanup[random() % c.cleanup.size()] ^= 1 << below(8);
      if (i % 4 == 1) c.refinement.resize(c.refinement.size() / 2);
    }
    c.expected = decode(c.block, c.cleanup, c.refinement);
    num_right += c.expected.empty() ? 0 : 1;
    if (i % 2 == 0) CHECK(!c.expected.empty());
    cases.push_back(std::move(c));
  }
  CHECK(num_right < cases.size());
  for_each_target(simd::ht_decoder_target, [&](const char*) {
    for (const Case& c : cases) {
      INFO("width ", c.block.width, " height ", c.block.height, " plane ", c.block.plane);
      REQUIRE(decode(c.block, c.cleanup, c.refinement) == c.expected);
    }
  });
}

}  // namespace
}  // namespace cj2k
