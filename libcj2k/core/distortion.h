// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The squared error that a coding pass removes, as an exact integer. The decoder is assumed to
// reconstruct at mid-point (T.800 E.1.1.2 with r = 0.5).
//
// For a pass of plane p:
//   m = 2^p * (bits p and up) + low   the quantised magnitude
//   v = m + b / 2                     the value that m stands for. b = 1 for irreversible data, of
//                                     which only the mean is known below bit 0; b = 0 for
//                                     reversible data
//   l = 2 * low + b                   twice the part of v below plane p
//
// The decoder's error of one sample before and after the pass, and what the pass removes:
//
//   sample             | before      | after           | before^2 - after^2, in units of 2^p / 4
//   -------------------+-------------+-----------------+----------------------------------------
//   newly significant  | v           | v - 1.5 * 2^p   |   6 * l + 3 * 2^p
//   refined, bit is 1  | l/2         | l/2 - 2^p/2     |   2 * l -     2^p
//   refined, bit is 0  | l/2 - 2^p   | l/2 - 2^p/2     |  -2 * l + 3 * 2^p
//
// All three are linear in l. So a pass needs only counts of samples and sums of `low`, and these
// are population counts of bit-planes. Nothing is rounded: over all planes of a sample the changes
// add up to v^2.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/hd.h"

namespace cj2k {

/// The distortion of a pass is in units of 2^plane / kDistortionOne squared units of the quantised
/// coefficient. Its magnitude is at most 4096 * (6 * 2^32 + 3 * 2^31) < 2^47.
inline constexpr int kDistortionOne = 4;

/// What a significance or clean-up pass removes.
/// @param count    samples that become significant in the pass
/// @param low_sum  sum of their bits below `plane`
CJ2K_HD constexpr int64_t significance_distortion(int plane, bool reversible, int32_t count,
                                                  int64_t low_sum) {
  if (reversible && plane == 0) return int64_t{kDistortionOne} * count;  // 1 becomes exact
  const int64_t l_sum = 2 * low_sum + (reversible ? 0 : count);
  return 6 * l_sum + (int64_t{3} << plane) * count;
}

/// What a refinement pass removes.
/// @param ones, zeros     refined samples whose bit is 1, and whose bit is 0
/// @param low_difference  sum of the bits below `plane` of the ones, less that of the zeros
CJ2K_HD constexpr int64_t refinement_distortion(int plane, bool reversible, int32_t ones,
                                                int32_t zeros, int64_t low_difference) {
  // Every sample becomes exact. Samples with bit 1 were exact before, those with bit 0 were off by
  // 1.
  if (reversible && plane == 0) return int64_t{kDistortionOne} * zeros;
  const int64_t l_difference = 2 * low_difference + (reversible ? 0 : ones - zeros);
  return 2 * l_difference + (int64_t{3 * zeros - ones} << plane);
}

/// Squared error that a pass removes, in units of 1 / kDistortionOne. Sums of these doubles are
/// exact below 2^53, which holds for every block of up to 19 planes. The weight is applied after
/// summing (weighted), so that gains and losses that cancel give exactly 0.
template <typename Pass>
CJ2K_HD constexpr double removed_by(const Pass& pass) {
  return static_cast<double>(pass.distortion) * static_cast<double>(uint64_t{1} << pass.plane);
}
/// @param weight  squared error of the picture per squared unit of coefficient
CJ2K_HD constexpr double weighted(double removed, double weight) {
  return weight * (removed * (1.0 / kDistortionOne));
}

/// Most planes below a cut that LeftPlanes looks at. Lower bits are replaced by their mean.
inline constexpr int kLeftPlanes = 10;

/// The squared error of a block that is decoded without its lowest `planes` planes, in squared
/// units of the quantised coefficient:
///
///   sum * 4^shift / 4
///   sum  = sum of (2 * bits + bias - half)^2 over all samples
///   bits = planes shift .. planes - 1 of the sample, as an integer
///   half = 2^(planes - shift) if the sample is significant in a higher plane, where the decoder
///          reconstructs at mid-point, else 0
///
/// Each term is below 2^22.
struct LeftPlanes {
  int count;      ///< planes looked at, 0 .. kLeftPlanes
  int shift;      ///< planes below those
  uint32_t bias;  ///< twice the mean of the lower bits; 0 with reversible data and shift 0

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
  /// The term of a sample that has no plane above `planes`.
  CJ2K_HD constexpr uint32_t term_of_all(uint32_t sample) const {
    const uint32_t error = 2 * ((sample & 0x7FFFFFFF) >> shift) + bias;
    return error * error;
  }
  /// Whether the sample is significant in a higher plane.
  CJ2K_HD constexpr bool is_significant(uint32_t sample) const {
    return (sample & 0x7FFFFFFF) >> shift > (uint32_t{1} << count) - 1;
  }
  CJ2K_HD constexpr double error(uint64_t sum) const {
    return static_cast<double>(sum) * (static_cast<double>(uint64_t{1} << (2 * shift)) / 4);
  }
};

}  // namespace cj2k
