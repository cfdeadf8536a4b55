// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// EBCOT block coding (T.800 Annex D on top of the MQ coder of Annex C): one code-block of
// sign-magnitude samples to coding passes with their exact truncation lengths and the squared error
// each one removes.
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
  const uint32_t* samples;  ///< row y at samples + y * stride; bit 31 sign, bits 30..0 magnitude
                            ///< (stages/quantize.h)
  ptrdiff_t stride;   ///< at least width rounded up to 16: a row is read that far, what lies there
                      ///< does not matter
  int width, height;  ///< 1 .. 1024, product at most 4096
  Orientation orientation;
  uint32_t style;   ///< CJ2K_STYLE_*
  bool reversible;  ///< only for the distortion (core/distortion.h)
  int bit_planes;   ///< bits of the largest magnitude, 0 .. 31; 0: no pass is made
};

/// Most bytes a block can take: a stripe column makes at most 10 symbols a plane, a symbol shifts
/// the code register by 15 bits at most (under 3 bytes with stuffing), and a segment ends with at
/// most 8 bytes. Only what is used is touched.
inline constexpr size_t kMaxBlockBytes =
    size_t{kMaxBlockSamples / 4 * 10 * 3} * kMaxBitPlanes + 8 * static_cast<size_t>(kMaxPasses);

/// Results of one block, reused from block to block.
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

/// Early stop: coding pauses after a plane where core/stop.h allows it for `threshold`, or after
/// `last_plane`, and can go on from there.
struct Tier1Stop {
  uint16_t threshold;  ///< 16-bit log-slope (core/slope.h); 0: never
  int last_plane;      ///< not below the block's highest plane that is left
  double weight;       ///< squared error of the picture per squared unit of coefficient
  const SavedCoder*
      resume;  ///< null: from the start. Else Tier1Output holds the passes so far and the bytes so
               ///< far as SavedCoder describes them; at least one more plane is coded
  SavedCoder* saved;  ///< filled when `paused`
  bool paused;        ///< result: planes are left
};

/// A block to code, and where its results go.
struct Tier1Task {
  Tier1Block block;
  Tier1Output* out;
  Tier1Stop* stop;  ///< null: code every plane
};

/// Blocks are coded two at a time: each decision of the MQ coder waits for the one before, so that
/// a processor has time for those of another block.
inline constexpr int kTier1Lanes = 2;

/// Where the blocks come from. A lane's block and results stay where they are until it is done.
class Tier1Queue {
 public:
  /// @param lane  0 .. kTier1Lanes - 1
  /// @return false: there is no block for this lane, now or later
  virtual bool next(int lane, Tier1Task* task) = 0;
  virtual void done(int lane) = 0;

 protected:
  ~Tier1Queue() = default;
};

/// Deterministic: yes, and all implementations give the same passes and bytes. Allocates: no.
namespace ref {
void encode_block(const Tier1Block& block, Tier1Output& out);
}
namespace simd {
/// Codes the blocks of a queue.
/// @param scratch  [kTier1Lanes]
void encode_blocks(Tier1Queue& queue, Tier1Scratch* scratch);
/// Codes one.
/// @param stop  null: code every plane
void encode_block(const Tier1Block& block, Tier1Scratch& scratch, Tier1Output& out,
                  Tier1Stop* stop = nullptr);
}  // namespace simd

}  // namespace cj2k
