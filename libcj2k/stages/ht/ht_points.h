// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// From the coded planes of HT blocks to what rate control sees: truncation points and their hull.
// Both backends make them here, so their doubles are the same.
#pragma once

#include <cstdint>

#include "core/ht/plane_choice.h"
#include "core/ht/points.h"
#include "plan.h"
#include "stages/coded_block.h"
#include "stages/ht/ht_block.h"

namespace cj2k {

inline constexpr int kMaxHtPoints = 3 * 31;  ///< of a block: three for each plane

/// A truncation point, on the hull or not.
struct HtPoint {
  PointCode code;
  uint32_t bytes;
  uint16_t passes;
  uint8_t sig_prop_last;  ///< HtPlane::sig_prop_last
  double distortion;      ///< squared error removed, weighted
};

/// CodedBlock::coder_state of the CPU backend: all points of the planes coded so far.
struct HtState {
  const HtPoint* points;
  int count;
};

/// The passes of one cleanup plane, coded.
struct HtPlane {
  int plane;
  int passes;  ///< ht_passes
  uint32_t cleanup_bytes;
  double left;              ///< ht_left_error of the planes below
  HtRefinement refinement;  ///< if passes > 1; of MagRef if passes > 2
  /// The byte of the segment of both refinement passes where the one of SigProp alone ends.
  uint8_t sig_prop_last;
  /// The segments; null on a device.
  const uint8_t *cleanup, *sig_prop, *both;
};

/// The cleanup planes that a call codes, of which there may be none.
/// @param coded       the block before the call
/// @param weight      distortion_weight of the block
/// @param threshold   BlockLimits of its component
/// @param bit_planes  of the block's magnitudes
HtPlanes ht_planes_to_code(const Plan& plan, const CodedBlock& coded, double weight,
                           uint16_t threshold, int bit_planes);

/// Frames of fewer blocks are coded with HtPoints::kAll: their prediction rests on few blocks.
inline constexpr size_t kFewHtBlocks = 512;
/// Whether there can be HtPoints::kNearSlope.
inline bool may_choose_ht_passes(const Plan& plan) {
  return !plan.params.lossless && plan.blocks.size() >= kFewHtBlocks;
}

/// The points to make in a call, where `asked` are wanted.
/// @param coded  the block before the call
HtPoints ht_points_to_make(const Plan& plan, const CodedBlock& coded, const HtPlanes& planes,
                           uint16_t threshold, HtPoints asked);

/// The passes to code at the lowest plane and at the one above it, by HtPoints::kNearSlope.
/// @param left  ht_left_error of planes.lowest, and of the plane above where planes has it
HtPasses ht_passes_to_code(const CodeBlock& block, const HtPlanes& planes, uint16_t threshold,
                           double total, const double* left, const uint32_t* significant);

/// Counts the passes and bytes of a plane in `coded`.
void count_ht_passes(const HtPlane& plane, CodedBlock& coded);
/// Makes the points of a plane.
/// @param band    of the block, in the step set that it was coded with
/// @param total   ht_left_error without any plane
/// @param points  written, at most three
/// @return their number
int make_ht_points(const HtPlane& plane, const Subband& band, double weight, double total,
                   HtPoint* points);

/// Ends a call: counts what is left, and what was coded after a pause.
/// @param before  the block before the call
void end_ht_call(const CodedBlock& before, const HtPlanes& planes, int bit_planes, double total,
                 CodedBlock& coded);

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
