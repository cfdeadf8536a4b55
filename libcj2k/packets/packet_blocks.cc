// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "packets/packet_blocks.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/ebcot/coding_passes.h"

namespace cj2k {
namespace {

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

class ReadTree {
 public:
  ReadTree(ReadNode* nodes, uint32_t wide, uint32_t high)
      : nodes_(nodes), wide_(wide), high_(high) {}
  /// Whether the value of leaf (x, y) is below the threshold.
  bool is_below(HeaderBits& in, uint32_t x, uint32_t y, uint32_t threshold) const {
    ReadNode* path[32];
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
      ReadNode& node = *path[--depth];
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
  ReadNode* nodes_;
  uint32_t wide_, high_;
};

}  // namespace

size_t num_read_nodes(uint32_t wide, uint32_t high) {
  return wide == 0 || high == 0 ? 0 : 2 * num_nodes(wide, high);
}

bool BlockCoding::ends_after(uint32_t pass) const {
  return is_ht ? pass == 0 : pass_terminates(style, static_cast<int>(pass));
}

void PacketBlocks::begin(size_t num_blocks) {
  blocks_.assign(num_blocks, {});
  pieces_.clear();
  lengths_.clear();
}

void PacketBlocks::read_block(HeaderBits& in, const ReadBand& band, uint32_t i, uint32_t layer,
                              const BlockCoding& coding, uint32_t most_planes) {
  const uint32_t x = i % band.wide, y = i / band.wide;
  const ReadTree inclusion(band.nodes, band.wide, band.high);
  const ReadTree planes(band.nodes + num_nodes(band.wide, band.high), band.wide, band.high);
  ReadBlock& block = blocks_[band.first_block + i];
  const bool is_first = block.passes == 0;
  if (is_first ? !inclusion.is_below(in, x, y, layer + 1) : in.bit() == 0) return;
  if (is_first) {
    uint32_t zero = 0;
    while (!planes.is_below(in, x, y, zero + 1)) {
      if (++zero >= most_planes) throw WrongPacket{"a code-block without bit-planes"};
    }
    if (most_planes == 0) throw WrongPacket{"a code-block without bit-planes"};
    block.zero_bit_planes = static_cast<uint8_t>(zero);
  }
  const int bit_planes = static_cast<int>(most_planes - block.zero_bit_planes);
  read_lengths(in, block, layer, coding, static_cast<uint32_t>(num_passes_of(bit_planes)));
}

/// Reads the number of passes and the lengths of a block's contribution (B.10.6, B.10.7).
void PacketBlocks::read_lengths(HeaderBits& in, ReadBlock& block, uint32_t layer,
                                const BlockCoding& coding, uint32_t most_passes) {
  uint32_t passes = 1;
  if (in.bit() != 0) {
    passes = 2;
    if (in.bit() != 0) passes = 3 + in.bits(2);
    if (passes == 6) passes = 6 + in.bits(5);
    if (passes == 37) passes = 37 + in.bits(7);
  }
  while (in.bit() != 0) {
    if (++block.lblock > 32) throw WrongPacket{"a length of more than 32 bits"};
  }
  const uint32_t end = block.passes + passes;
  if (coding.is_ht && end > 3) throw WrongPacket{"an HT code-block of more than one set of passes"};
  if (end > most_passes) throw WrongPacket{"more passes than the code-block can have"};
  while (block.passes < end) {
    uint32_t last = block.passes;
    while (last + 1 < end && !coding.ends_after(last)) ++last;
    const uint32_t count = last + 1 - block.passes;
    const uint32_t bits = block.lblock + static_cast<uint32_t>(std::bit_width(count)) - 1;
    if (bits > 32 && in.bits(bits - 32) != 0) throw WrongPacket{"a length of more than 32 bits"};
    add(block, layer, count, in.bits(std::min(bits, 32u)));
  }
}

/// Adds a piece. Its bytes are set when the header of the packet has been read.
void PacketBlocks::add(ReadBlock& block, uint32_t layer, uint32_t passes, uint32_t bytes) {
  const auto piece = static_cast<uint32_t>(pieces_.size());
  pieces_.push_back({{}, static_cast<uint16_t>(layer), static_cast<uint16_t>(passes), kNoPiece});
  lengths_.push_back(bytes);
  (block.last_piece == kNoPiece ? block.first_piece : pieces_[block.last_piece].next) = piece;
  block.last_piece = piece;
  block.passes = static_cast<uint16_t>(block.passes + passes);
}

void PacketBlocks::take_bodies(size_t first_piece, std::span<const uint8_t> bytes, size_t& at) {
  for (size_t i = first_piece; i < pieces_.size(); ++i) {
    const uint32_t length = lengths_[i - first_piece];
    if (length > bytes.size() - at) throw WrongPacket{"the end of the data inside a packet"};
    pieces_[i].bytes = bytes.subspan(at, length);
    at += length;
  }
  lengths_.clear();
}

bool ReadBlockDecoder::decode(const PacketBlocks& packets, const ReadBlock& block,
                              const Shape& shape, uint32_t* samples) {
  if (block.passes == 0) {
    std::fill_n(samples, shape.width * shape.height, 0u);
    return true;
  }
  size_t bytes = 0;
  for (uint32_t p = block.first_piece; p != kNoPiece; p = packets.pieces()[p].next)
    bytes += packets.pieces()[p].bytes.size();
  joined_.resize(bytes);
  segments_.clear();
  uint8_t* end = joined_.data();
  uint32_t pass = 0;
  bool is_open = false;
  for (uint32_t p = block.first_piece; p != kNoPiece; p = packets.pieces()[p].next) {
    const ReadPiece& piece = packets.pieces()[p];
    if (!is_open) segments_.push_back({{end, 0}, 0});
    CodedSegment& segment = segments_.back();
    if (!piece.bytes.empty()) std::memcpy(end, piece.bytes.data(), piece.bytes.size());
    end += piece.bytes.size();
    segment.bytes = {segment.bytes.data(), segment.bytes.size() + piece.bytes.size()};
    segment.passes += static_cast<int>(piece.passes);
    pass += piece.passes;
    is_open = !shape.coding.ends_after(pass - 1);
  }
  if (!shape.coding.is_ht) {
    if (shape.planes > kMaxBitPlanes || block.passes > num_passes_of(shape.planes)) return false;
    return ebcot_.decode(
        {shape.width, shape.height, shape.orientation, shape.coding.style, shape.planes}, segments_,
        samples);
  }
  const int plane = shape.planes - 1;
  if (plane >= kMaxBitPlanes || (plane == 0 && block.passes > 1)) return false;
  const bool is_causal = (shape.coding.style & CJ2K_STYLE_VSC) != 0;
  return ht_.decode({shape.width, shape.height, plane, block.passes, is_causal}, segments_[0].bytes,
                    segments_.size() > 1 ? segments_[1].bytes : std::span<const uint8_t>(),
                    samples);
}

}  // namespace cj2k
