// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The kernels of packets.h. Rate control has measured all packets, so their places are sums; then each
// packet and each code-block is written by itself.
#pragma once

#include "core/ebcot/coding_passes.h"
#include "kernels/rate/frame_memory.cuh"
#include "kernels/rate/packets.h"
#include "kernels/rate/precinct_bytes.cuh"
#include "kernels/simt/block.h"
#include "kernels/simt/kernel.h"

namespace cj2k::cuda::packets {

struct PacketParams {
  RatePlan plan;
  PacketInput input;
  PacketOutput output;
  rate::ScratchLayout layout;
};

/// Where the tile-parts of a frame begin; null: they are not written. Not for PacketPlaces.
template <typename T>
CJ2K_KERNEL_FN uint8_t* tile_parts_of(T& t, const PacketParams& p, uint32_t frame) {
  if ((p.input.frames >> frame & 1) == 0) return nullptr;
  const RateOutcome* const outcome = p.output.outcomes + frame;
  if (t.gload_ro(&outcome->tile_part_bytes) == 0) return nullptr;
  return p.output.bytes + uint64_t{16} * t.gload_ro(&outcome->first_unit);
}

/// The places of the packets, and the heads of the tile-parts.
///
/// Grid: x = frames. Block: a thread takes every 256th packet; their sums are those of the block.
/// Shared bytes: 96. Barriers: 2 for each 256 packets, and 5.
/// Global traffic: 44 bytes per packet, 34 per tile-part.
struct PacketPlaces {
  using Params = PacketParams;
  static constexpr int kThreads = 256;
  static constexpr int kMinBlocks = 4;
  static_assert(FrameRates::kMostFrames <= kThreads);
  struct Smem {
    simt::BlockScratch<uint64_t, kThreads> wide;
    simt::BlockScratch<uint32_t, kThreads> narrow;
  };

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem& s, const Params& p) {
    const uint32_t frame = t.block_x();
    const uint64_t bytes = bytes_of(t, p, frame);
    const uint64_t before = t.thread() < frame ? units_of(bytes_of(t, p, t.thread())) : 0;
    const uint64_t first = simt::block_reduce_add(t, s.wide, before);
    const uint64_t end = first + units_of(bytes);
    const bool is_written = bytes > 0 && bytes <= UINT32_MAX && end <= p.output.room;
    if (t.thread() == 0) {
      RateOutcome* const outcome = p.output.outcomes + frame;
      t.gstore(&outcome->first_unit, is_written ? static_cast<uint32_t>(first) : 0u);
      t.gstore(&outcome->tile_part_bytes, is_written ? static_cast<uint32_t>(bytes) : 0u);
      t.gstore(&outcome->totals, BlockTotals{});
      t.atomic_max(p.output.total, end < UINT32_MAX ? static_cast<uint32_t>(end) : UINT32_MAX);
    }
    if (!is_written) return;
    uint8_t* const out = p.output.bytes + 16 * first;
    uint32_t* const parts = p.output.part_places + uint64_t{frame} * p.plan.num_parts;
    place_packets(t, s, p, frame, parts);
    t.sync();
    for (uint32_t i = t.thread(); i < p.plan.num_parts; i += kThreads) {
      const uint32_t begin = t.gload(parts + i);
      const bool is_last = i + 1 == p.plan.num_parts;
      store_head(t, p, i, out + begin,
                 (is_last ? static_cast<uint32_t>(bytes) : t.gload(parts + i + 1)) - begin);
    }
  }

 private:
  CJ2K_KERNEL_FN static uint64_t units_of(uint64_t bytes) { return (bytes + 15) / 16; }

