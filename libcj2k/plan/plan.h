// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The geometry of T.800 Annex B, computed once per encoder as flat arrays of plain data. All later
// code (CPU and GPU) indexes these arrays and computes no coordinates itself. The order of each
// array:
//
//   tiles            raster order
//   tile_components  tile-major, then component
//   resolutions      tile_component-major, r = 0 (lowest) .. levels
//   subbands         resolution-major: LL for r = 0, else HL, LH, HH (the order in a packet, B.9)
//   precincts        resolution-major, raster
//   precinct_bands   precinct-major, then subband
//   blocks           precinct_band-major, raster: the blocks of a precinct_band are contiguous
//   packets          codestream order: the progressions of B.12 within each tile
//   tile_parts       codestream order: contiguous ranges of `packets`
//
// All rectangles are half-open. An empty resolution has no precincts, an empty subband has no
// blocks. A precinct without blocks still has its packets (B.6, B.9).
#pragma once

#include <array>
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
  int32_t depth;  ///< bits, 1 .. 16
  bool is_signed;
  int32_t dx, dy;  ///< subsampling: XRsiz, YRsiz
  Rect rect;       ///< on the component's own grid
  /// Bits of a stored sample below the coded ones: source_depth - depth. With xyz: just this
  /// difference, which can be negative.
  int32_t low_bits = 0;
};

struct Tile {
  Rect rect;  ///< on the reference grid
  uint32_t first_precinct, num_precincts;
};

struct TileComponent {
  uint32_t tile;
  uint32_t component;
  Rect rect;                  ///< on the component's own grid
  int32_t plane_x, plane_y;   ///< its corner in the component's plane 1 (coefficient_plane)
  uint32_t first_resolution;  ///< the first of levels + 1 resolutions
  uint32_t first_block, num_blocks;
};

struct Resolution {
  uint32_t tile_component;
  /// 0 is the lowest resolution, params.levels the full one.
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
  uint8_t level;  ///< n_b: decomposition level; 0 only for LL without decomposition
  Rect rect;      ///< T.800 B.5
  /// Its first coefficient, in Mallat order. Minus plane_x, plane_y of the tile-component, this is
  /// the offset from tile_component_corner, in plane 0 and in plane 1.
  int32_t plane_x, plane_y;
  uint8_t exponent;        ///< epsilon_b of E.1.1
  uint16_t mantissa;       ///< mu_b; 0 for 5/3
  uint8_t max_bit_planes;  ///< M_b = G + epsilon_b - 1
  uint8_t magnitude_bits;  ///< bits of the largest magnitude of any picture; at most M_b
  float step;              ///< Delta_b; 1 for 5/3
  float inverse_step;      ///< 1.0f / step
  /// 9/7: coefficients are rounded to multiples of it before they are quantised (core/quantizer.h), so
  /// that 16 bits hold them; 0: they are not rounded. The same in all step sets.
  float unit;
  /// Squared error of the picture (in LSB^2 of the deepest component, summed over samples) per
  /// squared unit of quantised coefficient: step^2 * synthesis energy gain * energy gain of the
  /// colour transform * visual_weight.
  double distortion_weight;
  double visual_weight;  ///< 1 with tune = mse; reported errors are without it
};

/// Quantisations that a frame may choose from (frame_steps): the base step over 2^(s / 8) for
/// s = 0 .. 7.
inline constexpr uint32_t kStepSets = 8;
/// The value of frame_steps with which the first frame chooses for all.
inline constexpr int32_t kKeptSteps = 2;

struct Precinct {
  uint32_t resolution;
  uint32_t index;                ///< raster index in its resolution (k of B.12)
  uint32_t first_precinct_band;  ///< the first of one per subband of the resolution
  uint32_t component;
  uint32_t first_block, num_blocks;
};

/// The code-blocks of one subband in one precinct: blocks_wide x blocks_high, which may be 0.
struct PrecinctBand {
  uint32_t subband;
  uint32_t first_block;
  uint32_t blocks_wide, blocks_high;
};

