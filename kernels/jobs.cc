// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// From the plan to the flat arrays that the kernels index.
#include <algorithm>

#include "dwt_tiling.h"
#include "kernels.h"

namespace cj2k::cuda {
namespace {

constexpr uint64_t kAlignSamples = 32;  ///< 128 bytes: a warp's widest access

uint64_t aligned(uint64_t samples) {
  return (samples + kAlignSamples - 1) / kAlignSamples * kAlignSamples;
}

}  // namespace

FrameLayout make_frame_layout(const Plan& plan) {
  FrameLayout layout{};
  uint64_t next = 0;
  for (size_t c = 0; c < plan.components.size(); ++c) {
    const Rect& rect = plan.components[c].rect;
    FrameLayout::Component& component = layout.components[c];
    component.width = rect.width();
    component.height = rect.height();
    component.stride = static_cast<uint32_t>(aligned(static_cast<uint64_t>(rect.width())));
    for (uint64_t& plane : component.plane) {
      plane = next;
      next += uint64_t{component.stride} * static_cast<uint64_t>(rect.height());
    }
  }
  layout.frame_samples = next;
  return layout;
}

DwtLevel make_dwt_level(const Plan& plan, const FrameLayout& layout, int level) {
  DwtLevel result;
  for (const TileComponent& tc : plan.tile_components) {
    const auto r = static_cast<uint32_t>(plan.params.levels - level + 1);
    const Rect& rect = plan.resolutions[tc.first_resolution + r].rect;
    if (rect.empty()) continue;
    const FrameLayout::Component& component = layout.components[tc.component];
    const uint64_t corner =
        static_cast<uint64_t>(tc.plane_y) * component.stride + static_cast<uint64_t>(tc.plane_x);
    DwtJob job{};
    job.source = component.plane[(level - 1) & 1] + corner;
    job.target = component.plane[level & 1] + corner;
    job.stride = component.stride;
    job.width = rect.width();
    job.height = rect.height();
    job.parity_x = rect.x0 & 1;
    job.parity_y = rect.y0 & 1;
    job.segment_pairs = dwt_segment_pairs(job.width, job.height);
    append_dwt_parts(job, static_cast<uint32_t>(result.jobs.size()), &result.parts);
    result.jobs.push_back(job);
  }
  return result;
}

std::vector<QuantizeJob> make_quantize_jobs(const Plan& plan, const FrameLayout& layout,
                                            uint64_t* frame_words) {
  std::vector<QuantizeJob> jobs;
  jobs.reserve(plan.blocks.size());
  uint64_t next = 0;
  for (const CodeBlock& block : plan.blocks) {
    const Subband& band = plan.subbands[block.subband];
    const FrameLayout::Component& component = layout.components[block.component];
    QuantizeJob job{};
    job.source = component.plane[band.level & 1] +
                 static_cast<uint64_t>(block.plane_y) * component.stride +
                 static_cast<uint64_t>(block.plane_x);
    job.first_word = next;
    job.stride = component.stride;
    job.width = block.width;
    job.height = block.height;
    job.inverse_step = band.inverse_step;
    job.max_bit_planes = block.max_bit_planes;
    job.words_wide = static_cast<uint8_t>((block.width + 15) / 16);
    job.plane_words = static_cast<uint16_t>(job.words_wide * ((block.height + 3) / 4));
    next += (uint64_t{job.plane_words} * (job.max_bit_planes + 1u) + 1) / 2 * 2;
    jobs.push_back(job);
  }
  *frame_words = next;
  return jobs;
}

}  // namespace cj2k::cuda
