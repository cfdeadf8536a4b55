// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Which blocks resume: the kernel against the host's rule, step by step (depth/early_stop.cc).
#include <algorithm>
#include <random>

#include "device/kernel_check.h"

// The headers of what is tested.
#include "core/stop.h"
#include "kernels/rate/resume.h"

namespace cj2k::cuda {
namespace {

using namespace cj2k::simt::test;

constexpr uint32_t kFrames = 3, kComponents = 3;

/// A GOP after rate control.
struct Ended {
  uint32_t num_blocks;
  std::vector<Tier1Job> jobs;
  std::vector<Tier1Result> results;
  std::vector<HullPoint> hull;
  std::vector<uint16_t> thresholds;
  std::vector<RateOutcome> outcomes;
  uint64_t frames = 0;  ///< those that are asked for, as bits

  Ended(uint32_t blocks, uint64_t seed) : num_blocks(blocks) {
    std::mt19937_64 random(seed);
    frames = random() % 3 == 0 ? 5 : 7;
    const auto slope = [&] { return static_cast<uint16_t>(24000 + random() % 3000); };
    for (uint32_t b = 0; b < blocks; ++b) {
      Tier1Job job{};
      job.component = static_cast<uint8_t>(random() % kComponents);
      job.weight = std::ldexp(1.0 + static_cast<double>(random() % 256) / 256,
                              static_cast<int>(random() % 5) - 6);
      jobs.push_back(job);
    }
    // Few blocks reach the threshold where many have paused far below it.
    const bool is_low = seed % 3 == 0;
    for (uint32_t i = 0; i < kFrames * blocks; ++i) {
      Tier1Result result{};
      result.planes_left = random() % 3 == 0 ? static_cast<uint8_t>(1 + random() % 4) : 0;
      result.num_passes = static_cast<uint8_t>(random() % 20);
      result.num_hull = static_cast<uint8_t>(random() % 4);
      result.first_hull = static_cast<uint32_t>(hull.size());
      for (uint32_t k = 0; k < result.num_hull; ++k)
        hull.push_back({10 * k, 1, static_cast<uint16_t>(slope() - (is_low ? 3000 : 0)), 0.0});
      results.push_back(result);
    }
    hull.push_back({});
    for (uint32_t f = 0; f < kFrames; ++f) {
      for (uint32_t c = 0; c < CJ2K_MAX_COMPONENTS; ++c) thresholds.push_back(slope());
      RateOutcome outcome{};
      for (uint16_t& end : outcome.exhausted)
        end = random() % 3 == 0 ? 0 : static_cast<uint16_t>(slope() + 1000 * (seed % 2));
      outcome.unused_cap_steps = static_cast<uint16_t>(random() % 2 * (random() % 400));
      outcome.flags = random() % 8 == 0 ? kRateManyPoints : 0;
      outcome.num_resumed = 12345;
      outcomes.push_back(outcome);
    }
    end_at_blocks(random);
  }