  /// Bytes of the tile-parts of a frame that is to be written; else 0.
  template <typename T>
  CJ2K_KERNEL_FN static uint64_t bytes_of(T& t, const Params& p, uint32_t frame) {
    if ((p.input.frames >> frame & 1) == 0) return 0;
    const RateOutcome* const outcome = p.output.outcomes + frame;
    if (t.gload(&outcome->flags) != 0 || t.gload(&outcome->num_resumed) != 0) return 0;
    uint64_t bytes = uint64_t{kPartHeadBytes} * p.plan.num_parts;
    for (uint32_t c = 0; c < p.plan.num_components; ++c)
      bytes += t.gload(&outcome->header_bytes[c]) + t.gload(&outcome->body_bytes[c]);
    return bytes;
  }

  template <typename T>
  CJ2K_KERNEL_FN static void place_packets(T& t, Smem& s, const Params& p, uint32_t frame,
                                           uint32_t* parts) {
    const rate::FrameMemory memory(p.layout, p.input.scratch, frame);
    uint32_t* const places = p.output.packets + uint64_t{frame} * p.plan.num_precincts;
    uint32_t end = 0, part = 0;
    for (uint32_t first = 0; first < p.plan.num_precincts; first += kThreads) {
      const uint32_t i = first + t.thread();
      RatePacket packet{};
      uint32_t bytes = 0;
      if (i < p.plan.num_precincts) {
        packet = t.gload_ro(p.plan.packets + i);
        const rate::PrecinctRecord record = t.gload(memory.precincts() + packet.precinct);
        bytes = record.header + static_cast<uint32_t>(record.body) +
                (packet.begins != 0 ? kPartHeadBytes : 0);
      }
      uint32_t more = 0, begun = 0;
      const uint32_t at = end + simt::block_exclusive_add(t, s.narrow, bytes, &more);
      const uint32_t own_part =
          part + simt::block_exclusive_add(t, s.narrow, packet.begins, &begun);
      if (i < p.plan.num_precincts) {
        if (packet.begins != 0) t.gstore(parts + own_part, at);
        t.gstore(places + i, at + (packet.begins != 0 ? kPartHeadBytes : 0));
      }
      end += more;
      part += begun;
    }
  }

  template <typename T>
  CJ2K_KERNEL_FN static void store_head(T& t, const Params& p, uint32_t part, uint8_t* out,
                                        uint32_t psot) {
    const RateTilePart* const from = p.plan.parts + part;
    for (uint32_t i = 0; i < kPartHeadBytes; ++i) {
      const bool is_psot = i - kPsotOffset < 4;
      t.gstore(out + i, is_psot ? static_cast<uint8_t>(psot >> (24 - 8 * (i - kPsotOffset)))
                                : t.gload_ro(&from->head[i]));
    }
  }
};

