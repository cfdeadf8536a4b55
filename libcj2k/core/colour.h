// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The multiple component transforms of T.800 Annex G for one sample of each of three components.
#pragma once

#include <cstdint>

#include "core/hd.h"

namespace cj2k {

// ICT, G.3.1. The coefficients are the exact inverse of the matrix of G.3.2, which decoders apply.
// The five digits printed in G.3.1 would leave an error of 0.07 LSB on 12-bit samples before any
// quantisation, and would give grey pixels some chroma.
inline constexpr float kIctYr = 0.299f, kIctYg = 0.587f, kIctYb = 0.114f;
inline constexpr float kIctCbR = static_cast<float>(-0.299 / 1.772);
inline constexpr float kIctCbG = static_cast<float>(-0.587 / 1.772);
inline constexpr float kIctCbB = 0.5f, kIctCrR = 0.5f;
inline constexpr float kIctCrG = static_cast<float>(-0.587 / 1.402);
inline constexpr float kIctCrB = static_cast<float>(-0.114 / 1.402);

/// One row of the ICT matrix: three rounded products and two rounded adds, from left to right.
CJ2K_HD constexpr float ict(float r, float g, float b, float kr, float kg, float kb) {
  return (kr * r + kg * g) + kb * b;
}

/// The luminance of the RCT, G.2.1. The shift gives the floor of the division by 4 for negative
/// sums too.
CJ2K_HD constexpr int32_t rct_luma(int32_t r, int32_t g, int32_t b) { return (r + 2 * g + b) >> 2; }

}  // namespace cj2k
