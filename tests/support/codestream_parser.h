// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// A reader of codestreams for tests, written from T.800 Annexes A and B. It shares no code with the
// writer. It reads the markers, and the packets down to the passes and bytes of each code-block;
// only the places of code-blocks and packets come from the plan. A violation fails the running
// doctest case.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace cj2k::test {

using Bytes = std::span<const uint8_t>;

inline uint32_t get_be(Bytes bytes, size_t at, int count) {
  REQUIRE(at + count <= bytes.size());
  uint32_t value = 0;
  for (int i = 0; i < count; ++i) value = value << 8 | bytes[at + i];
  return value;
}

struct ParsedTilePart {
  uint32_t tile, index, count;
  size_t begin;  // offset of SOT
  uint32_t psot;
  size_t data, end;  // offsets: after SOD, end of the tile-part
  std::vector<uint64_t> plt;
  std::vector<uint32_t> plt_segments;  // Lplt of each PLT
};

struct ParsedCodestream {
  Bytes siz, cap, cod, qcd;  // the bytes after the length field; cap may be empty
  std::map<uint32_t, Bytes> qcc;
  struct Progression {
    uint32_t resolution_begin, component_begin, layer_end, resolution_end, component_end, order;
  };
  std::vector<Progression> poc;
  std::map<uint32_t, uint32_t> rgn;  // component to shift
  struct TlmEntry {
    uint32_t tile, bytes;
  };
  std::vector<TlmEntry> tlm;
  std::vector<size_t> tlm_entries;     // entries of each TLM
  std::vector<std::string> comments;   // COM with Rcom 1
  std::vector<size_t> padding;         // bytes of each COM with Rcom 0, marker included
  std::vector<uint16_t> main_markers;  // in their order
  size_t main_header_bytes = 0;
  std::vector<ParsedTilePart> tile_parts;
  size_t end = 0;  // offset after EOC
};

/// A.7.1, from Ztlm on.
inline void parse_tlm(Bytes body, ParsedCodestream* out) {
  REQUIRE((body[1] & ~0x70) == 0);
  const int index_bytes = body[1] >> 4 & 3;
  const int length_bytes = body[1] & 0x40 ? 4 : 2;
  REQUIRE((body.size() - 2) % (index_bytes + length_bytes) == 0);
  out->tlm_entries.push_back((body.size() - 2) / (index_bytes + length_bytes));
  for (size_t i = 2; i < body.size(); i += index_bytes + length_bytes) {
    REQUIRE(index_bytes > 0);
    out->tlm.push_back({get_be(body, i, index_bytes), get_be(body, i + index_bytes, length_bytes)});
  }
}

/// A.6.6, with fewer than 257 components.
inline void parse_poc(Bytes body, ParsedCodestream* out) {
  REQUIRE(out->poc.empty());
  REQUIRE(!body.empty());
  REQUIRE(body.size() % 7 == 0);
  for (size_t i = 0; i < body.size(); i += 7) {
    out->poc.push_back({get_be(body, i, 1), get_be(body, i + 1, 1), get_be(body, i + 2, 2),
                        get_be(body, i + 4, 1), get_be(body, i + 5, 1), get_be(body, i + 6, 1)});
  }
}

/// The header and the extent of the tile-part whose SOT is at `at`.
inline ParsedTilePart parse_tile_part(Bytes in, size_t at) {
  ParsedTilePart part = {};
  part.begin = at;
  REQUIRE(get_be(in, at + 2, 2) == 10);
  part.tile = get_be(in, at + 4, 2);
  part.psot = get_be(in, at + 6, 4);
  part.index = get_be(in, at + 10, 1);
  part.count = get_be(in, at + 11, 1);
  part.end = at + part.psot;
  REQUIRE(part.end <= in.size());
  at += 12;
  while (get_be(in, at, 2) != 0xFF93) {
    REQUIRE(get_be(in, at, 2) == 0xFF58);
    const uint32_t length = get_be(in, at + 2, 2);
    const Bytes body = in.subspan(at + 4, length - 2);
    REQUIRE(body[0] == part.plt_segments.size());
    part.plt_segments.push_back(length);
    uint64_t value = 0;
    bool open = false;
    for (size_t i = 1; i < body.size(); ++i) {
      value = value << 7 | (body[i] & 0x7F);
      open = body[i] & 0x80;
      if (open) continue;
      part.plt.push_back(value);
      value = 0;
    }
    REQUIRE_FALSE(open);
    at += 2 + length;
  }
  part.data = at + 2;
  REQUIRE(part.data <= part.end);
  return part;
}

