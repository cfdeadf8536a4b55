// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// When a code-block may pause after a bit-plane (stages/early_stop.h).
#pragma once

#include <cstdint>

#include "core/slope.h"

namespace cj2k {

/// Slopes fall from plane to plane, by two to three octaves, where a plane costs many bytes. Where
/// it costs next to none (flat areas, sharp edges) they may rise again further down, and going on
/// is cheap: such a block pauses only when its slope is far below. Found on the pictures of
/// tests/roundtrip/early_stop_slow.cc: these are the smallest values with which none loses 0.01 dB.
inline constexpr int kPauseMargin = 64;  ///< a quarter octave
inline constexpr uint32_t kSmallPlaneBytes = 40;
inline constexpr int kSmallPlaneMargin = 1536;  ///< six octaves

/// @param slope        of the last hull segment so far (stages/hull.h)
/// @param plane_bytes  that the last bit-plane took
/// @param threshold    log-slope that rate control is expected to reach; 0: code everything
inline bool may_pause(uint16_t slope, uint32_t plane_bytes, uint16_t threshold) {
  return slope + (plane_bytes < kSmallPlaneBytes ? kSmallPlaneMargin : kPauseMargin) < threshold;
}

}  // namespace cj2k
