// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The overlap of basis functions, for RDOQ of both coders. The synthesis basis of the 9/7 and the 5/3 is not
// orthogonal, so the errors of coefficients beside each other add up or cancel in the picture. The best value
// of a coefficient, if the others stay, is its own plus the errors of the others times their overlap.
#pragma once

#include <cstdint>

#include "core/hd.h"

namespace cj2k {

/// Of a subband: the overlap of coefficients one and two samples apart, along rows and along columns.
/// <a, b> / <a, a> times the part of it that RDOQ aims at, in 1 / 256 (overlaps_of, plan/plan_quant.h).
/// Kernels load it as one word.
struct alignas(4) Overlaps {
  int8_t x[2], y[2];
};

// Values and errors are in 2^p / 2^10, where p is the lowest plane that is coded.
inline constexpr int32_t kMostError = 1 << 13;
/// Values from here on may be clamped, so their errors are not known, and they have no other target.
inline constexpr int32_t kMostValue = 1 << 29;

/// The error of a coefficient, with its sign.
/// @param value  |coefficient|
/// @param shown  what a decoder shows of it
CJ2K_HD constexpr int32_t signed_error(int32_t value, int64_t shown, bool is_negative) {
  if (value >= kMostValue) return 0;
  int64_t error = value - shown;
  if (error < -kMostError) error = -kMostError;
  if (error > kMostError) error = kMostError;
  return static_cast<int32_t>(is_negative ? -error : error);
}

/// The value that a coefficient aims at: its own, and what the errors beside it call for.
/// @param error_at  int32_t(int dx, int dy): signed_error of another sample; 0 outside the block
template <typename ErrorAt>
CJ2K_HD constexpr int32_t target_of(const Overlaps& overlaps, int32_t value, bool is_negative,
                                    const ErrorAt& error_at) {
  if (value >= kMostValue) return value;
  int32_t sum = 0;
  CJ2K_HD_ROLLED
  for (int i = 0; i < 4; ++i) {
    const int side = i % 2 * 2 - 1, dx = i < 2 ? side : 0, dy = i < 2 ? 0 : side;
    sum += (i < 2 ? overlaps.x[0] : overlaps.y[0]) * error_at(dx, dy) +
           (i < 2 ? overlaps.x[1] : overlaps.y[1]) * error_at(2 * dx, 2 * dy);
  }
  const int32_t target = value + ((is_negative ? -sum : sum) >> 8);
  return target < 0 ? 0 : target < kMostValue ? target : kMostValue - 1;
}

}  // namespace cj2k
