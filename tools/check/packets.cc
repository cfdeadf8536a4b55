// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "geometry.h"
#include "ht.h"
#include "packet_bits.h"
#include "reader.h"

namespace cj2k_check {
namespace {

std::string text(uint64_t value) { return std::to_string(value); }

struct Block {
  uint16_t passes = 0;
  uint16_t missing_planes = 0;
  uint8_t length_bits = 3;  ///< Lblock
  uint8_t last_byte = 0;    ///< of the codeword segment that goes on in the next packet
  bool included = false;
  // HT:
  uint8_t set_passes = 0;         ///< passes of its HT set that have been read
  uint16_t refinement_bytes = 0;  ///< at most kMostRefinementBytes + 1
};

/// The code-blocks of a precinct in one subband.
struct BandBlocks {
  uint32_t across = 0, down = 0, bit_planes = 0;
  Box box;  ///< of the precinct in the subband
  uint32_t block_width_log2 = 0, block_height_log2 = 0;
  TagTree inclusion, missing_planes;
  std::vector<Block> blocks;
};

struct Precinct {
  uint32_t layers = 0;  ///< that have been read
  bool made = false;
  std::vector<BandBlocks> bands;
};

enum class Segments { kPart1, kCleanup, kRefinement };

/// Bytes of one codeword segment in one packet.
struct Contribution {
  Block* block;
  uint64_t bytes;
  bool raw;   ///< D.6
  bool ends;  ///< the style ends the codeword segment here
  Segments kind = Segments::kPart1;
  uint32_t left = 0;                           ///< kCleanup: bit-planes below it
  uint32_t width = 0, height = 0, planes = 0;  ///< kCleanup: of the block; planes from its own up
};

/// Codeword segments (D.4.2, D.6): whether one ends behind pass `pass`, and whether it is raw.
bool segment_ends(uint8_t style, uint32_t pass) {
  if ((style & kTermall) != 0) return true;
  return (style & kBypass) != 0 && pass >= 9 && pass % 3 != 1;
}
bool segment_is_raw(uint8_t style, uint32_t pass) {
  return (style & kBypass) != 0 && pass >= 10 && pass % 3 != 0;
}

/// Table B.4.
uint32_t read_passes(HeaderBits& in) {
  if (in.bit() == 0) return 1;
  if (in.bit() == 0) return 2;
  const uint64_t two = in.bits(2);
  if (two < 3) return static_cast<uint32_t>(3 + two);
  const uint64_t five = in.bits(5);
  if (five < 31) return static_cast<uint32_t>(6 + five);
  return static_cast<uint32_t>(37 + in.bits(7));
}

class TileChecker {
 public:
  TileChecker(Codestream& codestream, uint32_t index, const Tile& tile, const Limits& limits,
              uint64_t& steps, Report& report)
      : cs_(codestream),
        index_(index),
        tile_(tile),
        limits_(limits),
        steps_(steps),
        report_(report),
        cod_(codestream.cod_of(tile)) {}
  void run();

 private:
  TilePart& part() { return cs_.parts[tile_.parts[part_]]; }
  bool step();
  bool stop() {
    stopped_ = true;
    return false;
  }
  void begin_part();
  bool part_is_done();
  void walk();
  bool packet(uint32_t c, uint32_t r, uint64_t precinct, uint32_t layer);
  bool make_precinct(const Resolution& resolution, uint64_t index, Precinct& precinct);
  bool header(const Resolution& resolution, uint64_t index, Precinct& precinct, uint32_t layer);
  bool band_header(HeaderBits& in, BandBlocks& band, uint32_t layer);
  bool block_header(HeaderBits& in, BandBlocks& band, uint32_t x, uint32_t y);
  bool block_lengths(HeaderBits& in, Block& block, uint32_t passes);
  bool ht_block_lengths(HeaderBits& in, const BandBlocks& band, uint32_t x, uint32_t y,
                        Block& block, uint32_t passes);
  void sop();
  void eph(Bytes bytes, size_t& at);
  bool body();
  void check_bytes(const Contribution& contribution, Bytes bytes, size_t offset);
  void check_cleanup(const Contribution& contribution, Bytes bytes, size_t offset);
  void check_refinement(const Contribution& contribution, size_t offset);
  void check_markers(size_t begin, size_t end);
  void check_length(size_t begin);
  void check_open_segments();
  void check_rest();
  bool fail(const char* rule, const char* clause, const std::string& found,
            const std::string& allowed) {
    report_.error(rule, clause, at_, found, allowed);
    return stop();
  }

