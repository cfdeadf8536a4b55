// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The codestream or JP2 file of one frame around its packets: main header, tile-parts, padding.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "coders/coded_block.h"
#include "packets/packets.h"
#include "plan/plan.h"

namespace cj2k {

/// Bytes of a frame that depend on the plan alone: JP2 boxes, main header with COM and TLM, SOT,
/// SOD, PLT marker overhead, EOC. The frame has at most fixed_bytes + the sum of measure_precinct
/// bytes, and exactly that many unless PLT is on.
uint64_t fixed_bytes(const Plan& plan);

/// Bytes of the headers (SOT, SOD, PLT marker overhead) of all tile-parts with packets of
/// `component`, if tile-parts are split by component; else 0.
uint64_t component_fixed_bytes(const Plan& plan, uint32_t component);

/// Writes the codestream (or JP2 file) of one frame. The memory is reused from frame to frame.
class PacketWriter {
 public:
  explicit PacketWriter(const Plan& plan);
  ~PacketWriter();
  PacketWriter(PacketWriter&&) noexcept;

  /// Step 1: the packet headers of all layers of a precinct. Different precincts may run in
  /// parallel, each with a scratch of its own. If there are tails, this also stores the tail of
  /// each block's last selected point into CodedBlock::data.
  void encode_headers(const Selection& selection, uint32_t precinct, PacketScratch& scratch);
  /// Instead of step 1: the tile-parts of the frame are written already. Empty: step 1 makes them.
  void set_tile_parts(std::span<const uint8_t> tile_parts);
  /// Step 2, after all precincts: the exact size of the frame, before padding.
  uint64_t frame_bytes() const;
  /// False if a tile-part would be longer than Psot can hold (2^32 - 1 bytes, A.4.2). The frame
  /// then has no codestream.
  bool fits() const;
  /// Step 3: writes exactly padded_bytes(min_bytes) bytes: max(frame_bytes(), min_bytes), with one
  /// exception. Padding of 7 bytes or more is COM segments (Rcom 0) at the end of the main header.
  /// Padding of 1 to 6 bytes is spaces at the end of the comment. If there is no comment, 7 bytes
  /// are added where 1 to 6 are missing. Psot, TLM and PLT are exact.
  /// @param out  at least padded_bytes(min_bytes) bytes
  /// @return bytes written; 0 if !fits(), `out` is too small, or Psot of tile-parts that are written
  ///         already do not add up
  uint64_t write(const Selection& selection, std::span<uint8_t> out, uint64_t min_bytes) const;
  uint64_t padded_bytes(uint64_t min_bytes) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cj2k
