// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// R'G'B' becomes X'Y'Z' of SMPTE ST 428-1: linear light by a table, a matrix, and code values by
// another table. Fused multiply-adds round once, so that every machine gets the same bits. What the
// tables hold, and what computes it without them: pixels/xyz.h.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/hd.h"

namespace cj2k {

/// The code values 0 .. 4095 of linear values from 0 to 1, as a table over the bits of the float.
///
/// Values from 2^-12 on have 2048 entries per octave, smaller ones 128, from 2^-32 on, which is less
/// than black (kXyzBlack). So each entry holds at most one step from a code to the next. Entry: the code at its
/// begin in bits 0 .. 11; above, the place of the step: how many floats of the entry come before it.
struct XyzCodes {
  static constexpr uint32_t kFine = (127u - 12) << 23;   ///< bits of 2^-12
  static constexpr uint32_t kFirst = (127u - 32) << 23;  ///< bits of 2^-32
  static constexpr uint32_t kLast = (127u << 23) - 1;    ///< bits of the largest float below 1
  static constexpr int kFineShift = 12, kCoarseShift = 16;
  static constexpr uint32_t kNumCoarse = (kFine - kFirst) >> kCoarseShift;
  static constexpr uint32_t kNumEntries = kNumCoarse + ((kLast + 1 - kFine) >> kFineShift);
  static constexpr int kCodeBits = 12;
  static constexpr uint32_t kNoStep = 1u << kCoarseShift;  ///< place of a step that is not there
};

/// The matrix from linear R, G, B to X, Y, Z, with the scale 48 / 52.37: rows X, Y, Z.
struct XyzMatrix {
  float m[9];
};

/// What is added to X, Y and Z in linear light: sums are never below 2^-32, so that their exponents
/// are 32 neighbours. Code 1 begins at 1.3 times this value.
constexpr float kXyzBlack = 0x1.1p-32f;

/// a * b + c, rounded once. On a processor without that instruction the C library's function takes
/// 50 ns.
CJ2K_HD inline float xyz_fma(float a, float b, float c) {
#ifdef __CUDA_ARCH__
  return fmaf(a, b, c);
#else
  const double product = double{a} * b;  // exact
  double sum = product + c;
  const double added = sum - product;
  const double lost = (product - (sum - added)) + (c - added);  // exact, Knuth's sum of two
  // An inexact sum is made odd: then rounding it again, to a float, rounds as if there were one rounding.
  uint64_t bits;
  std::memcpy(&bits, &sum, sizeof bits);
  if (lost != 0 && bits % 2 == 0) bits += (lost > 0) == (sum > 0) ? 1 : -1;
  std::memcpy(&sum, &bits, sizeof sum);
  return static_cast<float>(sum);
#endif
}

CJ2K_HD inline float xyz_linear(const XyzMatrix& matrix, int row, float r, float g, float b) {
  const float* m = matrix.m + 3 * row;
  return xyz_fma(m[2], b, xyz_fma(m[1], g, xyz_fma(m[0], r, kXyzBlack)));
}

/// The bits of a linear value, clipped to the table.
CJ2K_HD inline uint32_t xyz_bits(float linear) {
  uint32_t bits;
  std::memcpy(&bits, &linear, sizeof bits);
  // As signed integers, bits of positive floats are in order, and negative floats are below them.
  const auto value = static_cast<int32_t>(bits);
  if (value < static_cast<int32_t>(XyzCodes::kFirst)) return XyzCodes::kFirst;
  if (value > static_cast<int32_t>(XyzCodes::kLast)) return XyzCodes::kLast;
  return bits;
}

CJ2K_HD inline uint32_t xyz_entry(uint32_t bits) {
  return bits >= XyzCodes::kFine
             ? ((bits - XyzCodes::kFine) >> XyzCodes::kFineShift) + XyzCodes::kNumCoarse
             : (bits - XyzCodes::kFirst) >> XyzCodes::kCoarseShift;
}

CJ2K_HD inline int32_t xyz_code(uint32_t bits, uint32_t entry) {
  const uint32_t mask =
      (1u << (bits >= XyzCodes::kFine ? XyzCodes::kFineShift : XyzCodes::kCoarseShift)) - 1;
  const bool is_behind = (bits & mask) >= entry >> XyzCodes::kCodeBits;
  return static_cast<int32_t>(entry & ((1u << XyzCodes::kCodeBits) - 1)) + is_behind;
}

}  // namespace cj2k
