// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What no coded byte shows: where modelling ends when a pause is expected, and how the blocks of a
// list are sorted, both against core/ebcot/expected_pause.h on the host.
#include "core/ebcot/expected_pause.h"
#include "device/tier1_gop.h"
#include "kernels/ebcot/tier1_launch.h"

namespace cj2k::cuda {
namespace {

using test::Gop;
using test::Item;
using test::make_item;

/// Most blocks are small, and there are more than a thread block sorts. The last ones are larger.
std::vector<Item> items_of(uint64_t seed) {
  std::vector<Item> items;
  for (uint64_t i = 0; i < 140; ++i) {
    const int planes = static_cast<int>((i + seed) % 11);
    const int scale = i % 4 == 0 ? 3 : 1;
    items.push_back(make_item(scale * (1 + static_cast<int>(i * 7 % 10)),
                              scale * (1 + static_cast<int>(i * 5 % 9)),
                              {planes, (planes * 3 + 1) % 9}, 500 * seed + i));
  }
  for (const auto& [width, height] :
       {std::pair{32, 32}, {32, 29}, {32, 32}, {40, 32}, {64, 64}, {4, 1024}, {5, 700}}) {
    const auto i = static_cast<uint64_t>(items.size());
    items.push_back(make_item(width, height, {4 + static_cast<int>(i % 5), 9}, 500 * seed + i));
  }
  return items;
}

/// What a call makes of a block.
struct Modelled {
  bool codes = false;
  int first = 0, last = 0;  ///< planes that are modelled, from above; `last` may be below 0
  uint32_t decisions = 0;   ///< down to the plane after which it is expected to pause
};

class Check {
 public:
  Check(const std::vector<Item>& items, uint64_t seed)
      : gop_(items, {.form = Tier1Form::kClassic, .seed = seed, .reversible = seed % 2 == 0}),
        random_(seed) {
    blocks_ = gop_.all();
    list_ = gop_.upload_list(blocks_, &d_blocks_);
    passes_ = size_t{gop_.layout().frame_passes} * gop_.num_frames();
    states_.resize(gop_.num_blocks());
    for (size_t b = 0; b < states_.size(); ++b) {
      const int planes = gop_.source(b).bit_planes();
      Tier1State& state = states_[b];
      state.modelled = kNotModelled;
      const uint64_t kind = random_() % 8;
      if (kind == 0) state.stopped = 1;
      if (kind == 1) state.finished = 1;
      if (kind == 2) state.paused = 1;  // before its first plane
      if (kind == 3 && planes > 1) {
        const auto coded = 1 + static_cast<int>(random_() % static_cast<uint64_t>(planes - 1));
        state.num_passes = static_cast<uint8_t>(num_passes_of(coded));
        state.paused = 1;
      }
    }
    symbols_ = model({nullptr});
  }

  void run(uint32_t last_plane) {
    choose_thresholds();
    const simt::DeviceBuffer d_thresholds = gop_.gpu().upload(thresholds_);
    Tier1Limits stop{d_thresholds.as<uint16_t>(), last_plane};
    model(stop);
    for (size_t b = 0; b < states_.size(); ++b)
      REQUIRE(actual_[b].modelled == (expected(b, last_plane).codes ? last_plane : kNotModelled));
    stop.modelled = Tier1Limits::Modelled::kExpected;
    const std::vector<PassSymbols> fewer = model(stop);
    for (size_t b = 0; b < states_.size(); ++b) check_block(b, last_plane, fewer);
    sort(stop, symbols_);
    // Numbers of decisions of every size.
    std::vector<PassSymbols> other = symbols_;
    for (PassSymbols& made : other) made.count = static_cast<uint16_t>(random_() >> random_() % 64);
    sort(stop, other);
  }
  size_t ended() const { return ended_; }
  size_t whole() const { return whole_; }

 private:
  static constexpr uint8_t kNotModelled = 77;

  const Tier1Job& job(size_t block) const {
    return gop_.layout().jobs[block % gop_.buffers().num_blocks];
  }
  size_t first_pass(size_t block) const {
    return block / gop_.buffers().num_blocks * gop_.layout().frame_passes + job(block).first_pass;
  }

