// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// How rate control looks for the longest prefix of the hull points that fits a cap
// (docs/rate-control.md), on host and device. The search decides; what it asks for is done by Ops:
// stages/rate.h on the host, kernels/rate/allocate.cuh on the device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/hd.h"
#include "core/slope_search.h"

namespace cj2k {

/// What a cap applies to: components [first_component, end_component), of which `fixed` bytes
/// depend on the plan alone.
struct RateScope {
  uint32_t first_component, end_component;
  uint64_t cap;
  uint64_t fixed;

  CJ2K_HD constexpr bool has(uint32_t component) const {
    return component >= first_component && component < end_component;
  }
};

/// Estimate of the bits that a block adds to a packet header when its first point goes in: its nodes
/// of the tag trees. Measured: 3.5 to 4.5 on pictures.
inline constexpr int kTreeBits = 4;
/// If the components' caps do not hold after the choice for the frame, it is made again with less
/// for these components: so many bytes less than needed, so many times at most.
inline constexpr uint64_t kSpareBytes = 8;
inline constexpr int kCapTries = 6;

/// log2(cap / bytes) in log-slope steps, 256 per doubling; 0: the cap is used up.
CJ2K_HD constexpr uint16_t unused_steps(uint64_t cap, uint64_t bytes) {
  if (cap <= bytes) return 0;
  return static_cast<uint16_t>(log_slope(static_cast<double>(cap), 1) -
                               log_slope(static_cast<double>(bytes), 1));
}

/// Takes the points of scopes that fit under their caps. `Ops` has the points and the selection, and
///   bool has_one_layer()
///   uint64_t num_blocks(scope)
///   uint64_t histogram_bytes(scope, slope)    bytes of the points of the scope at `slope` and above
///   uint32_t slope_for(scope, bytes)          the lowest slope at which these are at most `bytes`
///   void select(scope, slope)                 selects the points at `slope` and above
///   void choose_layers()                      divides the selection into layers
///   uint64_t measure(scope)                   exact bytes of the selection; what measured_ returns
///   uint64_t measured_bytes(scope), measured_body(scope)
///   uint64_t estimated_overhead(scope)        with one layer: bytes but for the code-block data
///   size_t collect(scope, lowest)             lists the points that follow the selection, down to
///                                             slope `lowest`, in their order: the candidates
///   uint64_t candidate_bits(i)                estimate of the bits that the first i add
///   uint16_t candidate_slope(i)
///   void take(count)                          selects the first `count` candidates and no other
///   bool is_next(i)                           whether candidate i is the next point of its block
///   uint32_t candidate_bytes(i)               of code-block data that it adds
///   uint64_t try_candidate(i, total, cap)     selects it if the bytes measured stay within `cap`.
///                                             @return these bytes, or `total`
template <typename Ops>
class RateSearch {
 public:
  CJ2K_HD constexpr explicit RateSearch(Ops& ops) : ops_(ops) {}

  /// Takes the points of a scope that fit under its cap.
  /// @return slope of the last point of the longest prefix; 0: all points fit
  CJ2K_HD constexpr uint16_t fill(const RateScope& scope) {
    // The first guess for the packet headers is a few percent of the cap. Later ones are measured.
    uint64_t overhead = scope.fixed + scope.cap / 32;
    if (ops_.has_one_layer()) {
      const uint64_t guess = kHeaderBytesPerBlock * ops_.num_blocks(scope);
      overhead = scope.fixed + (guess < scope.cap / 16 ? guess : scope.cap / 16);
    }
    if (scope.fixed + ops_.histogram_bytes(scope, 0) <= scope.cap) {
      ops_.select(scope, 0);
      ops_.choose_layers();
      const uint64_t everything = ops_.measure(scope);
      if (everything <= scope.cap) return 0;
      overhead = everything - ops_.measured_body(scope);
    }
    const uint32_t threshold = coarse_threshold(scope, overhead);
    const size_t taken = longest_prefix(scope, threshold);
    add_single_points(scope, taken);
    if (taken > 0) return ops_.candidate_slope(taken - 1);
    return static_cast<uint16_t>(threshold < kMinSlope   ? kMinSlope
                                 : threshold > kMaxSlope ? kMaxSlope
                                                         : threshold);
  }

 private:
  /// Most corrections of a selection by an estimate before it is measured.
  static constexpr int kEstimates = 2;
  /// First guess for the packet headers with one layer: bytes per block, but a 16th of the cap at
  /// most.
  static constexpr uint64_t kHeaderBytesPerBlock = 2;
  /// Most measurements of a threshold.
  static constexpr int kCoarseSteps = 6;
  /// Most single points that are tried after the longest prefix. Each trial measures one precinct;
  /// all of them together gain less than the bytes of one point.
  static constexpr int kSingleTrials = 32;
  /// Up to cap / kNegligible bytes may stay unused without a trial.
  static constexpr uint64_t kNegligible = 4096;
  /// Bytes of candidates that are collected beyond those expected to fit, in addition to a 64th of
  /// the cap: small points may follow large ones.
  static constexpr uint64_t kCandidateBytes = 4096;
  /// Interpolation steps of the search for the longest prefix; the steps after these bisect.
  static constexpr int kInterpolations = 6;

