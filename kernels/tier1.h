// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// EBCOT block coding on the GPU (stages/tier1.h is the CPU's): context modelling writes the
// decisions of every pass, the MQ coder turns them into bytes. Host functions, and the records in
// device memory that they share with the other stages.
//
// Bit-planes of a block: 64-bit words in scan order, 16 columns of one stripe of 4 rows each, bit
// 4 * column + row; the words of a stripe one after the other, no pads; bits outside of the block
// are ignored. First the plane of signs, then the planes bit_planes - 1 .. 0.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "stages/tier1.h"

namespace cj2k::simt {
class Stream;
}

namespace cj2k::cuda {

/// A code-block. Offsets are from the base addresses in Tier1Buffers.
struct Tier1Job {
  uint64_t planes_words;    ///< of its planes
  uint64_t symbols_bytes;   ///< of its decisions; a multiple of 16
  uint64_t bytes_offset;    ///< of its codeword segments; a multiple of 8
  uint32_t bytes_capacity;  ///< room for them; a multiple of 8
  uint32_t first_pass;      ///< of its passes in the arrays that have one entry per pass
  uint16_t width, height;   ///< as Tier1Block
  uint8_t orientation, bit_planes, reversible;
};

/// The decisions of one pass.
struct alignas(16) PassSymbols {
  uint32_t offset_bytes;  ///< from Tier1Job::symbols_bytes; a multiple of 16
  uint32_t count;
  int32_t distortion;  ///< as CodingPass
  uint32_t plane;
};

constexpr uint32_t tier1_passes(int bit_planes) {
  return bit_planes == 0 ? 0 : static_cast<uint32_t>(3 * bit_planes - 2);
}
/// 64-bit words of one plane.
constexpr uint32_t tier1_plane_words(int width, int height) {
  return static_cast<uint32_t>((width + 15) / 16 * ((height + 3) / 4));
}
/// Room for the decisions of a block. A sample codes a bit per plane and one sign; a stripe column
/// leaves run mode once, for two decisions more; SEGSYM adds 4 per plane; each pass starts at a
/// multiple of 16.
constexpr size_t tier1_symbol_capacity(int width, int height, int bit_planes) {
  const size_t samples = static_cast<size_t>(width) * static_cast<size_t>(height);
  const size_t planes = static_cast<size_t>(bit_planes);
  const size_t symbols = (planes + 1) * samples + samples / 2 + 4 * planes;
  return (symbols + 15 * tier1_passes(bit_planes) + 15) / 16 * 16;
}
/// Room for the bytes of a block: a quarter more than its bits and signs, and the terminations.
/// Noise takes a little more than its bits. A block that took more still would be reported, and
/// nothing written beyond.
constexpr uint32_t tier1_byte_capacity(int width, int height, int bit_planes) {
  const uint32_t samples = static_cast<uint32_t>(width * height);
  const uint32_t bits = samples * static_cast<uint32_t>(bit_planes + 2);
  return (bits / 8 + bits / 32 + 8 * tier1_passes(bit_planes) + 31) / 8 * 8;
}

/// mq::Snapshot in device memory.
struct Tier1Snapshot {
  uint32_t a, c, ct, bytes, last;
};

/// Device memory. [jobs]: one per job; [passes]: one per pass, see Tier1Job::first_pass.
struct Tier1Buffers {
  const Tier1Job* jobs;
  const uint64_t* planes;
  uint8_t* symbols;           ///< 16-byte aligned
  PassSymbols* pass_symbols;  ///< [passes]
  uint8_t* bytes;             ///< 8-byte aligned
  uint32_t* num_bytes;        ///< [jobs]; more than the capacity: the block's bytes are not valid
  CodingPass* passes;         ///< [passes]
  PassTail* tails;            ///< [passes] with PTERM, else null
  Tier1Snapshot* snapshots;   ///< [passes] of the MQ coder alone
};
/// Blocks of one launch, in device memory: their numbers in Tier1Buffers::jobs. The MQ coder gives
/// 32 neighbours of the list to a warp, so those should be of about the same work.
struct Tier1List {
  const uint32_t* indices;
  uint32_t count;
};

/// Context modelling has a form for each size of block.
inline constexpr int kTier1Sizes = 3;
constexpr int tier1_size(int width, int height) {
  const int cells = (width + 7) / 8 * ((height + 3) / 4);
  return cells <= 32 ? 0 : cells <= 128 ? 1 : 2;
}

/// Writes the decisions and distortions of the planes first_plane, first_plane - 1 .. last_plane;
/// those that a block does not have are left out. An earlier call has done the planes above.
/// @param size  tier1_size of all blocks of the list
/// Asynchronous. Deterministic: yes, equal to ref::encode_block. Allocates: no.
Status tier1_model(simt::Stream& stream, const Tier1Buffers& buffers, const Tier1List& list,
                   int size, uint32_t style, int first_plane = kMaxBitPlanes, int last_plane = 0);

/// All passes of blocks that have been modelled: passes, bytes, lengths, tails. Blocks without
/// planes get num_bytes = 0.
Status tier1_mq(simt::Stream& stream, const Tier1Buffers& buffers, const Tier1List& list,
                uint32_t style);

}  // namespace cj2k::cuda