  Codestream& cs_;
  const uint32_t index_;
  const Tile& tile_;
  const Limits limits_;
  uint64_t& steps_;
  Report& report_;
  const Cod& cod_;
  TileGeometry geometry_;
  std::vector<std::vector<std::vector<Precinct>>> precincts_;  // [component][resolution]
  std::vector<Contribution> contributions_;
  uint64_t blocks_ = 0, packets_ = 0;
  size_t part_ = 0;
  size_t at_ = 0, end_ = 0;   // in the codestream, of the current tile-part
  size_t packed_at_ = 0;      // in its packed headers
  size_t header_offset_ = 0;  // of the packet
  uint8_t style_ = 0;
  bool stopped_ = false;
};

bool TileChecker::step() {
  if (++steps_ < limits_.most_steps) return true;
  report_.warning("limit", "cj2k-check", at_, "too much work for this codestream",
                  "its packets are checked only up to here");
  return stop();
}

void TileChecker::begin_part() {
  at_ = part().data;
  end_ = part().end;
  packed_at_ = 0;
}

bool TileChecker::part_is_done() {
  return at_ >= end_ && (!part().has_packed_headers || packed_at_ >= part().packet_headers.size());
}

bool TileChecker::make_precinct(const Resolution& resolution, uint64_t index, Precinct& precinct) {
  precinct.made = true;
  for (uint32_t b = 0; b < resolution.num_bands; ++b) {
    BandBlocks band;
    const Box box = precinct_in_band(resolution, resolution.bands[b], index);
    band.bit_planes = resolution.bands[b].bit_planes;
    band.box = box;
    band.block_width_log2 = resolution.block_width_log2;
    band.block_height_log2 = resolution.block_height_log2;
    if (!box.empty()) {
      const uint32_t w = resolution.block_width_log2, h = resolution.block_height_log2;
      band.across = static_cast<uint32_t>(((box.x1 - 1) >> w) - (box.x0 >> w) + 1);
      band.down = static_cast<uint32_t>(((box.y1 - 1) >> h) - (box.y0 >> h) + 1);
      blocks_ += uint64_t{band.across} * band.down;
      if (blocks_ > limits_.most_blocks) {
        report_.warning("limit", "cj2k-check", at_, "too many code-blocks",
                        "the packets of tile " + text(index_) + " are checked only up to here");
        return stop();
      }
      band.inclusion.make(band.across, band.down);
      band.missing_planes.make(band.across, band.down);
      band.blocks.resize(size_t{band.across} * band.down);
    }
    precinct.bands.push_back(std::move(band));
  }
  return true;
}

bool TileChecker::block_lengths(HeaderBits& in, Block& block, uint32_t passes) {
  uint32_t bits = block.length_bits;
  while (in.bit() != 0) {
    if (++bits > 32) return fail("block-length-bits", "T.800 B.10.7.1", text(bits), "at most 32");
  }
  block.length_bits = static_cast<uint8_t>(bits);
  const uint32_t end = block.passes + passes;
  for (uint32_t pass = block.passes; pass < end;) {
    uint32_t last = pass;
    while (last + 1 < end && !segment_ends(style_, last)) ++last;
    const uint32_t added = last - pass + 1;
    const uint64_t bytes = in.bits(bits + static_cast<uint32_t>(std::bit_width(added)) - 1);
    contributions_.push_back(
        {&block, bytes, segment_is_raw(style_, pass), segment_ends(style_, last)});
    pass = last + 1;
  }
  block.passes = static_cast<uint16_t>(end);
  return true;
}

/// A cleanup pass has a segment of its own, SigProp and MagRef share one. Passes before the cleanup,
/// in threes, have no bytes: they move it down by a plane each.
bool TileChecker::ht_block_lengths(HeaderBits& in, const BandBlocks& band, uint32_t x, uint32_t y,
                                   Block& block, uint32_t passes) {
  uint32_t bits = block.length_bits;
  while (in.bit() != 0) {
    if (++bits > 32) return fail("block-length-bits", "T.800 B.10.7.1", text(bits), "at most 32");
  }
  block.length_bits = static_cast<uint8_t>(bits);
  const auto length = [&](uint32_t counted) {
    return in.bits(bits + static_cast<uint32_t>(std::bit_width(counted)) - 1);
  };
  if (block.set_passes == 0) {
    const uint32_t placeholders = (passes - 1) / 3 * 3;
    Contribution cleanup{&block, length(placeholders + 1), false, true, Segments::kCleanup};
    const auto side = [](int64_t begin, int64_t end, uint32_t log2, uint32_t index) {
      const int64_t first = ((begin >> log2) + index) << log2;
      return static_cast<uint32_t>(std::min(end, first + (int64_t{1} << log2)) -
                                   std::max(begin, first));
    };
    cleanup.width = side(band.box.x0, band.box.x1, band.block_width_log2, x);
    cleanup.height = side(band.box.y0, band.box.y1, band.block_height_log2, y);
    cleanup.planes = block.missing_planes + placeholders / 3 + 1u;
    cleanup.left = band.bit_planes > cleanup.planes ? band.bit_planes - cleanup.planes : 0;
    contributions_.push_back(cleanup);
    block.set_passes = 1;
    passes -= placeholders + 1;
    block.passes = static_cast<uint16_t>(block.passes + placeholders + 1);
  }
  if (passes == 0) return true;
  if (block.set_passes + passes > 3 && !in.overrun())
    return fail("ht-sets", "T.814 Annex B", text(block.set_passes + passes) + " passes in a set",
                "cleanup, SigProp, MagRef: one HT set in a code-block with SINGLEHT");
  ++part().refined_blocks;
  contributions_.push_back({&block, length(passes), false, false, Segments::kRefinement});
  block.set_passes = static_cast<uint8_t>(block.set_passes + passes);
  block.passes = static_cast<uint16_t>(block.passes + passes);
  return true;
}

bool TileChecker::block_header(HeaderBits& in, BandBlocks& band, uint32_t x, uint32_t y) {
  Block& block = band.blocks[size_t{y} * band.across + x];
  if (!block.included) {
    block.included = true;
    uint32_t planes = 0;
    while (!band.missing_planes.is_below(in, x, y, planes + 1)) {
      ++planes;
      if (planes >= band.bit_planes || in.overrun()) break;
    }
    if (planes >= band.bit_planes && !in.overrun())
      return fail("block-bitplanes", "T.800 B.10.5, E-2", "all bit-planes of a code-block missing",
                  "fewer than M_b = " + text(band.bit_planes));
    block.missing_planes = static_cast<uint16_t>(planes);
  }
  const uint32_t passes = read_passes(in);
  const uint32_t most = 3 * (band.bit_planes - block.missing_planes) - 2;
  if (block.passes + passes > most && !in.overrun())
    return fail(
        "block-passes", "T.800 B.10.6, D.3", text(block.passes + passes),
        text(most) + " for " + text(band.bit_planes - block.missing_planes) + " bit-planes");
  if ((style_ & kHighThroughput) != 0) return ht_block_lengths(in, band, x, y, block, passes);
  return block_lengths(in, block, passes);
}

bool TileChecker::band_header(HeaderBits& in, BandBlocks& band, uint32_t layer) {
  for (uint32_t y = 0; y < band.down; ++y) {
    for (uint32_t x = 0; x < band.across; ++x) {
      if (!step()) return false;
      const bool now = band.blocks[size_t{y} * band.across + x].included
                           ? in.bit() != 0
                           : band.inclusion.is_below(in, x, y, layer + 1);
      if (in.overrun()) return true;
      if (now && !block_header(in, band, x, y)) return false;
    }
  }
  return true;
}

void TileChecker::sop() {
  Reader in(cs_.bytes.first(end_), at_);
  if (in.u16() != kSop) return;
  const uint32_t length = in.u16(), number = in.u16();
  if ((cod_.scod & 2) == 0)
    report_.error("sop-unexpected", "T.800 Table A.13", at_, "SOP", "none: bit 1 of Scod is 0");
  if (length != 4) report_.error("sop-length", "T.800 A.8.1", at_ + 2, text(length), "4");
  if (number != packets_ % 65536)
    report_.error("sop-number", "T.800 A.8.1", at_ + 4, text(number), text(packets_ % 65536));
  at_ = std::min(at_ + 6, end_);
}

void TileChecker::eph(Bytes bytes, size_t& at) {
  const bool found = Reader(bytes, at).u16() == kEph && at + 2 <= bytes.size();
  const bool expected = (cod_.scod & 4) != 0;
  if (found && !expected)
    report_.error("eph-unexpected", "T.800 Table A.13", at_, "EPH", "none: bit 2 of Scod is 0");
  if (!found && expected)
    report_.error("eph-missing", "T.800 A.8.2", at_, "no EPH", "EPH behind each packet header");
  if (found) at += 2;
}

bool TileChecker::header(const Resolution& resolution, uint64_t index, Precinct& precinct,
                         uint32_t layer) {
  contributions_.clear();
  const bool packed = part().has_packed_headers;
  const Bytes bytes = packed ? Bytes(part().packet_headers) : cs_.bytes.first(end_);
  HeaderBits in(bytes, packed ? packed_at_ : at_);
  if (in.bit() != 0) {
    if (!precinct.made && !make_precinct(resolution, index, precinct)) return false;
    for (BandBlocks& band : precinct.bands) {
      if (!stopped_) band_header(in, band, layer);
    }
  }
  size_t at = in.finish();
  if (in.stuffing_wrong())
    return fail("packet-header-stuffing", "T.800 B.10.1", "a byte above 0x7F behind 0xFF",
                "a 0 bit behind 0xFF");
  if (stopped_) return false;
  if (in.overrun())
    return fail("packet-truncated", "T.800 B.10", "a packet header behind the end of the data",
                "whole packets in a tile-part");
  eph(bytes, at);
  (packed ? packed_at_ : at_) = at;
  return true;
}

void TileChecker::check_bytes(const Contribution& contribution, Bytes bytes, size_t offset) {
  uint8_t last = contribution.block->last_byte;
  const uint8_t most = contribution.raw ? 0x7F : 0x8F;
  for (size_t i = 0; i < bytes.size();) {
    if (last == 0xFF && bytes[i] > most)
      report_.error("block-stuffing", contribution.raw ? "T.800 D.6" : "T.800 C.2.8, D.4.1",
                    offset + i, hex(bytes[i], 2) + " behind 0xFF", "at most " + hex(most, 2));
    const void* next = std::memchr(&bytes[i], 0xFF, bytes.size() - i);
    if (next == nullptr) {
      last = bytes.back();
      break;
    }
    last = 0xFF;
    i = static_cast<size_t>(static_cast<const uint8_t*>(next) - bytes.data()) + 1;
  }
  if (contribution.ends && last == 0xFF)
    report_.error("block-segment-end", "T.800 C.2.9, D.4.1", offset + bytes.size(),
                  "a codeword segment that ends in 0xFF", "the 0xFF is discarded");
  contribution.block->last_byte = contribution.ends ? 0 : last;
}

void TileChecker::check_cleanup(const Contribution& c, Bytes bytes, size_t offset) {
  if (c.left > 0 && part().unfinished_blocks++ == 0) part().first_unfinished = offset;
  if (c.bytes < kLeastCleanupBytes || c.bytes > kMostCleanupBytes) {
    report_.error("ht-cleanup-bytes", "T.814 7.1", offset, text(c.bytes),
                  text(kLeastCleanupBytes) + " .. " + text(kMostCleanupBytes));
    return;
  }
  const uint32_t tail = cleanup_tail_bytes(bytes);
  if (tail < 2 || tail > std::min<uint64_t>(c.bytes, kMostTailBytes)) {
    report_.error("ht-cleanup-tail", "T.814 7.1", offset + bytes.size() - 2,
                  "Scup " + text(tail) + " of " + text(c.bytes) + " bytes",
                  "2 .. 4079, at most the cleanup segment");
    return;
  }
  const std::optional<Ccap15> cap = ccap15_of(cs_);
  if (!cap || c.planes <= cap->magnitude_bits()) return;
  steps_ += uint64_t{c.width} * c.height;
  const auto found = cleanup_magnitude_bits(bytes, c.width, c.height);
  if (!found) {
    report_.error("ht-cleanup", "T.814 7.3", offset, "a codeword that does not exist",
                  "the CxtVLC codewords of Annex C, within the code-block");
  } else if (*found > cap->magnitude_bits()) {
    report_.error("ht-magnitudes", "T.814 Annex A (CAP)", offset,
                  "a magnitude of " + text(*found) + " bits in a cleanup pass",
                  "at most B = " + text(cap->magnitude_bits()));
  }
}

void TileChecker::check_refinement(const Contribution& c, size_t offset) {
  Block& block = *c.block;
  const uint64_t bytes = block.refinement_bytes + c.bytes;
  block.refinement_bytes =
      static_cast<uint16_t>(std::min<uint64_t>(bytes, kMostRefinementBytes + 1));
  if (bytes > kMostRefinementBytes)
    report_.error("ht-refinement-bytes", "T.814 7.1", offset, text(bytes),
                  "at most " + text(kMostRefinementBytes));
  if (bytes == 0)
    report_.warning("ht-refinement-empty", "T.814, common decoders", offset,
                    "SigProp or MagRef without bytes", "one byte: decoders drop the passes");
}

/// No code from 0xFF90 to 0xFFFF may stand in packets, nor across their ends (A.1).
void TileChecker::check_markers(size_t begin, size_t end) {
  for (size_t i = begin; i + 1 < cs_.bytes.size() && i < end; ++i) {
    const void* next = std::memchr(&cs_.bytes[i], 0xFF, end - i);
    if (next == nullptr) return;
    i = static_cast<size_t>(static_cast<const uint8_t*>(next) - cs_.bytes.data());
    if (i + 1 < cs_.bytes.size() && cs_.bytes[i + 1] > 0x8F)
      report_.error("packet-marker", "T.800 A.1, B.10.1", i,
                    hex(0xFF00u | cs_.bytes[i + 1]) + " in a packet", "at most 0xFF8F");
  }
}

bool TileChecker::body() {
  uint64_t total = 0;
  for (const Contribution& c : contributions_) total += c.bytes;
  if (total > end_ - at_)
    return fail("packet-truncated", "T.800 A.4.2, B.9", text(total) + " bytes in a packet",
                "at most the " + text(end_ - at_) + " bytes that the tile-part has left");
  const size_t begin = at_;
  for (const Contribution& c : contributions_) {
    check_bytes(c, cs_.bytes.subspan(at_, c.bytes), at_);
    if (c.kind == Segments::kCleanup) check_cleanup(c, cs_.bytes.subspan(at_, c.bytes), at_);
    if (c.kind == Segments::kRefinement) check_refinement(c, at_);
    at_ += c.bytes;
    steps_ += c.bytes;
  }
  check_markers(begin, at_);
  return true;
}

/// PLT, PLM: with the packet header if that is not elsewhere. SOP is left out by some encoders.
void TileChecker::check_length(size_t begin) {
  const TilePart& p = part();
  if (!p.has_plt || p.num_packets >= p.packet_lengths.size()) return;
  const PacketLength& length = p.packet_lengths[p.num_packets];
  const uint64_t bytes = at_ - begin;
  const bool sop = Reader(cs_.bytes, begin).u16() == kSop;
  if (length.bytes == bytes || (sop && length.bytes + 6 == bytes)) return;
  report_.error(
      "plt-bytes", "T.800 A.7.2, A.7.3", length.offset, text(length.bytes),
      text(bytes) + ", the length of packet " + text(p.num_packets) + " of the tile-part");
}

bool TileChecker::packet(uint32_t c, uint32_t r, uint64_t index, uint32_t layer) {
  std::vector<Precinct>& precincts = precincts_[c][r];
  if (index >= precincts.size()) precincts.resize(index + 1);
  if (precincts[index].layers > layer) return true;  // an earlier progression had it
  if (layer >= cod_.layers) return true;
  while (part_is_done()) {
    if (part_ + 1 == tile_.parts.size()) {
      return fail("packet-missing", "T.800 B.9, B.12",
                  "no packet of layer " + text(layer) + ", resolution " + text(r) + ", component " +
                      text(c) + ", precinct " + text(index),
                  "every packet of tile " + text(index_));
    }
    ++part_;
    begin_part();
  }
  const size_t begin = at_;
  style_ = geometry_.components[c].style->block_style;
  const Resolution& resolution = geometry_.components[c].resolutions[r];
  sop();
  header_offset_ = at_;
  if (!header(resolution, index, precincts[index], layer)) return false;
  if (!part().has_packed_headers)
    check_markers(header_offset_, at_ - ((cod_.scod & 4) != 0 ? 2 : 0));
  if (!body()) return false;
  check_length(begin);
  TilePart& p = part();
  ++p.num_packets;
  ++packets_;
  p.first_component = std::min(p.first_component, c);
  p.last_component = std::max(p.last_component, c);
  p.first_resolution = std::min(p.first_resolution, r);
  p.last_resolution = std::max(p.last_resolution, r);
  precincts[index].layers = layer + 1;
  return true;
}

void TileChecker::walk() {
  const PacketVisitor visitor = {
      [this](uint32_t c, uint32_t r, uint64_t p, uint32_t l) { return packet(c, r, p, l); },
      [this] { return step(); }};
  const auto& own = tile_.header.progressions;
  const auto& progressions = own.empty() ? cs_.main.progressions : own;
  for (const Progression& progression : progressions) {
    if (!walk_packets(geometry_, progression, visitor)) return;
  }
  const Progression rest = {0, 0, cod_.layers, 33, UINT32_MAX, cod_.progression};
  if (progressions.empty()) {
    walk_packets(geometry_, rest, visitor);
    return;
  }
  // With POC its progressions must name every packet.
  const PacketVisitor named = {[this](uint32_t c, uint32_t r, uint64_t p, uint32_t l) {
                                 if (p < precincts_[c][r].size() && precincts_[c][r][p].layers > l)
                                   return true;
                                 return fail("poc-incomplete", "T.800 A.6.6",
                                             "no progression has layer " + text(l) +
                                                 ", resolution " + text(r) + ", component " +
                                                 text(c),
                                             "every packet in a progression");
                               },
                               [this] { return step(); }};
  walk_packets(geometry_, rest, named);
}

void TileChecker::check_open_segments() {
  for (const auto& resolutions : precincts_) {
    for (const auto& precincts : resolutions) {
      for (const Precinct& precinct : precincts) {
        for (const BandBlocks& band : precinct.bands) {
          for (const Block& block : band.blocks) {
            if (block.last_byte == 0xFF)
              report_.error("block-segment-end", "T.800 C.2.9, D.4.1", at_,
                            "a code-block of tile " + text(index_) + " ends in 0xFF",
                            "the 0xFF is discarded");
          }
        }
      }
    }
  }
}

void TileChecker::check_rest() {
  for (; part_ < tile_.parts.size(); ++part_) {
    if (part().num_packets == 0) begin_part();
    if (at_ < end_)
      report_.error("tile-part-rest", "T.800 A.4.2, B.9", at_,
                    text(end_ - at_) + " bytes behind the last packet", "none");
    if (part().has_packed_headers && packed_at_ < part().packet_headers.size())
      report_.error(
          "packed-headers-rest", "T.800 A.7.4, A.7.5", part().offset,
          text(part().packet_headers.size() - packed_at_) + " bytes behind the last packet header",
          "none");
  }
  for (const size_t index : tile_.parts) {
    const TilePart& p = cs_.parts[index];
    if (p.has_plt && p.packet_lengths.size() != p.num_packets)
      report_.error("plt-count", "T.800 A.7.2, A.7.3", p.offset,
                    text(p.packet_lengths.size()) + " lengths",
                    text(p.num_packets) + ", one per packet");
  }
}

void TileChecker::run() {
  for (uint32_t c = 0; c < cs_.siz.components.size(); ++c) {
    const bool mixed = (cs_.style_of(tile_, c).block_style & 0xC0) == 0xC0;
    const std::optional<Ccap15> cap = ccap15_of(cs_);
    if (mixed || (cap && cap->many_sets())) {
      report_.warning("ht-packets", "T.814", cs_.style_of(tile_, c).offset + 3,
                      mixed ? "code-blocks of both kinds" : "code-blocks with many HT sets",
                      "the packets of tile " + text(index_) + " are not checked");
      return;
    }
    if (!step()) return;
  }
  geometry_ = make_geometry(cs_, index_, tile_);
  for (const TileComponent& component : geometry_.components) {
    steps_ += component.resolutions.size();
    precincts_.emplace_back(component.resolutions.size());
  }
  begin_part();
  walk();
  if (stopped_) return;
  check_open_segments();
  check_rest();
}

}  // namespace

void check_packets(Codestream& codestream, const Limits& limits, Report& report) {
  if (!codestream.usable) return;
  uint64_t steps = 0;
  for (const auto& [index, tile] : codestream.tiles) {
    if (tile.parts.empty()) continue;
    if (steps >= limits.most_steps) return;
    TileChecker(codestream, index, tile, limits, steps, report).run();
  }
}

}  // namespace cj2k_check
