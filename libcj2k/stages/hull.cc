// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "stages/hull.h"

#include "core/distortion.h"
#include "core/slope.h"

namespace cj2k {

int build_hull(const CodingPass* passes, int num_passes, double weight, bool keep_all,
               HullPoint* hull, double* total) {
  int n = 0;
  double distortion = 0;
  const auto bytes_before = [&](int i) { return i > 0 ? hull[i - 1].length_bytes : 0u; };
  const auto gain_before = [&](int i) { return i > 0 ? hull[i - 1].distortion : 0.0; };

  for (int pass = 0; pass < num_passes; ++pass) {
    const double unit =
        weight * static_cast<double>(uint64_t{1} << (2 * passes[pass].plane)) / kDistortionOne;
    distortion += unit * passes[pass].distortion;
    const uint32_t length = passes[pass].length_bytes;
    if (distortion <= gain_before(n)) continue;
    while (n > 0) {
      const HullPoint& top = hull[n - 1];
      if (length > top.length_bytes) {
        const double steps = top.length_bytes - bytes_before(n - 1);
        const double top_gain = top.distortion - gain_before(n - 1);
        if ((distortion - top.distortion) * steps < top_gain * (length - top.length_bytes)) break;
      }
      --n;
    }
    hull[n++] = {length, static_cast<uint16_t>(pass + 1), 0, distortion};
  }
  *total = distortion;

  if (keep_all && num_passes > 0 && (n == 0 || hull[n - 1].passes < num_passes)) {
    const uint32_t length = passes[num_passes - 1].length_bytes;
    while (n > 0 && hull[n - 1].length_bytes >= length) --n;
    hull[n++] = {length, static_cast<uint16_t>(num_passes), 0, distortion};
  }

  int kept = 0;
  for (int i = 0; i < n; ++i) {
    HullPoint point = hull[i];
    while (true) {
      const double gain = point.distortion - gain_before(kept);
      point.slope = gain > 0 ? log_slope(gain, point.length_bytes - bytes_before(kept)) : kMinSlope;
      // Slopes that are equal in 16 bits become one point.
      if (kept == 0 || hull[kept - 1].slope > point.slope) break;
      --kept;
    }
    hull[kept++] = point;
  }
  return kept;
}

uint16_t last_slope(const CodingPass* passes, int num_passes, double weight) {
  HullPoint hull[kMaxPasses];
  double total = 0;
  const int points = build_hull(passes, num_passes, weight, false, hull, &total);
  return points > 0 ? hull[points - 1].slope : kMaxSlope;
}

}  // namespace cj2k
