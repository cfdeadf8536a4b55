// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What packets say of code-blocks, as a decoder reads it (T.800 B.9, B.10). It shares no code with the
// stages that write packets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "coders/ebcot/block_decoder.h"
#include "coders/ht/block_decoder.h"
#include "core/orientation.h"

namespace cj2k {

/// Ends the reading of packets that are wrong.
struct WrongPacket {
  const char* what;
};

/// Numbers of a codestream, and the bits of a packet header (B.10.1): after 0xFF a bit is stuffed.
/// Throws WrongPacket.
class HeaderBits {
 public:
  /// Reads from bytes[at] on, and moves `at`.
  HeaderBits(std::span<const uint8_t> bytes, size_t& at) : bytes_(bytes), at_(at) {}
  uint32_t bit() {
    if (left_ == 0) {
      left_ = byte_ == 0xFF ? 7 : 8;
      byte_ = next();
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
    if (byte_ == 0xFF) next();
  }

 private:
  uint32_t next() {
    if (at_ >= bytes_.size()) throw WrongPacket{"the end of the data inside a packet header"};
    const uint32_t value = bytes_[at_++];
    if (byte_ == 0xFF && value > 0x7F) throw WrongPacket{"a packet header without its stuffed bit"};
    return value;
  }

  std::span<const uint8_t> bytes_;
  size_t& at_;
  uint32_t byte_ = 0;
  int left_ = 0;
};

/// A node of a tag tree that is read (B.10.2).
struct ReadNode {
  uint16_t low;  ///< the value is at least this
  bool is_known;
};
/// Nodes of both tag trees of wide x high code-blocks.
size_t num_read_nodes(uint32_t wide, uint32_t high);

/// How code-blocks are coded, as far as packets depend on it.
struct BlockCoding {
  uint32_t style;  ///< CJ2K_STYLE_*
  bool is_ht;
  /// Whether the codeword segment ends after this pass: the cleanup pass of T.814, or where the style
  /// ends it.
  bool ends_after(uint32_t pass) const;
};

/// The bytes of a codeword segment in one packet.
struct ReadPiece {
  std::span<const uint8_t> bytes;
  uint16_t layer, passes;
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

/// The code-blocks of one subband in one precinct.
struct ReadBand {
  ReadNode* nodes;  ///< num_read_nodes
  uint32_t wide, high, first_block;
};

/// What the packets so far hold.
class PacketBlocks {
 public:
  /// Forgets all packets. Throws std::bad_alloc.
  void begin(size_t num_blocks);
  /// Reads the part of a packet header that is of one band. Throws WrongPacket, std::bad_alloc.
  /// @param most_planes  M_b of block i of the band, and the shift of its region of interest
  template <typename MostPlanes>
  void read_band(HeaderBits& in, const ReadBand& band, uint32_t layer, const BlockCoding& coding,
                 const MostPlanes& most_planes) {
    for (uint32_t i = 0; i < band.wide * band.high; ++i)
      read_block(in, band, i, layer, coding, most_planes(i));
  }
  /// Takes the bodies of the blocks in a packet from bytes[at] on, and moves `at`.
  /// @param first_piece  num_pieces() before its header. Throws WrongPacket
  void take_bodies(size_t first_piece, std::span<const uint8_t> bytes, size_t& at);
  size_t num_pieces() const { return pieces_.size(); }

  const std::vector<ReadBlock>& blocks() const { return blocks_; }
  const std::vector<ReadPiece>& pieces() const { return pieces_; }

 private:
  void read_block(HeaderBits& in, const ReadBand& band, uint32_t i, uint32_t layer,
                  const BlockCoding& coding, uint32_t most_planes);
  void read_lengths(HeaderBits& in, ReadBlock& block, uint32_t layer, const BlockCoding& coding,
                    uint32_t most_passes);
  void add(ReadBlock& block, uint32_t layer, uint32_t passes, uint32_t bytes);

  std::vector<ReadBlock> blocks_;
  std::vector<ReadPiece> pieces_;
  std::vector<uint32_t> lengths_;  ///< of the pieces whose bodies are not taken yet
};

/// Decodes code-blocks as they stand in packets. Working memory of one thread, about 80 KB.
class ReadBlockDecoder {
 public:
  struct Shape {
    int width, height;
    Orientation orientation;
    BlockCoding coding;
    int planes;  ///< M_b, and the shift, less the zero bit-planes
  };
  /// @param samples  [height][width] result: the bits that the passes make known, bit 31 = sign
  /// @return false: the bytes are not those of such a block
  bool decode(const PacketBlocks& packets, const ReadBlock& block, const Shape& shape,
              uint32_t* samples);

 private:
  EbcotDecoder ebcot_;
  HtDecoder ht_;
  std::vector<CodedSegment> segments_;
  std::vector<uint8_t> joined_;  ///< segments whose bytes are in several packets
};

}  // namespace cj2k
