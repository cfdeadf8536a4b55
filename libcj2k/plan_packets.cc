// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "plan_packets.h"

#include <algorithm>
#include <cstddef>

namespace cj2k {
namespace {

constexpr uint64_t kMaxTileParts = 255;  // T.800 A.4.2: TNsot has 8 bits

/// A precinct, and the point (x, y) of the reference grid where the position loops of B.12.1.3 -
/// B.12.1.5 reach it.
struct Placed {
  int32_t y, x;
  uint32_t precinct;
  bool operator<(const Placed& other) const {
    if (y != other.y) return y < other.y;
    if (x != other.x) return x < other.x;
    // Precincts are numbered by component, then resolution, then raster. This is the order of the
    // loops at one position.
    return precinct < other.precinct;
  }
};

class PacketOrder {
 public:
  explicit PacketOrder(Plan* plan)
      : plan_(*plan),
        levels_(plan->params.levels),
        num_components_(static_cast<uint32_t>(plan->components.size())),
        layers_(static_cast<uint32_t>(plan->params.layers)) {}

  void add_tile(uint32_t tile) {
    switch (plan_.params.progression) {
      case CJ2K_LRCP:
        for (uint32_t l = 0; l < layers_; ++l) {
          for (int r = 0; r <= levels_; ++r) add_layer_of_resolution(tile, r, l);
        }
        break;
      case CJ2K_RLCP:
        for (int r = 0; r <= levels_; ++r) {
          for (uint32_t l = 0; l < layers_; ++l) add_layer_of_resolution(tile, r, l);
        }
        break;
      case CJ2K_RPCL:
        for (int r = 0; r <= levels_; ++r) {
          for (uint32_t c = 0; c < num_components_; ++c) place(tile, c, r);
          add_placed();
        }
        break;
      case CJ2K_PCRL:
        for (uint32_t c = 0; c < num_components_; ++c) {
          for (int r = 0; r <= levels_; ++r) place(tile, c, r);
        }
        add_placed();
        break;
      case CJ2K_CPRL:
        for (uint32_t c = 0; c < num_components_; ++c) {
          for (int r = 0; r <= levels_; ++r) place(tile, c, r);
          add_placed();
        }
        break;
    }
  }

 private:
  const Resolution& resolution(uint32_t tile, uint32_t component, int r) const {
    const TileComponent& tc = plan_.tile_components[tile * num_components_ + component];
    return plan_.resolutions[tc.first_resolution + static_cast<uint32_t>(r)];
  }

  void add_layer_of_resolution(uint32_t tile, int r, uint32_t layer) {
    for (uint32_t c = 0; c < num_components_; ++c) {
      const Resolution& res = resolution(tile, c, r);
      const uint32_t count = res.precincts_wide * res.precincts_high;
      for (uint32_t k = 0; k < count; ++k) plan_.packets.push_back({res.first_precinct + k, layer});
    }
  }

  // The loops reach a precinct at its corner, scaled to the reference grid. If the tile begins
  // inside the precinct (trx0 is not divisible by 2^PPx), they reach it at the edge of the tile.
  // Every precinct has exactly one such point in the tile. For a corner at m and s = XRsiz *
  // 2^(levels - r):
  //   m < trx1 = ceil(tcx1 / 2^(levels - r)) holds if and only if m * s < tx1
  //   m >= trx0                              holds if and only if m * s >= tx0
  static int32_t position(int64_t trx0, int precinct_log2, int64_t index, int32_t tile_edge,
                          int64_t scale) {
    const int64_t grid = (trx0 >> precinct_log2) + index;
    const bool cut = index == 0 && (grid << precinct_log2) != trx0;
    return cut ? tile_edge : static_cast<int32_t>((grid << precinct_log2) * scale);
  }

  void place(uint32_t tile, uint32_t component, int r) {
    const Resolution& res = resolution(tile, component, r);
    const Component& comp = plan_.components[component];
    const Rect& edges = plan_.tiles[tile].rect;
    const int64_t scale_x = static_cast<int64_t>(comp.dx) << (levels_ - r);
    const int64_t scale_y = static_cast<int64_t>(comp.dy) << (levels_ - r);
    uint32_t precinct = res.first_precinct;
    for (uint32_t ky = 0; ky < res.precincts_high; ++ky) {
      const int32_t y = position(res.rect.y0, res.precinct_height_log2, ky, edges.y0, scale_y);
      for (uint32_t kx = 0; kx < res.precincts_wide; ++kx) {
        const int32_t x = position(res.rect.x0, res.precinct_width_log2, kx, edges.x0, scale_x);
        placed_.push_back({y, x, precinct++});
      }
    }
  }

  void add_placed() {
    std::sort(placed_.begin(), placed_.end());
    for (const Placed& at : placed_) {
      for (uint32_t l = 0; l < layers_; ++l) plan_.packets.push_back({at.precinct, l});
    }
    placed_.clear();
  }

  Plan& plan_;
  int levels_;
  uint32_t num_components_;
  uint32_t layers_;
  std::vector<Placed> placed_;
};

}  // namespace

void add_packets(Plan* plan) {
  PacketOrder order(plan);
  for (uint32_t tile = 0; tile < plan->tiles.size(); ++tile) order.add_tile(tile);
}

Status add_tile_parts(Plan* plan, const Log& log) {
  const cj2k_tile_parts split = plan->params.tile_parts;
  // The packets of a tile-part all have the same key.
  const auto key = [plan, split](const PacketRef& packet) {
    const Precinct& precinct = plan->precincts[packet.precinct];
    if (split == CJ2K_TILE_PARTS_RESOLUTION) {
      return uint32_t{plan->resolutions[precinct.resolution].r};
    }
    return split == CJ2K_TILE_PARTS_COMPONENT ? precinct.component : 0u;
  };
  uint64_t first = 0;
  for (uint32_t t = 0; t < plan->tiles.size(); ++t) {
    const uint64_t end =
        first + uint64_t{plan->tiles[t].num_precincts} * static_cast<uint64_t>(plan->params.layers);
    uint64_t count = 0;
    for (uint64_t i = first; i < end; ++i) {
      count += i == first || key(plan->packets[i]) != key(plan->packets[i - 1]);
    }
    if (count > kMaxTileParts) {
      return log.fail(Status::kInvalid,
                      "tile_parts %s gives %llu tile-parts in tile %u, not in [1, %llu]",
                      split == CJ2K_TILE_PARTS_RESOLUTION ? "resolution" : "component",
                      static_cast<unsigned long long>(count), t,
                      static_cast<unsigned long long>(kMaxTileParts));
    }
    for (uint32_t index = 0; index < count; ++index) {
      uint64_t last = first + 1;
      while (last < end && key(plan->packets[last]) == key(plan->packets[first])) ++last;
      plan->tile_parts.push_back({t, index, static_cast<uint32_t>(count), first, last - first});
      first = last;
    }
  }
  return Status::kOk;
}

}  // namespace cj2k
