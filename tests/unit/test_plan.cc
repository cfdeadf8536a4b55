// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Geometry, packet order and tile-parts of T.800 Annex B, against worked examples, a direct
// transcription of B.12 (packet_order.h), and invariants over random configurations. Subbands are checked against
// coordinates split into even and odd, not against the formulas of B.5. test_plan_quant.cc tests
// the quantisation.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "params/params.h"
#include "plan/plan.h"
#include "unit/packet_order.h"

namespace {

using cj2k::Log;
using cj2k::Plan;
using cj2k::Rect;
using cj2k::Status;
using cj2k::test::check_packets;
using cj2k::test::check_tile_parts;

struct Messages {
  std::vector<std::string> lines;
  Log log{[](void* opaque, cj2k_log_level, const char* message) {
            static_cast<Messages*>(opaque)->lines.push_back(message);
          },
          this};
  std::string all() const {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return text;
  }
};

cj2k_params grey(int32_t width, int32_t height, int levels) {
  cj2k_params p;
  cj2k::set_default_params(&p);
  p.width = width;
  p.height = height;
  p.num_components = 1;
  p.levels = levels;
  return p;
}

Status try_plan(const cj2k_params& p, Plan* plan, Messages* m) {
  cj2k_params resolved;
  const Status status = cj2k::resolve_params(p, m->log, &resolved);
  INFO(m->all());
  REQUIRE(status == Status::kOk);
  return cj2k::make_plan(resolved, m->log, plan);
}

Plan plan_of(const cj2k_params& p) {
  Plan plan;
  Messages m;
  const Status status = try_plan(p, &plan, &m);
  INFO(m.all());
  REQUIRE(status == Status::kOk);
  return plan;
}

using Four = std::tuple<int, int, int, int>;
Four four(const Rect& r) { return {r.x0, r.y0, r.x1, r.y1}; }
Four four(const cj2k::CodeBlock& b) { return {b.plane_x, b.plane_y, b.width, b.height}; }

std::vector<Four> blocks_of_band(const Plan& plan, uint32_t band) {
  std::vector<Four> blocks;
  for (const cj2k::CodeBlock& block : plan.blocks) {
    if (block.subband == band) blocks.push_back(four(block));
  }
  return blocks;
}

// A range of coordinates [x0, x1) through `n` splits of F.4: an even u becomes u / 2 in the low
// band, an odd u becomes (u - 1) / 2 in the high band.
struct Range {
  int64_t x0, x1;
  bool operator==(const Range& o) const {
    return std::max<int64_t>(x1 - x0, 0) == std::max<int64_t>(o.x1 - o.x0, 0) &&
           (x1 <= x0 || x0 == o.x0);
  }
};

Range split(Range range, bool high) {
  Range out{0, 0};
  bool first = true;
  for (int64_t u = range.x0; u < range.x1; ++u) {
    if ((u & 1) != high) continue;
    const int64_t v = u >> 1;
    if (first) out.x0 = v;
    first = false;
    out.x1 = v + 1;
  }
  return out;
}

int log2_of(int32_t v) {
  int n = 0;
  while ((1 << n) < v) ++n;
  return n;
}

void check_geometry(const Plan& plan) {
  const cj2k_params& p = plan.params;
  uint32_t next_resolution = 0, next_subband = 0;
  for (const auto& tc : plan.tile_components) {
    REQUIRE(tc.first_resolution == next_resolution);
    const cj2k::Component& component = plan.components[tc.component];
    CHECK(tc.plane_x == tc.rect.x0 - component.rect.x0);
    CHECK(tc.plane_y == tc.rect.y0 - component.rect.y0);
    Range x{tc.rect.x0, tc.rect.x1}, y{tc.rect.y0, tc.rect.y1};
    for (int r = p.levels; r >= 0; --r) {
      const cj2k::Resolution& res = plan.resolutions[tc.first_resolution + r];
      CHECK(res.r == r);
      CHECK(&plan.tile_components[res.tile_component] == &tc);
      CHECK(Range{res.rect.x0, res.rect.x1} == x);
      CHECK(Range{res.rect.y0, res.rect.y1} == y);
      CHECK(res.num_subbands == (r == 0 ? 1u : 3u));
      const int entry = std::min(p.levels - r, p.num_precincts - 1);
      CHECK((1 << res.precinct_width_log2) == (entry < 0 ? 32768 : p.precinct_width[entry]));
      CHECK((1 << res.precinct_height_log2) == (entry < 0 ? 32768 : p.precinct_height[entry]));
      for (uint32_t b = 0; b < res.num_subbands; ++b) {
        const cj2k::Subband& band = plan.subbands[res.first_subband + b];
        CHECK(plan.resolutions[band.resolution].first_subband == res.first_subband);
        CHECK(band.component == tc.component);
        CHECK(band.orientation == (r == 0 ? 0 : static_cast<int>(b) + 1));
        CHECK(band.level == (r == 0 ? p.levels : p.levels - r + 1));
        const bool hx = band.orientation & 1, hy = band.orientation & 2;
        CHECK(Range{band.rect.x0, band.rect.x1} == (r == 0 ? x : split(x, hx)));
        CHECK(Range{band.rect.y0, band.rect.y1} == (r == 0 ? y : split(y, hy)));
        // Mallat order: the high-pass samples follow the low-pass ones.
        const Range low_x = split(x, false), low_y = split(y, false);
        CHECK(band.plane_x == tc.plane_x + (hx ? low_x.x1 - low_x.x0 : 0));
        CHECK(band.plane_y == tc.plane_y + (hy ? low_y.x1 - low_y.x0 : 0));
        CHECK(band.max_bit_planes == p.guard_bits + band.exponent - 1);
      }
      if (r > 0) x = split(x, false), y = split(y, false);
    }
    for (int r = 0; r <= p.levels; ++r) {
      CHECK(plan.resolutions[next_resolution].first_subband == next_subband);
      next_subband += plan.resolutions[next_resolution++].num_subbands;
    }
  }
  CHECK(next_resolution == plan.resolutions.size());
  CHECK(next_subband == plan.subbands.size());
}

// Blocks lie inside their precinct and subband and on the grid of B.7. They cover every coefficient
// once.
void check_blocks(const Plan& plan) {
  const cj2k_params& p = plan.params;
  std::vector<std::vector<int>> covered;
  for (const auto& c : plan.components) covered.emplace_back(c.rect.width() * c.rect.height());
  for (const cj2k::CodeBlock& block : plan.blocks) {
    const cj2k::Subband& band = plan.subbands[block.subband];
    const cj2k::Resolution& res = plan.resolutions[band.resolution];
    const cj2k::Precinct& precinct = plan.precincts[block.precinct];
    REQUIRE(block.width > 0);
    REQUIRE(block.height > 0);
    CHECK(block.component == band.component);
    CHECK(block.orientation == band.orientation);
    CHECK(block.max_bit_planes == band.max_bit_planes);
    CHECK(precinct.resolution == band.resolution);
    const auto check_axis = [&](int64_t u0, int64_t size, int64_t band0, int64_t band1, int xcb,
                                int pp, int64_t res0, uint32_t index) {
      const int band_pp = pp - (res.r > 0);
      const int64_t cell = int64_t{1} << std::min(xcb, band_pp);
      CHECK(u0 >= band0);
      CHECK(u0 + size <= band1);
      CHECK((u0 % cell == 0 || u0 == band0));
      CHECK(((u0 + size) % cell == 0 || u0 + size == band1));
      CHECK(u0 / cell == (u0 + size - 1) / cell);
      CHECK((u0 >> band_pp) - (res0 >> pp) == index);
    };
    check_axis(band.rect.x0 + (block.plane_x - band.plane_x), block.width, band.rect.x0,
               band.rect.x1, log2_of(p.cblk_width), res.precinct_width_log2, res.rect.x0,
               precinct.index % res.precincts_wide);
    check_axis(band.rect.y0 + (block.plane_y - band.plane_y), block.height, band.rect.y0,
               band.rect.y1, log2_of(p.cblk_height), res.precinct_height_log2, res.rect.y0,
               precinct.index / res.precincts_wide);
    const int stride = plan.components[block.component].rect.width();
    for (int y = 0; y < block.height; ++y) {
      for (int x = 0; x < block.width; ++x) {
        ++covered[block.component].at((block.plane_y + y) * stride + block.plane_x + x);
      }
    }
  }
  for (const auto& plane : covered) {
    CHECK(std::all_of(plane.begin(), plane.end(), [](int n) { return n == 1; }));
  }
}

// The orders and contiguities that plan.h promises.
void check_contiguity(const Plan& plan) {
  uint32_t precinct = 0, band = 0, block = 0;
  for (uint32_t r = 0; r < plan.resolutions.size(); ++r) {
    const cj2k::Resolution& res = plan.resolutions[r];
    CHECK(res.first_precinct == precinct);
    CHECK((res.rect.empty() ? res.precincts_wide + res.precincts_high == 0
                            : res.precincts_wide > 0 && res.precincts_high > 0));
    const auto& tc = plan.tile_components[res.tile_component];
    if (res.r == 0) CHECK(tc.first_block == block);
    for (uint32_t k = 0; k < res.precincts_wide * res.precincts_high; ++k, ++precinct) {
      const cj2k::Precinct& here = plan.precincts.at(precinct);
      CHECK(here.resolution == r);
      CHECK(here.index == k);
      CHECK(here.component == tc.component);
      CHECK(here.first_precinct_band == band);
      CHECK(here.first_block == block);
      for (uint32_t b = 0; b < res.num_subbands; ++b, ++band) {
        const cj2k::PrecinctBand& pb = plan.precinct_bands.at(band);
        CHECK(pb.subband == res.first_subband + b);
        CHECK(pb.first_block == block);
        for (uint32_t y = 0; y < pb.blocks_high; ++y) {
          for (uint32_t x = 0; x < pb.blocks_wide; ++x, ++block) {
            const cj2k::CodeBlock& cb = plan.blocks.at(block);
            CHECK(cb.precinct == precinct);
            CHECK(cb.subband == pb.subband);
            // Raster order: each block ends where the next begins.
            if (x > 0) {
              CHECK(cb.plane_x == plan.blocks[block - 1].plane_x + plan.blocks[block - 1].width);
            }
            if (y > 0) {
              const cj2k::CodeBlock& above = plan.blocks[block - pb.blocks_wide];
              CHECK(cb.plane_y == above.plane_y + above.height);
            }
          }
        }
      }
      CHECK(here.num_blocks == block - here.first_block);
    }
    if (res.r == plan.params.levels) CHECK(tc.num_blocks == block - tc.first_block);
  }
  CHECK(precinct == plan.precincts.size());
  CHECK(band == plan.precinct_bands.size());
  CHECK(block == plan.blocks.size());
}

void check_plan(const Plan& plan) {
  check_geometry(plan);
  check_blocks(plan);
  check_contiguity(plan);
  check_packets(plan);
  check_tile_parts(plan);
}

}  // namespace

