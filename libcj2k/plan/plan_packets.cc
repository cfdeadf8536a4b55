// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "plan/plan_packets.h"

#include <algorithm>
#include <cstddef>

namespace cj2k {
namespace {

constexpr uint32_t kMaxTileParts = 255;  // T.800 A.4.2: TNsot has 8 bits

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

/// The packets of a range of resolutions and components up to a layer, in one order (B.12.2).
struct Volume {
  int first_resolution, end_resolution;
  uint32_t first_component, end_component;
  uint32_t end_layer;
  cj2k_progression order;
};

class PacketOrder {
 public:
  explicit PacketOrder(Plan* plan)
      : plan_(*plan),
        levels_(plan->params.levels),
        num_components_(static_cast<uint32_t>(plan->components.size())) {}

  /// Begins a tile, none of whose packets is in the codestream.
  void begin_tile() { next_layer_.assign(num_components_ * (levels_ + size_t{1}), 0); }

  /// Adds the packets of `v` that are not yet in the codestream. All precincts of a resolution are
  /// in the same volumes, so they have come to the same layer.
  void add_volume(uint32_t tile, const Volume& v) {
    switch (v.order) {
      case CJ2K_PROGRESSION_AUTO:  // resolved before the plan is made
        break;
      case CJ2K_LRCP:
        for (uint32_t l = 0; l < v.end_layer; ++l) {
          for (int r = v.first_resolution; r < v.end_resolution; ++r) {
            add_layer_of_resolution(tile, v, r, l);
          }
        }
        break;
      case CJ2K_RLCP:
        for (int r = v.first_resolution; r < v.end_resolution; ++r) {
          for (uint32_t l = 0; l < v.end_layer; ++l) add_layer_of_resolution(tile, v, r, l);
        }
        break;
      case CJ2K_RPCL:
        for (int r = v.first_resolution; r < v.end_resolution; ++r) {
          for (uint32_t c = v.first_component; c < v.end_component; ++c) place(tile, c, r);
          add_placed(v);
        }
        break;
      case CJ2K_PCRL:
        for (uint32_t c = v.first_component; c < v.end_component; ++c) {
          place_component(tile, v, c);
        }
        add_placed(v);
        break;
      case CJ2K_CPRL:
        for (uint32_t c = v.first_component; c < v.end_component; ++c) {
          place_component(tile, v, c);
          add_placed(v);
        }
        break;
    }
    for (uint32_t c = v.first_component; c < v.end_component; ++c) {
      for (int r = v.first_resolution; r < v.end_resolution; ++r) {
        next_layer(c, r) = std::max(next_layer(c, r), v.end_layer);
      }
    }
  }

 private:
  const Resolution& resolution(uint32_t tile, uint32_t component, int r) const {
    const TileComponent& tc = plan_.tile_components[tile * num_components_ + component];
    return plan_.resolutions[tc.first_resolution + static_cast<uint32_t>(r)];
  }

  /// The first layer whose packets are not yet in the codestream.
  uint32_t& next_layer(uint32_t component, int r) {
    return next_layer_[component * (levels_ + size_t{1}) + static_cast<size_t>(r)];
  }

  void add_layer_of_resolution(uint32_t tile, const Volume& v, int r, uint32_t layer) {
    for (uint32_t c = v.first_component; c < v.end_component; ++c) {
      if (layer < next_layer(c, r)) continue;
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

  void place_component(uint32_t tile, const Volume& v, uint32_t component) {
    for (int r = v.first_resolution; r < v.end_resolution; ++r) place(tile, component, r);
  }

  void add_placed(const Volume& v) {
    std::sort(placed_.begin(), placed_.end());
    for (const Placed& at : placed_) {
      const Precinct& precinct = plan_.precincts[at.precinct];
      const uint32_t first =
          next_layer(precinct.component, plan_.resolutions[precinct.resolution].r);
      for (uint32_t l = first; l < v.end_layer; ++l) plan_.packets.push_back({at.precinct, l});
    }
    placed_.clear();
  }

  Plan& plan_;
  int levels_;
  uint32_t num_components_;
  std::vector<uint32_t> next_layer_;
  std::vector<Placed> placed_;
};

}  // namespace

std::vector<uint64_t> add_packets(Plan* plan) {
  const cj2k_params& p = plan->params;
  PacketOrder order(plan);
  std::vector<uint64_t> changes;
  for (uint32_t tile = 0; tile < plan->tiles.size(); ++tile) {
    order.begin_tile();
    if (p.num_poc == 0) {
      order.add_volume(tile, {0, p.levels + 1, 0, static_cast<uint32_t>(p.num_components),
                              static_cast<uint32_t>(p.layers), p.progression});
    }
    for (int32_t i = 0; i < p.num_poc; ++i) {
      const cj2k_progression_change& entry = p.poc[i];
      changes.push_back(plan->packets.size());
      order.add_volume(tile, {entry.resolution_begin, entry.resolution_end,
                              static_cast<uint32_t>(entry.component_begin),
                              static_cast<uint32_t>(entry.component_end),
                              static_cast<uint32_t>(entry.layer_end), entry.progression});
    }
  }
  return changes;
}

Status add_tile_parts(Plan* plan, const std::vector<uint64_t>& changes, const Log& log) {
  const cj2k_tile_parts split = plan->params.tile_parts;
  // The packets of a tile-part all have the same key, and are of the same entry of `poc`.
  const auto key = [plan, split](uint64_t packet) {
    const Precinct& precinct = plan->precincts[plan->packets[packet].precinct];
    if (split == CJ2K_TILE_PARTS_RESOLUTION) {
      return uint32_t{plan->resolutions[precinct.resolution].r};
    }
    return split == CJ2K_TILE_PARTS_COMPONENT ? precinct.component : 0u;
  };
  auto change = changes.begin();
  uint64_t first = 0;
  for (uint32_t t = 0; t < plan->tiles.size(); ++t) {
    const size_t first_part = plan->tile_parts.size();
    const uint64_t end =
        first + uint64_t{plan->tiles[t].num_precincts} * static_cast<uint64_t>(plan->params.layers);
    for (uint64_t i = first; i < end; ++i) {
      bool changed = false;
      for (; change != changes.end() && *change <= i; ++change) changed = true;
      if (i > first && !(split != CJ2K_TILE_PARTS_NONE && changed) && key(i) == key(i - 1)) {
        ++plan->tile_parts.back().num_packets;
        continue;
      }
      const auto index = static_cast<uint32_t>(plan->tile_parts.size() - first_part);
      plan->tile_parts.push_back({t, index, 0, i, 1});
    }
    first = end;
    const auto count = static_cast<uint32_t>(plan->tile_parts.size() - first_part);
    if (count > kMaxTileParts) {
      return log.fail(Status::kInvalid,
                      "tile_parts %s gives %u tile-parts in tile %u, not in [1, %u]",
                      split == CJ2K_TILE_PARTS_RESOLUTION ? "resolution" : "component", count, t,
                      kMaxTileParts);
    }
    for (size_t i = first_part; i < plan->tile_parts.size(); ++i) {
      plan->tile_parts[i].count = count;
    }
  }
  return Status::kOk;
}

}  // namespace cj2k
