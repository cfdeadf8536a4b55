// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The blocks that the stop strategies ask for, and the blocks that stop by the rules, in a frame of
// three code-blocks. No coder runs: slopes and bytes are made up, the results worked out by hand.
#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "core/stop.h"
#include "cpu/stop_rules.h"
#include "depth/early_stop.h"
#include "params/params.h"
#include "plan/plan.h"

namespace cj2k {
namespace {

constexpr uint32_t kPlanes = 3;  // planes of each of the three blocks

/// Three blocks of 32x32 in a row: all in one component, or one in each of three.
cj2k_params three_blocks(cj2k_stop stop, int64_t target_bytes, int32_t components = 1) {
  cj2k_params p;
  std::memset(&p, 0, sizeof p);
  p.struct_size = sizeof p;
  set_default_params(&p);
  p.width = components == 1 ? 96 : 32;
  p.height = 32;
  p.num_components = components;
  p.levels = 0;
  p.cblk_width = p.cblk_height = 32;
  p.stop = stop;
  p.target_bytes = target_bytes;
  p.gop = p.async_depth = 1;
  return p;
}

using Blocks = std::vector<uint32_t>;

/// The result of one bit-plane of a block: one point of the hull.
struct Coded {
  uint32_t block, bytes;
  uint16_t slope;
};
using Plane = std::vector<Coded>;

/// A frame with made-up results.
class Frame {
 public:
  explicit Frame(const cj2k_params& p) {
    const Log log(std::getenv("CJ2K_TEST_LOG") ? cj2k_log_stderr : nullptr, nullptr);
    cj2k_params resolved;
    REQUIRE(resolve_params(p, log, &resolved) == Status::kOk);
    REQUIRE(make_plan(resolved, log, &plan_) == Status::kOk);
    REQUIRE(plan_.blocks.size() == 3);
    sample_ = std::make_unique<BlockSample>(plan_);
    scratch_.emplace_back(plan_);
    rate_ = std::make_unique<RateControl>(plan_, scratch_);
    stop_ = std::make_unique<EarlyStop>(plan_, *sample_);
    rules_ = std::make_unique<CpuStopRules>(plan_);
  }

  const BlockRequest& begin(const SlopeThresholds& previous = {}) {
    stop_->begin(5, *rate_, previous);
    CHECK(stop_->request().frame == 5);
    return stop_->request();
  }
  Blocks wanted() { return {stop_->request().blocks.begin(), stop_->request().blocks.end()}; }

  /// Codes planes 2, 1, 0 as the rule of the strategy asks. A block that is not asked for is not
  /// coded. A block that is asked for but not in `planes` gets no hull point.
  /// @return the blocks that were asked for in each of the three planes
  std::vector<Blocks> code(const std::vector<Plane>& planes) {
    for (uint32_t b = 0; b < 3; ++b) {
      blocks_[b] = {};
      hulls_[b].clear();
      hulls_[b].reserve(kPlanes);
    }
    begin();
    CHECK(wanted() == Blocks{0, 1, 2});
    std::vector<Blocks> asked(kPlanes);
    uint32_t expected = plan_.blocks[0].max_bit_planes;
    bool is_first = true;
    const auto code = [&](const BlockOrder& limits) {
      const std::span<const uint32_t> blocks = limits.blocks;
      CHECK(limits.thresholds == SlopeThresholds{});
      // The first limit is above the highest plane: it finds how many planes each block has.
      CHECK(limits.last_plane == expected--);
      if (is_first) {
        CHECK(blocks.size() == 3);
        for (CodedBlock& block : blocks_) look(block);
        is_first = false;
        return;
      }
      if (limits.last_plane >= kPlanes) {
        CHECK(blocks.empty());
        return;
      }
      const size_t number = kPlanes - 1 - limits.last_plane;
      asked[number].assign(blocks.begin(), blocks.end());
      for (const uint32_t b : blocks) code_plane(b, planes[number]);
    };
    rules_->run(stop_->request(), *sample_, blocks_, code);
    CHECK(expected == UINT32_MAX);
    rate_->allocate(blocks_);
    CHECK_FALSE(stop_->goes_on(blocks_, *rate_));
    return asked;
  }
  const RateControl& rate() const { return *rate_; }

 private:
  static void look(CodedBlock& block) {
    block.is_coded = true;
    block.planes_left = kPlanes;
  }
  void code_plane(uint32_t b, const Plane& plane) {
    CodedBlock& block = blocks_[b];
    --block.planes_left;
    if (block.num_hull == 0) block.last_slope = kMaxSlope;
    block.num_passes = static_cast<uint8_t>(3 * (kPlanes - block.planes_left) - 2);
    for (const Coded& coded : plane) {
      if (coded.block != b) continue;
      block.num_bytes += coded.bytes;
      block.last_slope = coded.slope;
      hulls_[b].push_back({block.num_bytes, block.num_passes, coded.slope, 0.0});
      block.hull = hulls_[b].data();
      block.num_hull = static_cast<uint8_t>(hulls_[b].size());
    }
  }

