// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "plan/plan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/plan_facts.h"
#include "plan/plan_packets.h"
#include "plan/plan_quant.h"
#include "plan/plan_region.h"

namespace cj2k {
namespace {

/// Most precincts, code-blocks or packets. Indices have 32 bits; this many blocks already take 6
/// GiB of plan.
constexpr uint64_t kMaxItems = uint64_t{1} << 28;
/// Most samples on a side of a tile-component. Twice as many, plus samples beyond a border, still
/// fit 32 bits.
constexpr int32_t kMaxSide = 1 << 30;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// ceil(a / 2^n) and floor(a / 2^n); `a` may be negative, n is at most 32.
int64_t ceil_shift(int64_t a, int n) { return (a + (int64_t{1} << n) - 1) >> n; }
int64_t floor_shift(int64_t a, int n) { return a >> n; }

int floor_log2(int32_t power_of_two) {
  int n = 0;
  while ((int64_t{2} << n) <= power_of_two) ++n;
  return n;
}

Rect ceil_div(const Rect& rect, int32_t dx, int32_t dy) {
  return {static_cast<int32_t>(ceil_div(rect.x0, dx)), static_cast<int32_t>(ceil_div(rect.y0, dy)),
          static_cast<int32_t>(ceil_div(rect.x1, dx)), static_cast<int32_t>(ceil_div(rect.y1, dy))};
}

/// The rectangle of resolution r of a tile-component, T.800 (B-14); n = levels - r.
Rect resolution_rect(const Rect& rect, int n) {
  return {
      static_cast<int32_t>(ceil_shift(rect.x0, n)), static_cast<int32_t>(ceil_shift(rect.y0, n)),
      static_cast<int32_t>(ceil_shift(rect.x1, n)), static_cast<int32_t>(ceil_shift(rect.y1, n))};
}

/// The rectangle of a subband of decomposition level n, T.800 (B-15).
Rect subband_rect(const Rect& rect, int n, Orientation orientation) {
  if (n == 0) return rect;
  const int64_t half = int64_t{1} << (n - 1);
  const int64_t x = orientation == kHL || orientation == kHH ? half : 0;
  const int64_t y = orientation == kLH || orientation == kHH ? half : 0;
  return {static_cast<int32_t>(ceil_shift(rect.x0 - x, n)),
          static_cast<int32_t>(ceil_shift(rect.y0 - y, n)),
          static_cast<int32_t>(ceil_shift(rect.x1 - x, n)),
          static_cast<int32_t>(ceil_shift(rect.y1 - y, n))};
}

/// How the subbands of a resolution are divided: sizes of precincts and code-blocks in subband
/// samples (T.800 B.6, B.7).
struct Partition {
  int precinct_x_log2, precinct_y_log2;
  int block_x_log2, block_y_log2;
};

Partition partition_of(const Resolution& resolution, const cj2k_params& p) {
  const int halved = resolution.r > 0;
  const int x = resolution.precinct_width_log2 - halved;
  const int y = resolution.precinct_height_log2 - halved;
  return {x, y, std::min(floor_log2(p.cblk_width), x), std::min(floor_log2(p.cblk_height), y)};
}

/// Code-blocks of a whole subband. Precincts end on block boundaries, so they do not divide blocks.
uint64_t count_blocks(const Rect& band, const Partition& part) {
  if (band.empty()) return 0;
  const int64_t wide =
      ceil_shift(band.x1, part.block_x_log2) - floor_shift(band.x0, part.block_x_log2);
  const int64_t high =
      ceil_shift(band.y1, part.block_y_log2) - floor_shift(band.y0, part.block_y_log2);
  return static_cast<uint64_t>(wide) * static_cast<uint64_t>(high);
}

/// Whether the frames choose among step sets: to place the planes of HT blocks, or with RDOQ those
/// of EBCOT. A profile may be in a container that has one QCD for all frames.
bool wants_step_sets(const cj2k_params& p) {
  if (p.frame_steps == 0) return false;
  if (p.coder == CJ2K_CODER_HT) return true;
  const bool may_differ = p.profile == CJ2K_PROFILE_NONE || p.frame_steps == kKeptSteps;
  return p.effort >= 2 && may_differ && p.num_roi == 0 && p.qfactor == 0;
}

class PlanBuilder {
 public:
  PlanBuilder(const Log& log, Plan* plan) : log_(log), plan_(*plan), p_(plan->params) {}

