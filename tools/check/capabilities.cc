// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// CAP and CPF of Part 15 (T.814 Annex A) against the other headers.
#include <algorithm>
#include <bit>
#include <string>

#include "ht.h"
#include "reader.h"

namespace cj2k_check {
namespace {

constexpr uint32_t kPart15 = 1u << (32 - 15);  // of Pcap
constexpr const char* kClause = "T.814 Annex A (CAP)";

std::string text(uint64_t value) { return std::to_string(value); }

class Capabilities {
 public:
  Capabilities(const Codestream& codestream, Report& report) : cs_(codestream), report_(report) {}
  void run();

 private:
  void fail(const char* rule, size_t offset, const std::string& found, const std::string& allowed) {
    report_.error(rule, kClause, offset, found, allowed);
  }
  void style(const CodingStyle& style);
  void markers();
  void cpf();

  const Codestream& cs_;
  Report& report_;
  std::optional<Ccap15> cap_;
  size_t at_ = 0;  ///< of Ccap15
};

/// Of COD or a COC.
void Capabilities::style(const CodingStyle& s) {
  const bool ht = (s.block_style & 0xC0) != 0;
  const size_t at = s.offset + 3;
  if (ht && !cap_) {
    fail("cap-missing", at, "HT code-blocks without CAP of Part 15", "bit 15 of Pcap and Ccap15");
    return;
  }
  if (ht && (s.block_style & 0x37) != 0)
    report_.error("ht-block-style", "T.814 Annex A (COD)", at, hex(s.block_style, 2),
                  "HT code-blocks have no style but vertically causal contexts");
  if (!cap_) return;
  const uint32_t blocks = cap_->blocks();
  if (blocks == 0 && (s.block_style & 0xC0) != 0x40)
    fail("cap-ht-only", at, "code-block style " + hex(s.block_style, 2) + " with HTONLY",
         "HT code-blocks only (bit 6, not bit 7)");
  if (blocks == 1 && (s.block_style & 0x80) != 0)
    fail("cap-mixed", at, "code-block style " + hex(s.block_style, 2) + " with HTDECLARED",
         "code-blocks of one kind in a tile-component");
  if (!cap_->irreversible() && s.transform == 0)
    fail("cap-transform", s.offset + 4, "the 9/7 with HTREV (bit 5 is 0)", "the 5/3, or HTIRV");
}

void Capabilities::markers() {
  const auto check = [&](const MarkerSegment& m, bool in_tile_part) {
    if (m.code == kRgn && !cap_->regions())
      fail("cap-region", m.offset, "RGN with RGNFREE (bit 12 is 0)", "no region of interest");
    const bool functional = m.code == kCod || m.code == kCoc || m.code == kQcd || m.code == kQcc ||
                            m.code == kRgn || m.code == kPoc;
    if (in_tile_part && functional && !cap_->heterogeneous())
      fail("cap-homogeneous", m.offset,
           marker_name(m.code) + " in a tile-part header with HOMOGENEOUS (bit 11 is 0)",
           "none in tile-part headers");
  };
  for (const MarkerSegment& m : cs_.main_markers) check(m, false);
  for (const TilePart& part : cs_.parts) {
    for (const MarkerSegment& m : part.markers) check(m, true);
  }
}

/// A number in words of 16 bits, lowest first, with 1 added.
void Capabilities::cpf() {
  for (const MarkerSegment& m : cs_.main_markers) {
    if (m.code != kCpf) continue;
    if (!cap_)
      report_.error("cpf-part-15", "T.814 Annex A (CPF)", m.offset, "CPF without CAP of Part 15",
                    "a corresponding profile of an HTJ2K codestream");
    const size_t body = m.bytes - 4;
    if (body == 0 || body % 2 != 0) {
      report_.error("cpf-length", "T.814 Annex A (CPF)", m.offset + 2, text(m.bytes - 2),
                    "2 and 2 for each word, of which there is at least one");
      continue;
    }
    const uint16_t last = Reader(cs_.bytes, m.offset + m.bytes - 2).u16();
    if (last == 0)
      report_.error("cpf-value", "T.814 Annex A (CPF)", m.offset + m.bytes - 2, "0x0000",
                    "a last word that is not 0");
  }
}

void Capabilities::run() {
  cap_ = ccap15_of(cs_);
  for (const MarkerSegment& m : cs_.main_markers) {
    if (m.code == kCap) at_ = m.offset + 8 + 2 * static_cast<size_t>(std::popcount(cs_.pcap >> 18));
  }
  cpf();
  const auto styles = [this](const Header& header) {
    if (header.cod) style(header.cod->style);
    for (const auto& [c, coc] : header.coc) style(coc);
  };
  styles(cs_.main);
  for (const auto& [index, tile] : cs_.tiles) styles(tile.header);
  if (!cap_) return;
  if ((cap_->bits & 0x07C0) != 0)
    fail("cap-reserved", at_, hex(cap_->bits), "bits 6 to 10 of Ccap15 are 0");
  if (cap_->blocks() == 2)
    fail("cap-blocks", at_, "bits 15 and 14 are 10", "00 HTONLY, 01 HTDECLARED, 11 MIXED");
  markers();
}

}  // namespace

std::optional<Ccap15> ccap15_of(const Codestream& cs) {
  if ((cs.pcap & kPart15) == 0) return std::nullopt;
  // One word for each bit of Pcap, highest bit first.
  const auto index = static_cast<size_t>(std::popcount(cs.pcap >> 18));
  if (index >= cs.ccap.size()) return std::nullopt;
  return Ccap15{cs.ccap[index]};
}

void check_capabilities(const Codestream& codestream, Report& report) {
  if (codestream.main.cod && codestream.main.qcd) Capabilities(codestream, report).run();
}

}  // namespace cj2k_check