  /// Models all blocks. @return the passes; actual_ has the states
  std::vector<PassSymbols> model(const Tier1Limits& stop) {
    simt::test::Gpu& gpu = gop_.gpu();
    Tier1Buffers buffers = gop_.buffers();
    d_states_ = gpu.upload(states_);
    const auto symbols = gpu.upload(std::vector<PassSymbols>(passes_, Gop::kUntouched));
    buffers.states = d_states_.as<Tier1State>();
    buffers.pass_symbols = symbols.as<PassSymbols>();
    uint32_t before = 0;
    for (int size = 0; size < kTier1Sizes; ++size) {
      const uint32_t count = list_.counts[size];
      REQUIRE(tier1::tier1_model(gpu.stream,
                                 {buffers, list_.blocks + before, nullptr, count, 0,
                                  tier1::kPlanesLeft, stop, false},
                                 size) == Status::kOk);
      before += count;
    }
    actual_ = gpu.download<Tier1State>(d_states_, states_.size());
    return gpu.download<PassSymbols>(symbols, passes_);
  }

  Modelled expected(size_t block, uint32_t last_plane) const {
    const uint16_t threshold =
        thresholds_[block / gop_.buffers().num_blocks * CJ2K_MAX_COMPONENTS + job(block).component];
    return expected(block, last_plane, symbols_,
                    pause_threshold(threshold, static_cast<Orientation>(job(block).orientation)));
  }
  Modelled expected(size_t block, uint32_t last_plane, const std::vector<PassSymbols>& symbols,
                    uint16_t threshold) const {
    const Tier1State& state = states_[block];
    const int planes = gop_.source(block).bit_planes();
    const int coded = num_planes_coded(state.num_passes), to = static_cast<int>(last_plane);
    Modelled result;
    if (state.stopped != 0 || state.finished != 0 || planes - coded <= to) return result;
    if (coded == 0 && threshold != 0 && best_slope_left(job(block).weight, planes) < threshold)
      return result;
    result = {true, planes - 1 - coded, to, 0};
    ExpectedPause pause(job(block).weight, threshold);
    for (int pass = num_passes_of(coded); pass < num_passes_of(planes - to); ++pass) {
      const PassSymbols& made = symbols[first_pass(block) + static_cast<size_t>(pass)];
      result.decisions += made.count;
      if (pause.add(pass_kind(pass), made.count, made.distortion, made.plane)) {
        result.last = made.plane;
        break;
      }
    }
    return result;
  }

  /// For each component of each frame, the lowest threshold at which one of its blocks ends earlier
  /// than at a lower one, or one less.
  void choose_thresholds() {
    thresholds_.assign(gop_.num_frames() * CJ2K_MAX_COMPONENTS, 0);
    for (size_t i = 0; i < 40 * thresholds_.size(); ++i) {
      const size_t num_items = gop_.buffers().num_blocks;
      const size_t item =
          random_() % 3 == 0 ? num_items - 1 - random_() % 7 : random_() % num_items;
      const size_t block = random_() % gop_.num_frames() * num_items + item;
      uint16_t& threshold = thresholds_[block / gop_.buffers().num_blocks * CJ2K_MAX_COMPONENTS +
                                        job(block).component];
      const auto end = [&](uint32_t t) {
        const Modelled m = expected(block, 0, symbols_, static_cast<uint16_t>(t));
        return m.codes ? m.last : kMaxBitPlanes;
      };
      const int plane = 1 + static_cast<int>(random_() % 12);
      uint32_t low = 0, high = kMaxSlope;  // it ends below the plane, and not
      if (threshold != 0 || end(low) >= plane || end(high) < plane) continue;
      while (high - low > 1) (end((low + high) / 2) < plane ? low : high) = (low + high) / 2;
      threshold = static_cast<uint16_t>(random_() % 2 == 0 ? low : high);
    }
  }

  void check_block(size_t block, uint32_t last_plane, const std::vector<PassSymbols>& fewer) {
    INFO("block ", block, ": ", job(block).width, "x", job(block).height);
    const Modelled want = expected(block, last_plane);
    const int planes = gop_.source(block).bit_planes();
    // Blocks of 256 cells are modelled in full.
    const int last = job(block).size == 2 ? static_cast<int>(last_plane) : want.last;
    REQUIRE(actual_[block].modelled == (want.codes ? last : kNotModelled));
    const int begin = want.codes ? num_passes_of(planes - 1 - want.first) : 0;
    const int end = want.codes ? num_passes_of(planes - last) : 0;
    for (int pass = 0; pass < num_passes_of(job(block).max_bit_planes); ++pass) {
      const size_t at = first_pass(block) + static_cast<size_t>(pass);
      const PassSymbols& made = pass >= begin && pass < end ? symbols_[at] : Gop::kUntouched;
      REQUIRE(std::memcmp(&fewer[at], &made, sizeof made) == 0);
    }
    ++(want.codes && want.last > static_cast<int>(last_plane) ? ended_ : whole_);
  }

