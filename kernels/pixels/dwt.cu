// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/pixels/dwt.cuh"
#include "kernels/pixels/pixels.h"
#include "kernels/simt/launch.h"

namespace cj2k::cuda {

template <typename Lifting>
using DwtPlanes = Dwt<Lifting, PlaneRows<Lifting>>;

}  // namespace cj2k::cuda

CJ2K_KERNEL(dwt_53, cj2k::cuda::DwtPlanes<cj2k::cuda::Lifting53>)
CJ2K_KERNEL(dwt_97, cj2k::cuda::DwtPlanes<cj2k::cuda::Lifting97>)

namespace cj2k::cuda {
namespace {

template <typename Lifting>
Status launch_dwt(simt::Stream& stream, const DwtLists& lists, const Samples& samples) {
  using Kernel = DwtPlanes<Lifting>;
  if (lists.num_parts == 0) return Status::kOk;
  auto* const data = static_cast<typename Lifting::Sample*>(samples.data);
  constexpr uint32_t kWarps = Kernel::kThreads / 32;
  return simt::launch<Kernel>(stream,
                              {(lists.num_parts + kWarps - 1) / kWarps, samples.num_frames, 1},
                              {lists.jobs,
                               lists.parts,
                               lists.num_parts,
                               data,
                               samples.frame_samples,
                               {data, samples.frame_samples}});
}

}  // namespace

Status dwt53(simt::Stream& stream, const DwtLists& lists, const Samples& samples) {
  return launch_dwt<Lifting53>(stream, lists, samples);
}

Status dwt97(simt::Stream& stream, const DwtLists& lists, const Samples& samples) {
  return launch_dwt<Lifting97>(stream, lists, samples);
}

}  // namespace cj2k::cuda
