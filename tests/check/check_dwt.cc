// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <cmath>
#include <vector>

#include "check/check.h"
#include "stages/dwt.h"
#include "stages/target.h"

namespace cj2k {
namespace {

using namespace check;

template <typename T>
using Transform = void (*)(Plane<T>, int, int32_t, int32_t, T*);

/// Part of a plane with gaps between rows, transformed by the reference and by every target.
template <typename T>
void compare(Transform<T> reference, Transform<T> simd, bool vertical, int32_t width,
             int32_t height, int32_t limit) {
  const int32_t ranged = vertical ? width : height;
  const ptrdiff_t stride = width + 3;
  const size_t count = static_cast<size_t>(stride) * height;
  const size_t scratch_count = dwt_scratch_samples(width, height);
  for (const int parity : {0, 1}) {
    for (const Pattern pattern : kPatterns) {
      Guarded<T> source(count, 1);
      fill(source.data(), width, height, stride, pattern, -limit, limit, width * 1000 + height);
      const int32_t begin = ranged > 4 ? 1 : 0, end = ranged > 4 ? ranged - 1 : ranged;
      Guarded<T> expected(count, 1), scratch(scratch_count, 1), actual(count, 1);
      expected.copy_from(source);
      reference({expected.data(), width, height, stride}, parity, begin, end, scratch.data());
      REQUIRE(expected.guards_intact());
      REQUIRE(scratch.guards_intact());
      for_each_target(simd::dwt_target, [&](const char*) {
        actual.copy_from(source);
        simd({actual.data(), width, height, stride}, parity, begin, end, scratch.data());
        INFO((vertical ? "vertical " : "horizontal "), width, "x", height, " parity ", parity,
             " pattern ", static_cast<int>(pattern));
        REQUIRE(actual.same_as(expected));
        REQUIRE(actual.guards_intact());
        REQUIRE(scratch.guards_intact());
      });
    }
  }
}

template <typename T>
void compare_sizes(Transform<T> ref_v, Transform<T> simd_v, Transform<T> ref_h, Transform<T> simd_h,
                   int32_t limit) {
  for (const int32_t length : odd_lengths()) {
    for (const int32_t width : {1, 3, 18, 69, 147}) {
      compare<T>(ref_v, simd_v, true, width, length, limit);
    }
    for (const int32_t height : {1, 7}) compare<T>(ref_h, simd_h, false, length, height, limit);
  }
}

TEST_CASE("dwt 5/3: every target equals the reference") {
  compare_sizes<int32_t>(ref::dwt53_vertical, simd::dwt53_vertical, ref::dwt53_horizontal,
                         simd::dwt53_horizontal, (1 << 28) - 1);
}

TEST_CASE("dwt 9/7: every target equals the reference") {
  compare_sizes<float>(ref::dwt97_vertical, simd::dwt97_vertical, ref::dwt97_horizontal,
                       simd::dwt97_horizontal, (1 << 19) - 1);
}

// ---- The inverse of T.800 F.3, as it is written there: on the interleaved, periodically extended
// signal ----

/// PSE_O of F.3.7 for i in any range.
int64_t mirrored(int64_t i, int64_t i0, int64_t i1) {
  const int64_t period = 2 * (i1 - i0 - 1);
  const int64_t m = ((i - i0) % period + period) % period;
  return i0 + std::min(m, period - m);
}

/// 2D_INTERLEAVE for one line, then 1D_EXTR: y(i) of the extended signal from a line in Mallat
/// order.
template <typename T>
struct Extended {
  std::vector<T> y;
  int64_t i0, i1, margin = 8;

