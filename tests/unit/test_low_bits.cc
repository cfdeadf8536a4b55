// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Which samples' low bits add something, and the place of the first one.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "pixels/low_bits.h"
#include "support/picture.h"

namespace cj2k {
namespace {

Plan plan_of(int32_t width, int32_t height, int components, int32_t depth, int32_t low_bits) {
  Plan plan{};
  for (int32_t c = 0; c < components; ++c) {
    plan.components.push_back({c, depth, false, 1, 1, Rect{0, 0, width, height}, low_bits});
  }
  return plan;
}

/// Words of one component after the other in each pixel, or one plane after the other.
struct Words {
  Words(const Plan& plan, int32_t bytes, int32_t shift, int words_per_pixel)
      : bytes_(bytes), shift_(shift) {
    const Rect& rect = plan.components[0].rect;
    const bool planar = words_per_pixel == 0;
    const ptrdiff_t step = bytes * (planar ? 1 : words_per_pixel);
    const ptrdiff_t stride = step * rect.width() + 2 * bytes;
    const size_t plane = static_cast<size_t>(stride * rect.height());
    memory_.assign(planar ? plane * plan.components.size() : plane, 0xFF);
    for (size_t c = 0; c < plan.components.size(); ++c) {
      frame.components[c] = {memory_.data() + (planar ? plane * c : c * bytes), stride,
                             static_cast<int32_t>(step), bytes, shift};
    }
  }
  void put(size_t c, int32_t x, int32_t y, uint32_t sample) {
    const cj2k_component_view& v = frame.components[c];
    const uint32_t word = sample << shift_;
    std::memcpy(memory_.data() + (static_cast<const uint8_t*>(v.data) - memory_.data()) +
                    y * v.stride_bytes + ptrdiff_t{x} * v.step_bytes,
                &word, static_cast<size_t>(bytes_));
  }
  cj2k_frame frame = {};

 private:
  int32_t bytes_, shift_;
  std::vector<uint8_t> memory_;
};

/// The low bits of a sample whose upper bits are `upper`, in the ways that add nothing.
uint32_t widened(uint32_t upper, int32_t depth, int32_t low, int way) {
  const uint32_t top = (1u << depth) - 1, all = (1u << (depth + low)) - 1;
  if (way == 0) return upper << low;
  if (way == 1) return static_cast<uint32_t>(std::lround(double{1} * upper * all / top));
  uint32_t bits = 0;  // repeated from the top bit down
  for (int32_t i = depth + low - 1, from = depth - 1; i >= 0;
       --i, from = from == 0 ? depth - 1 : from - 1) {
    bits |= (upper >> from & 1) << i;
  }
  return bits;
}

struct Layout {
  int32_t bytes, shift;
  int words_per_pixel;  ///< 0: planar
};
constexpr Layout kLayouts[] = {{2, 0, 0}, {2, 0, 3}, {2, 0, 4}, {4, 3, 0}, {4, 16, 3}, {1, 0, 0}};

TEST_CASE("low bits: those that are 0 or repeat the upper bits add nothing") {
  LowBitsSample found{};
  for (const Layout& layout : kLayouts) {
    for (int32_t depth = 1; depth < 16; ++depth) {
      for (const int32_t low : {1, 3, 4, 8, 16 - depth}) {
        if (low < 1 || depth + low > 16 || depth + low + layout.shift > 8 * layout.bytes) continue;
        const Plan plan = plan_of(37, 5, 3, depth, low);
        for (int way = 0; way < 3; ++way) {
          INFO("depth ", depth, " low ", low, " way ", way, " bytes ", layout.bytes);
          Words words(plan, layout.bytes, layout.shift, layout.words_per_pixel);
          test::Random random(static_cast<uint64_t>(depth * 100 + low));
          for (size_t c = 0; c < 3; ++c) {
            for (int32_t y = 0; y < 5; ++y) {
              for (int32_t x = 0; x < 37; ++x) {
                const auto upper = static_cast<uint32_t>(random.range(0, (1 << depth) - 1));
                words.put(c, x, y, widened(upper, depth, low, way));
              }
            }
          }
          CHECK_FALSE(find_low_bits(plan, words.frame, &found));
        }
      }
    }
  }
}

TEST_CASE("low bits: the first sample that has some is found") {
  for (const Layout& layout : kLayouts) {
    if (layout.bytes == 1) continue;
    const Plan plan = plan_of(19, 70, 3, 12, 4);
    Words words(plan, layout.bytes, layout.shift, layout.words_per_pixel);
    for (size_t c = 0; c < 3; ++c) {
      for (int32_t y = 0; y < 70; ++y) {
        for (int32_t x = 0; x < 19; ++x) words.put(c, x, y, 0x8000);
      }
    }
    LowBitsSample found{};
    REQUIRE_FALSE(find_low_bits(plan, words.frame, &found));
    // From the last to the first, so that each is the first one when it is put.
    for (int32_t y = 69; y >= 0; y -= 23) {
      for (int c = 2; c >= 0; --c) {
        for (const int32_t x : {18, 7, 0}) {
          INFO("component ", c, " x ", x, " y ", y, " bytes ", layout.bytes);
          words.put(static_cast<size_t>(c), x, y, 0x8003);
          REQUIRE(find_low_bits(plan, words.frame, &found));
          CHECK(found.component == static_cast<uint32_t>(c));
          CHECK(found.x == x);
          CHECK(found.y == y);
          CHECK(found.value == 0x8003);
        }
      }
    }
  }
}

TEST_CASE("low bits: words beside the samples do not count") {
  const Plan plan = plan_of(16, 2, 1, 12, 4);
  Words words(plan, 2, 0, 4);  // three words of a pixel are no samples, and are 0xFFFF
  for (int32_t y = 0; y < 2; ++y) {
    for (int32_t x = 0; x < 16; ++x) words.put(0, x, y, 0x1230);
  }
  LowBitsSample found{};
  CHECK_FALSE(find_low_bits(plan, words.frame, &found));
}

}  // namespace
}  // namespace cj2k
