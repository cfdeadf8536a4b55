// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "transcode/tile_writer.h"

#include <algorithm>

#include "core/bit_writer.h"
#include "core/pass_lengths.h"
#include "core/tag_tree.h"
#include "packets/bytes.h"
#include "packets/markers.h"

namespace cj2k::transcoding {
namespace {

/// Most bytes that one block adds to a packet header: two tag trees, the second of values below 256,
/// the number of passes, Lblock and two lengths. A byte has at least 7 bits.
constexpr size_t kMostHeaderBytes =
    (TagTree::max_bits(1) + TagTree::max_bits(256) + 16 + 32 + 2 * 40) / 7 + 8;

void put_block(const RecodedBlock& block, BitWriter& out) {
  const uint32_t rest_passes = block.rest_bytes > 0 ? block.passes - 1u : 0;
  const uint32_t first_passes = block.passes - rest_passes;
  put_num_passes(block.passes, out);
  int growth = missing_length_bits(block.first_bytes, first_passes, kFirstLblock);
  if (rest_passes > 0)
    growth = std::max(growth, missing_length_bits(block.rest_bytes, rest_passes, kFirstLblock));
  growth = std::max(growth, 0);
  put_lblock(growth, out);
  put_length(block.first_bytes, first_passes, kFirstLblock + growth, out);
  if (rest_passes > 0) put_length(block.rest_bytes, rest_passes, kFirstLblock + growth, out);
}

}  // namespace

bool TileWriter::is_empty(const TilePrecinct& precinct) const {
  for (uint32_t b = 0; b < layout_.resolutions[precinct.resolution].num_bands; ++b) {
    const PrecinctBlocks& band = layout_.bands[precinct.first_band + b];
    for (uint32_t i = 0; i < band.wide * band.high; ++i) {
      if (blocks_[band.first_block + i].passes > 0) return false;
    }
  }
  return true;
}

/// Makes the header of a packet that is not empty. @return its bytes, in header_
size_t TileWriter::code_header(const TilePrecinct& precinct) {
  size_t num_blocks = 0;
  const uint32_t num_bands = layout_.resolutions[precinct.resolution].num_bands;
  for (uint32_t b = 0; b < num_bands; ++b) {
    const PrecinctBlocks& band = layout_.bands[precinct.first_band + b];
    num_blocks += size_t{band.wide} * band.high;
  }
  header_.resize(std::max(header_.size(), 16 + num_blocks * 16 + kMostHeaderBytes));
  BitWriter out(header_.data(), header_.size());
  out.put(1, 1);
  for (uint32_t b = 0; b < num_bands; ++b) {
    const PrecinctBlocks& band = layout_.bands[precinct.first_band + b];
    const uint32_t count = band.wide * band.high;
    if (count == 0) continue;
    const size_t nodes = TagTree::num_nodes(band.wide, band.high);
    std::vector<TagNode> memory(2 * nodes);
    TagTree inclusion(band.wide, band.high, memory.data());
    TagTree planes(band.wide, band.high, memory.data() + nodes);
    for (uint32_t i = 0; i < count; ++i) {
      const RecodedBlock& block = blocks_[band.first_block + i];
      inclusion.set_leaf(i, block.passes > 0 ? 0 : 1);
      planes.set_leaf(i, block.passes > 0 ? block.zero_bit_planes : kTagNever);
    }
    inclusion.build();
    planes.build();
    for (uint32_t i = 0; i < count; ++i) {
      if (out.room() < kMostHeaderBytes) {
        std::vector<uint8_t> larger(2 * header_.size() + kMostHeaderBytes);
        std::copy_n(header_.begin(), out.bytes(), larger.begin());
        out.move_to(larger.data(), larger.size());
        header_.swap(larger);
      }
      const RecodedBlock& block = blocks_[band.first_block + i];
      inclusion.encode(i % band.wide, i / band.wide, 1, out);
      if (block.passes == 0) continue;
      planes.encode(i % band.wide, i / band.wide, kTagAll, out);
      put_block(block, out);
    }
  }
  return out.finish();
}

void TileWriter::packet(uint32_t number, std::vector<uint8_t>& out) {
  if (coding_.has_sop) {
    out.resize(out.size() + kSopBytes);
    store_sop(out.data() + out.size() - kSopBytes, num_packets_ & 0xFFFF);
  }
  ++num_packets_;
  const TilePrecinct& precinct = layout_.precincts[number];
  const bool has_body = !is_empty(precinct);
  if (has_body) {
    const size_t bytes = code_header(precinct);
    out.insert(out.end(), header_.data(), header_.data() + bytes);
  } else {
    append_u8(out, 0);
  }
  if (coding_.has_eph) append_u16(out, kMarkerEph);
  if (!has_body) return;
  for (uint32_t b = 0; b < layout_.resolutions[precinct.resolution].num_bands; ++b) {
    const PrecinctBlocks& band = layout_.bands[precinct.first_band + b];
    for (uint32_t i = 0; i < band.wide * band.high; ++i) {
      const RecodedBlock& block = blocks_[band.first_block + i];
      const uint8_t* const bytes = block.bytes.get();
      out.insert(out.end(), bytes, bytes + block.num_bytes());
    }
  }
}

std::vector<uint8_t> TileWriter::write(const OutputPart& part, uint32_t tile, uint32_t index,
                                       uint32_t count) {
  std::vector<uint8_t> packets;
  std::vector<size_t> ends;
  for (const uint32_t precinct : part.precincts) {
    packet(precinct, packets);
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
