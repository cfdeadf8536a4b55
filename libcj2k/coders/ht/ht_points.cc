// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "coders/ht/ht_points.h"

#include <algorithm>

#include "coders/ebcot/tier1.h"
#include "coders/layer_cuts.h"
#include "core/distortion.h"
#include "core/hull.h"

namespace cj2k {
namespace {

/// A layer may end after each pass of the point. Of the segment of both refinement passes, the bytes
/// of SigProp are the first ones.
LayerCuts layer_cuts(const HtPoint& point, const HtPoint* points, int count) {
  uint32_t bytes[3] = {point.code.first_bytes, point.bytes, point.bytes};
  double distortion[3] = {point.distortion, point.distortion, point.distortion};
  for (int i = 0; i < count; ++i) {
    const HtPoint& other = points[i];
    const bool is_other_coding = other.code.zero_bit_planes != point.code.zero_bit_planes ||
                                 other.code.coding != point.code.coding;
    if (is_other_coding || other.passes >= point.passes) continue;
    distortion[other.passes - 1] = other.distortion;
    if (other.passes == 2) bytes[1] = other.bytes + (point.sig_prop_last == 0xFF ? 1 : 0);
  }
  if (bytes[1] == point.bytes) distortion[1] = point.distortion;
  return make_layer_cuts(point.passes, bytes, distortion);
}

}  // namespace

HtPasses ht_passes_to_code(const CodeBlock& block, double weight, const HtPlanes& planes,
                           uint16_t threshold, double total, const double* left,
                           const uint32_t* significant, int most_passes) {
  const int count = planes.end - planes.lowest;
  const auto samples = static_cast<uint32_t>(block.width) * static_cast<uint32_t>(block.height);
  const HtBlockSums sums =
      ht_block_sums(samples, weight, planes.lowest, count, total, left, significant);
  return ht_passes_near(sums, threshold + kHtExpected, planes.lowest, count, most_passes);
}

void HtChoices::add(const Plan& plan, uint32_t index, const CodedBlock& coded, int points,
                    uint16_t slope, uint32_t step_set) {
  const CodeBlock& block = plan.blocks[index];
  if (points == 0 || block.orientation == kLL) return;
  const Subband& band = subband_of(plan, block, step_set);
  const int plane = band.max_bit_planes - 1 - coded.codes[points - 1].zero_bit_planes;
  ++all_;
  far_ +=
      is_far_ht_plane(distortion_weight(plan, block, step_set), slope, band.max_bit_planes, plane);
}

void count_ht_passes(const HtPlane& plane, CodedBlock& coded) {
  const HtRefinement& refinement = plane.refinement;
  coded.num_passes = static_cast<uint8_t>(coded.num_passes + plane.passes);
  coded.num_bytes += plane.cleanup_bytes;
  if (plane.passes == 2) coded.num_bytes += refinement.sig_prop_bytes;
  if (plane.passes == 3) coded.num_bytes += refinement.both_bytes;
}

int make_ht_points(const HtPlane& plane, const Subband& band, double weight, double total,
                   HtPoint* points) {
  const auto zero_planes = static_cast<uint8_t>(band.max_bit_planes - 1 - plane.plane);
  const HtRefinement& refinement = plane.refinement;
  const HtPlaneSums sums{plane.plane,
                         plane.passes,
                         plane.cleanup_bytes,
                         refinement.sig_prop_bytes,
                         refinement.both_bytes,
                         refinement.sig_prop_distortion,
                         refinement.mag_ref_distortion,
                         plane.left};
  const uint8_t* const rest[] = {nullptr, plane.sig_prop, plane.both};
  int count = 0;
  for_each_ht_point(sums, weight, total, [&](int passes, uint32_t bytes, double distortion) {
    points[count++] = {{plane.cleanup, rest[passes - 1], plane.cleanup_bytes, zero_planes,
                        plane.coding, plane.changes},
                       bytes,
                       static_cast<uint16_t>(passes),
                       plane.sig_prop_last,
                       distortion};
  });
  return count;
}

void end_ht_call(const HtPlanes& planes, int bit_planes, double total, CodedBlock& coded) {
  coded.is_coded = true;
  coded.total_distortion = total;
  coded.planes_left = static_cast<uint8_t>(ht_planes_left(planes, bit_planes));
  coded.num_passes_left = static_cast<uint8_t>(3 * coded.planes_left);
}

int build_ht_hull(HtPoint* points, int count, double weight, const HtHull& out) {
  HullPoint* const hull = out.hull;
  if (count == 0) return 0;
  std::sort(points, points + count, [](const HtPoint& a, const HtPoint& b) {
    if (is_ht_point_before(a, b)) return true;
    return !is_ht_point_before(b, a) && a.code.zero_bit_planes < b.code.zero_bit_planes;
  });
  // HullPoint::passes is the number of the point here, counted from 1.
  HullBuilder<HullArray> builder{{hull}};
  for (int i = 0; i < count; ++i) builder.push_point(points[i].distortion, points[i].bytes, i + 1);
  const int size = builder.finish(weight, false);
  for (int i = 0; i < size; ++i) {
    const HtPoint& point = points[hull[i].passes - 1];
    hull[i].passes = point.passes;
    out.codes[i] = point.code;
    if (out.cuts != nullptr) out.cuts[i] = layer_cuts(point, points, count);
  }
  return size;
}

}  // namespace cj2k
