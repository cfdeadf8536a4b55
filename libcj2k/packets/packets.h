// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Tier-2 (T.800 B.9, B.10): packet headers with inclusion and zero-bit-plane tag trees. Rate
// control needs sizes many times, the bytes are written once; the same code does both.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "coders/coded_block.h"
#include "plan/plan.h"

namespace cj2k {

/// Working memory for the headers of one precinct, large enough for any precinct of the plan. One
/// per thread.
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

/// Bytes of all packets of one precinct, in all layers: SOP, packet header, EPH, code-block data,
/// and the PLT entries. Deterministic: yes. Allocates: not after the scratch has been used for its
/// largest precinct. Thread-safe: with a scratch per thread.
struct PrecinctBytes {
  uint64_t header;  ///< SOP, packet header, EPH and PLT entries
  uint64_t body;    ///< code-block data
};
PrecinctBytes measure_precinct(const Plan& plan, const Selection& selection, uint32_t precinct,
                               PacketScratch& scratch);

/// Code-block data of a packet.
struct BodyPiece {
  const uint8_t* data;
  uint32_t bytes;
};

/// A packet that is not empty.
struct PacketRecord {
  uint32_t layer;
  uint32_t num_pieces;
  uint64_t header_bytes;
  uint64_t body_bytes;
};

/// All packets of one precinct. A layer without a record has an empty packet. Records, header bytes
/// and pieces are in the order of the layers.
struct PrecinctPackets {
  std::vector<uint8_t> headers;
  std::vector<PacketRecord> records;
  std::vector<BodyPiece> pieces;
  uint64_t bytes = 0;  // of all packets, with SOP and EPH

  void clear() {
    headers.clear();
    records.clear();
    pieces.clear();
    bytes = 0;
  }
};

/// Makes the packets of one precinct; the memory of `packets` is reused. If there are tails, this also
/// stores the tail of each block's last selected point into CodedBlock::data.
PrecinctBytes code_precinct(const Plan& plan, const Selection& selection, uint32_t precinct,
                            PacketScratch& scratch, PrecinctPackets* packets);

/// An empty packet is a single 0 bit, padded (B.10.3).
inline constexpr uint32_t kEmptyHeaderBytes = 1;
/// SOP and EPH of a packet.
uint32_t marker_bytes_per_packet(const Plan& plan);

}  // namespace cj2k
