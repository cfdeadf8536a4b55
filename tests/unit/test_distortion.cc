// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The error that an early stop leaves (core/distortion.h), against sums over real values.
#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

#include "core/distortion.h"
#include "pixels/quantize.h"

namespace cj2k {
namespace {

struct Block {
  int width, height;
  ptrdiff_t stride;
  std::vector<uint32_t> samples;

  Block(int w, int h, int bit_planes, uint64_t seed) : width(w), height(h), stride(w + 3) {
    std::mt19937_64 random(seed);
    samples.resize(static_cast<size_t>(stride * h));
    for (uint32_t& s : samples) {
      const auto shift = static_cast<int>(random() % static_cast<uint64_t>(bit_planes));
      s = static_cast<uint32_t>(random() & 0x80000000u) |
          (static_cast<uint32_t>(random()) & 0x7FFFFFFFu) >> (31 - bit_planes + shift);
    }
  }
  double left(int planes, bool reversible) const {
    return LeftPlanes(planes, reversible)
        .error(ref::left_distortion(samples.data(), stride, width, height, planes, reversible));
  }
};

/// The squared error of a decoder that has the planes from `planes` up and takes the middle of the
/// interval. Each sample is its magnitude plus `below`, the part of a unit that quantisation cut
/// off; if `precision` is above 0 the part under plane `precision` is at its mean instead.
double brute_force(const Block& block, int planes, double below, int precision) {
  double sum = 0;
  for (int y = 0; y < block.height; ++y) {
    for (int x = 0; x < block.width; ++x) {
      const uint32_t magnitude =
          block.samples[static_cast<size_t>(y * block.stride + x)] & 0x7FFFFFFFu;
      double value = magnitude + below;
      if (precision > 0) {
        const double unit = std::ldexp(1.0, precision);
        value = (std::floor(magnitude / unit) + 0.5) * unit;
      }
      const double cut = std::ldexp(1.0, planes);
      const double coded = std::floor(magnitude / cut);
      const double decoded = coded == 0 ? 0 : (coded + 0.5) * cut;
      sum += (value - decoded) * (value - decoded);
    }
  }
  return sum;
}

TEST_CASE("left distortion: every number of planes") {
  uint64_t seed = 0;
  for (int bit_planes = 1; bit_planes <= 31; ++bit_planes) {
    for (int planes = 1; planes <= bit_planes; ++planes) {
      for (const bool reversible : {false, true}) {
        ++seed;
        const Block block(1 + static_cast<int>(seed * 7 % 67), 1 + static_cast<int>(seed * 5 % 40),
                          bit_planes, seed);
        const int precision = planes > kLeftPlanes ? planes - kLeftPlanes : 0;
        INFO(bit_planes, " planes, without ", planes, ", reversible ", reversible);
        REQUIRE(block.left(planes, reversible) ==
                brute_force(block, planes, reversible ? 0 : 0.5, precision));
      }
    }
  }
}

TEST_CASE("left distortion: the planes that are not looked at hardly matter") {
  double worst = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const Block block(64, 64, 20, seed);
    for (int planes = kLeftPlanes + 1; planes <= 20; ++planes) {
      const double exact = brute_force(block, planes, 0.5, 0);
      worst = std::max(worst, std::abs(block.left(planes, false) / exact - 1));
    }
  }
  MESSAGE("at most " << 100 * worst << " % off");
  CHECK(worst > 0);
  CHECK(worst < 0.005);
}

TEST_CASE("left distortion: the largest sums") {
  // Samples without a significant bit but all low bits, and the reverse.
  std::vector<uint32_t> ones(4096, 0x7FFFFFFF), top(4096, 0xC0000000);
  for (const int width : {4, 64, 1024}) {
    const int height = 4096 / width;
    CHECK(ref::left_distortion(ones.data(), width, width, height, 31, false) ==
          4096 * 2047ull * 2047);
    CHECK(ref::left_distortion(ones.data(), width, width, height, 31, true) ==
          4096 * 2047ull * 2047);
    CHECK(ref::left_distortion(top.data(), width, width, height, 30, false) ==
          4096 * 1023ull * 1023);
    CHECK(ref::left_distortion(ones.data(), width, width, height, 2, true) == 4096 * 4ull);
  }
}

}  // namespace
}  // namespace cj2k
