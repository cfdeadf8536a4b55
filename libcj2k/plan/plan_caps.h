// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The limits of a frame: its caps in bytes, and the slope of constant quality.
#pragma once

#include <cstdint>

#include "plan/plan.h"

namespace cj2k {

/// Uncompressed bytes of a frame: depth / 8 per sample, the sum rounded up. Compression ratios
/// refer to this.
uint64_t raw_frame_bytes(const Plan& plan);

/// The threshold of constant quality: the log-slope at which a uniform quantiser with step q =
/// `quality` (in LSB of an 8-bit sample) trades squared error for bytes. With D = q^2 / 12 and
/// dD/dR = -2 ln 2 D per bit, the slope is 16 ln 2 / 12 q^2 per byte.
uint16_t quality_slope(double quality, int depth);

/// Whether the frames of a plan, or their components, have a cap in bytes. A single frame may have
/// a cap although the plan has none.
bool has_byte_cap(const Plan& plan);

/// The limits of one frame.
struct RateLimits {
  uint64_t frame_bytes;      ///< cap of the frame; kNoTarget: no cap
  uint64_t component_bytes;  ///< cap of each component; kNoTarget: no cap
  uint16_t slope;            ///< threshold of constant quality, a log-slope; 0: none
};
/// @param p  the plan's parameters, or a copy with the target, caps and quality of one frame
RateLimits rate_limits(const Plan& plan, const cj2k_params& p);

}  // namespace cj2k
