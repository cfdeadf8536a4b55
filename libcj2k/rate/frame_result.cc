// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "rate/frame_result.h"

#include <algorithm>

#include "rate/rate.h"

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

}  // namespace

void FrameResult::add_error(const Plan& plan, const CodeBlock& block, uint32_t step_set,
                            double left) {
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
  squared_error[block.component] += left / band.visual_weight;
}

FrameResult host_result(const Plan& plan, const RateControl& rate) {
  FrameResult result;
  const Selection& selection = rate.selection();
  for (size_t b = 0; b < plan.blocks.size(); ++b) {
    const double left = add_block(selection.blocks[b], selection.final_points[b], &result.totals);
    result.add_error(plan, plan.blocks[b], selection.step_set, left);
  }
  for (uint32_t c = 0; c < plan.components.size(); ++c) {
    result.component_bytes[c] = rate.component_bytes(c);
    result.exhausted[c] = rate.exhausted_above(c);
  }
  result.body_bytes = rate.body_bytes();
  result.threshold = rate.threshold();
  return result;
}

}  // namespace cj2k
