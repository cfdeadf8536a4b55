// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <cstring>

#include "base/buffer.h"
#include "pixels/target.h"
#include "pixels/xyz.h"
#include "support/check.h"

namespace cj2k {
namespace {

using namespace check;

TEST_CASE("xyz: every target equals the reference") {
  for_each_target(simd::xyz_target, [](const char*) {
    for (const int32_t bits : {8, 10, 12, 16}) {
      const XyzTables tables =
          make_xyz_tables(static_cast<cj2k_xyz>(1 + bits % 4), bits == 12 ? 1.0 : 2.4, bits);
      const int32_t half = 1 << (bits - 1);
      for (const int32_t count : {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 33, 64, 131, 9001}) {
        std::mt19937_64 random(static_cast<uint64_t>(count));
        std::vector<Guarded<int32_t>> expected, actual;
        for (size_t c = 0; c < 3; ++c) {
          expected.emplace_back(count, 1);
          actual.emplace_back(count, 1);
          for (int32_t x = 0; x < count; ++x) {
            const auto any = static_cast<int32_t>(random() & static_cast<uint64_t>(2 * half - 1));
            const int32_t value = x % 5 == 0 ? 0 : x % 5 == 1 ? 2 * half - 1 : any >> (x % bits);
            expected[c].data()[x] = actual[c].data()[x] = value - half;
          }
        }
        ref::xyz_row(tables, expected[0].data(), expected[1].data(), expected[2].data(), count);
        simd::xyz_row(tables, actual[0].data(), actual[1].data(), actual[2].data(), count);
        INFO("bits ", bits, " count ", count);
        for (size_t c = 0; c < 3; ++c) {
          REQUIRE(actual[c].same_as(expected[c]));
          REQUIRE(actual[c].guards_intact());
        }
      }
    }
  });
}

using XyzRow = void (*)(const XyzTables&, int32_t*, int32_t*, int32_t*, int32_t);

void bench_xyz(int32_t bits, XyzRow xyz, const char* name) {
  constexpr int32_t kWidth = 3840, kRows = 270;
  const XyzTables tables = make_xyz_tables(CJ2K_XYZ_REC709, 2.4, bits);
  const int32_t half = 1 << (bits - 1);
  // At the start of cache lines, as the encoder's rows.
  constexpr size_t kBytes = 3 * kWidth * sizeof(int32_t);
  HostBuffer source(kBytes), rows(kBytes);
  for (int32_t x = 0; x < 3 * kWidth; ++x) source.as<int32_t>()[x] = x * 7 % (2 * half) - half;
  auto* row = rows.as<int32_t>();
  const std::string what = "R'G'B' " + std::to_string(bits);
  // Per pixel. The copy is part of it: see "copy".
  bench(what.c_str(), name, double{kWidth} * kRows, double{kWidth} * kRows * 24, [&] {
    for (int32_t y = 0; y < kRows; ++y) {
      std::memcpy(row, source.as<int32_t>(), kBytes);
      xyz(tables, row, row + kWidth, row + 2 * kWidth, kWidth);
    }
  });
}

TEST_CASE("bench xyz" * doctest::skip()) {
  bench_xyz(
      8, [](const XyzTables&, int32_t*, int32_t*, int32_t*, int32_t) {}, "copy");
  for (const int32_t bits : {8, 10, 12, 16}) {
    bench_xyz(bits, ref::xyz_row, "ref");
    for_each_target(simd::xyz_target,
                    [&](const char* name) { bench_xyz(bits, simd::xyz_row, name); });
  }
}

}  // namespace
}  // namespace cj2k
