// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "transcode/codestream.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "cj2k.h"
#include "packets/bytes.h"
#include "packets/markers.h"

namespace cj2k::transcoding {
namespace {

constexpr uint16_t kCoc = 0xFF53, kPlm = 0xFF57, kPrf = 0xFF56, kCpf = 0xFF59, kPpm = 0xFF60,
                   kPpt = 0xFF61, kCrg = 0xFF63;
constexpr uint32_t kHtBlocks = 0x40, kMixedBlocks = 0x80;
/// More components of more tiles would take long without any bytes in them.
constexpr uint64_t kMostTileComponents = uint64_t{1} << 22;
constexpr size_t kMostChanges = 255;

[[noreturn]] void invalid(const std::string& what, const uint8_t* at) {
  throw Refused{Status::kInvalid, what, at};
}
[[noreturn]] void not_supported(const std::string& what, const uint8_t* at) {
  throw Refused{Status::kNotSupported, what, at};
}

std::string hex(uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%04X", value);
  return text;
}

/// Whether a marker has no segment (Table A.2: 0xFF30 to 0xFF3F).
bool is_bare(uint32_t marker) { return marker >= 0xFF30 && marker <= 0xFF3F; }

uint64_t ceil_div(uint64_t value, uint64_t by) { return (value + by - 1) / by; }

/// The segments of one header, main or tile-part.
class Header {
 public:
  Header(const Target& target, Coding& coding, std::vector<uint8_t>& out)
      : target_(target),
        coding_(coding),
        out_(out),
        own_style_(coding.styles.size()),
        own_quant_(coding.quants.size()) {}

  /// Reads a segment that main and tile-part headers may have, and writes it.
  /// @return false: it is none
  bool segment(uint32_t marker, std::span<const uint8_t> body) {
    const size_t begin = out_.size();
    append_u16(out_, marker);
    append_u16(out_, static_cast<uint32_t>(body.size() + 2));
    out_.insert(out_.end(), body.begin(), body.end());
    uint8_t* const copy = out_.data() + begin + 4;
    switch (marker) {
      case kMarkerCod:
        cod(body, copy);
        break;
      case kCoc:
        coc(body, copy);
        break;
      case kMarkerQcd:
        qcd(body);
        break;
      case kMarkerQcc:
        qcc(body);
        break;
      case kMarkerRgn:
        rgn(body);
        break;
      case kMarkerPoc:
        poc(body, copy);
        break;
      case kMarkerCom:
        return true;
      default:
        out_.resize(begin);
        return false;
    }
    claims_.has_coding = true;
    return true;
  }
  bool has_cod() const { return has_cod_; }
  bool has_qcd() const { return has_qcd_; }
  const Claims& claims() const { return claims_; }

 private:
  size_t component_bytes() const { return coding_.styles.size() < 257 ? 1 : 2; }
  uint32_t component(Fields& in) const {
    const uint8_t* const at = in.here();
    const uint32_t c = in.number(component_bytes());
    if (c >= coding_.styles.size()) invalid("component " + std::to_string(c), at);
    return c;
  }

  /// SPcod and SPcoc. @param copy  of the same bytes, whose style becomes the target's
  Style style(Fields& in, bool has_precincts, uint8_t* copy) {
    const uint8_t* const at = in.here();
    Style s{};
    s.levels = static_cast<uint8_t>(in.number(1));
    const uint32_t width = in.number(1) + 2, height = in.number(1) + 2;
    s.block_style = static_cast<uint8_t>(in.number(1));
    const uint32_t transform = in.number(1);
    if (s.levels > kMostLevels) invalid(std::to_string(s.levels) + " levels", at);
    if (width > 10 || height > 10 || width + height > 12) invalid("the code-block size", at + 1);
    if ((s.block_style & kMixedBlocks) != 0)
      not_supported("code-blocks of both coders in one tile-component", at + 3);
    if ((s.block_style & kHtBlocks) != 0 && (s.block_style & ~(kHtBlocks | CJ2K_STYLE_VSC)) != 0)
      invalid("code-block style " + hex(s.block_style), at + 3);
    if (transform > 1) not_supported("wavelet " + std::to_string(transform), at + 4);
    s.width_log2 = static_cast<uint8_t>(width);
    s.height_log2 = static_cast<uint8_t>(height);
    s.is_reversible = transform == 1;
    claims_.is_irreversible |= transform == 0;
    s.precincts.fill(0xFF);
    for (uint32_t r = 0; has_precincts && r <= s.levels; ++r) {
      s.precincts[r] = static_cast<uint8_t>(in.number(1));
      if (r > 0 && ((s.precincts[r] & 0xF) == 0 || s.precincts[r] >> 4 == 0))
        invalid("a precinct of one sample above the lowest resolution", at);
    }
    copy[3] =
        static_cast<uint8_t>((s.block_style & CJ2K_STYLE_VSC) | (target_.is_ht ? kHtBlocks : 0));
    return s;
  }

