// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "core/lifting.h"
#include "core/quantizer.h"
#include "pixels/dwt.h"
#include "pixels/quantize.h"
#include "pixels/target.h"
#include "support/check.h"

namespace cj2k {
namespace {

using namespace check;

/// Transforms a rectangle in place with the reference: all columns, then all rows.
template <typename T>
void reference_level(Plane<T> plane, int parity_x, int parity_y, T* scratch) {
  if constexpr (std::is_same_v<T, float>) {
    ref::dwt97_vertical(plane, parity_y, 0, plane.width, scratch);
    ref::dwt97_horizontal(plane, parity_x, 0, plane.height, scratch);
  } else {
    ref::dwt53_vertical(plane, parity_y, 0, plane.width, scratch);
    ref::dwt53_horizontal(plane, parity_x, 0, plane.height, scratch);
  }
}

template <typename T>
void run_band(const DwtShape& shape, const T* source, ptrdiff_t stride, Plane<T> target,
              int32_t begin, int32_t end, T* scratch) {
  DwtBand<T> band(shape, {target}, begin, end, scratch);
  const auto width = static_cast<size_t>(shape.width);
  std::vector<T> rows[kDwtPushed];
  for (std::vector<T>& row : rows) row.resize(width);
  int32_t count = 0;
  for (int32_t y; (y = band.next_row()) >= 0;) {
    REQUIRE(y < shape.height);
    // A band may read a row until kDwtPushed - 1 more are pushed, so it is overwritten then.
    std::vector<T>& row = rows[count++ % kDwtPushed];
    std::copy_n(source + y * stride, shape.width, row.data());
    band.push(row.data());
    std::vector<T>& oldest = rows[count % kDwtPushed];
    std::fill(oldest.begin(), oldest.end(), T{77});
  }
}

/// Transforms the same rectangle in bands of several lengths, from the last to the first, with
/// every instruction set. `shift`: samples between an aligned address and the target.
template <typename T>
void compare(int32_t width, int32_t height, int32_t limit, size_t shift) {
  const ptrdiff_t stride = width + 3;
  const size_t count = static_cast<size_t>(stride) * static_cast<size_t>(height);
  Guarded<T> line_scratch(dwt_scratch_samples(width, height), 1);
  Guarded<T> scratch(DwtBand<T>::scratch_samples(width), 0);
  for (const int parity : {0, 1, 2, 3}) {
    const DwtShape shape{width, height, parity & 1, parity >> 1};
    for (const Pattern pattern : kPatterns) {
      Guarded<T> source(count, 1), expected(count, shift), actual(count, shift);
      fill(source.data(), width, height, stride, pattern, -limit, limit, width * 1000 + height);
      expected.copy_from(source);
      reference_level<T>({expected.data(), width, height, stride}, shape.parity_x, shape.parity_y,
                         line_scratch.data());
      REQUIRE(expected.guards_intact());
      REQUIRE(line_scratch.guards_intact());
      for_each_target(simd::dwt_target, [&](const char*) {
        const int32_t pairs = DwtBand<T>::num_pairs(shape);
        for (const int32_t length : {pairs, 1, 5}) {
          actual.copy_from(source);  // for the gaps
          std::fill_n(scratch.data(), scratch.count(), std::numeric_limits<T>::max());
          for (int32_t begin = (pairs - 1) / length * length; begin >= 0; begin -= length) {
            run_band<T>(shape, source.data(), stride, {actual.data(), width, height, stride}, begin,
                        std::min(begin + length, pairs), scratch.data());
          }
          INFO(width, "x", height, " parity ", parity, " bands of ", length, " pattern ",
               static_cast<int>(pattern));
          REQUIRE(actual.same_as(expected));
          REQUIRE(actual.guards_intact());
          REQUIRE(scratch.guards_intact());
        }
      });
    }
  }
}

template <typename T>
void compare_sizes(int32_t limit) {
  for (const int32_t length : odd_lengths()) {
    for (const int32_t other : {1, 2, 7, 18}) compare<T>(length, other, limit, 0);
    for (const int32_t other : {1, 3, 35}) compare<T>(other, length, limit, 1);
  }
  compare<T>(1030, 21, limit, 0);
}

TEST_CASE("dwt 5/3: bands of every target equal the reference") {
  compare_sizes<int32_t>((1 << 27) - 1);
}

TEST_CASE("dwt 5/3: rows of 16 bits, read and stored, hold the values of the reference") {
  for (const int32_t width : odd_lengths()) {
    for (const int32_t height : {1, 2, 19}) {
      constexpr int32_t kLimit = (1 << 13) - 1;  // a level makes at most four times as much
      const auto count = static_cast<size_t>(width * height);
      Guarded<int32_t> scratch(DwtBand<int32_t>::scratch_samples(width), 0);
      for (const Pattern pattern : kPatterns) {
        for (const int parity : {0, 3}) {
          const DwtShape shape{width, height, parity & 1, parity >> 1};
          const int32_t pairs = DwtBand<int32_t>::num_pairs(shape);
          Guarded<int32_t> source(count, 1), expected(count, 1);
          fill(source.data(), width, height, width, pattern, -kLimit, kLimit, width);
          run_band<int32_t>(shape, source.data(), width, {expected.data(), width, height, width}, 0,
                            pairs, scratch.data());
          const std::vector<int16_t> narrow(source.data(), source.data() + count);
          for_each_target(simd::dwt_target, [&](const char*) {
            Guarded<int16_t> actual(count, width % 32), again(count, 1);
            const auto run = [&](const auto* rows, Guarded<int16_t>& to) {
              DwtBand<int32_t, int16_t> band(shape, {{to.data(), width, height, width}}, 0, pairs,
                                             scratch.data());
              for (int32_t y; (y = band.next_row()) >= 0;) band.push(rows + y * width);
              REQUIRE(to.guards_intact());
              REQUIRE(std::equal(to.data(), to.data() + count, expected.data()));
            };
            INFO(width, "x", height, " parity ", parity, " pattern ", static_cast<int>(pattern));
            run(source.data(), actual);
            run(narrow.data(), again);
          });
        }
      }
    }
  }
}

TEST_CASE("dwt 9/7: what is quantised at once equals the quantised reference") {
  const DwtQuantizer hl{1.9f, 32767, 0}, lh{0.37f, 8191, 0}, hh{3.1f, 255, 0};
  const DwtQuantizer ll{2.0f, 32767, quantizer_rounder(1)};
  for (const int32_t width : odd_lengths()) {
    for (const int32_t height : {1, 2, 19}) {
      const auto count = static_cast<size_t>(width * height);
      Guarded<float> scratch(DwtBand<float>::scratch_samples(width), 0);
      for (const Pattern pattern : kPatterns) {
        for (const int parity : {0, 3}) {
          const DwtShape shape{width, height, parity & 1, parity >> 1};
          const int32_t pairs = DwtBand<float>::num_pairs(shape);
          const int32_t wide = lifting_low_count(width, shape.parity_x);
          const int32_t high = lifting_low_count(height, shape.parity_y);
          Guarded<float> source(count, 1), reference(count, 1);
          fill(source.data(), width, height, width, pattern, -4095, 4095, width);
          run_band<float>(shape, source.data(), width, {reference.data(), width, height, width}, 0,
                          pairs, scratch.data());
          std::vector<int16_t> expected(count);
          const auto quantise = [&](int32_t x, int32_t y, const DwtQuantizer& q) {
            const auto at = static_cast<size_t>(y * width + x);
            const float unit = q.rounder > 0 ? 1 / q.inverse_step : 0;
            uint32_t sample;
            ref::quantize_97(reference.data() + at, width, 1, 1,
                             {q.inverse_step, unit, static_cast<uint32_t>(q.most)}, &sample, 1);
            const auto magnitude = static_cast<int16_t>(sample & 0x7FFF);
            expected[at] = static_cast<int16_t>((sample & kSignBit) != 0 ? -magnitude : magnitude);
          };
          for (int32_t y = 0; y < height; ++y) {
            for (int32_t x = 0; x < width; ++x)
              quantise(x, y, y < high ? (x < wide ? ll : hl) : (x < wide ? lh : hh));
          }
          for_each_target(simd::dwt_target, [&](const char*) {
            INFO(width, "x", height, " parity ", parity, " pattern ", static_cast<int>(pattern));
            for (const bool is_last : {true, false}) {
              Guarded<int16_t> bands(count, width % 32);
              Guarded<float> low(count, 1);
              DwtBand<float, int16_t> band(shape,
                                           {{bands.data(), width, height, width},
                                            {is_last ? nullptr : low.data(), wide, high, wide},
                                            nullptr,
                                            ll,
                                            hl,
                                            lh,
                                            hh},
                                           0, pairs, scratch.data());
              for (int32_t y; (y = band.next_row()) >= 0;) band.push(source.data() + y * width);
              REQUIRE(bands.guards_intact());
              REQUIRE(low.guards_intact());
              for (int32_t y = 0; y < height; ++y) {
                const bool is_float = !is_last && y < high;
                const auto row = static_cast<size_t>(y * width);
                const int32_t first = is_float ? wide : 0;
                REQUIRE(std::equal(bands.data() + row + first, bands.data() + row + width,
                                   expected.data() + row + first));
                if (is_float)
                  REQUIRE(std::equal(low.data() + y * wide, low.data() + (y + 1) * wide,
                                     reference.data() + row));
              }
            }
          });
        }
      }
    }
  }
}

TEST_CASE("dwt 9/7: bands of every target equal the reference") {
  compare_sizes<float>((1 << 19) - 1);
}

// ---- The inverse of T.800 F.3 as written there, on the interleaved, periodically extended signal

/// PSE_O of F.3.7 for i in any range.
int64_t mirrored(int64_t i, int64_t i0, int64_t i1) {
  const int64_t period = 2 * (i1 - i0 - 1);
  const int64_t m = ((i - i0) % period + period) % period;
  return i0 + std::min(m, period - m);
}

/// 2D_INTERLEAVE for one line, then 1D_EXTR: y(i) of the extended signal, from a line in Mallat
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

template <typename T, typename Level>
void bench_levels(const char* name, const char* implementation, const Level& run_level) {
  constexpr int32_t kWidth = 3840, kHeight = 2160;
  constexpr ptrdiff_t kStride = kWidth + 16;
  std::vector<T> memory[2];
  T* planes[2];
  for (int i = 0; i < 2; ++i) {
    memory[i].resize(static_cast<size_t>(kStride) * kHeight + 16);
    planes[i] = memory[i].data();
    while (reinterpret_cast<uintptr_t>(planes[i]) % 64 != 0) ++planes[i];
  }
  std::vector<T> samples(static_cast<size_t>(kStride) * kHeight);
  fill(samples.data(), kWidth, kHeight, kStride, Pattern::kRandom, -2048, 2047, 1);
  double best = 1e9;
  for (int run = 0; run < 5; ++run) {
    std::copy(samples.begin(), samples.end(), planes[0]);
    const auto start = std::chrono::steady_clock::now();
    for (int level = 0, w = kWidth, h = kHeight; level < 5;
         ++level, w = (w + 1) / 2, h = (h + 1) / 2) {
      run_level(Plane<T>{planes[level & 1], w, h, kStride},
                Plane<T>{planes[(level + 1) & 1], w, h, kStride});
    }
    best = std::min(
        best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
                  .count());
  }
  const double count = static_cast<double>(kWidth) * kHeight;
  const double bytes = count * 4 / 3 * sizeof(T) * 2;
  std::printf("%-36s %-8s %8.2f ms %7.3f ns/sample %7.2f GB/s\n", name, implementation, best,
              best * 1e6 / count, bytes / best * 1e-6);
}

template <typename T>
void bench_all(const char* name) {
  std::vector<T> line(dwt_scratch_samples(3840, 2160));
  bench_levels<T>(name, "ref", [&](Plane<T> source, Plane<T> target) {
    reference_level(source, 0, 0, line.data());
    for (int32_t y = 0; y < source.height; ++y)
      std::copy_n(source.row(y), source.width, target.row(y));
  });
  for_each_target(simd::dwt_target, [&](const char* target_name) {
    Guarded<T> scratch(DwtBand<T>::scratch_samples(3840), 0);
    bench_levels<T>(name, target_name, [&](Plane<T> source, Plane<T> target) {
      const DwtShape shape{source.width, source.height, 0, 0};
      DwtBand<T> band(shape, {target}, 0, DwtBand<T>::num_pairs(shape), scratch.data());
      for (int32_t y; (y = band.next_row()) >= 0;) band.push(source.row(y));
    });
  });
}

TEST_CASE("bench dwt" * doctest::skip()) {
  bench_all<float>("9/7, 5 levels, 3840x2160");
  bench_all<int32_t>("5/3, 5 levels, 3840x2160");
}

}  // namespace
}  // namespace cj2k
