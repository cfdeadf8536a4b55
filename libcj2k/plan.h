// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The geometry of T.800 Annex B, worked out once per encoder as flat arrays of plain data.
// Everything later (CPU or GPU) indexes these arrays and computes no coordinates of its own.
//
// clang-format off
//   tiles            raster order
//   tile_components  tile-major, then component
//   resolutions      tile_component-major, r = 0 (lowest) .. levels
//   subbands         resolution-major: LL for r = 0, else HL, LH, HH (the order inside a packet, B.9)
//   precincts        resolution-major, raster
//   precinct_bands   precinct-major, then subband
//   blocks           precinct_band-major, raster: the blocks of a precinct_band are contiguous
//   packets          codestream order: the progression of B.12 within each tile
//   tile_parts       codestream order: contiguous ranges of `packets`
// clang-format on
//
// All rectangles are half-open. Empty resolutions have no precincts, empty subbands have no blocks;
// a precinct without blocks still has its packets (B.6, B.9).
#pragma once

#include <cstdint>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "cj2k.h"
#include "core/orientation.h"

namespace cj2k {

struct Rect {
  int32_t x0 = 0, y0 = 0, x1 = 0, y1 = 0;
  int32_t width() const { return x1 - x0; }
  int32_t height() const { return y1 - y0; }
  bool empty() const { return x1 <= x0 || y1 <= y0; }
};

struct Component {
  int32_t index;
  int32_t depth;
  bool is_signed;
  int32_t dx, dy;
  Rect rect;  ///< on the component's own grid
};

struct Tile {
  Rect rect;  ///< on the reference grid
  uint32_t first_precinct, num_precincts;
};

struct TileComponent {
  uint32_t tile;
  uint32_t component;
  Rect rect;                  ///< on the component's grid
  int32_t plane_x, plane_y;   ///< of the tile-component in the component's plane
  uint32_t first_resolution;  ///< levels + 1 of them
  uint32_t first_block, num_blocks;
};

struct Resolution {
  uint32_t tile_component;
  uint8_t r;
  Rect rect;
  uint8_t precinct_width_log2, precinct_height_log2;  ///< PPx, PPy
  uint32_t precincts_wide, precincts_high;
  uint32_t first_precinct;
  uint32_t first_subband, num_subbands;
};

struct Subband {
  uint32_t resolution;
  uint32_t component;
  Orientation orientation;
  uint8_t level;             ///< n_b: decomposition level, 0 only for LL without decomposition
  Rect rect;                 ///< T.800 B.5
  int32_t plane_x, plane_y;  ///< where its first coefficient lies in the component's plane after
                             ///< the DWT (Mallat layout)
  uint8_t exponent;          ///< epsilon_b of E.1.1
  uint16_t mantissa;         ///< mu_b; 0 for 5/3
  uint8_t max_bit_planes;    ///< M_b = G + epsilon_b - 1
  float step;                ///< Delta_b; 1 for 5/3
  float inverse_step;        ///< 1.0f / step
  double distortion_weight;  ///< picture squared error (LSB^2 of the deepest component, summed) per
                             ///< unit^2 of quantised coefficient: step^2 * synthesis energy gain *
                             ///< colour transform energy gain
};

struct Precinct {
  uint32_t resolution;
  uint32_t index;                ///< raster index in its resolution (k of B.12)
  uint32_t first_precinct_band;  ///< one per subband of the resolution
  uint32_t component;
  uint32_t first_block, num_blocks;
};

/// The code-blocks of one subband in one precinct: `blocks_wide` x `blocks_high`, possibly none.
struct PrecinctBand {
  uint32_t subband;
  uint32_t first_block;
  uint32_t blocks_wide, blocks_high;
};

struct CodeBlock {
  uint32_t subband;
  uint32_t precinct;
  int32_t plane_x, plane_y;  ///< of its first coefficient in the component's plane
  uint16_t width, height;
  uint8_t component;
  Orientation orientation;
  uint8_t max_bit_planes;
};

struct PacketRef {
  uint32_t precinct;
  uint32_t layer;
};

struct TilePart {
  uint32_t tile;
  uint32_t index;  ///< TPsot
  uint32_t count;  ///< TNsot
  uint64_t first_packet, num_packets;
};

struct Plan {
  cj2k_params params;  ///< resolved: no 0 = "chosen" and no AUTO is left in the coding parameters;
                       ///< log fields cleared
  bool reversible;     ///< 5/3
  bool use_mct;        ///< RCT or ICT on components 0..2
  Rect image;          ///< on the reference grid
  int32_t tiles_wide, tiles_high;
  std::vector<Component> components;
  std::vector<Tile> tiles;
  std::vector<TileComponent> tile_components;
  std::vector<Resolution> resolutions;
  std::vector<Subband> subbands;
  std::vector<Precinct> precincts;
  std::vector<PrecinctBand> precinct_bands;
  std::vector<CodeBlock> blocks;
  std::vector<PacketRef> packets;
  std::vector<TilePart> tile_parts;
};

/// The coefficients of a component lie in two planes. Level n of the transform writes its rectangle
/// of each tile, Mallat order, into plane n & 1, and reads the low-pass rectangle that level n - 1
/// left in the other one. So the subbands of level n stay in plane n & 1. Plane 0 holds the
/// low-pass part of level 1 (nothing where that is the last one); without levels the samples.
/// @return its size, from (0, 0)
Rect coefficient_plane(const Plan& plan, uint32_t component, uint32_t plane);
/// Where in such a plane a tile-component begins; what plane_x and plane_y say is plane 1's.
struct PlanePoint {
  int32_t x, y;
};
PlanePoint tile_component_corner(const Plan& plan, const TileComponent& tc, uint32_t plane);

/// Builds the plan from checked and resolved parameters (params.h). Throws std::bad_alloc.
/// @return kOk | kInvalid (a component or tile without samples, more than 255 tile-parts in a tile
/// or 65535 tiles ...)
///         | kNotSupported (exponents out of range, too many packets to index)
Status make_plan(const cj2k_params& resolved, const Log& log, Plan* plan);

}  // namespace cj2k
