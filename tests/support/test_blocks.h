// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Code-blocks of samples for the tests of tier-1.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "coders/ebcot/tier1.h"

namespace cj2k::test {

/// The content of a block. kLaplacian is the closest to real subbands. kMidpoints: what a decoder shows of
/// it without all but the three highest planes.
enum class Fill { kLaplacian, kUniform, kSparse, kOnes, kSingle, kSmooth, kChecker, kMidpoints };
/// For blocks of any content.
inline constexpr Fill kFills[] = {Fill::kLaplacian, Fill::kUniform, Fill::kSparse, Fill::kOnes,
                                  Fill::kSingle,    Fill::kSmooth,  Fill::kChecker};

/// A block with rows as in Tier1Block::samples. The gaps hold values that must not matter.
class TestBlock {
 public:
  TestBlock(int width, int height, int max_planes, Fill fill, uint64_t seed)
      : width_(width), height_(height), stride_((width + 15) / 16 * 16) {
    std::mt19937_64 random(seed);
    samples_.resize(static_cast<size_t>(stride_ * height));
    for (uint32_t& s : samples_) s = static_cast<uint32_t>(random());
    const uint32_t max = max_planes == 0 ? 0 : 0xFFFFFFFFu >> (32 - max_planes);
    const size_t single = random() % static_cast<size_t>(width * height);
    const double scale = std::ldexp(0.12, max_planes);
    const double phase = static_cast<double>(random() % 100);
    uint32_t all = 0;
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        const double u = (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53;
        double magnitude = 0;
        switch (fill) {
          case Fill::kLaplacian:
            magnitude = -std::log(u) * scale;
            break;
          case Fill::kUniform:
            magnitude = u * (static_cast<double>(max) + 1);
            break;
          case Fill::kSparse:
            magnitude = random() % 40 == 0 ? u * (static_cast<double>(max) + 1) : 0;
            break;
          case Fill::kOnes:
            magnitude = max;
            break;
          case Fill::kSingle:
            magnitude = static_cast<size_t>(y * width + x) == single ? max : 0;
            break;
          case Fill::kSmooth:
            magnitude = std::fabs(std::sin(phase + x * 0.11) * std::cos(y * 0.07)) * max;
            break;
          case Fill::kChecker:
            magnitude = ((x ^ y) & 1) != 0 ? max : 0;
            break;
          case Fill::kMidpoints: {
            const double unit = std::ldexp(1, max_planes - 3);
            const double level = std::floor(-std::log(u) * scale / unit);
            magnitude = level == 0 ? 0 : (level + 0.5) * unit;
            break;
          }
        }
        const uint32_t m = static_cast<uint32_t>(std::min(magnitude, static_cast<double>(max)));
        const bool negative = fill == Fill::kSmooth ? std::sin(phase + x * 0.11) < 0
                              : fill == Fill::kOnes ? seed % 2 != 0
                                                    : random() % 2 != 0;
        samples_[at(x, y)] = m | (negative && m != 0 ? uint32_t{1} << 31 : 0);
        all |= m;
      }
    }
    bit_planes_ = static_cast<int>(std::bit_width(all));
  }

  Tier1Block block(Orientation orientation, uint32_t style, bool reversible) const {
    return {samples_.data(), stride_, width_, height_, orientation, style, reversible, bit_planes_};
  }
  int width() const { return width_; }
  int height() const { return height_; }
  int bit_planes() const { return bit_planes_; }
  size_t count() const { return static_cast<size_t>(width_ * height_); }
  uint32_t magnitude(size_t i) const { return sample(i) & 0x7FFFFFFFu; }
  bool negative(size_t i) const { return sample(i) >> 31 != 0; }
  const std::vector<uint32_t>& samples() const { return samples_; }
  ptrdiff_t stride() const { return stride_; }

 private:
  size_t at(int x, int y) const { return static_cast<size_t>(y * stride_ + x); }
  uint32_t sample(size_t i) const {
    const int width = width_, index = static_cast<int>(i);
    return samples_[at(index % width, index / width)];
  }

  int width_, height_;
  ptrdiff_t stride_;
  int bit_planes_ = 0;
  std::vector<uint32_t> samples_;
};

/// A Tier1Output with its memory.
struct TestOutput {
  TestOutput() : memory(kMaxBlockBytes + 64), passes(kMaxPasses), tails(kMaxPasses) {
    out = {memory.data() + 64, passes.data(), tails.data(), 0, 0};
  }
  TestOutput(const TestOutput&) = delete;
  TestOutput& operator=(const TestOutput&) = delete;
  std::vector<uint8_t> memory;
  std::vector<CodingPass> passes;
  std::vector<PassTail> tails;
  Tier1Output out;
};

}  // namespace cj2k::test
