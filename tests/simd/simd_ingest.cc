// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "pixels/ingest.h"
#include "pixels/target.h"
#include "support/check.h"

namespace cj2k {
namespace {

using namespace check;

struct Layout {
  const char* name;
  int32_t word_bytes, step_bytes;
};

// Layouts with a fast path, and layouts without.
constexpr Layout kLayouts[] = {
    {"planar 8", 1, 1},    {"planar 16", 2, 2},   {"planar 32", 4, 4}, {"NV12 chroma", 1, 2},
    {"P010 chroma", 2, 4}, {"RGB24", 1, 3},       {"RGB48", 2, 6},     {"RGBA", 1, 4},
    {"RGBA64", 2, 8},      {"4x32", 4, 16},       {"3x32", 4, 12},     {"byte of 6", 1, 6},
    {"byte of 8", 1, 8},   {"word of 3", 2, 3},   {"word of 5", 2, 5}, {"same sample", 2, 0},
    {"backwards", 2, -2},  {"overlapping", 4, 2},
};

/// Sample `x` as cj2k.h defines it, byte by byte and bit by bit.
int32_t expected_sample(const SampleRow& row, int32_t x) {
  const uint8_t* word = row.data + static_cast<ptrdiff_t>(x) * row.step_bytes;
  int64_t value = 0;
  for (int bit = 0; bit < row.depth; ++bit) {
    const int from = bit + row.shift;
    if (from >= 8 * row.word_bytes) break;
    const int byte =
        std::endian::native == std::endian::little ? from / 8 : row.word_bytes - 1 - from / 8;
    if ((word[byte] >> (from % 8) & 1) != 0) value += int64_t{1} << bit;
  }
  const int64_t half = int64_t{1} << (row.depth - 1);
  if (!row.is_signed) value -= half;
  if (row.is_signed && value >= half) value -= 2 * half;
  const double unit = std::ldexp(1.0, row.round_bits);
  return static_cast<int32_t>(std::min(std::floor(static_cast<double>(value) / unit + 0.5),
                                       static_cast<double>(half) / unit - 1));
}

/// A row that begins or ends at an unmapped page, so that an access beyond it faults.
class FencedRow {
 public:
  FencedRow(const Layout& layout, int32_t count, FencedBytes::Fence fence)
      : span_(static_cast<size_t>(count - 1) * std::abs(layout.step_bytes) + layout.word_bytes),
        bytes_(span_, fence) {
    std::mt19937_64 random(count * 31 + layout.step_bytes);
    for (size_t i = 0; i < span_; ++i) {
      // Words of all ones and all zeros are frequent enough to reveal a wrong mask or sign.
      const uint64_t r = random();
      bytes_.data()[i] = (r & 3) == 0 ? 0xFF : (r & 3) == 1 ? 0x00 : static_cast<uint8_t>(r >> 8);
    }
    first_ = bytes_.data() + (layout.step_bytes < 0 ? span_ - layout.word_bytes : 0);
  }
  const uint8_t* first() const { return first_; }

 private:
  size_t span_;
  FencedBytes bytes_;
  const uint8_t* first_;
};

template <typename Fn>
void for_each_row(Fn fn) {
  for (const Layout& layout : kLayouts) {
    for (const FencedBytes::Fence fence :
         {FencedBytes::Fence::kBehind, FencedBytes::Fence::kBefore}) {
      for (const int32_t count :
           {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 18, 31, 32, 33, 35, 64, 65, 67, 130, 257}) {
        const FencedRow bytes(layout, count, fence);
        for (int32_t depth = 1; depth <= 16; ++depth) {
          // Aligned to the least and to the most significant bit, and with the top bits outside the
          // word.
          const int32_t msb = 8 * layout.word_bytes - depth;
          for (const int32_t shift : {0, 1, msb, 8 * layout.word_bytes - 1}) {
            if (shift < 0 || shift > msb + 1) continue;
            for (const bool is_signed : {false, true}) {
              SampleRow row{bytes.first(), layout.step_bytes, layout.word_bytes, shift,
                            depth,         is_signed};
              fn(layout, row, count);
              row.round_bits = 1 + (depth + shift + count) % 15;
              if (row.round_bits < depth) fn(layout, row, count);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("ingest: the reference gives the samples that cj2k.h defines") {
  for_each_row([](const Layout& layout, const SampleRow& row, int32_t count) {
    if (count > 35) return;
    std::vector<int32_t> out(count);
    ref::ingest_row(row, out.data(), count);
    INFO(layout.name, " depth ", row.depth, " shift ", row.shift, " signed ", row.is_signed,
         " round ", row.round_bits);
    bool equal = true;
    for (int32_t x = 0; x < count; ++x) equal = equal && out[x] == expected_sample(row, x);
    REQUIRE(equal);
  });
}

TEST_CASE("ingest: every target equals the reference") {
  for_each_target(simd::ingest_target, [](const char*) {
    for_each_row([](const Layout& layout, const SampleRow& row, int32_t count) {
      Guarded<int32_t> expected(count, 1), actual(count, 1);
      ref::ingest_row(row, expected.data(), count);
      simd::ingest_row(row, actual.data(), count);
      INFO(layout.name, " count ", count, " depth ", row.depth, " shift ", row.shift, " signed ",
           row.is_signed, " round ", row.round_bits);
      REQUIRE(actual.same_as(expected));
      REQUIRE(actual.guards_intact());
      REQUIRE(expected.guards_intact());
    });
  });
}

using IngestRow = void (*)(const SampleRow&, int32_t*, int32_t);

void bench_layout(const Layout& layout, int32_t depth, IngestRow ingest, const char* name) {
  constexpr int32_t kWidth = 3840, kHeight = 2160;
  const size_t row_bytes = static_cast<size_t>(kWidth) * layout.step_bytes;
  std::vector<uint8_t> in(row_bytes * kHeight, 0x5A);
  std::vector<int32_t> out(static_cast<size_t>(kWidth) * kHeight);
  const double samples = static_cast<double>(out.size());
  bench(layout.name, name, samples, samples * (layout.step_bytes + 4), [&] {
    for (int32_t y = 0; y < kHeight; ++y) {
      ingest({in.data() + y * row_bytes, layout.step_bytes, layout.word_bytes, 0, depth, false},
             out.data() + static_cast<ptrdiff_t>(y) * kWidth, kWidth);
    }
  });
}

TEST_CASE("bench ingest" * doctest::skip()) {
  for (const Layout& layout : kLayouts) {
    if (layout.step_bytes < 1 || layout.step_bytes > 8) continue;
    const int32_t depth = layout.word_bytes == 1 ? 8 : 12;
    bench_layout(layout, depth, ref::ingest_row, "ref");
    for_each_target(simd::ingest_target,
                    [&](const char* name) { bench_layout(layout, depth, simd::ingest_row, name); });
  }
}

}  // namespace
}  // namespace cj2k
