// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// How rate control looks for the longest prefix of the hull points that fits a cap
// (docs/rate-control.md), on host and device. The search decides; what it asks for is done by Ops:
// rate/rate.h on the host, kernels/rate/allocate.cuh on the device.
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
/// log2(cap / bytes) in log-slope steps, 256 per doubling; 0: the cap is used up.
CJ2K_HD constexpr uint16_t unused_steps(uint64_t cap, uint64_t bytes) {
  if (cap <= bytes) return 0;
  return static_cast<uint16_t>(log_slope(static_cast<double>(cap), 1) -
                               log_slope(static_cast<double>(bytes), 1));
}

/// Takes the points of scopes that fit under their caps, step by step: a step moves the selection and
/// measures it, and then decides on the next one. `Ops` has the points and the selection, and
///   bool has_one_layer()
///   uint64_t num_blocks(scope)
///   uint64_t histogram_bytes(scope, slope)    bytes of the points of the scope at `slope` and above
///   uint32_t slope_for(scope, bytes)          the lowest slope at which these are at most `bytes`
///   void select(scope, slope)                 selects the points at `slope` and above
///   void choose_layers()                      divides the selection into layers
///   size_t collect(scope, lowest)             lists the points that follow the selection, down to
///                                             slope `lowest`, in their order: the candidates
///   void take(count)                          selects the first `count` candidates and no other, and
///                                             chooses the layers
///   void begin_try(i), undo_try()             selects candidate i, which is the next point of its
///                                             block; takes that back, with its measurement
///   bool is_next(i)                           whether candidate i is the next point of its block
///   uint64_t candidate_bits(i)                estimate of the bits that the first i add
///   uint16_t candidate_slope(i)
///   uint32_t candidate_bytes(i)               of code-block data that it adds
///   uint64_t measure(scope, tries, total)     exact bytes of the selection; with `tries` they were
///                                             `total` before begin_try
///   uint64_t measured_body(scope)             those of code-block data in the last measurement
///   uint64_t estimated_overhead(scope)        with one layer: bytes but for the code-block data
template <typename Ops>
class RateSearch {
 public:
  CJ2K_HD_INLINE constexpr explicit RateSearch(Ops& ops) : ops_(ops) {}

  /// Takes the points of a scope that fit under its cap.
  /// @return slope of the last point of the longest prefix; 0: all points fit
  CJ2K_HD_INLINE constexpr uint16_t fill(const RateScope& scope) {
    begin(scope);
    while (step()) {
    }
    return slope();
  }
  /// The same in steps: begin, step while it returns true, slope.
  CJ2K_HD_INLINE constexpr void begin(const RateScope& scope) {
    scope_ = scope;
    end_slope_ = 0;
    // The first guess for the packet headers is a few percent of the cap. Later ones are measured.
    overhead_ = scope.fixed + scope.cap / 32;
    if (ops_.has_one_layer()) {
      const uint64_t guess = kHeaderBytesPerBlock * ops_.num_blocks(scope);
      overhead_ = scope.fixed + (guess < scope.cap / 16 ? guess : scope.cap / 16);
    }
    fits_slope_ = kAboveAllSlopes;
    selected_ = kAboveAllSlopes + 1;
    steps_ = 0;
    move_ = Move::kNone;
    measures_ = false;
    stage_ = Stage::kThreshold;
    if (scope.fixed + ops_.histogram_bytes(scope, 0) <= scope.cap) select(0, true, Stage::kAll);
  }
  /// @return whether there is another step
  CJ2K_HD_INLINE constexpr bool step() {
    if (move_ == Move::kSelect) {
      ops_.select(scope_, slope_);
      ops_.choose_layers();
    } else if (move_ == Move::kTake) {
      ops_.take(taking_);
    } else if (move_ == Move::kTry) {
      ops_.begin_try(next_);
    }
    if (measures_) bytes_ = ops_.measure(scope_, move_ == Move::kTry, total_);
    move_ = Move::kNone;
    measures_ = false;
    decide();
    return stage_ != Stage::kDone;
  }
  CJ2K_HD_INLINE constexpr uint16_t slope() const { return end_slope_; }

 private:
  /// Most corrections of a selection by an estimate before it is measured.
  static constexpr int kEstimates = 2;
  /// First guess for the packet headers with one layer: bytes per block, but a 16th of the cap at
  /// most.
  static constexpr uint64_t kHeaderBytesPerBlock = 2;
  /// Most thresholds that are measured.
  static constexpr int kThresholds = 6;
  /// Most single points that are tried after the longest prefix. Each trial measures one precinct;
  /// all of them together gain less than the bytes of one point.
  static constexpr int kSingleTrials = 32;
  /// Up to cap / kNegligible bytes may stay unused without a trial.
  static constexpr uint64_t kNegligible = 32768;
  /// Bytes of candidates that are collected beyond those expected to fit, in addition to a 64th of
  /// the cap: small points may follow large ones.
  static constexpr uint64_t kCandidateBytes = 4096;
  /// Interpolation steps of the search for the longest prefix; the steps after these bisect.
  static constexpr int kInterpolations = 6;