TEST_CASE("plan: the example of T.800 B.4") {
  cj2k_params p = grey(1432 - 152, 954 - 234, 2);
  p.num_components = 2;
  p.image_offset_x = 152;
  p.image_offset_y = 234;
  p.tile_width = 396;
  p.tile_height = 297;
  p.dx[1] = p.dy[1] = 2;
  const Plan plan = plan_of(p);
  CHECK(plan.tiles_wide == 4);
  CHECK(plan.tiles_high == 4);
  CHECK(four(plan.components[0].rect) == Four{152, 234, 1432, 954});
  CHECK(four(plan.components[1].rect) == Four{76, 117, 716, 477});
  CHECK(plan.components[1].rect.width() == 640);
  CHECK(plan.components[1].rect.height() == 360);
  CHECK(four(plan.tiles[0].rect) == Four{152, 234, 396, 297});
  CHECK(four(plan.tiles[5].rect) == Four{396, 297, 792, 594});
  CHECK(four(plan.tiles[15].rect) == Four{1188, 891, 1432, 954});
  // Tile-components of component 1: columns 76, 198, 396, 594, 716; rows 117, 149, 297, 446, 477.
  CHECK(four(plan.tile_components[1].rect) == Four{76, 117, 198, 149});
  CHECK(four(plan.tile_components[11].rect) == Four{198, 149, 396, 297});
  CHECK(four(plan.tile_components[31].rect) == Four{594, 446, 716, 477});
  CHECK(plan.tile_components[11].plane_x == 122);
  CHECK(plan.tile_components[11].plane_y == 32);
}

