// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The three forms of tier-1 on a GPU, which are built from the kernels in kernels/ebcot, and the
// layout of a plan's blocks in their arrays.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/status.h"
#include "kernels/ebcot/tier1.h"
#include "kernels/ebcot/tier1_launch.h"
#include "plan/plan.h"

namespace cj2k::simt {
class Context;
class Stream;
}  // namespace cj2k::simt

namespace cj2k::cuda {

/// How block coding is divided into kernels. All forms give the same bytes.
enum class Tier1Form : uint8_t {
  kClassic,  ///< one kernel models the planes of a block, then one codes them
  kCibo,     ///< both kernels run plane by plane, beside each other on two streams
  kFused,    ///< one kernel: warps that model feed a warp that codes, through shared memory
};

/// The jobs of a plan, and the size of a frame's part of each array.
struct Tier1Layout {
  std::vector<Tier1Job> jobs;  ///< [step set][plan.blocks]
  uint32_t num_blocks = 0;     ///< plan.blocks
  /// Bytes for decisions. classic: for all planes; CIBO: for two planes, in two halves of a job's
  /// room; fused: 0.
  uint64_t frame_symbols = 0;
  uint64_t frame_bytes = 0;     ///< bytes for codewords; a multiple of 16
  uint32_t frame_passes = 0;    ///< maximum number of coding passes
  uint32_t max_bit_planes = 0;  ///< maximum over all blocks
};
Tier1Layout make_tier1_layout(const Plan& plan, const std::vector<QuantizeJob>& quantize_jobs,
                              Tier1Form form);

/// Device memory in bytes that a coder needs in addition to Tier1Buffers, for lists of up to
/// `max_blocks` blocks.
uint64_t tier1_scratch_bytes(Tier1Form form, const Tier1Layout& layout, uint32_t max_blocks);

/// A form of tier-1 with the resources that it needs besides the buffers. Created at open.
class Tier1Coder {
 public:
  virtual ~Tier1Coder() = default;
  /// tier1_scratch_bytes of this form.
  virtual uint64_t scratch_bytes(uint32_t max_blocks) const = 0;
  /// Codes the blocks of the list that are not finished. A block that has not been started starts,
  /// unless core/stop.h says that none of its planes can reach the threshold. A paused block
  /// resumes and codes at least one more plane. A block is coded until core/stop.h lets it pause,
  /// or until it is finished. After the call each block is finished or paused, and its bytes are a
  /// complete codeword. Blocks that have stopped stay as they are.
  /// @param scratch  scratch_bytes(), 256-byte aligned
  virtual Status code(simt::Stream& stream, const Tier1Buffers& buffers, const Tier1List& list,
                      const Tier1Limits& limits, void* scratch) = 0;

  /// Enqueues in the stream what decides, after a plane of all blocks is coded, which of them stop
  /// (Tier1State::stopped).
  using AfterPlane = std::function<Status(simt::Stream& stream, uint32_t plane)>;
  /// Codes the blocks of the list plane by plane, from plane num_planes - 1 to 0. All pause after each
  /// plane, and those that `after_plane` does not stop resume.
  /// @param num_planes  no block of the list has more bit-planes; at most those of the layout
  virtual Status code_planes(simt::Stream& stream, const Tier1Buffers& buffers,
                             const Tier1List& list, uint32_t num_planes,
                             const AfterPlane& after_plane, void* scratch);
};
/// Creates the coder of a form.
/// @param context  the context of the streams that the coder will be used with; CIBO creates a
///                 second stream in it
Status make_tier1_coder(simt::Context& context, Tier1Form form, const Tier1Layout& layout,
                        uint32_t style, bool reversible, std::unique_ptr<Tier1Coder>* coder);

/// Creates the coder of the fused form.
/// @param max_thread_blocks  for tests: limits the number of thread blocks; 0: as many as the
///                           device runs at a time
std::unique_ptr<Tier1Coder> make_fused_coder(uint32_t style, bool reversible,
                                             uint32_t max_thread_blocks = 0);

}  // namespace cj2k::cuda
