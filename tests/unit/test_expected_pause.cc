// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// core/ebcot/expected_pause.h: where a block is expected to pause, from decisions and distortions.
#include <doctest/doctest.h>

#include "core/ebcot/expected_pause.h"

namespace cj2k {
namespace {

constexpr int kPlane = 4;
constexpr PassKind kKinds[] = {PassKind::kSignificance, PassKind::kRefinement, PassKind::kCleanup};

/// A plane of 1,000 decisions in each pass, in which `found` samples become significant in each of
/// two passes. @return whether the block is expected to pause after the plane
bool pauses(ExpectedPause expected, int64_t found, int64_t refined, uint32_t decisions = 1000,
            int plane = kPlane) {
  const int64_t significance = found * (8 << plane);
  CHECK_FALSE(expected.add(kKinds[0], decisions, significance, plane));
  CHECK_FALSE(expected.add(kKinds[1], decisions, refined, plane));
  return expected.add(kKinds[2], decisions, significance, plane);
}

/// The log-slope of what a plane removes in the sum of its passes, by expected bytes.
uint16_t slope_of_plane(int64_t found, int64_t refined) {
  const int64_t significance = found * (8 << kPlane);
  const uint32_t bytes = expected_bytes_256(kKinds[0], 1000, significance, kPlane) +
                         expected_bytes_256(kKinds[1], 1000, refined, kPlane) +
                         expected_bytes_256(kKinds[2], 1000, significance, kPlane);
  const CodingPass all{0, kPlane, 2 * significance + refined};
  return log_slope(weighted(removed_by(all) * 256, 1.0), bytes);
}

}  // namespace

TEST_CASE("expected pause: where the slope of a plane is a margin below the threshold") {
  // A refinement that is steeper than the passes around it: the last segment is the whole plane.
  constexpr int64_t kFound = 40, kRefined = 200 * (8 << kPlane);
  const int slope = slope_of_plane(kFound, kRefined);
  REQUIRE(slope < best_slope_left(1.0, kPlane));
  int first = 0;
  for (int t = slope - 1024; t < slope + 1024 && first == 0; ++t) {
    if (pauses({1.0, static_cast<uint16_t>(t)}, kFound, kRefined)) first = t;
  }
  // Not later than for the whole plane; the clean-up pass alone is the flattest here.
  CHECK(first != 0);
  CHECK(first <= slope + kPauseMargin + 1);
  CHECK(pauses({1.0, static_cast<uint16_t>(slope + kPauseMargin + 1)}, kFound, kRefined));
  CHECK_FALSE(pauses({1.0, static_cast<uint16_t>(first - 1)}, kFound, kRefined));
  // Twice the weight is an octave.
  CHECK_FALSE(pauses({2.0, static_cast<uint16_t>(first)}, kFound, kRefined));
  CHECK(pauses({2.0, static_cast<uint16_t>(first + 256)}, kFound, kRefined));
}

TEST_CASE("expected pause: never without a threshold, after plane 0, or after a small plane") {
  CHECK_FALSE(pauses({1.0, 0}, 0, 0));
  const auto threshold = static_cast<uint16_t>(best_slope_left(1.0, kPlane) - 1);
  CHECK(pauses({1.0, threshold}, 10, 0));
  CHECK_FALSE(pauses({1.0, threshold}, 10, 0, 100));
  CHECK_FALSE(pauses({1.0, kMaxSlope}, 10, 0, 1000, 0));
}

TEST_CASE("expected pause: after any plane where none of those left can reach the threshold") {
  const int bound = best_slope_left(1.0, kPlane);
  CHECK(pauses({1.0, static_cast<uint16_t>(bound + 1)}, 1, 0, 1));
  CHECK_FALSE(pauses({1.0, static_cast<uint16_t>(bound)}, 1, 0, 1));
}

TEST_CASE("expected pause: a refinement that adds error does not hide the passes before it") {
  const auto threshold = static_cast<uint16_t>(slope_of_plane(40, 0) - 256);
  CHECK_FALSE(pauses({1.0, threshold}, 40, 0));
  // Refinement and clean-up pass together remove nothing: the last segment is the significance pass.
  CHECK_FALSE(pauses({1.0, threshold}, 40, -41 * (8 << kPlane)));
}

}  // namespace cj2k
