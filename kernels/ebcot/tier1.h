// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// EBCOT block coding on the GPU (coders/ebcot/tier1.h is the CPU version). Context modelling writes
// the decisions of every coding pass, the MQ coder turns them into bytes. This file declares the
// host functions, and the records in device memory that they share with the other stages.
//
// All functions work on a GOP: block `b` of frame `f` has the number f * num_blocks + b. The plan
// fixes the memory of each block, at an offset in the frame's part of each array, so no allocation
// depends on the content of a frame. All functions are asynchronous and allocate nothing. They are
// deterministic: the result equals ref::encode_block, and with early stops simd::encode_block.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "core/codeword_segment.h"
#include "core/ebcot/coding_passes.h"
#include "core/hd.h"
#include "core/hull.h"
#include "kernels/ebcot/quantize.h"

namespace cj2k::cuda {

/// A code-block of the plan. Offsets count from the beginning of the frame's part of each array.
struct alignas(16) Tier1Job {
  uint64_t first_word;      ///< where its bit-planes begin, in words: QuantizeJob::first_word
  uint64_t symbols_offset;  ///< where its decisions begin, in bytes; a multiple of 16
  uint64_t bytes_offset;    ///< where its codeword segments begin, in bytes; a multiple of 16
  uint32_t bytes_capacity;  ///< room for the segments, in bytes; a multiple of 16
  uint32_t first_pass;      ///< index of its first pass in the arrays with one entry per pass
  double weight;            ///< Subband::distortion_weight
  uint16_t width, height;   ///< in samples, as in Tier1Block
  uint8_t orientation, component, max_bit_planes, size;  ///< size: tier1_size()
};

/// The decisions of one pass.
struct alignas(16) PassSymbols {
  uint32_t offset_bytes;  ///< from Tier1Job::symbols_offset; a multiple of 16
  uint16_t count;         ///< number of decisions, one byte each
  uint16_t plane;
  int64_t distortion;  ///< CodingPass::distortion
};

/// mq::Snapshot in device memory.
struct Tier1Snapshot {
  uint32_t a, c, ct, bytes, last;
};

/// The state of a block between two planes: SavedCoder in device memory. Its snapshots are kept
/// with the passes, and the bytes before B with the block's bytes. All zeros: nothing is coded.
struct alignas(16) Tier1State {
  uint32_t a, c, ct;
  uint32_t bytes_written, closed_bytes;
  uint32_t num_bytes;  ///< length of the codeword as the pause or the finish ended it
  uint8_t last, open, first_pass, num_passes;
  uint8_t paused;    ///< 1: paused after a plane, can resume
  uint8_t finished;  ///< 1: all planes are coded
  uint8_t stopped;   ///< 1: stopped for good (slopes.h); no call codes it any more, in any list
  uint8_t modelled;  ///< the lowest plane that the classic form has modelled
  uint32_t contexts[21];
};

/// What the host learns of a block.
struct alignas(16) Tier1Result {
  double total_distortion;  ///< of the coded passes: CodedBlock::total_distortion
  uint32_t first_hull;      ///< index of its first hull point in Tier1Output::hull
  uint32_t first_segment;   ///< index in Tier1Output::segments; with BYPASS or TERMALL only
  uint32_t num_bytes;       ///< above Tier1Job::bytes_capacity: the bytes are not valid
  uint8_t num_hull, num_passes, bit_planes, planes_left;
  double left_distortion;  ///< estimate of the error in the planes not coded; see tier1_hull
};

/// Room for the decisions of `planes` planes of a block, in bytes. Each sample codes one bit per
/// plane and at most one sign. A stripe column leaves run mode at most once per plane, which costs
/// two more decisions. SEGSYM adds 4 decisions per plane. Each pass starts at a multiple of 16.
constexpr size_t tier1_symbol_capacity(int width, int height, int planes) {
  const size_t samples = static_cast<size_t>(width) * static_cast<size_t>(height);
  const size_t n = static_cast<size_t>(planes);
  const size_t symbols = (n + 1) * samples + samples / 2 + 4 * n;
  return (symbols + 15 * 3 * n + 15) / 16 * 16;
}
/// Room for the codeword of a block, in bytes: a quarter more than its bits and signs, plus the
/// terminations. Noise takes a little more than its bits. If a block needs even more room, nothing
/// is written beyond the room, and Tier1Result::num_bytes reports it.
constexpr uint32_t tier1_byte_capacity(int width, int height, int bit_planes) {
  const uint32_t samples = static_cast<uint32_t>(width * height);
  const uint32_t bits = samples * static_cast<uint32_t>(bit_planes + 2);
  return (bits / 8 + bits / 32 + 8 * static_cast<uint32_t>(num_passes_of(bit_planes)) + 31) / 16 *
         16;
}

/// Sizes of blocks for context modelling, which has one variant of its kernel for each.
inline constexpr int kTier1Sizes = 3;
/// @return 0: up to 32 cells of 8 x 4 samples, 1: up to 128 cells, 2: more
constexpr int tier1_size(int width, int height) {
  const int cells = (width + 7) / 8 * ((height + 3) / 4);
  return cells <= 32 ? 0 : cells <= 128 ? 1 : 2;
}

/// Device memory of a GOP. [blocks]: num_frames * num_blocks; [passes]: num_frames * frame_passes.
struct Tier1Buffers {
  const Tier1Job* jobs;  ///< [num_blocks], or [blocks] if frames have steps of their own
  uint32_t shared_jobs;  ///< num_blocks, or 0 if frames have steps of their own
  uint32_t num_blocks;
  BitPlanes planes;
  uint64_t frame_symbols, frame_bytes;
  uint32_t frame_passes;
  uint8_t* symbols;           ///< 16-byte aligned; null with the fused form
  PassSymbols* pass_symbols;  ///< [passes]; null with the fused form
  uint8_t* bytes;             ///< 16-byte aligned
  CodingPass* passes;         ///< [passes]
  PassTail* tails;            ///< [passes] with PTERM, else null
  Tier1Snapshot* snapshots;   ///< [passes]; used by the MQ coder only
  Tier1State* states;         ///< [blocks]; zeroed before the first call of a GOP

