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

#include "packets/packet_blocks.h"
#include "plan/plan.h"

namespace cj2k {

class PacketReader {
 public:
  /// `plan` must outlive it. Throws std::bad_alloc.
  explicit PacketReader(const Plan& plan);
  /// @return bytes of memory that it needs, without pieces
  static int64_t bytes(const Plan& plan);

  /// Reads a codestream. The results below are valid as long as its bytes.
  /// @param step_set  that the frame was coded with
  /// @return null; or what is wrong, near the offset at()
  const char* read(std::span<const uint8_t> codestream, uint32_t step_set);
  size_t at() const { return at_; }
  size_t header_bytes() const { return header_bytes_; }  ///< of the main header
  const std::vector<uint32_t>& tile_part_bytes() const {
    return tile_part_bytes_;
  }                                                         ///< Psot of each
  const PacketBlocks& packets() const { return packets_; }  ///< blocks as plan.blocks

 private:
  uint32_t number(size_t bytes);
  void main_header();
  void tile_part(const TilePart& part);
  void packet(const PacketRef& packet, uint32_t index);
  void skip_segment();

  const Plan& plan_;
  PacketBlocks packets_;
  std::vector<ReadNode> nodes_;     ///< two trees for each precinct band
  std::vector<size_t> first_node_;  ///< [precinct_bands]
  std::vector<uint32_t> tile_part_bytes_;
  std::span<const uint8_t> bytes_;
  size_t at_ = 0, header_bytes_ = 0;
  uint32_t step_set_ = 0;
};

}  // namespace cj2k