  Status build() {
    add_components();
    CJ2K_TRY(add_tiles());
    CJ2K_TRY(count_and_check());
    CJ2K_TRY(quantise());
    add_precincts();
    CJ2K_TRY(add_regions(&plan_, log_));
    add_facts(&plan_);
    choose_units();
    const std::vector<uint64_t> changes = add_packets(&plan_);
    return add_tile_parts(&plan_, changes, log_);
  }

 private:
  void add_components() {
    plan_.reversible = p_.wavelet == CJ2K_WAVELET_53;
    plan_.use_mct = p_.mct == CJ2K_MCT_ON;
    plan_.image = {p_.image_offset_x, p_.image_offset_y, p_.image_offset_x + p_.width,
                   p_.image_offset_y + p_.height};
    for (int32_t c = 0; c < p_.num_components; ++c) {
      plan_.components.push_back({c, p_.depth[c], p_.is_signed[c] != 0, p_.dx[c], p_.dy[c],
                                  ceil_div(plan_.image, p_.dx[c], p_.dy[c]),
                                  p_.source_depth[c] - p_.depth[c]});
    }
  }

  /// Adds tiles, tile-components, resolutions and subbands: everything that does not depend on
  /// precincts. T.800 B.3 - B.5.
  Status add_tiles() {
    plan_.tiles_wide =
        static_cast<int32_t>(ceil_div(int64_t{plan_.image.x1} - p_.tile_offset_x, p_.tile_width));
    plan_.tiles_high =
        static_cast<int32_t>(ceil_div(int64_t{plan_.image.y1} - p_.tile_offset_y, p_.tile_height));
    const size_t tiles = static_cast<size_t>(plan_.tiles_wide) * plan_.tiles_high;
    const size_t tile_components = tiles * plan_.components.size();
    plan_.tiles.reserve(tiles);
    plan_.tile_components.reserve(tile_components);
    plan_.resolutions.reserve(tile_components * (p_.levels + 1));
    plan_.subbands.reserve(tile_components * (3 * p_.levels + 1));
    for (int32_t q = 0; q < plan_.tiles_high; ++q) {
      for (int32_t p = 0; p < plan_.tiles_wide; ++p) CJ2K_TRY(add_tile(p, q));
    }
    return Status::kOk;
  }

  Status add_tile(int32_t p, int32_t q) {
    const auto edge = [](int64_t offset, int64_t size, int64_t index, int32_t first, int32_t last) {
      return static_cast<int32_t>(std::clamp<int64_t>(offset + index * size, first, last));
    };
    const Rect& image = plan_.image;
    const Rect rect{edge(p_.tile_offset_x, p_.tile_width, p, image.x0, image.x1),
                    edge(p_.tile_offset_y, p_.tile_height, q, image.y0, image.y1),
                    edge(p_.tile_offset_x, p_.tile_width, p + 1, image.x0, image.x1),
                    edge(p_.tile_offset_y, p_.tile_height, q + 1, image.y0, image.y1)};
    const uint32_t tile = static_cast<uint32_t>(plan_.tiles.size());
    plan_.tiles.push_back({rect, 0, 0});
    bool any_samples = false;
    for (const Component& component : plan_.components) {
      const Rect on_component = ceil_div(rect, component.dx, component.dy);
      any_samples |= !on_component.empty();
      if (on_component.width() > kMaxSide || on_component.height() > kMaxSide) {
        return log_.fail(Status::kNotSupported,
                         "component %d of tile %u: %d x %d samples, more than %d a side; use tiles",
                         component.index, tile, on_component.width(), on_component.height(),
                         kMaxSide);
      }
      add_tile_component(tile, component, on_component);
    }
    if (!any_samples) {
      return log_.fail(Status::kInvalid,
                       "tile %u ([%d, %d) x [%d, %d) on the reference grid) has no samples in any "
                       "component: tile_width %d and tile_height %d are too small for the "
                       "subsampling",
                       tile, rect.x0, rect.x1, rect.y0, rect.y1, p_.tile_width, p_.tile_height);
    }
    return Status::kOk;
  }