inline void parse_cap(Bytes body, ParsedCodestream* out) {
  REQUIRE(out->main_markers.size() == 2);  // directly after SIZ
  REQUIRE(body.size() == 6);
  REQUIRE(get_be(body, 0, 4) == 0x00020000);  // Part 15 alone
  out->cap = body;
}

inline ParsedCodestream parse_codestream(Bytes in) {
  ParsedCodestream out;
  REQUIRE(get_be(in, 0, 2) == 0xFF4F);
  size_t at = 2;
  uint32_t tlm_segments = 0;
  while (true) {
    const uint32_t marker = get_be(in, at, 2);
    if (marker == 0xFF90) break;
    out.main_markers.push_back(static_cast<uint16_t>(marker));
    const uint32_t length = get_be(in, at + 2, 2);
    REQUIRE(length >= 2);
    REQUIRE(at + 2 + length <= in.size());
    const Bytes body = in.subspan(at + 4, length - 2);
    switch (marker) {
      case 0xFF51:
        REQUIRE(at == 2);
        out.siz = body;
        break;
      case 0xFF50:
        parse_cap(body, &out);
        break;
      case 0xFF52:
        REQUIRE(out.cod.empty());
        out.cod = body;
        break;
      case 0xFF5C:
        REQUIRE(out.qcd.empty());
        out.qcd = body;
        break;
      case 0xFF5D:
        REQUIRE(out.qcc.count(body[0]) == 0);
        out.qcc[body[0]] = body.subspan(1);
        break;
      case 0xFF5E:
        REQUIRE(body.size() == 3);
        REQUIRE(out.rgn.count(body[0]) == 0);
        REQUIRE(body[1] == 0);
        out.rgn[body[0]] = body[2];
        break;
      case 0xFF5F:
        parse_poc(body, &out);
        break;
      case 0xFF55:
        REQUIRE(body[0] == tlm_segments++);
        parse_tlm(body, &out);
        break;
      case 0xFF64:
        REQUIRE(length >= 5);
        if (get_be(body, 0, 2) == 1) {
          out.comments.emplace_back(body.begin() + 2, body.end());
        } else {
          REQUIRE(get_be(body, 0, 2) == 0);
          out.padding.push_back(length + 2);
        }
        break;
      default:
        FAIL("unexpected marker in the main header");
    }
    at += 2 + length;
  }
  REQUIRE(!out.siz.empty());
  REQUIRE(!out.cod.empty());
  REQUIRE(!out.qcd.empty());
  out.main_header_bytes = at;

  while (get_be(in, at, 2) == 0xFF90) {
    const ParsedTilePart part = parse_tile_part(in, at);
    at = part.end;
    out.tile_parts.push_back(part);
  }
  REQUIRE(get_be(in, at, 2) == 0xFFD9);
  out.end = at + 2;
  return out;
}

/// The bits of a packet header, B.10.1.
class HeaderBits {
 public:
  explicit HeaderBits(Bytes in) : in_(in) {}
  uint32_t bit() {
    if (left_ == 0) {
      REQUIRE(at_ < in_.size());
      const bool stuffed = at_ > 0 && in_[at_ - 1] == 0xFF;
      byte_ = in_[at_++];
      left_ = stuffed ? 7 : 8;
      if (stuffed) REQUIRE((byte_ & 0x80) == 0);
    }
    return byte_ >> --left_ & 1;
  }
  uint32_t bits(int count) {
    uint32_t value = 0;
    while (count-- > 0) value = value << 1 | bit();
    return value;
  }
  /// @return bytes of the whole header
  size_t finish() {
    while (left_ > 0) REQUIRE(bit() == 0);
    if (at_ > 0 && in_[at_ - 1] == 0xFF) {
      REQUIRE(at_ < in_.size());
      REQUIRE(in_[at_++] == 0);
    }
    return at_;
  }

