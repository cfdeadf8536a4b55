// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/ebcot/quantize.cuh"
#include "kernels/ebcot/quantize.h"
#include "kernels/simt/launch.h"

CJ2K_KERNEL(quantize_53, cj2k::cuda::Quantize<true>)
CJ2K_KERNEL(quantize_97, cj2k::cuda::Quantize<false>)

namespace cj2k::cuda {
namespace {

template <bool kReversible>
Status launch_quantize(simt::Stream& stream, const QuantizeJob* jobs, uint32_t num_jobs,
                       const Samples& samples, const BitPlanes& planes) {
  return simt::launch<Quantize<kReversible>>(
      stream, {num_jobs, samples.num_frames, 1},
      {jobs, static_cast<const uint32_t*>(samples.data), samples.frame_samples, planes.words,
       planes.frame_words, planes.magnitudes});
}

}  // namespace

Status quantize53(simt::Stream& stream, const QuantizeJob* jobs, uint32_t num_jobs,
                  const Samples& samples, const BitPlanes& planes) {
  return launch_quantize<true>(stream, jobs, num_jobs, samples, planes);
}

Status quantize97(simt::Stream& stream, const QuantizeJob* jobs, uint32_t num_jobs,
                  const Samples& samples, const BitPlanes& planes) {
  return launch_quantize<false>(stream, jobs, num_jobs, samples, planes);
}

}  // namespace cj2k::cuda
