// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Rate control on the device: RateControl::allocate (rate/rate.h) for frames with one layer. Which
// EBCOT blocks go on after it: resume.h. The rules and all numbers that decide are those of the
// host, so points, bytes and thresholds are exactly the same.
//
// The function is asynchronous and allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "core/block_totals.h"
#include "core/slope_search.h"
#include "kernels/ebcot/tier1.h"
#include "kernels/ht/ht_block.h"

namespace cj2k::simt {
class Stream;
}  // namespace cj2k::simt

namespace cj2k::cuda {

// ---- the tables of a plan, in device memory (made by cuda/rate_tables.h) ----

/// The code-blocks of one subband in one precinct: blocks [first_block, first_block + wide * high),
/// raster.
struct alignas(16) RateBand {
  uint32_t first_block, wide, high;
  uint32_t first_node;  ///< in the frame's nodes of tag trees, which have no leaves
};

struct alignas(16) RatePrecinct {
  uint32_t first_block, num_blocks;
  uint32_t first_band, num_bands;  ///< bands that have blocks
  uint32_t component;
  uint32_t first_word, num_words;  ///< room for the bits of its packet header, of the frame's words
  uint32_t levels;                 ///< of its tallest tag tree; 0: it has no blocks
};

struct alignas(8) RateBlock {
  uint32_t precinct;
  uint8_t component;
  uint8_t size;    ///< Tier1Job::size
  uint8_t planes;  ///< Tier1Job::max_bit_planes + CodeBlock::planes_above; EBCOT
  bool is_ll;
};

/// A packet, in the order of the codestream. With one layer each precinct has one.
struct alignas(8) RatePacket {
  uint32_t precinct;
  uint16_t number;  ///< Nsop: in its tile, modulo 65536
  uint8_t begins;   ///< 1: it is the first one of its tile-part
  uint8_t reserved;
};

/// A tile-part: its SOT with Psot = 0, and SOD.
struct alignas(16) RateTilePart {
  uint8_t head[14];
  uint8_t reserved[2];
};
inline constexpr uint32_t kPartHeadBytes = 14, kPsotOffset = 6;

/// What the kernel knows of a plan. Pointers are to device memory.
struct RatePlan {
  const RatePrecinct* precincts;  ///< [num_precincts]
  const RateBand* bands;
  const RateBlock* blocks;    ///< [num_blocks]
  const Tier1Job* jobs;       ///< [num_blocks]; null with HT
  const RatePacket* packets;  ///< [num_precincts]
  const RateTilePart* parts;  ///< [num_parts] in the order of their packets
  uint32_t num_parts;
  uint32_t num_precincts, num_blocks, num_components;
  uint32_t num_nodes, num_words;  ///< of a frame
  uint32_t max_candidates;        ///< hull points of a frame that one search may look at
  uint32_t packet_marker_bytes;   ///< SOP and EPH
  bool sop, eph;
  uint64_t fixed_bytes;
  uint64_t component_fixed_bytes[CJ2K_MAX_COMPONENTS];
  uint32_t component_blocks[CJ2K_MAX_COMPONENTS], component_precincts[CJ2K_MAX_COMPONENTS];
};

/// Scratch memory for one frame, in bytes; 256-byte aligned. A GOP needs it once for each frame.
uint64_t rate_scratch_bytes(const RatePlan& plan);

// ---- one call ----

/// The limits of one frame: RateLimits.
struct FrameRate {
  uint64_t frame_bytes;      ///< kNoTarget: no cap
  uint64_t component_bytes;  ///< cap of each component; kNoTarget: no cap
  uint16_t slope;            ///< threshold of constant quality; 0: none
};
struct FrameRates {
  static constexpr size_t kMostFrames = 64;  ///< the maximum of cj2k_params::gop
  FrameRate of[kMostFrames];
  uint64_t frames;  ///< a bit for each frame to allocate
};

/// The blocks as tier1_hull or ht_hulls leaves them, by their numbers in the GOP.
struct RateInput {
  const Tier1Result* results;  ///< [num_frames * num_blocks]
  const HullPoint* hull;       ///< Tier1Result::first_hull counts from here
  const HtPointCode* codes;    ///< of the entries of `hull`, with HT; else null
  const double* weights;       ///< [num_frames * num_blocks] HtChoice::weight, with HT; else null
};

/// What was chosen of a frame.
struct alignas(16) RateOutcome {
  uint64_t header_bytes[CJ2K_MAX_COMPONENTS];  ///< PrecinctBytes::header, summed up
  uint64_t body_bytes[CJ2K_MAX_COMPONENTS];    ///< PrecinctBytes::body, summed up
  uint16_t exhausted[CJ2K_MAX_COMPONENTS];     ///< RateControl::exhausted_above
  uint16_t threshold;                          ///< RateControl::threshold
  uint16_t unused_cap_steps;                   ///< RateControl::unused_cap_steps
  /// 0: the frame is allocated. Else kRate* flags: the host must allocate it, and nothing else here
  /// but long_block counts. No block resumes then.
  uint32_t flags;
  uint32_t num_resumed;  ///< blocks that go on, by resume_blocks (resume.h); 0 before it
  /// A block whose Tier1Result::num_bytes is above its capacity; UINT32_MAX: there is none.
  uint32_t long_block;
  uint32_t rounds;                ///< calls that allocated the frame
  uint32_t num_choices, num_far;  ///< of HtChoices (coders/ht/ht_points.h), with HT
  // By write_packets (packets.h):
  uint32_t first_unit;       ///< where its tile-parts begin, in units of 16 bytes
  uint32_t tile_part_bytes;  ///< all of its tile-parts together; 0: they are not written
  BlockTotals totals;
};
/// RateOutcome::flags
inline constexpr uint32_t kRateLongCode = 1;    ///< a Contribution::is_long
inline constexpr uint32_t kRateManyPoints = 2;  ///< more candidates than RatePlan::max_candidates
inline constexpr uint32_t kRateLongHeader = 4;  ///< a packet header has no room in its words
inline constexpr uint32_t kRateLongBlock = 8;   ///< long_block
/// A component takes more than its cap after the choice for the frame. With codewords of one segment
/// none should.
inline constexpr uint32_t kRateOverCap = 16;

/// What was chosen of a block.
struct alignas(16) ChosenBlock {
  double distortion;      ///< HullPoint::distortion of the last point chosen; 0: none
  uint32_t length_bytes;  ///< of code-block data
  uint8_t points;         ///< hull points chosen
  uint8_t passes;         ///< passes chosen
  uint8_t zero_bit_planes;
  uint8_t planes_left;  ///< Tier1Result::planes_left
};

struct RateOutput {
  ChosenBlock* chosen;    ///< [num_frames * num_blocks]
  RateOutcome* outcomes;  ///< [num_frames]
};

/// Allocates frames of 0 .. num_frames - 1.
/// @param again    true: of FrameRates::frames only those of which blocks went on after the call
///                 before, which are those with RateOutcome::num_resumed > 0; others stay as they
///                 are
/// @param scratch  num_frames * rate_scratch_bytes()
Status allocate_rate(simt::Stream& stream, const RatePlan& plan, uint32_t num_frames,
                     const FrameRates& rates, bool again, const RateInput& input, void* scratch,
                     const RateOutput& output);

}  // namespace cj2k::cuda
