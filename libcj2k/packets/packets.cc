// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "packets/packets.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

#include "core/bit_writer.h"
#include "core/tag_tree.h"
#include "packets/block_state.h"
#include "packets/markers.h"
#include "packets/single_layer.h"

namespace cj2k {
namespace {

constexpr size_t kMaxBands = 3;

/// The bytes that a decoder assumes after the end of a codeword segment (D.4.1): ones, with a
/// stuffed bit after 0xFF. A segment of no bytes is legal. But if it is the last one of a packet,
/// Grok 10 takes the packet for truncated and drops what follows; so such a segment gets these two
/// bytes.
constexpr uint8_t kImpliedBytes[] = {0xFF, 0x7F};

/// The zero bit-planes of the packet header, of a block that is in a layer.
uint32_t zero_planes_of(const Selection& selection, uint32_t block) {
  const CodedBlock& coded = selection.blocks[block];
  return coded.codes == nullptr ? coded.zero_bit_planes
                                : coded.codes[selection.final_points[block] - 1].zero_bit_planes;
}

/// @return the first layer from `first_layer` on that takes this slope
uint32_t layer_of_slope(const Selection& selection, uint16_t slope, uint32_t first_layer) {
  if (first_layer + 1 >= selection.layers) return selection.layers - 1;
  const uint16_t* const begin = selection.layer_slopes;
  const uint16_t* const found =
      std::partition_point(begin + first_layer, begin + selection.layers - 1,
                           [slope](uint16_t layer_slope) { return layer_slope > slope; });
  return static_cast<uint32_t>(found - begin);
}

/// The layer of hull point `point`. It is not below `first_layer`, the layer of the point before
/// it, because slopes fall. @return Selection::layers for a point in no layer
uint32_t layer_of_point(const Selection& selection, uint32_t block, uint32_t point,
                        uint32_t first_layer) {
  if (point >= selection.final_points[block]) return selection.layers;
  return layer_of_slope(selection, selection.blocks[block].hull[point].slope, first_layer);
}

/// The same for pass `pass`, counted from 0, of a block whose points have bytes of their own.
uint32_t layer_of_own_pass(const Selection& selection, uint32_t block, uint32_t pass,
                           uint32_t first_layer) {
  const uint32_t points = selection.final_points[block];
  const CodedBlock& coded = selection.blocks[block];
  if (points == 0 || pass >= coded.hull[points - 1].passes) return selection.layers;
  if (coded.cuts == nullptr) return selection.layers - 1;
  return layer_of_slope(selection, coded.cuts[points - 1].slopes[pass], first_layer);
}

uint32_t first_layer_of(const Selection& selection, uint32_t block) {
  return selection.blocks[block].codes != nullptr ? layer_of_own_pass(selection, block, 0, 0)
                                                  : layer_of_point(selection, block, 0, 0);
}

}  // namespace

uint32_t marker_bytes_per_packet(const Plan& plan) {
  return (plan.params.sop ? kSopBytes : 0) + (plan.params.eph ? kEphBytes : 0);
}

struct PacketScratch::Impl {
  std::vector<BlockState> blocks;  // [blocks of the precinct]
  std::vector<TagNode> nodes;
  std::vector<uint8_t> header;  // of one packet
  size_t block_header_bytes;    // bound on the bytes that one code-block adds to one packet header
  uint32_t packet_marker_bytes;
  bool plt;
};

PacketScratch::PacketScratch(const Plan& plan) : impl_(std::make_unique<Impl>()) {
  size_t max_blocks = 0, max_nodes = 0;
  for (const Precinct& precinct : plan.precincts) {
    size_t nodes = 0;
    const uint32_t num_bands = plan.resolutions[precinct.resolution].num_subbands;
    for (uint32_t b = 0; b < num_bands; ++b) {
      const PrecinctBand& band = plan.precinct_bands[precinct.first_precinct_band + b];
      nodes += 2 * TagTree::num_nodes(band.blocks_wide, band.blocks_high);
    }
    max_blocks = std::max<size_t>(max_blocks, precinct.num_blocks);
    max_nodes = std::max(max_nodes, nodes);
  }
  impl_->blocks.resize(max_blocks);
  impl_->nodes.resize(max_nodes);
  // Two tag trees (zero bit-planes are at most M_b < 64), number of passes, Lblock, a length of up
  // to 38 bits per segment, and 32 bits pending from before. A byte has 7 bits if every byte is
  // stuffed.
  const size_t bits = TagTree::max_bits(static_cast<uint32_t>(plan.params.layers)) +
                      TagTree::max_bits(64) + 16 + 30 + 38 * kMaxSegmentsPerPacket + 32;
  impl_->block_header_bytes = bits / 7 + 2;
  impl_->header.resize(impl_->block_header_bytes + 8 * max_blocks + 4096);
  impl_->packet_marker_bytes = marker_bytes_per_packet(plan);
  impl_->plt = has_plt(plan);
}

PacketScratch::~PacketScratch() = default;
PacketScratch::PacketScratch(PacketScratch&&) noexcept = default;

namespace {

/// Makes the packets of one precinct, layer by layer (B.9, B.10). It skips layers to which no block
/// contributes: the work is O(blocks) for each packet that is not empty, and none for an empty one.
class PrecinctCoder {
 public:
  PrecinctCoder(const Plan& plan, const Selection& selection, uint32_t precinct,
                PacketScratch::Impl& scratch)
      : plan_(plan),
        selection_(selection),
        scratch_(scratch),
        precinct_(plan.precincts[precinct]),
        num_bands_(plan.resolutions[precinct_.resolution].num_subbands) {
    assert(num_bands_ <= kMaxBands);
    assert(selection.layers == static_cast<uint32_t>(plan.params.layers));
  }

