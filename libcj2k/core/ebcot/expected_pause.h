// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Where a block is expected to pause, known from context modelling alone: before MQ coding there are
// decisions and distortions, but no bytes. It serves to end modelling there for the time being, and to
// sort blocks by the work that they will take; no byte depends on it.
#pragma once

#include <cstdint>

#include "core/ebcot/coding_passes.h"
#include "core/hd.h"
#include "core/stop.h"

namespace cj2k {

/// Bytes that a pass is expected to take, in 1 / 256. Fitted to 12-bit pictures at 0.4 bits per
/// sample: of the samples that become significant, each removes about 8 * 2^plane, so the distortion
/// tells how many there are. The result is four fifths of what passes take in the mean: a lane that
/// ends early costs a warp less than one for which 31 lanes wait.
/// @param decisions  that the pass codes
CJ2K_HD constexpr uint32_t expected_bytes_256(PassKind kind, uint32_t decisions, int64_t distortion,
                                              int plane) {
  if (kind == PassKind::kRefinement) return 24 * decisions;
  const auto found = static_cast<uint32_t>(distortion >> plane);  // in eighths of samples
  return kind == PassKind::kCleanup ? 13 * found + 7 * decisions : 3 * found + 18 * decisions;
}

/// may_pause_after (core/stop.h) with expected bytes, of which only those of the last plane count.
class ExpectedPause {
 public:
  /// @param threshold  as in may_pause_after; 0: never
  CJ2K_HD constexpr ExpectedPause(double weight, uint16_t threshold)
      : weight_(weight), threshold_(threshold) {}

  /// Adds a pass. The passes of a plane come in order.
  /// @return whether the block is expected to pause after this pass
  CJ2K_HD constexpr bool add(PassKind kind, uint32_t decisions, int64_t distortion, int plane) {
    if (threshold_ == 0) return false;
    const uint32_t bytes = expected_bytes_256(kind, decisions, distortion, plane);
    const double gain = removed_by(CodingPass{0, static_cast<uint8_t>(plane), distortion});
    if (kind != PassKind::kCleanup) {
      (kind == PassKind::kSignificance ? significance_ : refinement_) = {gain, bytes};
      return false;
    }
    Last last;
    last.prepend({gain, bytes});
    last.prepend(refinement_);
    last.prepend(significance_);
    const uint32_t plane_bytes = bytes + refinement_.bytes + significance_.bytes;
    significance_ = refinement_ = {};
    if (plane == 0) return false;
    if (best_slope_left(weight_, plane) < threshold_) return true;
    if (plane_bytes < kSmallPlaneBytes * 256 || last.least.bytes == 0) return false;
    return log_slope(weighted(last.least.gain * 256, weight_), last.least.bytes) + kPauseMargin <
           threshold_;
  }

 private:
  struct Step {
    double gain = 0;
    uint32_t bytes = 0;
  };
  /// The last segment of the hull of some passes: last_hull_slope (core/stop.h).
  struct Last {
    Step sum, least;
    CJ2K_HD constexpr void prepend(const Step& pass) {
      sum = {sum.gain + pass.gain, sum.bytes + pass.bytes};
      if (sum.gain <= 0) {
        sum = least = {};
      } else if (least.bytes == 0 || sum.gain * least.bytes <= least.gain * sum.bytes) {
        least = sum;
      }
    }
  };

  double weight_;
  uint16_t threshold_;
  Step significance_, refinement_;  ///< of the plane so far
};

}  // namespace cj2k
