// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Reads the packets of a codestream of the plan (T.800 B.9, B.10), to prove what was written
// (run/frame_proof.h). It expects the packets, tile-parts and markers that the plan has, and shares no
// code with the stages that write them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/plan.h"

namespace cj2k {

/// The bytes of a codeword segment in one packet.
struct ReadPiece {
  std::span<const uint8_t> bytes;
  uint32_t passes;
  uint32_t next;  ///< piece of the same block, or kNoPiece
};
inline constexpr uint32_t kNoPiece = UINT32_MAX;

/// What the packets hold of a code-block.
struct ReadBlock {
  uint32_t first_piece = kNoPiece, last_piece = kNoPiece;
  uint16_t passes = 0;
  uint8_t zero_bit_planes = 0;
  uint8_t lblock = 3;
};

class PacketReader {
 public:
  /// `plan` must outlive it. Throws std::bad_alloc.
  explicit PacketReader(const Plan& plan);
  /// @return bytes of memory that it needs, without pieces
  static int64_t bytes(const Plan& plan);

  /// Reads a codestream. The results below are valid as long as its bytes.
  /// @return null; or what is wrong, near the offset at()
  const char* read(std::span<const uint8_t> codestream);
  size_t at() const { return at_; }
  size_t header_bytes() const { return header_bytes_; }  ///< of the main header
  const std::vector<uint32_t>& tile_part_bytes() const {
    return tile_part_bytes_;
  }                                                                 ///< Psot of each
  const std::vector<ReadBlock>& blocks() const { return blocks_; }  ///< [plan.blocks]
  const std::vector<ReadPiece>& pieces() const { return pieces_; }

 private:
  struct Node {
    uint16_t low;  ///< the value is at least this
    bool is_known;
  };
  class Bits;
  class TagTree;

  uint32_t number(size_t bytes);
  void main_header();
  void tile_part(const TilePart& part);
  void packet(const PacketRef& packet, uint32_t index);
  void skip_segment();
  void block(Bits& in, uint32_t block, uint32_t most_passes);
  void add(uint32_t block, uint32_t passes, size_t bytes);

  const Plan& plan_;
  std::vector<ReadBlock> blocks_;
  std::vector<ReadPiece> pieces_;
  std::vector<Node> nodes_;         ///< two trees for each precinct band
  std::vector<size_t> first_node_;  ///< [precinct_bands]
  std::vector<uint32_t> tile_part_bytes_;
  std::span<const uint8_t> bytes_;
  size_t at_ = 0, header_bytes_ = 0;
};

}  // namespace cj2k