TEST_CASE("plan: 3x5 at the origin and at an odd offset") {
  Plan plan = plan_of(grey(3, 5, 1));
  REQUIRE(plan.subbands.size() == 4);
  CHECK(four(plan.subbands[0].rect) == Four{0, 0, 2, 3});  // LL: columns 0 2, rows 0 2 4
  CHECK(four(plan.subbands[1].rect) == Four{0, 0, 1, 3});  // HL: column 1
  CHECK(four(plan.subbands[2].rect) == Four{0, 0, 2, 2});  // LH: rows 1 3
  CHECK(four(plan.subbands[3].rect) == Four{0, 0, 1, 2});
  CHECK(blocks_of_band(plan, 0) == std::vector<Four>{{0, 0, 2, 3}});
  CHECK(blocks_of_band(plan, 1) == std::vector<Four>{{2, 0, 1, 3}});
  CHECK(blocks_of_band(plan, 2) == std::vector<Four>{{0, 3, 2, 2}});
  CHECK(blocks_of_band(plan, 3) == std::vector<Four>{{2, 3, 1, 2}});

  cj2k_params p = grey(3, 5, 1);
  p.image_offset_x = p.image_offset_y = 1;
  plan = plan_of(p);
  CHECK(four(plan.subbands[0].rect) == Four{1, 1, 2, 3});  // LL: column 2, rows 2 4
  CHECK(four(plan.subbands[1].rect) == Four{0, 1, 2, 3});  // HL: columns 1 3
  CHECK(four(plan.subbands[2].rect) == Four{1, 0, 2, 3});  // LH: rows 1 3 5
  CHECK(blocks_of_band(plan, 1) == std::vector<Four>{{1, 0, 2, 2}});
  CHECK(blocks_of_band(plan, 2) == std::vector<Four>{{0, 2, 1, 3}});
  CHECK(plan.packets.size() == 2);
}

