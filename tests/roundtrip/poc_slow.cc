// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Progression order changes through the decoders.
#include <doctest/doctest.h>

#include <set>

#include "roundtrip/roundtrip.h"
#include "support/codestream.h"

namespace cj2k::test {
namespace {

cj2k_progression any_order(Random& random) {
  return static_cast<cj2k_progression>(random.range(0, 4));
}

void choose_overlapping(cj2k_params& p, Random& random) {
  p.num_poc = random.range(2, 5);
  for (int i = 0; i + 1 < p.num_poc; ++i) {
    const int32_t r = random.range(0, p.levels), c = random.range(0, 2);
    p.poc[i] = {r,
                c,
                random.range(1, p.layers),
                random.range(r + 1, p.levels + 1),
                random.range(c + 1, 3),
                any_order(random)};
  }
  // The last entry has every packet that is left.
  p.poc[p.num_poc - 1] = {0, 0, p.layers, p.levels + 1, 3, any_order(random)};
}

/// No packet is in two entries; the entries divide the resolutions or the components.
void choose_disjoint(cj2k_params& p, Random& random) {
  const int32_t r = random.range(1, p.levels), c = random.range(1, 2);
  p.num_poc = 2;
  const bool by_component = random.chance(50);
  p.poc[0] = {
      0, 0, p.layers, by_component ? p.levels + 1 : r, by_component ? c : 3, any_order(random)};
  p.poc[1] = {by_component ? 0 : r, by_component ? c : 0, p.layers, p.levels + 1, 3,
              any_order(random)};
}

TEST_CASE("random progression order changes through three decoders") {
  Random random(77);
  std::set<int> orders;
  int with_grok = 0;
  for (int run = 0; run < 40; ++run) {
    cj2k_params p = make_params(random.range(60, 160), random.range(40, 110));
    p.lossless = random.chance(70);
    p.levels = random.range(1, 5);
    p.layers = random.range(1, 5);
    if (random.chance(50)) set(p, "precincts", "32");
    if (random.chance(50)) set(p, "tile", "64x48");
    if (random.chance(50)) set(p, "image_offset", "5x9");
    if (random.chance(50)) p.tile_parts = static_cast<cj2k_tile_parts>(random.range(1, 2));
    p.plt = random.chance(50);
    p.sop = random.chance(30);
    if (run % 2 == 0) {
      choose_overlapping(p, random);
    } else {
      choose_disjoint(p, random);
    }
    for (int i = 0; i < p.num_poc; ++i) orders.insert(p.poc[i].progression);
    with_grok += cannot_decode(Decoder::kGrok, p) == nullptr;
    const Picture picture = make_picture(p, Content::kTexture, random.next());
    const Encoded encoded = check_roundtrip(p, picture, kAllDecoders, quality_floor(p, 2));
    const ParsedCodestream parsed = check_codestream(encoded.bytes);
    CHECK(parsed.poc.size() == static_cast<size_t>(p.num_poc));
  }
  CHECK(orders.size() == 5);
  CHECK(with_grok >= 15);
}

TEST_CASE("the tile-parts of a 4K cinema codestream") {
  cj2k_params p = make_params(410, 216, 3, 12);
  p.levels = 6;
  set(p, "precincts", "256,256,256,256,256,256,128");
  set(p, "cblk", "32");
  set(p, "progression", "cprl");
  set(p, "poc", "0,0,1,6,3,cprl/6,0,1,7,3,cprl");
  set(p, "tile_parts", "component");
  p.target_bytes = 60000;
  p.max_component_bytes = 30000;
  const Encoded encoded =
      check_roundtrip(p, make_picture(p, Content::kTexture, 3), kAllDecoders, 0);
  const ParsedCodestream parsed = check_codestream(encoded.bytes);
  REQUIRE(parsed.tile_parts.size() == 6);
  CHECK(parsed.tlm.size() == 6);
  for (uint32_t i = 0; i < 6; ++i) {
    CHECK(parsed.tile_parts[i].index == i);
    CHECK(parsed.tile_parts[i].count == 6);
  }
  // The cap of a component is on both of its tile-parts, headers included.
  for (size_t c = 0; c < 3; ++c) {
    const ParsedTilePart &low = parsed.tile_parts[c], &high = parsed.tile_parts[c + 3];
    CHECK(static_cast<int64_t>(low.end - low.data + high.end - high.data) ==
          encoded.stats.component_bytes[c]);
    CHECK(low.psot + high.psot <= static_cast<uint32_t>(p.max_component_bytes));
  }
  CHECK(encoded.bytes.size() <= 60000);
}

}  // namespace
}  // namespace cj2k::test
