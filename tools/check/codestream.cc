// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "codestream.h"

#include <algorithm>
#include <string>

#include "reader.h"
#include "segments.h"

namespace cj2k_check {
namespace {

std::string text(uint64_t value) { return std::to_string(value); }

const MarkerRow* row_of(uint16_t code) {
  for (const MarkerRow& row : kMarkers) {
    if (row.code == code) return &row;
  }
  return nullptr;
}

class Parser {
 public:
  Parser(Bytes bytes, Report& report) : report_(report) { cs_.bytes = bytes; }
  Codestream run();

 private:
  enum class Next { kSegment, kTilePart, kSod, kEoc, kEnd };

  /// Reads the marker at `at_` and, if it has one, its segment.
  Next next(Segment& segment, uint16_t& code, const std::vector<MarkerSegment>& before,
            Place place);
  void check_place(uint16_t code, size_t offset, const std::vector<MarkerSegment>& before,
                   Place place);
  bool main_header();
  void main_segment(uint16_t code, const Segment& segment);
  /// @return false: nothing behind it can be found
  bool tile_part();
  bool tile_part_header(TilePart& part, Tile& tile);
  bool tile_part_end(TilePart& part, uint64_t psot);
  void check_order(const TilePart& part, const Tile& tile);
  void finish();
  void check_tiles();

