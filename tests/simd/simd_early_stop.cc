// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// A block that pauses and resumes must have the same bytes as a block that is coded in one go.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "coders/ebcot/tier1.h"
#include "coders/hull.h"
#include "core/ebcot/segments.h"
#include "core/slope.h"
#include "core/stop.h"
#include "support/picture.h"

namespace cj2k::test {
namespace {

struct Output {
  Output() : bytes(kMaxBlockBytes + 64), passes(kMaxPasses), tails(kMaxPasses) {
    view = {bytes.data() + 64, passes.data(), tails.data(), 0, 0};
  }
  std::vector<uint8_t> bytes;
  std::vector<CodingPass> passes;
  std::vector<PassTail> tails;
  Tier1Output view;
};

struct Block {
  std::vector<uint32_t> samples;
  Tier1Block view;
};

/// Laplacian magnitudes of about `scale`, which have structure for a coder to find.
Block make_block(int width, int height, double scale, uint32_t style, Orientation orientation,
                 uint64_t seed) {
  Random random(seed);
  Block block;
  const ptrdiff_t stride = (width + 15) / 16 * 16;
  block.samples.resize(static_cast<size_t>(stride * height));
  uint32_t all = 0;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const double local =
          scale * (1.1 + std::sin(0.3 * x + static_cast<double>(seed)) * std::cos(0.2 * y));
      const auto magnitude =
          static_cast<uint32_t>(-local * std::log((random.range(1, 10000)) / 10000.5));
      const uint32_t sign = magnitude != 0 && random.chance(50) ? 0x80000000u : 0u;
      block.samples[static_cast<size_t>(y * stride + x)] = magnitude | sign;
      all |= magnitude;
    }
  }
  block.view = {block.samples.data(), stride, width, height,
                orientation,          style,  false, static_cast<int>(std::bit_width(all))};
  return block;
}

void check_equal(const Tier1Output& a, const Tier1Output& b) {
  REQUIRE(a.num_passes == b.num_passes);
  REQUIRE(a.num_bytes == b.num_bytes);
  CHECK(std::memcmp(a.bytes, b.bytes, a.num_bytes) == 0);
  for (int i = 0; i < a.num_passes; ++i) {
    CHECK(a.passes[i].length_bytes == b.passes[i].length_bytes);
    CHECK(a.passes[i].distortion == b.passes[i].distortion);
    CHECK(a.passes[i].plane == b.passes[i].plane);
  }
}

TEST_CASE("early stop: pausing after every plane, or at one, changes no byte, for all styles") {
  Tier1Scratch scratch;
  Output whole, parts, again;
  SavedCoder saved, kept, saved_anew;
  for (uint32_t style = 0; style < 64; ++style) {
    for (int size : {0, 1, 2, 3}) {
      constexpr int kSizes[][2] = {{32, 32}, {64, 64}, {17, 33}, {5, 3}};
      const Block block = make_block(kSizes[size][0], kSizes[size][1], 3.0 + 9 * size, style,
                                     static_cast<Orientation>(style % 4),
                                     100 * style + static_cast<uint64_t>(size));
      simd::encode_block(block.view, scratch, whole.view);
      // Slope 65535 is above all others, so the block pauses after each plane and resumes.
      int pauses = 0;
      Tier1Stop stop{kMaxSlope, 0, 1.0, nullptr, &saved, false};
      do {
        const int before = stop.resume == nullptr ? 0 : num_planes_coded(parts.view.num_passes);
        simd::encode_block(block.view, scratch, parts.view, &stop);
        // The same without the state of the coder: from the start, and on.
        Tier1Stop anew{kMaxSlope, 0, 1.0, nullptr, &saved_anew, false, before};
        simd::encode_block(block.view, scratch, again.view, &anew);
        REQUIRE(anew.paused == stop.paused);
        check_equal(again.view, parts.view);
        if (!stop.paused) break;
        ++pauses;
        // A pause must report plausible lengths: none is more than 8 bytes below the one before.
        for (int i = 1; i < parts.view.num_passes; ++i) {
          CHECK(parts.passes[static_cast<size_t>(i)].length_bytes + 8 >=
                parts.passes[static_cast<size_t>(i - 1)].length_bytes);
        }
        std::memcpy(&kept, &saved, saved_bytes(parts.view.num_passes));
        stop.resume = &kept;
      } while (true);
      // No pause after a plane with few bytes and one of the highest slopes.
      CHECK(pauses <= block.view.bit_planes - 1);
      if (size < 3) CHECK(pauses >= block.view.bit_planes / 2);
      INFO("style ", style, " size ", size);
      check_equal(whole.view, parts.view);
    }
  }
}

TEST_CASE(
    "early stop: a pause comes at the first plane whose last hull slope is below the threshold") {
  Tier1Scratch scratch;
  Output whole, parts;
  SavedCoder saved;
  const Block block = make_block(64, 64, 40, 0, kHL, 7);
  simd::encode_block(block.view, scratch, whole.view);
  int different = 0, before = -1;
  for (int threshold = kSlopeUnit - 2560; threshold < kSlopeUnit + 5120; threshold += 64) {
    Tier1Stop stop{static_cast<uint16_t>(threshold), 0, 1.0, nullptr, &saved, false};
    simd::encode_block(block.view, scratch, parts.view, &stop);
    const int passes = parts.view.num_passes;
    if (stop.paused) {
      CHECK(last_hull_slope([&](int i) { return parts.view.passes[i]; }, passes, 1.0) < threshold);
      CHECK(passes < whole.view.num_passes);
    } else {
      CHECK(passes == whole.view.num_passes);
    }
    // The passes so far have the distortions of the whole block. Lengths differ by 1 at most.
    for (int i = 0; i < passes; ++i) {
      CHECK(parts.passes[static_cast<size_t>(i)].distortion ==
            whole.passes[static_cast<size_t>(i)].distortion);
      CHECK(std::abs(static_cast<int>(parts.passes[static_cast<size_t>(i)].length_bytes) -
                     static_cast<int>(whole.passes[static_cast<size_t>(i)].length_bytes)) <= 1);
    }
    if (before >= 0) CHECK(passes <= before);
    different += passes != before;
    before = passes;
  }
  CHECK(different >= block.view.bit_planes - 2);
}

}  // namespace
}  // namespace cj2k::test
