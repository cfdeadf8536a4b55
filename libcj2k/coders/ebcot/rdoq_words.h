// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The statistics of RDOQ (rdoq.h) for 64 samples at a time, in the words of tier-1
// (tier1_model-inl.h): 16 columns of a stripe, bit 4 * column + row.
#pragma once

#include "coders/ebcot/rdoq.h"
#include "coders/ebcot/rdoq_model.h"

namespace cj2k::simd::rdoq_words {

inline constexpr int kWordColumns = 16;

/// The masks of a block.
struct Words {
  explicit Words(const RdoqBlock& block)
      : wide((block.width + kWordColumns - 1) / kWordColumns), stripes((block.height + 3) / 4) {}
  /// The index of word `i` of a stripe. Words of zeros stand around the block.
  int at(int i, int stripe) const { return 1 + (stripe + 1) * (wide + 1) + i; }

  int wide, stripes;
};

/// Mask `map` of core/ebcot/rdoq_trial.h as the last count() left it.
const uint64_t* mask_of(RdoqScratch& scratch, int map);

/// rdoq::load.
void load(const RdoqBlock& block, RdoqScratch& scratch);

/// Makes the masks of the tracked planes and counts the decisions. The highest plane has no
/// significance pass, so no mask of it. Errors are not counted. Deterministic: yes; the result does
/// not depend on the instruction set. Allocates: no.
void count(const RdoqBlock& block, const rdoq::Model& model, RdoqScratch& scratch,
           rdoq::PassCounts counts[kTrackedPlanes]);

/// Where the errors of a row begin in scratch.error.
inline int16_t* errors_of(const RdoqBlock& block, RdoqScratch& scratch, int y) {
  return scratch.error + y * (block.width + 4) + 2;
}
/// Fills in scratch.error and scratch.target.
void set_targets(const RdoqBlock& block, const rdoq::Model& model, RdoqScratch& scratch);

/// Fills in scratch.candidates: the samples to which Model::changed gives another magnitude by
/// their targets.
void find_candidates(const RdoqBlock& block, const rdoq::Model& model, RdoqScratch& scratch);

}  // namespace cj2k::simd::rdoq_words
