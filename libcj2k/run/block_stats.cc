// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "run/block_stats.h"

#include <algorithm>

namespace cj2k {
namespace {

/// Adds what a block says. @return the squared error that is left in it, weighted
double add_block(const CodedBlock& block, uint8_t points, BlockTotals* totals) {
  totals->bytes += block.num_bytes;
  totals->passes += block.num_passes;
  totals->passes_resumed += block.num_passes_resumed;
  totals->passes_left += block.num_passes_left;
  if (points == 0) return block.total_distortion;
  totals->passes_in += block.hull[points - 1].passes;
  return block.total_distortion - block.hull[points - 1].distortion;
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
  BlockTotals totals = final != nullptr ? final->totals : BlockTotals{};
  uint32_t component = 0;
  double error = stats->mse[0];  // of the component
  for (size_t b = 0; b < plan.blocks.size(); ++b) {
    const double left = final != nullptr
                            ? final->left[b]
                            : add_block(selection.blocks[b], selection.final_points[b], &totals);
    if (is_measured) continue;
    const CodeBlock& block = plan.blocks[b];
    if (block.component != component) {
      stats->mse[component] = error;
      component = block.component;
      error = stats->mse[component];
    }
    error += error_of(plan, block, selection.step_set, left);
  }
  if (!is_measured) stats->mse[component] = error;
  stats->bytes_coded += static_cast<int64_t>(totals.bytes);
  stats->passes_coded += static_cast<int64_t>(totals.passes);
  stats->passes_included += static_cast<int64_t>(totals.passes_in);
  stats->passes_resumed += static_cast<int64_t>(totals.passes_resumed);
  stats->passes_left += static_cast<int64_t>(totals.passes_left);
}

}  // namespace cj2k
