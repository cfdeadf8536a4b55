// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Rate control on the device against RateControl: points, codes, bytes and thresholds are the same.
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>

#include "device/kernel_check.h"

// core/ comes after simt/, because both define CJ2K_SIMT_HD.
#include "backend.h"
#include "core/ebcot/coding_passes.h"
#include "core/slope.h"
#include "cuda/rate_tables.h"
#include "kernels/rate/allocate.h"
#include "stages/early_stop.h"
#include "stages/packets.h"
#include "stages/rate.h"

namespace cj2k::cuda {
namespace {

using namespace cj2k::simt::test;
using Settings = std::vector<std::pair<const char*, const char*>>;

Plan plan_of(const Settings& settings) {
  cj2k_params params;
  cj2k_params_init(&params, sizeof params);
  for (const auto& [key, value] : settings)
    REQUIRE(cj2k_params_set(&params, key, value) == CJ2K_OK);
  return checked_plan(params);
}

/// The coded blocks of a frame.
struct Frame {
  std::vector<CodedBlock> blocks;
  std::vector<std::vector<HullPoint>> hulls;
};

/// Hulls like those of pictures: slopes fall, also by one step at a time, and many blocks have points
/// of the same slopes. Where `most_bytes` is small, headers are as long as the bodies.
Frame random_frame(const Plan& plan, uint64_t seed, uint32_t most_bytes) {
  std::mt19937_64 random(seed);
  Frame frame{std::vector<CodedBlock>(plan.blocks.size()), {}};
  frame.hulls.resize(plan.blocks.size());
  const uint32_t empty_share = 1 + static_cast<uint32_t>(random() % 4);
  for (size_t b = 0; b < plan.blocks.size(); ++b) {
    const CodeBlock& block = plan.blocks[b];
    CodedBlock& coded = frame.blocks[b];
    const int most = block.max_bit_planes;
    const int planes = random() % 5 < empty_share
                           ? 0
                           : static_cast<int>(random() % static_cast<uint64_t>(most + 1));
    coded.zero_bit_planes = static_cast<uint8_t>(most - planes + block.planes_above);
    if (planes == 0) continue;
    const int passes = num_passes_of(planes);
    int slope = kSlopeUnit + 2000 + static_cast<int>(random() % 64) * 40, pass = 0;
    uint32_t length = 0;
    while ((pass += 1 + static_cast<int>(random() % 3)) <= passes && slope > 0) {
      length += 1 + static_cast<uint32_t>(random() % (random() % 3 == 0 ? 3 : most_bytes));
      frame.hulls[b].push_back(
          {length, static_cast<uint16_t>(pass), static_cast<uint16_t>(slope), 1.0 * length});
      slope -= 1 + static_cast<int>(random() % (random() % 4 == 0 ? 3 : 500));
    }
    coded.hull = frame.hulls[b].data();
    coded.num_hull = static_cast<uint8_t>(frame.hulls[b].size());
    coded.num_passes = static_cast<uint8_t>(passes);
  }
  return frame;
}

/// Bytes of the frame when everything goes in.
uint64_t all_bytes(const Plan& plan, const Frame& frame) {
  uint64_t bytes = fixed_bytes(plan);
  for (const CodedBlock& block : frame.blocks)
    bytes += block.num_hull > 0 ? block.hull[block.num_hull - 1].length_bytes + 4 : 1;
  return bytes;
}

FrameRate rate_of(const RateLimits& limits) {
  return {limits.frame_bytes, limits.component_bytes, limits.slope};
}

/// The frames of a GOP, on the device.
class OnDevice {
 public:
  OnDevice(Gpu& gpu, const Plan& plan, const std::vector<Frame>& frames)
      : gpu_(gpu), plan_(plan), frames_(frames), tables_(plan, 150 * num_blocks()) {
    std::vector<uint8_t> image(tables_.bytes());
    tables_.store(image.data());
    table_memory_ = gpu.upload(image);
    std::vector<Tier1Job> jobs(num_blocks());
    for (Tier1Job& job : jobs) job.bytes_capacity = 1 << 20;
    jobs_ = gpu.upload(jobs);
    std::vector<Tier1Result> results;
    std::vector<HullPoint> hull(5);
    for (const Frame& frame : frames) {
      for (size_t b = 0; b < num_blocks(); ++b) {
        Tier1Result result{};
        result.first_hull = static_cast<uint32_t>(hull.size());
        result.num_hull = frame.blocks[b].num_hull;
        result.bit_planes =
            static_cast<uint8_t>(plan.blocks[b].max_bit_planes + plan.blocks[b].planes_above -
                                 frame.blocks[b].zero_bit_planes);
        result.num_bytes = frame.blocks[b].num_bytes;
        results.push_back(result);
        hull.insert(hull.end(), frame.hulls[b].begin(), frame.hulls[b].end());
      }
    }
    results_ = gpu.upload(results);
    hull_ = gpu.upload(hull);
    rate_plan_ = tables_.on_device(table_memory_.as<void>(), jobs_.as<Tier1Job>());
    scratch_ = gpu.make<uint8_t>(frames.size() * rate_scratch_bytes(rate_plan_));
    chosen_ = gpu.make<ChosenBlock>(frames.size() * num_blocks());
    outcomes_ = gpu.make<RateOutcome>(frames.size());
  }

