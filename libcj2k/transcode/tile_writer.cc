// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "transcode/tile_writer.h"

#include <algorithm>

#include "core/pass_lengths.h"
#include "packets/bytes.h"
#include "packets/markers.h"

namespace cj2k::transcoding {
namespace {

/// Most bytes that one block adds to a packet header: two tag trees, the second of values below 256,
/// the number of passes, Lblock and two lengths. A byte has at least 7 bits.
size_t most_header_bytes(uint32_t layers) {
  return (TagTree::max_bits(layers) + TagTree::max_bits(256) + 16 + 32 + 2 * 40) / 7 + 8;
}

}  // namespace

TileWriter::TileWriter(const TileLayout& layout, const Coding& coding,
                       const std::vector<RecodedBlock>& blocks)
    : layout_(layout),
      coding_(coding),
      blocks_(blocks),
      most_header_bytes_(most_header_bytes(coding.layers)),
      nodes_(layout.num_nodes),
      written_(blocks.size(), {0, 0, kFirstLblock, 0}) {
  for (const PrecinctBlocks& band : layout.bands) {
    const uint32_t count = band.wide * band.high;
    if (count == 0) continue;
    auto [inclusion, planes] = trees_of(band);
    for (uint32_t i = 0; i < count; ++i) {
      const RecodedBlock& block = blocks[band.first_block + i];
      inclusion.set_leaf(i, block.passes > 0 ? block.ends[0].layer : kTagNever);
      planes.set_leaf(i, block.passes > 0 ? block.zero_bit_planes : kTagNever);
    }
    inclusion.build();
    planes.build();
  }
}

/// Those of inclusion and of zero bit-planes.
std::pair<TagTree, TagTree> TileWriter::trees_of(const PrecinctBlocks& band) {
  TagNode* const nodes = nodes_.data() + band.first_node;
  const uint32_t count = TagTree::num_nodes(band.wide, band.high);
  return {{band.wide, band.high, nodes}, {band.wide, band.high, nodes + count}};
}

/// What the packets have of a block after that of `layer`.
LayerEnd TileWriter::end_of(uint32_t number, uint32_t layer) const {
  const RecodedBlock& block = blocks_[number];
  const Written& written = written_[number];
  if (written.passes == block.passes || block.ends[written.ends].layer != layer)
    return {0, written.passes, written.bytes};
  LayerEnd end = block.ends[written.ends];
  if (end.passes >= block.passes) return {end.layer, block.passes, block.num_bytes()};
  end.bytes = std::min(end.bytes, block.num_bytes());  // where it is cut
  return end;
}

template <typename Visit>
void TileWriter::for_each_block(const TilePrecinct& precinct, const Visit& visit) const {
  for (uint32_t b = 0; b < layout_.resolutions[precinct.resolution].num_bands; ++b) {
    const PrecinctBlocks& band = layout_.bands[precinct.first_band + b];
    for (uint32_t i = 0; i < band.wide * band.high; ++i) visit(band, i);
  }
}

bool TileWriter::is_empty(const TilePrecinct& precinct, uint32_t layer) const {
  bool empty = true;
  for_each_block(precinct, [&](const PrecinctBlocks& band, uint32_t i) {
    const uint32_t block = band.first_block + i;
    empty = empty && end_of(block, layer).passes == written_[block].passes;
  });
  return empty;
}

/// The passes of a block in a packet, and their lengths: of the cleanup pass of HT and what refines it
/// one each.
void TileWriter::put_block(uint32_t number, const LayerEnd& end, BitWriter& out) {
  struct Segment {
    uint32_t passes, bytes;
  } segments[2];
  int count = 0;
  const RecodedBlock& block = blocks_[number];
  Written& written = written_[number];
  put_num_passes(end.passes - uint32_t{written.passes}, out);
  if (block.rest_bytes > 0 && written.passes == 0) {
    segments[count++] = {1, block.first_bytes};
    if (end.passes > 1) segments[count++] = {end.passes - 1u, end.bytes - block.first_bytes};
  } else {
    segments[count++] = {end.passes - uint32_t{written.passes}, end.bytes - written.bytes};
  }
  int growth = 0;
  for (int i = 0; i < count; ++i)
    growth = std::max(growth,
                      missing_length_bits(segments[i].bytes, segments[i].passes, written.lblock));
  put_lblock(growth, out);
  written.lblock = static_cast<uint8_t>(written.lblock + growth);
  for (int i = 0; i < count; ++i)
    put_length(segments[i].bytes, segments[i].passes, written.lblock, out);
}

/// Makes the header of a packet that is not empty. @return its bytes, in header_
size_t TileWriter::code_header(const TilePrecinct& precinct, uint32_t layer) {
  header_.resize(std::max(header_.size(), most_header_bytes_ + 4096));
  BitWriter out(header_.data(), header_.size());
  out.put(1, 1);
  for (uint32_t b = 0; b < layout_.resolutions[precinct.resolution].num_bands; ++b) {
    const PrecinctBlocks& band = layout_.bands[precinct.first_band + b];
    const uint32_t count = band.wide * band.high;
    if (count == 0) continue;
    auto [inclusion, planes] = trees_of(band);
    for (uint32_t i = 0; i < count; ++i) {
      if (out.room() < most_header_bytes_) {
        std::vector<uint8_t> larger(2 * header_.size());
        std::copy_n(header_.begin(), out.bytes(), larger.begin());
        out.move_to(larger.data(), larger.size());
        header_.swap(larger);
      }
      const uint32_t block = band.first_block + i, x = i % band.wide, y = i / band.wide;
      const LayerEnd end = end_of(block, layer);
      const bool is_new = written_[block].passes == 0;
      const bool contributes = end.passes > written_[block].passes;
      if (is_new)
        inclusion.encode(x, y, layer + 1, out);
      else
        out.put(contributes ? 1 : 0, 1);
      if (!contributes) continue;
      if (is_new) planes.encode(x, y, kTagAll, out);
      put_block(block, end, out);
    }
  }
  return out.finish();
}

void TileWriter::packet(const TilePacket& packet, std::vector<uint8_t>& out) {
  if (coding_.has_sop) {
    out.resize(out.size() + kSopBytes);
    store_sop(out.data() + out.size() - kSopBytes, num_packets_ & 0xFFFF);
  }
  ++num_packets_;
  const TilePrecinct& precinct = layout_.precincts[packet.precinct];
  const bool has_body = !is_empty(precinct, packet.layer);
  if (has_body) {
    const size_t bytes = code_header(precinct, packet.layer);
    out.insert(out.end(), header_.data(), header_.data() + bytes);
  } else {
    append_u8(out, 0);
  }
  if (coding_.has_eph) append_u16(out, kMarkerEph);
  if (!has_body) return;
  for_each_block(precinct, [&](const PrecinctBlocks& band, uint32_t i) {
    const uint32_t block = band.first_block + i;
    Written& written = written_[block];
    const LayerEnd end = end_of(block, packet.layer);
    if (end.passes == written.passes) return;
    const uint8_t* const bytes = blocks_[block].bytes.get();
    out.insert(out.end(), bytes + written.bytes, bytes + end.bytes);
    written.passes = end.passes;
    written.bytes = end.bytes;
    ++written.ends;
  });
}

std::vector<uint8_t> TileWriter::write(const OutputPart& part, uint32_t tile, uint32_t index,
                                       uint32_t count) {
  std::vector<uint8_t> packets;
  std::vector<size_t> ends;
  for (const TilePacket& next : part.packets) {
    packet(next, packets);
    ends.push_back(packets.size());
  }
  std::vector<uint8_t> plt;
  constexpr uint64_t kMostPltPackets = 3000000;  // of Zplt, 0 .. 255
  if (part.header.has_plt && ends.size() <= kMostPltPackets) {
    const auto write_plt = [&ends](uint8_t* to) {
      PltWriter writer(to);
      for (size_t i = 0; i < ends.size(); ++i) writer.add(ends[i] - (i > 0 ? ends[i - 1] : 0));
      return writer.finish();
    };
    plt.resize(write_plt(nullptr));
    write_plt(plt.data());
  }
  const uint64_t bytes =
      kSotBytes + part.header.segments.size() + plt.size() + kSodBytes + packets.size();
  if (bytes > kMaxTilePartBytes)
    throw Refused{Status::kNotSupported, "a tile-part of more than 2^32 - 1 bytes"};
  std::vector<uint8_t> out(kSotBytes);
  out.reserve(bytes);
  store_sot(out.data(), {tile, index, count, 0, 0}, static_cast<uint32_t>(bytes));
  out.insert(out.end(), part.header.segments.begin(), part.header.segments.end());
  out.insert(out.end(), plt.begin(), plt.end());
  append_u16(out, kMarkerSod);
  out.insert(out.end(), packets.begin(), packets.end());
  return out;
}

}  // namespace cj2k::transcoding
