// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The marker segments of T.800 Annex A, one function each.
#pragma once

#include "codestream.h"

namespace cj2k_check {

struct Segment {
  Bytes body;         ///< behind the length field
  size_t offset = 0;  ///< of the marker
  size_t at(size_t body_offset) const { return offset + 4 + body_offset; }
};

/// What the segments of one header have in common. `broken` is set where a field is so wrong that
/// the packets cannot be found.
struct Context {
  Codestream& codestream;
  Header& header;
  Report& report;
  bool in_main;
  bool& broken;
};

void parse_siz(const Segment& segment, Context& context);
void parse_cap(const Segment& segment, Context& context);
void parse_cod(const Segment& segment, Context& context);
void parse_coc(const Segment& segment, Context& context);
void parse_qcd(const Segment& segment, Context& context);
void parse_qcc(const Segment& segment, Context& context);
void parse_rgn(const Segment& segment, Context& context);
void parse_poc(const Segment& segment, Context& context);
void parse_crg(const Segment& segment, Context& context);
void parse_com(const Segment& segment, Context& context);
/// Checks what the segments of a header say together. `tile`: null for the main header.
void check_header(const Codestream& codestream, const Tile* tile, Report& report, bool& broken);

/// The tables of lengths and packed headers, which may be spread over several segments.
class Tables {
 public:
  void tlm(const Segment& segment, Context& context);
  void plm(const Segment& segment, Context& context);
  void ppm(const Segment& segment, Context& context);
  void plt(const Segment& segment, TilePart& part, Report& report);
  void ppt(const Segment& segment, TilePart& part, Report& report);
  void begin_tile_part();
  /// Cuts PPM into the headers of each tile-part, and compares TLM with the tile-parts.
  void finish(Codestream& codestream, Report& report);

 private:
  void check_tlm(const Codestream& codestream, Report& report) const;
  void cut_ppm(Codestream& codestream, Report& report) const;

  struct Counter {
    uint32_t next = 0;
    void check(const char* rule, const char* clause, uint32_t index, size_t offset, Report& report);
  };
  Counter tlm_index_, plm_index_, ppm_index_, plt_index_, ppt_index_;
  std::vector<uint8_t> ppm_;
  size_t ppm_offset_ = 0;
  uint64_t plt_value_ = 0;  // of an entry that goes on in the next byte
};

}  // namespace cj2k_check