  Report& report_;
  Codestream cs_;
  Tables tables_;
  size_t at_ = 0;
  bool broken_ = false;
  bool ended_ = false;  // by EOC
};

Parser::Next Parser::next(Segment& segment, uint16_t& code,
                          const std::vector<MarkerSegment>& before, Place place) {
  Reader in(cs_.bytes, at_);
  code = in.u16();
  if (in.failed()) return Next::kEnd;
  if (code == kSot) return Next::kTilePart;
  if (code == kSod) return Next::kSod;
  if (code == kEoc) return Next::kEoc;
  if (code < 0xFF00) {
    report_.error("marker-expected", "T.800 A.1", at_, hex(code), "a marker, 0xFF and a code");
    return Next::kEnd;
  }
  segment.offset = at_;
  const MarkerRow* row = row_of(code);
  // 0xFF30 to 0xFF3F have no segments.
  const bool alone = (code >= 0xFF30 && code <= 0xFF3F) || code == kSoc || code == kEph;
  const size_t length = alone ? 0 : in.u16();
  if (!alone && (length < 2 || in.failed() || length - 2 > in.left())) {
    report_.error("marker-length", row != nullptr ? row->clause : "T.800 A.1.3", at_ + 2,
                  marker_name(code) + " of " + text(length) + " bytes",
                  "at least 2, and within the codestream");
    return Next::kEnd;
  }
  segment.body = alone ? Bytes() : cs_.bytes.subspan(at_ + 4, length - 2);
  check_place(code, at_, before, place);
  at_ += 2 + length;
  return Next::kSegment;
}

void Parser::check_place(uint16_t code, size_t offset, const std::vector<MarkerSegment>& before,
                         Place place) {
  const MarkerRow* row = row_of(code);
  if (row == nullptr) {
    // Other parts of the standard have markers of their own, which Rsiz announces.
    if ((cs_.siz.rsiz & 0xC000) != 0) {
      report_.warning("marker-unknown", "T.800 Table A.2", offset, hex(code), "a marker of Part 1");
    } else {
      report_.error("marker-unknown", "T.800 Table A.2", offset, hex(code), "a marker of Part 1");
    }
    return;
  }
  const bool first_tile_part = place == kInFirstTilePart;
  if ((row->places & place) == 0 && !(first_tile_part && (row->places & kInTilePart) != 0))
    report_.error("marker-place", row->clause, offset,
                  marker_name(code) + (place == kInMain  ? " in the main header"
                                       : first_tile_part ? " in a tile-part header"
                                                         : " in a tile-part that is not the first"),
                  "not there (T.800 Table A.2)");
  const auto same = [&](const MarkerSegment& other) { return other.code == code; };
  if (row->once && std::any_of(before.begin(), before.end(), same))
    report_.error("marker-twice", row->clause, offset, "another " + marker_name(code),
                  "one in a header");
}

void Parser::main_segment(uint16_t code, const Segment& segment) {
  Context context{cs_, cs_.main, report_, true, broken_};
  switch (code) {
    case kCap:
      return parse_cap(segment, context);
    case kCod:
      return parse_cod(segment, context);
    case kCoc:
      return parse_coc(segment, context);
    case kQcd:
      return parse_qcd(segment, context);
    case kQcc:
      return parse_qcc(segment, context);
    case kRgn:
      return parse_rgn(segment, context);
    case kPoc:
      return parse_poc(segment, context);
    case kTlm:
      return tables_.tlm(segment, context);
    case kPlm:
      return tables_.plm(segment, context);
    case kPpm:
      return tables_.ppm(segment, context);
    case kCrg:
      return parse_crg(segment, context);
    case kCom:
      return parse_com(segment, context);
    default:
      return;
  }
}

bool Parser::main_header() {
  Reader in(cs_.bytes);
  if (in.u16() != kSoc) {
    report_.error("soc", "T.800 A.4.1", 0, hex(Reader(cs_.bytes).u16()), "SOC (0xFF4F)");
    return false;
  }
  at_ = 2;
  if (in.u16() != kSiz) {
    report_.error("siz-place", "T.800 A.5.1", 2, marker_name(Reader(cs_.bytes, 2).u16()),
                  "SIZ immediately behind SOC");
    return false;
  }
  for (;;) {
    Segment segment;
    uint16_t code = 0;
    const Next kind = next(segment, code, cs_.main_markers, kInMain);
    if (kind == Next::kSegment) {
      if (code == kSiz && cs_.main_markers.empty()) {
        Context context{cs_, cs_.main, report_, true, broken_};
        parse_siz(segment, context);
      } else {
        main_segment(code, segment);
      }
      cs_.main_markers.push_back({code, segment.offset, at_ - segment.offset});
      continue;
    }
    if (kind == Next::kTilePart) break;
    if (code == kSod)
      report_.error("marker-place", "T.800 A.4.3", at_, "SOD in the main header", "behind SOT");
    if (kind == Next::kEnd || kind == Next::kSod) return false;
    break;
  }
  if (!cs_.main.cod)
    report_.error("cod-missing", "T.800 A.6.1", at_, "no COD", "one in the main header");
  if (!cs_.main.qcd)
    report_.error("qcd-missing", "T.800 A.6.4", at_, "no QCD", "one in the main header");
  if (((cs_.siz.rsiz & 0x4000) != 0) != cs_.has_marker(kCap))
    report_.error("cap-rsiz", "T.800 A.5.2", cs_.siz.offset + 4, "Rsiz " + hex(cs_.siz.rsiz),
                  "bit 14 set if, and only if, there is a CAP");
  broken_ |= !cs_.main.cod || !cs_.main.qcd;
  if (!broken_) check_header(cs_, nullptr, report_, broken_);
  return true;
}

bool Parser::tile_part_header(TilePart& part, Tile& tile) {
  tables_.begin_tile_part();
  Context context{cs_, tile.header, report_, false, broken_};
  const Place place = part.index == 0 ? kInFirstTilePart : kInTilePart;
  for (;;) {
    Segment segment;
    uint16_t code = 0;
    const Next kind = next(segment, code, part.markers, place);
    if (kind == Next::kSod) return true;
    if (kind != Next::kSegment) {
      if (kind != Next::kEnd || at_ >= cs_.bytes.size())
        report_.error("sod-missing", "T.800 A.4.3", at_,
                      at_ < cs_.bytes.size() ? marker_name(code) : "the end",
                      "SOD behind the headers of a tile-part");
      return false;
    }
    switch (code) {
      case kCod:
        parse_cod(segment, context);
        break;
      case kCoc:
        parse_coc(segment, context);
        break;
      case kQcd:
        parse_qcd(segment, context);
        break;
      case kQcc:
        parse_qcc(segment, context);
        break;
      case kRgn:
        parse_rgn(segment, context);
        break;
      case kPoc:
        parse_poc(segment, context);
        break;
      case kPlt:
        tables_.plt(segment, part, report_);
        break;
      case kPpt:
        tables_.ppt(segment, part, report_);
        break;
      case kCom:
        parse_com(segment, context);
        break;
      default:
        break;
    }
    part.markers.push_back({code, segment.offset, at_ - segment.offset});
  }
}

void Parser::check_order(const TilePart& part, const Tile& tile) {
  if (part.index != tile.parts.size())
    report_.error("sot-tpsot", "T.800 A.4.2", part.offset + 10, text(part.index),
                  text(tile.parts.size()) + ", counted from 0 in each tile");
  uint8_t count = part.count;
  for (const size_t other : tile.parts) count = std::max(count, cs_.parts[other].count);
  if (part.count != 0 && part.count != count)
    report_.error("sot-tnsot", "T.800 A.4.2", part.offset + 11, text(part.count),
                  text(count) + " as in another tile-part of the tile");
  if (part.count != 0 && part.index >= part.count)
    report_.error("sot-tnsot", "T.800 A.4.2", part.offset + 11, text(part.count),
                  "more than TPsot = " + text(part.index));
}

bool Parser::tile_part_end(TilePart& part, uint64_t psot) {
  const size_t total = cs_.bytes.size();
  if (psot == 0) {  // to EOC, which is the end of the codestream
    const bool eoc = total >= 2 && Reader(cs_.bytes, total - 2).u16() == kEoc;
    part.end = std::max(part.data, eoc ? total - 2 : total);
    return true;
  }
  if (psot < part.data - part.offset || psot > total - part.offset) {
    report_.error("sot-psot", "T.800 A.4.2", part.offset + 6, text(psot),
                  "at least the header, " + text(part.data - part.offset) +
                      ", at most what the codestream has left, " + text(total - part.offset));
    part.end = total;
    broken_ = true;
    return false;
  }
  part.end = part.offset + psot;
  const uint16_t code = Reader(cs_.bytes, part.end).u16();
  if (code == kSot || code == kEoc) return true;
  if (part.end < total) {
    report_.error("sot-psot", "T.800 A.4.2", part.offset + 6, text(psot),
                  "SOT or EOC behind the tile-part, not " + hex(code));
    broken_ = true;
  }
  return false;
}

bool Parser::tile_part() {
  TilePart part;
  part.offset = at_;
  Reader in(cs_.bytes, at_ + 2);
  const uint32_t length = in.u16();
  part.tile = in.u16();
  const uint64_t psot = in.u32();
  part.index = in.u8();
  part.count = in.u8();
  if (length != 10 || in.failed()) {
    report_.error("sot-length", "T.800 A.4.2", at_ + 2, text(length), "10");
    broken_ = true;
    return false;
  }
  const Siz& siz = cs_.siz;
  const bool has_tiles = !broken_ && siz.tile_width > 0 && siz.tile_height > 0;
  if (has_tiles && part.tile >= uint64_t{siz.tiles_across()} * siz.tiles_down()) {
    report_.error(
        "sot-tile", "T.800 A.4.2", at_ + 4, text(part.tile),
        "below the number of tiles, " + text(uint64_t{siz.tiles_across()} * siz.tiles_down()));
    broken_ = true;
  }
  Tile& tile = cs_.tiles[part.tile];
  check_order(part, tile);
  at_ += 12;
  if (!tile_part_header(part, tile)) {
    broken_ = true;
    return false;
  }
  part.data = at_ + 2;
  const bool more = tile_part_end(part, psot);
  at_ = part.end;
  tile.parts.push_back(cs_.parts.size());
  cs_.parts.push_back(std::move(part));
  return more;
}

void Parser::check_tiles() {
  constexpr uint64_t kMostChecked = 1 << 22;
  uint64_t checked = 0;
  const uint64_t tiles = uint64_t{cs_.siz.tiles_across()} * cs_.siz.tiles_down();
  if (cs_.tiles.size() < tiles)
    report_.error("tile-missing", "T.800 A.3", 0, text(cs_.tiles.size()) + " tiles", text(tiles));
  for (const auto& [index, tile] : cs_.tiles) {
    uint8_t count = 0;
    for (const size_t part : tile.parts) count = std::max(count, cs_.parts[part].count);
    if (tile.parts.empty()) continue;
    const TilePart& last = cs_.parts[tile.parts.back()];
    if (count != 0 && tile.parts.size() != count)
      report_.error("sot-tnsot", "T.800 A.4.2", last.offset + 11, text(count),
                    text(tile.parts.size()) + ", the tile-parts of tile " + text(index));
    const Header& own = tile.header;
    // A codestream of a few bytes can name many tiles of many components.
    checked += cs_.siz.components.size();
    if (checked > kMostChecked) continue;
    if (own.cod || own.qcd || !own.coc.empty() || !own.qcc.empty())
      check_header(cs_, &tile, report_, broken_);
  }
}

void Parser::finish() {
  Reader in(cs_.bytes, at_);
  if (in.u16() == kEoc && !in.failed()) {
    at_ += 2;
    ended_ = true;
  } else if (!broken_) {
    report_.error("eoc-missing", "T.800 A.4.4", at_, "the end", "EOC (0xFFD9)");
  }
  cs_.size = ended_ ? at_ : cs_.bytes.size();
  if (ended_ && at_ < cs_.bytes.size())
    report_.error("eoc-trailing", "T.800 A.4.4", at_,
                  text(cs_.bytes.size() - at_) + " bytes behind EOC", "none");
  if (!broken_) check_tiles();
  tables_.finish(cs_, report_);
  cs_.usable = !broken_;
}

Codestream Parser::run() {
  cs_.size = cs_.bytes.size();
  if (!main_header()) {
    broken_ = true;
    return std::move(cs_);
  }
  while (Reader(cs_.bytes, at_).u16() == kSot && tile_part()) {
  }
  finish();
  return std::move(cs_);
}

}  // namespace

bool Codestream::has_marker(uint16_t code) const {
  const auto same = [code](const MarkerSegment& m) { return m.code == code; };
  return std::any_of(main_markers.begin(), main_markers.end(), same) ||
         std::any_of(parts.begin(), parts.end(), [&](const TilePart& part) {
           return std::any_of(part.markers.begin(), part.markers.end(), same);
         });
}

// A COC of the tile comes before its COD, that before a COC and the COD of the main header (A.6).
const CodingStyle& Codestream::style_of(const Tile& tile, uint32_t component) const {
  const auto in_tile = tile.header.coc.find(component);
  if (in_tile != tile.header.coc.end()) return in_tile->second;
  if (tile.header.cod) return tile.header.cod->style;
  const auto in_main = main.coc.find(component);
  return in_main != main.coc.end() ? in_main->second : main.cod->style;
}

const Quantisation& Codestream::quantisation_of(const Tile& tile, uint32_t component) const {
  const auto in_tile = tile.header.qcc.find(component);
  if (in_tile != tile.header.qcc.end()) return in_tile->second;
  if (tile.header.qcd) return *tile.header.qcd;
  const auto in_main = main.qcc.find(component);
  return in_main != main.qcc.end() ? in_main->second : *main.qcd;
}

uint32_t Codestream::roi_shift_of(const Tile& tile, uint32_t component) const {
  const auto in_tile = tile.header.roi_shift.find(component);
  if (in_tile != tile.header.roi_shift.end()) return in_tile->second;
  const auto in_main = main.roi_shift.find(component);
  return in_main != main.roi_shift.end() ? in_main->second : 0;
}

Codestream parse_codestream(Bytes bytes, Report& report) { return Parser(bytes, report).run(); }

}  // namespace cj2k_check
