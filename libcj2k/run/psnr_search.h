// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Where a frame is cut for cj2k_params::target_psnr, or its layers for layer_psnr: at the highest
// slope at which its measured PSNR is not below the target and, where many points have that slope, in
// their order, by a cap in bytes. What the hulls say of the error at each slope, corrected by the
// measurements so far, tells where to measure next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "plan/plan_caps.h"
#include "rate/rate.h"

namespace cj2k {

class PsnrSearch {
 public:
  /// @param rate    has chosen points under `limits`
  /// @param limits  of the frame: they hold for every cut
  /// @param target  dB
  PsnrSearch(const Plan& plan, const RateControl& rate, const RateLimits& limits, double target);

  /// What to measure next or, after the last step, where to cut: at the fewest bytes that have the target,
  /// or where the caps cut if nothing has it.
  const RateLimits& limits() const { return next_; }
  /// Takes what was measured under limits().
  /// @return whether limits() are to be measured next
  bool step(double psnr, uint64_t frame_bytes);
  /// Whether the slope is known, and what is left to find lies between the points of the slope above.
  bool has_slope() const { return cuts_bytes_; }
  /// Whether the last measurement is the best one so far.
  bool is_best() const { return is_best_; }

 private:
  /// Between some points and the next ones, by rising slope.
  struct Cut {
    uint16_t slope;
    double psnr;  ///< estimate
  };
  struct End {
    int64_t cut;
    double psnr = 0;  ///< measured
    uint64_t bytes = 0;
  };

  double offset(const End& end) const {
    return end.psnr - cuts_[static_cast<size_t>(end.cut)].psnr;
  }
  uint16_t slope() const;
  int64_t next_cut() const;
  uint64_t next_bytes() const;

  const double target_;
  std::vector<Cut> cuts_;
  const RateLimits caps_;
  RateLimits next_, best_;
  int64_t at_ = 0;        ///< in cuts_
  End reached_, failed_;  ///< what lies between them is not known
  bool cuts_bytes_ = false, is_best_ = false;
  int steps_ = 0;
};

/// Where the layers of a frame end but the last, for cj2k_params::layer_psnr.
/// @param rate      has chosen points; its choice changes
/// @param measured  @return the PSNR of what `rate` has chosen
/// @return falling slopes; the lowest one where the limits leave less than the PSNR
std::vector<uint16_t> layer_psnr_slopes(const Plan& plan, RateControl& rate,
                                        const RateLimits& limits,
                                        const std::function<double()>& measured);

}  // namespace cj2k
