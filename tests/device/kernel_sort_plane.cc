// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// tier1_sort_plane: each list keeps its blocks, in the order of the rounds that the MQ coder takes.
#include <algorithm>
#include <functional>
#include <random>

#include "device/kernel_check.h"

// The headers of what is tested.
#include "kernels/ebcot/tier1_launch.h"

namespace cj2k::cuda {
namespace {

using namespace cj2k::simt::test;

constexpr uint32_t kBlocks = 8000, kFrames = 2, kMostPlanes = 6, kHighest = 255;

/// Sizes of the lists of one plane, and what they could have been.
struct Case {
  uint32_t counts[kTier1Sizes], room[kTier1Sizes];
};
constexpr Case kCases[] = {
    {{0, 0, 0}, {40, 0, 3}},
    {{1, 0, 0}, {1, 0, 0}},
    {{0, 1, 2}, {0, 1, 2}},
    {{31, 32, 33}, {31, 6000, 33}},
    {{500, 0, 256}, {500, 1, 256}},
    {{800, 1100, 1501}, {800, 1100, 1501}},
    {{1700, 2700, 3300}, {1700, 2700, 3300}},
    {{2050, 3600, 3900}, {2050, 4000, 3901}},
    {{tier1::kSortTile, 0, 0}, {tier1::kSortTile, 0, 0}},
    {{1, tier1::kSortTile + 1, 0}, {1, tier1::kSortTile + 1, 0}},
    {{2 * tier1::kSortTile + 77, 3, 2000}, {3 * tier1::kSortTile, 3, 2000}},
    {{0, 40, 3 * tier1::kSortTile - 1}, {20, 40, 3 * tier1::kSortTile - 1}},
};

/// Decisions of a pass. Those of a block end its rounds below, at, and above a multiple of 16, and go
/// beyond the most that a bucket is for.
using Fill = std::function<uint16_t(uint64_t random)>;
const Fill kFills[] = {
    [](uint64_t random) { return static_cast<uint16_t>(random % 1200); },
    [](uint64_t random) { return static_cast<uint16_t>(random % 4 * 16 + random / 4 % 3); },
    [](uint64_t) { return uint16_t{100}; },
    [](uint64_t) { return uint16_t{0}; },
    [](uint64_t random) { return static_cast<uint16_t>(random); },
};

class Sorted {
 public:
  Sorted(Gpu& gpu, const Case& c, const Fill& fill, int plane, uint64_t seed)
      : c_(c), plane_(plane), random_(seed) {
    uint32_t frame_passes = 0;
    for (uint32_t b = 0; b < kBlocks; ++b) {
      Tier1Job job{};
      job.first_pass = frame_passes;
      jobs_.push_back(job);
      frame_passes += num_passes_of(kMostPlanes);
    }
    // Passes of other planes would give other rounds.
    passes_.resize(kFrames * frame_passes);
    for (PassSymbols& pass : passes_) pass.count = fill(random_());
    for (uint32_t i = 0; i < kFrames * kBlocks; ++i) {
      const auto planes = static_cast<uint32_t>(plane) + 1 +
                          static_cast<uint32_t>(random_() % (kMostPlanes - plane));
      const uint32_t highest_bit = 1u << (planes - 1);
      magnitudes_.push_back(highest_bit | (static_cast<uint32_t>(random_()) & (highest_bit - 1)));
    }
    make_lists();

    const auto d_jobs = gpu.upload(jobs_);
    const auto d_passes = gpu.upload(passes_);
    const auto d_magnitudes = gpu.upload(magnitudes_);
    const auto d_counts = gpu.upload(counts_);
    const auto d_lists = gpu.upload(lists_);
    tier1::SortPlaneParams params{};
    params.buffers.jobs = d_jobs.as<Tier1Job>();
    params.buffers.shared_jobs = params.buffers.num_blocks = kBlocks;
    params.buffers.planes.magnitudes = d_magnitudes.as<uint32_t>();
    params.buffers.frame_passes = frame_passes;
    params.buffers.pass_symbols = d_passes.as<PassSymbols>();
    params.lists = {d_counts.as<uint32_t>(), d_lists.as<uint32_t>(), stride_, {}};
    std::copy(std::begin(first_of_), std::end(first_of_), params.lists.first_of);
    params.plane = plane;
    REQUIRE(tier1::tier1_sort_plane(gpu.stream, params, c.room) == Status::kOk);
    result_ = gpu.download<uint32_t>(d_lists, lists_.size());
    CHECK(first_difference(gpu.download<uint32_t>(d_counts, counts_.size()), counts_) == -1);
  }

