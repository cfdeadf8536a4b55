// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <set>
#include <string>

#include "ht.h"
#include "profiles.h"

namespace cj2k_check {
namespace {

constexpr const char* kCheckers = "common cinema checkers";

std::string text(uint64_t value) { return std::to_string(value); }
std::string pair(uint64_t x, uint64_t y) { return text(x) + "x" + text(y); }

class ProfileChecker {
 public:
  ProfileChecker(const Profile& profile, const Codestream& codestream, Report& report)
      : p_(profile), cs_(codestream), report_(report) {}

  void run() {
    picture();
    origin();
    tiles();
    components();
    coding();
    for (uint32_t c = 0; c < cs_.siz.components.size(); ++c) {
      // A fault of COD or QCD is one fault, not one for each component.
      if (c == 0 || &style(c) != &style(0)) {
        blocks(c);
        levels(c);
        precincts(c);
        small_precincts(c);
      }
      const Quantisation& q = cs_.quantisation_of(none_, c);
      if (c == 0 || &q != &cs_.quantisation_of(none_, 0)) quantisation(q);
    }
    markers();
    poc();
    lowest_resolution();
    tile_parts();
    part_15();
  }

 private:
  void fail(const char* rule, uint64_t offset, const std::string& found,
            const std::string& allowed) {
    report_.error(rule, p_.clause, offset, found, allowed);
  }
  /// Errors of rules that the standard does not have.
  void fail_checkers(const char* rule, uint64_t offset, const std::string& found,
                     const std::string& allowed) {
    report_.error(rule, p_.rate == Rate::kCinema ? kCheckers : p_.clause, offset, found, allowed);
  }
  size_t siz(size_t field) const { return cs_.siz.offset + field; }
  const CodingStyle& style(uint32_t c) const { return cs_.style_of(none_, c); }

  void picture();
  void origin();
  void tiles();
  void components();
  void component_sampling(uint32_t c, size_t at);
  void coding();
  void blocks(uint32_t c);
  void levels(uint32_t c);
  void precincts(uint32_t c);
  void small_precincts(uint32_t c);
  void quantisation(const Quantisation& q);
  void markers();
  void poc();
  void lowest_resolution();
  void tile_parts();
  void parts_of(const Tile& tile, uint32_t groups);
  void parts_by_resolution(const Tile& tile);
  void part_15();
  void imf_capabilities();
  void thumbnail();

