// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Rate-distortion optimised quantisation (RDOQ) of an HT block: magnitudes of a cleanup pass move to
// a neighbouring value where the bits saved are worth more than the error added. Any decoder of HT
// reads the result. docs/effort.md explains it.
//
// The model. The block is cut after the cleanup pass of plane p, so a sample has the magnitude
// mu = m >> p.
//   R  bits of the cleanup pass. Those of a quad are its CxtVLC and U-VLC codewords, its bits of
//      MagSgn, and if its context is 0 a MEL event, which costs log2(events / events of that
//      kind). MEL events of the first row for pairs of U-VLC are left out.
//   D  squared error of what a decoder reconstructs at mid-point, against the target of the sample
//      (core/overlaps.h): its coefficient before quantisation, and what the errors one and two samples away,
//      in its row and column, call for. These are the errors without changes.
// A change is accepted if it lowers D + lambda R. All of it is integer arithmetic: R in 1/256 bit,
// D in 4^p / 2^20 squared units.
//
// The changes of a sample, quad by quad in the order of core/ht/rdoq.h, each sample once:
//   down by one, if its exponent falls: mu is 1, or 1 more than a power of two;
//   from 0 to 1, if the coefficient is above 1/2.
// A change alters the bits of the sample's quad, of the one at its right, and of two below. If the
// sample's quad says that the change does not pay, the others are not asked, but for kNearSaved bits.
// A second round gains nothing, and changes of several samples at once gain nothing either
// (tests/bench/results/2026-11-26_ht_rdoq.md).
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "coders/ht/ht_block.h"
#include "core/ht/rdoq.h"
#include "core/overlaps.h"

namespace cj2k {

struct HtRdoqBlock {
  HtSamples samples;
  int plane;  ///< p; at least one magnitude is 2^p or more
  /// 9/7: the block's coefficients and the factor to quantiser steps; null: 5/3, the magnitudes are
  /// the coefficients.
  const float* coefficients;
  ptrdiff_t coefficient_stride;
  float inverse_step;
  double lambda;  ///< squared units of the quantised coefficient per bit
  Overlaps overlaps;
};

struct HtRdoqResult {
  int changes = 0;        ///< samples; 0: `out` is not written
  bool is_empty = false;  ///< no sample is significant any more
  /// What the changes add to the squared error against the targets after the cleanup pass, in squared
  /// units of the quantised coefficient.
  double added = 0;
};

/// Which samples RDOQ changes: a byte for each pair of quads, row by row. Bit 4 * quad + sample, samples in
/// the order of coding.
inline constexpr size_t kMostHtChangeBytes = 512;
constexpr uint32_t ht_change_bytes(int width, int height) {
  return static_cast<uint32_t>((width + 3) / 4 * ((height + 1) / 2));
}
/// Changes the samples of a block.
/// @param coefficients, stride  as HtRdoqBlock::coefficients
/// @param samples               [height][width]
void apply_ht_changes(const uint8_t* changes, int plane, int width, int height,
                      const float* coefficients, ptrdiff_t stride, uint32_t* samples);

/// Working memory: a word for each quad, with a byte for each of its samples. The quads of a group
/// (core/ht/rdoq.h) are in rows, with a quad of zeros at both sides and a row of them above and below, and a
/// vector of zeros behind. Blocks of 4 x 1024 need most.
struct HtRdoqScratch {
  static constexpr size_t kMostLanes = 16;  ///< of a vector
  static constexpr size_t kQuads = 8 * (258 * 3 + kMostLanes) + kMostLanes;
  template <typename T>
  using Quads = std::array<T, kQuads>;
  Quads<uint32_t> exponents;
  Quads<uint32_t> flags;     ///< which changes are tried, and made
  Quads<uint32_t> bits;      ///< R
  Quads<uint32_t> added[4];  ///< to D by the change of each sample
  /// signed_error of the samples, with two zeros on both sides of each row.
  std::array<int16_t, 1024 * (4 + 4) + kMostLanes> errors;
};

/// HtRdoqResult::added. @param units  in 4^p / 2^20
inline double added_ht_error(int64_t units, int plane) {
  return std::ldexp(static_cast<double>(units), 2 * (plane - ht_rdoq_model::kFraction));
}

/// @param out      as samples.data, with the same stride: ht_rdoq_model::changed_sample
/// @param changes  [kMostHtChangeBytes], or null; written if there are any
/// Deterministic: yes. Allocates: no. Thread-safe: yes.
HtRdoqResult ht_rdoq(const HtRdoqBlock& block, HtRdoqScratch& scratch, uint32_t* out,
                     uint8_t* changes = nullptr);

}  // namespace cj2k
