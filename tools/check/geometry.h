// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Tiles, resolutions, subbands and precincts (T.800 Annex B), and the order of packets.
#pragma once

#include <functional>
#include <vector>

#include "codestream.h"

namespace cj2k_check {

struct Box {
  uint64_t x0 = 0, y0 = 0, x1 = 0, y1 = 0;
  bool empty() const { return x0 >= x1 || y0 >= y1; }
};

struct Band {
  Box box;
  uint32_t bit_planes = 0;  ///< M_b (E-2), with the shift of a region of interest
};

struct Resolution {
  Box box;
  uint32_t precinct_width_log2 = 15, precinct_height_log2 = 15;
  uint64_t across = 0, down = 0;  ///< precincts
  /// The same partition in the coordinates of the subbands.
  uint32_t band_width_log2 = 15, band_height_log2 = 15;
  uint32_t block_width_log2 = 6, block_height_log2 = 6;
  uint32_t num_bands = 0;
  Band bands[3];
  uint64_t step_x = 1, step_y = 1;  ///< of a precinct on the reference grid

  uint64_t precincts() const { return across * down; }
};

struct TileComponent {
  const CodingStyle* style = nullptr;
  std::vector<Resolution> resolutions;
};

struct TileGeometry {
  Box box;  ///< on the reference grid
  std::vector<TileComponent> components;
};

/// The part of `box` that a precinct of a resolution covers in one of its subbands.
Box precinct_in_band(const Resolution& resolution, const Band& band, uint64_t precinct);

TileGeometry make_geometry(const Codestream& codestream, uint32_t index, const Tile& tile);

/// Visits all packets of a progression in order (B.12.1). `visit` returns false to stop; `step` is
/// called at least once between two visits and wherever a loop goes on, and also stops by false.
struct PacketVisitor {
  std::function<bool(uint32_t component, uint32_t resolution, uint64_t precinct, uint32_t layer)>
      visit;
  std::function<bool()> step;
};
bool walk_packets(const TileGeometry& tile, const Progression& progression,
                  const PacketVisitor& visitor);

}  // namespace cj2k_check