TEST_CASE("plan: one sample, one column, 32 levels") {
  for (const int levels : {0, 1, 5, 32}) {
    const Plan plan = plan_of(grey(1, 1, levels));
    CHECK(plan.blocks.size() == 1);
    CHECK(plan.blocks[0].orientation == cj2k::kLL);
    // Every resolution has the one sample, so there is a packet each. Only the first has a block.
    CHECK(plan.packets.size() == static_cast<size_t>(levels) + 1);
  }
  // At an odd coordinate the sample is high-pass at level 1, and the resolutions below are empty.
  cj2k_params p = grey(1, 1, 3);
  p.image_offset_x = 1;
  Plan plan = plan_of(p);
  REQUIRE(plan.blocks.size() == 1);
  CHECK(plan.blocks[0].orientation == cj2k::kHL);
  CHECK(plan.packets.size() == 1);
  CHECK(plan.precincts.size() == 1);

  plan = plan_of(grey(1, 7, 2));
  CHECK(four(plan.subbands[0].rect) == Four{0, 0, 1, 2});  // rows 0 4
  CHECK(plan.subbands[1].rect.empty());
  CHECK(four(plan.subbands[2].rect) == Four{0, 0, 1, 2});  // rows 2 6
  CHECK(four(plan.subbands[5].rect) == Four{0, 0, 1, 3});  // rows 1 3 5
  CHECK(plan.blocks.size() == 3);
  check_plan(plan);
}

