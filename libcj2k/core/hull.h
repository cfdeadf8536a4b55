// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The upper convex hull of distortion over bytes (stages/hull.h), pass by pass, on host and device:
// Graham's scan over points whose lengths do not fall.
#pragma once

#include <cstdint>

#include "core/distortion.h"
#include "core/hd.h"
#include "core/slope.h"

namespace cj2k {

/// A truncation point on the upper convex hull of a block's distortion over length; lengths and
/// passes rise strictly, slopes fall strictly. The point (0 passes, 0 bytes) is not stored.
struct HullPoint {
  uint32_t length_bytes;  ///< shortest prefix of the block's bytes that decodes `passes` passes
  uint16_t passes;        ///< >= 1
  uint16_t slope;         ///< 16-bit log-slope from the point before (core/slope.h), >= 1
  double distortion;      ///< squared error removed by these passes, weighted: LSB^2 of the picture
};

/// `Store` keeps the points, one a pass at most: HullPoint point(int) const, void
/// set_point(int, const HullPoint&) const. Slopes are filled by finish() alone.
template <typename Store>
struct HullBuilder {
  Store store;
  int n = 0;           ///< points
  double removed = 0;  ///< squared error of all passes so far, in units of 1 / kDistortionOne
  int passes = 0;
  uint32_t length_bytes = 0;  ///< of the last pass

  /// @param pass        length_bytes, plane and distortion, as CodingPass (core/ebcot)
  /// @param pass_index  one more than that of the call before
  template <typename Pass>
  CJ2K_HD constexpr void push(const Pass& pass, int pass_index, double weight) {
    removed += removed_by(pass);
    const double distortion = weighted(removed, weight);
    passes = pass_index + 1;
    length_bytes = pass.length_bytes;
    if (distortion <= distortion_before(n)) return;
    while (n > 0) {
      const HullPoint top = store.point(n - 1);
      if (length_bytes > top.length_bytes) {
        const double steps = top.length_bytes - length_before(n - 1);
        const double gain = top.distortion - distortion_before(n - 1);
        if ((distortion - top.distortion) * steps < gain * (length_bytes - top.length_bytes)) break;
      }
      --n;
    }
    append(distortion);
  }

  /// Fills the slopes; points that their 16 bits do not tell apart become one.
  /// @param weight    as push's
  /// @param keep_all  the last point holds all passes, whatever its gain
  /// @return points left, from the store's first on
  CJ2K_HD constexpr int finish(double weight, bool keep_all) {
    if (keep_all && passes > 0 && (n == 0 || store.point(n - 1).passes < passes)) {
      while (n > 0 && store.point(n - 1).length_bytes >= length_bytes) --n;
      append(weighted(removed, weight));
    }
    int kept = 0;
    for (int i = 0; i < n; ++i) {
      HullPoint point = store.point(i);
      point.slope = slope_to(point, kept);
      while (kept > 0 && store.point(kept - 1).slope <= point.slope) {
        --kept;
        point.slope = slope_to(point, kept);
      }
      store.set_point(kept++, point);
    }
    n = kept;
    return kept;
  }

 private:
  CJ2K_HD constexpr void append(double distortion) {
    store.set_point(n++, {length_bytes, static_cast<uint16_t>(passes), 0, distortion});
  }
  CJ2K_HD constexpr uint32_t length_before(int i) const {
    return i > 0 ? store.point(i - 1).length_bytes : 0;
  }
  CJ2K_HD constexpr double distortion_before(int i) const {
    return i > 0 ? store.point(i - 1).distortion : 0.0;
  }
  /// From the point before the `i`-th.
  CJ2K_HD constexpr uint16_t slope_to(const HullPoint& point, int i) const {
    const double gain = point.distortion - distortion_before(i);
    return gain > 0 ? log_slope(gain, point.length_bytes - length_before(i)) : kMinSlope;
  }
};

/// A HullBuilder's store on the host.
struct HullArray {
  HullPoint* points;
  constexpr HullPoint point(int i) const { return points[i]; }
  constexpr void set_point(int i, const HullPoint& point) const { points[i] = point; }
};

}  // namespace cj2k
