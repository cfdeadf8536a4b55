// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What a decoder knows of a code-block after the chosen passes: the bits of its samples, without
// decoding.
#pragma once

#include <cstdint>

#include "coders/coded_block.h"
#include "coders/ebcot/tier1.h"
#include "pixels/coefficients.h"
#include "pixels/quantize.h"
#include "plan/plan.h"

namespace cj2k {

/// Finds the samples that the significance pass of `plane` codes, by its definition (T.800 D.3.1).
class SignificancePass {
 public:
  SignificancePass(const uint32_t* samples, int width, int height, int plane, bool vsc);
  bool codes(int x, int y) const { return (significant_[at(x, y)] & kMember) != 0; }

 private:
  static constexpr uint8_t kMember = 2;
  int at(int x, int y) const { return (y + 1) * pitch_ + x + 1; }
  bool has_neighbour(int x, int y, bool hides_below) const;

  const int pitch_;
  uint8_t significant_[(kMaxBlockSide + 2) * (kMaxBlockSamples / kMaxBlockSide + 2) + 64];
};

/// The samples of a block as they were coded.
struct ChosenBlock {
  /// Fills `samples` and finds the chosen passes.
  ChosenBlock(const Plan& plan, const CoefficientPlanes& coefficients, const Selection& selection,
              uint32_t block);

  int width, height;
  int planes;  ///< bits of the largest magnitude
  int passes;  ///< that are in the codestream, of EBCOT: those of HT leave the same samples known
  bool is_causal;
  uint32_t samples[kMaxBlockSamples];  ///< [height][width]

  /// Calls visit(x, y, lowest) for each sample, of which the bits from `lowest` up are known.
  template <typename Visit>
  void for_known(const Visit& visit) const {
    const int plane = planes - num_planes_begun(passes);  // of the last pass
    const PassKind last = passes == 0 ? PassKind::kCleanup : pass_kind(passes - 1);
    if (last == PassKind::kCleanup) {
      for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) visit(x, y, passes == 0 ? kMaxBitPlanes : plane);
      }
      return;
    }
    const SignificancePass significance(samples, width, height, plane, is_causal);
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        const uint32_t magnitude = samples[y * width + x] & ~kSignBit;
        const bool coded = significance.codes(x, y) ||
                           (last == PassKind::kRefinement && magnitude >> (plane + 1) != 0);
        visit(x, y, coded ? plane : plane + 1);
      }
    }
  }
};

}  // namespace cj2k
