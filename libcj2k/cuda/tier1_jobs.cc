// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Makes the jobs of tier-1 and the layout of its arrays from the plan.
#include <algorithm>

#include "cuda/tier1_coder.h"

namespace cj2k::cuda {

Tier1Layout make_tier1_layout(const Plan& plan, const std::vector<QuantizeJob>& quantize_jobs,
                              Tier1Form form) {
  Tier1Layout layout;
  const size_t num_blocks = plan.blocks.size();
  const auto sets = static_cast<uint32_t>(quantize_jobs.size() / std::max<size_t>(num_blocks, 1));
  layout.num_blocks = static_cast<uint32_t>(num_blocks);
  layout.jobs.resize(quantize_jobs.size());
  for (size_t i = 0; i < num_blocks; ++i) {
    const CodeBlock& block = plan.blocks[i];
    int planes = 0;
    for (uint32_t set = 0; set < sets; ++set)
      planes = std::max<int>(planes, quantize_jobs[set * num_blocks + i].max_bit_planes);
    Tier1Job job{};
    job.first_word = quantize_jobs[i].first_word;
    job.symbols_offset = layout.frame_symbols;
    job.bytes_offset = layout.frame_bytes;
    job.bytes_capacity = tier1_byte_capacity(block.width, block.height, planes);
    job.first_pass = layout.frame_passes;
    job.width = block.width;
    job.height = block.height;
    job.orientation = block.orientation;
    job.component = block.component;
    job.size = static_cast<uint8_t>(tier1_size(block.width, block.height));
    for (uint32_t set = 0; set < sets; ++set) {
      job.weight = distortion_weight(plan, block, set);
      job.max_bit_planes = quantize_jobs[set * num_blocks + i].max_bit_planes;
      layout.jobs[set * num_blocks + i] = job;
    }

    switch (form) {
      case Tier1Form::kClassic:
        layout.frame_symbols += tier1_symbol_capacity(block.width, block.height, planes);
        break;
      case Tier1Form::kCibo:
        layout.frame_symbols += 2 * tier1_symbol_capacity(block.width, block.height, 1);
        break;
      case Tier1Form::kFused:
        break;
    }
    layout.frame_bytes += job.bytes_capacity;
    layout.frame_passes += static_cast<uint32_t>(num_passes_of(planes));
    layout.max_bit_planes = std::max(layout.max_bit_planes, static_cast<uint32_t>(planes));
  }
  return layout;
}

}  // namespace cj2k::cuda
