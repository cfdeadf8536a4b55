// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The tile-parts that the device writes, against PacketWriter: every byte of the codestreams is the same.

#include <numeric>

#include "device/rate_gop.h"

namespace cj2k::cuda {
namespace {

constexpr uint32_t kMuchRoom = 1 << 18;
constexpr int kMostPasses = 164;

/// A frame whose blocks have bytes. Hull points have up to 164 passes, and some blocks have many bytes
/// in few passes, so that Lblock is large.
Frame frame_with_bytes(const Plan& plan, uint64_t seed, uint32_t most_bytes) {
  Frame frame = random_frame(plan, seed, most_bytes);
  std::mt19937_64 random(seed);
  frame.data.resize(plan.blocks.size());
  for (size_t b = 0; b < frame.data.size(); ++b) {
    std::vector<HullPoint>& hull = frame.hulls[b];
    if (hull.empty()) continue;
    const bool has_many = random() % 8 == 0;
    const int more = has_many ? kMostPasses - hull.back().passes : 0;
    uint32_t longer = random() % 40 == 0 ? 5000 : 0;
    if (longer > 0 && random() % 8 == 0) longer = 140000;  // a code of more than 32 bits
    for (HullPoint& point : hull) {
      point.passes = static_cast<uint16_t>(point.passes + more);
      point.length_bytes += longer;
    }
    frame.data[b].resize(hull.back().length_bytes);
    for (uint8_t& byte : frame.data[b]) byte = static_cast<uint8_t>(random());
    frame.blocks[b].data = frame.data[b].data();
    const uint8_t passes = frame.blocks[b].num_passes;
    frame.blocks[b].num_passes = static_cast<uint8_t>(1 + random() % passes);
    frame.blocks[b].total_distortion = static_cast<double>(random() % 100000) / 7;
    frame.blocks[b].num_bytes = hull.back().length_bytes + static_cast<uint32_t>(random() % 9);
  }
  if (is_ht(plan)) make_ht(plan, seed, frame);
  return frame;
}

/// PacketWriter's frame, of the host's choice.
std::vector<uint8_t> on_host(const Plan& plan, const Frame& frame, const RateLimits& limits,
                             uint64_t min_bytes) {
  std::vector<PacketScratch> scratch;
  scratch.emplace_back(plan);
  RateControl rate(plan, scratch);
  rate.set_limits(limits);
  rate.allocate(frame.blocks.data());
  PacketWriter writer(plan);
  for (uint32_t p = 0; p < plan.precincts.size(); ++p)
    writer.encode_headers(rate.selection(), p, scratch[0]);
  std::vector<uint8_t> out(writer.padded_bytes(min_bytes));
  REQUIRE(writer.write(rate.selection(), out, min_bytes) == out.size());
  return out;
}

/// The frame around tile-parts that are written already.
std::vector<uint8_t> around(const Plan& plan, std::span<const uint8_t> tile_parts,
                            uint64_t min_bytes) {
  PacketWriter writer(plan);
  writer.set_tile_parts(tile_parts);
  REQUIRE(writer.fits());
  std::vector<uint8_t> out(writer.padded_bytes(min_bytes));
  Selection selection{};
  selection.layers = 1;
  REQUIRE(writer.write(selection, out, min_bytes) == out.size());
  return out;
}

std::span<const uint8_t> tile_parts_of(const OnDevice& device, const OnDevice::Written& written,
                                       size_t f) {
  const RateOutcome& outcome = device.outcomes[f];
  REQUIRE(uint64_t{16} * outcome.first_unit + outcome.tile_part_bytes <= written.bytes.size());
  return std::span(written.bytes).subspan(size_t{16} * outcome.first_unit, outcome.tile_part_bytes);
}

uint32_t units_of(const RateOutcome& outcome) { return (outcome.tile_part_bytes + 15) / 16; }

/// What the cases have shown.
struct Totals {
  size_t frames = 0, most_passes = 0, long_blocks = 0;
  void look_at(const ChosenBlock& chosen) {
    most_passes += chosen.passes == kMostPasses;
    long_blocks += chosen.length_bytes > 140000;
  }
};

/// The statistics of all frames.
void check_stats(const Plan& plan, OnDevice& device, const OnDevice::Written& written,
                 const std::vector<uint8_t>& paused) {
  const std::vector<Tier1Result> results = device.results();
  std::vector<BlockTotals> expected(results.size() / plan.blocks.size());
  for (size_t i = 0; i < results.size(); ++i) {
    INFO("block ", i % plan.blocks.size());
    const Tier1Result& result = results[i];
    const ChosenBlock& chosen = device.chosen[i];
    REQUIRE(written.left[i] ==
            result.total_distortion + result.left_distortion - chosen.distortion);
    BlockTotals& totals = expected[i / plan.blocks.size()];
    totals.bytes += result.num_bytes;
    totals.passes += result.num_passes;
    totals.passes_in += chosen.passes;
    if (!paused.empty() && paused[i] > 0)
      totals.passes_resumed += static_cast<uint64_t>(result.num_passes - paused[i]);
    totals.passes_left +=
        static_cast<uint64_t>(is_ht(plan) ? 3 * result.planes_left
                                          : num_passes_of(result.bit_planes) - result.num_passes);
  }
  for (size_t f = 0; f < expected.size(); ++f) {
    const BlockTotals& totals = device.outcomes[f].totals;
    REQUIRE(totals.bytes == expected[f].bytes);
    REQUIRE(totals.passes == expected[f].passes);
    REQUIRE(totals.passes_in == expected[f].passes_in);
    REQUIRE(totals.passes_resumed == expected[f].passes_resumed);
    REQUIRE(totals.passes_left == expected[f].passes_left);
  }
}

void check_plan(Gpu& gpu, const Plan& plan, uint64_t seed, uint32_t most_bytes, Totals& totals) {
  REQUIRE((device_allocates(plan) || is_ht(plan)));
  std::mt19937_64 random(seed);
  constexpr size_t kFrames = 3;
  const RandomGop gop(plan, kFrames, random,
                      [&](uint64_t s) { return frame_with_bytes(plan, s, most_bytes); });
  const std::vector<Frame>& frames = gop.frames;
  OnDevice device(gpu, plan, frames);
  std::vector<uint8_t> paused(kFrames * plan.blocks.size());
  for (size_t i = 0; i < paused.size(); ++i) {
    const CodedBlock& block = frames[i / plan.blocks.size()].blocks[i % plan.blocks.size()];
    paused[i] = static_cast<uint8_t>(random() % (block.num_passes + uint64_t{1}));
  }
  for (size_t round = 0; round < gop.num_rounds(); ++round) {
    const std::vector<RateLimits> of = gop.of_round(round);
    device.allocate(of);
    const std::vector<uint8_t> own_paused = round == 0 ? std::vector<uint8_t>() : paused;
    const OnDevice::Written written = device.write(kMuchRoom, 7, own_paused);
    check_stats(plan, device, written, own_paused);
    uint32_t end = 0;
    for (size_t f = 0; f < kFrames; ++f) {
      INFO("frame ", f, ", round ", round);
      REQUIRE(device.outcomes[f].first_unit == end);
      end += units_of(device.outcomes[f]);
      const uint64_t min_bytes = random() % 3 == 0 ? of[f].frame_bytes % 50000 : 0;
      const std::vector<uint8_t> expected = on_host(plan, frames[f], of[f], min_bytes);
      const std::span<const uint8_t> parts = tile_parts_of(device, written, f);
      const std::vector<uint8_t> actual = around(plan, parts, min_bytes);
      REQUIRE(actual.size() == expected.size());
      const auto differs = std::mismatch(actual.begin(), actual.end(), expected.begin());
      INFO("byte ", differs.first - actual.begin(), " of ", actual.size());
      REQUIRE((differs.first == actual.end()));
      ++totals.frames;
    }
    REQUIRE(written.units == end);
    for (const ChosenBlock& chosen : device.chosen) totals.look_at(chosen);
  }
}

struct Case {
  Settings settings;
  uint32_t most_bytes;
};

const Case kCases[] = {
    // One precinct per resolution.
    {{{"width", "700"}, {"height", "300"}, {"cblk", "16x16"}, {"levels", "3"}}, 60},
    {{{"width", "200"},
      {"height", "150"},
      {"cblk", "8x8"},
      {"levels", "2"},
      {"progression", "rlcp"},
      {"sop", "1"},
      {"comment", "text"}},
     9},
    {{{"width", "150"},
      {"height", "100"},
      {"cblk", "8x8"},
      {"levels", "2"},
      {"precincts", "32x32"},
      {"poc", "0,0,1,2,3,lrcp/2,0,1,3,3,cprl"},
      {"tile", "96x100"},
      {"tile_parts", "component"},
      {"eph", "1"}},
     9},
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
      {"tile_parts", "resolution"},
      {"progression", "rpcl"},
      {"tlm", "1"},
      {"sop", "1"},
      {"eph", "1"},
      {"levels", "2"}},
     30},
    // Precincts without blocks.
    {{{"width", "133"},
      {"height", "71"},
      {"num_components", "1"},
      {"cblk", "4x8"},
      {"precincts", "16x16"},
      {"progression", "pcrl"},
      {"levels", "5"},
      {"format", "jp2"},
      {"eph", "1"}},
     6},
    {{{"width", "260"}, {"height", "131"}, {"num_components", "1"}, {"cblk", "64x64"}}, 1500},
    {{{"width", "1100"}, {"height", "4"}, {"num_components", "1"}, {"cblk", "1024x4"}}, 900},
    // A band with fewer levels of its tag tree than the next one of the precinct.
    {{{"width", "33"}, {"height", "32"}, {"num_components", "1"}, {"cblk", "8x8"}, {"levels", "1"}},
     20},
    // Headers of 8 KB.
    {{{"width", "1100"},
      {"height", "600"},
      {"num_components", "1"},
      {"cblk", "16x16"},
      {"levels", "1"}},
     60},
    // More packets, and more tile-parts, than threads that place them.
    {{{"width", "90"},
      {"height", "70"},
      {"num_components", "4"},
      {"cblk", "4x4"},
      {"precincts", "8x8"},
      {"levels", "1"}},
     12},
    {{{"width", "400"},
      {"height", "400"},
      {"num_components", "1"},
      {"cblk", "8x8"},
      {"tile", "16x16"},
      {"tlm", "1"},
      {"sop", "1"},
      {"levels", "1"}},
     12},
    // Tag trees of 9 levels.
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
      {"levels", "0"},
      {"sop", "1"}},
     20},
};

