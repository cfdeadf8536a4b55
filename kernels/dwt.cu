// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "dwt.cuh"
#include "kernels.h"
#include "simt/launch.h"

CJ2K_KERNEL(dwt_53, cj2k::cuda::Dwt<cj2k::cuda::Lifting53>)
CJ2K_KERNEL(dwt_97, cj2k::cuda::Dwt<cj2k::cuda::Lifting97>)

namespace cj2k::cuda {
namespace {

template <typename Lifting>
Status launch_dwt(simt::Stream& stream, const DwtJob* jobs, const DwtPart* parts,
                  uint32_t num_parts, const Samples& samples) {
  constexpr uint32_t kWarps = Dwt<Lifting>::kThreads / 32;
  return simt::launch<Dwt<Lifting>>(
      stream, {(num_parts + kWarps - 1) / kWarps, samples.num_frames, 1},
      {jobs, parts, num_parts, static_cast<typename Lifting::Sample*>(samples.data),
       samples.frame_samples});
}

}  // namespace

Status dwt53(simt::Stream& stream, const DwtJob* jobs, const DwtPart* parts, uint32_t num_parts,
             const Samples& samples) {
  return launch_dwt<Lifting53>(stream, jobs, parts, num_parts, samples);
}

Status dwt97(simt::Stream& stream, const DwtJob* jobs, const DwtPart* parts, uint32_t num_parts,
             const Samples& samples) {
  return launch_dwt<Lifting97>(stream, jobs, parts, num_parts, samples);
}

}  // namespace cj2k::cuda
