// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// A codestream as its headers describe it (T.800 Annex A). Offsets count from SOC.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "report.h"

namespace cj2k_check {

using Bytes = std::span<const uint8_t>;

enum Marker : uint16_t {
  kSoc = 0xFF4F,
  kCap = 0xFF50,
  kSiz = 0xFF51,
  kCod = 0xFF52,
  kCoc = 0xFF53,
  kTlm = 0xFF55,
  kPrf = 0xFF56,
  kPlm = 0xFF57,
  kPlt = 0xFF58,
  kCpf = 0xFF59,
  kQcd = 0xFF5C,
  kQcc = 0xFF5D,
  kRgn = 0xFF5E,
  kPoc = 0xFF5F,
  kPpm = 0xFF60,
  kPpt = 0xFF61,
  kCrg = 0xFF63,
  kCom = 0xFF64,
  kSot = 0xFF90,
  kSop = 0xFF91,
  kEph = 0xFF92,
  kSod = 0xFF93,
  kEoc = 0xFFD9,
};

/// Where a marker segment may stand (Table A.2).
enum Place : uint8_t { kInMain = 1, kInFirstTilePart = 2, kInTilePart = 4 };

struct MarkerRow {
  uint16_t code;
  const char* name;
  uint8_t places;      ///< kInTilePart: in any tile-part
  bool once;           ///< at most one in a header
  const char* clause;  ///< of T.800
};

inline constexpr MarkerRow kMarkers[] = {
    {kSoc, "SOC", 0, true, "T.800 A.4.1"},
    {kCap, "CAP", kInMain, true, "T.800 A.5.2"},
    {kSiz, "SIZ", kInMain, true, "T.800 A.5.1"},
    {kCod, "COD", kInMain | kInFirstTilePart, true, "T.800 A.6.1"},
    {kCoc, "COC", kInMain | kInFirstTilePart, false, "T.800 A.6.2"},
    {kTlm, "TLM", kInMain, false, "T.800 A.7.1"},
    {kPrf, "PRF", kInMain, true, "T.800 A.5.3"},
    {kPlm, "PLM", kInMain, false, "T.800 A.7.2"},
    {kPlt, "PLT", kInTilePart, false, "T.800 A.7.3"},
    {kCpf, "CPF", kInMain, true, "T.814 A.6"},
    {kQcd, "QCD", kInMain | kInFirstTilePart, true, "T.800 A.6.4"},
    {kQcc, "QCC", kInMain | kInFirstTilePart, false, "T.800 A.6.5"},
    {kRgn, "RGN", kInMain | kInFirstTilePart, false, "T.800 A.6.3"},
    {kPoc, "POC", kInMain | kInTilePart, true, "T.800 A.6.6"},
    {kPpm, "PPM", kInMain, false, "T.800 A.7.4"},
    {kPpt, "PPT", kInTilePart, false, "T.800 A.7.5"},
    {kCrg, "CRG", kInMain, true, "T.800 A.9.1"},
    {kCom, "COM", kInMain | kInTilePart, false, "T.800 A.9.2"},
    {kSot, "SOT", 0, true, "T.800 A.4.2"},
    {kSop, "SOP", 0, false, "T.800 A.8.1"},
    {kEph, "EPH", 0, false, "T.800 A.8.2"},
    {kSod, "SOD", 0, true, "T.800 A.4.3"},
    {kEoc, "EOC", 0, true, "T.800 A.4.4"},
};

struct SizComponent {
  uint8_t ssiz = 7, dx = 1, dy = 1;
  uint32_t depth() const { return (ssiz & 0x7Fu) + 1; }
  bool is_signed() const { return (ssiz & 0x80) != 0; }
};

struct Siz {
  uint16_t rsiz = 0;
  uint32_t x1 = 0, y1 = 0, x0 = 0, y0 = 0;                     ///< Xsiz, Ysiz, XOsiz, YOsiz
  uint32_t tile_width = 0, tile_height = 0, tx0 = 0, ty0 = 0;  ///< XTsiz, YTsiz, XTOsiz, YTOsiz
  std::vector<SizComponent> components;
  size_t offset = 0;

  /// 0 where the fields make no sense.
  uint32_t tiles_across() const { return tiles(x1, tx0, tile_width); }
  uint32_t tiles_down() const { return tiles(y1, ty0, tile_height); }

