// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The proof of a frame (cj2k_params::verify): its bytes are read back before they leave.
//
//   headers   boxes and main header are those of the plan, TLM and Psot are right
//   packets   are read again, by code that shares nothing with the code that wrote them
//   blocks    are decoded; the bits of their samples are those that were coded, down to the last
//             pass that is in the frame
//   samples   with the 5/3, if no pass is missing: the inverse transforms of the decoded blocks give
//             the samples that the caller sent
//
// Each side is kept as sums of 64 bits: of the samples of a row when the frame is read, and of the
// known bits of a block when its passes are chosen. So nothing has to stay in memory for the proof.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "coders/coded_block.h"
#include "packets/markers.h"
#include "packets/packet_reader.h"
#include "pixels/coefficients.h"
#include "plan/plan.h"

namespace cj2k {

/// What the bytes of a frame must decode to.
struct FrameSums {
  std::vector<uint64_t> blocks;  ///< [plan.blocks]
  std::vector<uint64_t> rows;    ///< of tile-components, one after the other; empty: not summed
  bool is_whole = false;         ///< no bit of any block is missing
};

/// How much was proved: cj2k_stats::verified.
enum class Proof : uint8_t { kNone = 0, kBlocks = 1, kSamples = 2 };

/// The memory for the proof of one frame at a time. Call all functions inside Threads::run.
class FrameProof {
 public:
  /// `plan` must outlive it. Throws std::bad_alloc.
  FrameProof(const Plan& plan, size_t workers);
  ~FrameProof();
  /// Bytes of memory that it and the FrameSums of a GOP need; 0 without params.verify.
  static int64_t bytes(const Plan& plan, size_t workers);

  /// Sums the samples of a frame in host memory, if they can be proved. Allocates the first time.
  static void sum_samples(const Plan& plan, const cj2k_frame& frame, FrameSums& sums);
  /// Sums the blocks as they are chosen.
  static void sum_blocks(const Plan& plan, const CoefficientPlanes& coefficients,
                         const Selection& selection, FrameSums& sums);

  /// Reads the bytes of a frame back. Deterministic: yes.
  /// @param why  what is wrong, if the result is kNone
  Proof prove(std::span<const uint8_t> frame, uint32_t step_set, const FrameSums& sums,
              std::span<char> why);

 private:
  struct Decoders;
  const char* check_header(std::span<const uint8_t> codestream, uint32_t step_set) const;
  bool decode(uint32_t block, uint32_t step_set, Decoders& decoders) const;
  bool prove_rows(uint32_t tile, const uint64_t*& rows);

  const Plan& plan_;
  const std::vector<uint8_t> boxes_;
  std::vector<MainHeader> headers_;  ///< of each step set
  PacketReader reader_;
  std::vector<std::unique_ptr<Decoders>> decoders_;  ///< one per worker
  /// [component] of the largest tile, with the scratch of the transform; empty: no samples are proved
  std::vector<HostBuffer> planes_;
  std::vector<size_t> tile_samples_;
};

}  // namespace cj2k
