// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "segments.h"

#include <algorithm>
#include <string>

#include "reader.h"

namespace cj2k_check {
namespace {

constexpr uint32_t kMostComponents = 16384;
constexpr uint32_t kMostDepth = 38;
constexpr uint32_t kMostTiles = 65535;

std::string text(uint64_t value) { return std::to_string(value); }

void check_length(const Segment& segment, size_t expected, const char* rule, const char* clause,
                  Report& report) {
  if (segment.body.size() == expected) return;
  report.error(rule, clause, segment.offset + 2, text(segment.body.size() + 2), text(expected + 2));
}

/// Csiz < 257: component indices have one byte.
int index_bytes(const Codestream& codestream) {
  return codestream.siz.components.size() < 257 ? 1 : 2;
}

void check_siz_components(const Segment& segment, Reader& in, uint32_t count, Context& context) {
  Siz& siz = context.codestream.siz;
  Report& report = context.report;
  for (uint32_t c = 0; c < count && in.left() >= 3; ++c) {
    const size_t at = segment.at(in.at());
    SizComponent component;
    component.ssiz = in.u8();
    component.dx = in.u8();
    component.dy = in.u8();
    if (component.depth() > kMostDepth)
      report.error("siz-depth", "T.800 Table A.11", at, text(component.depth()), "1 .. 38 bits");
    if (component.dx == 0 || component.dy == 0) {
      report.error("siz-sampling", "T.800 A.5.1", at + 1,
                   "XRsiz " + text(component.dx) + ", YRsiz " + text(component.dy), "1 .. 255");
      context.broken = true;
    }
    siz.components.push_back(component);
  }
  if (siz.components.size() != count) context.broken = true;
}

void check_siz_grid(const Segment& segment, Context& context) {
  const Siz& siz = context.codestream.siz;
  Report& report = context.report;
  const auto fail = [&](const char* rule, size_t field, const std::string& found,
                        const char* allowed) {
    report.error(rule, "T.800 B.2, B.3", segment.at(field), found, allowed);
    context.broken = true;
  };
  const auto pair = [](uint32_t x, uint32_t y) { return text(x) + "x" + text(y); };
  if (siz.x1 == 0 || siz.y1 == 0)
    fail("siz-size", 2, pair(siz.x1, siz.y1), "Xsiz and Ysiz at least 1");
  if (siz.x0 >= siz.x1 || siz.y0 >= siz.y1)
    fail("siz-offset", 10, pair(siz.x0, siz.y0), "XOsiz below Xsiz, YOsiz below Ysiz");
  if (siz.tile_width == 0 || siz.tile_height == 0) {
    fail("siz-tile-size", 18, pair(siz.tile_width, siz.tile_height), "XTsiz and YTsiz at least 1");
    return;
  }
  if (siz.tx0 > siz.x0 || siz.ty0 > siz.y0 || uint64_t{siz.tx0} + siz.tile_width <= siz.x0 ||
      uint64_t{siz.ty0} + siz.tile_height <= siz.y0) {
    fail("siz-tile-offset", 26, pair(siz.tx0, siz.ty0),
         "at most the image offset, and the first tile reaches into the image");
    return;
  }
  if (siz.x1 > siz.tx0 && siz.y1 > siz.ty0 &&
      uint64_t{siz.tiles_across()} * siz.tiles_down() > kMostTiles)
    fail("siz-tiles", 18, text(uint64_t{siz.tiles_across()} * siz.tiles_down()),
         "at most 65535 tiles");
}

/// SPcod, SPcoc (Tables A.15 to A.21).
CodingStyle parse_style(const Segment& segment, Reader& in, bool has_precincts, const char* rule,
                        Context& context) {
  Report& report = context.report;
  CodingStyle style;
  style.has_precincts = has_precincts;
  style.offset = segment.at(in.at());
  const auto fail = [&](const char* what, const char* clause, size_t field,
                        const std::string& found, const char* allowed) {
    report.error((std::string(rule) + what).c_str(), clause, style.offset + field, found, allowed);
    context.broken = true;
  };
  const uint32_t levels = in.u8();
  if (levels > kMostLevels) fail("-levels", "T.800 Table A.15", 0, text(levels), "0 .. 32");
  style.levels = static_cast<uint8_t>(std::min(levels, kMostLevels));
  const uint32_t width = in.u8(), height = in.u8();
  if (width > 8 || height > 8 || width + height > 8)
    fail("-block-size", "T.800 Table A.18", 1, hex(width, 2) + ", " + hex(height, 2),
         "4 .. 1024 a side, at most 4096 samples");
  style.block_width_log2 = static_cast<uint8_t>(std::min(width, 8u) + 2);
  style.block_height_log2 = static_cast<uint8_t>(std::min(height, 8u) + 2);
  style.block_style = in.u8();
  const bool high_throughput = (context.codestream.siz.rsiz & 0x4000) != 0;
  const uint32_t kind = style.block_style >> 6;  // 1: HT, 3: block by block
  if (kind == 2 || (kind != 0 && !high_throughput))
    fail("-block-style", "T.800 Table A.19", 3, hex(style.block_style, 2),
         high_throughput ? "00xx xxxx, 01xx xxxx or 11xx xxxx" : "00xx xxxx");
  style.transform = in.u8();
  if (style.transform > 1)
    fail("-transform", "T.800 Table A.20", 4, text(style.transform), "0 (9/7) or 1 (5/3)");
  style.precincts.fill(0xFF);
  for (uint32_t r = 0; has_precincts && r <= style.levels; ++r) {
    const uint8_t size = in.u8();
    style.precincts[r] = size;
    if (!in.failed() && r > 0 && ((size & 0xF) == 0 || size >> 4 == 0))
      fail("-precincts", "T.800 Table A.21", 5 + r, hex(size, 2),
           "an exponent of 0 at the lowest resolution only");
  }
  if (in.failed()) context.broken = true;
  return style;
}

/// Sqcd, SPqcd (Tables A.28 to A.30).
Quantisation parse_steps(const Segment& segment, Reader& in, const char* rule, Context& context) {
  Quantisation q;
  q.offset = segment.at(in.at());
  const uint8_t sqcd = in.u8();
  q.style = sqcd & 0x1F;
  q.guard_bits = sqcd >> 5;
  if (q.style > 2) {
    context.report.error((std::string(rule) + "-style").c_str(), "T.800 Table A.28", q.offset,
                         text(q.style), "0, 1 or 2");
    context.broken = true;
    return q;
  }
  const size_t bytes = q.style == 0 ? 1 : 2;
  if (in.left() % bytes != 0 || in.left() == 0) {
    context.report.error((std::string(rule) + "-length").c_str(), "T.800 A.6.4", segment.offset + 2,
                         text(segment.body.size() + 2), "whole step sizes, at least one");
    context.broken = true;
  }
  while (in.left() >= bytes)
    q.steps.push_back(q.style == 0 ? static_cast<uint16_t>(in.u8() << 8) : in.u16());
  return q;
}

/// Reads the index of a component of COC, QCC or RGN.
std::optional<uint32_t> parse_index(const Segment& segment, Reader& in, const char* rule,
                                    const char* clause, Context& context) {
  const uint32_t index = static_cast<uint32_t>(in.number(index_bytes(context.codestream)));
  if (index < context.codestream.siz.components.size()) return index;
  context.report.error(rule, clause, segment.at(0), text(index),
                       "below Csiz = " + text(context.codestream.siz.components.size()));
  return std::nullopt;
}

}  // namespace

void parse_siz(const Segment& segment, Context& context) {
  Siz& siz = context.codestream.siz;
  Report& report = context.report;
  Reader in(segment.body);
  siz.offset = segment.offset;
  siz.rsiz = in.u16();
  for (uint32_t* field :
       {&siz.x1, &siz.y1, &siz.x0, &siz.y0, &siz.tile_width, &siz.tile_height, &siz.tx0, &siz.ty0})
    *field = in.u32();
  const uint32_t count = in.u16();
  check_length(segment, 36 + size_t{3} * count, "siz-length", "T.800 A.5.1", report);
  if (segment.body.size() < 36 + size_t{3} * count) context.broken = true;
  if (count == 0 || count > kMostComponents) {
    report.error("siz-components", "T.800 A.5.1", segment.at(34), text(count), "1 .. 16384");
    context.broken = true;
  }
  check_siz_grid(segment, context);
  check_siz_components(segment, in, std::min(count, kMostComponents), context);
}

void parse_cap(const Segment& segment, Context& context) {
  Reader in(segment.body);
  Codestream& cs = context.codestream;
  cs.pcap = in.u32();
  size_t parts = 0;
  for (uint32_t bits = cs.pcap; bits != 0; bits &= bits - 1) ++parts;
  check_length(segment, 4 + 2 * parts, "cap-length", "T.800 A.5.2", context.report);
  while (in.left() >= 2) cs.ccap.push_back(in.u16());
}

void parse_cod(const Segment& segment, Context& context) {
  Report& report = context.report;
  Reader in(segment.body);
  Cod cod;
  cod.scod = in.u8();
  cod.progression = in.u8();
  cod.layers = in.u16();
  cod.mct = in.u8();
  if ((cod.scod & 0xF8) != 0)
    report.error("cod-scod", "T.800 Table A.13", segment.at(0), hex(cod.scod, 2), "0000 0xxx");
  if (cod.progression > 4) {
    report.error("cod-progression", "T.800 Table A.16", segment.at(1), text(cod.progression),
                 "0 .. 4");
    context.broken = true;
  }
  if (cod.layers == 0) {
    report.error("cod-layers", "T.800 Table A.14", segment.at(2), "0", "1 .. 65535");
    context.broken = true;
  }
  if (cod.mct > 1)
    report.error("cod-mct", "T.800 Table A.17", segment.at(4), text(cod.mct), "0 or 1");
  cod.style = parse_style(segment, in, (cod.scod & 1) != 0, "cod", context);
  check_length(segment, 10 + (cod.style.has_precincts ? size_t{cod.style.levels} + 1 : 0),
               "cod-length", "T.800 A.6.1", report);
  context.header.cod = cod;
}

void parse_coc(const Segment& segment, Context& context) {
  Reader in(segment.body);
  const auto component = parse_index(segment, in, "coc-component", "T.800 A.6.2", context);
  const uint8_t scoc = in.u8();
  if (scoc > 1)
    context.report.error("coc-scoc", "T.800 Table A.23", segment.at(in.at() - 1), hex(scoc, 2),
                         "0 or 1");
  const CodingStyle style = parse_style(segment, in, (scoc & 1) != 0, "coc", context);
  const size_t head = static_cast<size_t>(index_bytes(context.codestream)) + 6;
  check_length(segment, head + (style.has_precincts ? size_t{style.levels} + 1 : 0), "coc-length",
               "T.800 A.6.2", context.report);
  if (component && !context.header.coc.emplace(*component, style).second)
    context.report.error("coc-component", "T.800 A.6.2", segment.at(0),
                         "two of component " + text(*component), "one of each component");
}

void parse_qcd(const Segment& segment, Context& context) {
  Reader in(segment.body);
  context.header.qcd = parse_steps(segment, in, "qcd", context);
}

void parse_qcc(const Segment& segment, Context& context) {
  Reader in(segment.body);
  const auto component = parse_index(segment, in, "qcc-component", "T.800 A.6.5", context);
  const Quantisation q = parse_steps(segment, in, "qcc", context);
  if (component && !context.header.qcc.emplace(*component, q).second)
    context.report.error("qcc-component", "T.800 A.6.5", segment.at(0),
                         "two of component " + text(*component), "one of each component");
}

void parse_rgn(const Segment& segment, Context& context) {
  Report& report = context.report;
  const int bytes = index_bytes(context.codestream);
  Reader in(segment.body);
  const auto component = parse_index(segment, in, "rgn-component", "T.800 A.6.3", context);
  const uint8_t style = in.u8(), shift = in.u8();
  check_length(segment, static_cast<size_t>(bytes) + 2, "rgn-length", "T.800 A.6.3", report);
  if (style != 0)
    report.error("rgn-style", "T.800 Table A.26", segment.at(in.at() - 2), text(style),
                 "0 (implicit, max-shift)");
  if (component && !context.header.roi_shift.emplace(*component, shift).second)
    report.error("rgn-component", "T.800 A.6.3", segment.at(0),
                 "two of component " + text(*component), "one of each component");
}

void parse_poc(const Segment& segment, Context& context) {
  Report& report = context.report;
  const size_t wide = context.codestream.siz.components.size() < 257 ? 0 : 1;
  const size_t entry = 7 + 2 * wide;
  if (segment.body.empty() || segment.body.size() % entry != 0)
    report.error("poc-length", "T.800 A.6.6", segment.offset + 2, text(segment.body.size() + 2),
                 "2 and " + text(entry) + " for each progression");
  Reader in(segment.body);
  while (in.left() >= entry) {
    const size_t at = segment.at(in.at());
    Progression p;
    p.first_resolution = in.u8();
    p.first_component = static_cast<uint32_t>(in.number(1 + static_cast<int>(wide)));
    p.end_layer = in.u16();
    p.end_resolution = in.u8();
    p.end_component = static_cast<uint32_t>(in.number(1 + static_cast<int>(wide)));
    if (p.end_component == 0) p.end_component = wide != 0 ? 16384 : 256;
    p.order = in.u8();
    if (p.first_resolution > 32 || p.end_resolution > 33 || p.end_resolution <= p.first_resolution)
      report.error("poc-resolutions", "T.800 Table A.32", at,
                   text(p.first_resolution) + " .. " + text(p.end_resolution),
                   "RSpoc 0 .. 32, REpoc above it and at most 33");
    if (p.end_component <= p.first_component)
      report.error("poc-components", "T.800 Table A.32", at + 1,
                   text(p.first_component) + " .. " + text(p.end_component), "CEpoc above CSpoc");
    if (p.end_layer == 0)
      report.error("poc-layers", "T.800 Table A.32", at + 2 + wide, "0", "1 .. 65535");
    if (p.order > 4) {
      report.error("poc-order", "T.800 Table A.16", at + entry - 1, text(p.order), "0 .. 4");
      context.broken = true;
    }
    context.header.progressions.push_back(p);
  }
}

void parse_crg(const Segment& segment, Context& context) {
  check_length(segment, 4 * context.codestream.siz.components.size(), "crg-length", "T.800 A.9.1",
               context.report);
}

void parse_com(const Segment& segment, Context& context) {
  Reader in(segment.body);
  const uint32_t kind = in.u16();
  if (segment.body.size() < 3)
    context.report.error("com-empty", "T.800 A.9.2", segment.offset + 2,
                         text(segment.body.size() + 2), "Lcom at least 5");
  if (kind > 1)
    context.report.error("com-kind", "T.800 Table A.43", segment.at(0), text(kind),
                         "0 (binary) or 1 (Latin text)");
}

namespace {

void check_steps(const Quantisation& q, const CodingStyle& style, size_t expected, const char* rule,
                 Report& report, bool& broken) {
  const std::string name(rule);
  if (q.style != 1 && q.steps.size() != expected) {
    report.error((name + "-steps").c_str(), "T.800 A.6.4", q.offset, text(q.steps.size()),
                 text(expected) + " step sizes, 3 NL + 1");
    broken |= q.steps.size() < expected;
  } else if (q.style == 1 && q.steps.size() != 1) {
    report.error((name + "-steps").c_str(), "T.800 A.6.4", q.offset, text(q.steps.size()),
                 "one step size, from which the others are derived");
    broken |= q.steps.empty();
  }
  if ((q.style == 0) != (style.transform == 1))
    report.error((name + "-transform").c_str(), "T.800 Table A.28, E.1", q.offset,
                 "style " + text(q.style) + " with the " + (style.transform == 1 ? "5/3" : "9/7"),
                 "no quantisation with the 5/3, step sizes with the 9/7");
}

void check_mct(const Codestream& cs, const Tile& tile, Report& report) {
  const auto& components = cs.siz.components;
  const Cod& cod = cs.cod_of(tile);
  if (cod.mct != 1) return;
  const size_t at = cod.style.offset - 1;
  if (components.size() < 3) {
    report.error("mct-components", "T.800 G.1", at, text(components.size()) + " components",
                 "at least 3 with a colour transform");
    return;
  }
  for (uint32_t c = 1; c < 3; ++c) {
    if (components[c].ssiz != components[0].ssiz || components[c].dx != components[0].dx ||
        components[c].dy != components[0].dy ||
        cs.style_of(tile, c).transform != cs.style_of(tile, 0).transform)
      report.error("mct-components", "T.800 G.1", at,
                   "component " + text(c) + " is unlike the first",
                   "equal depth, subsampling and wavelet with a colour transform");
  }
}

}  // namespace

void check_header(const Codestream& cs, const Tile* tile, Report& report, bool& broken) {
  const Tile none;
  const Tile& at = tile != nullptr ? *tile : none;
  const Header& own = tile != nullptr ? tile->header : cs.main;
  size_t expected = 0;
  uint32_t user = 0;
  for (uint32_t c = 0; c < cs.siz.components.size(); ++c) {
    const Quantisation& q = cs.quantisation_of(at, c);
    const CodingStyle& style = cs.style_of(at, c);
    const size_t steps = 3 * size_t{style.levels} + 1;
    const auto qcc = own.qcc.find(c);
    if (qcc != own.qcc.end() && &qcc->second == &q) {
      check_steps(q, style, steps, "qcc", report, broken);
    } else if (steps > expected) {
      expected = steps;
      user = c;
    }
  }
  if (expected == 0) expected = 3 * size_t{cs.cod_of(at).style.levels} + 1;
  const Quantisation& qcd = own.qcd ? *own.qcd : *cs.main.qcd;
  check_steps(qcd, cs.style_of(at, user), expected, "qcd", report, broken);
  check_mct(cs, at, report);
}

}  // namespace cj2k_check
