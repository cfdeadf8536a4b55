// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Code-blocks as tier-1 might leave them, made from a seed, to test the steps after tier-1 without
// it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "coders/coded_block.h"
#include "coders/ebcot/tier1.h"
#include "plan/plan.h"

namespace cj2k::test {

class SyntheticFrame {
 public:
  struct Shape {
    double empty_blocks = 0.2;   ///< share of blocks without a non-zero coefficient
    double unused_blocks = 0.2;  ///< share of the other blocks of which no point is selected
    /// Per pass. One block in 16 has passes up to 64 times as long.
    uint32_t max_pass_bytes = 40;
  };

  SyntheticFrame(const Plan& plan, uint64_t seed, const Shape& shape) {
    std::mt19937_64 random(seed);
    const auto below = [&random](uint64_t n) { return static_cast<uint32_t>(random() % n); };
    const auto chance = [&random](double p) {
      return std::uniform_real_distribution<double>()(random) < p;
    };
    const size_t num_blocks = plan.blocks.size();
    const auto style = static_cast<uint32_t>(plan.params.cblk_style);
    storage_.resize(num_blocks);
    blocks.resize(num_blocks);
    final_points.resize(num_blocks);
    for (size_t i = 0; i < num_blocks; ++i) {
      if (chance(shape.empty_blocks)) continue;
      Storage& own = storage_[i];
      CodedBlock& block = blocks[i];
      const int max_planes = std::min<int>(plan.blocks[i].max_bit_planes, kMaxBitPlanes);
      if (max_planes < 1) continue;
      const int planes = 1 + static_cast<int>(below(static_cast<uint64_t>(max_planes)));
      block.zero_bit_planes = static_cast<uint8_t>(plan.blocks[i].max_bit_planes - planes);
      block.num_passes =
          static_cast<uint8_t>(1 + below(static_cast<uint64_t>(num_passes_of(planes))));
      const uint32_t max_pass_bytes =
          below(16) == 0 ? 64 * shape.max_pass_bytes : below(shape.max_pass_bytes) + 1;
      uint32_t length = 0;
      for (int pass = 0; pass < block.num_passes; ++pass) {
        length += below(max_pass_bytes + 1);
        own.pass_lengths.push_back(length);
        if (pass_terminates(style, pass))
          own.segments.push_back({length, static_cast<uint32_t>(pass + 1)});
      }
      uint32_t slope = 65535 - below(2000);
      for (int pass = 0; pass < block.num_passes; ++pass) {
        const uint32_t bytes = own.pass_lengths[pass];
        const uint32_t before = own.hull.empty() ? 0 : own.hull.back().length_bytes;
        if (bytes == before || below(3) == 0) continue;
        own.hull.push_back(
            {bytes, static_cast<uint16_t>(pass + 1), static_cast<uint16_t>(slope), 0.0});
        slope -= 1 + below(600);
      }
      for (const HullPoint& point : own.hull) {
        PassTail tail = {};
        tail.count = static_cast<uint8_t>(below(std::min<uint32_t>(point.length_bytes, 7) + 1));
        tail.offset_bytes = point.length_bytes - tail.count;
        for (uint8_t& byte : tail.bytes) byte = static_cast<uint8_t>(below(256));
        own.tails.push_back(tail);
      }
      own.data.resize(length);
      for (uint8_t& byte : own.data) byte = static_cast<uint8_t>(below(256));
      block.data = own.data.data();
      block.hull = own.hull.data();
      if (plan.params.cblk_style & CJ2K_STYLE_PTERM) block.tails = own.tails.data();
      block.num_hull = static_cast<uint8_t>(own.hull.size());
      block.segments = own.segments.data();
      block.num_segments = static_cast<uint8_t>(own.segments.size());
      final_points[i] =
          static_cast<uint8_t>(chance(shape.unused_blocks) ? 0 : below(own.hull.size() + 1));
    }
    layer_slopes.resize(static_cast<size_t>(plan.params.layers) - 1);
    for (uint16_t& slope : layer_slopes) slope = static_cast<uint16_t>(65535 - below(30000));
    std::sort(layer_slopes.begin(), layer_slopes.end(), std::greater<>());
  }

  Selection selection() const {
    return {blocks.data(), final_points.data(), layer_slopes.data(),
            static_cast<uint32_t>(layer_slopes.size()) + 1};
  }

  std::vector<CodedBlock> blocks;
  std::vector<uint8_t> final_points;
  std::vector<uint16_t> layer_slopes;

 private:
  struct Storage {
    std::vector<uint8_t> data;
    std::vector<HullPoint> hull;
    std::vector<uint32_t> pass_lengths;
    std::vector<SegmentEnd> segments;
    std::vector<PassTail> tails;
  };
  std::vector<Storage> storage_;
};

}  // namespace cj2k::test