  enum class Move : uint8_t { kNone, kSelect, kTake, kTry };
  /// What is decided next.
  enum class Stage : uint8_t {
    kAll,           // everything is measured
    kThreshold,     // a threshold is to be found
    kEstimated,     // one is selected
    kMeasured,      // one is selected and measured
    kThresholdEnd,  // one that fits is known, or none does
    kCollect,       // it is selected and measured
    kCount,         // a number of candidates is to be found
    kCounted,       // one is taken and measured
    kPrefix,        // the longest prefix is taken and measured
    kSingle,        // a single point is to be found
    kTried,         // one is selected and measured
    kDone,
  };

  CJ2K_HD_INLINE constexpr void select(uint32_t slope, bool measures, Stage then) {
    slope_ = slope;
    move_ = Move::kSelect;
    measures_ = measures;
    stage_ = then;
  }
  CJ2K_HD_INLINE constexpr void take(size_t count, Stage then) {
    taking_ = count;
    move_ = Move::kTake;
    measures_ = true;
    stage_ = then;
  }

  CJ2K_HD_INLINE constexpr void decide() {
    switch (stage_) {
      case Stage::kAll:
        stage_ = bytes_ <= scope_.cap ? Stage::kDone : Stage::kThreshold;
        overhead_ = bytes_ - ops_.measured_body(scope_);
        break;
      case Stage::kThreshold:
        find_threshold();
        break;
      case Stage::kEstimated:
        correct_threshold();
        break;
      case Stage::kMeasured:
        keep_threshold();
        break;
      case Stage::kThresholdEnd:
        stage_ = Stage::kCollect;
        if (selected_ != fits_slope_) select(fits_slope_, true, Stage::kCollect);
        break;
      case Stage::kCollect:
        collect();
        break;
      case Stage::kCount:
        find_count();
        break;
      case Stage::kCounted:
        keep_count();
        break;
      case Stage::kPrefix:
        end_prefix();
        break;
      case Stage::kSingle:
        find_single();
        break;
      case Stage::kTried:
        if (bytes_ <= scope_.cap) {
          total_ = bytes_;
        } else {
          ops_.undo_try();
        }
        ++next_;
        stage_ = Stage::kSingle;
        break;
      case Stage::kDone:
        break;
    }
  }

  /// Looks for a threshold that fits and is close to the lowest one that does. The headers change
  /// little from step to step, so their last size predicts the next one; the histogram gives the
  /// code-block data.
  CJ2K_HD_INLINE constexpr void find_threshold() {
    stage_ = Stage::kThresholdEnd;
    if (steps_++ == kThresholds) return;
    const uint64_t body = scope_.cap > overhead_ ? scope_.cap - overhead_ : 0;
    const uint32_t slope = ops_.slope_for(scope_, body);
    if (slope >= fits_slope_) return;
    estimates_ = 0;
    if (ops_.has_one_layer()) {
      select(slope, false, Stage::kEstimated);
    } else {
      select(slope, true, Stage::kMeasured);
    }
  }

  /// Corrects the threshold that is selected, from estimates alone, or measures it.
  CJ2K_HD_INLINE constexpr void correct_threshold() {
    // A little is left, so that most selections fit when they are measured.
    const uint64_t goal = scope_.cap - scope_.cap / 1024;
    const uint64_t overhead = ops_.estimated_overhead(scope_);
    const uint64_t total = overhead + ops_.histogram_bytes(scope_, slope_);
    measures_ = true;
    stage_ = Stage::kMeasured;
    if (estimates_++ == kEstimates || (total <= goal && goal - total <= scope_.cap / 128)) return;
    const uint32_t next = ops_.slope_for(scope_, goal > overhead ? goal - overhead : 0);
    if (next != slope_ && next < fits_slope_) select(next, false, Stage::kEstimated);
  }

  CJ2K_HD_INLINE constexpr void keep_threshold() {
    selected_ = slope_;
    stage_ = Stage::kThreshold;
    const uint64_t headers = bytes_ - ops_.measured_body(scope_);
    if (bytes_ > scope_.cap) {
      const uint64_t more = overhead_ + (bytes_ - scope_.cap);
      overhead_ = headers > more ? headers : more;
      // A slope that fits is known. It is close enough for the search point by point.
      if (fits_slope_ != kAboveAllSlopes) stage_ = Stage::kThresholdEnd;
    } else {
      fits_slope_ = slope_;
      overhead_ = headers + (scope_.cap - bytes_) / 16;
      if (scope_.cap - bytes_ <= scope_.cap / 64) stage_ = Stage::kThresholdEnd;
    }
  }

