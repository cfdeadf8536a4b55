// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/rate/resume.cuh"
#include "kernels/rate/resume.h"
#include "kernels/simt/launch.h"

CJ2K_KERNEL(resume_blocks, cj2k::cuda::resume::Resume)
CJ2K_KERNEL(release_blocks, cj2k::cuda::resume::Release)

namespace cj2k::cuda {

Status resume_blocks(simt::Stream& stream, const Tier1Buffers& buffers, uint32_t num_frames,
                     uint32_t num_components, const Tier1Output& output,
                     const ResumeOutput& resume) {
  return simt::launch<resume::Resume>(stream, {num_frames},
                                      {buffers, num_components, output, resume});
}

Status release_blocks(simt::Stream& stream, const Tier1Buffers& buffers, uint32_t num_frames) {
  constexpr uint32_t kThreads = resume::Release::kThreads;
  return simt::launch<resume::Release>(
      stream, {(buffers.num_blocks + kThreads - 1) / kThreads, num_frames}, {buffers});
}

}  // namespace cj2k::cuda
