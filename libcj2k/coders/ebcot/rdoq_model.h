// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The parts of RDOQ (rdoq.h) that look at one sample at a time. Both implementations use them.
#pragma once

#include <bit>
#include <cstdint>

#include "coders/ebcot/rdoq.h"
#include "core/ebcot/mq.h"
#include "core/slope.h"

namespace cj2k::rdoq {

inline constexpr uint32_t kMagnitude = 0x7FFFFFFF;

/// Decisions by context and bit.
struct Counts {
  uint32_t n[mq::kNumContexts][2] = {};
};

/// Costs by context and bit, in 1 / kBitCost bit.
struct Costs {
  uint16_t bits[mq::kNumContexts][2];
};

/// The decisions of one plane, and the change of D by its passes.
struct PassCounts {
  Counts significance, refinement, cleanup;
  int64_t error[3] = {};
};
Costs costs_of(const PassCounts counts[kTrackedPlanes]);

/// The numbers of one round. `up` is a plane less p.
struct Model {
  /// @param planes  bits of the largest magnitude now
  Model(const RdoqBlock& block, int planes);

  int plane, planes;
  PassKind kind;
  bool reversible;
  int tracked;               ///< planes p .. p + tracked - 1 are looked at
  int64_t lambda;            ///< D of 1 / kBitCost bit
  bool raw[kTrackedPlanes];  ///< significance and refinement decisions are raw

  /// Reconstruction of q > 0 at s = p + up, at mid-point.
  int64_t at(uint32_t q, int up) const {
    const int64_t half = reversible && plane + up == 0 ? 0 : 1;
    return ((int64_t{q} * 2 + half) << (up + kRdoqFraction)) / 2;
  }
  /// Change of D when a sample becomes significant.
  int64_t significant(int32_t value, int up) const {
    const int64_t r = at(1, up);
    return r * (r - 2 * int64_t{value});
  }
  /// Change of D when a sample of magnitude m is refined.
  int64_t refined(int32_t value, uint32_t m, int up) const {
    const int64_t before = at(m >> (plane + up + 1), up + 1), after = at(m >> (plane + up), up);
    return (after - before) * (after + before - 2 * int64_t{value});
  }
  bool has_refinement(int up) const { return up > 0 || kind != PassKind::kSignificance; }
  bool has_cleanup(int up) const { return up > 0 || kind == PassKind::kCleanup; }
  /// The highest plane has a clean-up pass alone.
  bool is_highest(int up) const { return plane + up == planes - 1; }
  /// Values of s - p at which changes are tried.
  int num_shifts() const { return kind == PassKind::kCleanup || plane + 1 >= planes ? 1 : 2; }
  /// The magnitude after a change at s = p + up, or m if it is not to be tried.
  uint32_t changed(int32_t value, uint32_t m, int up) const;
  /// The highest plane, less p, whose bit differs.
  int highest_changed(uint32_t m, uint32_t other) const;
};

/// Whether a sample's own decisions are checked before a trial.
/// @param highest  the highest plane, less p, that changes
/// @param up       the magnitude grows
inline bool asks_own(int rounds, bool is_first, int highest, bool up) {
  return highest == 0 || up || rounds == 1 || !is_first;
}
/// The slack by which they may fail.
inline int slack(int rounds, bool is_first, int highest, bool up) {
  if (highest > 0) return 0;
  if (rounds == 1) return up ? 0 : kSlack;
  return is_first ? kSlack : kSlackLater;
}

/// Whether may_pay looks at the counts: the tracked planes hold all bits.
inline bool may_ask(const Model& model) { return model.planes <= model.plane + model.tracked; }
/// Whether the block may be worth its bytes: false if no pass, with the passes before it, lowers
/// D + lambda R.
bool may_pay(const Model& model, const Costs& costs, const PassCounts counts[kTrackedPlanes]);

/// Fills in scratch.value and scratch.before.
void load(const RdoqBlock& block, RdoqScratch& scratch);
/// @return bits of the largest magnitude
int count_planes(const RdoqBlock& block);
/// The corrections for one changed sample.
/// @param early  it becomes significant in the significance pass
void add_correction(const Model& model, int32_t value, uint32_t m, bool early, RdoqResult* result);
/// Adds up RdoqResult::removed and total over the changed samples.
/// @param model            of the block after the changes
/// @param in_significance  bool(int x, int y, int up): the significance pass codes the sample
template <typename InSignificance>
void correct(const RdoqBlock& block, const RdoqScratch& scratch, const Model& model,
             const InSignificance& in_significance, RdoqResult* result) {
  for (int y = 0; y < block.height; ++y) {
    for (int x = 0; x < block.width; ++x) {
      const int i = y * block.width + x;
      const uint32_t m = block.samples[y * block.stride + x] & kMagnitude;
      if (m == (scratch.before[i] & kMagnitude)) continue;
      ++result->changes;
      const int up = static_cast<int>(std::bit_width(m)) - 1 - model.plane;
      const bool early = up >= 0 && up < model.tracked && in_significance(x, y, up);
      add_correction(model, scratch.value[i], m, early, result);
    }
  }
}

}  // namespace cj2k::rdoq
