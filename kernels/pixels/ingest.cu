// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>

#include "kernels/pixels/ingest.cuh"
#include "kernels/pixels/pixels.h"
#include "kernels/simt/launch.h"

CJ2K_KERNEL(ingest_integer, cj2k::cuda::Ingest<cj2k::cuda::IngestMode::kInteger>)
CJ2K_KERNEL(ingest_float, cj2k::cuda::Ingest<cj2k::cuda::IngestMode::kFloat>)
CJ2K_KERNEL(ingest_rct, cj2k::cuda::Ingest<cj2k::cuda::IngestMode::kRct>)
CJ2K_KERNEL(ingest_ict, cj2k::cuda::Ingest<cj2k::cuda::IngestMode::kIct>)

namespace cj2k::cuda {
namespace {

constexpr uint32_t kMaxGridY = 65535;

/// Launches the components [first, end).
template <IngestMode kMode>
Status launch_ingest(simt::Stream& stream, const PixelFormat& format, const FrameLayout& layout,
                     const FrameViews& frame, void* samples, uint32_t first, uint32_t end) {
  if (first == end) return Status::kOk;
  using Kernel = Ingest<kMode>;
  typename Kernel::Params p{};
  p.samples = static_cast<typename Kernel::Sample*>(samples);
  p.first_component = first;
  p.rows = make_word_params<typename Kernel::Rows>(format, frame);
  int32_t width = 0, height = 0;
  for (uint32_t c = first; c < end; ++c) {
    const FrameLayout::Component& component = layout.components[c];
    p.components[c] = {component.plane[0], component.stride[0], component.width, component.height};
    width = std::max(width, component.width);
    height = std::max(height, component.height);
  }
  constexpr uint32_t kBlockSamples = 4 * Kernel::kThreads;
  const simt::Dim3 grid{(static_cast<uint32_t>(width) + kBlockSamples - 1) / kBlockSamples,
                        std::min(static_cast<uint32_t>(height), kMaxGridY), end - first};
  return simt::launch<Kernel>(stream, grid, p);
}

}  // namespace

Status ingest(simt::Stream& stream, const PixelFormat& format, const FrameLayout& layout,
              const FrameViews& frame, void* samples) {
  const uint32_t colour = format.use_mct ? 3 : 0;
  const auto count = format.num_components;
  if (format.reversible) {
    CJ2K_TRY(launch_ingest<IngestMode::kRct>(stream, format, layout, frame, samples, 0, colour));
    return launch_ingest<IngestMode::kInteger>(stream, format, layout, frame, samples, colour,
                                               count);
  }
  CJ2K_TRY(launch_ingest<IngestMode::kIct>(stream, format, layout, frame, samples, 0, colour));
  return launch_ingest<IngestMode::kFloat>(stream, format, layout, frame, samples, colour, count);
}

}  // namespace cj2k::cuda