  /// Selects by a threshold that is expected to fit, from estimates alone.
  /// @param slope  first guess, below `fits`
  /// @return the threshold selected, below `fits`
  CJ2K_HD constexpr uint32_t select_by_estimate(const RateScope& scope, uint32_t slope,
                                                uint32_t fits) {
    // A little is left, so that most selections fit when they are measured.
    const uint64_t goal = scope.cap - scope.cap / 1024;
    for (int i = 0;; ++i) {
      ops_.select(scope, slope);
      const uint64_t overhead = ops_.estimated_overhead(scope);
      const uint64_t total = overhead + ops_.histogram_bytes(scope, slope);
      if (i == kEstimates || (total <= goal && goal - total <= scope.cap / 128)) return slope;
      const uint32_t next = ops_.slope_for(scope, goal > overhead ? goal - overhead : 0);
      if (next == slope || next >= fits) return slope;
      slope = next;
    }
  }

  /// Finds a threshold that fits and is close to the lowest one that does. The headers change little
  /// from step to step, so their last size predicts the next one; the histogram gives the code-block
  /// data. The threshold is selected and measured on return.
  CJ2K_HD constexpr uint32_t coarse_threshold(const RateScope& scope, uint64_t overhead) {
    uint32_t fits = kAboveAllSlopes, selected = kAboveAllSlopes + 1;
    for (int step = 0; step < kCoarseSteps; ++step) {
      uint32_t slope = ops_.slope_for(scope, scope.cap > overhead ? scope.cap - overhead : 0);
      if (slope >= fits) break;
      if (ops_.has_one_layer()) {
        slope = select_by_estimate(scope, slope, fits);
      } else {
        ops_.select(scope, slope);
        ops_.choose_layers();
      }
      selected = slope;
      const uint64_t bytes = ops_.measure(scope);
      const uint64_t headers = bytes - ops_.measured_body(scope);
      if (bytes > scope.cap) {
        // A slope that fits is known. It is close enough for the search point by point.
        if (fits != kAboveAllSlopes) break;
        const uint64_t more = overhead + (bytes - scope.cap);
        overhead = headers > more ? headers : more;
      } else {
        fits = slope;
        if (scope.cap - bytes <= scope.cap / 64) break;
        overhead = headers + (scope.cap - bytes) / 16;
      }
    }
    if (selected == fits) return fits;
    ops_.select(scope, fits);
    ops_.choose_layers();
    ops_.measure(scope);
    return fits;
  }

  /// Collects the points that follow `threshold` in the total order, until they sum up to well over
  /// `bytes`. @return their number
  CJ2K_HD constexpr size_t collect_candidates(const RateScope& scope, uint32_t threshold,
                                              uint64_t bytes) {
    const uint64_t have = ops_.histogram_bytes(scope, threshold);
    const uint32_t lowest =
        ops_.slope_for(scope, have + bytes + bytes / 4 + scope.cap / 64 + kCandidateBytes);
    return ops_.collect(scope, lowest > 0 ? lowest - 1 : 0);
  }

  CJ2K_HD constexpr double bytes_between(size_t first, size_t last) {
    return static_cast<double>(ops_.candidate_bits(last) - ops_.candidate_bits(first)) / 8;
  }

  /// The largest count of candidates below `fails` that is predicted to fit into `room` bytes more
  /// than `fits` of them take.
  CJ2K_HD constexpr size_t predicted_count(size_t fits, size_t fails, uint64_t room,
                                           double overhead_per_point) {
    size_t low = fits, high = fails - 1;
    while (low < high) {
      const size_t middle = (low + high + 1) / 2;
      const double predicted =
          bytes_between(fits, middle) + overhead_per_point * static_cast<double>(middle - fits);
      if (predicted <= static_cast<double>(room)) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }

  /// Finds by interpolation how many candidates fit, and takes them. @return their number
  CJ2K_HD constexpr size_t longest_prefix(const RateScope& scope, uint32_t threshold) {
    const uint64_t start = ops_.measured_bytes(scope);
    const size_t count =
        collect_candidates(scope, threshold, scope.cap > start ? scope.cap - start : 0);
    size_t fits = 0, fails = count + 1;
    uint64_t fits_bytes = start;
    // The bytes of a point beyond those in candidate_bits. With one layer the header is in there;
    // else the first guess is one header byte for every second point. Later ones are measured.
    double overhead_per_point = ops_.has_one_layer() ? 0 : 0.5;
    for (int step = 0; fails - fits > 1; ++step) {
      size_t guess = (fits + fails) / 2;
      if (step < kInterpolations) {
        guess = predicted_count(fits, fails, scope.cap - fits_bytes, overhead_per_point);
        if (guess == fits) ++guess;
      }
      ops_.take(guess);
      const uint64_t bytes = ops_.measure(scope);
      const double extra =
          static_cast<double>(bytes) - static_cast<double>(fits_bytes) - bytes_between(fits, guess);
      overhead_per_point = extra / static_cast<double>(guess - fits);
      if (!ops_.has_one_layer() && overhead_per_point < 0) overhead_per_point = 0;
      if (bytes <= scope.cap) {
        fits = guess;
        fits_bytes = bytes;
      } else {
        fails = guess;
      }
    }
    ops_.take(fits);
    ops_.measure(scope);
    count_ = count;
    return fits;
  }

  /// Tries the points after the longest prefix one by one, and takes those that still fit.
  CJ2K_HD constexpr void add_single_points(const RateScope& scope, size_t first) {
    uint64_t total = ops_.measured_bytes(scope);
    int trials = 0;
    for (size_t i = first;
         i < count_ && trials < kSingleTrials && scope.cap - total > scope.cap / kNegligible; ++i) {
      if (!ops_.is_next(i) || total + ops_.candidate_bytes(i) > scope.cap) continue;
      ++trials;
      total = ops_.try_candidate(i, total, scope.cap);
    }
  }

  Ops& ops_;
  size_t count_ = 0;  ///< candidates
};

}  // namespace cj2k