  void cod(std::span<const uint8_t> body, uint8_t* copy) {
    Fields in(body);
    const uint32_t scod = in.number(1);
    coding_.has_sop = (scod & 2) != 0;
    coding_.has_eph = (scod & 4) != 0;
    coding_.order = static_cast<uint8_t>(in.number(1));
    if (coding_.order > 4) invalid("progression " + std::to_string(coding_.order), body.data());
    coding_.layers = in.number(2);
    if (coding_.layers == 0) invalid("0 layers", body.data());
    const uint32_t mct = in.number(1);
    if (mct > 1) not_supported("a component transform of Part 2", body.data());
    coding_.has_mct = mct == 1;
    const Style s = style(in, (scod & 1) != 0, copy + 5);
    if (!target_.keeps_layers) store_u16(copy + 2, 1);
    for (size_t c = 0; c < coding_.styles.size(); ++c) {
      if (!own_style_[c]) coding_.styles[c] = s;
    }
    has_cod_ = true;
  }

  void coc(std::span<const uint8_t> body, uint8_t* copy) {
    Fields in(body);
    const uint32_t c = component(in);
    const bool has_precincts = (in.number(1) & 1) != 0;
    coding_.styles[c] = style(in, has_precincts, copy + component_bytes() + 1);
    own_style_[c] = true;
  }

  static Quantisation quantisation(Fields& in) {
    const uint8_t* const at = in.here();
    Quantisation q{};
    const uint32_t sqcd = in.number(1), style = sqcd & 31;
    if (style > 2) invalid("quantisation style " + std::to_string(style), at);
    q.guard_bits = static_cast<uint8_t>(sqcd >> 5);
    q.is_derived = style == 1;
    const size_t bytes = style == 0 ? 1 : 2;
    const size_t most = q.is_derived ? 1 : q.exponents.size();
    while (in.left() >= bytes && q.count < most) {
      const uint32_t step = in.number(bytes);
      q.mantissas[q.count] = style == 0 ? 0 : step & 0x7FF;
      q.exponents[q.count++] = static_cast<uint8_t>(step >> (style == 0 ? 3 : 11));
    }
    return q;
  }

  void qcd(std::span<const uint8_t> body) {
    Fields in(body);
    const Quantisation q = quantisation(in);
    for (size_t c = 0; c < coding_.quants.size(); ++c) {
      if (!own_quant_[c]) coding_.quants[c] = q;
    }
    has_qcd_ = true;
  }

  void qcc(std::span<const uint8_t> body) {
    Fields in(body);
    const uint32_t c = component(in);
    coding_.quants[c] = quantisation(in);
    own_quant_[c] = true;
  }

  void rgn(std::span<const uint8_t> body) {
    Fields in(body);
    const uint32_t c = component(in);
    if (in.number(1) != 0) not_supported("a region of interest that is not max-shift", body.data());
    coding_.shifts[c] = static_cast<uint8_t>(in.number(1));
    // OpenJPEG refuses such codestreams, OpenJPH shows them without the shift (docs/htj2k.md).
    if (target_.is_ht) not_supported("a region of interest (RGN) with HT", body.data());
  }

  void poc(std::span<const uint8_t> body, uint8_t* copy) {
    const size_t number = component_bytes(), bytes = 5 + 2 * number;
    if (body.empty() || body.size() % bytes != 0) invalid("the length of POC", body.data());
    if (body.size() / bytes > kMostChanges)
      not_supported("more than 255 progression order changes", body.data());
    coding_.changes.clear();
    Fields in(body);
    for (; in.left() > 0; copy += bytes) {
      Progression p{};
      p.first_resolution = in.number(1);
      p.first_component = in.number(number);
      p.end_layer = in.number(2);
      p.end_resolution = in.number(1);
      p.end_component = in.number(number);
      if (p.end_component == 0) p.end_component = 256;  // in one byte
      p.order = static_cast<uint8_t>(in.number(1));
      if (p.order > 4) invalid("progression " + std::to_string(p.order), body.data());
      if (!target_.keeps_layers) store_u16(copy + 1 + number, 1);
      coding_.changes.push_back(p);
    }
  }

