// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The upper convex hull of distortion over bytes (coders/hull.h), built pass by pass: Graham's scan
// over points whose lengths never fall. Used on host and device.
#pragma once

#include <cstdint>

#include "core/distortion.h"
#include "core/hd.h"
#include "core/slope.h"

namespace cj2k {

/// A hull point: a truncation point on the upper convex hull of a block's distortion over length.
/// From point to point, lengths and passes rise strictly and slopes fall strictly. The point
/// (0 passes, 0 bytes) is not stored.
struct HullPoint {
  uint32_t length_bytes;  ///< shortest prefix of the block's bytes that decodes `passes` passes
  uint16_t passes;        ///< >= 1
  uint16_t slope;         ///< log-slope of the segment that ends here (core/slope.h), >= 1
  double distortion;      ///< squared error removed by all `passes`, weighted: LSB^2 of the picture
};

/// `Store` keeps the points, at most one per pass:
///   HullPoint point(int) const
///   void set_point(int, const HullPoint&) const
/// Only finish() fills in the slopes.
template <typename Store>
struct HullBuilder {
  Store store;
  int n = 0;           ///< points in the store
  double removed = 0;  ///< squared error of all passes so far, in units of 1 / kDistortionOne
  int passes = 0;
  uint32_t length_bytes = 0;  ///< truncation length of the last pass

  /// @param pass        length_bytes, plane and distortion, as CodingPass (core/ebcot)
  /// @param pass_index  0 in the first call, one more in each call after it
  template <typename Pass>
  CJ2K_HD constexpr void push(const Pass& pass, int pass_index, double weight) {
    removed += removed_by(pass);
    push_point(weighted(removed, weight), pass.length_bytes, pass_index + 1);
  }
  /// Adds a point that is not the sum of those before it.
  /// @param distortion    squared error that it removes, weighted
  /// @param point_length  not below that of the point before
  /// @param point_passes  HullPoint::passes
  CJ2K_HD constexpr void push_point(double distortion, uint32_t point_length, int point_passes) {
    passes = point_passes;
    length_bytes = point_length;
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

  /// Fills in the slopes. Neighbouring points whose 16-bit slopes do not fall become one.
  /// @param weight    the same as in push
  /// @param keep_all  true: the last point holds all passes, even if they remove nothing
  /// @return points left, at the start of the store
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
  /// Slope from point `i` - 1 to `point`.
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
