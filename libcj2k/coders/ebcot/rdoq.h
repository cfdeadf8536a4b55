// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Rate-distortion optimised quantisation (RDOQ) of one code-block for the EBCOT coder: magnitudes
// move to a neighbouring value of the quantiser where the bits saved are worth more than the error
// added. Any decoder of Part 1 reads the result. docs/effort.md explains it.
//
// The model. The block is assumed to be cut after a pass of kind `kind` of plane p = `plane`.
//   R  bits up to the cut: for each decision, the cost of its context and bit. Costs are measured
//      on the block itself, as log2(decisions / decisions of that bit) over plane p, with plane
//      p + 1 if p has fewer than kFewDecisions. Raw decisions and the two of UNIFORM cost 1. Costs
//      are measured once, and again if the highest plane has become empty.
//   D  squared error of what a decoder reconstructs up to the cut at mid-point, against the
//      coefficient before quantisation.
//      D of the sample that changes is the error against its target (core/overlaps.h): its coefficient, and
//      what the errors one and two samples away, in its row and column, call for now.
// A change is accepted if it lowers D + lambda R. All of it is integer arithmetic: R in 1/256 bit,
// D in 4^p / 2^20 squared units.
//
// The changes of a sample with magnitude m, at s = p and, unless the cut is after a clean-up pass,
// at s = p + 1, with q = m >> s:
//   down  to (q << s) - 1, if q > 0
//   up    to 1 << s, if q = 0
// A change is not tried in any of these cases:
//   - D, for a decoder that has all planes from s on, rises by more than lambda times kZeroGate
//     bits (q = 1 down) or kGate bits (others); up from 0, D does not fall;
//   - it changes a bit of plane p + kTrackedPlanes or above;
//   - the coefficient is kMostUnits * 2^p or more, or the target is below kLeastValue;
//   - the plane in which the sample becomes significant changes, and the sample's own decisions,
//     with its neighbours as they end, fail by more than a slack: neighbours seldom make up for
//     that.
// The slack is kSlack bits if plane p alone changes, kSlackLater after the first round, and none up
// from 0 if there is one round. Changes to higher planes get no slack, except that the first round
// of several accepts downward changes unchecked.
//
// Nothing is tried in a block if no pass up to the cut, with the passes before it, lowers
// D + lambda R: the block would end without a byte. This is checked if the tracked planes hold all
// bits.
//
// What is counted for a change. If the plane in which the sample becomes significant stays, only
// the sample's own refinement decisions change. Otherwise decisions of plane p up to the highest
// changed bit are counted, in columns x - 1 .. x + 1: for clean-up passes in the stripes of rows
// y - 1 .. y + 1, for other passes in these rows. In these rows, the samples that the significance
// pass codes are found anew; outside, they are taken as last found.
//
// Samples are visited in groups by (x mod kRdoqColumns, y mod kRdoqRows), y slowest. A trial may find
// anew what the significance pass codes in columns x - 1 .. x + 1 and rows y - 1 .. y + 1. It looks at
// columns x - 2 .. x + 2, in the stripes of these rows and one row beyond, and for its target at rows
// y - 2 .. y + 2. So no sample of a group sees the trial of another one, and a parallel machine may try
// all of them at once. A round visits the samples whose targets, when it begins, allow a change; after
// the first round only if the sample, or one beside it, has changed since the last visit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "coders/ebcot/tier1.h"
#include "core/ebcot/coding_passes.h"
#include "core/ebcot/rdoq_trial.h"
#include "core/orientation.h"

namespace cj2k {

struct RdoqBlock {
  /// As in Tier1Block. Changed in place; signs stay, except that a magnitude of 0 has none.
  uint32_t* samples;
  ptrdiff_t stride;
  int width, height;
  Orientation orientation;
  uint32_t style;  ///< CJ2K_STYLE_*
  /// 9/7: the block's coefficients and the factor to quantiser steps; null: 5/3, the magnitudes are
  /// the coefficients.
  const float* coefficients;
  ptrdiff_t coefficient_stride;
  float inverse_step;
  int bit_planes;     ///< bits of the largest magnitude
  int plane;          ///< 0 .. bit_planes - 1
  PassKind kind;      ///< kCleanup if plane = bit_planes - 1
  double lambda;      ///< squared units of the quantised coefficient per bit
  Overlaps overlaps;  ///< overlaps_of, plan/plan_quant.h
  int rounds;         ///< times that all samples are visited; fewer if a round changes nothing
};

struct RdoqResult {
  int bit_planes;  ///< after the changes
  int changes;     ///< accepted
  /// What each pass removes, in units of CodingPass::distortion, beyond what tier-1 counts: tier-1
  /// takes the magnitudes for the coefficients. Passes of the planes below p are not corrected.
  int64_t removed[kMaxPasses];
  /// The same for all planes together, in squared units of the quantised coefficient.
  double total;
};

/// Most words of 64 samples of a row: one for each row of a narrow block.
inline constexpr int kMaxRowWords = 1024;

struct RdoqScratch {
  /// |coefficient| in 2^p / 2^kRdoqFraction. Rows are read in vectors.
  int32_t value[kMaxBlockSamples + 16];
  /// The same of targets when a round begins.
  int32_t target[kMaxBlockSamples + 16];
  /// Model::error, with two zeros on both sides of each row.
  int16_t error[2 * kMaxBlockSamples + 16];
  /// Magnitudes, and in bit 31 the coefficients' signs.
  uint32_t before[kMaxBlockSamples + 16];
  uint64_t candidates[kMaxRowWords];  ///< bits of the samples to visit, row by row
  /// The sample or one beside it has changed since its visit.
  uint64_t changed[kMaxRowWords];
  /// 6 bits are a column of a stripe (rdoq_simd.cc): at most (256 + 2) * 11 bytes.
  uint8_t maps[rdoq::kRdoqMaps][2880];
  /// Costs by the 3x3 window of significance, and by the four neighbours' significance and signs.
  /// Bits 0 .. 15: of bit 0, bits 16 .. 31: of bit 1.
  uint32_t zero_cost[512];
  uint32_t sign_cost[256];
  Tier1Scratch tier1;  ///< words of the statistics
};

/// Deterministic: yes; all implementations give the same samples. Allocates: simd:: no, ref:: yes.
namespace ref {
/// @param backwards  the samples of a group are visited from the last to the first; the result is the
///                   same
void rdoq_block(const RdoqBlock& block, RdoqScratch& scratch, RdoqResult* result,
                bool backwards = false);
}  // namespace ref
namespace simd {
/// Scalar: a window of significance is one machine word, so there is nothing to gain from vectors.
void rdoq_block(const RdoqBlock& block, RdoqScratch& scratch, RdoqResult* result);
}  // namespace simd

/// Lambda of a block at which rate control ends at log-slope `slope`. No libm, so every machine
/// computes the same bits.
/// @param weight  squared error of the picture per squared unit of quantised coefficient
double rdoq_lambda(uint16_t slope, double weight);
/// Squared error of the picture per bit at a log-slope: rdoq_lambda of the weight 1.
inline double rdoq_error(uint16_t slope) { return slope == 0 ? 0 : rdoq_lambda(slope, 1); }

/// The lowest plane that is worth coding after RDOQ, if rate control ends at most kRdoqDepth below
/// `slope`.
int lowest_rdoq_plane(uint16_t slope, double weight, bool reversible);

}  // namespace cj2k