  Plan plan_;
  std::unique_ptr<BlockSample> sample_;
  std::vector<PacketScratch> scratch_;
  std::unique_ptr<RateControl> rate_;
  std::unique_ptr<EarlyStop> stop_;
  std::unique_ptr<CpuStopRules> rules_;
  CodedBlock blocks_[3];
  std::vector<HullPoint> hulls_[3];
};

TEST_CASE("slope-byte table: entries are quarter octaves, the steepest come first") {
  SlopeByteTable table;
  table.add(64 * 400, 10);       // the lowest slope of entry 400
  table.add(64 * 400 + 63, 20);  // the highest slope of entry 400
  table.add(64 * 401, 40);
  table.add(0, 1);
  table.add(65535, 2);
  CHECK(table.bytes()[400] == 30);
  CHECK(table.bytes()[401] == 40);
  CHECK(table.bytes()[399] == 0);
  CHECK(table.bytes()[0] == 1);
  CHECK(table.bytes()[1023] == 2);
  // Sums from the top: 2, 42, 72, 73. The threshold is the entry that exceeds the target; an entry
  // that only reaches it does not count.
  CHECK(table.threshold(0) == 64 * 1023);
  CHECK(table.threshold(1) == 64 * 1023);
  CHECK(table.threshold(2) == 64 * 401);
  CHECK(table.threshold(41) == 64 * 401);
  CHECK(table.threshold(42) == 64 * 400);
  CHECK(table.threshold(71) == 64 * 400);
  CHECK(table.threshold(72) == 0);  // exceeded in the entry of slope 0
  CHECK(table.threshold(73) == 0);
  CHECK(table.threshold(UINT64_MAX) == 0);
  table.clear();
  CHECK(table.threshold(0) == 0);
  // Sums above 32 bits.
  table.add(64, 0xFFFFFFFFu);
  table.add(64, 0xFFFFFFFFu);
  CHECK(table.threshold(0xFFFFFFFFull) == 64);
  CHECK(table.threshold(2 * 0xFFFFFFFFull) == 0);
}

TEST_CASE("psb: a block stops below the slope at which the table of the frame fills the cap") {
  for (const int64_t target : {1000, 999}) {
    Frame frame(three_blocks(CJ2K_STOP_PSB, target));
    const std::vector<Blocks> asked = frame.code({
        // 300 bytes in total: the cap is not full.
        {{0, 100, 17200}, {1, 100, 16200}, {2, 100, 15200}},
        // Sums from the top: 100, 200, 300, 700, 1000, 1300. A target of 1000 bytes is exceeded by
        // block 2's own bytes, at entry 190 (slope 12160), which block 2 lies in. A target of 999
        // is exceeded by block 1's bytes, at entry 206 (slope 13184). 13184 - 12200 is more than
        // the margin of 64, so block 2 stops.
        {{0, 400, 14200}, {1, 300, 13200}, {2, 300, 12200}},
        {{0, 50, 11200}, {1, 50, 10200}, {2, 50, 9200}},
    });
    CHECK(asked[0] == Blocks{0, 1, 2});
    CHECK(asked[1] == Blocks{0, 1, 2});
    CHECK(asked[2] == (target == 1000 ? Blocks{0, 1, 2} : Blocks{0, 1}));
    // PCRD-opt over the coded points: 700 bytes in the order of slope. Then block 1's second plane
    // does not fit beside the headers, but block 0's third plane does.
    CHECK(frame.rate().body_bytes() == 750);
  }
}

TEST_CASE("psb: a plane of few bytes stops far below the slope only") {
  for (const uint32_t bytes : {39u, 40u}) {
    Frame frame(three_blocks(CJ2K_STOP_PSB, 900));
    const std::vector<Blocks> asked = frame.code({
        {{0, 1000, 17200},  // the table's threshold is 17152
         {1, bytes, 17152 - kPauseMargin - 1},
         {2, bytes, static_cast<uint16_t>(17152 - kSmallPlaneMargin - 1)}},
        {{0, 1, 16000}, {1, 40, 17152 - kPauseMargin - 1}},
        {},
    });
    CHECK(asked[1] == (bytes == 39 ? Blocks{0, 1} : Blocks{0}));
    CHECK(asked[2] == Blocks{0});
  }
  // A difference equal to the margin is not enough.
  Frame frame(three_blocks(CJ2K_STOP_PSB, 900));
  const std::vector<Blocks> asked = frame.code({
      {{0, 1000, 17200}, {1, 39, 17000}},
      {{0, 1, 16000}, {1, 40, 17152 - kPauseMargin}},
      {},
  });
  CHECK(asked[2] == Blocks{0, 1, 2});
}

TEST_CASE("psb: a block without a point of the hull goes on") {
  Frame frame(three_blocks(CJ2K_STOP_PSB, 500));
  // Block 2 is as if no pass had gained anything.
  CHECK(frame.code({{{0, 600, 17200}, {1, 100, 7200}}, {}, {}})[1] == Blocks{0, 2});
}

TEST_CASE("psb: each component has a table of its own against its cap") {
  cj2k_params p = three_blocks(CJ2K_STOP_PSB, 2000, 3);
  p.max_component_bytes = 300;
  Frame frame(p);
  const std::vector<Blocks> asked = frame.code({
      {{0, 100, 17200}, {1, 101, 17200}, {2, 102, 17200}},
      // 300 bytes do not exceed the cap. 301 and 302 do, at entry 112 (7168), where the blocks
      // themselves lie.
      {{0, 200, 7200}, {1, 200, 7200}, {2, 200, 7200}},
      {{0, 50, 6200}, {1, 50, 6200}, {2, 50, 6200}},
  });
  CHECK(asked[1] == Blocks{0, 1, 2});
  CHECK(asked[2] == Blocks{0, 1, 2});
  for (uint32_t c = 0; c < 3; ++c) CHECK(frame.rate().component_bytes(c) <= 300);
}

TEST_CASE("psb: a component over its cap stops, the others go on") {
  cj2k_params p = three_blocks(CJ2K_STOP_PSB, 2000, 3);
  p.max_component_bytes = 300;
  Frame frame(p);
  const std::vector<Blocks> asked = frame.code({
      {{0, 100, 17200}, {1, 301, 17200}, {2, 300, 17200}},
      // Component 1's table is full at 17152, component 2's at the slope of this plane.
      {{0, 100, 16200}, {1, 100, 16200}, {2, 100, 16200}},
      {},
  });
  CHECK(asked[1] == Blocks{0, 1, 2});
  CHECK(asked[2] == Blocks{0, 2});
}

TEST_CASE("bpi: all blocks stop after the plane at which the frame is over its cap") {
  for (const int64_t target : {600, 599}) {
    Frame frame(three_blocks(CJ2K_STOP_BPI, target));
    const std::vector<Blocks> asked = frame.code({
        {{0, 100, 17200}, {1, 100, 16200}, {2, 100, 15200}},
        {{0, 100, 14200}, {1, 100, 13200}, {2, 100, 12200}},
        {{0, 100, 11200}, {1, 100, 10200}, {2, 100, 9200}},
    });
    CHECK(asked[1] == Blocks{0, 1, 2});
    // 600 bytes do not exceed a cap of 600.
    CHECK(asked[2] == (target == 600 ? Blocks{0, 1, 2} : Blocks{}));
  }
}

TEST_CASE("bpi: a component stops at its own cap") {
  cj2k_params p = three_blocks(CJ2K_STOP_BPI, 2000, 3);
  p.max_component_bytes = 300;
  Frame frame(p);
  CHECK(frame.code({{{0, 100, 17200}, {1, 301, 16200}, {2, 300, 15200}}, {}, {}})[1] ==
        Blocks{0, 2});
}

TEST_CASE("a new frame forgets the one before") {
  for (const cj2k_stop stop : {CJ2K_STOP_PSB, CJ2K_STOP_BPI}) {
    Frame frame(three_blocks(stop, 500));
    const std::vector<Plane> planes = {{{0, 300, 17200}, {1, 300, 17199}, {2, 300, 10000}},
                                       {{0, 300, 7200}, {1, 300, 7199}, {2, 300, 7198}},
                                       {}};
    const std::vector<Blocks> asked = frame.code(planes);
    CHECK(asked[2].size() < 3);
    CHECK(frame.code(planes) == asked);
  }
}

TEST_CASE("pst: everything for the first GOP, then down to the slope before less the margin") {
  cj2k_params p = three_blocks(CJ2K_STOP_PST, 500, 3);
  p.stop_margin = 128;
  Frame frame(p);
  CHECK(frame.begin().rule == StopRule::kThresholds);
  CHECK(frame.begin().thresholds == SlopeThresholds{});
  CHECK(frame.wanted() == Blocks{0, 1, 2});

  // Threshold 0 means that the component was not full: it is coded to the end. A threshold below
  // the margin gives 0.
  const SlopeThresholds thresholds = frame.begin({20000, 0, 64}).thresholds;
  CHECK(thresholds[1] == 0);
  CHECK(thresholds[2] == 0);
  constexpr uint32_t kManyBytes = 1000;
  CHECK(may_pause(20000 - 128 - 1, kManyBytes, thresholds[0]));
  CHECK_FALSE(may_pause(20000 - 128, kManyBytes, thresholds[0]));
}

TEST_CASE("pst: stop_margin moves the threshold by so much, and stays in 16 bits") {
  for (const int margin : {0, 1, 128, 4096}) {
    cj2k_params p = three_blocks(CJ2K_STOP_PST, 500);
    p.stop_margin = margin;
    Frame frame(p);
    CHECK(frame.begin({30000}).thresholds[0] - kPauseMargin == 30000 - margin);
    CHECK(frame.begin({65535}).thresholds[0] == std::min(65535, 65535 - margin + kPauseMargin));
  }
}

/// What CpuStopRules asks to be coded.
struct Call {
  Blocks blocks;
  uint16_t threshold;
  bool anew;
  uint16_t rdoq;
  bool operator==(const Call&) const = default;
};

TEST_CASE("rdoq: a larger sample predicts again, and resumes where it paused too early") {
  cj2k_params p = three_blocks(CJ2K_STOP_EXACT, 100000);
  p.width = p.height = 1024;
  p.effort = 2;
  p.frame_steps = 0;
  const Log log(nullptr, nullptr);
  cj2k_params resolved;
  REQUIRE(resolve_params(p, log, &resolved) == Status::kOk);
  Plan plan;
  REQUIRE(make_plan(resolved, log, &plan) == Status::kOk);
  const size_t count = plan.blocks.size();
  REQUIRE(count == 1024);
  const BlockSample sample(plan);
  CHECK(sample.blocks.size() == count / 64);
  CHECK(sample.larger.blocks.size() == count / 16);

  // Ten bytes at each of eight slopes; those of the larger sample are 400 below.
  std::vector<CodedBlock> coded(count);
  std::vector<std::array<HullPoint, 8>> hulls(count);
  std::vector<Call> calls;
  const auto code = [&](const BlockOrder& limits) {
    const std::span<const uint32_t> blocks = limits.blocks;
    calls.push_back(
        {{blocks.begin(), blocks.end()}, limits.thresholds[0], limits.anew, limits.rdoq[0]});
    const int top = calls.size() == 1 ? 30000 : 29600;
    for (const uint32_t b : blocks) {
      coded[b] = {};
      for (int i = 0; i < 8 && top - 100 * i >= limits.thresholds[0]; ++i) {
        hulls[b][static_cast<size_t>(i)] = {static_cast<uint32_t>(10 * (i + 1)),
                                            static_cast<uint16_t>(i + 1),
                                            static_cast<uint16_t>(top - 100 * i), 0.0};
        ++coded[b].num_hull;
      }
      coded[b].hull = hulls[b].data();
    }
  };
  BlockRequest request{};
  request.rule = StopRule::kPredicted;
  request.blocks = sample.all;
  request.targets.frame = 55 * count;
  for (uint64_t& target : request.targets.component) target = kNoTarget;
  CpuStopRules(plan).run(request, sample, coded.data(), code);
  // 55 bytes end above the sixth slope, 29500: threshold 29437, and half an octave below 29309. There
  // the larger sample has 30 bytes, which do not fill the cap; all of them end above 29100.
  const std::vector<Call> expected = {{sample.blocks, 0, false, 0},
                                      {sample.larger.blocks, 29309, true, 0},
                                      {sample.larger.blocks, 0, false, 0},
                                      {sample.all, 29037, true, 29116}};
  CHECK(calls == expected);
  CHECK(request.rdoq[0] == 29116);
}

TEST_CASE("without a cap in bytes, and with PTERM, every plane of few blocks is coded") {
  for (const cj2k_stop stop :
       {CJ2K_STOP_NONE, CJ2K_STOP_EXACT, CJ2K_STOP_PST, CJ2K_STOP_PSB, CJ2K_STOP_BPI}) {
    for (const bool pterm : {false, true}) {
      cj2k_params p = three_blocks(stop, pterm ? 500 : 0);
      if (pterm) p.cblk_style = CJ2K_STYLE_PTERM;
      Frame frame(p);
      const BlockRequest& request = frame.begin({30000});
      CHECK(request.rule == StopRule::kThresholds);
      CHECK(request.thresholds == SlopeThresholds{});
      CHECK(frame.wanted() == Blocks{0, 1, 2});
    }
  }
}

}  // namespace
}  // namespace cj2k
