// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The steps whose decisions the CUDA backend makes on the device. It must code the same blocks as
// the CPU backend, where the host decides.

#include <algorithm>
#include <cstring>

#include "backend.h"
#include "depth/early_stop.h"
#include "device/kernel_check.h"
#include "rate/rate.h"
#include "support/encode.h"

namespace cj2k::simt::test {
namespace {

constexpr uint32_t kGop = 2;

cj2k_params decided_params(const char* tier1, const char* stop, const char* frame_cap,
                           const char* component_cap) {
  cj2k_params params = cj2k::test::make_params(112, 104);
  for (const auto& [key, value] : {std::pair<const char*, const char*>{"cblk", "8x8"},
                                   {"levels", "3"},
                                   {"gop", "2"},
                                   {"async_depth", "2"},
                                   {"tier1", tier1},
                                   {"stop", stop},
                                   {"target_bytes", frame_cap},
                                   {"max_component_bytes", component_cap}}) {
    cj2k::test::set(params, key, value);
  }
  return params;
}

/// One backend with a GOP of two frames, up to the coefficients.
struct Side {
  Side(std::unique_ptr<Backend> made, const Plan& plan) : backend(std::move(made)) {
    REQUIRE(backend->make_gop_work(&work) == Status::kOk);
    constexpr cj2k::test::Content kContents[] = {cj2k::test::Content::kTexture,
                                                 cj2k::test::Content::kNoise};
    const uint32_t frames[kGop] = {0, 1};
    for (const uint32_t f : frames) {
      const cj2k::test::FrameMemory memory(
          cj2k::test::make_picture(plan.params, kContents[f], 100 + f));
      REQUIRE(backend->ingest(memory.frame, *work, f, stats[f]) == Status::kOk);
    }
    REQUIRE(backend->transform(*work, frames, stats) == Status::kOk);
  }
  std::unique_ptr<Backend> backend;
  std::unique_ptr<GopWork> work;
  cj2k_stats stats[kGop] = {};
};

struct Totals {
  size_t blocks = 0, paused = 0, resumed = 0, thresholds = 0;
};

void compare(const Plan& plan, const Side& cpu, const Side& cuda, Totals& totals) {
  for (uint32_t f = 0; f < kGop; ++f) {
    const CodedBlock *expected = cpu.work->blocks(f), *actual = cuda.work->blocks(f);
    for (size_t b = 0; b < plan.blocks.size(); ++b) {
      const CodedBlock &e = expected[b], &a = actual[b];
      INFO("frame ", f, " block ", b);
      REQUIRE(a.is_coded);
      REQUIRE(e.is_coded);
      REQUIRE(a.num_passes == e.num_passes);
      REQUIRE(a.num_passes_resumed == e.num_passes_resumed);
      REQUIRE(a.num_bytes == e.num_bytes);
      REQUIRE(a.planes_left == e.planes_left);
      REQUIRE(a.total_distortion == e.total_distortion);
      REQUIRE(a.num_hull == e.num_hull);
      REQUIRE(
          (e.num_hull == 0 || std::memcmp(a.hull, e.hull, e.num_hull * sizeof(HullPoint)) == 0));
      ++totals.blocks;
      totals.paused += e.planes_left > 0;
      totals.resumed += e.num_passes_resumed > 0;
    }
  }
}

/// Codes all blocks by the rule of the strategy, on both sides.
void check_rule(const Plan& plan, Side& cpu, Side& cuda, RateControl& rate,
                const BlockSample& sample, Totals& totals) {
  std::vector<BlockRequest> expected, actual;
  EarlyStop stop(plan, sample);
  for (uint32_t f = 0; f < kGop; ++f) {
    stop.begin(f, rate, {});
    expected.push_back(stop.request());
  }
  actual = expected;
  REQUIRE(expected[0].rule != StopRule::kThresholds);
  REQUIRE(cpu.backend->code_blocks(*cpu.work, expected, sample, cpu.stats) == Status::kOk);
  REQUIRE(cuda.backend->code_blocks(*cuda.work, actual, sample, cuda.stats) == Status::kOk);
  for (uint32_t f = 0; f < kGop; ++f) {
    CHECK(actual[f].thresholds == expected[f].thresholds);
    totals.thresholds += expected[f].thresholds[0] > 0;
  }
  compare(plan, cpu, cuda, totals);
}

TEST_CASE("decisions on the device: the blocks that the CPU's give") {
  struct Case {
    const char *tier1, *frame_cap, *component_cap;
  };
  for (const char* stop : {"exact", "psb", "bpi"}) {
    Totals totals;
    for (const Case& c : {Case{"classic", "2500", "0"}, Case{"cibo", "6000", "900"},
                          Case{"fused", "30000", "9000"}, Case{"cibo", "900000", "0"}}) {
#if defined(CJ2K_SIMT_SHIM)
      shim::Options options;
      options.seed = 5;
      options.check_races = false;  // kernel_slopes.cc and the tests of tier-1 check races
      shim::reset(options);
#endif
      // Where no block stops, the planes of psb and bpi are the same in all cases.
      if (stop[0] != 'e' && std::strcmp(c.frame_cap, "900000") == 0) continue;
      INFO(stop, " ", c.tier1, " caps ", c.frame_cap, " ", c.component_cap);
      const cj2k_params params = decided_params(c.tier1, stop, c.frame_cap, c.component_cap);
      Plan plan = checked_plan(params);
      LogLines lines;
      std::vector<std::unique_ptr<Backend>> backends;
      REQUIRE(make_cuda_backends(&plan, {}, lines.log(), &backends) == Status::kOk);
      REQUIRE(plan.params.gop == kGop);
      Side cpu(make_cpu_backend(plan), plan), cuda(std::move(backends[0]), plan);
      const BlockSample sample(plan);
      std::vector<PacketScratch> scratch;
      scratch.emplace_back(plan);
      RateControl rate(plan, scratch);
      check_rule(plan, cpu, cuda, rate, sample, totals);
    }
    INFO(stop);
    CHECK(totals.paused > 0);
    CHECK(totals.paused < totals.blocks);
    CHECK((totals.thresholds > 0) == (stop[0] == 'e'));
    CHECK((totals.resumed > 0) == (stop[0] != 'e'));
    const std::string text = std::string(stop) + ": " + std::to_string(totals.blocks) +
                             " blocks, " + std::to_string(totals.paused) + " stopped early";
    MESSAGE(text);
  }
}

}  // namespace
}  // namespace cj2k::simt::test
