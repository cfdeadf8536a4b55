// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Squared error that a coding pass removes, as an exact integer, for a decoder that reconstructs at
// mid-point (T.800 E.1.1.2 with r = 0.5). Let a magnitude be m = 2^p * (bits p and up) + low, and
// v = m + b / 2 the value it stands for: b = 1 for irreversible data, of which only the mean is
// known below bit 0, b = 0 for reversible data. With twice the lower part, l = 2 * low + b, a pass
// of plane p changes the squared error by 2^p / 4 times
//   newly significant  v^2 - (v - 1.5 * 2^p)^2:                   6 * l + 3 * 2^p
//   refined, bit 1     (l/2)^2 - (l/2 - 2^p/2)^2:                 2 * l - 2^p
//   refined, bit 0     (l/2 - 2^p)^2 - (l/2 - 2^p/2)^2:          -2 * l + 3 * 2^p
// All are linear in l, so a pass needs only counts and sums of low, and those are population counts
// of bit-planes. Nothing is rounded: over all planes of a sample the changes add up to v^2.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/hd.h"

namespace cj2k {

/// Distortions of a pass are in units of 2^plane / kDistortionOne squared units of the quantised
/// coefficient. At most 4096 * (6 * 2^32 + 3 * 2^31) < 2^47.
inline constexpr int kDistortionOne = 4;

/// @param count    newly significant samples of the pass
/// @param low_sum  sum over them of the bits below `plane`
CJ2K_HD constexpr int64_t significance_distortion(int plane, bool reversible, int32_t count,
                                                  int64_t low_sum) {
  if (reversible && plane == 0) return int64_t{kDistortionOne} * count;  // 1 is decoded exactly
  const int64_t l_sum = 2 * low_sum + (reversible ? 0 : count);
  return 6 * l_sum + (int64_t{3} << plane) * count;
}

/// @param ones, zeros     refined samples by their bit
/// @param low_difference  sum over the ones of the bits below `plane`, less that over the zeros
CJ2K_HD constexpr int64_t refinement_distortion(int plane, bool reversible, int32_t ones,
                                                int32_t zeros, int64_t low_difference) {
  // Decoded exactly: a 1 was that before, a 0 was one off.
  if (reversible && plane == 0) return int64_t{kDistortionOne} * zeros;
  const int64_t l_difference = 2 * low_difference + (reversible ? 0 : ones - zeros);
  return 2 * l_difference + (int64_t{3 * zeros - ones} << plane);
}

/// Squared error that a pass removes, in units of 1 / kDistortionOne. Sums of it are exact below
/// 2^53: for every block of up to 19 planes. The weight comes last, so that what adds up to nothing
/// is nothing.
template <typename Pass>
CJ2K_HD constexpr double removed_by(const Pass& pass) {
  return static_cast<double>(pass.distortion) * static_cast<double>(uint64_t{1} << pass.plane);
}
/// @param weight  squared error of the picture per squared unit of coefficient
CJ2K_HD constexpr double weighted(double removed, double weight) {
  return weight * (removed * (1.0 / kDistortionOne));
}

/// Planes under a cut that LeftPlanes looks at; what lies below is taken at its mean.
inline constexpr int kLeftPlanes = 10;

/// The squared error of a block that is decoded without its lowest `planes` planes is `sum` *
/// 4^shift / 4 in units of the quantised coefficient, `sum` the sum over all samples of
///   (2 * (bits of the planes planes - 1 .. shift) + bias - (2^(planes - shift) if significant
///   above))^2
/// Each term is below 2^22.
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