  void check() const {
    std::vector<uint32_t> expected = lists_;
    for (uint32_t size = 0; size < kTier1Sizes; ++size) {
      const uint32_t count = c_.counts[size];
      const uint32_t num_tiles = (count + tier1::kSortTile - 1) / tier1::kSortTile;
      INFO("size ", size, ", ", count, " blocks");
      for (uint32_t tile = 0; tile < num_tiles; ++tile) check_tile(size, num_tiles, tile, expected);
    }
    // Nothing else is written.
    CHECK(first_difference(result_, expected) == -1);
  }

 private:
  void make_lists() {
    std::vector<uint32_t> blocks(kFrames * kBlocks);
    for (uint32_t i = 0; i < blocks.size(); ++i) blocks[i] = i;
    std::shuffle(blocks.begin(), blocks.end(), random_);
    for (uint32_t size = 0; size < kTier1Sizes; ++size) {
      first_of_[size] = stride_;
      stride_ += c_.room[size];
    }
    counts_.assign(kMostPlanes * kTier1Sizes, 5);
    lists_.assign(uint64_t{kMostPlanes} * stride_, kPoison);
    auto next = blocks.begin();
    for (uint32_t size = 0; size < kTier1Sizes; ++size) {
      counts_[static_cast<uint32_t>(plane_) * kTier1Sizes + size] = c_.counts[size];
      std::copy_n(next, c_.counts[size], lists_.data() + begin_of(size));
      next += c_.counts[size];
    }
  }

  uint64_t begin_of(uint32_t size) const {
    return uint64_t{static_cast<uint32_t>(plane_)} * stride_ + first_of_[size];
  }

  uint32_t key_of(uint32_t block, uint32_t size) const {
    const int planes = std::bit_width(magnitudes_[block]);
    const PassSymbols* first = passes_.data() +
                               uint64_t{block / kBlocks} * passes_.size() / kFrames +
                               jobs_[block % kBlocks].first_pass;
    uint32_t rounds = 0;
    for (int i = num_passes_of(planes - 1 - plane_); i < num_passes_of(planes - plane_); ++i) {
      rounds += (first[i].count + 15u) / 16;
    }
    return std::min(size == 0 ? rounds : rounds / 4, kHighest);
  }

  /// The entries of a tile have the blocks that they had, most rounds first. Puts them into
  /// `expected`.
  void check_tile(uint32_t size, uint32_t num_tiles, uint32_t tile,
                  std::vector<uint32_t>& expected) const {
    std::vector<uint32_t> before, after;
    bool is_sorted = true;
    for (uint32_t i = 0; i < c_.counts[size]; ++i) {
      if (i / 32 % num_tiles != tile) continue;
      const uint64_t at = begin_of(size) + i;
      REQUIRE(result_[at] < kFrames * kBlocks);
      is_sorted &= after.empty() || key_of(after.back(), size) >= key_of(result_[at], size);
      before.push_back(lists_[at]);
      after.push_back(result_[at]);
      expected[at] = result_[at];
    }
    CHECK(is_sorted);
    CHECK(before.size() <= tier1::kSortTile);
    std::sort(before.begin(), before.end());
    std::sort(after.begin(), after.end());
    CHECK(first_difference(before, after) == -1);
  }

  const Case& c_;
  const int plane_;
  std::mt19937_64 random_;
  std::vector<Tier1Job> jobs_;
  std::vector<PassSymbols> passes_;
  std::vector<uint32_t> magnitudes_, counts_, lists_, result_;
  uint32_t stride_ = 0, first_of_[kTier1Sizes] = {};
};

TEST_CASE("tier1_sort_plane: each list is sorted and keeps its blocks") {
  for_each_seed("tier1_sort_plane", [](Gpu& gpu, uint64_t seed) {
    uint64_t n = seed;
    for (const Case& c : kCases) {
      for (const Fill& fill : kFills) {
        INFO("case ", &c - kCases, ", fill ", &fill - kFills);
        // Blocks of one plane alone have one pass, and so has the highest of several.
        const int plane = static_cast<int>(++n % kMostPlanes);
        Sorted(gpu, c, fill, plane, n).check();
      }
    }
  });
}

}  // namespace
}  // namespace cj2k::cuda
