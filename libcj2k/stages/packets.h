// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Tier-2 (T.800 B.9, B.10): packet headers with inclusion and zero-bit-plane tag trees, and the
// codestream around them (Annex A). Sizes are asked for often (rate control), bytes are written
// once; both come from the same code.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "plan.h"
#include "stages/coded_block.h"

namespace cj2k {

/// Working memory for the headers of any one precinct of the plan; one per thread.
class PacketScratch {
 public:
  explicit PacketScratch(const Plan& plan);
  ~PacketScratch();
  PacketScratch(PacketScratch&&) noexcept;
  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

/// Bytes of all packets of one precinct, every layer: SOP, packet header, EPH, code-block data, and
/// the bytes of its PLT entries. Deterministic; allocates: no (after the scratch has seen its
/// largest precinct); thread-safe with own scratch.
struct PrecinctBytes {
  uint64_t header;  ///< SOP + header + EPH + PLT entries
  uint64_t body;
};
PrecinctBytes measure_precinct(const Plan& plan, const Selection& selection, uint32_t precinct,
                               PacketScratch& scratch);

/// Bytes of the packet (JP2 boxes, main header with COM and TLM, SOT, SOD, PLT marker overhead,
/// EOC) that depend on the plan alone. frame size <= fixed_bytes + sum of measure_precinct, with
/// equality unless PLT is on.
uint64_t fixed_bytes(const Plan& plan);

/// Tile-part header bytes (SOT, SOD, PLT marker overhead) of all tile-parts that hold packets of
/// `component` when tile-parts are split by component; 0 otherwise.
uint64_t component_fixed_bytes(const Plan& plan, uint32_t component);

/// Builds whole packets for one frame slot. Reuses its memory from frame to frame.
class PacketWriter {
 public:
  explicit PacketWriter(const Plan& plan);
  ~PacketWriter();
  PacketWriter(PacketWriter&&) noexcept;

  /// Step 1, in parallel over precincts (distinct precincts, distinct scratch): packet headers of
  /// all layers. It also stores the tail of each block's last selected point, where
  /// there are tails, into CodedBlock::data.
  void encode_headers(const Selection& selection, uint32_t precinct, PacketScratch& scratch);
  /// Step 2, after all precincts: the exact size of the frame, before padding.
  uint64_t frame_bytes() const;
  /// False when a tile-part would be longer than Psot can say (2^32 - 1 bytes, A.4.2): the frame
  /// has no codestream then.
  bool fits() const;
  /// Step 3: writes exactly padded_bytes(min_bytes): max(frame_bytes(), min_bytes), with one
  /// exception. Padding is COM segments (Rcom 0) at the end of the main header, 7 bytes at least; 1
  /// to 6 bytes are spaces at the end of the comment, and where there is no comment a shortfall
  /// under 7 pads by 7.
  /// @param out  capacity bytes; capacity >= padded_bytes(min_bytes)
  /// @return bytes written; 0 when !fits() or `out` is too small. Psot, TLM and PLT are exact.
  uint64_t write(const Selection& selection, std::span<uint8_t> out, uint64_t min_bytes) const;
  uint64_t padded_bytes(uint64_t min_bytes) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cj2k
