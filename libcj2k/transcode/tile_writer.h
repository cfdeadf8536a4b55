// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The tile-parts of one tile, from recoded code-blocks, in one layer (T.800 B.9, B.10).
#pragma once

#include <cstdint>
#include <vector>

#include "transcode/block_recoder.h"
#include "transcode/tile_layout.h"

namespace cj2k::transcoding {

/// A tile-part to be written.
struct OutputPart {
  std::vector<uint32_t> precincts;  ///< of its packets, in their order
  PartHeader header;
};

class TileWriter {
 public:
  TileWriter(const TileLayout& layout, const Coding& coding,
             const std::vector<RecodedBlock>& blocks)
      : layout_(layout), coding_(coding), blocks_(blocks) {}

  /// The next tile-part. Throws Refused, std::bad_alloc.
  std::vector<uint8_t> write(const OutputPart& part, uint32_t tile, uint32_t index, uint32_t count);

 private:
  void packet(uint32_t precinct, std::vector<uint8_t>& out);
  bool is_empty(const TilePrecinct& precinct) const;
  size_t code_header(const TilePrecinct& precinct);

  const TileLayout& layout_;
  const Coding& coding_;
  const std::vector<RecodedBlock>& blocks_;
  std::vector<uint8_t> header_;
  uint32_t num_packets_ = 0;
};

}  // namespace cj2k::transcoding