  /// @param packets  nullptr: only measures
  PrecinctBytes run(PrecinctPackets* packets) {
    if (selection_.contributions == nullptr || !code_single_layer(packets)) {
      for (uint32_t layer = start(); layer < selection_.layers;) {
        uint64_t body_bytes = 0;
        const size_t pieces_before = packets != nullptr ? packets->pieces.size() : 0;
        const uint32_t next_layer = code_packet(layer, packets, &body_bytes);
        add_record(layer, body_bytes, pieces_before, packets);
        layer = next_layer;
      }
    }
    const uint64_t num_empty = selection_.layers - num_records_;
    const uint32_t empty_bytes = kEmptyHeaderBytes + scratch_.packet_marker_bytes;
    total_.header += num_empty * empty_bytes;
    if (scratch_.plt) {
      total_.header += num_empty * plt_entry_bytes(empty_bytes);
      plt_bytes_ += num_empty * plt_entry_bytes(empty_bytes);
    }
    if (packets != nullptr) packets->bytes = total_.header - plt_bytes_ + total_.body;
    return total_;
  }

 private:
  struct Band {
    TagTree inclusion, zero_planes;
    uint32_t first_block, wide, high;
    BlockState* blocks;
  };

  /// Counts the packet whose header is in scratch_.header, and stores it.
  void add_record(uint32_t layer, uint64_t body_bytes, size_t pieces_before,
                  PrecinctPackets* packets) {
    const uint32_t marker_bytes = scratch_.packet_marker_bytes;
    total_.header += header_bytes_ + marker_bytes;
    total_.body += body_bytes;
    if (scratch_.plt) {
      total_.header += plt_entry_bytes(marker_bytes + header_bytes_ + body_bytes);
      plt_bytes_ += plt_entry_bytes(marker_bytes + header_bytes_ + body_bytes);
    }
    ++num_records_;
    if (packets == nullptr) return;
    packets->headers.insert(packets->headers.end(), scratch_.header.data(),
                            scratch_.header.data() + header_bytes_);
    packets->records.push_back({layer,
                                static_cast<uint32_t>(packets->pieces.size() - pieces_before),
                                header_bytes_, body_bytes});
  }

  /// Makes the only packet from the contributions. @return false: one of them has no code
  bool code_single_layer(PrecinctPackets* packets) {
    SingleLayerBand bands[kMaxBands];
    uint32_t num_bands = 0;
    TagNode* nodes = scratch_.nodes.data();
    bool is_empty = true;
    uint64_t body_bytes = 0;
    for (uint32_t b = 0; b < num_bands_; ++b) {
      const PrecinctBand& source = plan_.precinct_bands[precinct_.first_precinct_band + b];
      if (source.blocks_wide == 0 || source.blocks_high == 0) continue;
      SingleLayerBand& band = bands[num_bands++];
      band = SingleLayerBand(selection_.contributions + source.first_block, source.blocks_wide,
                             source.blocks_high, nodes);
      if (!band.begin()) return false;
      nodes += TagTree::num_nodes(source.blocks_wide, source.blocks_high);
      is_empty = is_empty && band.is_empty();
      body_bytes += band.body_bytes();
    }
    if (is_empty) return true;
    BitWriter out(scratch_.header.data(), scratch_.header.size());
    out.put(1, 1);
    for (uint32_t b = 0; b < num_bands; ++b) {
      for (uint32_t y = 0; y < bands[b].high(); ++y) {
        while (out.room() < bands[b].row_bytes()) grow_header(out);
        bands[b].code_row(y, out);
      }
    }
    header_bytes_ = out.finish();
    const size_t pieces_before = packets != nullptr ? packets->pieces.size() : 0;
    if (packets != nullptr) add_single_layer_pieces(*packets);
    add_record(0, body_bytes, pieces_before, packets);
    return true;
  }

