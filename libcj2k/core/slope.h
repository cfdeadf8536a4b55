// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// 16-bit logarithmic rate-distortion slopes (log-slopes): 256 steps per octave. No libm, so every
// machine computes the same bits.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/hd.h"

namespace cj2k {

/// The log-slope of one unit of weighted squared error per byte. 96 octaves lie below it, so that
/// no slope of a real picture is clamped.
inline constexpr int kSlopeUnit = 96 * 256;
inline constexpr uint16_t kMinSlope = 1;
inline constexpr uint16_t kMaxSlope = 65535;

namespace internal {
/// floor(256 * log2(1 + i / 256)) by squaring: each of 8 steps gives one bit of the logarithm.
CJ2K_HD constexpr uint8_t log2_fraction(int i) {
  double x = 1.0 + i / 256.0;
  int bits = 0;
  for (int k = 0; k < 8; ++k) {
    x *= x;
    bits <<= 1;
    if (x >= 2.0) {
      x *= 0.5;
      bits |= 1;
    }
  }
  return static_cast<uint8_t>(bits);
}
constexpr std::array<uint8_t, 256> make_log2_table() {
  std::array<uint8_t, 256> table{};
  for (int i = 0; i < 256; ++i) table[static_cast<size_t>(i)] = log2_fraction(i);
  return table;
}
inline constexpr std::array<uint8_t, 256> kLog2Table = make_log2_table();
}  // namespace internal

/// Log-slope of `gain` / `bytes`: gain is the squared error removed (> 0, finite), bytes > 0. It
/// never falls when gain / bytes rises. The result is in [kMinSlope, kMaxSlope].
CJ2K_HD constexpr uint16_t log_slope(double gain, uint32_t bytes) {
  const uint64_t bits = std::bit_cast<uint64_t>(gain / bytes);
  const int exponent = static_cast<int>(bits >> 52) - 1023;
  const auto fraction = static_cast<int>(bits >> 44 & 255);
#if defined(__CUDA_ARCH__)
  // The lanes of a warp would read a table one after the other. This is the table's arithmetic.
  const int slope = kSlopeUnit + exponent * 256 + internal::log2_fraction(fraction);
#else
  const int slope =
      kSlopeUnit + exponent * 256 + internal::kLog2Table[static_cast<size_t>(fraction)];
#endif
  return static_cast<uint16_t>(slope < kMinSlope   ? kMinSlope
                               : slope > kMaxSlope ? kMaxSlope
                                                   : slope);
}

/// The least gain per byte whose log-slope is not below this one. Without libm, as log_slope.
constexpr double slope_value(uint16_t slope) {
  const int fraction = slope & 255, exponent = (slope - kSlopeUnit - fraction) / 256;
  uint64_t bits = 0;
  while (internal::kLog2Table[static_cast<size_t>(bits)] < fraction) ++bits;
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52 | bits << 44);
}

}  // namespace cj2k
