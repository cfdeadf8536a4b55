// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// From the coded planes of HT blocks to what rate control sees: truncation points and their hull.
// Both backends make them here, so their doubles are the same.
#pragma once

#include <cstdint>

#include "coders/coded_block.h"
#include "coders/ht/ht_block.h"
#include "core/ht/plane_choice.h"
#include "core/ht/points.h"
#include "core/ht/rdoq.h"
#include "plan/plan.h"

namespace cj2k {

inline constexpr int kMaxHtPoints = 3 * 31;  ///< of a block: three for each plane
inline constexpr int kMaxHtRdoqPoints = 3 * kMostHtRdoqPlanes;  ///< besides, with RDOQ

/// A truncation point, on the hull or not.
struct HtPoint {
  PointCode code;
  uint32_t bytes;
  uint16_t passes;
  uint8_t sig_prop_last;  ///< HtPlane::sig_prop_last
  double distortion;      ///< squared error removed, weighted
};

/// The passes of one cleanup plane, coded.
struct HtPlane {
  int plane;
  int passes;  ///< ht_passes
  uint32_t cleanup_bytes;
  double left;              ///< ht_left_error of the planes below
  HtRefinement refinement;  ///< set if passes > 1; its MagRef part if passes > 2
  /// The last byte of SigProp in the segment of both refinement passes.
  uint8_t sig_prop_last;
  /// The segments; null on a device.
  const uint8_t *cleanup, *sig_prop, *both;
  uint8_t coding = 0;                ///< PointCode::coding
  const uint8_t* changes = nullptr;  ///< PointCode::changes
};

inline HtRules ht_rules(const Plan& plan) {
  // With fixed steps, and with cleanup passes alone, either plane may gain most.
  const bool steps_suit = !plan.finer_subbands.empty() && plan.most_ht_passes > 1;
  return {plan.params.lossless != 0, static_cast<uint8_t>(plan.most_ht_passes),
          plan.magnitude_bound, plan.params.effort == 3 || !steps_suit};
}

/// Frames of so few blocks are coded in full: estimates of their planes say too little. With cleanup
/// passes alone, points are further apart.
inline bool is_small_ht(const Plan& plan) {
  const size_t few = plan.most_ht_passes == 1 ? 512 : 256;
  return plan.params.coder == CJ2K_CODER_HT && plan.blocks.size() < few;
}

/// The passes to code by HtPoints::kNearSlope.
/// @param left, significant  as in ht_block_sums
/// @param most_passes        1 or kAllHtPasses
HtPasses ht_passes_to_code(const CodeBlock& block, double weight, const HtPlanes& planes,
                           uint16_t threshold, double total, const double* left,
                           const uint32_t* significant, int most_passes);

/// Counts which planes blocks choose. In photographs, hardly a block takes the plane at either end
/// of ht_planes_at. In frames where some do, others would take planes beyond: charts, text, and
/// pictures that were coded before, whose samples are multiples of a coarse step.
class HtChoices {
 public:
  HtChoices() = default;
  HtChoices(uint64_t all, uint64_t far) : all_(all), far_(far) {}
  /// Adds what block `index` has at its hull point `points`, counted from 1; 0: nothing.
  void add(const Plan& plan, uint32_t index, const CodedBlock& coded, int points, uint16_t slope,
           uint32_t step_set);
  /// @param most  one block in `most` may be at an end
  bool are_regular(uint32_t most) const { return far_ * most <= all_; }

 private:
  uint64_t all_ = 0, far_ = 0;
};

/// Counts the passes and bytes of a plane in `coded`.
void count_ht_passes(const HtPlane& plane, CodedBlock& coded);
/// Makes the points of a plane.
/// @param band    of the block, in the step set that it was coded with
/// @param total   ht_left_error without any plane
/// @param points  written, at most three
/// @return their number
int make_ht_points(const HtPlane& plane, const Subband& band, double weight, double total,
                   HtPoint* points);

/// Ends a call: counts what is left.
void end_ht_call(const HtPlanes& planes, int bit_planes, double total, CodedBlock& coded);

/// The hull of a block, and what belongs to each of its points. [kMaxHtPoints] each.
struct HtHull {
  HullPoint* hull;
  PointCode* codes;
  LayerCuts* cuts;  ///< null with one layer
};
/// Sorts the points and finds their hull.
/// @return points on the hull
int build_ht_hull(HtPoint* points, int count, double weight, const HtHull& out);

}  // namespace cj2k