  void add_single_layer_pieces(PrecinctPackets& packets) const {
    const uint32_t first = precinct_.first_block;
    for (uint32_t block = first; block < first + precinct_.num_blocks; ++block) {
      const uint32_t bytes = selection_.contributions[block].bytes;
      if (bytes == 0) continue;
      const CodedBlock& coded = selection_.blocks[block];
      if (coded.codes == nullptr) {
        packets.pieces.push_back({coded.data, bytes});
        continue;
      }
      const PointCode& code = coded.codes[selection_.final_points[block] - 1];
      packets.pieces.push_back({code.first, code.first_bytes});
      if (bytes > code.first_bytes) packets.pieces.push_back({code.rest, bytes - code.first_bytes});
    }
  }

  /// Sets up tag trees and states before the first packet.
  /// @return the first layer whose packet is not empty
  uint32_t start() {
    uint32_t first_layer = selection_.layers;
    TagNode* nodes = scratch_.nodes.data();
    BlockState* states = scratch_.blocks.data();
    for (uint32_t b = 0; b < num_bands_; ++b) {
      const PrecinctBand& source = plan_.precinct_bands[precinct_.first_precinct_band + b];
      Band& band = bands_[b];
      band.first_block = source.first_block;
      band.wide = source.blocks_wide;
      band.high = source.blocks_high;
      band.blocks = states;
      const uint32_t num_blocks = band.wide * band.high;
      if (num_blocks == 0) continue;
      const size_t tree_nodes = TagTree::num_nodes(band.wide, band.high);
      band.inclusion = TagTree(band.wide, band.high, nodes);
      band.zero_planes = TagTree(band.wide, band.high, nodes + tree_nodes);
      nodes += 2 * tree_nodes;
      for (uint32_t i = 0; i < num_blocks; ++i) {
        const uint32_t block = band.first_block + i;
        const uint32_t layer = first_layer_of(selection_, block);
        first_layer = std::min(first_layer, layer);
        *states++ = {layer, 0, 0, 0, 0, kFirstLblock};
        band.inclusion.set_leaf(i, layer);
        band.zero_planes.set_leaf(
            i, layer < selection_.layers ? zero_planes_of(selection_, block) : kTagNever);
      }
      band.inclusion.build();
      band.zero_planes.build();
    }
    return first_layer;
  }

  /// Codes the packet of `layer`, which is not empty. Its header goes into scratch_.header.
  /// @return the next layer whose packet is not empty
  uint32_t code_packet(uint32_t layer, PrecinctPackets* packets, uint64_t* body_bytes) {
    BitWriter out(scratch_.header.data(), scratch_.header.size());
    uint32_t next_layer = selection_.layers;
    const BlockState* const last = last_contributor(layer);
    out.put(1, 1);
    for (uint32_t b = 0; b < num_bands_; ++b) {
      Band& band = bands_[b];
      BlockState* state = band.blocks;
      uint32_t block = band.first_block;
      for (uint32_t y = 0; y < band.high; ++y) {
        for (uint32_t x = 0; x < band.wide; ++x, ++state, ++block) {
          if (out.room() < scratch_.block_header_bytes) grow_header(out);
          const bool contributes = state->next_layer == layer;
          if (state->points > 0) {
            out.put(contributes ? 1 : 0, 1);
          } else {
            band.inclusion.encode(x, y, layer + 1, out);
            if (contributes) band.zero_planes.encode(x, y, kTagAll, out);
          }
          if (contributes)
            *body_bytes += add_contribution(block, layer, state == last, *state, out, packets);
          next_layer = std::min(next_layer, state->next_layer);
        }
      }
    }
    header_bytes_ = out.finish();
    return next_layer;
  }

  /// @return the last block that contributes to the packet of `layer`
  const BlockState* last_contributor(uint32_t layer) const {
    const BlockState* state = scratch_.blocks.data() + precinct_.num_blocks;
    while ((--state)->next_layer != layer) {
    }
    return state;
  }