  RatePlan& rate_plan() { return rate_plan_; }

  void allocate(const std::vector<RateLimits>& limits, bool again = false) {
    FrameRates rates{};
    for (size_t f = 0; f < limits.size(); ++f) rates.of[f] = rate_of(limits[f]);
    REQUIRE(allocate_rate(gpu_.stream, rate_plan_, static_cast<uint32_t>(frames_.size()), rates,
                          again, {results_.as<Tier1Result>(), hull_.as<HullPoint>()},
                          scratch_.as<void>(),
                          {chosen_.as<ChosenBlock>(), outcomes_.as<RateOutcome>()}) == Status::kOk);
    chosen = gpu_.download<ChosenBlock>(chosen_, frames_.size() * num_blocks());
    outcomes = gpu_.download<RateOutcome>(outcomes_, frames_.size());
  }
  void set_outcomes(const std::vector<RateOutcome>& values) { outcomes_ = gpu_.upload(values); }

  uint32_t num_blocks() const { return static_cast<uint32_t>(plan_.blocks.size()); }

  std::vector<ChosenBlock> chosen;
  std::vector<RateOutcome> outcomes;

 private:
  Gpu& gpu_;
  const Plan& plan_;
  const std::vector<Frame>& frames_;
  const RateTables tables_;
  simt::DeviceBuffer table_memory_, jobs_, results_, hull_, scratch_, chosen_, outcomes_;
  RatePlan rate_plan_{};
};

/// How the frames ended, to see that the cases are what they should be.
struct Totals {
  size_t frames = 0, empty = 0, full = 0, part = 0;
};

void check_frame(const Plan& plan, const Frame& frame, const RateLimits& limits, RateControl& rate,
                 const OnDevice& device, size_t f, Totals& totals) {
  rate.set_limits(limits);
  tbb::task_arena one_thread(1);  // there is scratch memory for one
  one_thread.execute([&] { rate.allocate(frame.blocks.data()); });
  const RateOutcome& outcome = device.outcomes[f];
  INFO("frame ", f, ", cap ", limits.frame_bytes, ", of components ", limits.component_bytes,
       ", quality ", limits.slope);
  REQUIRE(outcome.flags == 0);
  REQUIRE(outcome.long_block == UINT32_MAX);
  size_t in = 0, all = 0;
  for (size_t b = 0; b < plan.blocks.size(); ++b) {
    INFO("block ", b);
    const CodedBlock& block = frame.blocks[b];
    const ChosenBlock& chosen = device.chosen[f * plan.blocks.size() + b];
    REQUIRE(chosen.points == rate.selection().final_points[b]);
    const HullPoint last = chosen.points > 0 ? block.hull[chosen.points - 1] : HullPoint{};
    REQUIRE(chosen.length_bytes == last.length_bytes);
    REQUIRE(chosen.passes == last.passes);
    REQUIRE(chosen.distortion == last.distortion);
    REQUIRE(chosen.zero_bit_planes == block.zero_bit_planes);
    REQUIRE(chosen.planes_left == block.planes_left);
    in += chosen.points;
    all += frame.blocks[b].num_hull;
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

/// Caps from almost nothing to more than everything, of the frame, of the components, of both, with
/// and without a quality.
std::vector<RateLimits> limits_of(const Plan& plan, const Frame& frame, std::mt19937_64& random) {
  const SmallestBytes least = smallest_bytes(plan);
  const uint64_t all = all_bytes(plan, frame);
  const uint64_t more = all > least.frame ? all - least.frame : 1;
  const uint64_t part = least.frame + random() % more;
  const uint64_t own = least.component + random() % more / plan.components.size();
  const uint16_t quality = static_cast<uint16_t>(kSlopeUnit + 1000 + random() % 2500);
  return {{least.frame, kNoTarget, 0},
          {least.frame + more / 50 + random() % 40, kNoTarget, 0},
          {part, kNoTarget, 0},
          {part, kNoTarget, quality},
          {2 * all, kNoTarget, 0},
          {kNoTarget, kNoTarget, quality},
          {part, own, 0},
          {kNoTarget, own, quality},
          {part, least.component, 0}};
}

void check_plan(Gpu& gpu, const Plan& plan, uint64_t seed, uint32_t most_bytes, Totals& totals) {
  REQUIRE(device_allocates(plan));
  std::mt19937_64 random(seed);
  constexpr size_t kFrames = 3;
  std::vector<PacketScratch> scratch;
  scratch.emplace_back(plan);
  RateControl rate(plan, scratch);
  std::vector<Frame> frames;
  std::vector<std::vector<RateLimits>> limits;
  for (size_t f = 0; f < kFrames; ++f) {
    frames.push_back(random_frame(plan, random(), most_bytes));
    limits.push_back(limits_of(plan, frames.back(), random));
  }
  OnDevice device(gpu, plan, frames);
  for (size_t i = 0; i < limits[0].size(); i += kFrames) {
    std::vector<RateLimits> of;
    for (size_t f = 0; f < kFrames; ++f) of.push_back(limits[f][(i + f) % limits[0].size()]);
    device.allocate(of);
    for (size_t f = 0; f < kFrames; ++f)
      check_frame(plan, frames[f], of[f], rate, device, f, totals);
  }
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

}  // namespace
}  // namespace cj2k::cuda