 private:
  Bytes in_;
  size_t at_ = 0;
  uint32_t byte_ = 0;
  int left_ = 0;
};

/// Tag tree, B.10.2, as close to the text as possible.
class TagTreeReader {
 public:
  TagTreeReader(uint32_t width, uint32_t height) {
    levels_.push_back({width, std::vector<Node>(size_t{width} * height)});
    while (width > 1 || height > 1) {
      width = (width + 1) / 2;
      height = (height + 1) / 2;
      levels_.push_back({width, std::vector<Node>(size_t{width} * height)});
    }
  }
  /// @return whether the value of leaf (x, y) is below `threshold`. *value = that value, or the
  ///         bound reached
  bool read(uint32_t x, uint32_t y, uint32_t threshold, HeaderBits& in, uint32_t* value) {
    uint32_t bound = 0;
    bool known = false;
    for (size_t level = levels_.size(); level-- > 0;) {
      Node& node = levels_[level].nodes[size_t{y >> level} * levels_[level].width + (x >> level)];
      if (node.bound < bound) node.bound = bound;
      while (!node.known && node.bound < threshold) {
        if (in.bit()) {
          node.known = true;
        } else {
          ++node.bound;
        }
      }
      bound = node.bound;
      known = node.known;
    }
    *value = bound;
    return known && bound < threshold;
  }

 private:
  struct Node {
    uint32_t bound = 0;
    bool known = false;
  };
  struct Level {
    uint32_t width;
    std::vector<Node> nodes;
  };
  std::vector<Level> levels_;
};

/// What the packets so far have said about a code-block.
struct ParsedBlock {
  bool included = false;
  uint32_t first_layer = 0;
  uint32_t zero_planes = 0;
  uint32_t passes = 0;
  uint32_t lblock = 3;
  std::vector<uint8_t> data;
  struct Segment {
    uint32_t end_pass, end_byte;
    // The style terminates the segment here; false: only the packet ends.
    bool terminated;
  };
  std::vector<Segment> segments;
};

class PacketReader {
 public:
  explicit PacketReader(const Plan& plan) : plan_(plan), blocks(plan.blocks.size()) {
    for (const Precinct& precinct : plan.precincts) {
      const uint32_t num_bands = plan.resolutions[precinct.resolution].num_subbands;
      std::vector<Trees>& bands = trees_.emplace_back();
      for (uint32_t b = 0; b < num_bands; ++b) {
        const PrecinctBand& band = plan.precinct_bands[precinct.first_precinct_band + b];
        bands.push_back(
            {{band.blocks_wide, band.blocks_high}, {band.blocks_wide, band.blocks_high}});
      }
    }
  }

