// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "transcode/tile_layout.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "packets/packet_blocks.h"
#include "plan/plan_quant.h"

namespace cj2k::transcoding {
namespace {

/// More than any picture has: 38 bits, guard bits, and as many for a region of interest.
constexpr uint32_t kMostPlanes = 100;

[[noreturn]] void invalid(const std::string& what) { throw Refused{Status::kInvalid, what}; }

uint64_t ceil_shift(uint64_t value, uint32_t shift) {
  return (value + (uint64_t{1} << shift) - 1) >> shift;
}
uint64_t ceil_div(uint64_t value, uint64_t by) { return (value + by - 1) / by; }

/// Equation B-15. @param high  1 for the half with the high frequencies
uint64_t band_edge(uint64_t edge, uint32_t level, uint32_t high) {
  if (level == 0) return edge;
  const uint64_t before = high != 0 ? uint64_t{1} << (level - 1) : 0;
  return edge <= before ? 0 : ceil_shift(edge - before, level);
}

/// Exponent of band `band` of resolution `r` (E-3, E-5).
uint32_t exponent(const Quantisation& q, uint32_t r, uint32_t band) {
  const uint32_t index = q.is_derived ? 0 : r == 0 ? 0 : 3 * (r - 1) + 1 + band;
  if (index >= q.count) invalid("QCD or QCC has too few bands");
  if (!q.is_derived || r == 0) return q.exponents[index];
  return q.exponents[0] > r - 1 ? q.exponents[0] - (r - 1) : 0;
}

/// Squared error of the picture per squared unit of coefficient. @param colour  of the component
double weight_of(const Siz::Component& component, const Style& style, const Quantisation& q,
                 uint32_t r, uint32_t band, Orientation orientation, double colour) {
  const bool high_x = orientation == kHL || orientation == kHH;
  const bool high_y = orientation == kLH || orientation == kHH;
  const int level = style.levels - static_cast<int>(r) + (r > 0 ? 1 : 0);
  double step = 1;
  if (!style.is_reversible) {  // Equation E-3
    const uint32_t index = q.is_derived || r == 0 ? 0 : 3 * (r - 1) + 1 + band;
    const int range = component.depth + (high_x ? 1 : 0) + (high_y ? 1 : 0);
    step =
        std::ldexp(1 + q.mantissas[index] / 2048.0, range - static_cast<int>(exponent(q, r, band)));
  }
  return step * step * synthesis_energy(style.is_reversible, level, high_x) *
         synthesis_energy(style.is_reversible, level, high_y) * colour;
}

TileResolution make_resolution(const Box& tc, const Siz::Component& component, const Style& style,
                               const Quantisation& q, uint32_t shift, uint32_t r, double colour) {
  TileResolution out{};
  out.r = r;
  const uint32_t down = style.levels - r, half = r > 0 ? 1 : 0;
  out.box = {ceil_shift(tc.x0, down), ceil_shift(tc.y0, down), ceil_shift(tc.x1, down),
             ceil_shift(tc.y1, down)};
  const uint32_t pw = style.precincts[r] & 0xF, ph = style.precincts[r] >> 4;
  out.precinct_width_log2 = pw;
  out.precinct_height_log2 = ph;
  if (!out.box.is_empty()) {
    out.wide = ceil_shift(out.box.x1, pw) - (out.box.x0 >> pw);
    out.high = ceil_shift(out.box.y1, ph) - (out.box.y0 >> ph);
  }
  out.step_x = uint64_t{component.dx} << (pw + down);
  out.step_y = uint64_t{component.dy} << (ph + down);
  out.block_width_log2 = std::min<uint32_t>(style.width_log2, pw - half);
  out.block_height_log2 = std::min<uint32_t>(style.height_log2, ph - half);
  out.num_bands = r == 0 ? 1 : 3;
  const uint32_t level = down + half;
  for (uint32_t b = 0; b < out.num_bands; ++b) {
    const uint32_t x = half & (b + 1), y = half & (b + 1) >> 1;
    const uint32_t planes = q.guard_bits + exponent(q, r, b);
    if (planes + shift > kMostPlanes) invalid("a band of more than 100 bit-planes");
    const auto orientation = static_cast<Orientation>(r == 0 ? 0 : 1 + b);
    out.bands[b] = {{band_edge(tc.x0, level, x), band_edge(tc.y0, level, y),
                     band_edge(tc.x1, level, x), band_edge(tc.y1, level, y)},
                    orientation,
                    (planes > 0 ? planes - 1 : 0) + shift,
                    weight_of(component, style, q, r, b, orientation, colour)};
  }
  return out;
}

/// The part of a band in a precinct.
Box precinct_box(const TileResolution& res, const Box& band, uint64_t precinct) {
  const uint64_t column = (res.box.x0 >> res.precinct_width_log2) + precinct % res.wide;
  const uint64_t row = (res.box.y0 >> res.precinct_height_log2) + precinct / res.wide;
  const uint32_t half = res.r > 0 ? 1 : 0;
  const uint32_t w = res.precinct_width_log2 - half, h = res.precinct_height_log2 - half;
  return {std::max(band.x0, column << w), std::max(band.y0, row << h),
          std::min(band.x1, (column + 1) << w), std::min(band.y1, (row + 1) << h)};
}

/// Adds the code-blocks of a band in a precinct.
void add_blocks(TileLayout& layout, uint32_t resolution, uint32_t band, uint64_t precinct,
                uint64_t most_blocks) {
  const TileResolution& res = layout.resolutions[resolution];
  const Box box = precinct_box(res, res.bands[band].box, precinct);
  PrecinctBlocks blocks{resolution, band, static_cast<uint32_t>(layout.blocks.size()),
                        0,          0,    layout.num_nodes};
  if (!box.is_empty()) {
    const uint32_t w = res.block_width_log2, h = res.block_height_log2;
    const uint64_t x0 = box.x0 >> w, y0 = box.y0 >> h, x1 = ceil_shift(box.x1, w),
                   y1 = ceil_shift(box.y1, h);
    if ((x1 - x0) * (y1 - y0) > most_blocks - layout.blocks.size())
      throw Refused{Status::kNotSupported,
                    "more than " + std::to_string(most_blocks) + " code-blocks in a tile"};
    blocks.wide = static_cast<uint32_t>(x1 - x0);
    blocks.high = static_cast<uint32_t>(y1 - y0);
    for (uint64_t y = y0; y < y1; ++y) {
      const uint64_t top = std::max(box.y0, y << h), bottom = std::min(box.y1, (y + 1) << h);
      for (uint64_t x = x0; x < x1; ++x) {
        const uint64_t left = std::max(box.x0, x << w), right = std::min(box.x1, (x + 1) << w);
        layout.blocks.push_back({static_cast<uint16_t>(right - left),
                                 static_cast<uint16_t>(bottom - top),
                                 static_cast<uint32_t>(layout.bands.size())});
      }
    }
    layout.num_nodes += num_read_nodes(blocks.wide, blocks.high);
  }
  layout.bands.push_back(blocks);
}

/// Where a precinct comes in the loops over the reference grid (B.12.1.3).
struct Place {
  uint64_t y, x;
  uint32_t component, r, precinct;
};

/// All packets, progression by progression.
class Order {
 public:
  Order(const TileLayout& layout, const Coding& coding)
      : layout_(layout), layers_(coding.layers), next_layer_(layout.precincts.size()) {
    packets_.reserve(layout.precincts.size() * coding.layers);
  }

