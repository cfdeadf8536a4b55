// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The tile-parts of frames that allocate_rate has allocated: SOT, packet headers and code-block data in
// their final places (PacketWriter in packets/packet_writer.h). Asynchronous; allocates nothing.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "kernels/ebcot/tier1.h"
#include "kernels/rate/allocate.h"

namespace cj2k::simt {
class Stream;
}  // namespace cj2k::simt

namespace cj2k::cuda {

/// What write_packets reads: device memory as the calls before it have left it.
struct PacketInput {
  const uint8_t* bytes;          ///< Tier1Buffers::bytes
  uint64_t frame_bytes;          ///< Tier1Buffers::frame_bytes
  const Tier1Result* results;    ///< RateInput::results
  const HtPointCode* codes;      ///< RateInput::codes
  const ChosenBlock* chosen;     ///< RateOutput::chosen
  const uint8_t* paused_passes;  ///< [blocks] Tier1State::num_passes before blocks resumed, or null
  uint8_t* scratch;              ///< of allocate_rate
  uint64_t frames;               ///< a bit for each frame; others are not written
};
/// What it writes. [blocks]: num_frames * num_blocks.
struct PacketOutput {
  RateOutcome* outcomes;  ///< [num_frames] first_unit, tile_part_bytes and totals
  double* left;  ///< [blocks] CodedBlock::total_distortion without what the chosen passes remove
  uint32_t* part_places;   ///< [num_frames * num_parts] working memory
  uint32_t* packets;       ///< [num_frames * num_precincts] working memory
  uint32_t* block_places;  ///< [blocks] working memory
  uint8_t* bytes;          ///< 16-byte aligned
  uint32_t room;           ///< for `bytes`, in units of 16 bytes
  uint32_t* total;         ///< units that all frames take, also those without room
};
/// Writes the tile-parts of the frames 0 .. num_frames - 1 that are allocated and of which no block
/// resumes, one frame behind the other. A frame has none if there is no room for it, or for one before
/// it, or if it has 2^32 bytes or more. `totals` and `left` are written of all frames that are asked for.
Status write_packets(simt::Stream& stream, const RatePlan& plan, uint32_t num_frames,
                     const PacketInput& input, const PacketOutput& output);

}  // namespace cj2k::cuda
