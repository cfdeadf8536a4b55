// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "cuda/pixel_jobs.h"

#include <algorithm>

#include "coders/ebcot/colour_errors.h"
#include "kernels/pixels/dwt_tiling.h"
#include "plan/plan_quant.h"

namespace cj2k::cuda {
namespace {

constexpr uint64_t kAlignSamples = 32;  ///< 128 bytes: the widest access of a warp

uint64_t aligned(uint64_t samples) {
  return (samples + kAlignSamples - 1) / kAlignSamples * kAlignSamples;
}

bool is_colour(const Plan& plan, uint32_t component) { return plan.use_mct && component < 3; }

}  // namespace

PixelFormat make_pixel_format(const Plan& plan) {
  PixelFormat format{};
  format.num_components = static_cast<uint32_t>(plan.components.size());
  for (size_t c = 0; c < plan.components.size(); ++c)
    format.components[c] = {plan.components[c].depth, plan.components[c].is_signed};
  format.reversible = plan.reversible;
  format.use_mct = plan.use_mct;
  return format;
}

PixelFormat make_stored_format(const Plan& plan) {
  PixelFormat format = make_pixel_format(plan);
  for (size_t c = 0; c < plan.components.size(); ++c)
    format.components[c].depth = read_depth(plan, plan.components[c]);
  return format;
}

CodedWords make_coded_words(const Plan& plan) {
  CodedWords words{};
  const bool as_stored =
      plan.params.xyz == CJ2K_XYZ_OFF &&
      std::all_of(plan.components.begin(), plan.components.end(),
                  [&](const Component& c) { return read_depth(plan, c) == c.depth; });
  if (as_stored) return words;
  for (size_t c = 0; c < plan.components.size(); ++c) {
    const Rect& rect = plan.components[c].rect;
    const auto row_bytes = static_cast<uint32_t>(rect.width() + 7) / 8 * 16;
    words.components[c] = {words.bytes, row_bytes, rect.width(), rect.height()};
    words.bytes += uint64_t{row_bytes} * static_cast<uint64_t>(rect.height());
  }
  return words;
}

FrameLayout make_frame_layout(const Plan& plan) {
  FrameLayout layout{};
  uint64_t next = 0;
  for (size_t c = 0; c < plan.components.size(); ++c) {
    const Rect& rect = plan.components[c].rect;
    FrameLayout::Component& component = layout.components[c];
    component.width = rect.width();
    component.height = rect.height();
    for (uint32_t i = 0; i < 2; ++i) {
      const Rect shape = coefficient_plane(plan, static_cast<uint32_t>(c), i);
      component.stride[i] = static_cast<uint32_t>(aligned(static_cast<uint64_t>(shape.width())));
      component.plane[i] = next;
      next += uint64_t{component.stride[i]} * static_cast<uint64_t>(shape.height());
    }
  }
  layout.frame_samples = next;
  return layout;
}

uint64_t tile_component_offset(const Plan& plan, const FrameLayout& layout, const TileComponent& tc,
                               int plane) {
  const FrameLayout::Component& component = layout.components[tc.component];
  const PlanePoint corner = tile_component_corner(plan, tc, static_cast<uint32_t>(plane));
  return component.plane[plane] + static_cast<uint64_t>(corner.y) * component.stride[plane] +
         static_cast<uint64_t>(corner.x);
}

DwtLevel make_dwt_level(const Plan& plan, const FrameLayout& layout, int level) {
  DwtLevel result;
  const auto r = static_cast<uint32_t>(plan.params.levels - level + 1);
  const auto append = [&](const TileComponent& tc) {
    const Rect& rect = plan.resolutions[tc.first_resolution + r].rect;
    const FrameLayout::Component& component = layout.components[tc.component];
    const int to = level & 1;
    DwtJob job{};
    if (level > 1) {
      job.source = tile_component_offset(plan, layout, tc, 1 - to);
      job.source_stride = component.stride[1 - to];
    }
    job.target = tile_component_offset(plan, layout, tc, to);
    job.target_stride = component.stride[to];
    job.width = rect.width();
    job.height = rect.height();
    job.x = tc.plane_x;
    job.y = tc.plane_y;
    job.parity_x = rect.x0 & 1;
    job.parity_y = rect.y0 & 1;
    job.segment_pairs = dwt_segment_pairs(job.width, job.height);
    job.component = static_cast<uint8_t>(tc.component);
    result.jobs.push_back(job);
  };
  for (const bool colour : {true, false}) {
    for (const TileComponent& tc : plan.tile_components) {
      if (is_colour(plan, tc.component) != colour ||
          plan.resolutions[tc.first_resolution + r].rect.empty()) {
        continue;
      }
      append(tc);
      // Components 0 to 2 of a tile follow one another and have the same shape, because T.800 G.2
      // requires the same sampling.
      if (!colour || tc.component == 2) {
        const uint32_t num_jobs = colour ? 3 : 1;
        append_dwt_parts(result.jobs.back(), static_cast<uint32_t>(result.jobs.size()) - num_jobs,
                         num_jobs, &result.parts);
      }
    }
    if (colour) result.num_colour_parts = static_cast<uint32_t>(result.parts.size());
  }
  return result;
}

std::vector<QuantizeJob> make_quantize_jobs(const Plan& plan, const FrameLayout& layout,
                                            uint64_t* frame_words) {
  const uint32_t sets = num_ebcot_step_sets(plan);
  std::vector<QuantizeJob> jobs(sets * plan.blocks.size());
  uint64_t next = 0;
  for (size_t i = 0; i < plan.blocks.size(); ++i) {
    const CodeBlock& block = plan.blocks[i];
    const Subband& band = plan.subbands[block.subband];
    const TileComponent& tc =
        plan.tile_components[plan.resolutions[band.resolution].tile_component];
    const int plane = band.level & 1;
    const uint32_t stride = layout.components[block.component].stride[plane];
    QuantizeJob job{};
    job.source = tile_component_offset(plan, layout, tc, plane) +
                 static_cast<uint64_t>(block.plane_y - tc.plane_y) * stride +
                 static_cast<uint64_t>(block.plane_x - tc.plane_x);
    job.first_word = next;
    job.stride = stride;
    job.width = block.width;
    job.height = block.height;
    job.words_wide = static_cast<uint8_t>((block.width + 15) / 16);
    job.plane_words = static_cast<uint16_t>(job.words_wide * ((block.height + 3) / 4));
    uint32_t most_planes = 0;
    for (uint32_t set = 0; set < sets; ++set) {
      const Subband& steps = subband_of(plan, block, set);
      job.inverse_step = steps.inverse_step;
      job.max_bit_planes = set == 0 ? block.max_bit_planes : steps.max_bit_planes;
      most_planes = std::max<uint32_t>(most_planes, job.max_bit_planes);
      jobs[set * plan.blocks.size() + i] = job;
    }
    constexpr uint64_t kLineWords = 128 / sizeof(uint64_t);  // a block begins a line of the caches
    const uint64_t words = uint64_t{job.plane_words} * (most_planes + 1u);
    next += (words + kLineWords - 1) / kLineWords * kLineWords;
  }
  *frame_words = next;
  return jobs;
}

std::vector<Overlaps> make_overlaps(const Plan& plan) {
  std::vector<Overlaps> overlaps;
  for (const CodeBlock& block : plan.blocks) {
    const Subband& band = plan.subbands[block.subband];
    overlaps.push_back(overlaps_of(plan.reversible, band.level, band.orientation));
  }
  return overlaps;
}

std::vector<ColourJob> make_colour_jobs(const Plan& plan) {
  const size_t num_blocks = plan.blocks.size();
  std::vector<ColourJob> jobs(num_ebcot_step_sets(plan) * num_blocks);
  for (size_t i = 0; i < jobs.size(); ++i) {
    const auto index = static_cast<uint32_t>(i % num_blocks);
    const CodeBlock& block = plan.blocks[index];
    if (block.component != 1 && block.component != 2) continue;
    const Subband& band = subband_of(plan, block, static_cast<uint32_t>(i / num_blocks));
    jobs[i] = {luma_block(plan, index), colour_factor(plan, index), band.step};
  }
  return jobs;
}

}  // namespace cj2k::cuda