TEST_CASE("plan: precincts clip blocks") {
  // 17x17, one level. Resolution 1 has 3x3 precincts of 8x8. Its bands have 8 samples (low: 9) a
  // side and precincts of 4x4.
  cj2k_params p = grey(17, 17, 1);
  p.num_precincts = 2;
  p.precinct_width[0] = p.precinct_height[0] = 8;
  p.precinct_width[1] = 16;
  p.precinct_height[1] = 2;
  const Plan plan = plan_of(p);
  CHECK(plan.resolutions[0].precincts_wide == 1);
  CHECK(plan.resolutions[0].precincts_high == 5);
  CHECK(plan.resolutions[1].precincts_wide == 3);
  CHECK(plan.resolutions[1].precincts_high == 3);
  CHECK(blocks_of_band(plan, 0) ==
        std::vector<Four>{{0, 0, 9, 2}, {0, 2, 9, 2}, {0, 4, 9, 2}, {0, 6, 9, 2}, {0, 8, 9, 1}});
  // HL: columns 0..8 of the band, rows 0..9. The third column of precincts has no HL samples.
  CHECK(blocks_of_band(plan, 1) ==
        std::vector<Four>{
            {9, 0, 4, 4}, {13, 0, 4, 4}, {9, 4, 4, 4}, {13, 4, 4, 4}, {9, 8, 4, 1}, {13, 8, 4, 1}});
  CHECK(blocks_of_band(plan, 3).size() == 4);
  CHECK(plan.precincts[5 + 8].num_blocks ==
        0);  // the bottom right corner: column and row 16 are even, so low-pass
  CHECK(plan.packets.size() == 14);
  check_plan(plan);

  // Precincts of 2 above the lowest resolution give blocks of one coefficient. So do precincts of 1
  // at the lowest.
  p = grey(5, 3, 1);
  p.num_precincts = 2;
  p.precinct_width[0] = p.precinct_height[0] = 2;
  p.precinct_width[1] = p.precinct_height[1] = 1;
  const Plan tiny = plan_of(p);
  CHECK(tiny.blocks.size() == 15);
  CHECK(tiny.precincts.size() == 6 + 6);
  check_plan(tiny);
}

TEST_CASE("plan: tile-parts") {
  cj2k_params p = grey(64, 64, 2);
  p.num_components = 3;
  p.layers = 2;
  const auto count = [&](cj2k_progression progression, cj2k_tile_parts split) {
    p.progression = progression;
    p.tile_parts = split;
    const Plan plan = plan_of(p);
    check_plan(plan);
    CHECK(plan.tile_parts[0].count == plan.tile_parts.size());
    return plan.tile_parts.size();
  };
  CHECK(count(CJ2K_LRCP, CJ2K_TILE_PARTS_NONE) == 1);
  CHECK(count(CJ2K_LRCP, CJ2K_TILE_PARTS_RESOLUTION) == 6);
  CHECK(count(CJ2K_RLCP, CJ2K_TILE_PARTS_RESOLUTION) == 3);
  CHECK(count(CJ2K_RPCL, CJ2K_TILE_PARTS_RESOLUTION) == 3);
  CHECK(count(CJ2K_LRCP, CJ2K_TILE_PARTS_COMPONENT) == 18);
  CHECK(count(CJ2K_CPRL, CJ2K_TILE_PARTS_COMPONENT) == 3);
  CHECK(count(CJ2K_CPRL, CJ2K_TILE_PARTS_RESOLUTION) == 9);

  p.progression = CJ2K_LRCP;
  p.tile_parts = CJ2K_TILE_PARTS_RESOLUTION;
  p.layers = 85;  // 3 x 85 = 255
  CHECK(plan_of(p).tile_parts.size() == 255);
  p.layers = 86;
  Plan plan;
  Messages m;
  CHECK(try_plan(p, &plan, &m) == Status::kInvalid);
  CHECK(m.all() == "tile_parts resolution gives 258 tile-parts in tile 0, not in [1, 255]\n");
}

// Progression order changes from text; the plan is checked.
Plan plan_with_poc(cj2k_params p, const char* poc) {
  Messages m;
  REQUIRE(cj2k::set_param(&p, "poc", poc, m.log) == Status::kOk);
  const Plan plan = plan_of(p);
  check_plan(plan);
  return plan;
}

TEST_CASE("plan: progression order changes, the tile-parts of a 4K cinema codestream") {
  cj2k_params p = grey(4096, 2160, 6);
  p.num_components = 3;
  p.num_precincts = 7;
  for (int i = 0; i < 7; ++i) p.precinct_width[i] = p.precinct_height[i] = i < 6 ? 256 : 128;
  p.progression = CJ2K_CPRL;
  p.tile_parts = CJ2K_TILE_PARTS_COMPONENT;
  Messages m;
  REQUIRE(cj2k::set_param(&p, "poc", "0,0,1,6,3,cprl/6,0,1,7,3,cprl", m.log) == Status::kOk);
  const Plan plan = plan_of(p);
  REQUIRE(plan.tile_parts.size() == 6);
  uint64_t next = 0;
  for (uint32_t i = 0; i < 6; ++i) {
    const cj2k::TilePart& part = plan.tile_parts[i];
    CHECK(part.index == i);
    CHECK(part.count == 6);
    CHECK(part.first_packet == next);
    next += part.num_packets;
    for (uint64_t k = part.first_packet; k < next; ++k) {
      const cj2k::Precinct& precinct = plan.precincts[plan.packets[k].precinct];
      const bool expected =
          precinct.component == i % 3 && (plan.resolutions[precinct.resolution].r == 6) == (i >= 3);
      if (!expected) FAIL_CHECK("packet " << k << " is in tile-part " << i);
    }
  }
  CHECK(next == plan.packets.size());
  CHECK(plan.tile_parts[3].num_packets == 16 * 9);
}