  /// Collects the points that follow the threshold in the total order, until they sum up to well over
  /// what is left.
  CJ2K_HD_INLINE constexpr void collect() {
    const uint64_t left = scope_.cap > bytes_ ? scope_.cap - bytes_ : 0;
    const uint64_t have = ops_.histogram_bytes(scope_, fits_slope_);
    const uint32_t lowest =
        ops_.slope_for(scope_, have + left + left / 4 + scope_.cap / 64 + kCandidateBytes);
    count_ = ops_.collect(scope_, lowest > 0 ? lowest - 1 : 0);
    fits_ = 0;
    fails_ = count_ + 1;
    fits_bytes_ = bytes_;
    // The bytes of a point beyond those in candidate_bits. With one layer the header is in there;
    // else the first guess is one header byte for every second point. Later ones are measured.
    overhead_per_point_ = ops_.has_one_layer() ? 0 : 0.5;
    steps_ = 0;
    stage_ = Stage::kCount;
  }

  CJ2K_HD_INLINE constexpr double bytes_between(size_t first, size_t last) {
    return static_cast<double>(ops_.candidate_bits(last) - ops_.candidate_bits(first)) / 8;
  }

  /// Takes a number of candidates, by interpolation, or those that fit if no more can.
  CJ2K_HD_INLINE constexpr void find_count() {
    if (fails_ - fits_ <= 1) {
      take(fits_, Stage::kPrefix);
      return;
    }
    size_t guess = (fits_ + fails_) / 2;
    if (steps_++ < kInterpolations) {
      const auto room = static_cast<double>(scope_.cap - fits_bytes_);
      guess = fits_;  // the search ends at the largest count predicted to fit
      size_t high = fails_ - 1;
      while (guess < high) {
        const size_t middle = (guess + high + 1) / 2;
        const double predicted = bytes_between(fits_, middle) +
                                 overhead_per_point_ * static_cast<double>(middle - fits_);
        if (predicted <= room) {
          guess = middle;
        } else {
          high = middle - 1;
        }
      }
      if (guess == fits_) ++guess;
    }
    take(guess, Stage::kCounted);
  }

  CJ2K_HD_INLINE constexpr void keep_count() {
    const double extra = static_cast<double>(bytes_) - static_cast<double>(fits_bytes_) -
                         bytes_between(fits_, taking_);
    overhead_per_point_ = extra / static_cast<double>(taking_ - fits_);
    if (!ops_.has_one_layer() && overhead_per_point_ < 0) overhead_per_point_ = 0;
    if (bytes_ <= scope_.cap) {
      fits_ = taking_;
      fits_bytes_ = bytes_;
    } else {
      fails_ = taking_;
    }
    stage_ = Stage::kCount;
  }

  CJ2K_HD_INLINE constexpr void end_prefix() {
    if (fits_ > 0) {
      end_slope_ = ops_.candidate_slope(fits_ - 1);
    } else {
      end_slope_ = static_cast<uint16_t>(fits_slope_ < kMinSlope   ? kMinSlope
                                         : fits_slope_ > kMaxSlope ? kMaxSlope
                                                                   : fits_slope_);
    }
    total_ = bytes_;
    next_ = fits_;
    steps_ = 0;
    stage_ = Stage::kSingle;
  }

  /// Tries the points after the longest prefix one by one, and takes those that still fit.
  CJ2K_HD_INLINE constexpr void find_single() {
    if (next_ >= count_ || steps_ == kSingleTrials ||
        scope_.cap - total_ <= scope_.cap / kNegligible) {
      stage_ = Stage::kDone;
    } else if (ops_.is_next(next_) && total_ + ops_.candidate_bytes(next_) <= scope_.cap) {
      ++steps_;
      move_ = Move::kTry;
      measures_ = true;
      stage_ = Stage::kTried;
    } else {
      ++next_;
    }
  }

  Ops& ops_;
  RateScope scope_{};
  Move move_ = Move::kNone;  ///< of the next step
  bool measures_ = false;    ///< the next step
  Stage stage_ = Stage::kDone;
  uint16_t end_slope_ = 0;
  uint32_t slope_ = 0;                   ///< selected last, or to be selected
  uint32_t fits_slope_ = 0;              ///< the lowest that fits; kAboveAllSlopes: none is known
  uint32_t selected_ = 0;                ///< the slope that was measured last
  int steps_ = 0, estimates_ = 0;        ///< so far
  uint64_t overhead_ = 0;                ///< predicted
  uint64_t bytes_ = 0;                   ///< at the last measurement
  size_t count_ = 0;                     ///< candidates
  size_t fits_ = 0, fails_ = 0;          ///< numbers of candidates
  size_t taking_ = 0;                    ///< candidates taken last, or to be taken
  size_t next_ = 0;                      ///< the candidate that is tried
  uint64_t fits_bytes_ = 0, total_ = 0;  ///< measured with `fits_` candidates; with single points
  double overhead_per_point_ = 0;
};

}  // namespace cj2k
