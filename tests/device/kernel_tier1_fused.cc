// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The fused form of tier-1 with all slots in use and all rings full: more blocks of noise than
// thread blocks hold, on devices with few and many multiprocessors. kernel_tier1.cc tests single
// blocks.
#include "cuda/tier1_coder.h"
#include "device/tier1_gop.h"

namespace cj2k::cuda {
namespace {

using cj2k::test::Fill;
using test::Gop;
using test::Item;
using test::Totals;

/// Half of the blocks are noise, the others have little to code. Some are smaller than given.
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

/// A device of the shim. A GPU has its own number of multiprocessors.
struct Machine {
  int num_multiprocessors;
  uint64_t schedule;
};
constexpr Machine kMachines[] = {{4, 1}, {46, 2}, {132, 0xC0FFEE}};

void check_machine(const Machine& machine, uint32_t max_thread_blocks,
                   const std::vector<Item>& items, Totals& totals) {
  const uint64_t seed = machine.schedule;
  const uint32_t style = seed == 2 ? CJ2K_STYLE_BYPASS | CJ2K_STYLE_SEGSYM : 0;
  test::Options options{Tier1Form::kFused, seed, style, seed == 1};
  options.num_multiprocessors = machine.num_multiprocessors;
  options.max_thread_blocks = max_thread_blocks;
  Gop gop(items, options);
  const FusedGrid grid = gop.fused_grid_of_all();
  INFO(grid.thread_blocks, " thread blocks, ", grid.num_slots, " of ", grid.max_slots, " slots");
  if (max_thread_blocks != 0) REQUIRE(grid.num_slots == grid.max_slots);
  if (seed != 1) {
    // Noise pauses after its second or third plane.
    const size_t count = gop.num_frames() * CJ2K_MAX_COMPONENTS;
    gop.code(gop.all(), std::vector<uint16_t>(count, kSlopeUnit + 1300));
    gop.compare(totals);
  }
  gop.code(gop.all());
  gop.compare(totals);
  gop.compare_with_whole();
}

/// Runs with the device's number of thread blocks, and with so few that all slots are in use on any
/// device.
void check_busy(int width, int height, size_t count, size_t frames, uint32_t max_thread_blocks) {
  Totals totals;
  for (const Machine& machine : kMachines) {
    const auto items = busy_items(width, height, count, frames, machine.schedule * 1000);
    for (const uint32_t most : {0u, max_thread_blocks}) check_machine(machine, most, items, totals);
  }
  CHECK(totals.paused > count * frames);
  MESSAGE(totals.blocks << " blocks, " << totals.passes << " passes, " << totals.bytes
                        << " bytes equal the CPU's; " << totals.paused << " paused");
}

TEST_CASE("tier-1 fused: all slots busy, small blocks") { check_busy(32, 32, 80, 7, 16); }
TEST_CASE("tier-1 fused: all slots busy, large blocks") { check_busy(64, 64, 40, 7, 16); }
TEST_CASE("tier-1 fused: all slots busy, narrow blocks") { check_busy(4, 1024, 20, 7, 8); }

TEST_CASE("tier-1 fused: thread blocks and slots by the device") {
  // The lists of the three cases above: one slot per group on a large device, all slots on a small
  // one.
  const struct {
    int size;
    uint32_t count;
  } lists[] = {{0, 560}, {1, 280}, {2, 140}};
  for (const auto& list : lists) {
    INFO("size ", list.size);
    const FusedGrid small = fused_grid(list.size, list.count, 4, 0);
    CHECK(small.num_slots == small.max_slots);
    CHECK(small.num_slots > 1);
    CHECK(fused_grid(list.size, list.count, 132, 0).num_slots == 1);
    const FusedGrid forced = fused_grid(list.size, list.count, 132, small.thread_blocks);
    CHECK(forced.thread_blocks == small.thread_blocks);
    CHECK(forced.num_slots == small.num_slots);
    CHECK(fused_grid(list.size, list.count, 4, 10000).thread_blocks == small.thread_blocks);
    CHECK(fused_grid(list.size, 1, 132, 0).thread_blocks == 1);
  }
}

}  // namespace
}  // namespace cj2k::cuda
