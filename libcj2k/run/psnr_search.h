// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Where a frame whose blocks are coded in full is cut for cj2k_params::target_psnr: at the highest
// slope at which its measured PSNR is not below the target and, where many points have that slope, in
// their order, by a cap in bytes. What the hulls say of the error at each slope, corrected by the
// measurements so far, tells where to measure next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/plan_caps.h"
#include "rate/rate.h"

namespace cj2k {

class PsnrSearch {
 public:
  /// @param rate    has chosen points under `limits`
  /// @param limits  of the frame: its caps hold for every cut
  PsnrSearch(const Plan& plan, const RateControl& rate, const RateLimits& limits);

  /// What to measure next or, after the last step, where to cut: at the fewest bytes that have the target,
  /// or where the caps cut if nothing has it.
  const RateLimits& limits() const { return next_; }
  /// Takes what was measured under limits().
  /// @return whether limits() are to be measured next
  bool step(double psnr, uint64_t frame_bytes);
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

}  // namespace cj2k
