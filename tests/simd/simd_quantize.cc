// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <cmath>

#include "core/quantizer.h"
#include "pixels/quantize.h"
#include "pixels/target.h"
#include "support/check.h"

namespace cj2k {
namespace {

using namespace check;

/// Floats on both sides of every power of two and of the clamp, with signed zeros and the smallest
/// values.
std::vector<float> hard_floats(size_t count, float inverse_step, uint32_t max_magnitude) {
  const float edge = static_cast<float>(max_magnitude) / inverse_step;
  std::vector<float> values = {0.0f,
                               -0.0f,
                               1e-30f,
                               -1e-30f,
                               1.4e-45f,
                               1e30f,
                               -1e30f,
                               edge,
                               -edge,
                               std::nextafter(edge, 0.0f),
                               std::nextafter(edge, 1e38f)};
  for (int bit = 0; bit < 33; ++bit) {
    const float v = std::ldexp(1.0f, bit) / inverse_step;
    for (const float w : {std::nextafter(v, 0.0f), v, std::nextafter(v, 1e38f)}) {
      values.push_back(w);
      values.push_back(-w);
    }
  }
  std::mt19937_64 random(count);
  while (values.size() < count) {
    values.push_back(std::ldexp(static_cast<float>(static_cast<int64_t>(random())), -48) /
                     inverse_step);
  }
  std::shuffle(values.begin(), values.end(), random);
  values.resize(count);
  return values;
}

constexpr uint32_t kMaxima[] = {
    0, 1, 2, 255, 4095, (1u << 24) - 1, (1u << 24) + 1, 0x12345677u, 0x7FFFFFFFu};

TEST_CASE("quantize 9/7: the reference is floor, clamped, with a sign only where not zero") {
  for (const uint32_t max : kMaxima) {
    for (const float inverse_step : {1.0f, 0.0123f, 77.7f}) {
      for (const float c : hard_floats(512, inverse_step, max)) {
        uint32_t out = 0;
        const uint32_t all = ref::quantize_97(&c, 1, 1, 1, {inverse_step, 0, max}, &out, 1);
        const double exact = std::floor(static_cast<double>(std::abs(c) * inverse_step));
        const uint32_t magnitude = static_cast<uint32_t>(std::min<double>(exact, max));
        INFO("c ", c, " max ", max);
        REQUIRE((out & ~kSignBit) == magnitude);
        REQUIRE(all == magnitude);
        REQUIRE((out & kSignBit) == (c < 0 && magnitude != 0 ? kSignBit : 0));
      }
    }
  }
}

/// A block inside a plane with gaps on both sides, into a buffer with gaps.
template <typename T, typename Reference, typename Simd>
void compare(const std::vector<T>& values, int32_t width, int32_t height, Reference reference,
             Simd simd) {
  const ptrdiff_t stride = width + 5, out_stride = width + 2;
  REQUIRE(values.size() >= static_cast<size_t>(stride * height));
  Guarded<T> source(stride * height, 1);
  std::memcpy(source.data(), values.data(), stride * height * sizeof(T));
  Guarded<uint32_t> expected(out_stride * height, 3), actual(out_stride * height, 3);
  const uint32_t all = reference(source.data(), stride, expected.data(), out_stride);
  REQUIRE(expected.guards_intact());
  for_each_target(simd::quantize_target, [&](const char*) {
    std::memset(actual.data(), 0xA5, actual.count() * sizeof(uint32_t));
    INFO(width, "x", height);
    REQUIRE(simd(source.data(), stride, actual.data(), out_stride) == all);
    REQUIRE(actual.same_as(expected));
    REQUIRE(actual.guards_intact());
  });
}

TEST_CASE("quantize 9/7: the reference first rounds to multiples of the unit, ties to even") {
  for (const float unit : {0.015625f, 4.0f}) {
    std::vector<float> values = hard_floats(512, 1 / unit, 32767);
    for (const float half : {0.5f, -1.5f, 2.5f}) values.push_back(half * unit);
    for (const float c : values) {
      if (std::abs(c) >= 32767 * unit) continue;
      const auto units = static_cast<int16_t>(std::nearbyint(c / unit));
      const Quantizer97 quantizer{0.37f / unit, unit, 32767};
      const float step_units = 0.37f / unit * unit;
      const auto magnitude =
          static_cast<uint32_t>(std::abs(static_cast<float>(units)) * step_units);
      uint32_t out = 0, narrow = 0;
      ref::quantize_97(&c, 1, 1, 1, quantizer, &out, 1);
      ref::quantize_97(&units, 1, 1, 1, quantizer, &narrow, 1);
      INFO("c ", c, " unit ", unit);
      REQUIRE(out == sign_magnitude(c < 0, magnitude));
      REQUIRE(narrow == out);
    }
  }
}

TEST_CASE("quantize: every target equals the reference") {
  for (const int32_t width : odd_lengths()) {
    for (const int32_t height : {1, 2, 5}) {
      for (const uint32_t max : kMaxima) {
        for (const Quantizer97& quantizer :
             {Quantizer97{1.0f, 0, max}, Quantizer97{0.0123f, 0, max},
              Quantizer97{0.0123f, 8, max}}) {
          const std::vector<float> values =
              hard_floats((width + 5) * height, quantizer.inverse_step, max);
          compare(
              values, width, height,
              [&](const float* src, ptrdiff_t stride, uint32_t* out, ptrdiff_t out_stride) {
                return ref::quantize_97(src, stride, width, height, quantizer, out, out_stride);
              },
              [&](const float* src, ptrdiff_t stride, uint32_t* out, ptrdiff_t out_stride) {
                return simd::quantize_97(src, stride, width, height, quantizer, out, out_stride);
              });
          if (quantizer.unit == 0 || max == 0) continue;
          std::vector<int16_t> narrow((width + 5) * height);
          fill(narrow.data(), width, height, width + 5, Pattern::kRandom, -32767, 32767, width);
          compare(
              narrow, width, height,
              [&](const int16_t* src, ptrdiff_t stride, uint32_t* out, ptrdiff_t out_stride) {
                return ref::quantize_97(src, stride, width, height, quantizer, out, out_stride);
              },
              [&](const int16_t* src, ptrdiff_t stride, uint32_t* out, ptrdiff_t out_stride) {
                return simd::quantize_97(src, stride, width, height, quantizer, out, out_stride);
              });
        }
      }
      for (const Pattern pattern : kPatterns) {
        std::vector<int32_t> values((width + 5) * height);
        fill(values.data(), width, height, width + 5, pattern, -0x7FFFFFFF, 0x7FFFFFFF, width);
        compare(
            values, width, height,
            [&](const int32_t* src, ptrdiff_t stride, uint32_t* out, ptrdiff_t out_stride) {
              return ref::quantize_53(src, stride, width, height, out, out_stride);
            },
            [&](const int32_t* src, ptrdiff_t stride, uint32_t* out, ptrdiff_t out_stride) {
              return simd::quantize_53(src, stride, width, height, out, out_stride);
            });
        std::vector<int16_t> narrow(values.size());
        fill(narrow.data(), width, height, width + 5, pattern, -0x7FFF, 0x7FFF, width);
        compare(
            narrow, width, height,
            [&](const int16_t* src, ptrdiff_t stride, uint32_t* out, ptrdiff_t out_stride) {
              return ref::quantize_53(src, stride, width, height, out, out_stride);
            },
            [&](const int16_t* src, ptrdiff_t stride, uint32_t* out, ptrdiff_t out_stride) {
              return simd::quantize_53(src, stride, width, height, out, out_stride);
            });
      }
    }
  }
}

TEST_CASE("left distortion: every target equals the reference") {
  for (const int32_t width : odd_lengths()) {
    for (const int32_t height : {1, 2, 5}) {
      const ptrdiff_t stride = width + 3;
      std::vector<uint32_t> samples(static_cast<size_t>(stride * height));
      std::mt19937_64 random(static_cast<uint64_t>(width * 8 + height));
      for (const int planes : {1, 2, 6, 7, 8, 15, 31}) {
        for (uint32_t& s : samples) {
          const auto bits = static_cast<uint32_t>(random());
          s = bits & (kSignBit | (0x7FFFFFFFu >> (random() % 31)));
        }
        for (const bool reversible : {false, true}) {
          const uint64_t expected =
              ref::left_distortion(samples.data(), stride, width, height, planes, reversible);
          for_each_target(simd::quantize_target, [&](const char*) {
            INFO(width, "x", height, " planes ", planes);
            REQUIRE(simd::left_distortion(samples.data(), stride, width, height, planes,
                                          reversible) == expected);
          });
        }
      }
    }
  }
  const std::vector<uint32_t> largest(4096, 0x7FFFFFFF);
  for_each_target(simd::quantize_target, [&](const char*) {
    REQUIRE(simd::left_distortion(largest.data(), 64, 64, 64, 31, false) == 4096 * 2047ull * 2047);
  });
}

TEST_CASE("bench quantize" * doctest::skip()) {
  constexpr int32_t kWidth = 3840, kHeight = 2176, kBlock = 64;
  std::vector<float> plane97(static_cast<size_t>(kWidth) * kHeight);
  std::vector<int32_t> plane53(plane97.size());
  fill(plane97.data(), kWidth, kHeight, kWidth, Pattern::kRandom, -2048, 2047, 1);
  fill(plane53.data(), kWidth, kHeight, kWidth, Pattern::kRandom, -2048, 2047, 1);
  std::vector<uint32_t> block(kBlock * kBlock);
  uint32_t sink = 0;
  const auto all_blocks = [&](auto quantize) {
    for (int32_t y = 0; y < kHeight; y += kBlock) {
      for (int32_t x = 0; x < kWidth; x += kBlock) {
        sink |= quantize(static_cast<ptrdiff_t>(y) * kWidth + x);
      }
    }
  };
  const auto run = [&](const char* name, auto quantize97, auto quantize53) {
    const double samples = static_cast<double>(plane97.size());
    bench("quantize 9/7, 64x64 blocks", name, samples, samples * 8, [&] {
      all_blocks([&](ptrdiff_t at) {
        return quantize97(plane97.data() + at, kWidth, kBlock, kBlock,
                          Quantizer97{0.37f, 0.25f, 0xFFFFFu}, block.data(), kBlock);
      });
    });
    bench("quantize 5/3, 64x64 blocks", name, samples, samples * 8, [&] {
      all_blocks([&](ptrdiff_t at) {
        return quantize53(plane53.data() + at, kWidth, kBlock, kBlock, block.data(), kBlock);
      });
    });
  };
  run(
      "ref", [](const float* src, auto... rest) { return ref::quantize_97(src, rest...); },
      [](const int32_t* src, auto... rest) { return ref::quantize_53(src, rest...); });
  for_each_target(simd::quantize_target, [&](const char* name) {
    run(
        name, [](const float* src, auto... rest) { return simd::quantize_97(src, rest...); },
        [](const int32_t* src, auto... rest) { return simd::quantize_53(src, rest...); });
  });
  CHECK(sink != 0);
}

}  // namespace
}  // namespace cj2k