  void add_tile_component(uint32_t tile, const Component& component, const Rect& rect) {
    const int32_t plane_x = rect.x0 - component.rect.x0, plane_y = rect.y0 - component.rect.y0;
    const uint32_t tile_component = static_cast<uint32_t>(plan_.tile_components.size());
    plan_.tile_components.push_back({tile, static_cast<uint32_t>(component.index), rect, plane_x,
                                     plane_y, static_cast<uint32_t>(plan_.resolutions.size()), 0,
                                     0});
    max_width_ = std::max(max_width_, rect.width());
    max_height_ = std::max(max_height_, rect.height());
    for (int r = 0; r <= p_.levels; ++r) {
      Resolution resolution = make_resolution(tile_component, r, rect);
      const uint32_t index = static_cast<uint32_t>(plan_.resolutions.size());
      // In Mallat order, the low-pass part of this resolution comes first. It is the resolution
      // below.
      const Rect below = r == 0 ? Rect{} : resolution_rect(rect, p_.levels - r + 1);
      const int level = r == 0 ? p_.levels : p_.levels - r + 1;
      for (uint32_t b = 0; b < resolution.num_subbands; ++b) {
        const auto orientation = static_cast<Orientation>(r == 0 ? 0 : 1 + b);
        const bool right = orientation == kHL || orientation == kHH;
        const bool lower = orientation == kLH || orientation == kHH;
        Subband band{};
        band.resolution = index;
        band.component = static_cast<uint32_t>(component.index);
        band.orientation = orientation;
        band.level = static_cast<uint8_t>(level);
        band.rect = subband_rect(rect, level, orientation);
        band.plane_x = plane_x + (right ? below.width() : 0);
        band.plane_y = plane_y + (lower ? below.height() : 0);
        plan_.subbands.push_back(band);
      }
      plan_.resolutions.push_back(resolution);
    }
  }

  /// T.800 (B-16). An empty resolution gets no precincts.
  Resolution make_resolution(uint32_t tile_component, int r, const Rect& tile_component_rect) {
    Resolution resolution{};
    resolution.tile_component = tile_component;
    resolution.r = static_cast<uint8_t>(r);
    resolution.rect = resolution_rect(tile_component_rect, p_.levels - r);
    int x_log2 = 15, y_log2 = 15;
    if (p_.num_precincts > 0) {
      const int entry = std::min(p_.levels - r, p_.num_precincts - 1);
      x_log2 = floor_log2(p_.precinct_width[entry]);
      y_log2 = floor_log2(p_.precinct_height[entry]);
    }
    resolution.precinct_width_log2 = static_cast<uint8_t>(x_log2);
    resolution.precinct_height_log2 = static_cast<uint8_t>(y_log2);
    const Rect& rect = resolution.rect;
    if (!rect.empty()) {
      resolution.precincts_wide =
          static_cast<uint32_t>(ceil_shift(rect.x1, x_log2) - floor_shift(rect.x0, x_log2));
      resolution.precincts_high =
          static_cast<uint32_t>(ceil_shift(rect.y1, y_log2) - floor_shift(rect.y0, y_log2));
    }
    resolution.first_subband = static_cast<uint32_t>(plan_.subbands.size());
    resolution.num_subbands = r == 0 ? 1 : 3;
    return resolution;
  }

  /// Checks all counts, then reserves the arrays that can be huge.
  Status count_and_check() {
    uint64_t precincts = 0, precinct_bands = 0, blocks = 0;
    const auto too_many = [this](const char* what, uint64_t count) {
      return log_.fail(Status::kNotSupported, "%llu %s; the limit is %llu",
                       static_cast<unsigned long long>(count), what,
                       static_cast<unsigned long long>(kMaxItems));
    };
    for (const Resolution& resolution : plan_.resolutions) {
      const uint64_t here = uint64_t{resolution.precincts_wide} * resolution.precincts_high;
      precincts += here;
      precinct_bands += here * resolution.num_subbands;
      if (precincts > kMaxItems) return too_many("precincts or more", precincts);
      const Partition part = partition_of(resolution, p_);
      for (uint32_t b = 0; b < resolution.num_subbands; ++b) {
        blocks += count_blocks(plan_.subbands[resolution.first_subband + b].rect, part);
        if (blocks > kMaxItems) return too_many("code-blocks or more", blocks);
      }
    }
    const uint64_t packets = precincts * static_cast<uint64_t>(p_.layers);
    if (packets > kMaxItems) return too_many("packets", packets);
    plan_.precincts.reserve(precincts);
    plan_.precinct_bands.reserve(precinct_bands);
    plan_.blocks.reserve(blocks);
    plan_.packets.reserve(packets);
    return Status::kOk;
  }