  uint32_t add_contribution(uint32_t block, uint32_t layer, bool is_last, BlockState& state,
                            BitWriter& out, PrecinctPackets* packets) {
    const CodedBlock& coded = selection_.blocks[block];
    if (coded.codes != nullptr) return add_own_passes(block, layer, state, out, packets);
    uint32_t points = state.points + 1u;
    uint32_t next_layer = selection_.layers;
    if (layer + 1 == selection_.layers) {
      points = selection_.final_points[block];
    } else {
      while ((next_layer = layer_of_point(selection_, block, points, layer)) == layer) ++points;
    }
    const HullPoint& end = coded.hull[points - 1];
    const uint32_t last = segment_at(coded, end, state);
    const bool ends_there = last < coded.num_segments && coded.segments[last].passes == end.passes;
    const uint32_t last_begin =
        last > state.segments ? coded.segments[last - 1].bytes : state.bytes;
    // The bytes must not be added where the segment continues in a later layer. With tails they
    // must not be added either: decoders would look for the ending in them.
    const bool is_empty = is_last && (ends_there || next_layer == selection_.layers) &&
                          coded.tails == nullptr && end.length_bytes == last_begin;
    const uint32_t more_bytes = is_empty ? sizeof kImpliedBytes : 0;
    put_contribution(coded, end, last, more_bytes, state, out);
    const uint32_t bytes = end.length_bytes - state.bytes;
    if (packets != nullptr) {
      packets->pieces.push_back({coded.data + state.bytes, bytes});
      if (coded.tails != nullptr && next_layer == selection_.layers) {
        // The codeword segment ends here in the codestream, although the block coder continued it.
        // Earlier layers only cut it, so they need no tail.
        const PassTail& tail = coded.tails[points - 1];
        assert(tail.count == 0 || tail.offset_bytes + tail.count <= end.length_bytes);
        std::memcpy(coded.data + tail.offset_bytes, tail.bytes, tail.count);
      }
      if (is_empty) packets->pieces.push_back({kImpliedBytes, more_bytes});
    }
    state.next_layer = next_layer;
    state.bytes = end.length_bytes;
    state.points = static_cast<uint8_t>(points);
    state.passes = static_cast<uint8_t>(end.passes);
    state.segments = static_cast<uint8_t>(ends_there ? last + 1 : last);
    return bytes + more_bytes;
  }

  uint32_t add_own_passes(uint32_t block, uint32_t layer, BlockState& state, BitWriter& out,
                          PrecinctPackets* packets) {
    const CodedBlock& coded = selection_.blocks[block];
    const uint8_t points = selection_.final_points[block];
    const HullPoint& whole = coded.hull[points - 1];
    const PointCode& code = coded.codes[points - 1];
    uint32_t passes = state.passes + 1u, next_layer;
    while ((next_layer = layer_of_own_pass(selection_, block, passes, layer)) == layer) ++passes;
    const uint32_t end =
        passes == whole.passes ? whole.length_bytes : coded.cuts[points - 1].bytes[passes - 1];
    put_own_passes(code, passes, end, state, out);
    const uint32_t bytes = end - state.bytes;
    if (packets != nullptr) {
      uint32_t begin = state.bytes;
      if (begin == 0) packets->pieces.push_back({code.first, begin = code.first_bytes});
      if (end > begin)
        packets->pieces.push_back({code.rest + (begin - code.first_bytes), end - begin});
    }
    state.next_layer = next_layer;
    state.bytes = end;
    state.points = points;
    state.passes = static_cast<uint8_t>(passes);
    return bytes;
  }

  void grow_header(BitWriter& out) {
    scratch_.header.resize(2 * scratch_.header.size());
    out.move_to(scratch_.header.data(), scratch_.header.size());
  }

  const Plan& plan_;
  const Selection& selection_;
  PacketScratch::Impl& scratch_;
  const Precinct& precinct_;
  const uint32_t num_bands_;
  Band bands_[kMaxBands];
  PrecinctBytes total_ = {0, 0};
  uint64_t num_records_ = 0;   // packets that are not empty
  uint64_t header_bytes_ = 0;  // of the last packet coded
  uint64_t plt_bytes_ = 0;     // PLT entries of all packets so far
};

}  // namespace

PrecinctBytes measure_precinct(const Plan& plan, const Selection& selection, uint32_t precinct,
                               PacketScratch& scratch) {
  return PrecinctCoder(plan, selection, precinct, scratch.impl()).run(nullptr);
}

PrecinctBytes code_precinct(const Plan& plan, const Selection& selection, uint32_t precinct,
                            PacketScratch& scratch, PrecinctPackets* packets) {
  packets->clear();
  return PrecinctCoder(plan, selection, precinct, scratch.impl()).run(packets);
}

}  // namespace cj2k