 private:
  /// Most components end exactly at the bound of a block without points, or one step above it.
  /// Others do not end, and have their threshold there.
  void end_at_blocks(std::mt19937_64& random) {
    for (uint32_t f = 0; f < kFrames; ++f) {
      for (uint32_t c = 0; c < kComponents; ++c) {
        const uint64_t kind = random() % 4;
        if (kind == 0) continue;
        const uint64_t first = random();
        for (uint32_t i = 0; i < num_blocks; ++i) {
          const auto b = static_cast<uint32_t>((first + i) % num_blocks);
          const Tier1Result& result = results[f * num_blocks + b];
          if (jobs[b].component != c || result.planes_left == 0 || result.num_hull > 0) continue;
          const uint16_t reach = best_slope_left(jobs[b].weight, result.planes_left);
          uint16_t& threshold = thresholds[f * CJ2K_MAX_COMPONENTS + c];
          uint16_t& end = outcomes[f].exhausted[c];
          end = kind == 1 ? uint16_t{0} : static_cast<uint16_t>(reach + random() % 2);
          threshold = kind == 1 ? reach : std::max(threshold, end);
          break;
        }
      }
    }
  }
};

struct Expected {
  std::vector<uint8_t> stopped;  ///< [blocks of a frame]
  SlopeThresholds next{};
  uint32_t num_resumed = 0;
};

/// EarlyStop::resumes, written out.
Expected expect(const Ended& gop, uint32_t frame) {
  Expected expected{std::vector<uint8_t>(gop.num_blocks, 1), {}, 0};
  std::copy_n(gop.thresholds.begin() + frame * CJ2K_MAX_COMPONENTS, CJ2K_MAX_COMPONENTS,
              expected.next.begin());
  const RateOutcome& outcome = gop.outcomes[frame];
  if (outcome.flags != 0) return expected;
  const auto want_open = [&](const auto& thresholds) {
    std::fill(expected.stopped.begin(), expected.stopped.end(), uint8_t{1});
    expected.num_resumed = 0;
    for (uint32_t b = 0; b < gop.num_blocks; ++b) {
      const Tier1Result& r = gop.results[frame * gop.num_blocks + b];
      if (r.planes_left == 0) continue;
      const uint16_t threshold = thresholds[gop.jobs[b].component];
      double left = r.total_distortion + r.left_distortion;
      if (r.num_hull > 0) left -= gop.hull[r.first_hull + r.num_hull - 1].distortion;
      const auto point = [&](int i) { return gop.hull[r.first_hull + static_cast<uint32_t>(i)]; };
      if (slope_left(point, r.num_hull, left, gop.jobs[b].weight, r.planes_left) < threshold)
        continue;
      expected.stopped[b] = 0;
      ++expected.num_resumed;
    }
    return expected.num_resumed > 0;
  };
  if (!want_open(outcome.exhausted)) return expected;
  const int lower = 64 + 2 * outcome.unused_cap_steps;
  do {
    for (uint32_t c = 0; c < kComponents; ++c) {
      const auto next = static_cast<uint16_t>(std::max(expected.next[c] - lower, 0));
      const uint16_t end = outcome.exhausted[c];
      expected.next[c] = end > 0 ? std::min(expected.next[c], end) : next;
    }
  } while (!want_open(expected.next));
  return expected;
}

struct Seen {
  size_t none = 0, some = 0, flagged = 0, lowered_twice = 0;
};

void check(Gpu& gpu, const Ended& gop, bool is_last, Seen& seen) {
  const size_t blocks = kFrames * size_t{gop.num_blocks};
  const auto jobs = gpu.upload(gop.jobs);
  const auto results = gpu.upload(gop.results);
  const auto hull = gpu.upload(gop.hull);
  const auto thresholds = gpu.upload(gop.thresholds);
  const auto outcomes = gpu.upload(gop.outcomes);
  const auto states = gpu.upload(std::vector<Tier1State>(blocks));
  const auto next = gpu.upload(std::vector<uint16_t>(gop.thresholds.size(), 0xA5A5));
  const auto paused = gpu.upload(std::vector<uint8_t>(blocks, 0xA5));
  Tier1Buffers buffers{};
  buffers.jobs = jobs.as<Tier1Job>();
  buffers.shared_jobs = buffers.num_blocks = gop.num_blocks;
  buffers.states = states.as<Tier1State>();
  Tier1Output output{results.as<Tier1Result>(), hull.as<HullPoint>(), nullptr, nullptr, nullptr};
  output.by_number = true;
  REQUIRE(resume_blocks(gpu.stream, buffers, kFrames, kComponents, output,
                        {outcomes.as<RateOutcome>(), thresholds.as<uint16_t>(), next.as<uint16_t>(),
                         is_last ? nullptr : paused.as<uint8_t>(), gop.frames}) == Status::kOk);
  const auto device_next = gpu.download<uint16_t>(next, gop.thresholds.size());
  const auto device_outcomes = gpu.download<RateOutcome>(outcomes, kFrames);
  const auto device_states = gpu.download<Tier1State>(states, blocks);
  const auto device_paused = gpu.download<uint8_t>(paused, blocks);
  for (uint32_t f = 0; f < kFrames; ++f) {
    if ((gop.frames >> f & 1) == 0) {
      REQUIRE(device_outcomes[f].num_resumed == 0);
      for (uint32_t b = f * gop.num_blocks; b < (f + 1) * gop.num_blocks; ++b)
        REQUIRE(device_states[b].stopped == 0);
      continue;
    }
    const Expected expected = expect(gop, f);
    const uint16_t* const before = gop.thresholds.data() + f * CJ2K_MAX_COMPONENTS;
    INFO("frame ", f, ", ", expected.num_resumed, " resume");
    REQUIRE(std::equal(expected.next.begin(), expected.next.end(),
                       device_next.begin() + f * CJ2K_MAX_COMPONENTS));
    REQUIRE(device_outcomes[f].num_resumed == expected.num_resumed);
    for (uint32_t b = 0; b < gop.num_blocks; ++b) {
      const uint32_t number = f * gop.num_blocks + b;
      REQUIRE(device_states[number].stopped == expected.stopped[b]);
      REQUIRE(device_paused[number] == (is_last ? 0xA5 : gop.results[number].num_passes));
    }
    seen.flagged += gop.outcomes[f].flags != 0;
    ++(expected.num_resumed > 0 ? seen.some : seen.none);
    const int lower = 64 + 2 * gop.outcomes[f].unused_cap_steps;
    for (uint32_t c = 0; c < kComponents; ++c)
      seen.lowered_twice +=
          gop.outcomes[f].exhausted[c] == 0 && before[c] - expected.next[c] >= 2 * lower;
  }
  REQUIRE(release_blocks(gpu.stream, buffers, gop.frames) == Status::kOk);
  for (const Tier1State& state : gpu.download<Tier1State>(states, blocks))
    REQUIRE(state.stopped == 0);
}

TEST_CASE("blocks that resume after rate control: the host's, at the host's thresholds") {
  Seen seen;
  for_each_seed("resume", [&](Gpu& gpu, uint64_t seed) {
    for (uint64_t i = 0; i < 24; ++i) {
      const uint32_t sizes[] = {1, 5, 33, 1500};
      check(gpu, Ended(sizes[i % 4], seed * 100 + i), i % 2 == 0, seen);
    }
  });
  CHECK(seen.none > 0);
  CHECK(seen.some > 0);
  CHECK(seen.flagged > 0);
  CHECK(seen.lowered_twice > 0);
}

}  // namespace
}  // namespace cj2k::cuda
