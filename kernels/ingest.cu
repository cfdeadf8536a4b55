// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>

#include "ingest.cuh"
#include "kernels.h"
#include "simt/launch.h"

CJ2K_KERNEL(ingest_integer, cj2k::cuda::Ingest<cj2k::cuda::IngestMode::kInteger>)
CJ2K_KERNEL(ingest_float, cj2k::cuda::Ingest<cj2k::cuda::IngestMode::kFloat>)
CJ2K_KERNEL(ingest_rct, cj2k::cuda::Ingest<cj2k::cuda::IngestMode::kRct>)
CJ2K_KERNEL(ingest_ict, cj2k::cuda::Ingest<cj2k::cuda::IngestMode::kIct>)

namespace cj2k::cuda {
namespace {

constexpr uint32_t kMaxGridY = 65535;

/// Components [first, first + count) of some frames.
template <IngestMode kMode>
Status launch_ingest(simt::Stream& stream, const Plan& plan, const FrameLayout& layout,
                     std::span<const FrameViews> frames, const Samples& samples, uint32_t first,
                     uint32_t count) {
  using Kernel = Ingest<kMode>;
  for (size_t begin = 0; begin < frames.size(); begin += Kernel::kMaxFrames) {
    const size_t num_frames = std::min<size_t>(frames.size() - begin, Kernel::kMaxFrames);
    typename Kernel::Params p{};
    p.samples = static_cast<uint32_t*>(samples.data) + begin * samples.frame_samples;
    p.frame_samples = samples.frame_samples;
    p.first_component = first;
    p.num_components = count;
    int32_t width = 0, height = 0;
    for (uint32_t c = first; c < first + count; ++c) {
      const FrameLayout::Component& component = layout.components[c];
      p.components[c] = {component.plane[0], component.stride, component.width, component.height};
      width = std::max(width, component.width);
      height = std::max(height, component.height);
      for (size_t f = 0; f < num_frames; ++f) {
        const cj2k_component_view& v = frames[begin + f][c];
        p.views[f][c] = {static_cast<const uint8_t*>(v.data), v.stride_bytes, v.step_bytes,
                         v.word_bytes,
                         make_sample_decode(v.word_bytes, v.shift, plan.components[c].depth,
                                            plan.components[c].is_signed)};
      }
    }
    constexpr uint32_t kBlockSamples = 4 * Kernel::kThreads;
    const simt::Dim3 grid{(static_cast<uint32_t>(width) + kBlockSamples - 1) / kBlockSamples,
                          std::min(static_cast<uint32_t>(height), kMaxGridY),
                          static_cast<uint32_t>(num_frames) * (Kernel::kIsColour ? 1 : count)};
    CJ2K_TRY(simt::launch<Kernel>(stream, grid, p));
  }
  return Status::kOk;
}

}  // namespace

Status ingest(simt::Stream& stream, const Plan& plan, const FrameLayout& layout,
              std::span<const FrameViews> frames, const Samples& samples) {
  const auto run = [&](auto mode, uint32_t first, uint32_t count) {
    return launch_ingest<decltype(mode)::value>(stream, plan, layout, frames, samples, first,
                                                count);
  };
  uint32_t first = 0;
  if (plan.use_mct) {
    first = 3;
    if (plan.reversible) {
      CJ2K_TRY(run(std::integral_constant<IngestMode, IngestMode::kRct>(), 0, 3));
    } else {
      CJ2K_TRY(run(std::integral_constant<IngestMode, IngestMode::kIct>(), 0, 3));
    }
  }
  const auto count = static_cast<uint32_t>(plan.components.size()) - first;
  if (count == 0) return Status::kOk;
  if (plan.reversible) {
    return run(std::integral_constant<IngestMode, IngestMode::kInteger>(), first, count);
  }
  return run(std::integral_constant<IngestMode, IngestMode::kFloat>(), first, count);
}

}  // namespace cj2k::cuda
