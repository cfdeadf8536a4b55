// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// EBCOT block coding on the GPU (stages/ebcot/tier1.h is the CPU's): context modelling writes the
// decisions of every pass, the MQ coder turns them into bytes. Host functions, and the records in
// device memory that they share with the other stages.
//
// Everything goes by a GOP: block `b` of frame `f` has the number f * num_blocks + b. Its memory is
// fixed by the plan, at an offset in the frame's part, so that nothing is allocated by what a
// frame holds. Asynchronous; deterministic: equal to ref::encode_block, and with a stop to
// simd::encode_block; allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "core/codeword_segment.h"
#include "core/ebcot/coding_passes.h"
#include "core/hull.h"
#include "kernels/ebcot/quantize.h"

namespace cj2k::cuda {

/// A code-block of the plan. Offsets are from where the frame's part of each array begins.
struct alignas(16) Tier1Job {
  uint64_t first_word;      ///< of its bit-planes, as QuantizeJob
  uint64_t symbols_offset;  ///< bytes, of its decisions; a multiple of 16
  uint64_t bytes_offset;    ///< of its codeword segments; a multiple of 16
  uint32_t bytes_capacity;  ///< room for them; a multiple of 16
  uint32_t first_pass;      ///< of its passes in the arrays that have one entry per pass
  double weight;            ///< Subband::distortion_weight
  uint16_t width, height;   ///< as Tier1Block
  uint8_t orientation, component, max_bit_planes, size;  ///< size: tier1_size()
};

/// The decisions of one pass.
struct alignas(16) PassSymbols {
  uint32_t offset_bytes;  ///< from Tier1Job::symbols_offset; a multiple of 16
  uint16_t count;
  uint16_t plane;
  int64_t distortion;  ///< as CodingPass
};

/// mq::Snapshot in device memory.
struct Tier1Snapshot {
  uint32_t a, c, ct, bytes, last;
};

/// A block between two planes (SavedCoder in device memory; snapshots lie with the passes, and the
/// bytes before B with the block's bytes). All zeros: nothing coded yet.
struct alignas(16) Tier1State {
  uint32_t a, c, ct;
  uint32_t bytes_written, closed_bytes;
  uint32_t num_bytes;  ///< of what a pause closed, or of the finished block
  uint8_t last, open, first_pass, num_passes;
  uint8_t paused;    ///< closed after a plane, to go on from here
  uint8_t finished;  ///< all planes are coded
  uint8_t stopped;   ///< for good (slopes.h): nothing codes it any more, in whichever list
  uint8_t reserved;
  uint32_t contexts[21];
};

/// What the host learns of a block.
struct alignas(16) Tier1Result {
  double total_distortion;  ///< of the coded passes, as CodedBlock's
  uint32_t first_hull;      ///< in Tier1Output::hull
  uint32_t first_segment;   ///< in segments; with BYPASS or TERMALL
  uint32_t num_bytes;       ///< more than the capacity: the bytes are not valid
  uint8_t num_hull, num_passes, bit_planes, planes_left;
  double left_distortion;  ///< estimate of what the planes left hold; see tier1_hull
};

/// Room for the decisions of `planes` planes of a block. A sample codes a bit per plane and at most
/// one sign; a stripe column leaves run mode once a plane, for two decisions more; SEGSYM adds 4
/// per plane; each pass starts at a multiple of 16.
constexpr size_t tier1_symbol_capacity(int width, int height, int planes) {
  const size_t samples = static_cast<size_t>(width) * static_cast<size_t>(height);
  const size_t n = static_cast<size_t>(planes);
  const size_t symbols = (n + 1) * samples + samples / 2 + 4 * n;
  return (symbols + 15 * 3 * n + 15) / 16 * 16;
}
/// Room for the bytes of a block: a quarter more than its bits and signs, and the terminations.
/// Noise takes a little more than its bits. A block that took more still would be reported, and
/// nothing written beyond.
constexpr uint32_t tier1_byte_capacity(int width, int height, int bit_planes) {
  const uint32_t samples = static_cast<uint32_t>(width * height);
  const uint32_t bits = samples * static_cast<uint32_t>(bit_planes + 2);
  return (bits / 8 + bits / 32 + 8 * static_cast<uint32_t>(num_passes_of(bit_planes)) + 31) / 16 *
         16;
}

/// Context modelling has a form for each size of block.
inline constexpr int kTier1Sizes = 3;
constexpr int tier1_size(int width, int height) {
  const int cells = (width + 7) / 8 * ((height + 3) / 4);
  return cells <= 32 ? 0 : cells <= 128 ? 1 : 2;
}

/// Device memory of a GOP. [blocks]: num_frames * num_blocks; [passes]: num_frames * frame_passes.
struct Tier1Buffers {
  const Tier1Job* jobs;  ///< [num_blocks]
  uint32_t num_blocks;
  BitPlanes planes;
  uint64_t frame_symbols, frame_bytes;
  uint32_t frame_passes;
  uint8_t* symbols;           ///< 16-byte aligned; null: fused
  PassSymbols* pass_symbols;  ///< [passes]; null: fused
  uint8_t* bytes;             ///< 16-byte aligned
  CodingPass* passes;         ///< [passes]
  PassTail* tails;            ///< [passes] with PTERM, else null
  Tier1Snapshot* snapshots;   ///< [passes] of the MQ coder alone
  Tier1State* states;         ///< [blocks]; zeroed before the first call of a GOP
};

/// Blocks to code. Neighbours of the list share a warp of the MQ coder, so they should be of about
/// the same work. Blocks of each tier1_size lie together: sizes 0, 1, 2.
struct Tier1List {
  const uint32_t* blocks;        ///< [count] numbers in the GOP, in device memory
  uint32_t counts[kTier1Sizes];  ///< of each size
  constexpr uint32_t count() const { return counts[0] + counts[1] + counts[2]; }
};

/// Where a block may stop.
struct Tier1Limits {
  const uint16_t* thresholds;  ///< [frame][CJ2K_MAX_COMPONENTS] log-slopes (core/stop.h), in
                               ///< device memory; 0: to the last plane
  uint32_t last_plane = 0;     ///< planes below are left in any case
  uint32_t first_plane = kMaxBitPlanes;  ///< no block of the list goes on above; saves launches
};

/// What tier1_hull writes, in device memory.
struct Tier1Output {
  Tier1Result* results;  ///< [list.count()] in the order of the list
  HullPoint* hull;       ///< room for [passes]; blocks in any order, without gaps
  SegmentEnd* segments;  ///< room for [passes], likewise: CodedBlock::segments; with BYPASS or
                         ///< TERMALL, else null
  PassTail* tails;       ///< [as hull] with PTERM, else null: as CodedBlock::tails
  uint32_t* totals;      ///< [2] hull points, segments; zeroed by the call
};
/// Convex hulls of the blocks of a list (stages/hull.h), packed for the host.
/// left_distortion: weight * core/distortion.h's estimate of the planes left, as the CPU's.
Status tier1_hull(simt::Stream& stream, const Tier1Buffers& buffers, const Tier1List& list,
                  uint32_t style, bool reversible, bool keep_all, const Tier1Output& output);

/// A block's part of the codestream.
struct alignas(16) GatherJob {
  uint32_t block;         ///< number in the GOP
  uint32_t length_bytes;  ///< from its first byte
  uint64_t to;            ///< in `out`; a multiple of 16
};
/// Copies the first bytes of blocks to one place; writes up to the next multiple of 16.
Status tier1_gather(simt::Stream& stream, const Tier1Buffers& buffers, const GatherJob* jobs,
                    uint32_t count, uint8_t* out);

}  // namespace cj2k::cuda
