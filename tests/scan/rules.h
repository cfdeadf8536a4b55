// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The rules of the scan. A rule is broken by two codings of one picture under the same limits, or by
// two points on a curve of rising caps:
//
//   1  exact against none, efforts 0 and 1:                      at most 0.01 dB worse
//   2  exact against none, HT with the same steps:               at most 0.02 dB
//      HT with steps to choose, and efforts 2 and 3:             at most 0.1 dB
//   3  efforts 2 and 3 against effort 1, at the same bytes:      at most 0.02 dB
//   4  no picture becomes worse as its cap grows:                at most 0.05 dB more than with none
//   5  no cap is broken; and where quality alone limits, exact takes at most 0.3 % and 4 bytes more
//      than none with the same steps
//   6  no point lies below the line between those beside it:     at most 0.1 dB more than with none
//
// Pictures that were JPEG 2000 before have caps that suit their old steps, so there more bytes can be
// worse whatever `stop` is. The table has the falls of none, too, which are not judged.
//
// Efforts 2 and 3 choose coefficients for a slope that they predict, and nobody can set it from
// outside. exact and none predict differently, so the bound is that of steps to choose.
#pragma once

#include <cstdint>

#include "scan/coding.h"

namespace cj2k::test {

/// Two codings that get the same limits.
struct Comparison {
  int rule;
  const char* coding;
  const char* against;
  double most_loss;  ///< dB
  /// Both quantise and choose alike, so they differ only in the passes that rate control has.
  bool is_same_coding;
};

inline constexpr double kMostFall = 0.05;       ///< rule 4, dB
inline constexpr double kMostDip = 0.1;         ///< rule 6, dB
inline constexpr double kMostMoreBytes = 0.3;   ///< rule 5, percent
inline constexpr int64_t kFewBytes = 4;         ///< more bytes that are not counted: a header's
inline constexpr double kLosesNothing = -1000;  ///< dB

/// dB by which `mine` is worse than `other`; negative where it is better.
///
/// Where quality alone limits, both should end at the same slope, on any point of the curve there,
/// so a byte more counts as much squared error as quality pays for it, but for kFewBytes. An error of
/// `other` below a tenth of what its bytes cost counts as that tenth.
///
/// Where few samples are wrong, each is wrong by 1 by the chance of its rounding, and two codings of
/// the same quality differ by the root of their number. Three deviations are allowed: under one
/// wrong sample in 100, or one in 4 where the codings or their bytes are different.
double loss_db(const Point& mine, const Point& other, const Limits& limits, int32_t depth,
               bool is_same_coding);

/// Percent by which the worst cap is broken; 0 or less: none is.
double percent_over_caps(const Point& point, const Limits& limits);

/// Whether `quality` and no cap decided what is in the codestream.
bool is_by_quality(const Point& point, const Limits& limits);

/// Squared error in LSB^2 that a byte must remove, by the meaning of `quality`: that of a uniform
/// quantiser whose step is `quality` LSB of 8 bits (error step^2 / 12, 6.02 dB a bit).
double error_per_byte(double quality, int32_t depth);

}  // namespace cj2k::test
