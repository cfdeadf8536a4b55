// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <cmath>

#include "pixels/colour.h"
#include "pixels/ingest.h"
#include "pixels/target.h"
#include "support/check.h"

namespace cj2k {
namespace {

using namespace check;

constexpr int32_t kLimit = 1 << 16;

using Transform = void (*)(int32_t*, int32_t*, int32_t*, int32_t);

void ref_to_float(int32_t* c0, int32_t* c1, int32_t* c2, int32_t count) {
  for (int32_t* c : {c0, c1, c2}) ref::to_float_row(c, count);
}
void simd_to_float(int32_t* c0, int32_t* c1, int32_t* c2, int32_t count) {
  for (int32_t* c : {c0, c1, c2}) simd::to_float_row(c, count);
}

void compare(Transform reference, Transform simd) {
  for_each_target(simd::colour_target, [&](const char*) {
    for (const int32_t count : odd_lengths()) {
      // All pairs of patterns on the first two components. They include the corners of the cube.
      for (const Pattern first : kPatterns) {
        for (const Pattern second : kPatterns) {
          std::vector<Guarded<int32_t>> expected, actual;
          for (int c = 0; c < 3; ++c) {
            expected.emplace_back(count, c + 1);
            actual.emplace_back(count, c + 1);
            fill(expected[c].data(), count, 1, count, c == 1 ? second : first, -kLimit, kLimit,
                 count * 3 + c);
            actual[c].copy_from(expected[c]);
          }
          reference(expected[0].data(), expected[1].data(), expected[2].data(), count);
          simd(actual[0].data(), actual[1].data(), actual[2].data(), count);
          for (int c = 0; c < 3; ++c) {
            INFO("component ", c, " count ", count);
            REQUIRE(actual[c].same_as(expected[c]));
            REQUIRE(actual[c].guards_intact());
            REQUIRE(expected[c].guards_intact());
          }
        }
      }
    }
  });
}

TEST_CASE("colour: every target equals the reference") {
  compare(ref::rct_row, simd::rct_row);
  compare(ref::ict_row, simd::ict_row);
  compare(ref_to_float, simd_to_float);
}

struct Rows {
  static constexpr int32_t kCount = 100000;
  std::vector<int32_t> in[3], out[3];

  Rows(Transform transform, int32_t limit) {
    for (int c = 0; c < 3; ++c) {
      in[c].resize(kCount);
      fill(in[c].data(), kCount, 1, kCount, Pattern::kRandom, -limit, limit - 1, c + 7);
      for (int corner = 0; corner < 8; ++corner)
        in[c][corner] = (corner >> c & 1) ? limit - 1 : -limit;
      out[c] = in[c];
    }
    transform(out[0].data(), out[1].data(), out[2].data(), kCount);
  }
};

TEST_CASE("colour: the inverse RCT of G.2.2 restores the reference's input") {
  const Rows rows(ref::rct_row, 1 << 15);
  bool equal = true;
  for (int32_t x = 0; x < Rows::kCount; ++x) {
    const double y0 = rows.out[0][x], y1 = rows.out[1][x], y2 = rows.out[2][x];
    const double g = y0 - std::floor((y1 + y2) / 4);
    equal = equal && g == rows.in[1][x] && y2 + g == rows.in[0][x] && y1 + g == rows.in[2][x];
  }
  CHECK(equal);
}

TEST_CASE("colour: the inverse ICT of G.3.2 restores the reference's input") {
  const Rows rows(ref::ict_row, 2048);
  double worst = 0, sum = 0;
  for (int32_t x = 0; x < Rows::kCount; ++x) {
    float f[3];
    for (int c = 0; c < 3; ++c) std::memcpy(&f[c], &rows.out[c][x], sizeof(float));
    const double y0 = f[0], y1 = f[1], y2 = f[2];
    const double rgb[3] = {y0 + 1.402 * y2, y0 - 0.344136 * y1 - 0.714136 * y2, y0 + 1.772 * y1};
    for (int c = 0; c < 3; ++c) {
      const double error = std::abs(rgb[c] - rows.in[c][x]);
      worst = std::max(worst, error);
      sum += error * error;
    }
  }
  MESSAGE("12 bit: largest error ", worst, ", MSE ", sum / (3.0 * Rows::kCount));
  CHECK(worst < 0.01);
}

using IngestRow = void (*)(const SampleRow&, int32_t*, int32_t);

void bench_transform(const char* what, IngestRow ingest, Transform transform, const char* name) {
  constexpr int32_t kWidth = 3840, kHeight = 2160;
  constexpr size_t kSamples = static_cast<size_t>(kWidth) * kHeight;
  std::vector<uint16_t> in(3 * kSamples, 0x5A5);
  std::vector<int32_t> out(3 * kSamples);
  bench(what, name, 3.0 * kSamples, 3.0 * kSamples * (2 + 4), [&] {
    for (int32_t y = 0; y < kHeight; ++y) {
      int32_t* rows[3];
      for (int c = 0; c < 3; ++c) {
        const size_t at = c * kSamples + static_cast<size_t>(y) * kWidth;
        rows[c] = out.data() + at;
        ingest({reinterpret_cast<const uint8_t*>(in.data() + at), 2, 2, 0, 12, false}, rows[c],
               kWidth);
      }
      transform(rows[0], rows[1], rows[2], kWidth);
    }
  });
}

TEST_CASE("bench colour" * doctest::skip()) {
  const struct {
    const char* what;
    Transform reference, simd;
  } cases[] = {{"ingest 3x12 bit + RCT", ref::rct_row, simd::rct_row},
               {"ingest 3x12 bit + ICT", ref::ict_row, simd::ict_row},
               {"ingest 3x12 bit + float", ref_to_float, simd_to_float}};
  for (const auto& c : cases) {
    bench_transform(c.what, ref::ingest_row, c.reference, "ref");
    for_each_target(simd::colour_target, [&](const char* name) {
      bench_transform(c.what, simd::ingest_row, c.simd, name);
    });
  }
}

}  // namespace
}  // namespace cj2k
