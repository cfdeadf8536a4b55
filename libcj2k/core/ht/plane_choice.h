// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Which cleanup planes of an HT block rate control may choose at a slope. Each plane costs a whole
// cleanup pass, so it pays to know them before coding.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/distortion.h"
#include "core/hd.h"
#include "core/slope.h"
#include "core/slope_search.h"

namespace cj2k {

/// Planes [lowest, end).
struct HtPlanes {
  int lowest, end;
  bool is_all = false;  ///< no plane below `lowest` may be coded
};

/// Which points of a block a call makes.
enum class HtPoints : uint8_t {
  kNearSlope,  ///< the points that may be chosen at the threshold (ht_passes_near)
  kAll,        ///< all points of the planes of the threshold
  kEstimate,   ///< cleanup passes at all planes with estimated lengths, to predict from; not coded
};

inline constexpr int kAllHtPasses = 3;      ///< of a cleanup plane
inline constexpr int kHtPlaneSlopes = 512;  ///< two octaves of slope are one plane
inline constexpr int kHtStepOfSlope = 29;   ///< 256 log2(6 / (8 ln 2))
inline constexpr int kHtSetSlopes = 64;     ///< from one step set to the next
/// S of 1.35 2^n steps, less the margin. Measured at twenty points of five photographs (0.5 to 3
/// bit/pixel, 8 bit RGB): within 0.01 dB of the best position on average, up to 0.2 dB better than a
/// step without regard to the frame.
inline constexpr int kHtBestPosition = 160;

/// log2 of S in steps, times 512.
CJ2K_HD constexpr int ht_step_position(double weight, uint16_t slope) {
  return slope - log_slope(weight, 1) + kHtStepOfSlope;
}

/// The plane of S, rounded down. @param weight  with step set 0
CJ2K_HD constexpr int ht_lowest_plane(double weight, uint16_t slope, uint32_t step_set = 0) {
  if (slope == 0) return 0;
  const int position = ht_step_position(weight, slope) + kHtSetSlopes * static_cast<int>(step_set);
  return position < 0 ? 0 : position / kHtPlaneSlopes;
}

/// Planes that rate control may choose at one slope.
inline constexpr int kHtNearPlanes = 4;

/// At a slope, all coefficients want about the same step in the picture: S^2 = 6 slope / (8 ln 2),
/// from D = S^2 / 12 and dD/dR = -2 ln 2 D per bit, as in quality_slope with S twice as large for
/// the dead zone. Measured: photographs take plane floor(log2 S) or the one above, with its
/// refinement passes. Sharp edges and text also take the next one above. Blocks of few bytes also
/// take the one below, because a plane may cost less than a byte there.
/// @param weight      squared error of the picture per squared unit of quantised coefficient
/// @param slopes      the lowest and the highest; lowest 0: all planes
/// @param bit_planes  of the block's magnitudes
CJ2K_HD constexpr HtPlanes ht_planes_at(double weight, SlopeRange slopes, int bit_planes) {
  if (slopes.lowest == 0) return {0, bit_planes};
  const int nearest = ht_lowest_plane(weight, slopes.lowest);
  const int lowest = nearest > 0 ? nearest - 1 : 0;
  const int end = ht_lowest_plane(weight, slopes.highest) + kHtNearPlanes - 1;
  return {lowest, end < bit_planes ? end : bit_planes};
}

/// CodedBlock::planes_left.
CJ2K_HD constexpr int ht_planes_left(const HtPlanes& planes, int bit_planes) {
  if (planes.is_all) return 0;
  return planes.lowest < bit_planes ? planes.lowest : bit_planes;
}

/// Whether a block takes a plane at an end of ht_planes_at, for HtChoices (coders/ht/ht_points.h).
/// @param bit_planes  Subband::max_bit_planes
CJ2K_HD constexpr bool is_far_ht_plane(double weight, uint16_t slope, int bit_planes, int plane) {
  const HtPlanes planes = ht_planes_at(weight, {slope, slope}, bit_planes);
  return plane > planes.end - 2 || (plane == planes.lowest && plane > 0);
}

/// What a plan says of all its blocks.
struct HtRules {
  bool lossless;
  uint8_t most_passes;      ///< of a cleanup plane: 1, cleanup alone, or kAllHtPasses
  int32_t magnitude_bound;  ///< Plan::magnitude_bound
  bool both_rdoq_planes;    ///< of is_ht_rdoq_plane (core/ht/rdoq.h)
};

/// The cleanup planes of a block; possibly none.
/// @param weight      squared error of the picture per squared unit of quantised coefficient
/// @param slopes      for which it is coded
/// @param bit_planes  of the block's magnitudes
CJ2K_HD constexpr HtPlanes ht_planes_to_code(const HtRules& rules, double weight, SlopeRange slopes,
                                             int bit_planes) {
  if (rules.lossless) return {0, bit_planes < 1 ? bit_planes : 1};
  const HtPlanes planes = ht_planes_at(weight, slopes, bit_planes);
  // Raised to those whose magnitudes are below 2^B, where the profile bounds them.
  const int least = rules.magnitude_bound > 0 ? bit_planes - rules.magnitude_bound : 0;
  if (least <= 0 || planes.lowest > least) return planes;
  const int end = least + kHtNearPlanes < bit_planes ? least + kHtNearPlanes : bit_planes;
  return {least, planes.end > end ? planes.end : end, true};
}

/// The points to make of a block's planes if `asked` are wanted.
CJ2K_HD constexpr HtPoints ht_points_to_make(uint16_t threshold, const HtPlanes& planes,
                                             HtPoints asked) {
  const bool has_choice = threshold > 0 && !planes.is_all && planes.lowest < planes.end;
  return asked == HtPoints::kNearSlope && !has_choice ? HtPoints::kAll : asked;
}

/// Most passes of a cleanup plane of a block: 1 or kAllHtPasses. In blocks of so few samples what MagRef
/// removes is not known next to what cleanup leaves: LeftPlanes rounds each sample to a 2^10th of that.
/// @param is_trial  of the order (depth/stop_rule.h)
CJ2K_HD constexpr int most_ht_passes(const HtRules& rules, bool is_trial, uint32_t samples) {
  constexpr uint32_t kFewSamples = 4;
  if (samples < kFewSamples) return 1;
  return is_trial ? kAllHtPasses : rules.most_passes;
}

/// Passes of a cleanup plane if coding goes down to plane `lowest`. 1: cleanup; 2: with SigProp;
/// 3: with SigProp and MagRef. At the lowest plane, MagRef would make a step of S / 2 or less.
/// Measured: 1 of 35,198 chosen points had it. SigProp alone is chosen where bytes are left over.
/// @param most  1, cleanup alone, or kAllHtPasses
CJ2K_HD constexpr int ht_passes(int plane, int lowest, HtPoints points, int most) {
  if (most == 1 || plane == 0 || points == HtPoints::kEstimate) return 1;
  return plane == lowest ? 2 : 3;
}

/// What is known of a block before its passes are coded. [0] is for the lowest plane.
struct HtBlockSums {
  uint32_t samples;
  uint32_t significant[kHtNearPlanes];  ///< samples in the cleanup pass
  double removed[kHtNearPlanes];        ///< weighted squared error that the cleanup pass removes
  double refined[kHtNearPlanes];        ///< about what MagRef below it removes
};

/// Squared error of the picture if a block is decoded without its lowest `planes` planes.
/// @param weight  squared error of the picture per squared unit of quantised coefficient
/// @param sum     of LeftPlanes (core/distortion.h); with planes = 0, the number of samples that are 0
CJ2K_HD constexpr double ht_left_error(bool reversible, double weight, int planes, uint64_t sum) {
  if (planes > 0) return weight * LeftPlanes(planes, reversible).error(sum);
  if (reversible) return 0;
  // Samples of 0 stand for half a step.
  return weight * static_cast<double>(sum) / 4;
}

/// @param weight       of the block, as in ht_left_error
/// @param lowest       plane
/// @param planes       from the lowest plane up, 1 .. kHtNearPlanes
/// @param total        ht_left_error without any plane
/// @param left         [planes] ht_left_error, from the lowest plane up
/// @param significant  [planes] samples
CJ2K_HD_INLINE constexpr HtBlockSums ht_block_sums(uint32_t samples, double weight, int lowest,
                                                   int planes, double total, const double* left,
                                                   const uint32_t* significant) {
  HtBlockSums sums{samples, {}, {}, {}};
  CJ2K_HD_UNROLL
  for (int k = 0; k < kHtNearPlanes; ++k) {
    if (k >= planes) continue;
    sums.significant[k] = significant[k];
    sums.removed[k] = total - left[k];
    // Three quarters of 4^plane / 12 for each sample.
    sums.refined[k] =
        weight * significant[k] * (static_cast<double>(uint64_t{1} << 2 * (lowest + k)) / 16);
  }
  return sums;
}

/// Passes to code of each plane, from the lowest up; 0: the plane is not coded.
struct HtPasses {
  int of[kHtNearPlanes];
};

/// Where rate control is expected to end, above the threshold for coding.
inline constexpr int kHtExpected = 32;
/// How far from there, in log-slopes, a step must be for passes to be left out. It covers most of the
/// error of the prediction (measured: 105 at most) and of the lengths. 200 takes a third more passes
/// for 0.0002 dB (tests/bench/results/2026-11-28_ht_near.md). Cleanup passes alone have points further
/// apart.
CJ2K_HD constexpr int ht_near(int most) { return most == 1 ? 200 : 100; }
/// How far from there rate control may end without that points are made anew. All passes, measured:
/// at 100 and 150, 0.002 to 0.006 dB are lost in the mean, at 200 up to 0.6.
constexpr int ht_far(int most) { return most == 1 ? 200 : 150; }
/// SigProp at the lowest plane is chosen only where that plane is steeper than this.
inline constexpr int kHtSteep = 250;

namespace internal {
/// By the logarithm of the density in 4096ths.
inline constexpr uint8_t kNewSampleBits[] = {144, 144, 144, 144, 144, 136, 128,
                                             120, 112, 100, 88,  72,  62,  56};
/// The entries after the equal ones at the start, halved, 7 bits each. The lanes of a warp would
/// read a table one after the other.
inline constexpr int kFirstPacked = 5, kLastPacked = 13;
constexpr uint64_t pack_new_sample_bits() {
  uint64_t packed = 0;
  for (int i = kLastPacked; i >= kFirstPacked; --i)
    packed = packed << 7 | kNewSampleBits[static_cast<size_t>(i)] / 2u;
  return packed;
}
inline constexpr uint64_t kPackedBits = pack_new_sample_bits();
CJ2K_HD constexpr uint32_t new_sample_bits(int log_density) {
  if (log_density < kFirstPacked) return 144;
  const int i = log_density < kLastPacked ? log_density : kLastPacked;
  return 2 * static_cast<uint32_t>(kPackedBits >> 7 * (i - kFirstPacked) & 127);
}
constexpr bool is_packed_well() {
  for (int i = 0; i <= kLastPacked; ++i) {
    if (new_sample_bits(i) != kNewSampleBits[static_cast<size_t>(i)]) return false;
  }
  return true;
}
static_assert(is_packed_well());
}  // namespace internal

/// Bits, in sixteenths, that each new significant sample takes in a cleanup pass where `count` of
/// `samples` samples are significant. Measured with four photographs: the bytes from plane to plane
/// are within a fifth of that in blocks of 300 significant samples or more.
CJ2K_HD constexpr uint32_t ht_new_sample_bits(uint32_t count, uint32_t samples) {
  const uint32_t density = count * 4096 / samples;
#if defined(__CUDA_ARCH__)
  return internal::new_sample_bits(32 - __clz(static_cast<int>(density)));
#else
  return internal::new_sample_bits(static_cast<int>(std::bit_width(density)));
#endif
}

/// By how much a cleanup pass is longer than the one of the plane above, in sixteenths of a bit: a
/// significant sample takes one bit more, and a new one takes ht_new_sample_bits.
/// @param low, high  significant samples at the plane, and at the one above
CJ2K_HD constexpr uint32_t ht_plane_bits(uint32_t low, uint32_t high, uint32_t samples) {
  return 16 * high + (low - high) * ht_new_sample_bits(low, samples);
}

/// The passes whose points rate control may choose if it ends near a slope. A point may be chosen if
/// no step to a finer plane is much steeper than the slope, and no step to it, from a coarser plane or
/// from nothing, is much flatter. At plane floor(log2 S) and below, MagRef would halve S or
/// more. Above, MagRef may be as good as the plane below, if that plane finds few new samples.
/// @param slope   where rate control is expected to end
/// @param lowest  plane: that of ht_planes_at
/// @param planes  of the block, 1 .. kHtNearPlanes
/// @param most    1, cleanup alone, or kAllHtPasses
CJ2K_HD_INLINE constexpr HtPasses ht_passes_near(const HtBlockSums& sums, int slope, int lowest,
                                                 int planes, int most) {
  const auto estimate = [](double gain, uint32_t sixteenths) {
    return gain > 0 ? int{log_slope(gain, sixteenths / 128 + 1)} : 0;
  };
  const auto& significant = sums.significant;
  CJ2K_HD_UNROLL
  for (int k = kHtNearPlanes - 1; k >= 0; --k) {
    if (k < planes && significant[k] == 0) planes = k;
  }
  const int nearest = lowest > 0 ? 1 : 0, margin = ht_near(most);
  bool is_steep = false;  // the step to the nearest plane
  HtPasses passes{};
  CJ2K_HD_UNROLL
  for (int k = 0; k < kHtNearPlanes; ++k) {
    if (k >= planes) continue;
    CJ2K_HD_UNROLL
    for (int refined = 0; refined < 2; ++refined) {
      if (refined != 0 && (k <= nearest || most == 1)) continue;
      // MagRef takes a bit of each significant sample, and three quarters of its error.
      const uint32_t more_bits = refined != 0 ? 16 * significant[k] : 0;
      const double removed = sums.removed[k] + (refined != 0 ? sums.refined[k] : 0);
      const uint32_t first_bits = ht_plane_bits(significant[k], 0, sums.samples);
      int to = estimate(removed, first_bits + more_bits), from = 0, last = to;
      uint32_t bits = more_bits;
      CJ2K_HD_UNROLL
      for (int coarser = 1; coarser < kHtNearPlanes; ++coarser) {
        if (coarser <= k || coarser >= planes) continue;
        bits += ht_plane_bits(significant[coarser - 1], significant[coarser], sums.samples);
        const int step = estimate(removed - sums.removed[coarser], bits);
        if (coarser == k + 1) last = step;
        if (step < to) to = step;
      }
      bits = 0;
      CJ2K_HD_UNROLL
      for (int finer = kHtNearPlanes - 2; finer >= 0; --finer) {
        if (finer >= k) continue;
        bits += ht_plane_bits(significant[finer], significant[finer + 1], sums.samples);
        const int step =
            estimate(sums.removed[finer] - removed, bits > more_bits ? bits - more_bits : 0);
        if (step > from) from = step;
      }
      if (from > slope + margin || to < slope - margin) continue;
      const bool has_sig_prop = lowest + k > 0 && last > slope + kHtSteep;
      passes.of[k] = most == 1 ? 1 : k > nearest ? 3 : has_sig_prop ? 2 : 1;
      is_steep |= k == nearest && last > slope + margin;
    }
  }
  // In dense blocks SigProp above the nearest plane finds more than MagRef alone.
  const uint32_t above = nearest == 0 ? significant[1] : significant[2];
  if (most > 1 && is_steep && planes > nearest + 1 && above >= sums.samples / 8) {
    if (nearest == 0) {
      passes.of[1] = 3;
    } else {
      passes.of[2] = 3;
    }
  }
  return passes;
}

/// How far a step set s (plan.h) puts S from the best position, 2^n * 2^(kHtBestPosition / 512)
/// steps; -256 .. 255.
/// @param weight  of any band, with step set 0: steps go with the norms of the bands
/// @param slope   a threshold for coding: kPredictionMargin below the slope that is expected
CJ2K_HD constexpr int ht_step_error(double weight, uint16_t slope, uint32_t step_set) {
  const int position = ht_step_position(weight, slope) + kHtSetSlopes * static_cast<int>(step_set);
  return ((position - kHtBestPosition) % kHtPlaneSlopes + 3 * kHtPlaneSlopes / 2) % kHtPlaneSlopes -
         kHtPlaneSlopes / 2;
}

/// The step set that is nearest to the best position.
CJ2K_HD constexpr uint32_t ht_step_set(double weight, uint16_t slope) {
  uint32_t best = 0;
  for (uint32_t s = 1; s < kHtPlaneSlopes / kHtSetSlopes; ++s) {
    const int error = ht_step_error(weight, slope, s);
    const int least = ht_step_error(weight, slope, best);
    if (error * error < least * least) best = s;
  }
  return best;
}
/// Whether another step set would gain less than it costs to code blocks again.
/// @param slack  of ht_step_error: kHtSetSlopes for a sample; twice that for a whole frame, where it
///               moves PSNR by 0.14 dB at most, up or down
CJ2K_HD constexpr bool is_near_ht_step_set(double weight, uint16_t slope, uint32_t step_set,
                                           int slack) {
  const int error = ht_step_error(weight, slope, step_set);
  return error >= -slack && error <= slack;
}

}  // namespace cj2k