  /// Reads the packet of `ref` from the start of `in`. @return bytes of the packet
  size_t read(const PacketRef& ref, uint32_t number_in_tile, Bytes in) {
    size_t at = 0;
    if (plan_.params.sop) {
      REQUIRE(get_be(in, 0, 2) == 0xFF91);
      REQUIRE(get_be(in, 2, 2) == 4);
      REQUIRE(get_be(in, 4, 2) == (number_in_tile & 0xFFFF));
      at = 6;
    }
    struct Body {
      ParsedBlock* block;
      uint32_t bytes;
    };
    std::vector<Body> bodies;
    HeaderBits bits(in.subspan(at));
    const Precinct& precinct = plan_.precincts[ref.precinct];
    const bool empty = bits.bit() == 0;
    const uint32_t num_bands = plan_.resolutions[precinct.resolution].num_subbands;
    for (uint32_t b = 0; !empty && b < num_bands; ++b) {
      const PrecinctBand& band = plan_.precinct_bands[precinct.first_precinct_band + b];
      Trees& trees = trees_[ref.precinct][b];
      for (uint32_t i = 0; i < band.blocks_wide * band.blocks_high; ++i) {
        const uint32_t x = i % band.blocks_wide, y = i / band.blocks_wide;
        ParsedBlock& block = blocks[band.first_block + i];
        if (block.included) {
          if (!bits.bit()) continue;
        } else {
          uint32_t value = 0;
          if (!trees.inclusion.read(x, y, ref.layer + 1, bits, &value)) continue;
          REQUIRE(value <= ref.layer);
          block.first_layer = ref.layer;
          // Not earlier: a value that is told too early would be wrong from here on (B.10.4).
          REQUIRE(value == ref.layer);
          block.included = true;
          REQUIRE(trees.zero_planes.read(x, y, 1000, bits, &block.zero_planes));
        }
        const uint32_t passes = read_passes(bits);
        while (bits.bit()) ++block.lblock;
        const uint32_t end_pass = block.passes + passes;
        uint32_t begin_pass = block.passes;
        uint32_t bytes = 0;
        for (uint32_t pass = block.passes; pass < end_pass; ++pass) {
          const bool terminated = terminates(plan_.params, pass);
          if (!terminated && pass + 1 < end_pass) continue;
          const uint32_t in_segment = pass + 1 - begin_pass;
          int log2 = 0;
          while (in_segment >> (log2 + 1)) ++log2;
          bytes += bits.bits(static_cast<int>(block.lblock) + log2);
          block.segments.push_back(
              {pass + 1, static_cast<uint32_t>(block.data.size()) + bytes, terminated});
          begin_pass = pass + 1;
        }
        block.passes = end_pass;
        bodies.push_back({&block, bytes});
      }
    }
    if (!empty) REQUIRE(!bodies.empty());
    at += bits.finish();
    if (plan_.params.eph) {
      REQUIRE(get_be(in, at, 2) == 0xFF92);
      at += 2;
    }
    last = bodies.empty() ? nullptr : bodies.back().block;
    for (const Body& body : bodies) {
      REQUIRE(at + body.bytes <= in.size());
      body.block->data.insert(body.block->data.end(), in.begin() + at,
                              in.begin() + at + body.bytes);
      at += body.bytes;
    }
    return at;
  }

 private:
  struct Trees {
    TagTreeReader inclusion, zero_planes;
  };

  // Table B.4
  static uint32_t read_passes(HeaderBits& bits) {
    if (!bits.bit()) return 1;
    if (!bits.bit()) return 2;
    uint32_t value = bits.bits(2);
    if (value < 3) return 3 + value;
    value = bits.bits(5);
    if (value < 31) return 6 + value;
    return 37 + bits.bits(7);
  }

  // Table D.9, row by row. Pass 0 is a clean-up pass; then significance, refinement and clean-up
  // passes alternate. All passes up to the clean-up pass of the fourth bit-plane (index 9) use
  // arithmetic coding, and that pass is the first to be terminated.
  // T.814 B.1: a cleanup pass is a segment, SigProp and MagRef together are one.
  static bool terminates(const cj2k_params& p, uint32_t pass) {
    if (p.coder == CJ2K_CODER_HT) return pass != 1;
    const auto style = static_cast<uint32_t>(p.cblk_style);
    const bool termall = style & 4, bypass = style & 1;
    if (termall) return true;
    if (!bypass) return false;
    const bool refinement = pass % 3 == 2, cleanup = pass % 3 == 0;
    if (pass < 9) return false;
    return refinement || cleanup;
  }

  const Plan& plan_;
  std::vector<std::vector<Trees>> trees_;

 public:
  std::vector<ParsedBlock> blocks;
  ParsedBlock* last = nullptr;  ///< last block of the latest packet; null: the packet is empty
};

}  // namespace cj2k::test