  void add(const Progression& p) {
    end_layer_ = std::min(p.end_layer, layers_);
    switch (p.order) {
      case 0:
        for (uint32_t l = 0; l < end_layer_; ++l) by_resolution(p, l, l + 1);
        return;
      case 1:
        return by_resolution(p, 0, end_layer_);
      case 2:
        for (uint32_t r = p.first_resolution; r < std::min(p.end_resolution, kMostLevels + 1); ++r)
          by_position(
              p, [r](const TileResolution& res) { return res.r == r; }, false);
        return;
      case 3:
        return by_position(
            p, [](const TileResolution&) { return true; }, false);
      default:
        by_position(
            p, [](const TileResolution&) { return true; }, true);
    }
  }
  std::vector<TilePacket> take() {
    if (std::any_of(next_layer_.begin(), next_layer_.end(),
                    [this](uint32_t next) { return next < layers_; }))
      invalid("the progressions leave out packets");
    return std::move(packets_);
  }

 private:
  static bool is_in(const Progression& p, const TileResolution& res) {
    return res.component >= p.first_component && res.component < p.end_component &&
           res.r >= p.first_resolution && res.r < p.end_resolution;
  }
  /// The packets of a precinct that are not in an earlier progression.
  void put(uint32_t precinct, uint32_t first_layer, uint32_t end_layer) {
    for (uint32_t l = std::max(first_layer, next_layer_[precinct]); l < end_layer; ++l) {
      packets_.push_back({precinct, l});
      next_layer_[precinct] = l + 1;
    }
  }
  /// Resolution by resolution, the layers inside of each; component by component, then precincts.
  void by_resolution(const Progression& p, uint32_t first_layer, uint32_t end_layer) {
    if (resolutions_.empty()) {
      for (uint32_t i = 0; i < layout_.resolutions.size(); ++i) {
        if (layout_.resolutions[i].wide * layout_.resolutions[i].high > 0)
          resolutions_.push_back(i);
      }
      std::stable_sort(resolutions_.begin(), resolutions_.end(), [this](uint32_t a, uint32_t b) {
        return layout_.resolutions[a].r < layout_.resolutions[b].r;
      });
    }
    for (size_t begin = 0, end; begin < resolutions_.size(); begin = end) {
      const uint32_t r = layout_.resolutions[resolutions_[begin]].r;
      for (end = begin; end < resolutions_.size(); ++end) {
        if (layout_.resolutions[resolutions_[end]].r != r) break;
      }
      if (r < p.first_resolution || r >= p.end_resolution) continue;
      for (uint32_t l = first_layer; l < end_layer; ++l) {
        for (size_t i = begin; i < end; ++i) {
          const TileResolution& res = layout_.resolutions[resolutions_[i]];
          if (!is_in(p, res)) continue;
          const auto count = static_cast<uint32_t>(res.wide * res.high);
          for (uint32_t k = 0; k < count; ++k) put(res.first_precinct + k, l, l + 1);
        }
      }
    }
  }
  template <typename Wanted>
  void by_position(const Progression& p, const Wanted& wanted, bool by_component) {
    std::vector<Place> places;
    for (const TileResolution& res : layout_.resolutions) {
      if (!is_in(p, res) || !wanted(res)) continue;
      const uint64_t row = res.box.y0 >> res.precinct_height_log2;
      const uint64_t column = res.box.x0 >> res.precinct_width_log2;
      for (uint64_t k = 0; k < res.wide * res.high; ++k) {
        places.push_back({std::max(layout_.box.y0, (row + k / res.wide) * res.step_y),
                          std::max(layout_.box.x0, (column + k % res.wide) * res.step_x),
                          res.component, res.r, res.first_precinct + static_cast<uint32_t>(k)});
      }
    }
    std::sort(places.begin(), places.end(), [by_component](const Place& a, const Place& b) {
      if (by_component && a.component != b.component) return a.component < b.component;
      return std::tie(a.y, a.x, a.component, a.r, a.precinct) <
             std::tie(b.y, b.x, b.component, b.r, b.precinct);
    });
    for (const Place& place : places) put(place.precinct, 0, end_layer_);
  }

