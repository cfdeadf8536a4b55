// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Squared error that a coding pass removes, as an integer, for a decoder that reconstructs at
// mid-point (T.800 E.1.1.2 with r = 0.5). In plane p take the plane as the unit and let f in [0, 1)
// be what lies below bit p:
//   newly significant, value 1 + f: before 0, now 1.5:              (1+f)^2 - (f-0.5)^2 =  0.75 +
//   3f refined, bit 1, value above the higher bits 1 + f: 1 -> 1.5:     f^2 - (f-0.5)^2    = -0.25
//   + f refined, bit 0, value above the higher bits f:     1 -> 0.5:     (f-1)^2 - (f-0.5)^2 = 0.75
//   - f
// All are linear in f, so a pass needs only counts and sums of f, and those are population counts
// of bit-planes.
#pragma once

#include <cstdint>

#include "core/hd.h"

namespace cj2k {

/// Distortions are in units of 4^plane / kDistortionOne.
inline constexpr int kDistortionOne = 128;
/// Planes below the current one that f is read from; the rest is taken at its mean.
inline constexpr int kFractionPlanes = 5;

/// Weight of the bit `below` (1..kFractionPlanes) planes under the current one, in f *
/// kDistortionOne.
CJ2K_HD constexpr int fraction_weight(int below) { return kDistortionOne >> below; }

/// Mean of what `f` does not read, times kDistortionOne. Irreversible data goes on below plane 0,
/// reversible data ends there.
CJ2K_HD constexpr int fraction_mean(int plane, bool reversible) {
  if (plane <= kFractionPlanes) return reversible ? 0 : (kDistortionOne / 2) >> plane;
  return (kDistortionOne / 2) >> kFractionPlanes;
}

/// @param count       newly significant samples of the pass
/// @param fraction_sum  sum over them of the weighted fraction bits
CJ2K_HD constexpr int32_t significance_distortion(int plane, bool reversible, int32_t count,
                                                  int32_t fraction_sum) {
  if (reversible && plane == 0) return kDistortionOne * count;  // 1 is reconstructed exactly
  return (kDistortionOne * 3 / 4) * count +
         3 * (fraction_sum + fraction_mean(plane, reversible) * count);
}

/// @param ones, zeros  refined samples by their bit; fraction sums likewise
CJ2K_HD constexpr int32_t refinement_distortion(int plane, bool reversible, int32_t ones,
                                                int32_t fraction_sum_ones, int32_t zeros,
                                                int32_t fraction_sum_zeros) {
  if (reversible && plane == 0)
    return kDistortionOne * zeros;  // 1 was exact for bit 1, one too many for bit 0
  const int mean = fraction_mean(plane, reversible);
  return fraction_sum_ones + (mean - kDistortionOne / 4) * ones +
         (kDistortionOne * 3 / 4 - mean) * zeros - fraction_sum_zeros;
}

}  // namespace cj2k
