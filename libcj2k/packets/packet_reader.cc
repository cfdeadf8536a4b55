// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "packets/packet_reader.h"

#include <algorithm>

namespace cj2k {
namespace {

using Wrong = WrongPacket;

constexpr uint32_t kSoc = 0xFF4F, kSot = 0xFF90, kSod = 0xFF93, kSop = 0xFF91, kEph = 0xFF92,
                   kEoc = 0xFFD9;

}  // namespace

PacketReader::PacketReader(const Plan& plan) : plan_(plan) {
  size_t nodes = 0;
  for (const PrecinctBand& band : plan.precinct_bands) {
    first_node_.push_back(nodes);
    nodes += num_read_nodes(band.blocks_wide, band.blocks_high);
  }
  nodes_.resize(nodes);
  tile_part_bytes_.reserve(plan.tile_parts.size());
}

int64_t PacketReader::bytes(const Plan& plan) {
  size_t nodes = 0;
  for (const PrecinctBand& band : plan.precinct_bands)
    nodes += num_read_nodes(band.blocks_wide, band.blocks_high);
  return static_cast<int64_t>(nodes * sizeof(ReadNode) +
                              plan.precinct_bands.size() * sizeof(size_t) +
                              plan.blocks.size() * (sizeof(ReadBlock) + sizeof(ReadPiece)));
}

const char* PacketReader::read(std::span<const uint8_t> codestream, uint32_t step_set) {
  step_set_ = step_set;
  bytes_ = codestream;
  at_ = 0;
  tile_part_bytes_.clear();
  packets_.begin(plan_.blocks.size());
  std::fill(nodes_.begin(), nodes_.end(), ReadNode{});
  try {
    main_header();
    for (const TilePart& part : plan_.tile_parts) tile_part(part);
    if (number(2) != kEoc) throw Wrong{"no EOC after the last tile-part"};
    if (at_ != bytes_.size()) throw Wrong{"bytes after EOC"};
  } catch (const Wrong& wrong) {
    return wrong.what;
  }
  return nullptr;
}

/// Reads a number, the high byte first.
uint32_t PacketReader::number(size_t bytes) {
  if (bytes > bytes_.size() - at_) throw Wrong{"the end of the data inside the frame"};
  uint32_t value = 0;
  for (; bytes > 0; --bytes) value = value << 8 | bytes_[at_++];
  return value;
}

/// Skips a marker segment from its length on.
void PacketReader::skip_segment() {
  const uint32_t length = number(2);
  if (length < 2 || length - 2 > bytes_.size() - at_) throw Wrong{"the length of a marker segment"};
  at_ += length - 2;
}

/// Skips the main header, up to the first SOT.
void PacketReader::main_header() {
  if (number(2) != kSoc) throw Wrong{"no SOC"};
  while (true) {
    header_bytes_ = at_;
    if (number(2) == kSot) break;
    skip_segment();
  }
  at_ = header_bytes_;
}

void PacketReader::tile_part(const TilePart& part) {
  const size_t begin = at_;
  if (number(2) != kSot || number(2) != 10) throw Wrong{"no SOT at the start of a tile-part"};
  const uint32_t tile = number(2), psot = number(4), index = number(1), count = number(1);
  if (tile != part.tile || index != part.index || count != part.count)
    throw Wrong{"a tile-part in the wrong place"};
  tile_part_bytes_.push_back(psot);
  while (number(2) != kSod) skip_segment();
  uint64_t first = part.first_packet;  // of the tile, for Nsop
  for (const TilePart* p = &part; p->index > 0; --p) first = p[-1].first_packet;
  for (uint64_t i = part.first_packet; i < part.first_packet + part.num_packets; ++i)
    packet(plan_.packets[i], static_cast<uint32_t>(i - first));
  if (at_ - begin != psot) throw Wrong{"Psot is not the length of its tile-part"};
}

/// @param index  of the packet in its tile
void PacketReader::packet(const PacketRef& packet, uint32_t index) {
  if (plan_.params.sop != 0 &&
      (number(2) != kSop || number(2) != 4 || number(2) != (index & 0xFFFF)))
    throw Wrong{"no SOP with the number of the packet"};
  const Precinct& precinct = plan_.precincts[packet.precinct];
  const uint32_t num_bands = plan_.resolutions[precinct.resolution].num_subbands;
  const size_t first_piece = packets_.num_pieces();
  const BlockCoding coding{static_cast<uint32_t>(plan_.params.cblk_style),
                           plan_.params.coder == CJ2K_CODER_HT};
  HeaderBits in(bytes_, at_);
  if (in.bit() != 0) {
    for (uint32_t b = 0; b < num_bands; ++b) {
      const uint32_t number = precinct.first_precinct_band + b;
      const PrecinctBand& band = plan_.precinct_bands[number];
      packets_.read_band(in,
                         {nodes_.data() + first_node_[number], band.blocks_wide, band.blocks_high,
                          band.first_block},
                         packet.layer, coding, [&](uint32_t i) {
                           const CodeBlock& block = plan_.blocks[band.first_block + i];
                           return subband_of(plan_, block, step_set_).max_bit_planes +
                                  uint32_t{block.planes_above};
                         });
    }
  }
  in.finish();
  if (plan_.params.eph != 0 && number(2) != kEph) throw Wrong{"no EPH"};
  packets_.take_bodies(first_piece, bytes_, at_);
}

}  // namespace cj2k
