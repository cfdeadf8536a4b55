// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "packets/packet_writer.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <vector>

#include "packets/jp2.h"
#include "packets/markers.h"

namespace cj2k {
namespace {

uint64_t part_overhead_bytes(const TilePart& part, bool plt) {
  return kSotBytes + kSodBytes + (plt ? max_plt_overhead_bytes(part.num_packets) : 0);
}

}  // namespace

uint64_t fixed_bytes(const Plan& plan) {
  const bool plt = has_plt(plan);
  uint64_t bytes = make_main_header(plan).bytes.size() + kEocBytes;
  if (plan.params.format == CJ2K_FORMAT_JP2) bytes += make_jp2_boxes(plan).size();
  for (const TilePart& part : plan.tile_parts) bytes += part_overhead_bytes(part, plt);
  return bytes;
}

uint64_t component_fixed_bytes(const Plan& plan, uint32_t component) {
  if (plan.params.tile_parts != CJ2K_TILE_PARTS_COMPONENT) return 0;
  const bool plt = has_plt(plan);
  uint64_t bytes = 0;
  for (const TilePart& part : plan.tile_parts) {
    if (part.num_packets == 0) continue;
    const uint32_t precinct = plan.packets[part.first_packet].precinct;
    if (plan.precincts[precinct].component == component) bytes += part_overhead_bytes(part, plt);
  }
  return bytes;
}

struct PacketWriter::Impl {
  /// The position of a precinct's next packet in its PrecinctPackets.
  struct Cursor {
    size_t record = 0, header = 0, piece = 0;
  };

  explicit Impl(const Plan& p);

  /// Moves the cursor past a packet. @return its bytes, with SOP and EPH
  uint64_t skip_packet(const PacketRef& packet, Cursor& cursor) const;
  uint8_t* store_packet(const PacketRef& packet, uint32_t number, Cursor& cursor,
                        uint8_t* out) const;
  struct PartBytes {
    uint64_t plt, packets;
  };
  /// Makes the PLT segments of a tile-part and measures them and its packets.
  /// @param plt_out  nullptr: only measures
  PartBytes measure_part(const TilePart& part, uint8_t* plt_out) const;
  uint8_t* store_tile_parts(uint8_t* header, uint8_t* out) const;
  uint8_t* copy_tile_parts(uint8_t* header, uint8_t* out) const;
  void rewind(std::vector<Cursor>& cursors) const {
    std::fill(cursors.begin(), cursors.end(), Cursor{});
  }

