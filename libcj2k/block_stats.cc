// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "block_stats.h"

#include <algorithm>

namespace cj2k {
namespace {

struct BlockFigures {
  double left;  ///< squared error that is left, weighted
  uint32_t num_bytes;
  uint16_t passes;  ///< that are in
  uint8_t num_passes, num_passes_resumed, num_passes_left;
};

BlockFigures figures_of(const CodedBlock& block, uint8_t points) {
  BlockFigures figures{block.total_distortion, block.num_bytes,          0,
                       block.num_passes,       block.num_passes_resumed, block.num_passes_left};
  if (points == 0) return figures;
  figures.passes = block.hull[points - 1].passes;
  figures.left -= block.hull[points - 1].distortion;
  return figures;
}

BlockFigures figures_of(const FinalBlock& block) {
  return {block.left_distortion, block.num_bytes,          block.passes,
          block.num_passes,      block.num_passes_resumed, block.num_passes_left};
}

/// The error that a block adds to that of its component.
double error_of(const Plan& plan, const CodeBlock& block, uint32_t step_set, double left) {
  // With more planes left than LeftPlanes looks at, total_distortion is an estimate, so `left` may be
  // slightly below 0.
  left = std::max(left, 0.0);
  if (block.in_region) left /= plan.region_gain;
  // The error of quantisation itself: uniform over the step, so 1/12 of the squared step.
  const Subband& band = subband_of(plan, block, step_set);
  if (!plan.reversible) {
    constexpr double kUniformError = 1.0 / 12;
    left += kUniformError * block.width * block.height * band.distortion_weight;
  }
  return left / band.visual_weight;
}

}  // namespace

void add_block_stats(const Plan& plan, const Selection& selection, cj2k_stats* stats) {
  const FinalFrame* const final = selection.final;
  const bool is_measured = plan.params.measure_mse != 0;
  for (size_t b = 0; b < plan.blocks.size(); ++b) {
    const BlockFigures figures = final != nullptr
                                     ? figures_of(final->blocks[b])
                                     : figures_of(selection.blocks[b], selection.final_points[b]);
    stats->passes_coded += figures.num_passes;
    stats->passes_included += figures.passes;
    stats->passes_resumed += figures.num_passes_resumed;
    stats->bytes_coded += figures.num_bytes;
    stats->passes_left += figures.num_passes_left;
    if (is_measured) continue;
    const CodeBlock& block = plan.blocks[b];
    stats->mse[block.component] += error_of(plan, block, selection.step_set, figures.left);
  }
}

}  // namespace cj2k
