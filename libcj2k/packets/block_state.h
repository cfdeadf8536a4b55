// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What packet headers say of one code-block after its inclusion, for any number of layers: passes
// and lengths (T.800 B.10.6, B.10.7), and the state between the layers.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "coders/coded_block.h"
#include "core/bit_writer.h"
#include "core/pass_lengths.h"

namespace cj2k {

/// Most codeword segments of one contribution: one for each pass, of which a header can code at most
/// 164 (Table B.4).
inline constexpr size_t kMaxSegmentsPerPacket = 164;

/// How much of one code-block is in the packets so far.
struct BlockState {
  uint32_t next_layer;  // layer of its next contribution; Selection::layers: none follows
  uint32_t bytes;       // in the packets so far
  uint8_t points;       // hull points in the packets so far; 0: not yet included
  uint8_t passes;       // in the packets so far
  uint8_t segments;     // entries of CodedBlock::segments that have ended in the packets so far
  uint8_t lblock;
};

/// @return the first of the block's segments, from state.segments on, that does not end before
/// `end`
inline uint32_t segment_at(const CodedBlock& block, const HullPoint& end, const BlockState& state) {
  uint32_t i = state.segments;
  while (i < block.num_segments && block.segments[i].passes < end.passes) ++i;
  return i;
}

/// Codes the number of passes, Lblock and the lengths of a block's contribution to a packet
/// (B.10.6, B.10.7): from `state` to the hull point `end`, and `more_bytes` after it.
/// @param last  segment_at(end)
inline void put_contribution(const CodedBlock& block, const HullPoint& end, uint32_t last,
                             uint32_t more_bytes, BlockState& state, BitWriter& out) {
  const uint32_t passes = end.passes - state.passes;
  put_num_passes(passes, out);
  if (state.segments == last) {
    const uint32_t bytes = end.length_bytes - state.bytes + more_bytes;
    const int growth = std::max(0, missing_length_bits(bytes, passes, state.lblock));
    put_lblock(growth, out);
    state.lblock = static_cast<uint8_t>(state.lblock + growth);
    put_length(bytes, passes, state.lblock, out);
    return;
  }
  struct Segment {
    uint32_t bytes, passes;
  } segments[kMaxSegmentsPerPacket];
  size_t num_segments = 0;
  int growth = 0;
  SegmentEnd begin{state.bytes, state.passes};
  for (uint32_t i = state.segments; i <= last; ++i) {
    const SegmentEnd to =
        i < last ? block.segments[i] : SegmentEnd{end.length_bytes + more_bytes, end.passes};
    assert(to.bytes >= begin.bytes && to.passes > begin.passes);
    const Segment segment = {to.bytes - begin.bytes, to.passes - begin.passes};
    growth = std::max(growth, missing_length_bits(segment.bytes, segment.passes, state.lblock));
    segments[num_segments++] = segment;
    begin = to;
  }
  put_lblock(growth, out);
  state.lblock = static_cast<uint8_t>(state.lblock + growth);
  for (size_t i = 0; i < num_segments; ++i) {
    put_length(segments[i].bytes, segments[i].passes, state.lblock, out);
  }
}

/// Codes the number of passes, Lblock and the lengths of a contribution of a point with bytes of its
/// own (T.814 B.1): from `state` to the end of `end_passes` passes. The first pass is a segment, all
/// others are another one.
inline void put_own_passes(const PointCode& code, uint32_t end_passes, uint32_t end_bytes,
                           BlockState& state, BitWriter& out) {
  const bool has_first = state.passes == 0;
  const uint32_t rest_passes = end_passes - (has_first ? 1u : state.passes);
  const uint32_t rest_bytes = end_bytes - (has_first ? code.first_bytes : state.bytes);
  put_num_passes(end_passes - state.passes, out);
  int growth = has_first ? missing_length_bits(code.first_bytes, 1, state.lblock) : 0;
  if (rest_passes > 0)
    growth = std::max(growth, missing_length_bits(rest_bytes, rest_passes, state.lblock));
  growth = std::max(growth, 0);
  put_lblock(growth, out);
  state.lblock = static_cast<uint8_t>(state.lblock + growth);
  if (has_first) put_length(code.first_bytes, 1, state.lblock, out);
  if (rest_passes > 0) put_length(rest_bytes, rest_passes, state.lblock, out);
}

}  // namespace cj2k
