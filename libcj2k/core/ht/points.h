// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The truncation points of an HT block, and the order in which its hull takes them. Used on host
// and device.
#pragma once

#include <cstdint>

#include "core/distortion.h"
#include "core/hd.h"

namespace cj2k {

/// The coded passes of a cleanup plane: numbers for its points.
struct HtPlaneSums {
  int plane;
  int passes;  ///< 1 .. 3: ht_passes
  uint32_t cleanup_bytes;
  uint32_t sig_prop_bytes, both_bytes;              ///< HtRefinement (coders/ht/ht_block.h)
  int64_t sig_prop_distortion, mag_ref_distortion;  ///< the same
  double left;                                      ///< ht_left_error of the planes below
};

/// Calls add(passes, bytes, distortion) for each point of a plane, at most three: the bytes of its
/// passes, and the squared error that they remove, weighted.
/// @param total  ht_left_error without any plane
template <typename Add>
CJ2K_HD constexpr void for_each_ht_point(const HtPlaneSums& plane, double weight, double total,
                                         const Add& add) {
  struct Pass {
    int64_t distortion;
    int plane;
  };
  double distortion = total - plane.left;
  add(1, plane.cleanup_bytes, distortion);
  if (plane.passes == 1) return;
  distortion += weighted(removed_by(Pass{plane.sig_prop_distortion, plane.plane - 1}), weight);
  if (plane.sig_prop_bytes > 0) add(2, plane.cleanup_bytes + plane.sig_prop_bytes, distortion);
  if (plane.passes == 2) return;
  distortion += weighted(removed_by(Pass{plane.mag_ref_distortion, plane.plane - 1}), weight);
  add(3, plane.cleanup_bytes + plane.both_bytes, distortion);
}

/// The order for the hull. Points that are equal in all three stay in that of their planes, the
/// highest first.
/// @param a, b  have bytes, distortion and passes
template <typename Point>
CJ2K_HD constexpr bool is_ht_point_before(const Point& a, const Point& b) {
  if (a.bytes != b.bytes) return a.bytes < b.bytes;
  if (a.distortion != b.distortion) return a.distortion < b.distortion;
  return a.passes > b.passes;
}

}  // namespace cj2k
