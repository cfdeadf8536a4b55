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

#include <cstddef>
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

/// Planes under a cut that LeftPlanes looks at; what lies below is taken at its mean.
inline constexpr int kLeftPlanes = 7;

/// The squared error of a block that is decoded without its lowest `planes` planes is `sum` *
/// 4^shift / 4 in units of the quantised coefficient, `sum` the sum over all samples of
///   (2 * (bits of the planes planes - 1 .. shift) + bias - (2^(planes - shift) if significant
///   above))^2
/// Each term is below 2^16.
struct LeftPlanes {
  int count;      ///< planes looked at
  int shift;      ///< planes below them
  uint32_t bias;  ///< twice the mean of what is below: nothing with reversible data and all planes

  CJ2K_HD constexpr LeftPlanes(int planes, bool reversible)
      : count(planes < kLeftPlanes ? planes : kLeftPlanes),
        shift(planes - count),
        bias(reversible && shift == 0 ? 0 : 1) {}
  /// @param sample  sign-magnitude
  CJ2K_HD constexpr uint32_t term(uint32_t sample) const {
    const uint32_t low_bits = (uint32_t{1} << count) - 1;
    const uint32_t value = (sample & 0x7FFFFFFF) >> shift;
    const uint32_t error = 2 * (value & low_bits) + bias - (value > low_bits ? low_bits + 1 : 0);
    return error * error;
  }
  CJ2K_HD constexpr double error(uint64_t sum) const {
    return static_cast<double>(sum) * (static_cast<double>(uint64_t{1} << (2 * shift)) / 4);
  }
};

}  // namespace cj2k
