// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The slow, independent reading of the standard's packet order, and the checks of a plan's packets
// and tile-parts against it.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "plan/plan.h"

namespace cj2k::test {

struct Packet {
  uint32_t component;
  int r;
  uint32_t k, layer;
  bool operator==(const Packet& o) const {
    return std::tie(component, r, k, layer) == std::tie(o.component, o.r, o.k, o.layer);
  }
};

// The loops of T.800 B.12.1 as written there, for one tile, over each entry of `poc` in turn
// (B.12.2): "packets that have already been included are not included again" (A.6.6). Takes
// rectangles and precinct counts of resolutions from the plan; other tests check those.
class Progression {
 public:
  Progression(const Plan& plan, uint32_t tile)
      : plan_(plan), tile_(tile), t_(plan.tiles[tile].rect) {}

  std::vector<Packet> packets() {
    const cj2k_params& p = plan_.params;
    if (p.num_poc == 0) {
      add({0, 0, p.layers, p.levels + 1, p.num_components, p.progression});
    }
    for (int i = 0; i < p.num_poc; ++i) {
      entry_ = i;
      add(p.poc[i]);
    }
    return out_;
  }
  // The entry of `poc` of each packet.
  const std::vector<int>& entries() const { return entries_; }

 private:
  void add(const cj2k_progression_change& e) {
    next_.clear();
    last_layer_ = e.layer_end;
    const uint32_t i0 = static_cast<uint32_t>(e.component_begin);
    const uint32_t i1 = static_cast<uint32_t>(e.component_end);
    switch (e.progression) {
      case CJ2K_PROGRESSION_AUTO:
        FAIL("not resolved");
        break;
      case CJ2K_LRCP:
        for (int32_t l = 0; l < e.layer_end; ++l)
          for (int r = e.resolution_begin; r < e.resolution_end; ++r)
            for (uint32_t i = i0; i < i1; ++i)
              for (uint32_t k = 0; k < count(i, r); ++k) include(i, r, k, l);
        break;
      case CJ2K_RLCP:
        for (int r = e.resolution_begin; r < e.resolution_end; ++r)
          for (int32_t l = 0; l < e.layer_end; ++l)
            for (uint32_t i = i0; i < i1; ++i)
              for (uint32_t k = 0; k < count(i, r); ++k) include(i, r, k, l);
        break;
      case CJ2K_RPCL:
        for (int r = e.resolution_begin; r < e.resolution_end; ++r)
          for (int64_t y = t_.y0; y < t_.y1; ++y)
            for (int64_t x = t_.x0; x < t_.x1; ++x)
              for (uint32_t i = i0; i < i1; ++i) at_position(x, y, i, r);
        break;
      case CJ2K_PCRL:
        for (int64_t y = t_.y0; y < t_.y1; ++y)
          for (int64_t x = t_.x0; x < t_.x1; ++x)
            for (uint32_t i = i0; i < i1; ++i)
              for (int r = e.resolution_begin; r < e.resolution_end; ++r) at_position(x, y, i, r);
        break;
      case CJ2K_CPRL:
        for (uint32_t i = i0; i < i1; ++i)
          for (int64_t y = t_.y0; y < t_.y1; ++y)
            for (int64_t x = t_.x0; x < t_.x1; ++x)
              for (int r = e.resolution_begin; r < e.resolution_end; ++r) at_position(x, y, i, r);
        break;
    }
  }

  void include(uint32_t i, int r, uint32_t k, int32_t l) {
    if (!included_.insert({i, r, k, l}).second) return;
    out_.push_back({i, r, k, static_cast<uint32_t>(l)});
    entries_.push_back(entry_);
  }

  int levels() const { return plan_.params.levels; }
  const Resolution& res(uint32_t i, int r) const {
    const auto& tc = plan_.tile_components[tile_ * plan_.components.size() + i];
    return plan_.resolutions[tc.first_resolution + static_cast<uint32_t>(r)];
  }
  uint32_t count(uint32_t i, int r) const {
    return res(i, r).precincts_wide * res(i, r).precincts_high;
  }