  Status quantise() {
    CJ2K_TRY(quantise(p_, log_, &plan_.subbands));
    if (plan_.reversible || !wants_step_sets(p_)) return Status::kOk;
    // 2^(-s / 8)
    constexpr double kFactors[kStepSets] = {1.0,
                                            0.9170040432046712,
                                            0.8408964152537145,
                                            0.7711054127039704,
                                            0.7071067811865476,
                                            0.6484197773255048,
                                            0.5946035575013605,
                                            0.5452538663326288};
    const Log silent;
    for (uint32_t s = 1; s < kStepSets; ++s) {
      cj2k_params finer = p_;
      finer.quant_step *= kFactors[s];
      plan_.finer_subbands.push_back(plan_.subbands);
      if (quantise(finer, silent, &plan_.finer_subbands.back()) == Status::kOk) continue;
      plan_.finer_subbands.clear();  // too many bit-planes: the steps asked for are the finest
      break;
    }
    return Status::kOk;
  }

  /// Keeps the units of the first levels, where HT frames choose their steps and all units are small
  /// beside the steps: rounding adds at most 6 % to the error of the finest steps, and a quarter of that
  /// for each plane that is left out. RDOQ reads coefficients as they are.
  void choose_units() {
    constexpr float kUnitsOfStep = 8;
    const bool rounds =
        p_.coder == CJ2K_CODER_HT && !plan_.has_rdoq && !plan_.finer_subbands.empty();
    int levels = rounds ? p_.levels : 0;
    for (const Subband& band : plan_.subbands)
      if (band.unit * kUnitsOfStep > band.step) levels = std::min(levels, band.level - 1);
    const auto keep = [levels](std::vector<Subband>& bands) {
      for (Subband& band : bands)
        if (band.level > levels || band.level == 0) band.unit = 0;
    };
    keep(plan_.subbands);
    for (std::vector<Subband>& bands : plan_.finer_subbands) keep(bands);
  }

  Status quantise(const cj2k_params& p, const Log& log, std::vector<Subband>* subbands) {
    QuantTable table;
    CJ2K_TRY(table.build(p, plan_.reversible, plan_.use_mct, max_width_, max_height_, log));
    for (Subband& band : *subbands) {
      const BandQuant& quant = table.at(static_cast<int>(band.component),
                                        plan_.resolutions[band.resolution].r, band.orientation);
      band.exponent = quant.exponent;
      band.mantissa = quant.mantissa;
      band.max_bit_planes = quant.max_bit_planes;
      band.magnitude_bits = quant.magnitude_bits;
      band.step = quant.step;
      band.inverse_step = 1.0f / quant.step;
      band.unit = quant.unit;
      band.distortion_weight = quant.distortion_weight;
      band.visual_weight = quant.visual_weight;
    }
    return Status::kOk;
  }

  void add_precincts() {
    for (uint32_t index = 0; index < plan_.resolutions.size(); ++index) {
      Resolution& resolution = plan_.resolutions[index];
      TileComponent& tile_component = plan_.tile_components[resolution.tile_component];
      Tile& tile = plan_.tiles[tile_component.tile];
      const uint32_t first_precinct = static_cast<uint32_t>(plan_.precincts.size());
      const uint32_t first_block = static_cast<uint32_t>(plan_.blocks.size());
      if (resolution.r == 0) {
        tile_component.first_block = first_block;
        if (tile_component.component == 0) tile.first_precinct = first_precinct;
      }
      resolution.first_precinct = first_precinct;
      const Partition part = partition_of(resolution, p_);
      // The precinct grid is anchored at (0, 0) of the resolution, so at (0, 0) of its subbands
      // too.
      const int64_t grid_x = floor_shift(resolution.rect.x0, resolution.precinct_width_log2);
      const int64_t grid_y = floor_shift(resolution.rect.y0, resolution.precinct_height_log2);
      for (uint32_t y = 0; y < resolution.precincts_high; ++y) {
        for (uint32_t x = 0; x < resolution.precincts_wide; ++x) {
          add_precinct(index, resolution, tile_component.component, part, grid_x + x, grid_y + y);
        }
      }
      tile_component.num_blocks =
          static_cast<uint32_t>(plan_.blocks.size()) - tile_component.first_block;
      tile.num_precincts = static_cast<uint32_t>(plan_.precincts.size()) - tile.first_precinct;
    }
  }

  void add_precinct(uint32_t resolution_index, const Resolution& resolution, uint32_t component,
                    const Partition& part, int64_t grid_x, int64_t grid_y) {
    const uint32_t index = static_cast<uint32_t>(plan_.precincts.size());
    const uint32_t first_block = static_cast<uint32_t>(plan_.blocks.size());
    plan_.precincts.push_back({resolution_index, index - resolution.first_precinct,
                               static_cast<uint32_t>(plan_.precinct_bands.size()), component,
                               first_block, 0});
    for (uint32_t b = 0; b < resolution.num_subbands; ++b) {
      add_precinct_band(resolution.first_subband + b, index, part, grid_x, grid_y);
    }
    plan_.precincts.back().num_blocks = static_cast<uint32_t>(plan_.blocks.size()) - first_block;
  }

