// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The tile-parts of one tile, from recoded code-blocks (T.800 B.9, B.10).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/bit_writer.h"
#include "core/tag_tree.h"
#include "transcode/block_recoder.h"
#include "transcode/tile_layout.h"

namespace cj2k::transcoding {

/// A tile-part to be written.
struct OutputPart {
  std::vector<TilePacket> packets;  ///< in their order
  PartHeader header;
};

class TileWriter {
 public:
  /// Throws std::bad_alloc.
  TileWriter(const TileLayout& layout, const Coding& coding,
             const std::vector<RecodedBlock>& blocks);

  /// The next tile-part. Throws Refused, std::bad_alloc.
  std::vector<uint8_t> write(const OutputPart& part, uint32_t tile, uint32_t index, uint32_t count);

 private:
  /// What the packets so far have of a block.
  struct Written {
    uint8_t ends;
    uint8_t passes;
    uint8_t lblock;
    uint32_t bytes;
  };
  std::pair<TagTree, TagTree> trees_of(const PrecinctBlocks& band);
  void packet(const TilePacket& packet, std::vector<uint8_t>& out);
  template <typename Visit>
  void for_each_block(const TilePrecinct& precinct, const Visit& visit) const;
  LayerEnd end_of(uint32_t block, uint32_t layer) const;
  bool is_empty(const TilePrecinct& precinct, uint32_t layer) const;
  size_t code_header(const TilePrecinct& precinct, uint32_t layer);
  void put_block(uint32_t block, const LayerEnd& end, BitWriter& out);

  const TileLayout& layout_;
  const Coding& coding_;
  const std::vector<RecodedBlock>& blocks_;
  const size_t most_header_bytes_;  ///< that one block adds to a packet header
  std::vector<TagNode> nodes_;      ///< [PrecinctBlocks::first_node] of both trees
  std::vector<Written> written_;    ///< [block]
  std::vector<uint8_t> header_;
  uint32_t num_packets_ = 0;
};

}  // namespace cj2k::transcoding
