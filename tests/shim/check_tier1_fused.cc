// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The fused form of tier-1 where all its slots are in use and its rings are full: more blocks of
// noise than thread blocks hold. What it makes of single blocks, check_tier1_kernels.cc says.
#include "shim/tier1_gop.h"

namespace cj2k::cuda {
namespace {

using cj2k::test::Fill;
using test::Gop;
using test::Item;
using test::Totals;

constexpr uint64_t kSchedules[] = {1, 2, 0xC0FFEE};

/// Half of them noise, the others with next to nothing to code; sides as given or less.
std::vector<Item> busy_items(int width, int height, size_t count, size_t frames, uint64_t seed) {
  std::vector<Item> items;
  for (size_t i = 0; i < count; ++i) {
    const int w = i % 7 == 6 ? width - 3 : width, h = i % 5 == 4 ? height - 2 : height;
    Item item{w, h, test::kOrientations[i % 4], static_cast<uint8_t>(i % 3), 1.0, {}};
    for (size_t f = 0; f < frames; ++f) {
      const bool noise = (i + f) % 2 == 0;
      item.frames.emplace_back(w, h, noise ? 3 : 4, noise ? Fill::kUniform : Fill::kSingle,
                               seed + i * frames + f);
    }
    items.push_back(std::move(item));
  }
  return items;
}

void check_busy(int width, int height, size_t count, size_t frames) {
  Totals totals;
  for (const uint64_t seed : kSchedules) {
    const auto items = busy_items(width, height, count, frames, seed * 1000);
    const uint32_t style = seed == 2 ? CJ2K_STYLE_BYPASS | CJ2K_STYLE_SEGSYM : 0;
    Gop gop(items, {Tier1Form::kFused, seed, style, seed == 1});
    if (seed != 1) {
      // Noise pauses after its second plane or the third.
      gop.code(gop.all(), std::vector<uint16_t>(frames * CJ2K_MAX_COMPONENTS, kSlopeUnit + 1300));
      gop.compare(totals);
    }
    gop.code(gop.all());
    gop.compare(totals);
    gop.compare_with_whole();
  }
  CHECK(totals.paused > count * frames / 2);
  MESSAGE(totals.blocks << " blocks, " << totals.passes << " passes, " << totals.bytes
                        << " bytes equal the CPU's; " << totals.paused << " paused");
}

TEST_CASE("tier-1 fused: all slots busy, small blocks") { check_busy(32, 32, 80, 7); }
TEST_CASE("tier-1 fused: all slots busy, large blocks") { check_busy(64, 64, 40, 7); }
TEST_CASE("tier-1 fused: all slots busy, narrow blocks") { check_busy(4, 1024, 20, 7); }

}  // namespace
}  // namespace cj2k::cuda
