// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// EBCOT block coding (T.800 Annex D with the MQ coder of Annex C). It turns one code-block of
// sign-magnitude samples into coding passes, with the exact truncation length of each pass and the
// squared error that it removes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/codeword_segment.h"
#include "core/ebcot/coding_passes.h"
#include "core/ebcot/segments.h"
#include "core/orientation.h"

namespace cj2k {

/// T.800 Table A.18: at most 4096 samples, each side 4 .. 1024 (clipped blocks may be smaller).
inline constexpr int kMaxBlockSamples = 4096;
inline constexpr int kMaxBlockSide = 1024;

struct Tier1Block {
  /// Row y begins at samples + y * stride. Bit 31 is the sign, bits 30..0 the magnitude
  /// (pixels/quantize.h).
  const uint32_t* samples;
  /// In samples; at least the width rounded up to 16. Rows are read that far; the values beyond the
  /// width do not matter.
  ptrdiff_t stride;
  int width, height;  ///< 1 .. 1024, product at most 4096
  Orientation orientation;
  uint32_t style;   ///< CJ2K_STYLE_*
  bool reversible;  ///< used only for the distortion (core/distortion.h)
  int bit_planes;   ///< bits of the largest magnitude, 0 .. 31; 0: no pass is coded
};

/// Most bytes that a block can take. A stripe column has at most 10 symbols per plane, a symbol
/// shifts the code register by at most 15 bits (under 3 bytes with stuffing), and the ending of a
/// segment takes at most 8 bytes. Only the bytes that a block really takes are touched.
inline constexpr size_t kMaxBlockBytes =
    size_t{kMaxBlockSamples / 4 * 10 * 3} * kMaxBitPlanes + 8 * static_cast<size_t>(kMaxPasses);

/// The same for blocks of at most so many samples and planes. Each sample has one decision per plane
/// and one sign, a broken run has two decisions more than samples (once per stripe column at most),
/// SEGSYM has four per plane.
constexpr size_t max_block_symbols(size_t samples, int bit_planes) {
  return samples * static_cast<size_t>(bit_planes + 1) + samples / 2 +
         4 * static_cast<size_t>(bit_planes);
}
constexpr size_t max_block_bytes(size_t samples, int bit_planes) {
  return 3 * max_block_symbols(samples, bit_planes) +
         8 * static_cast<size_t>(num_passes_of(bit_planes));
}

/// Results of one block. The memory is reused from block to block.
struct Tier1Output {
  uint8_t* bytes;      ///< kMaxBlockBytes; bytes[-1] must be writable
  CodingPass* passes;  ///< kMaxPasses
  PassTail* tails;     ///< kMaxPasses; filled with PTERM only
  int num_passes;
  size_t num_bytes;
};

/// Working memory of one thread, about 250 KB.
class Tier1Scratch {
 public:
  Tier1Scratch();
  ~Tier1Scratch();
  Tier1Scratch(Tier1Scratch&&) noexcept;
  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  Impl* impl_;
};

/// Working memory of one thread for encode_in_lanes, beside a Tier1Scratch. Only what blocks need is
/// touched.
class Tier1Lanes {
 public:
  /// @param samples, bit_planes  most that a block may have
  Tier1Lanes(size_t samples, int bit_planes);
  ~Tier1Lanes();
  Tier1Lanes(const Tier1Lanes&) = delete;
  Tier1Lanes& operator=(const Tier1Lanes&) = delete;
  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  Impl* impl_;
};

/// Early stop: the block pauses after a plane if core/stop.h allows it at `threshold`, or after
/// plane `last_plane`. It can resume from there.
struct Tier1Stop {
  uint16_t threshold;  ///< 16-bit log-slope (core/slope.h); 0: no pause by slope
  int last_plane;      ///< planes below are not coded now; at most the highest plane that is left
  double weight;       ///< squared error of the picture per squared unit of coefficient
  /// Null: code from the start. Else resume: Tier1Output holds the passes so far, and the bytes so
  /// far as SavedCoder describes them. At least one more plane is coded.
  const SavedCoder* resume;
  SavedCoder* saved;  ///< filled if `paused`
  bool paused;        ///< result: the block has paused, planes are left
  /// Planes that the block had when it paused; 0: it is new. At least one more is coded, also from the
  /// start again where its SavedCoder was not kept.
  int planes_before = 0;
};

/// A block to code and the memory for its results.
struct Tier1Task {
  Tier1Block block;
  Tier1Output* out;
  Tier1Stop* stop;  ///< null: code every plane
};

/// encode_blocks codes two blocks at a time. Each decision of the MQ coder waits for the one before it, so
/// the processor has time for the decisions of another block.
inline constexpr int kTier1Lanes = 2;

/// Where the blocks come from. The block and the results of a lane must stay in place until `done`.
class Tier1Queue {
 public:
  /// @param lane  0 .. kTier1Lanes - 1, or 0 .. mq_lanes() - 1
  /// @return false: there are no more blocks for this lane
  virtual bool next(int lane, Tier1Task* task) = 0;
  virtual void done(int lane) = 0;

 protected:
  ~Tier1Queue() = default;
};

/// Deterministic: yes; all implementations give the same passes and bytes. Allocates: simd:: no,
/// ref:: yes.
namespace ref {
void encode_block(const Tier1Block& block, Tier1Output& out);
}
namespace simd {
/// Codes all blocks of a queue.
/// @param scratch  [kTier1Lanes]
void encode_blocks(Tier1Queue& queue, Tier1Scratch* scratch);
/// The same in the lanes of coders/ebcot/mq_lanes.h, for queues with many blocks where mq_lanes() is
/// not 0. A lane takes a block when it has coded the one before. Threads: one per `scratch` and `lanes`.
void encode_in_lanes(Tier1Queue& queue, Tier1Scratch& scratch, Tier1Lanes& lanes);
/// Codes one block.
/// @param stop  null: code every plane
void encode_block(const Tier1Block& block, Tier1Scratch& scratch, Tier1Output& out,
                  Tier1Stop* stop = nullptr);
}  // namespace simd

}  // namespace cj2k
