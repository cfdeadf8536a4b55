// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "coders/layer_cuts.h"
#include "core/slope.h"
#include "params/params.h"
#include "plan/plan.h"
#include "support/codestream_parser.h"
#include "support/encode.h"
#include "support/ht_decoder.h"

namespace cj2k {
namespace {

TEST_CASE("layer cuts: one pass is one step") {
  const uint32_t bytes[] = {100};
  const double distortion[] = {5000};
  const LayerCuts cuts = make_layer_cuts(1, bytes, distortion);
  CHECK(cuts.bytes[0] == 100);
  CHECK(cuts.slopes[0] == log_slope(5000, 100));
}

TEST_CASE("layer cuts: cleanup and SigProp are one step, MagRef is another") {
  const uint32_t bytes[] = {100, 120, 150};
  const double distortion[] = {5000, 5400, 5500};
  const LayerCuts cuts = make_layer_cuts(3, bytes, distortion);
  CHECK(std::equal(bytes, bytes + 3, cuts.bytes));
  CHECK(cuts.slopes[0] == log_slope(5400, 120));
  CHECK(cuts.slopes[1] == cuts.slopes[0]);
  CHECK(cuts.slopes[2] == log_slope(100, 30));
}

TEST_CASE("layer cuts: no layer ends before steeper bytes, nor before a pass without bytes") {
  const uint32_t bytes[] = {100, 120, 130};
  const double steep[] = {1000, 1010, 3000};
  const uint16_t all = log_slope(3000, 130);
  for (const uint16_t slope : make_layer_cuts(3, bytes, steep).slopes) CHECK(slope == all);
  const uint32_t none[] = {100, 130, 130};
  const double flat[] = {1000, 1200, 1200};
  const uint16_t both = log_slope(1200, 130);
  for (const uint16_t slope : make_layer_cuts(3, none, flat).slopes) CHECK(slope == both);
}

TEST_CASE("layer cuts: slopes never rise") {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    uint32_t bytes[3] = {2 + static_cast<uint32_t>(random() % 500), 0, 0};
    double distortion[3] = {static_cast<double>(random() % 100000), 0, 0};
    for (int k = 1; k < 3; ++k) {
      bytes[k] = bytes[k - 1] + static_cast<uint32_t>(random() % 60);
      distortion[k] = distortion[k - 1] + static_cast<double>(random() % 9000) - 500;
    }
    const LayerCuts cuts = make_layer_cuts(3, bytes, distortion);
    REQUIRE(cuts.slopes[0] == cuts.slopes[1]);
    REQUIRE(cuts.slopes[1] >= cuts.slopes[2]);
    REQUIRE(cuts.slopes[2] >= kMinSlope);
  }
}

/// A block as it is after a layer.
struct Step {
  uint32_t block, passes;
  test::HtBlock decoded;
};

test::HtBlock decode(const Plan& plan, uint32_t index, const test::ParsedBlock& read,
                     uint32_t passes) {
  const CodeBlock& block = plan.blocks[index];
  const auto cleanup = std::span<const uint8_t>(read.data).first(read.segments[0].end_byte);
  const auto rest = std::span<const uint8_t>(read.data).subspan(cleanup.size());
  const int plane = block.max_bit_planes - 1 - static_cast<int>(read.zero_planes);
  return test::decode_ht_block(cleanup, rest, block.width, block.height, static_cast<int>(passes),
                               plane, (plan.params.cblk_style & CJ2K_STYLE_VSC) != 0);
}

/// Decodes each block after each packet that has some of it, with the bytes so far. When all bytes
/// are there, the same passes must give the same samples: no layer may lack a byte.
/// @return the blocks that are cut before MagRef
int check_layers(const cj2k_params& p, uint64_t seed) {
  cj2k_params resolved;
  Plan plan;
  REQUIRE(resolve_params(p, Log(), &resolved) == Status::kOk);
  REQUIRE(make_plan(resolved, Log(), &plan) == Status::kOk);
  const test::Encoded encoded =
      test::encode(p, test::make_picture(p, test::Content::kTexture, seed));
  REQUIRE(encoded.status == CJ2K_OK);
  const test::ParsedCodestream parsed = test::parse_codestream(encoded.bytes);
  test::PacketReader reader(plan);
  std::vector<Step> steps;
  size_t at = parsed.tile_parts[0].data;
  std::vector<uint32_t> passes(plan.blocks.size(), 0);
  for (size_t i = 0; i < plan.packets.size(); ++i) {
    const PacketRef& ref = plan.packets[i];
    at += reader.read(ref, static_cast<uint32_t>(i), test::Bytes(encoded.bytes).subspan(at));
    const Precinct& precinct = plan.precincts[ref.precinct];
    for (uint32_t b = precinct.first_block; b < precinct.first_block + precinct.num_blocks; ++b) {
      const test::ParsedBlock& read = reader.blocks[b];
      if (read.passes == passes[b]) continue;
      passes[b] = read.passes;
      steps.push_back({b, read.passes, decode(plan, b, read, read.passes)});
    }
  }
  CHECK(at == parsed.tile_parts[0].end);
  int split = 0;
  for (const Step& step : steps) {
    const test::ParsedBlock& read = reader.blocks[step.block];
    INFO("block ", step.block, ", ", step.passes, " of ", read.passes, " passes");
    CHECK(step.decoded.error == nullptr);
    CHECK(read.passes <= 3);
    if (step.passes == read.passes) continue;
    // OpenJPEG 2.5 takes refinement passes that begin in a later layer for cleanup bytes.
    CHECK(step.passes == 2);
    CHECK(decode(plan, step.block, read, step.passes).doubled == step.decoded.doubled);
    ++split;
  }
  return split;
}

TEST_CASE("layers of HT blocks: each layer decodes, from its own bytes") {
  int split = 0;
  for (const int style : {0, static_cast<int>(CJ2K_STYLE_VSC)}) {
    for (const int64_t target : {0, 9000, 16000, 30000}) {
      for (const cj2k_wavelet wavelet : {CJ2K_WAVELET_97, CJ2K_WAVELET_53}) {
        cj2k_params p = test::make_params(260, 170, 3, 10);
        p.coder = CJ2K_CODER_HT;
        p.cblk_width = p.cblk_height = 32;
        p.cblk_style = style;
        p.wavelet = wavelet;
        p.target_bytes = target;
        p.layers = 12;
        p.frame_steps = 0;  // the bit-planes are those of the plan
        test::set(p, "device", "cpu");
        split += check_layers(p, static_cast<uint64_t>(target + style));
      }
    }
  }
  CHECK(split > 50);
}

}  // namespace
}  // namespace cj2k
