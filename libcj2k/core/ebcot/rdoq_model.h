// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The arithmetic of RDOQ (coders/ebcot/rdoq.h has the model) that looks at one sample, one context or
// one block at a time. Both backends have it from here.
#pragma once

#include <bit>
#include <cstdint>

#include "core/distortion.h"
#include "core/ebcot/coding_passes.h"
#include "core/ebcot/mq.h"
#include "core/hd.h"
#include "core/overlaps.h"
#include "core/slope.h"

namespace cj2k {

inline constexpr int kTrackedPlanes = 3;
inline constexpr int kRdoqColumns = 4, kRdoqRows = 8;
inline constexpr int kRdoqFraction = 10;  ///< fractional bits of coefficients, in units of 2^p
inline constexpr int kBitCost = 256;      ///< R of one bit
inline constexpr int kZeroGate = 8 * kBitCost;
inline constexpr int kGate = 5 * kBitCost / 2;
inline constexpr int kSlack = kBitCost;
inline constexpr int kSlackLater = kBitCost / 4;
inline constexpr uint32_t kFewDecisions = 8;
inline constexpr int kRdoqDepth = 96;  ///< 3/8 octave
/// Coefficients are clamped below this many units of 2^p.
inline constexpr float kMostUnits = 1 << 19;
static_assert(kMostValue == 1 << (19 + kRdoqFraction));
/// Coefficients below 3/4 of 2^p stay as they are: significance never pays.
inline constexpr int32_t kLeastValue = 3 << (kRdoqFraction - 2);

/// Where a block is cut in most cases at this lambda. With x = log4(lambda) + 3/4: after the
/// significance pass of plane floor(x) if the fraction of x is below a half, else after the
/// clean-up pass of plane floor(x) + 1; at least plane 0. Plane 0 of 5/3 leaves no error, so it is
/// worth twice as much: x - 1/2 replaces an x below 1.
CJ2K_HD constexpr int rdoq_plane(double lambda, bool reversible, PassKind* kind) {
  int position = log_slope(lambda, 1) - kSlopeUnit + 384;  // 512 (log4(lambda) + 3/4)
  if (reversible && position < 512) position -= 256;
  const bool early = (position & 511) < 256;
  *kind = early && position >= 0 ? PassKind::kSignificance : PassKind::kCleanup;
  const int plane = (position >> 9) + (early ? 0 : 1);
  return plane > 0 ? plane : 0;
}

namespace rdoq {

inline constexpr uint32_t kMagnitude = 0x7FFFFFFF;

CJ2K_HD constexpr int bit_width(uint32_t x) {
  return x == 0 ? 0 : 32 - static_cast<int>(mq::internal::leading_zeros(x));
}
/// 2^exponent, of a normal number.
CJ2K_HD constexpr double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<uint64_t>(1023 + exponent) << 52);
}

/// Decisions by context and bit.
struct Counts {
  uint32_t n[mq::kNumContexts][2];
};

/// Costs by context and bit, in 1 / kBitCost bit.
struct Costs {
  uint16_t bits[mq::kNumContexts][2];
};

/// The decisions of one plane, and the change of D by its passes.
struct PassCounts {
  Counts significance, refinement, cleanup;
  int64_t error[3];

  CJ2K_HD const Counts& of(int pass) const {
    return pass == 0 ? significance : pass == 1 ? refinement : cleanup;
  }
};

/// The costs of one context.
CJ2K_HD inline void set_costs_of(const PassCounts* counts, unsigned context, Costs* costs) {
  uint16_t* const bits = costs->bits[context];
  if (context == mq::kUniform) {
    bits[0] = bits[1] = kBitCost;
    return;
  }
  const auto all = [context](const PassCounts& of, unsigned bit) {
    return of.significance.n[context][bit] + of.refinement.n[context][bit] +
           of.cleanup.n[context][bit];
  };
  uint32_t n[2] = {all(counts[0], 0), all(counts[0], 1)};
  if (n[0] + n[1] < kFewDecisions) {
    n[0] += all(counts[1], 0);
    n[1] += all(counts[1], 1);
  }
  CJ2K_HD_ROLLED
  for (unsigned bit = 0; bit < 2; ++bit) {
    // Half a decision of each bit more, so that no cost is infinite.
    const int cost =
        log_slope(2 * (n[0] + n[1]) + 2, 2 * (bit == 0 ? n[0] : n[1]) + 1) - kSlopeUnit;
    bits[bit] = static_cast<uint16_t>(cost);
  }
}

/// R of the decisions of a pass.
CJ2K_HD inline int64_t rate_of(const Costs& costs, const Counts& of) {
  int64_t r = 0;
  CJ2K_HD_ROLLED
  for (unsigned c = 0; c < mq::kNumContexts; ++c)
    r += int64_t{of.n[c][0]} * costs.bits[c][0] + int64_t{of.n[c][1]} * costs.bits[c][1];
  return r;
}