  const Profile& p_;
  const Codestream& cs_;
  Report& report_;
  const Tile none_;
};

void ProfileChecker::picture() {
  const Siz& s = cs_.siz;
  if ((s.rsiz & p_.rsiz_mask) != p_.rsiz)
    fail("profile-rsiz", siz(4), hex(s.rsiz),
         hex(p_.rsiz) + (p_.rsiz_mask == 0xFFFF             ? ""
                         : p_.part_15 != PartFifteen::kNone ? ": Part 15"
                                                            : " and the level"));
  if (p_.width != 0 && (s.x1 > p_.width || s.y1 > p_.height))
    fail("profile-size", siz(6), pair(s.x1, s.y1), "at most " + pair(p_.width, p_.height));
  if (p_.rate == Rate::kImf && p_.width > 2048 && s.x1 <= p_.width / 2)
    report_.warning("imf-picture-size", "SMPTE ST 2067-21, common IMF validators", siz(6),
                    pair(s.x1, s.y1), "wider than " + text(p_.width / 2));
  if (p_.rate != Rate::kCinema) return;
  const uint32_t scale = p_.width / 2048;
  const bool is_container = (s.x1 == 2048 * scale && s.y1 == 1080 * scale) ||
                            (s.x1 == 1998 * scale && s.y1 == 1080 * scale) ||
                            (s.x1 == 2048 * scale && s.y1 == 858 * scale);
  if (!is_container && s.x1 <= p_.width && s.y1 <= p_.height)
    report_.warning("cinema-picture-size", kCheckers, siz(6), pair(s.x1, s.y1),
                    pair(2048 * scale, 1080 * scale) + ", " + pair(1998 * scale, 1080 * scale) +
                        " or " + pair(2048 * scale, 858 * scale));
}

void ProfileChecker::origin() {
  const Siz& s = cs_.siz;
  if (p_.zero_origin && (s.x0 | s.y0 | s.tx0 | s.ty0) != 0)
    fail("profile-origin", siz(14), pair(s.x0, s.y0) + ", tiles " + pair(s.tx0, s.ty0),
         "0x0, tiles 0x0");
}

void ProfileChecker::tiles() {
  const Siz& s = cs_.siz;
  const bool one = s.tiles_across() == 1 && s.tiles_down() == 1;
  const auto square = [&](uint32_t side) { return s.tile_width == side && s.tile_height == side; };
  bool ok = true;
  std::string allowed = "one tile";
  switch (p_.tiling) {
    case Tiling::kAny:
      return;
    case Tiling::kOne:
      ok = one;
      break;
    case Tiling::kOneOr128:
      ok = one || square(128);
      allowed += ", or tiles of 128x128";
      break;
    case Tiling::kOneOr1024: {
      uint32_t least = 255;
      for (const SizComponent& c : s.components)
        least = std::min<uint32_t>(least, std::min(c.dx, c.dy));
      ok = one || (s.tile_width == s.tile_height && s.tile_width / least <= 1024);
      allowed += ", or square tiles of at most 1024 samples a side";
      break;
    }
    case Tiling::kPowersFrom1024:
      ok = one;
      for (uint32_t side = 1024; side <= p_.max_tile; side *= 2) {
        ok |= square(side);
        allowed += " or " + pair(side, side);
      }
      break;
    case Tiling::kOneOrFour:
      ok = one || (s.tiles_across() == 2 && s.tiles_down() == 2) ||
           (s.tiles_across() == 1 && s.tiles_down() == 4);
      allowed += ", or four as 2x2 or 1x4";
      break;
  }
  if (!ok)
    fail("profile-tiles", siz(22),
         pair(s.tiles_across(), s.tiles_down()) + " tiles of " + pair(s.tile_width, s.tile_height),
         allowed);
}

void ProfileChecker::component_sampling(uint32_t c, size_t at) {
  const uint32_t dx = cs_.siz.components[c].dx, dy = cs_.siz.components[c].dy;
  const auto power = [](uint32_t step) { return step == 1 || step == 2 || step == 4; };
  const bool chroma = c == 1 || c == 2;
  switch (p_.sampling) {
    case Sampling::kAny:
      return;
    case Sampling::kNone:
      if (dx != 1 || dy != 1) fail("profile-sampling", at, pair(dx, dy), "1x1");
      return;
    case Sampling::kPowersOfTwo:
      if (!power(dx) || !power(dy)) fail("profile-sampling", at, pair(dx, dy), "1, 2 or 4");
      return;
    case Sampling::kHorizontalChroma:
    case Sampling::kChroma:
      break;
  }
  const bool vertical = p_.sampling == Sampling::kChroma;
  const uint32_t most = chroma ? 2 : 1;
  if (dx > most || dy > (vertical ? most : 1) ||
      (c == 2 && (dx != cs_.siz.components[1].dx || dy != cs_.siz.components[1].dy))) {
    fail("profile-sampling", at, "component " + text(c) + ": " + pair(dx, dy),
         chroma ? "1x1 or 2x1" + std::string(vertical ? " or 2x2" : "") + ", both chroma alike"
                : "1x1");
  } else if (dy == 2) {
    report_.warning("broadcast-vertical-chroma", p_.clause, at, pair(dx, dy),
                    "1x1 or 2x1 for some readers");
  }
}

void ProfileChecker::components() {
  const auto& all = cs_.siz.components;
  if (p_.max_components != 0 && (all.size() < p_.min_components || all.size() > p_.max_components))
    fail("profile-components", siz(38), text(all.size()),
         p_.min_components == p_.max_components
             ? text(p_.max_components)
             : text(p_.min_components) + " .. " + text(p_.max_components));
  for (uint32_t c = 0; c < all.size(); ++c) {
    const size_t at = siz(40 + 3 * size_t{c});
    if (p_.max_depth != 0 && (all[c].depth() < p_.min_depth || all[c].depth() > p_.max_depth))
      fail("profile-depth", at, text(all[c].depth()) + " bits",
           p_.min_depth == p_.max_depth ? text(p_.min_depth)
                                        : text(p_.min_depth) + " .. " + text(p_.max_depth));
    if (p_.part_15 == PartFifteen::kImf && all[c].depth() != all[0].depth())
      fail("profile-depth", at, text(all[c].depth()) + " bits in component " + text(c),
           text(all[0].depth()) + " as in component 0");
    if (p_.max_depth != 0 && all[c].is_signed())
      fail("profile-signed", at, "signed samples", "unsigned samples");
    component_sampling(c, at + 1);
  }
}

void ProfileChecker::coding() {
  const Cod& cod = *cs_.main.cod;
  const size_t at = cod.style.offset - 5;  // of Scod
  if (p_.progression != kAnyValue && cod.progression != p_.progression)
    fail("profile-progression", at + 1, text(cod.progression),
         text(p_.progression) + (p_.progression == 4 ? " (CPRL)" : " (RPCL)"));
  if (p_.layers != kAnyValue && cod.layers != p_.layers)
    fail("profile-layers", at + 2, text(cod.layers), text(p_.layers));
  if (p_.mct != kAnyValue && cod.mct != p_.mct)
    fail_checkers("profile-mct", at + 4, text(cod.mct), text(p_.mct));
  if (p_.scod != kAnyValue && cod.scod != p_.scod)
    fail_checkers("profile-scod", at, hex(cod.scod, 2),
                  hex(p_.scod, 2) + ": precincts, neither SOP nor EPH");
}

void ProfileChecker::blocks(uint32_t c) {
  const CodingStyle& s = style(c);
  const uint32_t w = s.block_width_log2, h = s.block_height_log2;
  bool ok = true;
  const char* allowed = "";
  switch (p_.blocks) {
    case Blocks::kAny:
      break;
    case Blocks::k32:
      ok = w == 5 && h == 5;
      allowed = "32x32";
      break;
    case Blocks::k32Or64:
      ok = w == h && (w == 5 || w == 6);
      allowed = "32x32 or 64x64";
      break;
    case Blocks::kAtMost64:
      ok = w <= 6 && h <= 6;
      allowed = "at most 64x64";
      break;
    case Blocks::k32To128:
      ok = w >= 5 && w <= 7 && h >= 5 && h <= 7;
      allowed = "32, 64 or 128 a side";
      break;
    case Blocks::k32To128x64:
      ok = w >= 5 && w <= 7 && (h == 5 || h == 6);
      allowed = "32, 64 or 128 wide, 32 or 64 high";
      break;
  }
  if (!ok) fail("profile-blocks", s.offset + 1, pair(1u << w, 1u << h), allowed);
  if ((s.block_style & ~p_.block_styles) != 0)
    fail("profile-block-style", s.offset + 3, hex(s.block_style, 2),
         p_.block_styles == 0 ? "0x00" : "no bits but " + hex(p_.block_styles, 2));
  if (p_.part_15 != PartFifteen::kNone && (s.block_style & kHighThroughput) == 0)
    fail("profile-block-style", s.offset + 3, hex(s.block_style, 2), "HT code-blocks (bit 6)");
  if (p_.transform != kAnyValue && s.transform != p_.transform)
    fail("profile-transform", s.offset + 4, s.transform == 1 ? "5/3" : "9/7",
         p_.transform == 1 ? "5/3" : "9/7");
}

void ProfileChecker::levels(uint32_t c) {
  const CodingStyle& s = style(c);
  uint32_t most = p_.max_levels;
  if (p_.part_15 == PartFifteen::kImf) {
    const uint32_t side = std::max(cs_.siz.x1, cs_.siz.y1);
    most = side <= 2048 ? 5 : side <= 4096 ? 6 : 7;
  }
  if (p_.tiling == Tiling::kPowersFrom1024) {
    // Reversible IMF: 4 below tiles of 2048, 5 below 4096, and so on.
    uint32_t by_tile = 4;
    for (uint32_t side = 2048; side <= cs_.siz.tile_width && side <= 8192; side *= 2) ++by_tile;
    most = std::min(most, by_tile);
  }
  if (s.levels >= p_.min_levels && s.levels <= most) return;
  const std::string allowed =
      p_.min_levels == most ? text(most) : text(p_.min_levels) + " .. " + text(most);
  // The standard allows fewer levels in cinema.
  if (p_.rate == Rate::kCinema && s.levels < p_.max_levels) {
    fail_checkers("profile-levels", s.offset, text(s.levels), allowed);
  } else {
    fail("profile-levels", s.offset, text(s.levels), allowed);
  }
}

void ProfileChecker::precincts(uint32_t c) {
  const CodingStyle& s = style(c);
  if (!p_.precincts_128_256) return;
  for (uint32_t r = 0; r <= s.levels; ++r) {
    const uint8_t expected = r == 0 ? 0x77 : 0x88;
    if (s.precincts[r] == expected) continue;
    fail("profile-precincts", s.offset + 5 + r,
         s.has_precincts
             ? pair(uint64_t{1} << (s.precincts[r] & 0xF), uint64_t{1} << (s.precincts[r] >> 4)) +
                   " at resolution " + text(r)
             : "no precincts",
         "128x128 at resolution 0, 256x256 at the others");
    return;
  }
}

/// Profiles 0 and 1: resolutions of at most 128x128 samples have one precinct.
void ProfileChecker::small_precincts(uint32_t c) {
  const CodingStyle& s = style(c);
  if (!p_.lowest_128) return;
  for (uint32_t r = 0; r <= s.levels; ++r) {
    const uint64_t x = uint64_t{cs_.siz.components[c].dx} << (s.levels - r);
    const uint64_t y = uint64_t{cs_.siz.components[c].dy} << (s.levels - r);
    if (cs_.siz.x1 - cs_.siz.x0 > 128 * x || cs_.siz.y1 - cs_.siz.y0 > 128 * y) return;
    const uint32_t width = s.precincts[r] & 0xF, height = s.precincts[r] >> 4;
    if (width >= 7 && height >= 7) continue;
    fail("profile-precincts", s.offset + 5 + r,
         pair(uint64_t{1} << width, uint64_t{1} << height) + " at resolution " + text(r),
         "at least 128x128 in resolutions of at most 128x128");
    return;
  }
}

void ProfileChecker::quantisation(const Quantisation& q) {
  if (p_.guard_bits != kAnyValue && q.guard_bits != p_.guard_bits)
    fail_checkers("profile-guard-bits", q.offset, text(q.guard_bits), text(p_.guard_bits));
}

void ProfileChecker::markers() {
  const auto in = [](const uint16_t* list, uint16_t code) {
    while (*list != 0 && *list != code) ++list;
    return *list == code;
  };
  const auto check = [&](const MarkerSegment& m, bool in_tile_part) {
    if (in(p_.forbidden, m.code)) {
      fail("profile-marker", m.offset, marker_name(m.code), "none of that kind");
    } else if (p_.known != nullptr && !in(p_.known, m.code)) {
      fail_checkers("profile-marker", m.offset, marker_name(m.code),
                    "only markers that cinema checkers know");
    }
    const bool coding = m.code == kCod || m.code == kCoc || m.code == kQcd || m.code == kQcc;
    if (in_tile_part &&
        ((p_.cod_in_main_only && coding) || (p_.poc == Order::kCinema4k && m.code == kPoc)))
      fail("profile-marker-place", m.offset, marker_name(m.code) + " in a tile-part header",
           "in the main header only");
  };
  for (const MarkerSegment& m : cs_.main_markers) check(m, false);
  for (const TilePart& part : cs_.parts) {
    for (const MarkerSegment& m : part.markers) check(m, true);
  }
  if (p_.tlm && !cs_.has_tlm) fail("profile-tlm", 0, "no TLM", "TLM in the main header");
}

void ProfileChecker::poc() {
  const auto& given = cs_.main.progressions;
  size_t at = 0;
  for (const MarkerSegment& m : cs_.main_markers) {
    if (m.code == kPoc) at = m.offset;
  }
  if (p_.poc == Order::kFromZero && !given.empty() &&
      (given[0].first_resolution != 0 || given[0].first_component != 0))
    fail("profile-poc", at,
         "RSpoc " + text(given[0].first_resolution) + ", CSpoc " + text(given[0].first_component),
         "RSpoc 0, CSpoc 0 in the first progression");
  if (p_.poc != Order::kCinema4k) return;
  const uint32_t levels = style(0).levels;
  const auto equal = [](const Progression& p, uint32_t first, uint32_t end) {
    return p.first_resolution == first && p.end_resolution == end && p.first_component == 0 &&
           p.end_component == 3 && p.end_layer == 1 && p.order == 4;
  };
  if (given.size() == 2 && equal(given[0], 0, levels) && equal(given[1], levels, levels + 1))
    return;
  std::string found = given.empty() ? "no POC" : "";
  for (const Progression& p : given)
    found += "(RS" + text(p.first_resolution) + " CS" + text(p.first_component) + " LYE" +
             text(p.end_layer) + " RE" + text(p.end_resolution) + " CE" + text(p.end_component) +
             " P" + text(p.order) + ")";
  const std::string nl = text(levels);
  fail("profile-poc", at, found,
       "(RS0 CS0 LYE1 RE" + nl + " CE3 P4)(RS" + nl + " CS0 LYE1 RE" + text(levels + 1) +
           " CE3 P4)");
}

/// Profiles 0 and 1: the lowest resolution has at most 128 samples a side.
void ProfileChecker::lowest_resolution() {
  if (!p_.lowest_128) return;
  const Siz& s = cs_.siz;
  const uint64_t width = std::min<uint64_t>(s.tile_width, s.x1 - s.x0);
  const uint64_t height = std::min<uint64_t>(s.tile_height, s.y1 - s.y0);
  for (uint32_t c = 0; c < s.components.size(); ++c) {
    const uint64_t x = uint64_t{s.components[c].dx} << style(c).levels;
    const uint64_t y = uint64_t{s.components[c].dy} << style(c).levels;
    if ((width + x - 1) / x > 128 || (height + y - 1) / y > 128)
      fail("profile-lowest-resolution", style(c).offset,
           pair((width + x - 1) / x, (height + y - 1) / y), "at most 128x128");
  }
}

/// The tile-parts of one tile: `groups` times one for each component.
void ProfileChecker::parts_of(const Tile& tile, uint32_t groups) {
  const auto components = static_cast<uint32_t>(cs_.siz.components.size());
  const uint32_t expected = groups * components;
  const TilePart& first = cs_.parts[tile.parts[0]];
  if (tile.parts.size() != expected)
    fail("profile-tile-parts", first.offset, text(tile.parts.size()) + " tile-parts",
         text(expected) + (groups == 1 ? ", one per component"
                                       : ", one per component, then again for the highest "
                                         "resolution"));
  for (size_t i = 0; i < tile.parts.size(); ++i) {
    const TilePart& part = cs_.parts[tile.parts[i]];
    if (part.count != expected)
      fail("profile-tnsot", part.offset + 11, text(part.count), text(expected));
    if (part.num_packets == 0 || tile.parts.size() != expected) continue;
    const auto c = static_cast<uint32_t>(i) % components;
    if (part.first_component != c || part.last_component != c)
      fail("profile-tile-parts", part.offset,
           "components " + text(part.first_component) + " .. " + text(part.last_component),
           "component " + text(c) + " in tile-part " + text(i));
    const uint32_t top = style(c).levels;
    if (groups == 2 && (i < components ? part.last_resolution >= top : part.first_resolution < top))
      fail("profile-tile-parts", part.offset,
           "resolutions " + text(part.first_resolution) + " .. " + text(part.last_resolution),
           (i < components ? "below " : "only ") + text(top) + " in tile-part " + text(i));
  }
}

/// One tile-part for each resolution.
void ProfileChecker::parts_by_resolution(const Tile& tile) {
  const uint32_t expected = style(0).levels + 1u;
  const TilePart& first = cs_.parts[tile.parts[0]];
  if (tile.parts.size() != expected)
    fail("profile-tile-parts", first.offset, text(tile.parts.size()) + " tile-parts",
         text(expected) + ", one per resolution");
  for (size_t i = 0; i < tile.parts.size(); ++i) {
    const TilePart& part = cs_.parts[tile.parts[i]];
    if (part.count != expected)
      fail("profile-tnsot", part.offset + 11, text(part.count), text(expected));
    if (part.num_packets == 0 || tile.parts.size() != expected) continue;
    if (part.first_resolution != i || part.last_resolution != i)
      fail("profile-tile-parts", part.offset,
           "resolutions " + text(part.first_resolution) + " .. " + text(part.last_resolution),
           "resolution " + text(i) + " in tile-part " + text(i));
  }
}

/// ST 2067-21: what CAP may claim, and the table of parameter B.
void ProfileChecker::imf_capabilities() {
  size_t at = 0;
  for (const MarkerSegment& m : cs_.main_markers) {
    if (m.code == kCap) at = m.offset;
  }
  if (cs_.pcap != 0x00020000)
    fail("profile-pcap", at + 4, hex(cs_.pcap, 8), "0x00020000: Part 15 only");
  const std::optional<Ccap15> cap = ccap15_of(cs_);
  if (!cap) return;
  if ((cap->bits & 0xF800) != 0)
    fail("profile-ccap", at + 8, hex(cap->bits),
         "HTONLY, SINGLEHT, RGNFREE, HOMOGENEOUS: bits 15 to 11 are 0");
  const bool reversible = p_.transform == 1;
  if (cap->irreversible() == reversible)
    fail("profile-ccap", at + 8, hex(cap->bits),
         reversible ? "HTREV: bit 5 is 0" : "HTIRV: bit 5 is 1");
  const uint32_t depth = cs_.siz.components[0].depth(), mct = cs_.main.cod->mct == 1 ? 1 : 0;
  const uint32_t table = reversible ? depth + 3 + mct + (style(0).levels > 5 ? 1 : 0)
                                    : depth + 1 + (mct == 1 && depth > 10 ? 1 : 0);
  const uint32_t bound = cap->magnitude_bits();
  if (reversible ? bound != table : bound > 31)
    fail("profile-magnitudes", at + 8, "B = " + text(bound),
         reversible ? "B = " + text(table) : "at most 31");
  if (!reversible && bound <= 31 && bound > table)
    report_.warning("imf-magnitudes", p_.clause, at + 8, "B = " + text(bound),
                    "at most " + text(table));
}

/// DICOM: the lowest resolution has at most 64 samples along one side.
void ProfileChecker::thumbnail() {
  const uint64_t step = uint64_t{1} << style(0).levels;
  const uint64_t width = (cs_.siz.x1 - cs_.siz.x0 + step - 1) / step;
  const uint64_t height = (cs_.siz.y1 - cs_.siz.y0 + step - 1) / step;
  if (std::min(width, height) > 64)
    fail("profile-thumbnail", style(0).offset, pair(width, height),
         "a width or height of at most 64 in the lowest resolution");
}

void ProfileChecker::part_15() {
  if (p_.part_15 == PartFifteen::kImf) imf_capabilities();
  if (p_.part_15 == PartFifteen::kDicomRpcl) thumbnail();
  if (p_.part_15 != PartFifteen::kDicomLossless && p_.part_15 != PartFifteen::kDicomRpcl) return;
  for (const TilePart& part : cs_.parts) {
    if (part.unfinished_blocks > 0)
      fail("profile-lossless", part.first_unfinished,
           text(part.unfinished_blocks) + " code-blocks end above bit-plane 0",
           "every bit-plane in each cleanup pass");
  }
}

void ProfileChecker::tile_parts() {
  if (!cs_.usable) return;
  if (p_.parts == Parts::kFirstPartsFirst) {
    uint32_t next = 0;
    const uint64_t tiles = uint64_t{cs_.siz.tiles_across()} * cs_.siz.tiles_down();
    for (const TilePart& part : cs_.parts) {
      if (part.index == 0 && part.tile != next)
        fail("profile-tile-parts", part.offset, "tile " + text(part.tile),
             "the first tile-parts in order of the tiles");
      next += part.index == 0;
      if (part.index > 0 && next < tiles)
        fail("profile-tile-parts", part.offset, "TPsot " + text(part.index),
             "behind the first tile-parts of all tiles");
    }
    return;
  }
  if (p_.parts == Parts::kAny) return;
  for (const auto& [index, tile] : cs_.tiles) {
    if (tile.parts.empty()) continue;
    if (p_.parts == Parts::kByResolution) {
      parts_by_resolution(tile);
    } else {
      parts_of(tile, p_.parts == Parts::kCinema4k ? 2 : 1);
    }
  }
}

/// MSamples/s and the highest sub level of each main level of IMF; broadcast has the same samples.
struct Level {
  uint64_t megasamples;
  uint32_t most_sub_level;
  uint64_t broadcast_megabits;
};
constexpr Level kLevels[] = {
    {0, 0, 0},       {65, 1, 200},     {130, 1, 200},     {195, 1, 200},
    {260, 2, 400},   {520, 3, 800},    {1200, 4, 1600},   {2400, 5, 3200},
    {4800, 6, 6400}, {9600, 7, 12800}, {19200, 8, 25600}, {38400, 9, 51200},
};
constexpr uint32_t kMostLevel = 11;

uint64_t samples_of(const Siz& siz) {
  uint64_t samples = 0;
  for (const SizComponent& c : siz.components) {
    const auto size = [](uint64_t x0, uint64_t x1, uint64_t step) {
      return (x1 + step - 1) / step - (x0 + step - 1) / step;
    };
    samples += size(siz.x0, siz.x1, c.dx) * size(siz.y0, siz.y1, c.dy);
  }
  return samples;
}

void check_cinema_bytes(const Profile& profile, const RateRule& rate, const Codestream& cs,
                        Report& report) {
  const uint64_t frame = rate.fps.bytes(rate.cinema_megabits);
  const uint64_t component = rate.fps.bytes(rate.cinema_megabits * 4 / 5);
  const std::string at_rate =
      ": " + text(rate.cinema_megabits) + " Mbit/s at " + rate.fps.text() + " fps";
  if (cs.size > frame) {
    report.error("profile-frame-bytes", profile.clause, 0, text(cs.size),
                 "at most " + text(frame) + at_rate);
  } else if (rate.cinema_megabits == 250 && cs.size > rate.fps.bytes(230)) {
    report.warning("cinema-near-cap", kCheckers, 0, text(cs.size),
                   "above " + text(rate.fps.bytes(230)) + ", 230 Mbit/s, they warn");
  }
  for (const TilePart& part : cs.parts) {
    if (part.end - part.offset > component)
      report.error("profile-component-bytes", kCheckers, part.offset + 6,
                   text(part.end - part.offset) + " bytes in a tile-part",
                   "at most " + text(component));
  }
}

void check_level(const Profile& profile, const RateRule& rate, const Codestream& cs,
                 Report& report) {
  const bool imf = profile.rate == Rate::kImf;
  const uint32_t level = cs.siz.rsiz & 0xF, sub_level = imf ? cs.siz.rsiz >> 4 & 0xF : 0;
  const size_t at = cs.siz.offset + 4;
  if (level == 0 || level > kMostLevel) {
    report.error("profile-level", profile.clause, at, "level " + text(level), "1 .. 11");
    return;
  }
  const Level& row = kLevels[level];
  const bool reversible = profile.transform == 1;
  if (imf && reversible && sub_level != 0)
    report.error("profile-sub-level", profile.clause, at, text(sub_level),
                 "0: no limit for reversible profiles");
  if (imf && !reversible && (sub_level == 0 || sub_level > row.most_sub_level))
    report.error("profile-sub-level", profile.clause, at, text(sub_level),
                 "1 .. " + text(row.most_sub_level) + " at main level " + text(level));
  // samples * fps <= MSamples/s
  const uint64_t samples = samples_of(cs.siz);
  if (samples * rate.fps.numerator > row.megasamples * 1000000 * rate.fps.denominator)
    report.error("profile-level-samples", profile.clause, at,
                 text(samples * rate.fps.numerator / rate.fps.denominator) + " samples/s",
                 text(row.megasamples) + " million at level " + text(level));
  uint64_t megabits =
      imf ? (sub_level > 0 ? uint64_t{100} << sub_level : 0) : row.broadcast_megabits;
  if (megabits != 0 && cs.size > rate.fps.bytes(megabits))
    report.error("profile-level-bytes", profile.clause, 0, text(cs.size),
                 "at most " + text(rate.fps.bytes(megabits)) + ": " + text(megabits) +
                     " Mbit/s at " + rate.fps.text() + " fps");
}

}  // namespace

void check_profile_rate(const Profile& profile, const RateRule& rate, const Codestream& codestream,
                        Report& report) {
  if (profile.rate == Rate::kCinema) {
    check_cinema_bytes(profile, rate, codestream, report);
  } else if (profile.rate != Rate::kNone) {
    check_level(profile, rate, codestream, report);
  }
}

void check_profile(const Profile& profile, const RateRule& rate, const Codestream& codestream,
                   Report& report) {
  if (!codestream.main.cod || !codestream.main.qcd || codestream.siz.components.empty() ||
      codestream.siz.tile_width == 0 || codestream.siz.tile_height == 0)
    return;  // reported by parse_codestream
  for (const SizComponent& c : codestream.siz.components) {
    if (c.dx == 0 || c.dy == 0) return;
  }
  if (profile.rsiz_mask == 0) return;
  ProfileChecker(profile, codestream, report).run();
  check_profile_rate(profile, rate, codestream, report);
}

}  // namespace cj2k_check