struct CodeBlock {
  uint32_t subband;
  uint32_t precinct;
  int32_t plane_x, plane_y;  ///< its first coefficient, as in Subband
  uint16_t width, height;
  uint8_t component;
  Orientation orientation;
  uint8_t max_bit_planes;
  bool in_region = false;    ///< it holds a coefficient of the region of interest
  uint8_t planes_above = 0;  ///< planes of zeros above M_b: the max-shift, outside the region
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
  /// Resolved: the coding parameters have no AUTO, and no 0 that means "to be chosen". The log
  /// fields are cleared, and icc_profile and jp2_boxes, which are copied to the vectors below.
  cj2k_params params;
  std::vector<uint8_t> icc_profile;  ///< the caller's, for JP2 files; empty: none
  std::vector<uint8_t> jp2_boxes;    ///< the same
  bool reversible;                   ///< 5/3
  bool use_mct;                      ///< RCT or ICT on components 0 .. 2
  uint16_t rsiz;                     ///< T.800 Table A.10
  /// B of Ccap15 (T.814) as the profile fixes it: magnitudes of cleanup passes are below 2^B. 0: no
  /// such rule.
  int32_t magnitude_bound;
  int most_ht_passes;  ///< of a block's cleanup plane: 1, cleanup alone, or 3
  /// The strategy by which the frames are coded: params.stop, or the one that replaces it. With
  /// exact there may still be no cap to predict for (RateControl::has_cap).
  cj2k_stop stop;
  bool has_rdoq;  ///< effort 2 and 3: RDOQ (rdoq.h, ht_rdoq.h in coders/)
  Rect image;     ///< on the reference grid
  int32_t tiles_wide, tiles_high;
  std::vector<Component> components;
  std::vector<Tile> tiles;
  std::vector<TileComponent> tile_components;
  std::vector<Resolution> resolutions;
  std::vector<Subband> subbands;
  /// [kStepSets - 1] the same bands with the steps of step sets 1 and up; empty: there is only the
  /// set 0, `subbands`.
  std::vector<std::vector<Subband>> finer_subbands;
  std::vector<Precinct> precincts;
  std::vector<PrecinctBand> precinct_bands;
  std::vector<CodeBlock> blocks;
  std::vector<PacketRef> packets;
  std::vector<TilePart> tile_parts;
  /// SPrgn of each component: the shift of its region of interest; 0 without one.
  std::array<uint8_t, CJ2K_MAX_COMPONENTS> roi_shifts{};
  /// What squared errors of the region count in rate control: 4^shift, as they stand in the planes
  /// of the codestream. So the region comes before the background.
  double region_gain = 1;
};

/// Whether the coefficients of a frame are looked at after its blocks are coded.
inline bool keeps_coefficients(const Plan& plan) {
  return plan.params.measure_mse != 0 || plan.params.verify != 0;
}

/// The bits of a stored sample that ingest reads: all, if the lowest are rounded away and with xyz,
/// else those that are coded.
inline int32_t read_depth(const Plan& plan, const Component& component) {
  const bool all = plan.params.low_bits == CJ2K_LOW_BITS_ROUND || plan.params.xyz != CJ2K_XYZ_OFF;
  return component.depth + (all ? component.low_bits : 0);
}

/// The band of a block, with the quantisation of a step set.
inline const Subband& subband_of(const Plan& plan, const CodeBlock& block, uint32_t step_set) {
  return (step_set == 0 ? plan.subbands : plan.finer_subbands[step_set - 1])[block.subband];
}

/// Squared error that rate control counts per squared unit of quantised coefficient.
inline double distortion_weight(const Plan& plan, const CodeBlock& block, uint32_t step_set = 0) {
  const double weight = subband_of(plan, block, step_set).distortion_weight;
  return block.in_region ? weight * plan.region_gain : weight;
}

/// Whether all frames have the step set that the first one chose.
inline bool keeps_steps(const Plan& plan) {
  return plan.params.frame_steps == kKeptSteps && !plan.finer_subbands.empty();
}

/// The coefficients of a component are in two planes. Level n of the transform reads the low-pass
/// rectangle that level n - 1 left in plane (n - 1) & 1, and writes its result, in Mallat order, to
/// plane n & 1. So the subbands of level n are in plane n & 1. Plane 0 needs room for the low-pass
/// part of level 1 only; it is empty with one level. Without levels, plane 0 holds the samples.
/// @return the size of a plane, as a rectangle from (0, 0)
Rect coefficient_plane(const Plan& plan, uint32_t component, uint32_t plane);
struct PlanePoint {
  int32_t x, y;
};
/// The corner of a tile-component in such a plane. For plane 1 it is (tc.plane_x, tc.plane_y).
PlanePoint tile_component_corner(const Plan& plan, const TileComponent& tc, uint32_t plane);

/// Builds the plan from checked and resolved parameters (params.h). Throws std::bad_alloc.
/// @return kOk
///         kInvalid: a component or tile without samples, more than 255 tile-parts in a tile or
///           65535 tiles, ...
///         kNotSupported: exponents out of range, too many packets to index, ...
Status make_plan(const cj2k_params& resolved, const Log& log, Plan* plan);

}  // namespace cj2k