 private:
  static uint32_t tiles(uint64_t end, uint64_t begin, uint64_t size) {
    return size == 0 || end <= begin ? 0 : static_cast<uint32_t>((end - begin + size - 1) / size);
  }
};

enum BlockStyle : uint8_t {
  kBypass = 1,
  kReset = 2,
  kTermall = 4,
  kCausal = 8,
  kPredictable = 16,
  kSegmentationSymbols = 32,
  kHighThroughput = 64,  ///< T.814: HT code-blocks
};

inline constexpr uint32_t kMostLevels = 32;

/// SPcod or SPcoc.
struct CodingStyle {
  bool has_precincts = false;
  uint8_t levels = 0;
  uint8_t block_width_log2 = 6, block_height_log2 = 6;
  uint8_t block_style = 0;
  uint8_t transform = 0;                             ///< 0: 9/7, 1: 5/3
  std::array<uint8_t, kMostLevels + 1> precincts{};  ///< PPx | PPy << 4, lowest resolution first
  size_t offset = 0;
};

struct Cod {
  uint8_t scod = 0, progression = 0, mct = 0;
  uint16_t layers = 1;
  CodingStyle style;
};

/// Sqcd and SPqcd.
struct Quantisation {
  uint8_t style = 0;  ///< 0: none, 1: derived, 2: expounded
  uint8_t guard_bits = 0;
  std::vector<uint16_t> steps;  ///< exponent << 11 | mantissa
  size_t offset = 0;
};

struct Progression {
  uint32_t first_resolution = 0, first_component = 0, end_layer = 0, end_resolution = 0,
           end_component = 0;
  uint8_t order = 0;
};

/// What a main header or the headers of a tile say.
struct Header {
  std::optional<Cod> cod;
  std::map<uint32_t, CodingStyle> coc;
  std::optional<Quantisation> qcd;
  std::map<uint32_t, Quantisation> qcc;
  std::map<uint32_t, uint8_t> roi_shift;
  std::vector<Progression> progressions;
};

struct MarkerSegment {
  uint16_t code = 0;
  size_t offset = 0;  ///< of the marker
  size_t bytes = 0;   ///< marker included
};

struct PacketLength {
  uint64_t bytes;
  size_t offset;  ///< of its entry
};

struct TilePart {
  uint32_t tile = 0;
  uint8_t index = 0, count = 0;  ///< TPsot, TNsot
  size_t offset = 0;             ///< of SOT
  size_t data = 0;               ///< first byte behind SOD
  size_t end = 0;                ///< first byte behind the tile-part
  std::vector<MarkerSegment> markers;
  std::vector<PacketLength> packet_lengths;  ///< from PLT
  bool has_plt = false;
  std::vector<uint8_t> packet_headers;  ///< from PPT or PPM
  bool has_packed_headers = false;
  // Of its packets, filled by check_packets:
  uint64_t num_packets = 0;
  uint32_t first_component = UINT32_MAX, last_component = 0;
  uint32_t first_resolution = UINT32_MAX, last_resolution = 0;
  uint64_t refined_blocks = 0;     ///< HT: with SigProp or MagRef, counted in each layer
  uint64_t unfinished_blocks = 0;  ///< HT: whose cleanup pass is above bit-plane 0
  size_t first_unfinished = 0;     ///< offset of the first
};

struct Tile {
  Header header;
  std::vector<size_t> parts;  ///< indices of Codestream::parts
};

struct TlmEntry {
  uint32_t tile;
  uint64_t bytes;
  size_t offset;
};

struct Codestream {
  Bytes bytes;  ///< from SOC to the end of the frame
  Siz siz;
  Header main;
  std::vector<MarkerSegment> main_markers;
  std::vector<TilePart> parts;
  std::map<uint32_t, Tile> tiles;
  std::vector<TlmEntry> tlm;
  bool tlm_names_tiles = true;
  bool has_tlm = false, has_ppm = false, has_plm = false;
  std::vector<std::vector<PacketLength>> plm;  ///< one list per tile-part
  uint32_t pcap = 0;                           ///< CAP; bit 31 is Part 1, bit 17 is Part 15
  std::vector<uint16_t> ccap;
  size_t size = 0;      ///< up to and with EOC
  bool usable = false;  ///< SIZ, COD and QCD can be used to walk through the packets

  bool has_marker(uint16_t code) const;
  const CodingStyle& style_of(const Tile& tile, uint32_t component) const;
  const Quantisation& quantisation_of(const Tile& tile, uint32_t component) const;
  const Cod& cod_of(const Tile& tile) const {
    return tile.header.cod ? *tile.header.cod : *main.cod;
  }
  uint32_t roi_shift_of(const Tile& tile, uint32_t component) const;
};

/// Parses all headers of one codestream and reports what breaks the rules of T.800 Annex A.
Codestream parse_codestream(Bytes bytes, Report& report);

/// Bounds on the work for one codestream, since a few bytes can describe any number of code-blocks.
struct Limits {
  uint64_t most_blocks = uint64_t{1} << 24;  ///< code-blocks of a tile that have a state
  uint64_t most_steps = uint64_t{1} << 29;   ///< visits of code-blocks, precincts, bytes
};

/// Walks through all packets down to the lengths of code-blocks (T.800 Annex B) and reports what
/// does not fit. Fills what a TilePart says of its packets.
void check_packets(Codestream& codestream, const Limits& limits, Report& report);

}  // namespace cj2k_check