  /// The job of a block of the GOP.
  CJ2K_HD constexpr const Tier1Job* job_of(uint32_t number) const {
    return jobs + (number - number / num_blocks * shared_jobs);
  }
};

/// Blocks to code. The list is sorted by tier1_size: 0, 1, 2.
struct Tier1List {
  const uint32_t* blocks;        ///< [count()] numbers of blocks in the GOP, in device memory
  uint32_t counts[kTier1Sizes];  ///< number of blocks of each size
  constexpr uint32_t count() const { return counts[0] + counts[1] + counts[2]; }
};

/// How far the blocks of a list are coded.
struct Tier1Limits {
  /// [frame][CJ2K_MAX_COMPONENTS] log-slopes at which a block may pause (core/stop.h), in device
  /// memory. 0: code down to last_plane. A null pointer: all are 0.
  const uint16_t* thresholds;
  uint32_t last_plane = 0;  ///< the lowest plane to code
  /// No block of the list has a plane above this one left to code. Saves launches.
  uint32_t first_plane = kMaxBitPlanes;
  /// For the classic form, which models first and codes then. kExpected: model down to the plane after
  /// which a block is expected to pause (core/ebcot/expected_pause.h). A block that does not pause
  /// there is left open. kOpen: only blocks that were left open, and all their planes.
  enum class Modelled : uint8_t { kAll, kExpected, kOpen } modelled = Modelled::kAll;
  /// [blocks] the lowest plane of each block, where it is above last_plane, in device memory; null:
  /// last_plane for all. For the classic form, which may model planes below it.
  const uint8_t* last_planes = nullptr;
};

/// What tier1_hull writes, in device memory.
struct Tier1Output {
  Tier1Result* results;  ///< [list.count()] in the order of the list, or with by_number [blocks]
  HullPoint* hull;       ///< room for [passes]; blocks in any order, without gaps
  /// CodedBlock::segments, with BYPASS or TERMALL, else null. Room for [passes]; blocks in any
  /// order, without gaps.
  SegmentEnd* segments;
  PassTail* tails;  ///< CodedBlock::tails, with PTERM, else null: one entry for each entry of hull
  /// [2] number of hull points and of segments; zeroed by the call, unless it adds.
  uint32_t* totals;
  bool by_number = false;  ///< results are at the block's number in the GOP
  /// Points are added after those of earlier calls, which stay valid for their blocks, and blocks
  /// with Tier1State::stopped keep their results. With by_number, plain styles (no segments, no
  /// tails) only.
  bool adds = false;
  /// What RDOQ removes beyond what the passes say (kernels/ebcot/rdoq.h): of each pass, and of each block,
  /// as RdoqResult::removed and total. Null: nothing.
  const int64_t* removed = nullptr;
  const double* total_removed = nullptr;
  /// Room for `hull`, in points. Only with `adds` can more be needed: totals[0] then says so, and
  /// the blocks without room have no points.
  uint32_t room = UINT32_MAX;

  /// Where the result of an entry of the list is.
  constexpr uint32_t place(uint32_t entry, uint32_t number) const {
    return by_number ? number : entry;
  }
};
/// Computes the convex hulls of the blocks of a list (coders/hull.h), packed for the host.
/// Tier1Result::left_distortion is weight * (estimate of core/distortion.h for the planes that are
/// not coded), the same number as on the CPU.
Status tier1_hull(simt::Stream& stream, const Tier1Buffers& buffers, const Tier1List& list,
                  uint32_t style, bool reversible, bool keep_all, const Tier1Output& output);

/// Bytes of a block that tier1_pack has packed.
struct PackedBytes {
  uint32_t first;  ///< in PackedOutput::bytes, in units of 16 bytes
  uint32_t length_bytes;
};
struct PackedOutput {
  PackedBytes* blocks;  ///< [list.count()] in the order of the list
  uint8_t* bytes;       ///< 16-byte aligned
  uint32_t room;        ///< for `bytes`, in units of 16 bytes
  uint32_t* total;      ///< units that all blocks take, also those without room; zeroed by the call
};
/// Rate control may choose points that lie a little under the threshold: a quarter octave.
inline constexpr uint32_t kPackMargin = 64;
/// Packs the bytes of the blocks of a list, in any order: those up to the last hull point that
/// reaches the threshold less kPackMargin. Blocks for which there is no room get no bytes.
/// @param limits  thresholds alone
/// @param output  of tier1_hull for this list
Status tier1_pack(simt::Stream& stream, const Tier1Buffers& buffers, const Tier1List& list,
                  const Tier1Limits& limits, const Tier1Output& output, const PackedOutput& packed);

/// Bytes of a block that go into the codestream.
struct alignas(16) GatherJob {
  uint64_t from;  ///< offset in `bytes`; a multiple of 16
  uint64_t to;    ///< offset in `out`; a multiple of 16
  uint32_t length_bytes;
  // For the host: the number in the GOP, the hull point, and which piece of its bytes this is.
  uint32_t block;
  uint8_t points, piece;
};
/// Copies the pieces into `out`, rounded up to a multiple of 16 bytes.
Status tier1_gather(simt::Stream& stream, const uint8_t* bytes, const GatherJob* jobs,
                    uint32_t count, uint8_t* out);

}  // namespace cj2k::cuda