  const Target& target_;
  Coding& coding_;
  std::vector<uint8_t>& out_;
  std::vector<bool> own_style_, own_quant_;  ///< this header has a COC, a QCC
  bool has_cod_ = false, has_qcd_ = false;
  Claims claims_;
};

std::span<const uint8_t> take_segment(Fields& in) {
  const uint8_t* const at = in.here();
  const uint32_t length = in.number(2);
  if (length < 2) invalid("the length of a marker segment", at);
  return in.take(length - 2);
}

void read_siz(std::span<const uint8_t> body, const Target& target, Codestream& cs) {
  Fields in(body);
  Siz& s = cs.siz;
  const uint32_t rsiz = in.number(2);
  if ((rsiz & 0x8000) != 0) not_supported("a codestream of Part 2", body.data());
  for (uint32_t* field :
       {&s.x1, &s.y1, &s.x0, &s.y0, &s.tile_width, &s.tile_height, &s.tile_x0, &s.tile_y0})
    *field = in.number(4);
  const uint32_t count = in.number(2);
  if (count == 0 || count > 16384 || in.left() != 3 * size_t{count})
    invalid(std::to_string(count) + " components in SIZ", body.data());
  const auto tile_end = [](uint32_t first, uint32_t size) { return uint64_t{first} + size; };
  if (s.x1 <= s.x0 || s.y1 <= s.y0 || s.tile_width == 0 || s.tile_height == 0 || s.tile_x0 > s.x0 ||
      s.tile_y0 > s.y0 || tile_end(s.tile_x0, s.tile_width) <= s.x0 ||
      tile_end(s.tile_y0, s.tile_height) <= s.y0 || s.num_tiles() > 65535)
    invalid("image and tiles in SIZ", body.data());
  for (uint32_t c = 0; c < count; ++c) {
    const auto depth = static_cast<uint8_t>((in.number(1) & 0x7F) + 1);
    const auto dx = static_cast<uint8_t>(in.number(1)), dy = static_cast<uint8_t>(in.number(1));
    if (dx == 0 || dy == 0) invalid("a subsampling of 0", body.data());
    s.components.push_back({dx, dy, depth});
  }
  if (s.num_tiles() * count > kMostTileComponents)
    not_supported("more than 4194304 components of tiles", body.data());
  append_u16(cs.header, kMarkerSiz);
  append_u16(cs.header, static_cast<uint32_t>(body.size() + 2));
  constexpr uint32_t kHasCap = 0x4000;
  const bool keeps = target.keeps_profile && (rsiz & kHasCap) == 0;
  append_u16(cs.header, keeps ? rsiz : target.is_ht ? kHasCap : 0);  // else no profile
  cs.header.insert(cs.header.end(), body.begin() + 2, body.end());
  cs.siz_end = cs.header.size();
  cs.coding.styles.resize(count);
  cs.coding.quants.resize(count);
  cs.coding.shifts.resize(count);
}

void check_cap(std::span<const uint8_t> body) {
  constexpr uint32_t kPart15 = 1u << (32 - 15);
  if ((Fields(body).number(4) & ~kPart15) != 0)
    not_supported("a codestream of another part than 1 and 15", body.data());
}

/// Segments of PPM or PPT (A.7.4, A.7.5): their bytes, in the order of their numbers.
class PackedHeaders {
 public:
  void add(std::span<const uint8_t> body) {
    Fields in(body);
    const uint32_t number = in.number(1);
    segments_[number] = in.take(in.left());
  }
  bool empty() const { return segments_.empty(); }
  std::vector<uint8_t> bytes() const {
    std::vector<uint8_t> out;
    for (const auto& [number, segment] : segments_)
      out.insert(out.end(), segment.begin(), segment.end());
    return out;
  }

