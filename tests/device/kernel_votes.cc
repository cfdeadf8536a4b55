// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// tier1_votes: votes on steps, from bit-planes.
#include "device/tier1_gop.h"

// The headers of what is tested.
#include "coders/coded_before.h"
#include "kernels/ebcot/votes.h"

namespace cj2k::cuda::test {
namespace {

StepVote expected_vote(const TestBlock& block, Orientation orientation) {
  if (orientation == kLL) return StepVote::kNone;
  StepVoter voter;
  for (int plane = block.bit_planes() - 1; plane >= kLowestHalves - 1; --plane) {
    voter.add(plane, ref::count_halves(block.samples().data(), block.stride(), block.width(),
                                       block.height(), plane));
  }
  return voter.vote();
}

/// Each size with few planes and with many, in all orientations; half of the blocks were coded before.
std::vector<Item> make_items(uint64_t seed) {
  constexpr int kBlockSizes[][2] = {{64, 64}, {4, 1024}, {1024, 4}, {32, 32}, {33, 17}, {16, 4},
                                    {8, 9},   {3, 600},  {5, 3},    {1, 1},   {63, 61}};
  constexpr int kPlanes[] = {0, 1, 2, 3, 4, 5, 6, 8, 11, 19, 30, 31};
  std::vector<Item> items;
  for (const auto& size : kBlockSizes) {
    for (const int planes : kPlanes) {
      Item item = make_item(size[0], size[1], {planes}, ++seed);
      item.frames.emplace_back(size[0], size[1], planes, cj2k::test::Fill::kMidpoints, seed);
      items.push_back(item);
    }
  }
  return items;
}

TEST_CASE("tier1_votes: the votes of the reference") {
  for (const uint64_t seed : simt::test::kSeeds) {
    INFO("seed ", seed);
    const std::vector<Item> items = make_items(seed);
    Gop gop(items, {.seed = seed});
    size_t counts[3] = {};
    for (const size_t count : {gop.num_blocks(), size_t{6}, size_t{1}}) {
      std::vector<uint32_t> blocks = gop.all();
      std::shuffle(blocks.begin(), blocks.end(), std::mt19937_64(seed));
      blocks.resize(count);
      simt::DeviceBuffer on_device;
      const Tier1List list = gop.upload_list(blocks, &on_device);
      const auto votes = gop.gpu().upload(std::vector<uint8_t>(count + 1, 0xA5));
      REQUIRE(tier1_votes(gop.gpu().stream, gop.buffers(), list, votes.as<uint8_t>()) ==
              Status::kOk);
      const auto actual = gop.gpu().download<uint8_t>(votes, count + 1);
      for (size_t i = 0; i < count; ++i) {
        const TestBlock& block = gop.source(blocks[i]);
        const Orientation orientation = items[blocks[i] % items.size()].orientation;
        const StepVote vote = expected_vote(block, orientation);
        INFO(block.width(), "x", block.height(), ", planes ", block.bit_planes());
        REQUIRE(actual[i] == static_cast<uint8_t>(vote));
        ++counts[actual[i]];
      }
      CHECK(actual[count] == 0xA5);
    }
    MESSAGE("votes: ", counts[0], " none, ", counts[1], " on, ", counts[2], " off");
    for (const size_t count : counts) CHECK(count > 20);
#if defined(CJ2K_SIMT_SHIM)
    simt::shim::check_canaries();
#endif
  }
}

}  // namespace
}  // namespace cj2k::cuda::test
