// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The parts of RDOQ (rdoq.h) that both implementations of the CPU use.
#pragma once

#include "coders/ebcot/rdoq.h"

namespace cj2k::rdoq {

Costs costs_of(const PassCounts counts[kTrackedPlanes]);
/// may_pay of the decisions that were counted.
bool may_pay(const Model& model, const Costs& costs, const PassCounts counts[kTrackedPlanes]);

/// The numbers of a round. @param planes  bits of the largest magnitude now
inline Model model_of(const RdoqBlock& block, int planes) {
  return {block.plane, planes,      block.kind, block.coefficients == nullptr,
          block.style, block.lambda};
}

/// Fills in scratch.value and scratch.before.
void load(const RdoqBlock& block, RdoqScratch& scratch);
/// @return bits of the largest magnitude
int count_planes(const RdoqBlock& block);
/// Adds up RdoqResult::removed and total over the changed samples.
/// @param model            of the block after the changes
/// @param in_significance  bool(int x, int y, int up): the significance pass codes the sample
template <typename InSignificance>
void correct(const RdoqBlock& block, const RdoqScratch& scratch, const Model& model,
             const InSignificance& in_significance, RdoqResult* result) {
  int64_t sum = 0;
  for (int y = 0; y < block.height; ++y) {
    for (int x = 0; x < block.width; ++x) {
      const int i = y * block.width + x;
      const uint32_t m = block.samples[y * block.stride + x] & kMagnitude;
      if (m == (scratch.before[i] & kMagnitude)) continue;
      ++result->changes;
      const int up = bit_width(m) - 1 - model.plane;
      const bool early = up >= 0 && up < model.tracked && in_significance(x, y, up);
      const Correction of(model, scratch.value[i], m);
      sum += of.total();
      of.each_pass(early, [result](int pass, int64_t more) { result->removed[pass] += more; });
    }
  }
  result->total = total_of(model, sum, [result](int pass) { return result->removed[pass]; });
}

}  // namespace cj2k::rdoq
