// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The geometry of one tile of any codestream (T.800 Annex B): resolutions, precincts, code-blocks, and
// the order of its packets. Each component may have its own levels, precincts and code-blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/orientation.h"
#include "transcode/codestream.h"

namespace cj2k::transcoding {

struct Box {
  uint64_t x0 = 0, y0 = 0, x1 = 0, y1 = 0;
  bool is_empty() const { return x1 <= x0 || y1 <= y0; }
};

struct TileResolution {
  uint32_t component, r;
  Box box;
  uint32_t precinct_width_log2, precinct_height_log2;
  uint64_t wide = 0, high = 0;  ///< precincts
  uint32_t first_precinct = 0;
  /// What a precinct measures on the reference grid.
  uint64_t step_x, step_y;
  uint32_t block_width_log2, block_height_log2;
  uint32_t num_bands;
  struct Band {
    Box box;
    Orientation orientation;
    uint32_t planes;  ///< M_b and the shift of a region of interest
    double weight;    ///< squared error of the picture per squared unit of coefficient
  } bands[3];
};

struct TilePrecinct {
  uint32_t resolution;
  uint32_t first_band;  ///< the first of one in TileLayout::bands for each band of the resolution
};

/// The code-blocks of one band in one precinct.
struct PrecinctBlocks {
  uint32_t resolution, band;  ///< of the resolution
  uint32_t first_block, wide, high;
  size_t first_node;  ///< of num_read_nodes
};

struct TileBlock {
  uint16_t width, height;
  uint32_t band;  ///< in TileLayout::bands
};

struct TileLayout {
  Box box;
  std::vector<TileResolution> resolutions;
  std::vector<TilePrecinct> precincts;
  std::vector<PrecinctBlocks> bands;
  std::vector<TileBlock> blocks;
  size_t num_nodes = 0;
};

/// A packet.
struct TilePacket {
  uint32_t precinct, layer;
};

/// @param bytes        of the tile's packets: each one has at least one
/// @param most_blocks  that the tile may have
/// Throws Refused, std::bad_alloc.
TileLayout lay_out_tile(const Siz& siz, uint32_t tile, const Coding& coding, uint64_t bytes,
                        uint64_t most_blocks);

/// All packets of the tile (B.12). Throws Refused, std::bad_alloc.
std::vector<TilePacket> order_packets(const TileLayout& layout, const Coding& coding);

}  // namespace cj2k::transcoding
