// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Samples of a frame in device memory that have more bits than are coded (pixels/low_bits.h).
#pragma once

#include "kernels/pixels/pixels.h"

namespace cj2k::cuda {

/// Which of the stored bits are coded, and the size of a component.
struct LowBitsOf {
  int32_t low_bits;  ///< below the coded ones; 0: the component is not looked at
  int32_t width, height;
};
/// The place of a sample: (row * CJ2K_MAX_COMPONENTS + component) * 2^32 + column.
inline constexpr uint64_t kNoPlace = UINT64_MAX;

/// Finds the first sample whose low bits add something.
/// @param stored      the depths of the samples in the frame, with all bits
/// @param components  [stored.num_components]
/// @param first       in device memory: kNoPlace before; the lowest place of such a sample
Status find_low_bits(simt::Stream& stream, const PixelFormat& stored, const LowBitsOf* components,
                     const FrameViews& frame, uint64_t* first);

}  // namespace cj2k::cuda
