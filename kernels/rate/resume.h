// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Which blocks resume after rate control (EarlyStop::goes_on in depth/early_stop.h), on the device:
// the same blocks, and the same thresholds. Asynchronous; allocates nothing.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "core/slope_search.h"
#include "kernels/ebcot/tier1.h"
#include "kernels/rate/allocate.h"

namespace cj2k::simt {
class Stream;
}  // namespace cj2k::simt

namespace cj2k::cuda {

/// Arrays in device memory.
struct ResumeOutput {
  RateOutcome* outcomes;       ///< [frames] of allocate_rate; num_resumed is written
  const uint16_t* thresholds;  ///< [frame][CJ2K_MAX_COMPONENTS] to which the blocks were coded
  uint16_t* next;              ///< the same for the blocks that resume; where none does: thresholds
  uint8_t* paused_passes;      ///< [blocks] Tier1State::num_passes of all blocks; null: not wanted
  uint64_t frames;  ///< a bit for each frame; all others keep their blocks, of which none resumes
};
/// Sets Tier1State::stopped of all blocks of the frames 0 .. num_frames - 1: 0 of those that resume,
/// so that the next call codes these alone, and 1 of all others. No block resumes of a frame that the
/// device could not allocate.
/// @param output  of tier1_hull, by number
Status resume_blocks(simt::Stream& stream, const Tier1Buffers& buffers, uint32_t num_frames,
                     uint32_t num_components, const Tier1Output& output,
                     const ResumeOutput& resume);
/// Sets Tier1State::stopped of all blocks of the frames to 0.
/// @param frames  a bit for each frame
Status release_blocks(simt::Stream& stream, const Tier1Buffers& buffers, uint64_t frames);

}  // namespace cj2k::cuda
