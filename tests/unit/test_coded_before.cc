// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Whether blocks and frames lie on the steps of a coding before.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "coders/coded_before.h"
#include "params_support.h"
#include "support/encode.h"
#include "support/on_steps.h"

namespace cj2k {
namespace {

constexpr int kSide = 32;

/// A block of Laplacian magnitudes, quantised with steps of 2^plane * scale and noise of `noise`;
/// plane < 0: not quantised.
StepVote vote_of(int plane, double scale, double noise, double spread, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0, 1);
  std::exponential_distribution<double> laplacian(1);
  std::vector<uint32_t> samples(kSide * kSide);
  uint32_t all = 0;
  for (uint32_t& s : samples) {
    double value = laplacian(random) * spread;
    if (plane >= 0) {
      const double step = std::ldexp(scale, plane), q = std::floor(value / step);
      value = q > 0 ? (q + 0.5) * step : 0;
      value = std::fabs(value + noise * normal(random));
    }
    s = static_cast<uint32_t>(value);
    all |= s;
    s |= static_cast<uint32_t>(random() & 1) << 31;
  }
  CodeBlock block{};
  block.width = block.height = kSide;
  return step_vote(block, samples.data(), kSide, std::bit_width(all));
}

TEST_CASE("coded before: blocks that were cut at a plane of these steps vote for them") {
  for (int plane = 2; plane <= 14; ++plane) {
    CAPTURE(plane);
    for (const double spread : {0.8, 1.0, 3.0}) {
      CAPTURE(spread);
      // 8 bits: the noise of rounded pixels is 0.6 steps.
      CHECK(vote_of(plane, 1, 0.6, std::ldexp(spread, plane), 1) == StepVote::kOn);
      // 12 bits.
      if (plane > 4) CHECK(vote_of(plane, 1, 0.1, std::ldexp(spread, plane), 2) == StepVote::kOn);
    }
  }
}

TEST_CASE("coded before: blocks that were not coded, or with other steps, vote against them") {
  for (int plane = 4; plane <= 14; ++plane) {
    CAPTURE(plane);
    for (const double spread : {0.7, 1.0, 3.0}) {
      CAPTURE(spread);
      CHECK(vote_of(-1, 1, 0, std::ldexp(spread, plane), 3) == StepVote::kOff);
      for (const int set : {2, 3, 7}) {
        CAPTURE(set);
        CHECK(vote_of(plane, std::exp2(-set / 8.0), 0.6, std::ldexp(spread, plane), 4) ==
              StepVote::kOff);
      }
    }
  }
  // Nothing above the lowest plane that is looked at, and too few.
  CHECK(vote_of(-1, 1, 0, 0.5, 5) == StepVote::kNone);
  CHECK(vote_of(-1, 1, 0, 2, 6) == StepVote::kNone);
}

TEST_CASE("coded before: three votes in eight decide, of four or more") {
  const auto frame = [](int on, int off, int none) {
    std::vector<CodedBlock> blocks;
    std::vector<uint32_t> share;
    const auto add = [&](int count, StepVote vote) {
      for (int i = 0; i < count; ++i) {
        share.push_back(static_cast<uint32_t>(blocks.size()));
        blocks.emplace_back().step_vote = vote;
      }
    };
    add(on, StepVote::kOn);
    add(off, StepVote::kOff);
    add(none, StepVote::kNone);
    // Not of the share.
    blocks.emplace_back().step_vote = StepVote::kOn;
    return was_coded_before(blocks.data(), share);
  };
  CHECK(frame(3, 5, 0));
  CHECK(frame(30, 50, 100));
  CHECK_FALSE(frame(30, 51, 0));
  CHECK(frame(4, 0, 50));
  CHECK_FALSE(frame(3, 0, 50));
  CHECK_FALSE(frame(0, 0, 50));
}

std::string log_of(cj2k_params p, const test::Picture& picture) {
  const test::Encoded coded = test::encode(p, picture);
  REQUIRE(coded.status == CJ2K_OK);
  return coded.log;
}

/// The QCD marker segment.
std::vector<uint8_t> steps_of(const std::vector<uint8_t>& codestream) {
  constexpr uint8_t kQcd[] = {0xFF, 0x5C};
  const auto at =
      std::search(codestream.begin(), codestream.end(), std::begin(kQcd), std::end(kQcd));
  REQUIRE(codestream.end() - at > 4);
  return {at, at + 2 + (at[2] << 8 | at[3])};
}

TEST_CASE("coded before: frames keep the steps of quant_step, and the log says so") {
  // With 16x16 there are the 512 blocks from which on a sample predicts.
  for (const std::string text :
       {"coder=ht", "effort=2", "effort=3", "effort=3 cblk=16x16 width=512 height=384",
        "coder=ht frame_steps=first", "effort=2 depth=12"}) {
    CAPTURE(text);
    cj2k_params p = test::make_params(256, 192, 1, 8);
    test::set(p, "cblk", "32x32");
    test::set(p, "levels", "3");
    p.target_bytes = 12000;
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find(' ', at), text.size()), is = text.find('=', at);
      test::set(p, text.substr(at, is - at).c_str(), text.substr(is + 1, end - is - 1));
      at = end + 1;
    }
    test::Messages m;
    Plan plan;
    REQUIRE(make_plan(test::resolved(p), m.log, &plan) == Status::kOk);
    const int plane = p.depth[0] > 8 ? 8 : 4;
    for (const uint64_t seed : {1, 2, 3}) {
      const test::Picture on = test::picture_on_steps(plan, plane, 1, seed);
      const test::Picture off = test::picture_on_steps(plan, plane, 0.8, seed);
      CHECK(log_of(p, on).find("JPEG 2000 before") != std::string::npos);
      CHECK(log_of(p, off).find("JPEG 2000 before") == std::string::npos);
      cj2k_params kept = p;
      kept.frame_steps = 0;
      CHECK(steps_of(test::encode(p, on).bytes) == steps_of(test::encode(kept, on).bytes));
      CHECK(log_of(kept, on).find("JPEG 2000 before") == std::string::npos);
    }
    const test::Picture texture = test::make_picture(p, test::Content::kTexture, 4);
    CHECK(log_of(p, texture).find("JPEG 2000 before") == std::string::npos);
  }
}

}  // namespace
}  // namespace cj2k
