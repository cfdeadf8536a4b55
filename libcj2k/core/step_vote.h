// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The vote of a block on whether a picture was coded before with the steps of the step set 0
// (coders/coded_before.h), from counts of its samples. Used on host and device.
#pragma once

#include <cstdint>

#include "core/hd.h"

namespace cj2k {

/// A block's vote whether its samples lie on the steps of the step set 0. kNone: no vote.
enum class StepVote : uint8_t { kNone, kOn, kOff };

/// The lowest plane with enough bits below it.
inline constexpr int kLowestHalves = 3;

/// Samples of a block with magnitudes m >= 2^p, at plane p; r = m mod 2^p, to the 3 bits below p.
struct HalfCounts {
  uint32_t significant;
  uint32_t near_half;    ///< r is within 2^(p-3) of 0, 2^(p-1) or 2^p; 0 below kLowestHalves
  uint32_t near_middle;  ///< r is within 2^(p-3) of 2^(p-1); 0 below kLowestHalves
};

/// Makes the vote of a block from its planes.
class StepVoter {
 public:
  /// Call it for the planes of the block from the highest down.
  CJ2K_HD constexpr void add(int plane, const HalfCounts& counts) {
    const uint32_t all = counts.significant, first = all - above_;
    above_ = all;
    // Points of plane kLowestHalves - 1 lie half way between the halves of the plane above.
    if (plane == kLowestHalves - 1 && is_between_ && 16 * first >= all) is_on_steps_ = true;
    if (plane < kLowestHalves || all < kLeastSamples) return;
    has_voted_ = true;
    is_between_ = plane == kLowestHalves && 4 * counts.near_half <= all;
    // Points of other steps may look like this in a lower plane, in which nothing is the first bit.
    if (4 * counts.near_half >= 3 * all && 2 * counts.near_middle >= all && 8 * first >= all)
      is_on_steps_ = true;
  }
  CJ2K_HD constexpr StepVote vote() const {
    return !has_voted_ ? StepVote::kNone : is_on_steps_ ? StepVote::kOn : StepVote::kOff;
  }

 private:
  /// Fewer samples say nothing. Measured (tests/bench/results/2026-11-23_coded_before.md).
  static constexpr uint32_t kLeastSamples = 64;

  uint32_t above_ = 0;  ///< significant samples of the plane above
  bool has_voted_ = false, is_on_steps_ = false;
  bool is_between_ = false;  ///< in plane kLowestHalves, hardly any sample is near a half
};

}  // namespace cj2k
