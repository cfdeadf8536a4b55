// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <string>

#include "reader.h"
#include "segments.h"

namespace cj2k_check {
namespace {

std::string text(uint64_t value) { return std::to_string(value); }

/// Reads lengths of 7 bits a byte (Table A.37); `value` is that of an unfinished one.
void read_lengths(const Segment& segment, size_t first, size_t end, uint64_t& value,
                  std::vector<PacketLength>& lengths) {
  for (size_t i = first; i < end; ++i) {
    value = value << 7 | (segment.body[i] & 0x7F);
    if ((segment.body[i] & 0x80) != 0) continue;
    lengths.push_back({value, segment.at(i)});
    value = 0;
  }
}

}  // namespace

void Tables::Counter::check(const char* rule, const char* clause, uint32_t index, size_t offset,
                            Report& report) {
  if (index != next)
    report.error(rule, clause, offset, text(index), text(next) + ", counted from 0");
  next = index + 1;
}

void Tables::tlm(const Segment& segment, Context& context) {
  Codestream& cs = context.codestream;
  Report& report = context.report;
  cs.has_tlm = true;
  Reader in(segment.body);
  const uint32_t index = in.u8();
  const uint8_t stlm = in.u8();
  tlm_index_.check("tlm-index", "T.800 A.7.1", index, segment.at(0), report);
  const int tile_bytes = stlm >> 4 & 3, length_bytes = (stlm & 0x40) != 0 ? 4 : 2;
  if ((stlm & 0x8F) != 0 || tile_bytes == 3) {
    report.error("tlm-stlm", "T.800 Table A.34", segment.at(1), hex(stlm, 2),
                 "ST 0, 1 or 2, SP 0 or 1");
    return;
  }
  const size_t entry = static_cast<size_t>(tile_bytes + length_bytes);
  if (in.left() == 0 || in.left() % entry != 0)
    report.error("tlm-length", "T.800 A.7.1", segment.offset + 2, text(segment.body.size() + 2),
                 "4 and " + text(entry) + " for each tile-part");
  if (tile_bytes == 0) cs.tlm_names_tiles = false;
  while (in.left() >= entry) {
    const size_t at = segment.at(in.at());
    const auto tile = static_cast<uint32_t>(in.number(tile_bytes));
    cs.tlm.push_back({tile, in.number(length_bytes), at});
  }
}

void Tables::plm(const Segment& segment, Context& context) {
  Codestream& cs = context.codestream;
  cs.has_plm = true;
  Reader in(segment.body);
  plm_index_.check("plm-index", "T.800 A.7.2", in.u8(), segment.at(0), context.report);
  while (in.left() > 0) {
    const size_t bytes = in.u8();
    if (bytes > in.left()) {
      context.report.error("plm-length", "T.800 A.7.2", segment.at(in.at() - 1), text(bytes),
                           "at most the " + text(in.left()) + " bytes that follow");
      return;
    }
    uint64_t value = 0;
    cs.plm.emplace_back();
    read_lengths(segment, in.at(), in.at() + bytes, value, cs.plm.back());
    for (size_t i = 0; i < bytes; ++i) in.u8();
  }
}

void Tables::ppm(const Segment& segment, Context& context) {
  Reader in(segment.body);
  if (!context.codestream.has_ppm) ppm_offset_ = segment.offset;
  context.codestream.has_ppm = true;
  ppm_index_.check("ppm-index", "T.800 A.7.4", in.u8(), segment.at(0), context.report);
  if (!segment.body.empty()) ppm_.insert(ppm_.end(), segment.body.begin() + 1, segment.body.end());
}

void Tables::begin_tile_part() {
  plt_index_ = {};
  ppt_index_ = {};
  plt_value_ = 0;
}

void Tables::plt(const Segment& segment, TilePart& part, Report& report) {
  part.has_plt = true;
  if (segment.body.empty()) return;
  plt_index_.check("plt-index", "T.800 A.7.3", segment.body[0], segment.at(0), report);
  read_lengths(segment, 1, segment.body.size(), plt_value_, part.packet_lengths);
}

void Tables::ppt(const Segment& segment, TilePart& part, Report& report) {
  part.has_packed_headers = true;
  if (segment.body.empty()) return;
  ppt_index_.check("ppt-index", "T.800 A.7.5", segment.body[0], segment.at(0), report);
  part.packet_headers.insert(part.packet_headers.end(), segment.body.begin() + 1,
                             segment.body.end());
}

void Tables::check_tlm(const Codestream& cs, Report& report) const {
  if (cs.tlm.size() != cs.parts.size())
    report.error("tlm-count", "T.800 A.7.1", cs.tlm.empty() ? 0 : cs.tlm.front().offset,
                 text(cs.tlm.size()) + " entries", text(cs.parts.size()) + ", one per tile-part");
  const size_t both = std::min(cs.tlm.size(), cs.parts.size());
  for (size_t i = 0; i < both; ++i) {
    const TlmEntry& entry = cs.tlm[i];
    const TilePart& part = cs.parts[i];
    // Without Ttlm there is one tile-part per tile, in order of the tiles.
    const uint64_t tile = cs.tlm_names_tiles ? entry.tile : i;
    if (tile != part.tile)
      report.error("tlm-tile", "T.800 A.7.1", entry.offset, text(tile),
                   text(part.tile) + ", the tile of tile-part " + text(i));
    if (entry.bytes != part.end - part.offset)
      report.error("tlm-bytes", "T.800 A.7.1", entry.offset, text(entry.bytes),
                   text(part.end - part.offset) + ", the length of tile-part " + text(i));
  }
}

void Tables::cut_ppm(Codestream& cs, Report& report) const {
  Reader in(ppm_);
  for (size_t i = 0; i < cs.parts.size(); ++i) {
    TilePart& part = cs.parts[i];
    const uint64_t bytes = in.u32();
    if (in.failed() || bytes > in.left()) {
      report.error("ppm-length", "T.800 A.7.4", ppm_offset_,
                   text(bytes) + " bytes of headers for tile-part " + text(i),
                   "at most the " + text(in.left()) + " that are left");
      return;
    }
    if (part.has_packed_headers)
      report.error("ppm-and-ppt", "T.800 A.7.5", part.offset, "PPM and PPT", "one of them");
    part.has_packed_headers = true;
    const auto first = ppm_.begin() + static_cast<ptrdiff_t>(in.at());
    part.packet_headers.assign(first, first + static_cast<ptrdiff_t>(bytes));
    in = Reader(ppm_, in.at() + bytes);
  }
  if (in.left() > 0)
    report.error("ppm-length", "T.800 A.7.4", ppm_offset_, text(in.left()) + " bytes too many",
                 "the headers of " + text(cs.parts.size()) + " tile-parts");
}

void Tables::finish(Codestream& cs, Report& report) {
  if (cs.has_tlm) check_tlm(cs, report);
  if (cs.has_ppm) cut_ppm(cs, report);
  for (size_t i = 0; cs.plm.size() == cs.parts.size() && i < cs.parts.size(); ++i) {
    if (cs.parts[i].has_plt) continue;
    cs.parts[i].has_plt = true;
    cs.parts[i].packet_lengths = cs.plm[i];
  }
  if (cs.has_plm && cs.plm.size() != cs.parts.size())
    report.error("plm-count", "T.800 A.7.2", 0, text(cs.plm.size()) + " lists",
                 text(cs.parts.size()) + ", one per tile-part");
}

}  // namespace cj2k_check
