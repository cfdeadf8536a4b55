// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Rate control on the device against RateControl: points, codes, bytes and thresholds are the same.

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <random>

#include "backend.h"
#include "depth/early_stop.h"
#include "device/rate_gop.h"
#include "support/encode.h"
#include "support/picture.h"

namespace cj2k::cuda {
namespace {

/// How the frames ended, to see that the cases are what they should be.
struct Totals {
  size_t frames = 0, empty = 0, full = 0, part = 0;
  size_t near = 0, far = 0;  ///< blocks by is_far_ht_plane
};

void check_frame(const Plan& plan, const Frame& frame, const RateLimits& limits, RateControl& rate,
                 const OnDevice& device, size_t f, Totals& totals) {
  rate.set_limits(limits);
  rate.allocate(frame.blocks.data());
  const RateOutcome& outcome = device.outcomes[f];
  INFO("frame ", f, ", cap ", limits.frame_bytes, ", of components ", limits.component_bytes,
       ", quality ", limits.slope);
  REQUIRE(outcome.flags == 0);
  REQUIRE(outcome.long_block == UINT32_MAX);
  size_t in = 0, all = 0, choices = 0, far = 0;
  for (size_t b = 0; b < plan.blocks.size(); ++b) {
    INFO("block ", b);
    const CodedBlock& block = frame.blocks[b];
    const ChosenBlock& chosen = device.chosen[f * plan.blocks.size() + b];
    REQUIRE(chosen.points == rate.selection().final_points[b]);
    const HullPoint last = chosen.points > 0 ? block.hull[chosen.points - 1] : HullPoint{};
    REQUIRE(chosen.length_bytes == last.length_bytes);
    REQUIRE(chosen.passes == last.passes);
    REQUIRE(chosen.distortion == last.distortion);
    const PointCode* const code = is_ht(plan) ? code_of(frame, b, chosen.points) : nullptr;
    REQUIRE(chosen.zero_bit_planes ==
            (code != nullptr ? code->zero_bit_planes : block.zero_bit_planes));
    if (code != nullptr && plan.blocks[b].orientation != kLL) {
      const int planes = plan.subbands[plan.blocks[b].subband].max_bit_planes;
      ++choices;
      far += is_far_ht_plane(distortion_weight(plan, plan.blocks[b]),
                             rate.exhausted_above(plan.blocks[b].component), planes,
                             planes - 1 - code->zero_bit_planes);
    }
    REQUIRE(chosen.planes_left == block.planes_left);
    in += chosen.points;
    all += frame.blocks[b].num_hull;
  }
  if (is_ht(plan)) {
    REQUIRE(outcome.num_choices == choices);
    REQUIRE(outcome.num_far == far);
    totals.far += far;
    totals.near += choices - far;
  }
  REQUIRE(outcome.threshold == rate.threshold());
  REQUIRE(outcome.unused_cap_steps == rate.unused_cap_steps());
  uint64_t body = 0;
  for (uint32_t c = 0; c < plan.components.size(); ++c) {
    INFO("component ", c);
    REQUIRE(outcome.exhausted[c] == rate.exhausted_above(c));
    REQUIRE(outcome.header_bytes[c] + outcome.body_bytes[c] == rate.component_bytes(c));
    body += outcome.body_bytes[c];
  }
  REQUIRE(body == rate.body_bytes());
  ++totals.frames;
  ++(in == 0 ? totals.empty : in == all ? totals.full : totals.part);
}

void check_plan(Gpu& gpu, const Plan& plan, uint64_t seed, uint32_t most_bytes, Totals& totals) {
  REQUIRE((device_allocates(plan) || is_ht(plan)));
  std::mt19937_64 random(seed);
  constexpr size_t kFrames = 3;
  std::vector<PacketScratch> scratch;
  scratch.emplace_back(plan);
  RateControl rate(plan, scratch);
  const RandomGop gop(plan, kFrames, random,
                      [&](uint64_t s) { return random_frame(plan, s, most_bytes); });
  OnDevice device(gpu, plan, gop.frames);
  for (size_t round = 0; round < gop.num_rounds(); ++round) {
    const std::vector<RateLimits> of = gop.of_round(round);
    device.allocate(of);
    for (size_t f = 0; f < kFrames; ++f)
      check_frame(plan, gop.frames[f], of[f], rate, device, f, totals);
  }
}

TEST_CASE("rate control on the device: HT") {
  const struct {
    Settings settings;
    uint32_t most_bytes;
  } cases[] = {
      {{{"width", "700"}, {"height", "300"}, {"cblk", "16x16"}, {"levels", "3"}}, 60},
      {{{"width", "600"},
        {"height", "280"},
        {"cblk", "32x32"},
        {"precincts", "128x128"},
        {"progression", "cprl"}},
       300},
      {{{"width", "200"}, {"height", "150"}, {"cblk", "8x8"}, {"tile", "96x96"}}, 9},
      {{{"width", "260"}, {"height", "131"}, {"num_components", "1"}, {"cblk", "64x64"}}, 9000},
  };
  Totals totals;
  for_each_seed("allocate_rate", [&](Gpu& gpu, uint64_t seed) {
    uint64_t number = seed * 100;
    for (const auto& c : cases) {
      Settings settings = c.settings;
      settings.emplace_back("coder", "ht");
      check_plan(gpu, plan_of(settings), ++number, c.most_bytes, totals);
    }
  });
  CHECK(totals.empty > 0);
  CHECK(totals.full > 0);
  CHECK(totals.part > totals.frames / 2);
  CHECK(totals.far > 0);
  CHECK(totals.near > 0);
}

TEST_CASE("rate control on the device: random hulls") {
  const struct {
    Settings settings;
    uint32_t most_bytes;
  } cases[] = {
      // One precinct per resolution, so that the block of threads measures the largest.
      {{{"width", "700"}, {"height", "300"}, {"cblk", "16x16"}, {"levels", "3"}}, 60},
      {{{"width", "1000"}, {"height", "40"}, {"cblk", "8x8"}, {"levels", "1"}}, 4},
      // Digital cinema.
      {{{"width", "600"},
        {"height", "280"},
        {"cblk", "32x32"},
        {"precincts", "128x128"},
        {"levels", "4"},
        {"progression", "cprl"},
        {"tlm", "1"},
        {"tile_parts", "component"}},
       300},
      {{{"width", "130"},
        {"height", "190"},
        {"cblk", "16x16"},
        {"tile", "64x64"},
        {"sop", "1"},
        {"eph", "1"},
        {"levels", "2"}},
       30},
      {{{"width", "260"}, {"height", "131"}, {"num_components", "1"}, {"cblk", "64x64"}}, 1500},
      {{{"width", "90"},
        {"height", "70"},
        {"num_components", "4"},
        {"cblk", "8x4"},
        {"levels", "2"}},
       12},
      // A band with fewer levels of its tag tree than the next one of the precinct.
      {{{"width", "33"},
        {"height", "32"},
        {"num_components", "1"},
        {"cblk", "8x8"},
        {"levels", "1"}},
       20},
      // Tag trees of 9 levels, with long runs of blocks that are not in: measured by a warp, and by all.
      {{{"width", "1000"},
        {"height", "4"},
        {"num_components", "1"},
        {"cblk", "4x4"},
        {"levels", "0"}},
       20},
      {{{"width", "8"},
        {"height", "1000"},
        {"num_components", "1"},
        {"cblk", "4x4"},
        {"levels", "0"}},
       20},
  };
  Totals totals;
  for_each_seed("allocate_rate", [&](Gpu& gpu, uint64_t seed) {
    uint64_t number = seed * 100;
    for (const auto& c : cases)
      check_plan(gpu, plan_of(c.settings), ++number, c.most_bytes, totals);
  });
  CHECK(totals.empty > 0);
  CHECK(totals.full > 0);
  CHECK(totals.part > totals.frames / 2);
  MESSAGE(totals.frames << " frames, " << totals.empty << " empty, " << totals.full << " in full");
}

/// The last candidates decide. A band has fewer levels of its tag tree than the next one of the precinct.
TEST_CASE("rate control on the device: many small frames") {
  const Plan plan = plan_of({{"width", "33"},
                             {"height", "32"},
                             {"num_components", "1"},
                             {"cblk", "8x8"},
                             {"levels", "1"}});
  Totals totals;
  for_each_seed("allocate_rate", [&](Gpu& gpu, uint64_t seed) {
    for (uint64_t i = 0; i < 20; ++i) check_plan(gpu, plan, 1000 * seed + i, 20, totals);
  });
  CHECK(totals.part > totals.frames / 2);
}

TEST_CASE("rate control on the device: frames that are left to the host, and a second call") {
  const Plan plan = plan_of({{"width", "100"}, {"height", "80"}, {"cblk", "8x8"}, {"levels", "2"}});
  for_each_seed("allocate_rate", [&](Gpu& gpu, uint64_t) {
    std::vector<Frame> frames = two_frames(plan);
    const std::vector<RateLimits> limits = {half_of(plan, frames[0]), half_of(plan, frames[1])};
    const auto flags_of = [&](const auto& change) {
      OnDevice device(gpu, plan, frames);
      change(device);
      device.allocate(limits);
      return std::array{device.outcomes[0].flags, device.outcomes[1].flags};
    };
    using Flags = std::array<uint32_t, 2>;
    CHECK(flags_of([](OnDevice&) {}) == Flags{0, 0});
    CHECK(flags_of([](OnDevice& device) { device.rate_plan().max_candidates = 3; }) ==
          Flags{kRateManyPoints, kRateManyPoints});
    CHECK(flags_of([](OnDevice& device) { device.take_header_room(); }) ==
          Flags{kRateLongHeader, kRateLongHeader});
    const auto with_points = std::find_if(frames[1].hulls.begin(), frames[1].hulls.end(),
                                          [](const auto& hull) { return !hull.empty(); });
    const auto block = static_cast<uint32_t>(with_points - frames[1].hulls.begin());
    frames[1].blocks[block].num_bytes = 5000000;
    {
      OnDevice device(gpu, plan, frames);
      device.allocate(limits);
      CHECK(device.outcomes[0].flags == 0);
      CHECK(device.outcomes[0].long_block == UINT32_MAX);
      CHECK(device.outcomes[1].flags == kRateLongBlock);
      CHECK(device.outcomes[1].long_block == block);
    }
    frames[1].blocks[block].num_bytes = 0;
    // A point without bytes.
    (*with_points)[0] = {0, 1, kMaxSlope, 1.0};
    frames[1].blocks[block].num_hull = 1;
    CHECK(flags_of([](OnDevice&) {}) == Flags{0, kRateLongCode});
  });
}

TEST_CASE("rate control on the device: only frames of which blocks went on are allocated again") {
  const Plan plan = plan_of({{"width", "64"}, {"height", "64"}, {"cblk", "8x8"}, {"levels", "1"}});
  for_each_seed("allocate_rate", [&](Gpu& gpu, uint64_t) {
    const std::vector<Frame> frames = two_frames(plan);
    std::vector<RateLimits> limits = {half_of(plan, frames[0]), half_of(plan, frames[1])};
    OnDevice device(gpu, plan, frames);
    device.allocate(limits);
    const std::vector<ChosenBlock> first = device.chosen;
    const std::vector<RateOutcome> outcomes = device.outcomes;
    CHECK(outcomes[0].rounds == 1);
    device.set_outcomes({[&] {
                           RateOutcome done = outcomes[0];
                           done.num_resumed = 0;
                           return done;
                         }(),
                         [&] {
                           RateOutcome goes_on = outcomes[1];
                           goes_on.num_resumed = 1;
                           return goes_on;
                         }()});
    for (RateLimits& of : limits) of.frame_bytes -= of.frame_bytes / 4;
    device.allocate(limits, true, 1);
    CHECK(device.outcomes[1].rounds == 1);
    device.allocate(limits, true);
    CHECK(device.outcomes[0].rounds == 1);
    CHECK(device.outcomes[1].rounds == 2);
    CHECK(device.outcomes[0].body_bytes[0] == outcomes[0].body_bytes[0]);
    CHECK(device.outcomes[1].body_bytes[0] < outcomes[1].body_bytes[0]);
    const auto same = [&](size_t from) {
      return std::equal(first.begin() + static_cast<ptrdiff_t>(from),
                        first.begin() + static_cast<ptrdiff_t>(from + plan.blocks.size()),
                        device.chosen.begin() + static_cast<ptrdiff_t>(from),
                        [](const auto& a, const auto& b) { return a.points == b.points; });
    };
    CHECK(same(0));
    CHECK_FALSE(same(plan.blocks.size()));
  });
}

/// Codes a picture on the CPU, as gop.cc does, and allocates it on the device each time.
/// @return how often
size_t check_picture(Gpu& gpu, const Settings& settings, cj2k::test::Content content,
                     Totals& totals) {
  const Plan plan = plan_of(settings);
  REQUIRE(device_allocates(plan));
  std::vector<PacketScratch> scratch;
  scratch.emplace_back(plan);
  RateControl rate(plan, scratch);
  const BlockSample sample(plan);
  size_t rounds = 0;
  const cj2k::test::FrameMemory memory(cj2k::test::make_picture(plan.params, content, 3));
  const std::unique_ptr<Backend> backend = make_cpu_backend(plan);
  std::unique_ptr<GopWork> work;
  std::vector<cj2k_stats> stats(static_cast<size_t>(plan.params.gop));
  const uint32_t number = 0;
  REQUIRE(backend->make_gop_work(&work) == Status::kOk);
  REQUIRE(backend->ingest(memory.frame, *work, 0, stats[0]) == Status::kOk);
  REQUIRE(backend->transform(*work, {&number, 1}, stats.data()) == Status::kOk);
  EarlyStop stop(plan, sample);
  stop.begin(0, rate, {});
  do {
    BlockRequest& request = stop.request();
    REQUIRE(backend->code_blocks(*work, {&request, 1}, sample, stats.data()) == Status::kOk);
    rate.allocate(work->blocks(0));
    Frame frame;
    frame.blocks.assign(work->blocks(0), work->blocks(0) + plan.blocks.size());
    for (const CodedBlock& block : frame.blocks)
      frame.hulls.emplace_back(block.hull, block.hull + block.num_hull);
    const std::vector<Frame> frames = {frame};
    OnDevice device(gpu, plan, frames);
    const RateLimits limits = rate_limits(plan, plan.params);
    device.allocate({limits});
    check_frame(plan, frames[0], limits, rate, device, 0, totals);
    ++rounds;
  } while (stop.goes_on(work->blocks(0), rate));
  return rounds;
}

TEST_CASE("rate control on the device: pictures whose blocks pause and go on") {
  const Settings size = {{"width", "330"}, {"height", "250"}, {"cblk", "16x16"}, {"device", "cpu"}};
  Gpu gpu(5);
  Totals totals;
  size_t rounds = 0, pictures = 0;
  for (const Settings& more :
       {Settings{{"target_bytes", "9000"}},
        {{"target_bytes", "30000"}, {"precincts", "64x64"}},
        {{"target_bytes", "20000"}, {"max_component_bytes", "9000"}, {"precincts", "128x128"}}}) {
    Settings settings = size;
    settings.insert(settings.end(), more.begin(), more.end());
    for (const auto content : {cj2k::test::Content::kTexture, cj2k::test::Content::kEdges}) {
      rounds += check_picture(gpu, settings, content, totals);
      ++pictures;
    }
  }
  CHECK(rounds > pictures);
  MESSAGE(pictures << " pictures, " << rounds << " times");
}

}  // namespace
}  // namespace cj2k::cuda