/// The packet headers with SOP and EPH, and the places of the code-blocks.
///
/// Grid: x = packets, y = frames. Block: all threads make a header, as rate control does for large
///   precincts (PacketHeader).
/// Shared bytes: 100. Barriers: 2 for each 256 blocks, twice, one for each level of the tag trees, and 5.
/// Global traffic: 36 bytes per block, 16 per node, the header's bits four times.
struct PacketHeaders {
  using Params = PacketParams;
  static constexpr int kThreads = 256;
  static constexpr int kMinBlocks = 4;
  struct Smem {
    simt::BlockScratch<uint64_t, kThreads> wide;
    simt::BlockScratch<uint32_t, kThreads> narrow;
    uint32_t flags;
  };

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem& s, const Params& p) {
    const uint32_t frame = t.block_y(), number = t.block_x();
    uint8_t* const tile_parts = tile_parts_of(t, p, frame);
    if (tile_parts == nullptr) return;
    const rate::FrameMemory memory(p.layout, p.input.scratch, frame);
    const RatePacket packet = t.gload_ro(p.plan.packets + number);
    const RatePrecinct precinct = t.gload(p.plan.precincts + packet.precinct);
    const rate::PrecinctRecord record = t.gload(memory.precincts() + packet.precinct);
    const uint32_t place =
        t.gload_ro(p.output.packets + uint64_t{frame} * p.plan.num_precincts + number);
    uint8_t* const begin = tile_parts + place;
    if (t.thread() == 0) store_markers(t, p.plan, packet, begin, begin + record.header);
    uint8_t* const header = begin + (p.plan.sop ? 6 : 0);
    if (record.body == 0) {
      // An empty packet is a single 0 bit, padded (B.10.3).
      if (t.thread() == 0) t.gstore(header, uint8_t{0});
      return;
    }
    using Group = rate::BlockGroup<T, kThreads>;
    rate::PacketHeader<T, Group> maker(
        t, Group{t, s.wide, s.narrow},
        {p.plan.bands, memory.codes(), memory.nodes(), memory.words(), &s.flags});
    maker.make(precinct, rate::StoredBytes{header});
    uint32_t end = place + record.header;
    uint32_t* const places =
        p.output.block_places + uint64_t{frame} * p.plan.num_blocks + precinct.first_block;
    for (uint32_t first = 0; first < precinct.num_blocks; first += kThreads) {
      const uint32_t i = first + t.thread();
      const bool is_block = i < precinct.num_blocks;
      const uint32_t bytes =
          is_block ? t.gload(&memory.codes()[precinct.first_block + i].bytes) : 0;
      uint32_t total = 0;
      const uint32_t at = end + simt::block_exclusive_add(t, s.narrow, bytes, &total);
      if (is_block) t.gstore(places + i, at);
      end += total;
    }
  }

 private:
  template <typename T>
  CJ2K_KERNEL_FN static void store_u16(T& t, uint8_t* out, uint32_t value) {
    t.gstore(out, static_cast<uint8_t>(value >> 8));
    t.gstore(out + 1, static_cast<uint8_t>(value));
  }
  /// SOP before the header (A.8.1), and EPH at its end (A.8.2).
  template <typename T>
  CJ2K_KERNEL_FN static void store_markers(T& t, const RatePlan& plan, const RatePacket& packet,
                                           uint8_t* begin, uint8_t* end) {
    if (plan.sop) {
      store_u16(t, begin, 0xFF91);
      store_u16(t, begin + 2, 4);
      store_u16(t, begin + 4, packet.number);
    }
    if (plan.eph) store_u16(t, end - 2, 0xFF92);
  }
};

