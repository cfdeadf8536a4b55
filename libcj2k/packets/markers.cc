// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "packets/markers.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "packets/bytes.h"

namespace cj2k {
namespace {

constexpr uint32_t kMaxSegmentLength = 65535;  // of a marker segment, its length field included
constexpr uint32_t kMaxSegments = 256;         // Ztlm, Zplt

// Marker, Ltlm, Ztlm, Stlm (A.7.1).
constexpr uint32_t kTlmHeaderBytes = 6;
// Marker, Lplt, Zplt (A.7.3).
constexpr uint32_t kPltHeaderBytes = 5;
// A tile-part, and so a packet, is shorter than 2^32 bytes; that takes five groups of 7 bits.
constexpr uint32_t kMaxPltEntryBytes = 5;
constexpr uint32_t kPltSegmentEntryBytes = kMaxSegmentLength + 2 - kPltHeaderBytes;

void append_siz(std::vector<uint8_t>& out, const Plan& plan) {
  const auto num_components = static_cast<uint32_t>(plan.components.size());
  append_u16(out, kMarkerSiz);
  append_u16(out, 38 + 3 * num_components);
  append_u16(out, plan.rsiz);
  const int32_t fields[] = {plan.image.x1,
                            plan.image.y1,
                            plan.image.x0,
                            plan.image.y0,
                            plan.params.tile_width,
                            plan.params.tile_height,
                            plan.params.tile_offset_x,
                            plan.params.tile_offset_y};
  for (const int32_t field : fields) append_u32(out, static_cast<uint32_t>(field));
  append_u16(out, num_components);
  for (const Component& c : plan.components) {
    append_u8(out, static_cast<uint32_t>(c.depth - 1) | (c.is_signed ? 0x80u : 0u));
    append_u8(out, static_cast<uint32_t>(c.dx));
    append_u8(out, static_cast<uint32_t>(c.dy));
  }
}

// CAP of Part 15: every code-block has one HT set of passes, there is no region of interest, and no
// tile has a header of its own. B bounds the bits of the magnitudes in cleanup passes. There is no CPF:
// a corresponding profile is one of Part 1, and none of the profiles with HTJ2K corresponds to one.
void append_cap(std::vector<uint8_t>& out, const Plan& plan) {
  if (plan.params.coder != CJ2K_CODER_HT) return;
  uint32_t b = 8;
  for (const Subband& band : plan.subbands) b = std::max<uint32_t>(b, band.max_bit_planes);
  for (const auto& bands : plan.finer_subbands) {
    for (const Subband& band : bands) b = std::max<uint32_t>(b, band.max_bit_planes);
  }
  if (const int32_t bound = plan.magnitude_bound) b = static_cast<uint32_t>(bound);
  const uint32_t magb = b <= 27 ? b - 8 : 19 + (b - 27 + 3) / 4;
  append_u16(out, kMarkerCap);
  append_u16(out, 8);
  append_u32(out, 1u << (32 - 15));                        // Pcap: Part 15
  append_u16(out, (plan.reversible ? 0u : 0x20u) | magb);  // Ccap15
}

std::span<const Resolution> resolutions_of(const Plan& plan, uint32_t tile_component) {
  return {&plan.resolutions[plan.tile_components[tile_component].first_resolution],
          static_cast<size_t>(plan.params.levels) + 1};
}

void append_cod(std::vector<uint8_t>& out, const Plan& plan) {
  const cj2k_params& p = plan.params;
  const auto resolutions = resolutions_of(plan, 0);
  const bool has_precincts =
      std::any_of(resolutions.begin(), resolutions.end(), [](const Resolution& r) {
        return r.precinct_width_log2 != 15 || r.precinct_height_log2 != 15;
      });
  append_u16(out, kMarkerCod);
  append_u16(out, 12 + (has_precincts ? static_cast<uint32_t>(resolutions.size()) : 0));
  append_u8(out, (has_precincts ? 1u : 0u) | (p.sop ? 2u : 0u) | (p.eph ? 4u : 0u));
  append_u8(out, static_cast<uint32_t>(p.progression));
  append_u16(out, static_cast<uint32_t>(p.layers));
  append_u8(out, plan.use_mct ? 1 : 0);
  append_u8(out, static_cast<uint32_t>(p.levels));
  const auto log2_of = [](int32_t size) {
    uint32_t log2 = 0;
    while (size >>= 1) ++log2;
    return log2;
  };
  append_u8(out, log2_of(p.cblk_width) - 2);
  append_u8(out, log2_of(p.cblk_height) - 2);
  const uint32_t ht_blocks = p.coder == CJ2K_CODER_HT ? 0x40 : 0;
  append_u8(out, static_cast<uint32_t>(p.cblk_style) | ht_blocks);
  append_u8(out, plan.reversible ? 1 : 0);
  if (!has_precincts) return;
  for (const Resolution& r : resolutions) {
    append_u8(out, r.precinct_width_log2 | static_cast<uint32_t>(r.precinct_height_log2) << 4);
  }
}

// Sqcd and SPqcd of one component (A.6.4), from the subbands of tile 0. They are the same in all
// tiles.
std::vector<uint8_t> quantisation(const Plan& plan, uint32_t component, uint32_t step_set) {
  const std::vector<Subband>& subbands =
      step_set == 0 ? plan.subbands : plan.finer_subbands[step_set - 1];
  std::vector<uint8_t> out;
  const uint32_t style = plan.reversible ? 0 : 2;
  append_u8(out, static_cast<uint32_t>(plan.params.guard_bits) << 5 | style);
  for (const Resolution& r : resolutions_of(plan, component)) {
    for (uint32_t i = 0; i < r.num_subbands; ++i) {
      const Subband& band = subbands[r.first_subband + i];
      if (plan.reversible) {
        append_u8(out, static_cast<uint32_t>(band.exponent) << 3);
      } else {
        append_u16(out, static_cast<uint32_t>(band.exponent) << 11 | band.mantissa);
      }
    }
  }
  return out;
}

void append_quantisation(std::vector<uint8_t>& out, const Plan& plan, uint32_t step_set) {
  const std::vector<uint8_t> common = quantisation(plan, 0, step_set);
  append_u16(out, kMarkerQcd);
  append_u16(out, 2 + static_cast<uint32_t>(common.size()));
  out.insert(out.end(), common.begin(), common.end());
  for (uint32_t c = 1; c < plan.components.size(); ++c) {
    const std::vector<uint8_t> own = quantisation(plan, c, step_set);
    if (own == common) continue;
    append_u16(out, kMarkerQcc);
    append_u16(out, 3 + static_cast<uint32_t>(own.size()));
    append_u8(out, c);
    out.insert(out.end(), own.begin(), own.end());
  }
}

// A.6.6. Fewer than 257 components: CSpoc and CEpoc have one byte.
static_assert(CJ2K_MAX_COMPONENTS < 257);
void append_poc(std::vector<uint8_t>& out, const cj2k_params& p) {
  if (p.num_poc == 0) return;
  append_u16(out, kMarkerPoc);
  append_u16(out, 2 + 7 * static_cast<uint32_t>(p.num_poc));
  for (int32_t i = 0; i < p.num_poc; ++i) {
    const cj2k_progression_change& entry = p.poc[i];
    append_u8(out, static_cast<uint32_t>(entry.resolution_begin));
    append_u8(out, static_cast<uint32_t>(entry.component_begin));
    append_u16(out, static_cast<uint32_t>(entry.layer_end));
    append_u8(out, static_cast<uint32_t>(entry.resolution_end));
    append_u8(out, static_cast<uint32_t>(entry.component_end));
    append_u8(out, static_cast<uint32_t>(entry.progression));
  }
}

// A.6.3, with one byte for Crgn.
void append_rgn(std::vector<uint8_t>& out, const Plan& plan) {
  for (uint32_t c = 0; c < plan.components.size(); ++c) {
    if (plan.roi_shifts[c] == 0) continue;
    append_u16(out, kMarkerRgn);
    append_u16(out, 5);
    append_u8(out, c);
    append_u8(out, 0);  // Srgn: implicit region of interest, the max-shift method
    append_u8(out, plan.roi_shifts[c]);
  }
}

void append_tlm(MainHeader& header, const Plan& plan) {
  // Ttlm has one byte if every tile index is in 0 .. 254 (Table A.33), else two. Ptlm always has
  // four.
  const bool short_index = plan.tiles.size() <= 255;
  const uint32_t entry_bytes = short_index ? 5 : 6;
  const size_t num_parts = plan.tile_parts.size();
  if (!plan.params.tlm || num_parts > size_t{kMaxTlmEntries} * kMaxSegments) return;
  std::vector<uint8_t>& out = header.bytes;
  header.tlm_offset = out.size();
  header.tlm_entry_bytes = entry_bytes;
  for (size_t part = 0; part < num_parts; ++part) {
    if (part % kMaxTlmEntries == 0) {
      const auto entries =
          static_cast<uint32_t>(std::min<size_t>(kMaxTlmEntries, num_parts - part));
      append_u16(out, kMarkerTlm);
      append_u16(out, kTlmHeaderBytes - 2 + entries * entry_bytes);
      append_u8(out, static_cast<uint32_t>(part / kMaxTlmEntries));
      append_u8(out, short_index ? 0x50 : 0x60);  // Stlm: SP = 1 (32 bits), ST = 1 or 2 bytes
    }
    const uint32_t tile = plan.tile_parts[part].tile;
    if (short_index) {
      append_u8(out, tile);
    } else {
      append_u16(out, tile);
    }
    append_u32(out, 0);
  }
}

void append_comment(MainHeader& header, const char* text) {
  const size_t length = strnlen(text, sizeof(cj2k_params::comment));
  if (length == 0) return;
  std::vector<uint8_t>& out = header.bytes;
  header.comment_offset = out.size();
  append_u16(out, kMarkerCom);
  append_u16(out, 4 + static_cast<uint32_t>(length));
  append_u16(out, 1);  // Rcom: Latin (ISO/IEC 8859-15) text
  out.insert(out.end(), text, text + length);
}

}  // namespace

MainHeader make_main_header(const Plan& plan, uint32_t step_set) {
  MainHeader header;
  append_u16(header.bytes, kMarkerSoc);
  append_siz(header.bytes, plan);
  append_cap(header.bytes, plan);
  append_cod(header.bytes, plan);
  append_quantisation(header.bytes, plan, step_set);
  append_rgn(header.bytes, plan);
  append_poc(header.bytes, plan.params);
  append_tlm(header, plan);
  append_comment(header, plan.params.comment);
  return header;
}

void MainHeader::set_tile_part_bytes(uint8_t* header, size_t tile_part,
                                     uint32_t tile_part_bytes) const {
  if (tlm_offset == 0) return;
  const size_t num_headers = tile_part / kMaxTlmEntries + 1;
  const size_t end_of_entry =
      tlm_offset + num_headers * kTlmHeaderBytes + (tile_part + 1) * tlm_entry_bytes;
  store_u32(header + end_of_entry - 4, tile_part_bytes);
}

uint8_t* store_sot(uint8_t* out, const TilePart& tile_part, uint32_t tile_part_bytes) {
  out = store_u16(out, kMarkerSot);
  out = store_u16(out, 10);
  out = store_u16(out, tile_part.tile);
  out = store_u32(out, tile_part_bytes);
  out = store_u8(out, tile_part.index);
  return store_u8(out, tile_part.count);
}

uint8_t* store_sop(uint8_t* out, uint32_t number) {
  out = store_u16(out, kMarkerSop);
  out = store_u16(out, 4);
  return store_u16(out, number);
}

uint8_t* store_padding(uint8_t* out, uint64_t bytes) {
  while (bytes > 0) {
    uint64_t segment = std::min<uint64_t>(bytes, kMaxSegmentLength + 2);
    // The rest must be long enough for a segment of its own.
    if (bytes > segment && bytes - segment < kMinPaddingBytes) segment -= kMinPaddingBytes;
    uint8_t* data = store_u16(out, kMarkerCom);
    data = store_u16(data, static_cast<uint32_t>(segment - 2));
    data = store_u16(data, 0);  // Rcom: binary
    std::memset(data, 0, segment - 6);
    out += segment;
    bytes -= segment;
  }
  return out;
}

uint8_t* lengthen_comment(const MainHeader& layout, uint8_t* header, uint32_t bytes) {
  uint8_t* const end = header + layout.bytes.size();
  const size_t segment = layout.bytes.size() - layout.comment_offset;
  store_u16(header + layout.comment_offset + 2, static_cast<uint32_t>(segment - 2) + bytes);
  std::memset(end, ' ', bytes);
  return end + bytes;
}

uint64_t max_plt_overhead_bytes(uint64_t num_packets) {
  // Every segment except the last one is full, up to an entry that did not fit.
  constexpr uint64_t kFilled = kPltSegmentEntryBytes - (kMaxPltEntryBytes - 1);
  const uint64_t segments = (num_packets * kMaxPltEntryBytes + kFilled - 1) / kFilled;
  return segments * kPltHeaderBytes;
}

bool has_plt(const Plan& plan) {
  if (!plan.params.plt) return false;
  return std::all_of(plan.tile_parts.begin(), plan.tile_parts.end(), [](const TilePart& part) {
    return max_plt_overhead_bytes(part.num_packets) <= uint64_t{kMaxSegments} * kPltHeaderBytes;
  });
}

void PltWriter::add(uint64_t packet_bytes) {
  const uint32_t entry_bytes = plt_entry_bytes(packet_bytes);
  if (segment_bytes_ + entry_bytes > kPltHeaderBytes + kPltSegmentEntryBytes) close_segment();
  if (segment_bytes_ == 0) segment_bytes_ = kPltHeaderBytes;
  if (out_ != nullptr) {
    uint8_t* entry = out_ + bytes_ + segment_bytes_;
    for (uint32_t i = 0; i < entry_bytes; ++i) {
      const uint32_t continues = i + 1 < entry_bytes ? 0x80 : 0;
      const auto group = static_cast<uint32_t>(packet_bytes >> 7 * (entry_bytes - 1 - i)) & 0x7F;
      entry = store_u8(entry, continues | group);
    }
  }
  segment_bytes_ += entry_bytes;
}

uint64_t PltWriter::finish() {
  if (segment_bytes_ > 0) close_segment();
  return bytes_;
}

void PltWriter::close_segment() {
  if (out_ != nullptr) {
    uint8_t* header = out_ + bytes_;
    header = store_u16(header, kMarkerPlt);
    header = store_u16(header, segment_bytes_ - 2);
    store_u8(header, num_segments_);
  }
  bytes_ += segment_bytes_;
  segment_bytes_ = 0;
  ++num_segments_;
}

}  // namespace cj2k
