// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/pixels/dwt_first_level.cuh"
#include "kernels/pixels/pixels.h"
#include "kernels/simt/launch.h"

namespace cj2k::cuda {

template <typename Lifting, IngestMode kMode, bool kPixels = false>
using DwtFirstLevel = Dwt<Lifting, FirstLevelRows<Lifting, kMode, kPixels>>;

}  // namespace cj2k::cuda

CJ2K_KERNEL(dwt_first_level_53,
            cj2k::cuda::DwtFirstLevel<cj2k::cuda::Lifting53, cj2k::cuda::IngestMode::kInteger>)
CJ2K_KERNEL(dwt_first_level_97,
            cj2k::cuda::DwtFirstLevel<cj2k::cuda::Lifting97, cj2k::cuda::IngestMode::kFloat>)
CJ2K_KERNEL(dwt_first_level_rct_53,
            cj2k::cuda::DwtFirstLevel<cj2k::cuda::Lifting53, cj2k::cuda::IngestMode::kRct>)
CJ2K_KERNEL(dwt_first_level_ict_97,
            cj2k::cuda::DwtFirstLevel<cj2k::cuda::Lifting97, cj2k::cuda::IngestMode::kIct>)
CJ2K_KERNEL(dwt_first_level_packed_rct_53,
            cj2k::cuda::DwtFirstLevel<cj2k::cuda::Lifting53, cj2k::cuda::IngestMode::kRct, true>)
CJ2K_KERNEL(dwt_first_level_packed_ict_97,
            cj2k::cuda::DwtFirstLevel<cj2k::cuda::Lifting97, cj2k::cuda::IngestMode::kIct, true>)

namespace cj2k::cuda {
namespace {

/// Launches the parts [first, end) of the level.
template <typename Lifting, IngestMode kMode, bool kPixels = false>
Status launch_first_level(simt::Stream& stream, const PixelFormat& format, const DwtLists& lists,
                          uint32_t first, uint32_t end, const FrameViews& frame, void* samples) {
  if (first == end) return Status::kOk;
  using Rows = FirstLevelRows<Lifting, kMode, kPixels>;
  using Kernel = Dwt<Lifting, Rows>;
  typename Kernel::Params p{};
  p.jobs = lists.jobs;
  p.parts = lists.parts + first;
  p.num_parts = end - first;
  p.samples = static_cast<typename Kernel::Sample*>(samples);
  p.rows = make_word_params<Rows>(format, frame);
  constexpr uint32_t kWarps = Kernel::kThreads / 32;
  return simt::launch<Kernel>(stream, {(p.num_parts + kWarps - 1) / kWarps, 1, 1}, p);
}

template <typename Lifting, IngestMode kColour, IngestMode kOther>
Status launch_both(simt::Stream& stream, const PixelFormat& format, const DwtLists& lists,
                   const FrameViews& frame, void* samples) {
  const uint32_t colour = lists.num_colour_parts;
  const bool is_packed = format.use_mct && packed_pixels(frame).words != 0;
  CJ2K_TRY((is_packed ? launch_first_level<Lifting, kColour, true>
                      : launch_first_level<Lifting, kColour, false>)(stream, format, lists, 0,
                                                                     colour, frame, samples));
  return launch_first_level<Lifting, kOther>(stream, format, lists, colour, lists.num_parts, frame,
                                             samples);
}

}  // namespace

Status dwt_first_level(simt::Stream& stream, const PixelFormat& format, const DwtLists& lists,
                       const FrameViews& frame, void* samples) {
  using Mode = IngestMode;
  return format.reversible ? launch_both<Lifting53, Mode::kRct, Mode::kInteger>(
                                 stream, format, lists, frame, samples)
                           : launch_both<Lifting97, Mode::kIct, Mode::kFloat>(stream, format, lists,
                                                                              frame, samples);
}

}  // namespace cj2k::cuda