TEST_CASE("plan: progression order changes by hand") {
  cj2k_params p = grey(64, 64, 1);
  p.num_components = 2;
  p.layers = 3;
  // Precincts: 0, 1 of component 0, 2, 3 of component 1, resolutions 0 and 1.
  const auto order = [&](const char* poc) {
    std::string text;
    for (const cj2k::PacketRef& packet : plan_with_poc(p, poc).packets) {
      text += std::to_string(packet.precinct) + "." + std::to_string(packet.layer) + " ";
    }
    return text;
  };
  CHECK(order("0,0,3,2,2,lrcp") == "0.0 2.0 1.0 3.0 0.1 2.1 1.1 3.1 0.2 2.2 1.2 3.2 ");
  // The second entry begins with the next layer of each resolution and component.
  CHECK(order("0,0,1,2,1,lrcp/0,0,3,1,2,rlcp/0,0,3,2,2,cprl") ==
        "0.0 1.0 2.0 0.1 2.1 0.2 2.2 1.1 1.2 3.0 3.1 3.2 ");
  // An entry that repeats another adds nothing.
  CHECK(order("0,0,2,2,2,rlcp/0,0,2,2,2,lrcp/0,0,3,2,2,pcrl") ==
        "0.0 2.0 0.1 2.1 1.0 3.0 1.1 3.1 0.2 1.2 2.2 3.2 ");
  p.tile_parts = CJ2K_TILE_PARTS_RESOLUTION;
  // Both entries end and begin with resolution 1: a new tile-part begins all the same.
  CHECK(plan_with_poc(p, "0,0,1,2,2,rlcp/1,0,3,2,2,lrcp/0,0,3,1,2,lrcp").tile_parts.size() == 4);
  CHECK(plan_with_poc(p, "0,0,1,2,2,rlcp/0,0,1,2,2,lrcp/0,0,3,2,2,rlcp").tile_parts.size() == 4);
  p.tile_parts = CJ2K_TILE_PARTS_NONE;
  CHECK(plan_with_poc(p, "0,0,1,2,2,rlcp/0,0,3,2,2,lrcp").tile_parts.size() == 1);
}

TEST_CASE("plan: what is refused") {
  Plan plan;
  Messages m;
  // Tiles of one column, but all components have only every second column.
  cj2k_params p = grey(8, 8, 1);
  p.dx[0] = 2;
  p.tile_width = 1;
  CHECK(try_plan(p, &plan, &m) == Status::kInvalid);
  CHECK(m.all().find("tile 1 ([1, 2) x [0, 8) on the reference grid) has no samples") == 0);
  // If one component has full size the others may be empty in a tile.
  p.num_components = 2;
  p.dx[0] = 1;
  p.dx[1] = 2;
  plan = plan_of(p);
  CHECK(plan.tile_components[3].rect.empty());
  CHECK(plan.tile_components[3].num_blocks == 0);
  check_plan(plan);

  const auto refusal = [&](const cj2k_params& params) {
    Messages messages;
    CHECK(try_plan(params, &plan, &messages) == Status::kNotSupported);
    CHECK(messages.lines.size() == 1);
    return messages.all();
  };
  p = grey(70000, 70000, 0);
  p.cblk_width = p.cblk_height = 4;
  CHECK(refusal(p) == "306250000 code-blocks or more; the limit is 268435456\n");
  p.levels = 1;
  CHECK(refusal(p) == "306250000 code-blocks or more; the limit is 268435456\n");
  CHECK(refusal(grey(1, 1073741825, 0)) ==
        "component 0 of tile 0: 1 x 1073741825 samples, more than 1073741824 a side; use tiles\n");
  p = grey(1073741824, 1073741824, 0);
  p.num_precincts = 1;
  p.precinct_width[0] = p.precinct_height[0] = 1;
  CHECK(refusal(p).find("precincts or more; the limit is 268435456") != std::string::npos);
  p = grey(65536, 65536, 0);
  p.num_precincts = 1;
  p.precinct_width[0] = p.precinct_height[0] = 256;
  p.layers = 4097;
  CHECK(refusal(p) == "268500992 packets; the limit is 268435456\n");
}

