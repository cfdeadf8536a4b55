// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The headers of any codestream of Part 1 or Part 15 (T.800 Annex A, T.814 Annex A), and the same
// headers as they are with another block coder.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace cj2k::transcoding {

/// Ends a transcoding.
struct Refused {
  Status status;
  std::string what;
  const uint8_t* at = nullptr;  ///< in the input; null: no place
};

/// Big-endian fields of a span. Throws Refused where they end.
class Fields {
 public:
  explicit Fields(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  uint32_t number(size_t bytes);
  size_t left() const { return bytes_.size() - at_; }
  const uint8_t* here() const { return bytes_.data() + at_; }
  std::span<const uint8_t> take(size_t bytes);

 private:
  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
};

struct Siz {
  struct Component {
    uint8_t dx, dy, depth;
  };
  uint32_t x1, y1, x0, y0, tile_width, tile_height, tile_x0, tile_y0;
  std::vector<Component> components;
  uint64_t tiles_wide() const;
  uint64_t num_tiles() const;
};

inline constexpr uint32_t kMostLevels = 32;

/// SPcod or SPcoc.
struct Style {
  uint8_t levels, width_log2, height_log2;  ///< of code-blocks
  uint8_t block_style;
  bool is_reversible;                              ///< the 5/3
  std::array<uint8_t, kMostLevels + 1> precincts;  ///< PPy << 4 | PPx of each resolution
};
/// SPqcd or SPqcc.
struct Quantisation {
  uint8_t guard_bits;
  bool is_derived;
  uint8_t count;
  std::array<uint8_t, 3 * kMostLevels + 1> exponents;
  std::array<uint16_t, 3 * kMostLevels + 1> mantissas;  ///< 0 without quantisation
};
/// A progression order change (A.6.6), or the order of COD.
struct Progression {
  uint32_t first_resolution, first_component, end_layer, end_resolution, end_component;
  uint8_t order;
};

/// What CAP of Part 15 says of headers.
struct Claims {
  bool has_coding = false;  ///< COD, COC, QCD, QCC, RGN or POC
  bool is_irreversible = false;
};

/// What is in force in a tile: of the main header, and of the tile's own.
struct Coding {
  bool has_sop = false, has_eph = false, has_mct = false;
  uint8_t order = 0;
  uint32_t layers = 0;
  std::vector<Style> styles;         ///< [component]
  std::vector<Quantisation> quants;  ///< [component]
  std::vector<uint8_t> shifts;       ///< [component] SPrgn
  std::vector<Progression> changes;  ///< of POC; empty: the order of COD
};

/// What the output is.
struct Target {
  bool is_ht;
  bool keeps_profile = false;  ///< of Part 1, as it is without HT
  bool keeps_layers = true;    ///< false: one
};

/// A tile-part as it is read.
struct InputPart {
  uint32_t tile;
  uint8_t index;
  std::span<const uint8_t> header;  ///< marker segments between SOT and SOD
  std::span<const uint8_t> body;
  bool is_packed = false;               ///< packet headers are not in `body`
  std::vector<uint8_t> packet_headers;  ///< but here (PPM, PPT)
};

struct Codestream {
  Siz siz{};
  Coding coding;                 ///< of the main header
  std::vector<uint8_t> header;   ///< of the output, from SOC on, without CAP, TLM and PPM
  size_t siz_end = 0;            ///< in `header`: where CAP belongs
  size_t tlm_at = 0;             ///< in `header`: where the first TLM was; 0: none
  Claims claims;                 ///< of the main header
  std::vector<InputPart> parts;  ///< in their order
};

/// Reads SOC to EOC. Throws Refused, std::bad_alloc.
Codestream read_codestream(std::span<const uint8_t> bytes, const Target& target);

/// The header of a tile-part.
struct PartHeader {
  std::vector<uint8_t> segments;  ///< of the output
  bool has_plt = false;
  Claims claims;
};
/// Reads it, and changes `coding` by what it says. Throws Refused, std::bad_alloc.
PartHeader read_part_header(const InputPart& part, const Target& target, Coding& coding);

}  // namespace cj2k::transcoding