  Extended(const std::vector<T>& mallat, int64_t first) : i0(first), i1(first + mallat.size()) {
    std::vector<T> inner(mallat.size());
    const int64_t num_low = (i1 + 1) / 2 - (i0 + 1) / 2;
    for (int64_t i = i0; i < i1; ++i) {
      inner[i - i0] =
          (i & 1) == 0 ? mallat[i / 2 - (i0 + 1) / 2] : mallat[num_low + i / 2 - i0 / 2];
    }
    for (int64_t i = i0 - margin; i < i1 + margin; ++i)
      y.push_back(inner[mirrored(i, i0, i1) - i0]);
  }
  T& operator()(int64_t i) { return y[i - i0 + margin]; }
};

int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

std::vector<int64_t> inverse53(const std::vector<int64_t>& mallat, int64_t i0) {
  if (mallat.size() == 1) return {(i0 & 1) == 0 ? mallat[0] : mallat[0] / 2};
  Extended<int64_t> x(mallat, i0);
  for (int64_t i = x.i0 - 2; i < x.i1 + 2; ++i) {
    if ((i & 1) == 0) x(i) -= floor_div(x(i - 1) + x(i + 1) + 2, 4);
  }
  for (int64_t i = x.i0 - 1; i < x.i1 + 1; ++i) {
    if ((i & 1) != 0) x(i) += floor_div(x(i - 1) + x(i + 1), 2);
  }
  return {x.y.begin() + x.margin, x.y.end() - x.margin};
}

std::vector<double> inverse97(const std::vector<double>& mallat, int64_t i0) {
  if (mallat.size() == 1) return {(i0 & 1) == 0 ? mallat[0] : mallat[0] / 2};
  constexpr double kAlpha = -1.586134342059924, kBeta = -0.052980118572961;
  constexpr double kGamma = 0.882911075530934, kDelta = 0.443506852043971, kK = 1.230174104914001;
  Extended<double> x(mallat, i0);
  for (int64_t i = x.i0 - x.margin; i < x.i1 + x.margin; ++i) x(i) *= (i & 1) == 0 ? kK : 1 / kK;
  const auto lift = [&x](int64_t parity, double k, int64_t reach) {
    for (int64_t i = x.i0 - reach; i < x.i1 + reach; ++i) {
      if ((i & 1) == parity) x(i) -= k * (x(i - 1) + x(i + 1));
    }
  };
  lift(0, kDelta, 4);
  lift(1, kGamma, 3);
  lift(0, kBeta, 2);
  lift(1, kAlpha, 1);
  return {x.y.begin() + x.margin, x.y.end() - x.margin};
}

TEST_CASE("dwt 5/3: the inverse of F.3 restores the reference's input") {
  for (const int32_t n : odd_lengths()) {
    for (const int i0 : {0, 1, 2, 7}) {
      for (const Pattern pattern : kPatterns) {
        std::vector<int32_t> line(n), scratch(dwt_scratch_samples(n, 1));
        fill(line.data(), n, 1, n, pattern, -(1 << 20), 1 << 20, n);
        const std::vector<int64_t> original(line.begin(), line.end());
        ref::dwt53_horizontal({line.data(), n, 1, n}, i0 & 1, 0, 1, scratch.data());
        REQUIRE(inverse53({line.begin(), line.end()}, i0) == original);
      }
    }
  }
}

TEST_CASE("dwt 9/7: the inverse of F.3 restores the reference's input") {
  double worst = 0;
  for (const int32_t n : odd_lengths()) {
    for (const int i0 : {0, 1, 2, 7}) {
      for (const Pattern pattern : kPatterns) {
        std::vector<float> line(n), scratch(dwt_scratch_samples(n, 1));
        fill(line.data(), n, 1, n, pattern, -2048, 2047, n);
        const std::vector<double> original(line.begin(), line.end());
        ref::dwt97_horizontal({line.data(), n, 1, n}, i0 & 1, 0, 1, scratch.data());
        const std::vector<double> restored = inverse97({line.begin(), line.end()}, i0);
        for (int32_t i = 0; i < n; ++i) {
          worst = std::max(worst, std::abs(restored[i] - original[i]));
        }
      }
    }
  }
  MESSAGE("largest error of 12-bit samples: ", worst);
  CHECK(worst < 1.0 / 512);  // float32 steps of values up to 2^13: a few ulp of 2^-11 each
}

TEST_CASE("dwt 9/7: low-pass DC gain 1, high-pass Nyquist gain 2") {
  constexpr int32_t kCount = 64;
  for (const int parity : {0, 1}) {
    std::vector<float> dc(kCount, 1.0f), nyquist(kCount), scratch(dwt_scratch_samples(kCount, 1));
    for (int32_t i = 0; i < kCount; ++i) nyquist[i] = (i & 1) == 0 ? 1.0f : -1.0f;
    ref::dwt97_horizontal({dc.data(), kCount, 1, kCount}, parity, 0, 1, scratch.data());
    ref::dwt97_horizontal({nyquist.data(), kCount, 1, kCount}, parity, 0, 1, scratch.data());
    for (int32_t i = 0; i < kCount / 2; ++i) {
      CHECK(dc[i] == doctest::Approx(1).epsilon(1e-6));
      CHECK(dc[kCount / 2 + i] == doctest::Approx(0).epsilon(1e-6));
      CHECK(nyquist[i] == doctest::Approx(0).epsilon(1e-6));
      CHECK(std::abs(nyquist[kCount / 2 + i]) == doctest::Approx(2).epsilon(1e-6));
    }
  }
}

TEST_CASE("dwt: one sample passes at an even coordinate and is doubled at an odd one") {
  std::vector<int32_t> scratch53(dwt_scratch_samples(1, 1));
  std::vector<float> scratch97(dwt_scratch_samples(1, 1));
  for (const int parity : {0, 1}) {
    int32_t i = -7;
    float f = 3.25f;
    ref::dwt53_vertical({&i, 1, 1, 1}, parity, 0, 1, scratch53.data());
    ref::dwt97_horizontal({&f, 1, 1, 1}, parity, 0, 1, scratch97.data());
    CHECK(i == (parity == 0 ? -7 : -14));
    CHECK(f == (parity == 0 ? 3.25f : 6.5f));
  }
}

// ---- Timing: five levels of a 3840x2160 component ----

template <typename T, int32_t kWidth = 3840, int32_t kHeight = 2160>
void bench_levels(const char* name, Transform<T> vertical, Transform<T> horizontal,
                  const char* implementation) {
  std::vector<T> samples(static_cast<size_t>(kWidth) * kHeight + 16);
  std::vector<T> scratch(dwt_scratch_samples(kWidth, kHeight));
  T* data = samples.data();
  while (reinterpret_cast<uintptr_t>(data) % 64 != 0) ++data;
  fill(data, kWidth, kHeight, kWidth, Pattern::kRandom, -2048, 2047, 1);
  const std::vector<T> original(samples);
  double ms[2] = {1e9, 1e9};
  for (int run = 0; run < 5; ++run) {
    std::copy(original.begin(), original.end(), samples.begin());
    double run_ms[2] = {};
    for (int level = 0, w = kWidth, h = kHeight; level < 5;
         ++level, w = (w + 1) / 2, h = (h + 1) / 2) {
      const Plane<T> plane{data, w, h, kWidth};
      const auto t0 = std::chrono::steady_clock::now();
      vertical(plane, 0, 0, w, scratch.data());
      const auto t1 = std::chrono::steady_clock::now();
      horizontal(plane, 0, 0, h, scratch.data());
      const auto t2 = std::chrono::steady_clock::now();
      run_ms[0] += std::chrono::duration<double, std::milli>(t1 - t0).count();
      run_ms[1] += std::chrono::duration<double, std::milli>(t2 - t1).count();
    }
    for (int i = 0; i < 2; ++i) ms[i] = std::min(ms[i], run_ms[i]);
  }
  const double samples_total = static_cast<double>(kWidth) * kHeight;
  const double bytes = samples_total * 4 / 3 * sizeof(T) * 2 * 2;
  std::printf("%-36s %-8s %8.2f ms %7.3f ns/sample %7.2f GB/s  (vertical %.2f, horizontal %.2f)\n",
              name, implementation, ms[0] + ms[1], (ms[0] + ms[1]) * 1e6 / samples_total,
              bytes / (ms[0] + ms[1]) * 1e-6, ms[0], ms[1]);
}

TEST_CASE("bench dwt" * doctest::skip()) {
  bench_levels<float>("9/7, 5 levels, 3840x2160", ref::dwt97_vertical, ref::dwt97_horizontal,
                      "ref");
  for_each_target(simd::dwt_target, [](const char* name) {
    bench_levels<float>("9/7, 5 levels, 3840x2160", simd::dwt97_vertical, simd::dwt97_horizontal,
                        name);
  });
  // Rows a power of two apart share cache sets.
  for_each_target(simd::dwt_target, [](const char* name) {
    bench_levels<float, 4096>("9/7, 5 levels, 4096x2160", simd::dwt97_vertical,
                              simd::dwt97_horizontal, name);
  });
  bench_levels<int32_t>("5/3, 5 levels, 3840x2160", ref::dwt53_vertical, ref::dwt53_horizontal,
                        "ref");
  for_each_target(simd::dwt_target, [](const char* name) {
    bench_levels<int32_t>("5/3, 5 levels, 3840x2160", simd::dwt53_vertical, simd::dwt53_horizontal,
                          name);
  });
}

}  // namespace
}  // namespace cj2k