  const TileLayout& layout_;
  const uint32_t layers_;
  uint32_t end_layer_ = 0;
  std::vector<uint32_t> resolutions_;  ///< by r, then component
  std::vector<uint32_t> next_layer_;   ///< [precinct]
  std::vector<TilePacket> packets_;
};

}  // namespace

TileLayout lay_out_tile(const Siz& siz, uint32_t tile, const Coding& coding, uint64_t bytes,
                        uint64_t most_blocks) {
  TileLayout layout;
  const uint64_t p = tile % siz.tiles_wide(), q = tile / siz.tiles_wide();
  layout.box = {std::max<uint64_t>(siz.tile_x0 + p * siz.tile_width, siz.x0),
                std::max<uint64_t>(siz.tile_y0 + q * siz.tile_height, siz.y0),
                std::min<uint64_t>(siz.tile_x0 + (p + 1) * siz.tile_width, siz.x1),
                std::min<uint64_t>(siz.tile_y0 + (q + 1) * siz.tile_height, siz.y1)};
  uint64_t num_precincts = 0;
  for (uint32_t c = 0; c < siz.components.size(); ++c) {
    const Siz::Component& component = siz.components[c];
    const Box tc = {ceil_div(layout.box.x0, component.dx), ceil_div(layout.box.y0, component.dy),
                    ceil_div(layout.box.x1, component.dx), ceil_div(layout.box.y1, component.dy)};
    const Style& style = coding.styles[c];
    const double colour =
        coding.has_mct ? colour_energy(style.is_reversible, static_cast<int>(std::min(c, 3u))) : 1;
    for (uint32_t r = 0; r <= style.levels; ++r) {
      TileResolution res =
          make_resolution(tc, component, style, coding.quants[c], coding.shifts[c], r, colour);
      res.component = c;
      res.first_precinct = static_cast<uint32_t>(num_precincts);
      // At most 2^32 on each side: the product may not fit.
      if (res.wide > 0 && (res.wide > bytes || res.high > bytes / res.wide))
        invalid("a tile has fewer bytes than packets");
      num_precincts += res.wide * res.high;
      if (num_precincts > bytes / coding.layers) invalid("a tile has fewer bytes than packets");
      layout.resolutions.push_back(res);
    }
  }
  layout.precincts.reserve(num_precincts);
  for (uint32_t i = 0; i < layout.resolutions.size(); ++i) {
    const TileResolution& res = layout.resolutions[i];
    for (uint64_t k = 0; k < res.wide * res.high; ++k) {
      layout.precincts.push_back({i, static_cast<uint32_t>(layout.bands.size())});
      for (uint32_t b = 0; b < res.num_bands; ++b) add_blocks(layout, i, b, k, most_blocks);
    }
  }
  return layout;
}

std::vector<TilePacket> order_packets(const TileLayout& layout, const Coding& coding) {
  Order order(layout, coding);
  if (coding.changes.empty())
    order.add({0, 0, coding.layers, kMostLevels + 1, UINT32_MAX, coding.order});
  for (const Progression& change : coding.changes) order.add(change);
  return order.take();
}

}  // namespace cj2k::transcoding
