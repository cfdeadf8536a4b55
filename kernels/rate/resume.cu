// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <bit>

#include "kernels/rate/resume.cuh"
#include "kernels/rate/resume.h"
#include "kernels/simt/launch.h"

CJ2K_KERNEL(resume_blocks, cj2k::cuda::resume::Resume)

namespace cj2k::cuda {

Status resume_blocks(simt::Stream& stream, const Tier1Buffers& buffers, uint32_t num_frames,
                     uint32_t num_components, const Tier1Output& output,
                     const ResumeOutput& resume) {
  return simt::launch<resume::Resume>(stream, {num_frames},
                                      {buffers, num_components, output, resume, false});
}

Status release_blocks(simt::Stream& stream, const Tier1Buffers& buffers, uint64_t frames) {
  ResumeOutput resume{};
  resume.frames = frames;
  return simt::launch<resume::Resume>(stream, {static_cast<uint32_t>(std::bit_width(frames))},
                                      {buffers, 0, {}, resume, true});
}

}  // namespace cj2k::cuda