/// The numbers of one round. `up` is a plane less p.
struct Model {
  /// @param p           0 .. planes_now - 1
  /// @param planes_now  bits of the largest magnitude
  /// @param cut         after a pass of this kind; the highest plane has a clean-up pass alone
  CJ2K_HD constexpr Model(int p, int planes_now, PassKind cut, bool is_reversible, uint32_t style,
                          double block_lambda)
      : plane(p),
        planes(planes_now),
        kind(p == planes_now - 1 ? PassKind::kCleanup : cut),
        reversible(is_reversible),
        tracked(planes_now - p < kTrackedPlanes ? planes_now - p : kTrackedPlanes),
        raw(0),
        lambda(0) {
    const double units = block_lambda * power_of_two(2 * (kRdoqFraction - p)) / kBitCost;
    lambda = static_cast<int64_t>(units < 1.0 ? 1.0 : units > 0x1p30 ? 0x1p30 : units);
    CJ2K_HD_ROLLED
    for (int up = 0; up < tracked; ++up) {
      if (!is_highest(up) && pass_is_raw(style, 3 * (planes - 1 - plane - up) - 2)) raw |= 1u << up;
    }
  }

  int plane, planes;
  PassKind kind;
  bool reversible;
  int tracked;     ///< planes p .. p + tracked - 1 are looked at
  uint32_t raw;    ///< bit `up`: significance and refinement decisions are raw
  int64_t lambda;  ///< D of 1 / kBitCost bit

  /// Reconstruction of q > 0 at s = p + up, at mid-point.
  CJ2K_HD constexpr int64_t at(uint32_t q, int up) const {
    const int64_t half = reversible && plane + up == 0 ? 0 : 1;
    return ((int64_t{q} * 2 + half) << (up + kRdoqFraction)) / 2;
  }
  /// Change of D when a sample becomes significant.
  CJ2K_HD constexpr int64_t significant(int32_t value, int up) const {
    const int64_t r = at(1, up);
    return r * (r - 2 * int64_t{value});
  }
  /// Change of D when a sample of magnitude m is refined.
  CJ2K_HD constexpr int64_t refined(int32_t value, uint32_t m, int up) const {
    const int64_t before = at(m >> (plane + up + 1), up + 1), after = at(m >> (plane + up), up);
    return (after - before) * (after + before - 2 * int64_t{value});
  }
  /// What a decoder shows of a magnitude at the cut. A significance pass is taken to find every sample,
  /// as PlaneCut has it.
  CJ2K_HD constexpr int64_t shown(uint32_t m) const {
    const uint32_t q = m >> plane;
    const int up = q > 1 && !has_refinement(0) ? 1 : 0;
    return q == 0 ? 0 : at(q >> up, up);
  }
  /// The error of a coefficient at the cut, with its sign.
  CJ2K_HD constexpr int32_t error(int32_t value, uint32_t m, bool is_negative) const {
    return signed_error(value, shown(m), is_negative);
  }
  CJ2K_HD constexpr bool has_refinement(int up) const {
    return up > 0 || kind != PassKind::kSignificance;
  }
  CJ2K_HD constexpr bool has_cleanup(int up) const { return up > 0 || kind == PassKind::kCleanup; }
  /// The highest plane has a clean-up pass alone.
  CJ2K_HD constexpr bool is_highest(int up) const { return plane + up == planes - 1; }
  CJ2K_HD constexpr bool is_raw(int up) const { return (raw >> up & 1) != 0; }
  /// Values of s - p at which changes are tried.
  CJ2K_HD constexpr int num_shifts() const {
    return kind == PassKind::kCleanup || plane + 1 >= planes ? 1 : 2;
  }
  /// The highest plane, less p, whose bit differs.
  CJ2K_HD constexpr int highest_changed(uint32_t m, uint32_t other) const {
    return bit_width((m ^ other) >> plane) - 1;
  }
  /// The magnitude after a change at s = p + up, or m if it is not to be tried.
  CJ2K_HD constexpr uint32_t changed(int32_t value, uint32_t m, int up) const {
    const int s = plane + up;
    const uint32_t q = m >> s;
    const bool down = q != 0;
    if (value >= kMostValue) return m;
    const uint32_t other = down ? q - 1 : 1;
    const int64_t before = value - (q == 0 ? 0 : at(q, up));
    const int64_t after = value - (other == 0 ? 0 : at(other, up));
    const int64_t gate = q == 0 ? 0 : down && q == 1 ? kZeroGate : kGate;
    if (after * after - before * before > lambda * gate) return m;
    const uint32_t result = down ? (q << s) - 1 : other << s;
    if (result >> planes != 0) return m;
    return highest_changed(m, result) < tracked ? result : m;
  }
};

