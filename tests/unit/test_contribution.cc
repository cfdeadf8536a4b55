// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The packets of frames with one layer are made from contributions (packets/contribution.h). They must
// be those that the coder for any number of layers makes from the blocks.
#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "packets/contribution.h"
#include "packets/packet_writer.h"
#include "params/params.h"
#include "plan/plan.h"
#include "support/synthetic_frame.h"

namespace cj2k {
namespace {

std::unique_ptr<Plan> plan_of(std::initializer_list<std::pair<const char*, std::string>> settings) {
  const Log log(nullptr, nullptr);
  cj2k_params p, resolved;
  std::memset(&p, 0, sizeof p);
  p.struct_size = sizeof p;
  set_default_params(&p);
  for (const auto& [name, value] : settings)
    REQUIRE(set_param(&p, name, value.c_str(), log) == Status::kOk);
  REQUIRE(resolve_params(p, log, &resolved) == Status::kOk);
  auto plan = std::make_unique<Plan>();
  REQUIRE(make_plan(resolved, log, plan.get()) == Status::kOk);
  return plan;
}

std::vector<Contribution> contributions_of(const Selection& selection, size_t blocks) {
  std::vector<Contribution> all(blocks);
  for (size_t b = 0; b < blocks; ++b)
    all[b] = contribution_of(selection.blocks[b], selection.final_points[b]);
  return all;
}

struct Counts {
  size_t codes = 0, longs = 0, included = 0;
};

/// Makes the frame from the blocks, and from contributions.
void compare(const Plan& plan, const Selection& plain, Counts& counts) {
  const std::vector<Contribution> all = contributions_of(plain, plan.blocks.size());
  Selection ready = plain;
  ready.contributions = all.data();
  for (const Contribution& c : all) {
    counts.included += c.bits > 0;
    counts.longs += c.is_long;
    counts.codes += c.bits > 0 && !c.is_long;
  }
  PacketScratch scratch(plan);
  PacketWriter writers[] = {PacketWriter(plan), PacketWriter(plan)};
  for (uint32_t p = 0; p < plan.precincts.size(); ++p) {
    const PrecinctBytes expected = measure_precinct(plan, plain, p, scratch);
    const PrecinctBytes found = measure_precinct(plan, ready, p, scratch);
    CAPTURE(p);
    REQUIRE(found.header == expected.header);
    REQUIRE(found.body == expected.body);
    writers[0].encode_headers(plain, p, scratch);
    writers[1].encode_headers(ready, p, scratch);
  }
  REQUIRE(writers[0].frame_bytes() == writers[1].frame_bytes());
  std::vector<uint8_t> expected(writers[0].frame_bytes()), found(expected.size());
  REQUIRE(writers[0].write(plain, expected, 0) == expected.size());
  REQUIRE(writers[1].write(ready, found, 0) == found.size());
  REQUIRE(found == expected);
}

TEST_CASE("contributions: the packets of EBCOT blocks") {
  Counts counts;
  uint64_t seed = 1;
  for (const char* size : {"8", "32", "333"}) {
    for (const char* style : {"0", "pterm", "bypass", "termall"}) {
      for (const uint32_t pass_bytes : {3u, 40u, 3000u}) {
        const auto plan = plan_of({{"width", size},
                                   {"height", "301"},
                                   {"num_components", "3"},
                                   {"levels", "3"},
                                   {"cblk", "8x8"},
                                   {"precincts", seed % 2 != 0 ? "64x64" : "32768x32768"},
                                   {"cblk_style", style},
                                   {"plt", std::to_string(seed % 2)},
                                   {"sop", std::to_string(seed / 2 % 2)},
                                   {"eph", std::to_string(seed / 2 % 2)}});
        test::SyntheticFrame::Shape shape;
        shape.max_pass_bytes = pass_bytes;
        shape.empty_blocks = static_cast<double>(seed % 5) / 4;
        const test::SyntheticFrame frame(*plan, seed++, shape);
        CAPTURE(seed);
        compare(*plan, frame.selection(), counts);
      }
    }
  }
  CHECK(counts.codes > 1000);
  CHECK(counts.longs > 1000);
}

/// Blocks whose points have bytes of their own, as HT's.
struct OwnPoints {
  OwnPoints(test::SyntheticFrame& frame, uint64_t seed) : hulls(frame.blocks.size()) {
    std::mt19937_64 random(seed);
    codes.resize(hulls.size());
    for (size_t b = 0; b < hulls.size(); ++b) {
      CodedBlock& block = frame.blocks[b];
      for (int i = 0; i < block.num_hull; ++i) {
        HullPoint point = block.hull[i];
        point.passes = static_cast<uint16_t>(1 + random() % 3);
        const uint32_t first = point.passes == 1
                                   ? point.length_bytes
                                   : static_cast<uint32_t>(1 + random() % point.length_bytes);
        hulls[b].push_back(point);
        codes[b].push_back(
            {block.data, block.data + first, first, static_cast<uint8_t>(random() % 30)});
      }
      block.hull = hulls[b].data();
      block.codes = codes[b].data();
      block.num_segments = 0;
    }
  }
  std::vector<std::vector<HullPoint>> hulls;
  std::vector<std::vector<PointCode>> codes;
};

TEST_CASE("contributions: the packets of HT blocks") {
  Counts counts;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const auto plan = plan_of({{"width", "290"},
                               {"height", "301"},
                               {"num_components", "1"},
                               {"coder", "ht"},
                               {"cblk", seed % 3 == 0 ? "4x16" : "16x16"}});
    test::SyntheticFrame frame(*plan, seed, {0.3, 0.2, seed % 2 != 0 ? 400u : 9u});
    const OwnPoints points(frame, seed);
    CAPTURE(seed);
    compare(*plan, frame.selection(), counts);
  }
  CHECK(counts.codes == counts.included);
  CHECK(counts.codes > 1000);
}

TEST_CASE("contributions: codes of more than 64 bits are not made") {
  const auto plan = plan_of({{"width", "64"}, {"height", "64"}, {"num_components", "1"}});
  std::vector<CodedBlock> blocks(plan->blocks.size());
  std::vector<uint8_t> points(blocks.size());
  const HullPoint hull = {uint32_t{1} << 30, 100, 30000, 1.0};
  for (CodedBlock& block : blocks) {
    block.hull = &hull;
    block.num_hull = 1;
    points[static_cast<size_t>(&block - blocks.data())] = 1;
  }
  const Selection selection{blocks.data(), points.data(), nullptr, 1};
  const std::vector<Contribution> all = contributions_of(selection, blocks.size());
  CHECK(all[0].is_long);
  Selection ready = selection;
  ready.contributions = all.data();
  PacketScratch scratch(*plan);
  for (uint32_t p = 0; p < plan->precincts.size(); ++p) {
    const PrecinctBytes expected = measure_precinct(*plan, selection, p, scratch);
    const PrecinctBytes found = measure_precinct(*plan, ready, p, scratch);
    CHECK(found.header == expected.header);
    CHECK(found.body == expected.body);
  }
}

}  // namespace
}  // namespace cj2k
