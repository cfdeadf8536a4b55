// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <cmath>
#include <random>
#include <vector>

#include "coders/ebcot/colour_errors.h"
#include "pixels/quantize.h"
#include "pixels/target.h"
#include "support/check.h"

namespace cj2k {
namespace {

using namespace check;

/// Coefficients and their samples, with strides wider than the block.
struct Chroma {
  Chroma(int width, int height, uint64_t seed) : stride(width + 3), coefficient_stride(width + 5) {
    std::mt19937_64 random(seed);
    for (ptrdiff_t i = 0; i < coefficient_stride * height; ++i) {
      const int power = static_cast<int>(random() % 34) - 40;
      coefficients.push_back(std::ldexp(static_cast<float>(static_cast<int64_t>(random())), power));
    }
    coefficients[0] = -0.0f;
    samples.resize(static_cast<size_t>(stride * height));
    block = {samples.data(),     stride, width, height, coefficients.data(),
             coefficient_stride, 0.37f,  {},    0.4f};
    ref::quantize_97(coefficients.data(), coefficient_stride, width, height,
                     {1 / block.step, 0, 0x7FFFFFFF}, samples.data(), stride);
  }
  ptrdiff_t stride, coefficient_stride;
  std::vector<float> coefficients;
  std::vector<uint32_t> samples;
  ChromaBlock block;
};

TEST_CASE("colour errors: what a decoder does not show of a coefficient") {
  struct Row {
    float coefficient;
    uint32_t sample;
    int plane;
    bool upper;
    float shown;
  };
  constexpr uint32_t kMinus = kSignBit;
  const Row rows[] = {
      {5.3f, 5, 0, false, 5.5f},
      {-5.3f, 5 | kMinus, 0, false, -5.5f},
      {5.3f, 5, 1, false, 5.0f},
      {5.3f, 5, 2, false, 6.0f},
      {5.3f, 5, 3, false, 0.0f},
      {5.3f, 5, 31, false, 0.0f},
      {5.3f, 5, 2, true, 6.0f},
      {5.3f, 5, 1, true, 6.0f},
      {-13.9f, 13 | kMinus, 2, true, -12},
      {0.9f, 0, 0, false, 0.0f},
      {-2.2f, 1 | kMinus, 0, true, -1.5f},
  };
  for (const Row& row : rows) {
    INFO(row.coefficient, " plane ", row.plane, " upper ", row.upper);
    const ChromaBlock block{&row.sample, 1, 1, 1, &row.coefficient, 1, 2.0f, {row.plane, row.upper},
                            0.25f};
    float shift = 3;
    ref::add_colour_error(block, &shift);
    CHECK(shift == doctest::Approx(3 + 0.25 * (row.coefficient - 2 * row.shown)));
  }
}

TEST_CASE("colour errors: every target equals the reference") {
  for (const int width : {1, 3, 4, 15, 16, 33, 64}) {
    for (const int height : {1, 4, 7}) {
      const Chroma chroma(width, height, static_cast<uint64_t>(width * 100 + height));
      for (const int plane : {0, 1, 5, 17, 30, 31}) {
        for (const bool upper : {false, true}) {
          ChromaBlock block = chroma.block;
          block.cut = {plane, upper && plane < 31};
          const size_t count = static_cast<size_t>(width) * height;
          Guarded<float> expected(count, 1), actual(count, 1);
          std::fill_n(expected.data(), count, 1.25f);
          ref::add_colour_error(block, expected.data());
          for_each_target(simd::colour_errors_target, [&](const char*) {
            std::fill_n(actual.data(), count, 1.25f);
            INFO(width, "x", height, " plane ", plane);
            simd::add_colour_error(block, actual.data());
            REQUIRE(actual.same_as(expected));
            REQUIRE(actual.guards_intact());
          });
        }
      }
    }
  }
}

}  // namespace
}  // namespace cj2k