template <typename Draw>
void choose_poc(const Draw& draw, cj2k_params* p) {
  p->num_poc = draw(1, 5);
  for (int i = 0; i + 1 < p->num_poc; ++i) {
    const int r = draw(0, p->levels), c = draw(0, p->num_components - 1);
    p->poc[i] = {r,
                 c,
                 draw(1, p->layers),
                 draw(r + 1, p->levels + 1),
                 draw(c + 1, p->num_components),
                 static_cast<cj2k_progression>(draw(0, 4))};
  }
  // The last entry has what is left.
  p->poc[p->num_poc - 1] = {
      0, 0, p->layers, p->levels + 1, p->num_components, static_cast<cj2k_progression>(draw(0, 4))};
}

TEST_CASE("plan: random configurations") {
  // Seeded, and without the distributions of <random>, which differ between libraries.
  std::mt19937 engine(20000);
  const auto draw = [&](int low, int high) {
    return low + static_cast<int>(engine() % static_cast<uint32_t>(high - low + 1));
  };
  std::set<int> progressions;
  int planned = 0;
  for (int run = 0; planned < 200; ++run) {
    REQUIRE(run < 1000);
    cj2k_params p = grey(draw(1, draw(0, 3) ? 40 : 130), draw(1, draw(0, 3) ? 40 : 130), 0);
    p.num_components = draw(1, 4);
    p.levels = draw(0, 3) ? draw(0, 4) : draw(0, 32);
    for (int c = 0; c < 4; ++c) {
      p.dx[c] = 1 << std::max(draw(-2, 2), 0);
      p.dy[c] = 1 << std::max(draw(-2, 2), 0);
      p.depth[c] = draw(8, 10);
      p.is_signed[c] = draw(0, 1);
    }
    if (draw(0, 1)) {
      p.image_offset_x = draw(0, 70);
      p.image_offset_y = draw(0, 70);
      p.tile_offset_x = draw(0, p.image_offset_x);
      p.tile_offset_y = draw(0, p.image_offset_y);
    }
    if (draw(0, 1)) {
      p.tile_width = p.image_offset_x - p.tile_offset_x + draw(1, 50);
      p.tile_height = p.image_offset_y - p.tile_offset_y + draw(1, 50);
    }
    const int xcb = draw(2, 6), ycb = draw(2, 6);
    p.cblk_width = 1 << xcb;
    p.cblk_height = 1 << ycb;
    if (draw(0, 2)) {
      p.num_precincts = draw(1, std::min(p.levels + 1, 4));
      for (int i = 0; i < p.num_precincts; ++i) {
        const int least = i < p.levels ? 1 : 0;
        p.precinct_width[i] = 1 << draw(least, 6);
        p.precinct_height[i] = 1 << draw(least, 6);
      }
    }
    p.progression = static_cast<cj2k_progression>(draw(0, 4));
    p.layers = draw(1, 3);
    p.tile_parts = static_cast<cj2k_tile_parts>(draw(0, 2));
    p.wavelet = static_cast<cj2k_wavelet>(draw(0, 1));
    if (run % 3 == 0) choose_poc(draw, &p);
    CAPTURE(run);
    Messages m;
    cj2k_params resolved;
    // Subsampling may leave no samples of a small picture or tile, and precincts can give more than
    // 255 tile-parts. Such draws are skipped.
    if (cj2k::resolve_params(p, m.log, &resolved) != Status::kOk) continue;
    Plan plan;
    if (cj2k::make_plan(resolved, m.log, &plan) != Status::kOk) {
      INFO(m.all());
      CHECK((m.all().find("has no samples") != std::string::npos ||
             m.all().find("tile-parts in tile") != std::string::npos));
      continue;
    }
    ++planned;
    progressions.insert(p.num_poc > 1 ? 100 + p.poc[0].progression : p.progression);
    check_plan(plan);
  }
  CHECK(progressions.size() == 10);
}