 private:
  std::map<uint32_t, std::span<const uint8_t>> segments_;
};

/// PPM: the packet headers of one tile-part after the other, each with their number of bytes.
void unpack(const PackedHeaders& packed, Codestream& cs) {
  const std::vector<uint8_t> bytes = packed.bytes();
  size_t at = 0;
  for (InputPart& part : cs.parts) {
    if (part.is_packed) invalid("packet headers in PPM and in PPT", part.header.data());
    uint64_t count = 0;
    for (int i = 0; i < 4 && at < bytes.size(); ++i) count = count << 8 | bytes[at++];
    if (count > bytes.size() - at) invalid("the end of PPM", part.header.data());
    part.is_packed = true;
    part.packet_headers.assign(bytes.begin() + static_cast<ptrdiff_t>(at),
                               bytes.begin() + static_cast<ptrdiff_t>(at + count));
    at += count;
  }
}

/// @return after the last segment, where the first SOT is
PackedHeaders read_main_header(Fields& in, const Target& target, Codestream& cs) {
  if (in.left() < 2 || in.number(2) != kMarkerSoc) invalid("no SOC", in.here());
  append_u16(cs.header, kMarkerSoc);
  const uint8_t* at = in.here();
  if (in.number(2) != kMarkerSiz) invalid("no SIZ after SOC", at);
  read_siz(take_segment(in), target, cs);
  Header header(target, cs.coding, cs.header);
  PackedHeaders packed;
  while (true) {
    at = in.here();
    Fields ahead = in;
    const uint32_t marker = ahead.number(2);
    if (marker == kMarkerSot) break;
    in = ahead;
    if (is_bare(marker)) {
      append_u16(cs.header, marker);
      continue;
    }
    const std::span<const uint8_t> body = take_segment(in);
    if (header.segment(marker, body)) continue;
    if (marker == kMarkerCap) {
      check_cap(body);
    } else if (marker == kMarkerTlm) {
      if (cs.tlm_at == 0) cs.tlm_at = cs.header.size();
    } else if (marker == kCrg) {
      append_u16(cs.header, marker);
      append_u16(cs.header, static_cast<uint32_t>(body.size() + 2));
      cs.header.insert(cs.header.end(), body.begin(), body.end());
    } else if (marker == kPpm) {
      packed.add(body);
    } else if (marker != kPlm && marker != kCpf && marker != kPrf) {
      not_supported("marker " + hex(marker) + " in the main header", at);
    }
  }
  cs.claims = header.claims();
  if (!header.has_cod()) invalid("no COD in the main header", at);
  if (!header.has_qcd()) invalid("no QCD in the main header", at);
  return packed;
}

/// @return false: EOC
bool read_tile_part(Fields& in, Codestream& cs) {
  const uint8_t* const begin = in.here();
  const uint32_t marker = in.number(2);
  if (marker == kMarkerEoc) return false;
  if (marker != kMarkerSot || in.number(2) != 10) invalid("no SOT after a tile-part", begin);
  InputPart part{};
  part.tile = in.number(2);
  uint64_t psot = in.number(4);
  part.index = static_cast<uint8_t>(in.number(1));
  in.number(1);  // TNsot is counted
  if (part.tile >= cs.siz.num_tiles()) invalid("tile " + std::to_string(part.tile), begin);
  if (psot == 0) psot = kSotBytes + (in.left() < kEocBytes ? 0 : in.left() - kEocBytes);
  if (psot < kSotBytes + kSodBytes || psot - kSotBytes > in.left())
    invalid("Psot " + std::to_string(psot), begin);
  Fields rest(in.take(psot - kSotBytes));
  const uint8_t* const header = rest.here();
  const uint8_t* sod = header;
  PackedHeaders packed;
  for (uint32_t next; (next = rest.number(2)) != kMarkerSod; sod = rest.here()) {
    if (is_bare(next)) continue;
    const std::span<const uint8_t> segment = take_segment(rest);
    if (next == kPpt) packed.add(segment);
  }
  part.is_packed = !packed.empty();
  part.packet_headers = packed.bytes();
  part.header = {header, sod};
  part.body = rest.take(rest.left());
  cs.parts.push_back(std::move(part));
  return true;
}

}  // namespace

uint32_t Fields::number(size_t bytes) {
  uint32_t value = 0;
  for (const uint8_t byte : take(bytes)) value = value << 8 | byte;
  return value;
}

std::span<const uint8_t> Fields::take(size_t bytes) {
  if (bytes > left()) invalid("the end of the data", bytes_.data() + bytes_.size());
  at_ += bytes;
  return bytes_.subspan(at_ - bytes, bytes);
}

uint64_t Siz::tiles_wide() const { return ceil_div(uint64_t{x1} - tile_x0, tile_width); }
uint64_t Siz::num_tiles() const {
  return tiles_wide() * ceil_div(uint64_t{y1} - tile_y0, tile_height);
}

Codestream read_codestream(std::span<const uint8_t> bytes, const Target& target) {
  Codestream cs;
  Fields in(bytes);
  const PackedHeaders packed = read_main_header(in, target, cs);
  while (read_tile_part(in, cs)) {
  }
  if (!packed.empty()) unpack(packed, cs);
  const std::span<const uint8_t> rest = bytes.last(in.left());
  if (!std::all_of(rest.begin(), rest.end(), [](uint8_t byte) { return byte == 0; }))
    invalid("bytes after EOC", rest.data());
  return cs;
}

PartHeader read_part_header(const InputPart& part, const Target& target, Coding& coding) {
  PartHeader out;
  Header header(target, coding, out.segments);
  Fields in(part.header);
  while (in.left() > 0) {
    const uint8_t* const at = in.here();
    const uint32_t marker = in.number(2);
    if (is_bare(marker)) {
      append_u16(out.segments, marker);
      continue;
    }
    const std::span<const uint8_t> body = take_segment(in);
    if (header.segment(marker, body)) {
      if (part.index > 0 && header.claims().has_coding)
        not_supported("marker " + hex(marker) + " in a later tile-part", at);
    } else if (marker == kMarkerPlt) {
      out.has_plt = true;
    } else if (marker != kPpt) {
      not_supported("marker " + hex(marker) + " in a tile-part header", at);
    }
  }
  out.claims = header.claims();
  return out;
}

}  // namespace cj2k::transcoding