  const Plan& plan;
  const bool plt;
  const uint32_t marker_bytes;
  const MainHeader main_header;
  const std::vector<MainHeader> finer_headers;  // of the step sets 1 and up
  const std::vector<uint8_t> jp2_boxes;
  std::vector<PrecinctPackets> precincts;
  std::span<const uint8_t> tile_parts;  // not empty: they stand for `precincts`
  // In every progression, and over their changes (B.12), the packets of a precinct are in the order
  // of the layers, so one cursor per precinct finds them all. One set of cursors runs ahead to
  // measure a tile-part, the other stores it.
  mutable std::vector<Cursor> measure_cursors, store_cursors;
};

namespace {
std::vector<MainHeader> make_finer_headers(const Plan& plan) {
  std::vector<MainHeader> headers;
  for (uint32_t s = 1; s <= plan.finer_subbands.size(); ++s)
    headers.push_back(make_main_header(plan, s));
  return headers;
}
}  // namespace

PacketWriter::Impl::Impl(const Plan& p)
    : plan(p),
      plt(has_plt(p)),
      marker_bytes(marker_bytes_per_packet(p)),
      main_header(make_main_header(p)),
      finer_headers(make_finer_headers(p)),
      jp2_boxes(p.params.format == CJ2K_FORMAT_JP2 ? make_jp2_boxes(p) : std::vector<uint8_t>()),
      precincts(p.precincts.size()),
      measure_cursors(p.precincts.size()),
      store_cursors(p.precincts.size()) {
  for (size_t i = 0; i < precincts.size(); ++i) {
    const size_t num_blocks = p.precincts[i].num_blocks;
    if (num_blocks == 0) continue;
    precincts[i].pieces.reserve(num_blocks);
    precincts[i].headers.reserve(4 * num_blocks + 16);
    precincts[i].records.reserve(std::min<size_t>(static_cast<size_t>(p.params.layers), 8));
  }
}

uint64_t PacketWriter::Impl::skip_packet(const PacketRef& packet, Cursor& cursor) const {
  const PrecinctPackets& packets = precincts[packet.precinct];
  if (cursor.record == packets.records.size() ||
      packets.records[cursor.record].layer != packet.layer) {
    return marker_bytes + kEmptyHeaderBytes;
  }
  const PacketRecord& record = packets.records[cursor.record++];
  cursor.header += record.header_bytes;
  cursor.piece += record.num_pieces;
  return marker_bytes + record.header_bytes + record.body_bytes;
}

uint8_t* PacketWriter::Impl::store_packet(const PacketRef& packet, uint32_t number, Cursor& cursor,
                                          uint8_t* out) const {
  // Code-blocks are scattered in memory, so the first cache line of a piece is prefetched this many
  // pieces ahead.
  constexpr size_t kPrefetchAhead = 12;
  const PrecinctPackets& packets = precincts[packet.precinct];
  const Cursor begin = cursor;
  skip_packet(packet, cursor);
  if (plan.params.sop) out = store_sop(out, number);
  if (cursor.record == begin.record) {
    *out++ = 0;
  } else {
    const size_t header_bytes = cursor.header - begin.header;
    std::memcpy(out, packets.headers.data() + begin.header, header_bytes);
    out += header_bytes;
  }
  if (plan.params.eph) {
    *out++ = kMarkerEph >> 8;
    *out++ = kMarkerEph & 0xFF;
  }
  const BodyPiece* pieces = packets.pieces.data();
  for (size_t i = begin.piece; i < cursor.piece; ++i) {
    if (i + kPrefetchAhead < cursor.piece) __builtin_prefetch(pieces[i + kPrefetchAhead].data);
    std::memcpy(out, pieces[i].data, pieces[i].bytes);
    out += pieces[i].bytes;
  }
  return out;
}

PacketWriter::Impl::PartBytes PacketWriter::Impl::measure_part(const TilePart& part,
                                                               uint8_t* plt_out) const {
  PltWriter plt_writer(plt_out);
  uint64_t packet_bytes = 0;
  for (uint64_t i = part.first_packet; i < part.first_packet + part.num_packets; ++i) {
    const PacketRef& packet = plan.packets[i];
    const uint64_t bytes = skip_packet(packet, measure_cursors[packet.precinct]);
    packet_bytes += bytes;
    if (plt) plt_writer.add(bytes);
  }
  return {plt ? plt_writer.finish() : 0, packet_bytes};
}

/// Stores the tile-parts, and their lengths in the TLM of `header`, the main header. @return their end
uint8_t* PacketWriter::Impl::store_tile_parts(uint8_t* header, uint8_t* out) const {
  rewind(measure_cursors);
  rewind(store_cursors);
  uint32_t packet_number = 0;
  for (size_t i = 0; i < plan.tile_parts.size(); ++i) {
    const TilePart& part = plan.tile_parts[i];
    const PartBytes part_bytes = measure_part(part, out + kSotBytes);
    const auto psot =
        static_cast<uint32_t>(kSotBytes + part_bytes.plt + kSodBytes + part_bytes.packets);
    uint8_t* const end = out + psot;
    main_header.set_tile_part_bytes(header, i, psot);
    out = store_sot(out, part, psot) + part_bytes.plt;
    *out++ = kMarkerSod >> 8;
    *out++ = kMarkerSod & 0xFF;
    if (part.index == 0) packet_number = 0;
    for (uint64_t k = part.first_packet; k < part.first_packet + part.num_packets; ++k) {
      const PacketRef& packet = plan.packets[k];
      out = store_packet(packet, packet_number++, store_cursors[packet.precinct], out);
    }
    assert(out == end);
    out = end;
  }
  return out;
}

/// The same for tile-parts that are written already. @return nullptr: Psot does not fit to the plan
uint8_t* PacketWriter::Impl::copy_tile_parts(uint8_t* header, uint8_t* out) const {
  constexpr size_t kPsot = 6;  // offset in SOT (A.4.2)
  std::memcpy(out, tile_parts.data(), tile_parts.size());
  uint8_t* const end = out + tile_parts.size();
  for (size_t i = 0; i < plan.tile_parts.size(); ++i) {
    const auto left = static_cast<size_t>(end - out);
    if (left < kSotBytes + kSodBytes) return nullptr;
    const uint32_t psot = uint32_t{out[kPsot]} << 24 | uint32_t{out[kPsot + 1]} << 16 |
                          uint32_t{out[kPsot + 2]} << 8 | out[kPsot + 3];
    if (psot < kSotBytes + kSodBytes || psot > left) return nullptr;
    main_header.set_tile_part_bytes(header, i, psot);
    out += psot;
  }
  return out == end ? end : nullptr;
}

PacketWriter::PacketWriter(const Plan& plan) : impl_(std::make_unique<Impl>(plan)) {}
PacketWriter::~PacketWriter() = default;
PacketWriter::PacketWriter(PacketWriter&&) noexcept = default;

void PacketWriter::encode_headers(const Selection& selection, uint32_t precinct,
                                  PacketScratch& scratch) {
  code_precinct(impl_->plan, selection, precinct, scratch, &impl_->precincts[precinct]);
}

void PacketWriter::set_tile_parts(std::span<const uint8_t> tile_parts) {
  impl_->tile_parts = tile_parts;
}

uint64_t PacketWriter::frame_bytes() const {
  const Impl& w = *impl_;
  uint64_t bytes = w.jp2_boxes.size() + w.main_header.bytes.size() + kEocBytes;
  if (!w.tile_parts.empty()) return bytes + w.tile_parts.size();
  for (const PrecinctPackets& precinct : w.precincts) bytes += precinct.bytes;
  if (w.plt) w.rewind(w.measure_cursors);
  for (const TilePart& part : w.plan.tile_parts) {
    bytes += kSotBytes + kSodBytes;
    if (w.plt) bytes += w.measure_part(part, nullptr).plt;
  }
  return bytes;
}

bool PacketWriter::fits() const {
  const Impl& w = *impl_;
  if (!w.tile_parts.empty() || frame_bytes() <= kMaxTilePartBytes) return true;
  w.rewind(w.measure_cursors);
  return std::all_of(
      w.plan.tile_parts.begin(), w.plan.tile_parts.end(), [&w](const TilePart& part) {
        const Impl::PartBytes bytes = w.measure_part(part, nullptr);
        return kSotBytes + kSodBytes + bytes.plt + bytes.packets <= kMaxTilePartBytes;
      });
}

uint64_t PacketWriter::padded_bytes(uint64_t min_bytes) const {
  const uint64_t bytes = frame_bytes();
  if (bytes >= min_bytes || impl_->main_header.comment_offset > 0) {
    return std::max(bytes, min_bytes);
  }
  return std::max(min_bytes, bytes + kMinPaddingBytes);
}

uint64_t PacketWriter::write(const Selection& selection, std::span<uint8_t> out,
                             uint64_t min_bytes) const {
  const Impl& w = *impl_;
  const uint64_t bytes = frame_bytes();
  const uint64_t total_bytes = padded_bytes(min_bytes);
  if (out.size() < total_bytes || !fits()) return 0;

  uint8_t* next = out.data();
  if (!w.jp2_boxes.empty()) {
    std::memcpy(next, w.jp2_boxes.data(), w.jp2_boxes.size());
    next += w.jp2_boxes.size();
    set_jp2c_bytes(next, total_bytes - w.jp2_boxes.size());
  }
  uint8_t* const main_header = next;
  const MainHeader& header =
      selection.step_set == 0 ? w.main_header : w.finer_headers[selection.step_set - 1];
  assert(header.bytes.size() == w.main_header.bytes.size());
  std::memcpy(main_header, header.bytes.data(), header.bytes.size());
  const uint64_t padding = total_bytes - bytes;
  next = padding > 0 && padding < kMinPaddingBytes
             ? lengthen_comment(w.main_header, main_header, static_cast<uint32_t>(padding))
             : store_padding(main_header + w.main_header.bytes.size(), padding);

  next = w.tile_parts.empty() ? w.store_tile_parts(main_header, next)
                              : w.copy_tile_parts(main_header, next);
  if (next == nullptr) return 0;
  *next++ = kMarkerEoc >> 8;
  *next++ = kMarkerEoc & 0xFF;
  assert(static_cast<uint64_t>(next - out.data()) == total_bytes);
  return total_bytes;
}

}  // namespace cj2k