TEST_CASE("packets on the device: the codestreams of the host") {
  Totals totals;
  for_each_seed("write_packets", [&](Gpu& gpu, uint64_t seed) {
    uint64_t number = seed * 100;
    for (const Case& c : kCases) {
      INFO("case ", &c - kCases);
      check_plan(gpu, plan_of(c.settings), ++number, c.most_bytes, totals);
    }
  });
  CHECK(totals.most_passes > 0);
  CHECK(totals.long_blocks > 0);
  MESSAGE(totals.frames << " frames, " << totals.most_passes << " blocks of " << kMostPasses
                        << " passes, " << totals.long_blocks << " long ones");
}

TEST_CASE("packets on the device: the codestreams of the host, HT") {
  Totals totals;
  for_each_seed("write_packets", [&](Gpu& gpu, uint64_t seed) {
    uint64_t number = seed * 100;
    for (const Case& c : kCases) {
      INFO("case ", &c - kCases);
      Settings settings = c.settings;
      settings.emplace_back("coder", "ht");
      check_plan(gpu, plan_of(settings), ++number, c.most_bytes, totals);
    }
  });
  MESSAGE(totals.frames << " frames");
}

void check_not_written(const Plan& plan) {
  for_each_seed("write_packets", [&](Gpu& gpu, uint64_t seed) {
    std::vector<Frame> frames;
    std::vector<RateLimits> limits;
    for (uint64_t f = 0; f < 4; ++f) {
      frames.push_back(frame_with_bytes(plan, 10 * seed + f, 30));
      limits.push_back(half_of(plan, frames.back()));
    }
    OnDevice device(gpu, plan, frames);
    device.allocate(limits);
    const std::vector<RateOutcome> allocated = device.outcomes;
    const auto is_written = [&](const OnDevice::Written& written, size_t f) {
      return std::ranges::equal(around(plan, tile_parts_of(device, written, f), 0),
                                on_host(plan, frames[f], limits[f], 0));
    };
    using Change = void (*)(RateOutcome&);
    const Change changes[] = {
        [](RateOutcome& outcome) { outcome.flags = kRateLongHeader; },
        [](RateOutcome& outcome) { outcome.num_resumed = 1; },
    };
    for (const Change change : changes) {
      std::vector<RateOutcome> outcomes = allocated;
      change(outcomes[1]);
      device.set_outcomes(outcomes);
      const OnDevice::Written written = device.write(kMuchRoom, 15, {});
      CHECK(device.outcomes[1].tile_part_bytes == 0);
      for (const size_t f : {0u, 2u, 3u}) CHECK(is_written(written, f));
      CHECK(device.outcomes[2].first_unit == units_of(device.outcomes[0]));
      CHECK(written.units == device.outcomes[3].first_unit + units_of(device.outcomes[3]));
    }
    {
      // Frame 1 is not asked for: its blocks stay as they are.
      std::vector<RateOutcome> outcomes = allocated;
      outcomes[1].tile_part_bytes = 7;
      device.set_outcomes(outcomes);
      const OnDevice::Written written = device.write(kMuchRoom, 13, {});
      CHECK(device.outcomes[1].tile_part_bytes == 0);
      for (const size_t f : {0u, 2u, 3u}) CHECK(is_written(written, f));
      CHECK(written.left[plan.blocks.size()] == -1);
      CHECK(written.left[2 * plan.blocks.size() - 1] == -1);
    }
    for (const uint64_t more : {UINT64_MAX >> 32, uint64_t{1} << 40}) {
      // Longer than Psot can say.
      std::vector<RateOutcome> outcomes = allocated;
      outcomes[2].body_bytes[0] += more;
      device.set_outcomes(outcomes);
      const OnDevice::Written written = device.write(kMuchRoom, 15, {});
      CHECK(device.outcomes[2].tile_part_bytes == 0);
      CHECK(device.outcomes[3].tile_part_bytes == 0);
      CHECK(written.units > kMuchRoom);
      for (const size_t f : {0u, 1u}) CHECK(is_written(written, f));
    }
    device.set_outcomes(allocated);
    const uint32_t all = device.write(kMuchRoom, 15, {}).units;
    for (const uint32_t missing : {0u, 1u}) {
      device.set_outcomes(allocated);
      const OnDevice::Written written = device.write(all - missing, 15, {});
      CHECK(written.units == all);
      for (const size_t f : {0u, 1u, 2u}) CHECK(is_written(written, f));
      if (missing == 0) CHECK(is_written(written, 3));
      CHECK((device.outcomes[3].tile_part_bytes == 0) == (missing == 1));
    }
  });
}

TEST_CASE("packets on the device: frames that are not written, and too little room") {
  for (const char* coder : {"ebcot", "ht"}) {
    check_not_written(plan_of(
        {{"width", "100"}, {"height", "80"}, {"cblk", "8x8"}, {"levels", "2"}, {"coder", coder}}));
  }
}

}  // namespace
}  // namespace cj2k::cuda