  /// The bucket by the words of sort_bucket.
  static uint32_t bucket_of(uint32_t decisions) {
    uint32_t key = 0;
    if (decisions >= 16) {
      const auto shift = static_cast<uint32_t>(std::bit_width(decisions)) - 5;
      key = shift * 16 + (decisions >> shift) % 16;
    }
    return 255 - std::min(key, 255u);
  }

  /// Down to the plane after which the block is expected to pause, of those that are modelled.
  uint32_t decisions(size_t block, uint32_t last_plane,
                     const std::vector<PassSymbols>& made) const {
    const uint16_t threshold =
        thresholds_[block / gop_.buffers().num_blocks * CJ2K_MAX_COMPONENTS + job(block).component];
    const Modelled modelled = expected(block, last_plane);
    const int to = job(block).size == 2 ? static_cast<int>(last_plane) : modelled.last;
    return modelled.codes
               ? expected(
                     block, static_cast<uint32_t>(to), made,
                     pause_threshold(threshold, static_cast<Orientation>(job(block).orientation)))
                     .decisions
               : 0;
  }

  /// Sorts the blocks as `model` left them.
  void sort(const Tier1Limits& stop, const std::vector<PassSymbols>& made) {
    simt::test::Gpu& gpu = gop_.gpu();
    Tier1Buffers buffers = gop_.buffers();
    std::vector<Tier1State> states = actual_;
    for (Tier1State& state : states) {
      if (state.modelled == kNotModelled) state.modelled = 0;  // which must not be read
    }
    const auto d_states = gpu.upload(states);
    buffers.states = d_states.as<Tier1State>();
    const auto symbols = gpu.upload(made);
    buffers.pass_symbols = symbols.as<PassSymbols>();
    const std::vector<uint32_t> zero(tier1::kSortBuckets);
    const auto counts = gpu.upload(zero), taken = gpu.upload(zero);
    const auto buckets = gpu.make<uint32_t>(blocks_.size());
    const auto sorted = gpu.make<uint32_t>(blocks_.size());
    REQUIRE(tier1::tier1_sort(gpu.stream,
                              {buffers, list_, stop, counts.as<uint32_t>(), taken.as<uint32_t>(),
                               buckets.as<uint32_t>(), sorted.as<uint32_t>()}) == Status::kOk);
    std::vector<uint32_t> expected_counts(zero.size()), by_block(blocks_.size());
    const auto actual = gpu.download<uint32_t>(buckets, blocks_.size());
    for (size_t i = 0; i < blocks_.size(); ++i) {
      INFO("block ", blocks_[i]);
      const uint32_t bucket = bucket_of(decisions(blocks_[i], stop.last_plane, made));
      REQUIRE(actual[i] == bucket);
      by_block[blocks_[i]] = bucket;
      ++expected_counts[bucket];
    }
    REQUIRE(gpu.download<uint32_t>(counts, zero.size()) == expected_counts);
    REQUIRE(gpu.download<uint32_t>(taken, zero.size()) == expected_counts);
    auto order = gpu.download<uint32_t>(sorted, blocks_.size());
    for (size_t i = 1; i < order.size(); ++i) REQUIRE(by_block[order[i - 1]] <= by_block[order[i]]);
    std::sort(order.begin(), order.end());
    REQUIRE(order == gop_.all());
  }

  Gop gop_;
  std::mt19937_64 random_;
  std::vector<uint32_t> blocks_;
  simt::DeviceBuffer d_blocks_, d_states_;
  Tier1List list_{};
  size_t passes_ = 0;
  std::vector<Tier1State> states_, actual_;
  std::vector<uint16_t> thresholds_;
  std::vector<PassSymbols> symbols_;  ///< of all planes
  size_t ended_ = 0, whole_ = 0;
};

TEST_CASE("tier-1 kernels: modelled down to the expected pause, and sorted by decisions") {
  size_t ended = 0, whole = 0;
  for (const uint64_t seed : {1u, 2u}) {
    const std::vector<Item> items = items_of(seed);
    Check check(items, seed);
    for (const uint32_t last_plane : {0u, 0u, 2u, 0u, 1u, 0u}) check.run(last_plane);
    ended += check.ended();
    whole += check.whole();
  }
  CHECK(ended > 50);
  CHECK(whole > 50);
  MESSAGE(ended << " blocks end early, " << whole << " do not");
}

}  // namespace
}  // namespace cj2k::cuda
