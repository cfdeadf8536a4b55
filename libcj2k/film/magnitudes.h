// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// How large the coefficients of a block are: counts over classes of magnitude.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace cj2k {

/// A class is half an octave. Class k >= 1 begins at 2^((k - 1) / 2) quantiser steps; class 0 is the
/// dead zone.
inline constexpr int kClassesOfPlane = 2;
inline constexpr int kMagnitudeClasses = 31 * kClassesOfPlane;

inline constexpr int kMantissaBits = 23;       ///< of a float
inline constexpr int kExponentOfClass0 = 126;  ///< as a float has it, of the square

/// @param value  in quantiser steps; 2^31 and more count as the highest class
constexpr int magnitude_class(float value) {
  // The exponent of the square is twice the logarithm, rounded down.
  const auto exponent = static_cast<int>(std::bit_cast<uint32_t>(value * value) >> kMantissaBits);
  return std::clamp(exponent - kExponentOfClass0, 0, kMagnitudeClasses);
}

struct MagnitudeCounts {
  uint32_t samples[kMagnitudeClasses + 1];  ///< of class k and above; [0]: all that are counted
  uint32_t quads[kMagnitudeClasses + 1];  ///< quads (2x2 samples) with a sample of class k or above
};

/// The coefficients of a block. width * height <= 4096, each at most 1024.
template <typename Sample>
struct Coefficients {
  const Sample* data;
  ptrdiff_t stride;
  int width, height;
};

/// Of the rows of quads of a high block, one in so many is counted.
constexpr int counted_quad_rows(int height) { return height >= 32 ? 4 : 1; }

/// Counts the samples of some rows of quads. At the right and at the bottom, quads may be parts.
///   @param scale  1 / quantiser step
///   @param first  row of quads, below counted_quad_rows
/// Allocate: no. Deterministic: yes. Thread-safe: yes.
namespace ref {
MagnitudeCounts count_magnitudes(const Coefficients<float>& block, float scale, int first);
MagnitudeCounts count_magnitudes(const Coefficients<int32_t>& block, float scale, int first);
}  // namespace ref
namespace simd {
MagnitudeCounts count_magnitudes(const Coefficients<float>& block, float scale, int first);
MagnitudeCounts count_magnitudes(const Coefficients<int32_t>& block, float scale, int first);
}  // namespace simd

}  // namespace cj2k
