// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// R'G'B' becomes X'Y'Z' of SMPTE ST 428-1: linear light by a table, a matrix, and code values by
// another table. Floats are multiplied and added one by one, so that every machine gets the same
// bits. What the tables hold, and what computes it without them: stages/xyz.h.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/hd.h"

namespace cj2k {

/// The code values 0 .. 4095 of linear values from 0 to 1, as a table over the bits of the float.
///
/// Values from 2^-12 on have 2048 entries per octave, smaller ones 128, from 2^-36 on; below, the
/// code is 0. So each entry holds at most one step from a code to the next. Entry: the code at its
/// begin in bits 0 .. 11; above, the place of the step: how many floats of the entry come before it.
struct XyzCodes {
  static constexpr uint32_t kFine = (127u - 12) << 23;   ///< bits of 2^-12
  static constexpr uint32_t kFirst = (127u - 36) << 23;  ///< bits of 2^-36
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

CJ2K_HD inline float xyz_linear(const XyzMatrix& matrix, int row, float r, float g, float b) {
  const float* m = matrix.m + 3 * row;
  return (m[0] * r + m[1] * g) + m[2] * b;
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
