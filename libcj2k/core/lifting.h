// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The lifting steps of T.800 F.4.8 and their index arithmetic.
//
// A signal of n samples starts at an even (parity 0) or odd (parity 1) coordinate. It splits into
// low samples s (even coordinates) and high samples d (odd coordinates):
//   the neighbours of d[i] are s[i - parity]     and s[i + 1 - parity]
//   the neighbours of s[i] are d[i - 1 + parity] and d[i + parity]
// Symmetric extension (F.4.7) makes a missing neighbour equal to the other one, so clamping its
// index to the array gives the right sample. This holds in every lifting step, because each step
// keeps the symmetry.
#pragma once

#include <cstdint>

#include "core/hd.h"

#ifdef __FAST_MATH__
#error "same input, same bytes: float32 results must not depend on the compiler's re-association"
#endif

namespace cj2k {

// Table F.4.
inline constexpr float kAlpha97 = -1.586134342059924f;
inline constexpr float kBeta97 = -0.052980118572961f;
inline constexpr float kGamma97 = 0.882911075530934f;
inline constexpr float kDelta97 = 0.443506852043971f;
inline constexpr float kHighScale97 = 1.230174104914001f;                        ///< K
inline constexpr float kLowScale97 = static_cast<float>(1 / 1.230174104914001);  ///< 1/K

/// One rounded add, one rounded multiply, one rounded add.
CJ2K_HD constexpr float lift97(float x, float k, float a, float b) { return x + k * (a + b); }

/// First step of F.4.8.1: x is a sample at an odd coordinate, a and b are its even neighbours.
CJ2K_HD constexpr int32_t lift53_high(int32_t x, int32_t a, int32_t b) {
  return x - ((a + b) >> 1);
}
/// Second step of F.4.8.1: x is a sample at an even coordinate, a and b are its high neighbours.
CJ2K_HD constexpr int32_t lift53_low(int32_t x, int32_t a, int32_t b) {
  return x + ((a + b + 2) >> 2);
}

/// Low samples of a signal of n samples.
CJ2K_HD constexpr int32_t lifting_low_count(int32_t n, int parity) { return (n + 1 - parity) >> 1; }

/// Clamps an index `i` in [-1, n] to [0, n - 1]; n >= 1.
CJ2K_HD constexpr int32_t lifting_clamp(int32_t i, int32_t n) {
  return i < 0 ? 0 : i >= n ? n - 1 : i;
}

}  // namespace cj2k