/// Whether a sample's own decisions are checked before a trial.
/// @param highest  the highest plane, less p, that changes
/// @param up       the magnitude grows
CJ2K_HD constexpr bool asks_own(int rounds, bool is_first, int highest, bool up) {
  return highest == 0 || up || rounds == 1 || !is_first;
}
/// The slack by which they may fail.
CJ2K_HD constexpr int slack(int rounds, bool is_first, int highest, bool up) {
  if (highest > 0) return 0;
  if (rounds == 1) return up ? 0 : kSlack;
  return is_first ? kSlack : kSlackLater;
}

/// Whether may_pay looks at the counts: the tracked planes hold all bits.
CJ2K_HD constexpr bool may_ask(const Model& model) {
  return model.planes <= model.plane + model.tracked;
}
/// Whether the block may be worth its bytes: false if no pass, with the passes before it, lowers
/// D + lambda R.
/// @param sums  int64_t(int up, int pass): lambda R + D of a significance (0), refinement (1) or
///              clean-up pass (2)
template <typename Sums>
CJ2K_HD constexpr bool may_pay(const Model& model, const Sums& sums) {
  int64_t j = 0;
  CJ2K_HD_ROLLED
  for (int up = model.tracked - 1; up >= 0; --up) {
    CJ2K_HD_ROLLED
    for (int pass = 0; pass < 3; ++pass) {
      if (pass == 1 && !model.has_refinement(up)) continue;
      if (pass == 2 && !model.has_cleanup(up)) continue;
      j += sums(up, pass);
      if (j < 0) return true;
    }
  }
  return false;
}

/// What changed samples remove beyond what tier-1 counts.
///
/// What a pass removes is linear in the coefficient: v^2 - (v - r)^2 and so on. So the correction
/// is 2 v' (after - before) where v' is the coefficient less the value that tier-1 assumes.
class Correction {
 public:
  /// @param model  of the block after the changes
  /// @param value  |coefficient| in 2^p / 2^kRdoqFraction
  /// @param m      the magnitude after the changes
  CJ2K_HD constexpr Correction(const Model& model, int32_t value, uint32_t m)
      : model_(model), m_(m) {
    const int64_t twice = 2 * int64_t{m} + (model.reversible ? 0 : 1);
    const int64_t assumed = m == 0 ? 0 : (twice << (kRdoqFraction - 1)) >> model.plane;
    total_ = (value - assumed) * (value + assumed);
    more_ = (int64_t{value} << model.plane) - (twice << (kRdoqFraction - 1));
  }
  /// v^2 less the square of what tier-1 assumes, in squares of 2^p / 2^kRdoqFraction. |v' | is below
  /// 2^13 of these units, so the sum over a block is below 2^60.
  CJ2K_HD constexpr int64_t total() const { return total_; }
  /// Calls add(int pass, int64_t) for each pass that codes a bit of the sample.
  /// @param early  the sample becomes significant in the significance pass
  template <typename Add>
  CJ2K_HD constexpr void each_pass(bool early, const Add& add) const {
    const int highest = bit_width(m_) - 1;
    CJ2K_HD_ROLLED
    for (int p = highest; p >= model_.plane; --p) {
      const bool is_new = p == highest;
      // The highest plane has no significance pass.
      const int kind = !is_new ? 1 : early && p != model_.planes - 1 ? 2 : 0;
      const int pass = 3 * (model_.planes - 1 - p) - kind;
      add(pass, in_quarters(steps(p, is_new)));
    }
  }

 private:
  /// In units of 2^p / kDistortionOne.
  CJ2K_HD constexpr int64_t steps(int p, bool is_new) const {
    const bool one = (m_ >> p & 1) != 0;
    if (model_.reversible && p == 0) return is_new ? 2 : one ? 0 : -2;
    return is_new ? 3 : one ? 1 : -1;
  }
  /// kDistortionOne * steps * v', rounded to the nearest, ties to even.
  CJ2K_HD constexpr int64_t in_quarters(int64_t steps) const {
    constexpr int kShift = kRdoqFraction - 2;
    static_assert(kDistortionOne == 4);
    const int64_t exact = steps * more_;
    return (exact + ((1 << (kShift - 1)) - 1) + (exact >> kShift & 1)) >> kShift;
  }

  const Model& model_;
  const uint32_t m_;
  int64_t total_ = 0;
  int64_t more_ = 0;  ///< v' in 2^-kRdoqFraction
};

/// RdoqResult::total: all sums are exact, so their order does not matter.
/// @param sum      of Correction::total
/// @param removed  int64_t(int pass): RdoqResult::removed
template <typename Removed>
CJ2K_HD constexpr double total_of(const Model& model, int64_t sum, const Removed& removed) {
  double total = static_cast<double>(sum) * power_of_two(2 * (model.plane - kRdoqFraction));
  const int passes = num_passes_of(model.planes - model.plane);
  CJ2K_HD_ROLLED
  for (int pass = 0; pass < passes; ++pass) {
    const int plane = model.planes - num_planes_begun(pass + 1);
    total -= static_cast<double>(removed(pass)) * power_of_two(plane) * (1.0 / kDistortionOne);
  }
  return total;
}

}  // namespace rdoq
}  // namespace cj2k
