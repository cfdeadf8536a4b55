// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "plan/plan_facts.h"

#include "core/ht/plane_choice.h"
#include "params/profiles.h"
#include "plan/plan_caps.h"

namespace cj2k {
namespace {

/// exact is not used for fewer blocks: the sample would be most of the frame.
constexpr size_t kMinBlocks = 128;

cj2k_stop stop_in_force(const Plan& plan) {
  const cj2k_params& p = plan.params;
  const cj2k_stop stop = p.stop;
  if (stop == CJ2K_STOP_NONE || p.target_psnr > 0 || (p.cblk_style & CJ2K_STYLE_PTERM) != 0)
    return CJ2K_STOP_NONE;
  // Bit-plane by bit-plane, a region of interest would not come first.
  const bool is_possible = stop != CJ2K_STOP_BPI || p.num_roi == 0;
  if (stop != CJ2K_STOP_EXACT && is_possible && has_byte_cap(plan)) return stop;
  // Each plane of an HT block is a cleanup pass of its own, so it pays to know the slope.
  if (p.coder == CJ2K_CODER_HT) return CJ2K_STOP_EXACT;
  return plan.blocks.size() < kMinBlocks ? CJ2K_STOP_NONE : CJ2K_STOP_EXACT;
}

}  // namespace

void add_facts(Plan* plan) {
  const cj2k_params& p = plan->params;
  plan->rsiz = rsiz_of(p);
  plan->magnitude_bound = magnitude_bound_of(p);
  plan->most_ht_passes = p.ht_passes == CJ2K_HT_PASSES_CLEANUP ? 1 : kAllHtPasses;
  plan->stop = stop_in_force(*plan);
  plan->has_rdoq = p.effort >= 2 && !p.lossless;
}

}  // namespace cj2k
