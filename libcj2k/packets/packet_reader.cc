// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "packets/packet_reader.h"

#include <algorithm>
#include <bit>

#include "core/ebcot/coding_passes.h"

namespace cj2k {
namespace {

/// Ends the reading.
struct Wrong {
  const char* what;
};

constexpr uint32_t kSoc = 0xFF4F, kSot = 0xFF90, kSod = 0xFF93, kSop = 0xFF91, kEph = 0xFF92,
                   kEoc = 0xFFD9;

/// Nodes of a tag tree (B.10.2), the leaves first.
size_t num_nodes(uint32_t wide, uint32_t high) {
  size_t nodes = size_t{wide} * high;
  while (wide > 1 || high > 1) {
    wide = (wide + 1) / 2;
    high = (high + 1) / 2;
    nodes += size_t{wide} * high;
  }
  return nodes;
}

}  // namespace

/// The bits of a packet header (B.10.1): after 0xFF a bit is stuffed.
class PacketReader::Bits {
 public:
  explicit Bits(PacketReader& reader) : reader_(reader) {}
  uint32_t bit() {
    if (left_ == 0) {
      left_ = byte_ == 0xFF ? 7 : 8;
      byte_ = reader_.number(1);
      if (left_ == 7 && byte_ > 0x7F) throw Wrong{"a packet header without its stuffed bit"};
    }
    return byte_ >> --left_ & 1;
  }
  uint32_t bits(uint32_t count) {
    uint32_t value = 0;
    for (; count > 0; --count) value = value << 1 | bit();
    return value;
  }
  /// Goes on to the next byte.
  void finish() {
    if (byte_ == 0xFF && reader_.number(1) > 0x7F)
      throw Wrong{"a packet header without its stuffed bit"};
  }

 private:
  PacketReader& reader_;
  uint32_t byte_ = 0;
  int left_ = 0;
};

class PacketReader::TagTree {
 public:
  TagTree(Node* nodes, uint32_t wide, uint32_t high) : nodes_(nodes), wide_(wide), high_(high) {}
  /// Whether the value of leaf (x, y) is below the threshold.
  bool is_below(Bits& in, uint32_t x, uint32_t y, uint32_t threshold) const {
    Node* path[32];
    int depth = 0;
    size_t offset = 0;
    for (uint32_t wide = wide_, high = high_;; wide = (wide + 1) / 2, high = (high + 1) / 2) {
      path[depth] = nodes_ + offset + size_t{y >> depth} * wide + (x >> depth);
      ++depth;
      if (wide == 1 && high == 1) break;
      offset += size_t{wide} * high;
    }
    uint16_t low = 0;
    while (depth > 0) {
      Node& node = *path[--depth];
      node.low = std::max(node.low, low);
      while (!node.is_known && node.low < threshold) {
        if (in.bit() != 0) {
          node.is_known = true;
        } else {
          ++node.low;
        }
      }
      low = node.low;
    }
    return path[0]->is_known && low < threshold;
  }

