// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "geometry.h"

#include <algorithm>
#include <queue>
#include <tuple>

namespace cj2k_check {
namespace {

uint64_t ceil_shift(uint64_t value, uint32_t shift) {
  return (value + (uint64_t{1} << shift) - 1) >> shift;
}

/// (B-15): `high` is 1 for the half with the high frequencies.
uint64_t band_edge(uint64_t edge, uint32_t level, uint32_t high) {
  if (level == 0) return edge;
  const auto shifted = static_cast<int64_t>(edge) -
                       (high != 0 ? static_cast<int64_t>(uint64_t{1} << (level - 1)) : 0);
  return static_cast<uint64_t>((shifted + static_cast<int64_t>((uint64_t{1} << level) - 1)) >>
                               level);
}

/// Exponent of subband `band` of resolution `r` (E-3, E-5).
uint32_t exponent_of(const Quantisation& q, uint32_t r, uint32_t band) {
  if (q.style != 1) return q.steps[r == 0 ? 0 : 3 * (r - 1) + 1 + band] >> 11;
  const uint32_t first = q.steps[0] >> 11, down = r == 0 ? 0 : r - 1;
  return first > down ? first - down : 0;
}

Resolution make_resolution(const Box& tile_component, const CodingStyle& style,
                           const Quantisation& q, uint32_t roi_shift, uint32_t r) {
  Resolution out;
  const uint32_t down = style.levels - r;
  const Box& t = tile_component;
  out.box = {ceil_shift(t.x0, down), ceil_shift(t.y0, down), ceil_shift(t.x1, down),
             ceil_shift(t.y1, down)};
  out.precinct_width_log2 = style.precincts[r] & 0xF;
  out.precinct_height_log2 = style.precincts[r] >> 4;
  if (!out.box.empty()) {
    out.across =
        ceil_shift(out.box.x1, out.precinct_width_log2) - (out.box.x0 >> out.precinct_width_log2);
    out.down =
        ceil_shift(out.box.y1, out.precinct_height_log2) - (out.box.y0 >> out.precinct_height_log2);
  }
  const uint32_t halves = r == 0 ? 0 : 1;
  out.band_width_log2 = out.precinct_width_log2 - halves;
  out.band_height_log2 = out.precinct_height_log2 - halves;
  out.block_width_log2 = std::min<uint32_t>(style.block_width_log2, out.band_width_log2);
  out.block_height_log2 = std::min<uint32_t>(style.block_height_log2, out.band_height_log2);
  const uint32_t level = r == 0 ? style.levels : down + 1u;
  out.num_bands = r == 0 ? 1 : 3;
  for (uint32_t b = 0; b < out.num_bands; ++b) {
    const uint32_t x = r == 0 ? 0 : (b + 1) & 1, y = r == 0 ? 0 : (b + 1) >> 1;
    out.bands[b].box = {band_edge(t.x0, level, x), band_edge(t.y0, level, y),
                        band_edge(t.x1, level, x), band_edge(t.y1, level, y)};
    const uint32_t planes = q.guard_bits + exponent_of(q, r, b);
    out.bands[b].bit_planes = (planes > 0 ? planes - 1 : 0) + roi_shift;
  }
  return out;
}

/// Where a precinct comes in the loops over the reference grid (B.12.1.3).
struct Place {
  uint64_t y, x;
  uint32_t component, resolution;
  uint64_t precinct;
  bool operator>(const Place& o) const {
    return std::tie(y, x, component, resolution) > std::tie(o.y, o.x, o.component, o.resolution);
  }
};

Place place_of(const TileGeometry& tile, uint32_t c, uint32_t r, uint64_t precinct) {
  const Resolution& res = tile.components[c].resolutions[r];
  const uint64_t row = (res.box.y0 >> res.precinct_height_log2) + precinct / res.across;
  const uint64_t column = (res.box.x0 >> res.precinct_width_log2) + precinct % res.across;
  return {std::max(tile.box.y0, row * res.step_y), std::max(tile.box.x0, column * res.step_x), c, r,
          precinct};
}

struct Bounds {
  uint32_t first_resolution, end_resolution, first_component, end_component, end_layer;
};

bool all_layers(const Bounds& bounds, const Place& at, const PacketVisitor& visitor) {
  for (uint32_t l = 0; l < bounds.end_layer; ++l) {
    if (!visitor.step() || !visitor.visit(at.component, at.resolution, at.precinct, l))
      return false;
  }
  return true;
}

/// All precincts of the resolutions and components in `bounds`, by position.
bool by_position(const TileGeometry& tile, const Bounds& bounds, const PacketVisitor& visitor) {
  std::priority_queue<Place, std::vector<Place>, std::greater<>> places;
  for (uint32_t c = bounds.first_component; c < bounds.end_component; ++c) {
    const auto& resolutions = tile.components[c].resolutions;
    const auto end = std::min<size_t>(bounds.end_resolution, resolutions.size());
    for (uint32_t r = bounds.first_resolution; r < end; ++r) {
      if (!visitor.step()) return false;
      if (resolutions[r].precincts() > 0) places.push(place_of(tile, c, r, 0));
    }
  }
  while (!places.empty()) {
    const Place at = places.top();
    places.pop();
    if (!all_layers(bounds, at, visitor)) return false;
    const uint64_t next = at.precinct + 1;
    if (next < tile.components[at.component].resolutions[at.resolution].precincts())
      places.push(place_of(tile, at.component, at.resolution, next));
  }
  return true;
}

/// All precincts of one layer and resolution, component by component.
bool by_component(const TileGeometry& tile, const Bounds& bounds, uint32_t layer, uint32_t r,
                  const PacketVisitor& visitor) {
  for (uint32_t c = bounds.first_component; c < bounds.end_component; ++c) {
    if (!visitor.step()) return false;
    if (r >= tile.components[c].resolutions.size()) continue;
    const uint64_t precincts = tile.components[c].resolutions[r].precincts();
    for (uint64_t p = 0; p < precincts; ++p) {
      if (!visitor.step() || !visitor.visit(c, r, p, layer)) return false;
    }
  }
  return true;
}

bool by_layer(const TileGeometry& tile, const Bounds& b, bool layer_first,
              const PacketVisitor& visitor) {
  const uint32_t resolutions = b.end_resolution - b.first_resolution;
  for (uint32_t outer = 0; outer < (layer_first ? b.end_layer : resolutions); ++outer) {
    for (uint32_t inner = 0; inner < (layer_first ? resolutions : b.end_layer); ++inner) {
      const uint32_t layer = layer_first ? outer : inner;
      const uint32_t r = b.first_resolution + (layer_first ? inner : outer);
      if (!by_component(tile, b, layer, r, visitor)) return false;
    }
  }
  return true;
}

}  // namespace

Box precinct_in_band(const Resolution& res, const Band& band, uint64_t precinct) {
  const uint64_t column = (res.box.x0 >> res.precinct_width_log2) + precinct % res.across;
  const uint64_t row = (res.box.y0 >> res.precinct_height_log2) + precinct / res.across;
  return {std::max(band.box.x0, column << res.band_width_log2),
          std::max(band.box.y0, row << res.band_height_log2),
          std::min(band.box.x1, (column + 1) << res.band_width_log2),
          std::min(band.box.y1, (row + 1) << res.band_height_log2)};
}

TileGeometry make_geometry(const Codestream& cs, uint32_t index, const Tile& tile) {
  const Siz& siz = cs.siz;
  const uint64_t p = index % siz.tiles_across(), q = index / siz.tiles_across();
  TileGeometry out;
  out.box = {std::max<uint64_t>(siz.tx0 + p * siz.tile_width, siz.x0),
             std::max<uint64_t>(siz.ty0 + q * siz.tile_height, siz.y0),
             std::min<uint64_t>(siz.tx0 + (p + 1) * siz.tile_width, siz.x1),
             std::min<uint64_t>(siz.ty0 + (q + 1) * siz.tile_height, siz.y1)};
  for (uint32_t c = 0; c < siz.components.size(); ++c) {
    const uint64_t dx = siz.components[c].dx, dy = siz.components[c].dy;
    const Box box = {(out.box.x0 + dx - 1) / dx, (out.box.y0 + dy - 1) / dy,
                     (out.box.x1 + dx - 1) / dx, (out.box.y1 + dy - 1) / dy};
    TileComponent component;
    component.style = &cs.style_of(tile, c);
    for (uint32_t r = 0; r <= component.style->levels; ++r) {
      Resolution resolution = make_resolution(box, *component.style, cs.quantisation_of(tile, c),
                                              cs.roi_shift_of(tile, c), r);
      const uint32_t down = component.style->levels - r;
      resolution.step_x = dx << (resolution.precinct_width_log2 + down);
      resolution.step_y = dy << (resolution.precinct_height_log2 + down);
      component.resolutions.push_back(resolution);
    }
    out.components.push_back(std::move(component));
  }
  return out;
}

bool walk_packets(const TileGeometry& tile, const Progression& progression,
                  const PacketVisitor& visitor) {
  Bounds all;
  all.first_component = progression.first_component;
  all.end_component =
      std::min<uint32_t>(progression.end_component, static_cast<uint32_t>(tile.components.size()));
  all.first_resolution = progression.first_resolution;
  size_t resolutions = 0;
  for (const TileComponent& c : tile.components)
    resolutions = std::max(resolutions, c.resolutions.size());
  all.end_resolution = std::max(all.first_resolution, std::min(progression.end_resolution,
                                                               static_cast<uint32_t>(resolutions)));
  all.end_layer = progression.end_layer;
  Bounds some = all;
  switch (progression.order) {
    case 0:
    case 1:
      return by_layer(tile, all, progression.order == 0, visitor);
    case 2:
      for (uint32_t r = all.first_resolution; r < all.end_resolution; ++r) {
        some.first_resolution = r;
        some.end_resolution = r + 1;
        if (!by_position(tile, some, visitor)) return false;
      }
      return true;
    case 3:
      return by_position(tile, all, visitor);
    default:
      for (uint32_t c = all.first_component; c < all.end_component; ++c) {
        some.first_component = c;
        some.end_component = c + 1;
        if (!by_position(tile, some, visitor)) return false;
      }
      return true;
  }
}

}  // namespace cj2k_check