  void add_precinct_band(uint32_t subband, uint32_t precinct, const Partition& part, int64_t grid_x,
                         int64_t grid_y) {
    const Subband& band = plan_.subbands[subband];
    // The part of the band in this precinct, in band samples.
    const int64_t x0 = std::max<int64_t>(grid_x << part.precinct_x_log2, band.rect.x0);
    const int64_t y0 = std::max<int64_t>(grid_y << part.precinct_y_log2, band.rect.y0);
    const int64_t x1 = std::min<int64_t>((grid_x + 1) << part.precinct_x_log2, band.rect.x1);
    const int64_t y1 = std::min<int64_t>((grid_y + 1) << part.precinct_y_log2, band.rect.y1);
    PrecinctBand precinct_band{subband, static_cast<uint32_t>(plan_.blocks.size()), 0, 0};
    if (x0 < x1 && y0 < y1) {
      const int64_t bx0 = floor_shift(x0, part.block_x_log2);
      const int64_t bx1 = ceil_shift(x1, part.block_x_log2);
      const int64_t by0 = floor_shift(y0, part.block_y_log2);
      const int64_t by1 = ceil_shift(y1, part.block_y_log2);
      precinct_band.blocks_wide = static_cast<uint32_t>(bx1 - bx0);
      precinct_band.blocks_high = static_cast<uint32_t>(by1 - by0);
      for (int64_t by = by0; by < by1; ++by) {
        const int64_t top = std::max(by << part.block_y_log2, y0);
        const int64_t bottom = std::min((by + 1) << part.block_y_log2, y1);
        for (int64_t bx = bx0; bx < bx1; ++bx) {
          const int64_t left = std::max(bx << part.block_x_log2, x0);
          const int64_t right = std::min((bx + 1) << part.block_x_log2, x1);
          plan_.blocks.push_back(
              {subband, precinct, static_cast<int32_t>(band.plane_x + (left - band.rect.x0)),
               static_cast<int32_t>(band.plane_y + (top - band.rect.y0)),
               static_cast<uint16_t>(right - left), static_cast<uint16_t>(bottom - top),
               static_cast<uint8_t>(band.component), band.orientation, band.max_bit_planes});
        }
      }
    }
    plan_.precinct_bands.push_back(precinct_band);
  }

  const Log& log_;
  Plan& plan_;
  const cj2k_params& p_;
  int32_t max_width_ = 0, max_height_ = 0;
};

}  // namespace

Rect coefficient_plane(const Plan& plan, uint32_t component, uint32_t plane) {
  const Rect& rect = plan.components[component].rect;
  const int levels = plan.params.levels;
  const Rect whole{0, 0, rect.width(), rect.height()};
  if (plane == 1) return levels > 0 ? whole : Rect{};
  if (levels == 0) return whole;
  const Rect low = ceil_div(rect, 2, 2);
  return levels > 1 ? Rect{0, 0, low.width(), low.height()} : Rect{};
}

PlanePoint tile_component_corner(const Plan& plan, const TileComponent& tc, uint32_t plane) {
  if (plane == 1 || plan.params.levels == 0) return {tc.plane_x, tc.plane_y};
  // The low-pass rectangles of neighbouring tiles are neighbours too (T.800 B-14).
  const Rect all = ceil_div(plan.components[tc.component].rect, 2, 2);
  const Rect own = ceil_div(tc.rect, 2, 2);
  return {own.x0 - all.x0, own.y0 - all.y0};
}

namespace {

/// Copies what the caller's parameters point to, and clears the pointer.
std::vector<uint8_t> take(const void*& data, size_t& bytes) {
  const auto* const begin = static_cast<const uint8_t*>(data);
  std::vector<uint8_t> copy(begin, begin + (begin == nullptr ? 0 : bytes));
  data = nullptr;
  bytes = 0;
  return copy;
}

}  // namespace

Status make_plan(const cj2k_params& resolved, const Log& log, Plan* plan) {
  *plan = Plan{};
  plan->params = resolved;
  plan->params.log = nullptr;
  plan->params.log_opaque = nullptr;
  plan->icc_profile = take(plan->params.icc_profile, plan->params.icc_profile_bytes);
  plan->jp2_boxes = take(plan->params.jp2_boxes, plan->params.jp2_boxes_bytes);
  return PlanBuilder(log, plan).build();
}

}  // namespace cj2k
