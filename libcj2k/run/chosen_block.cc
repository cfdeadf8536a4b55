// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "run/chosen_block.h"

#include <algorithm>
#include <bit>

#include "coders/ht/ht_rdoq.h"
#include "pixels/block_samples.h"

namespace cj2k {
namespace {

/// The passes of EBCOT up to a hull point. The passes of an HT block leave the same samples known as
/// the clean-up pass of their plane and the two passes after it.
int passes_from_the_top(const CodedBlock& coded, int points, const Subband& band, int planes) {
  const int passes = coded.hull[points - 1].passes;
  if (coded.codes == nullptr) return passes;
  const int cleanup_plane = band.max_bit_planes - 1 - coded.codes[points - 1].zero_bit_planes;
  return 3 * (planes - 1 - cleanup_plane) + passes;
}

}  // namespace

SignificancePass::SignificancePass(const uint32_t* samples, int width, int height, int plane,
                                   bool vsc)
    : pitch_(width + 2) {
  std::fill_n(significant_, pitch_ * (height + 2), uint8_t{0});
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const uint32_t magnitude = samples[y * width + x] & ~kSignBit;
      significant_[at(x, y)] = magnitude >> (plane + 1) != 0;
    }
  }
  for (int stripe = 0; stripe < height; stripe += 4) {
    for (int x = 0; x < width; ++x) {
      for (int y = stripe; y < std::min(stripe + 4, height); ++y) {
        if (significant_[at(x, y)] != 0 || !has_neighbour(x, y, vsc && y % 4 == 3)) continue;
        const bool bit = (samples[y * width + x] >> plane & 1) != 0;
        significant_[at(x, y)] = bit ? kMember | 1 : kMember;
      }
    }
  }
}

bool SignificancePass::has_neighbour(int x, int y, bool hides_below) const {
  const uint8_t* s = significant_ + at(x, y);
  unsigned any = s[-1] | s[1] | s[-pitch_] | s[-pitch_ - 1] | s[-pitch_ + 1];
  if (!hides_below) any |= s[pitch_] | s[pitch_ - 1] | s[pitch_ + 1];
  return (any & 1) != 0;
}

ChosenBlock::ChosenBlock(const Plan& plan, const CoefficientPlanes& coefficients,
                         const Selection& selection, uint32_t number) {
  const CodeBlock& block = plan.blocks[number];
  const Subband& band = subband_of(plan, block, selection.step_set);
  const CodedBlock& coded = selection.blocks[number];
  width = block.width;
  height = block.height;
  is_causal = (plan.params.cblk_style & CJ2K_STYLE_VSC) != 0;
  const uint8_t points = selection.final_points[number];
  uint32_t all = 0;
  if (coded.samples != nullptr) {
    std::copy_n(coded.samples, width * height, samples);
  } else {
    all = quantize_block(plan, coefficients, block, selection.step_set, samples, width);
  }
  const PointCode* const code =
      points > 0 && coded.codes != nullptr ? coded.codes + points - 1 : nullptr;
  const bool is_changed = code != nullptr && code->changes != nullptr;
  if (is_changed) {
    const int plane = band.max_bit_planes - 1 - code->zero_bit_planes;
    Plane<float> of{};
    if (!plan.reversible) of = coefficients.block<float>(block);
    apply_ht_changes(code->changes, plane, width, height, of.data, of.stride_samples, samples);
  }
  if (is_changed || coded.samples != nullptr) {
    all = 0;
    for (int i = 0; i < width * height; ++i) all |= samples[i] & ~kSignBit;
  }
  planes = std::bit_width(all);
  passes = points > 0 ? passes_from_the_top(coded, points, band, planes) : 0;
}

}  // namespace cj2k