  void at_position(int64_t x, int64_t y, uint32_t i, int r) {
    const Resolution& s = res(i, r);
    const int d = levels() - r;
    const auto hit = [d](int64_t at, int64_t tile0, int64_t subsampling, int pp, int64_t tr0) {
      const int64_t period = int64_t{1} << (pp + d);
      return at % (subsampling * period) == 0 || (at == tile0 && (tr0 << d) % period != 0);
    };
    if (!hit(y, t_.y0, plan_.components[i].dy, s.precinct_height_log2, s.rect.y0)) return;
    if (!hit(x, t_.x0, plan_.components[i].dx, s.precinct_width_log2, s.rect.x0)) return;
    uint32_t& next = next_[{i, r}];
    if (next == count(i, r)) return;  // "the next precinct, k, if one exists"
    for (int32_t l = 0; l < last_layer_; ++l) include(i, r, next, l);
    ++next;
  }

  const Plan& plan_;
  uint32_t tile_;
  Rect t_;
  int entry_ = 0;
  int32_t last_layer_ = 0;
  std::map<std::pair<uint32_t, int>, uint32_t> next_;
  std::set<std::tuple<uint32_t, int, uint32_t, int32_t>> included_;
  std::vector<Packet> out_;
  std::vector<int> entries_;
};

inline void check_packets(const Plan& plan) {
  uint64_t first = 0;
  uint32_t next_precinct = 0;
  for (uint32_t t = 0; t < plan.tiles.size(); ++t) {
    CHECK(plan.tiles[t].first_precinct == next_precinct);
    next_precinct += plan.tiles[t].num_precincts;
    const std::vector<Packet> expected = Progression(plan, t).packets();
    CHECK(expected.size() == uint64_t{plan.tiles[t].num_precincts} * plan.params.layers);
    REQUIRE(first + expected.size() <= plan.packets.size());
    size_t wrong = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      const PacketRef& packet = plan.packets[first + i];
      const Precinct& precinct = plan.precincts[packet.precinct];
      const Resolution& res = plan.resolutions[precinct.resolution];
      const bool same_tile = plan.tile_components[res.tile_component].tile == t;
      const Packet got{precinct.component, res.r, precinct.index, packet.layer};
      wrong += !(same_tile && got == expected[i]);
    }
    CHECK(wrong == 0);
    first += expected.size();
  }
  CHECK(first == plan.packets.size());
  CHECK(next_precinct == plan.precincts.size());
}

inline void check_tile_parts(const Plan& plan) {
  std::vector<int> entries;
  for (uint32_t t = 0; plan.params.num_poc > 0 && t < plan.tiles.size(); ++t) {
    Progression progression(plan, t);
    progression.packets();
    entries.insert(entries.end(), progression.entries().begin(), progression.entries().end());
  }
  entries.resize(plan.packets.size());
  // What the packets of a tile-part have in common.
  const auto key = [&](uint64_t packet) {
    const Precinct& precinct = plan.precincts[plan.packets[packet].precinct];
    switch (plan.params.tile_parts) {
      case CJ2K_TILE_PARTS_RESOLUTION:
        return std::pair(int{plan.resolutions[precinct.resolution].r}, entries[packet]);
      case CJ2K_TILE_PARTS_COMPONENT:
        return std::pair(static_cast<int>(precinct.component), entries[packet]);
      default:
        return std::pair(0, 0);
    }
  };
  uint64_t packet = 0;
  uint32_t tile = 0, index = 0;
  for (const TilePart& part : plan.tile_parts) {
    CHECK(part.tile == tile);
    CHECK(part.index == index);
    CHECK(part.first_packet == packet);
    CHECK(part.num_packets > 0);
    CHECK(part.count <= 255);
    if (index > 0) CHECK(key(packet) != key(packet - 1));
    for (uint64_t i = 1; i < part.num_packets; ++i) {
      if (key(packet + i) != key(packet)) FAIL_CHECK("tile-part mixes indices");
    }
    packet += part.num_packets;
    if (++index == part.count) index = 0, ++tile;
  }
  CHECK(index == 0);
  CHECK(tile == plan.tiles.size());
  CHECK(packet == plan.packets.size());
}

}  // namespace cj2k::test