 private:
  Node* nodes_;
  uint32_t wide_, high_;
};

PacketReader::PacketReader(const Plan& plan) : plan_(plan), blocks_(plan.blocks.size()) {
  size_t nodes = 0;
  for (const PrecinctBand& band : plan.precinct_bands) {
    first_node_.push_back(nodes);
    if (band.blocks_wide > 0 && band.blocks_high > 0)
      nodes += 2 * num_nodes(band.blocks_wide, band.blocks_high);
  }
  nodes_.resize(nodes);
  pieces_.reserve(plan.blocks.size());
  tile_part_bytes_.reserve(plan.tile_parts.size());
}

int64_t PacketReader::bytes(const Plan& plan) {
  size_t nodes = 0;
  for (const PrecinctBand& band : plan.precinct_bands) {
    if (band.blocks_wide > 0 && band.blocks_high > 0)
      nodes += 2 * num_nodes(band.blocks_wide, band.blocks_high);
  }
  return static_cast<int64_t>(nodes * sizeof(Node) + plan.precinct_bands.size() * sizeof(size_t) +
                              plan.blocks.size() * (sizeof(ReadBlock) + sizeof(ReadPiece)));
}

const char* PacketReader::read(std::span<const uint8_t> codestream) {
  bytes_ = codestream;
  at_ = 0;
  tile_part_bytes_.clear();
  pieces_.clear();
  std::fill(blocks_.begin(), blocks_.end(), ReadBlock{});
  std::fill(nodes_.begin(), nodes_.end(), Node{});
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
  const size_t first_piece = pieces_.size();
  Bits in(*this);
  if (in.bit() != 0) {
    for (uint32_t b = 0; b < num_bands; ++b) {
      const uint32_t band_number = precinct.first_precinct_band + b;
      const PrecinctBand& band = plan_.precinct_bands[band_number];
      const uint32_t wide = band.blocks_wide, high = band.blocks_high;
      if (wide == 0 || high == 0) continue;
      Node* const nodes = nodes_.data() + first_node_[band_number];
      const TagTree inclusion(nodes, wide, high), planes(nodes + num_nodes(wide, high), wide, high);
      for (uint32_t i = 0; i < wide * high; ++i) {
        const uint32_t x = i % wide, y = i / wide;
        const CodeBlock& source = plan_.blocks[band.first_block + i];
        const uint32_t most_planes = source.max_bit_planes + uint32_t{source.planes_above};
        ReadBlock& read = blocks_[band.first_block + i];
        const bool is_first = read.passes == 0;
        if (is_first ? !inclusion.is_below(in, x, y, packet.layer + 1) : in.bit() == 0) continue;
        if (is_first) {
          uint32_t zero = 0;
          while (!planes.is_below(in, x, y, zero + 1)) {
            if (++zero >= most_planes) throw Wrong{"a code-block without bit-planes"};
          }
          read.zero_bit_planes = static_cast<uint8_t>(zero);
        }
        const int bit_planes = static_cast<int>(most_planes - read.zero_bit_planes);
        block(in, band.first_block + i, static_cast<uint32_t>(num_passes_of(bit_planes)));
      }
    }
  }
  in.finish();
  if (plan_.params.eph != 0 && number(2) != kEph) throw Wrong{"no EPH"};
  for (size_t i = first_piece; i < pieces_.size(); ++i) {
    const size_t bytes = pieces_[i].bytes.size();
    if (bytes > bytes_.size() - at_) throw Wrong{"the end of the data inside a packet"};
    pieces_[i].bytes = bytes_.subspan(at_, bytes);
    at_ += bytes;
  }
}

/// Reads the number of passes and the lengths of a block's contribution (B.10.6, B.10.7).
void PacketReader::block(Bits& in, uint32_t block, uint32_t most_passes) {
  uint32_t passes = 1;
  if (in.bit() != 0) {
    passes = 2;
    if (in.bit() != 0) passes = 3 + in.bits(2);
    if (passes == 6) passes = 6 + in.bits(5);
    if (passes == 37) passes = 37 + in.bits(7);
  }
  ReadBlock& read = blocks_[block];
  while (in.bit() != 0) {
    if (++read.lblock > 32) throw Wrong{"a length of more than 32 bits"};
  }
  const uint32_t end = read.passes + passes;
  const bool is_ht = plan_.params.coder == CJ2K_CODER_HT;
  if (end > (is_ht ? 3 : most_passes)) throw Wrong{"more passes than the code-block can have"};
  const auto style = static_cast<uint32_t>(plan_.params.cblk_style);
  while (read.passes < end) {
    // The segment ends after the cleanup pass (T.814), or where the style ends it.
    const auto ends = [&](uint32_t pass) {
      return is_ht ? pass == 0 : pass_terminates(style, static_cast<int>(pass));
    };
    uint32_t last = read.passes;
    while (last + 1 < end && !ends(last)) ++last;
    const uint32_t count = last + 1 - read.passes;
    const uint32_t bits = read.lblock + static_cast<uint32_t>(std::bit_width(count)) - 1;
    if (bits > 32 && in.bits(bits - 32) != 0) throw Wrong{"a length of more than 32 bits"};
    add(block, count, in.bits(std::min(bits, 32u)));
  }
}

/// Adds a piece. Its bytes are set when the header of the packet has been read.
void PacketReader::add(uint32_t block, uint32_t passes, size_t bytes) {
  ReadBlock& read = blocks_[block];
  const auto piece = static_cast<uint32_t>(pieces_.size());
  if (bytes > bytes_.size()) throw Wrong{"the end of the data inside a packet"};
  pieces_.push_back({bytes_.first(bytes), passes, kNoPiece});
  (read.last_piece == kNoPiece ? read.first_piece : pieces_[read.last_piece].next) = piece;
  read.last_piece = piece;
  read.passes = static_cast<uint16_t>(read.passes + passes);
}

}  // namespace cj2k