/// The code-block data, and what the statistics say.
///
/// Grid: x = blocks of a frame / 128, y = frames, z = 8. Block: warps independent, a lane per code-block;
///   then eight lanes copy the bytes of each, four at a time: in a warp of thread block z those of the
///   lanes 4z to 4z + 3. A copy waits for memory, so there are many warps, and each looks at 32
///   code-blocks for four of them.
/// Shared bytes: none. Barriers: none.
/// Global traffic: reads and writes the chosen bytes once, in adjacent words over eight lanes; about
///   80 bytes per block besides, with HT 96, and five atomic adds for 32 blocks.
/// @tparam kHt  the bytes of a block are in two pieces (HtPointCode), the second one possibly empty
template <bool kHt>
struct PacketBodies {
  using Params = PacketParams;
  struct Smem {};
  static constexpr int kThreads = 128;
  static constexpr int kMinBlocks = 8;

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem&, const Params& p) {
    const uint32_t frame = t.block_y(), block = t.block_x() * kThreads + t.thread();
    if ((p.input.frames >> frame & 1) == 0) return;
    uint8_t* const tile_parts = tile_parts_of(t, p, frame);
    uint64_t from = 0, to = 0;
    uint32_t bytes = 0, rest = 0, rest_bytes = 0;
    BlockTotals of_block{};
    if (block < p.plan.num_blocks) {
      const uint64_t number = uint64_t{frame} * p.plan.num_blocks + block;
      const ChosenBlock chosen = t.gload(p.input.chosen + number);
      const Tier1Result result = t.gload(p.input.results + number);
      if (t.block_z() == 0) of_block = totals_of(t, p, number, result, chosen);
      if (tile_parts != nullptr && chosen.length_bytes > 0) {
        bytes = chosen.length_bytes;
        if constexpr (kHt) {
          const HtPointCode code = t.gload(p.input.codes + result.first_hull + chosen.points - 1);
          from = code.from;
          rest = code.rest;
          rest_bytes = bytes - code.first_bytes;
          bytes = code.first_bytes;
        } else {
          from = frame * p.input.frame_bytes + t.gload_ro(&p.plan.jobs[block].bytes_offset);
        }
        to = static_cast<uint64_t>(tile_parts - p.output.bytes) +
             t.gload_ro(p.output.block_places + number);
      }
    }
    if (t.block_z() == 0) add(t, p.output.outcomes[frame].totals, of_block);
    const uint32_t source = 4 * t.block_z() + t.lane() / 8;
    const uint8_t* const first = p.input.bytes + t.shuffle(from, source);
    uint8_t* const out = p.output.bytes + t.shuffle(to, source);
    const uint32_t count = t.shuffle(bytes, source);
    copy(t, first, out, count);
    if constexpr (kHt)
      copy(t, first + 16 * t.shuffle(rest, source), out + count, t.shuffle(rest_bytes, source));
  }

 private:
  /// @param from  a multiple of 16
  template <typename T>
  CJ2K_KERNEL_FN static void copy(T& t, const uint8_t* from, uint8_t* to, uint32_t bytes) {
    if (bytes == 0) return;
    // Words of the output. Of the first one, `skipped` bytes are another block's, or a header's.
    const auto skipped = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(to) % 4);
    const auto* const read = reinterpret_cast<const uint32_t*>(from);
    for (uint32_t i = t.lane() % 8; i < (skipped + bytes + 3) / 4; i += 8) {
      const uint32_t low = i > 0 && skipped > 0 ? t.gload_ro(read + i - 1) : 0;
      const uint32_t high = 4 * i < bytes ? t.gload_ro(read + i) : 0;
      const uint32_t word = T::funnel_left(low, high, 8 * skipped);
      uint8_t* const out = to - skipped + 4 * i;
      const uint32_t begin = i == 0 ? skipped : 0;
      const uint32_t left = skipped + bytes - 4 * i, end = left < 4 ? left : 4;
      if (begin == 0 && end == 4) {
        t.gstore(reinterpret_cast<uint32_t*>(out), word);
        continue;
      }
      CJ2K_UNROLL
      for (uint32_t b = 0; b < 4; ++b) {
        if (b >= begin && b < end) t.gstore(out + b, static_cast<uint8_t>(word >> (8 * b)));
      }
    }
  }

  template <typename T>
  CJ2K_KERNEL_FN static BlockTotals totals_of(T& t, const Params& p, uint64_t number,
                                              const Tier1Result& result,
                                              const ChosenBlock& chosen) {
    t.gstore(p.output.left + number,
             result.total_distortion + result.left_distortion - chosen.distortion);
    const auto passes_left = static_cast<uint64_t>(
        kHt ? 3 * result.planes_left : num_passes_of(result.bit_planes) - result.num_passes);
    BlockTotals totals{result.num_bytes, result.num_passes, chosen.passes, 0, passes_left};
    if (p.input.paused_passes != nullptr) {
      const uint8_t paused = t.gload_ro(p.input.paused_passes + number);
      if (paused > 0) totals.passes_resumed = result.num_passes - uint64_t{paused};
    }
    return totals;
  }

  /// Adds what the lanes have to the totals of a frame.
  template <typename T>
  CJ2K_KERNEL_FN static void add(T& t, BlockTotals& totals, const BlockTotals& own) {
    constexpr uint64_t BlockTotals::*kMembers[] = {
        &BlockTotals::bytes, &BlockTotals::passes, &BlockTotals::passes_in,
        &BlockTotals::passes_resumed, &BlockTotals::passes_left};
    CJ2K_UNROLL
    for (const auto member : kMembers) {
      const uint64_t sum = t.warp_reduce_add(own.*member);
      if (t.lane() == 0) t.atomic_add(&(totals.*member), sum);
    }
  }
};

}  // namespace cj2k::cuda::packets
