// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The three forms of tier-1 on a GPU, each made of kernels of kernels/ebcot, and where a plan's
// blocks lie in their arrays.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "kernels/ebcot/tier1.h"
#include "kernels/ebcot/tier1_launch.h"
#include "plan.h"

namespace cj2k::simt {
class Context;
class Stream;
}  // namespace cj2k::simt

namespace cj2k::cuda {

/// How block coding is cut into kernels; no byte depends on it.
enum class Tier1Form : uint8_t {
  kClassic,  ///< context modelling of all planes, then the MQ coder
  kCibo,     ///< both plane by plane, one beside the other on two streams
  kFused,    ///< one kernel: warps that model feed a warp that codes, through shared memory
};

/// The jobs of a plan and what a frame takes in each array.
struct Tier1Layout {
  std::vector<Tier1Job> jobs;  ///< [plan.blocks]
  uint64_t frame_symbols = 0;  ///< bytes: classic: all planes; CIBO: two planes, in two halves of
                               ///< a job's room; fused: none
  uint64_t frame_bytes = 0;    ///< multiple of 16
  uint32_t frame_passes = 0;
  uint32_t max_bit_planes = 0;  ///< of any block
};
Tier1Layout make_tier1_layout(const Plan& plan, const std::vector<QuantizeJob>& quantize_jobs,
                              Tier1Form form);

/// Device bytes that a coder needs beside Tier1Buffers, for `max_blocks` blocks in a list.
uint64_t tier1_scratch_bytes(Tier1Form form, const Tier1Layout& layout, uint32_t max_blocks);

/// What a form needs beside the buffers. Made at open.
class Tier1Coder {
 public:
  virtual ~Tier1Coder() = default;
  /// tier1_scratch_bytes of its form.
  virtual uint64_t scratch_bytes(uint32_t max_blocks) const = 0;
  /// Codes the blocks of the list that are not finished: from the start, unless core/stop.h says
  /// that no plane reaches the threshold, or from where they paused, at least one plane more; until
  /// it allows to stop, or to the end. Afterwards each is finished or paused, its bytes a codeword
  /// that can be used as it is.
  /// @param scratch  scratch_bytes(), 256-byte aligned
  virtual Status code(simt::Stream& stream, const Tier1Buffers& buffers, const Tier1List& list,
                      const Tier1Limits& limits, void* scratch) = 0;
};
/// @param context  of the streams that it will be used with (CIBO makes a second one)
Status make_tier1_coder(simt::Context& context, Tier1Form form, const Tier1Layout& layout,
                        uint32_t style, bool reversible, std::unique_ptr<Tier1Coder>* coder);

/// The fused form.
/// @param max_thread_blocks  for tests: as on a device that runs no more at a time; 0: as many as
///                           it runs
std::unique_ptr<Tier1Coder> make_fused_coder(uint32_t style, bool reversible,
                                             uint32_t max_thread_blocks = 0);

}  // namespace cj2k::cuda
