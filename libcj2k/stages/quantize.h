// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// One code-block of transform coefficients to sign-magnitude integers (T.800 E.1.1), and what those
// lose without their lowest planes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cj2k {

/// Bit 31 = sign (1: negative; 0 where the magnitude is 0), bits 30..0 = magnitude.
inline constexpr uint32_t kSignBit = 0x80000000u;

/// out[y * out_stride + x] for the width x height block at `src`; strides in samples.
/// 9/7: magnitude = min(floor(|c| * inverse_step), max_magnitude), max_magnitude < 2^31: one
/// rounded float multiply, then truncation, clamped before the conversion; NaN cannot occur (inputs
/// are finite). 5/3: magnitude = |c| (max_magnitude is an assertion: the plan makes M_b large
/// enough, T.800 E.1.2).
/// @return the bitwise OR of all magnitudes. Allocates: no. Thread-safe: yes.
/// left_distortion: the sum of LeftPlanes::term (core/distortion.h) over a block of at most 4096
/// quantised samples, `planes` 1 .. 31.
namespace ref {
uint32_t quantize_97(const float* src, ptrdiff_t src_stride, int width, int height,
                     float inverse_step, uint32_t max_magnitude, uint32_t* out,
                     ptrdiff_t out_stride);
uint32_t quantize_53(const int32_t* src, ptrdiff_t src_stride, int width, int height, uint32_t* out,
                     ptrdiff_t out_stride);
uint64_t left_distortion(const uint32_t* samples, ptrdiff_t stride, int width, int height,
                         int planes, bool reversible);
}  // namespace ref
namespace simd {
uint32_t quantize_97(const float* src, ptrdiff_t src_stride, int width, int height,
                     float inverse_step, uint32_t max_magnitude, uint32_t* out,
                     ptrdiff_t out_stride);
uint32_t quantize_53(const int32_t* src, ptrdiff_t src_stride, int width, int height, uint32_t* out,
                     ptrdiff_t out_stride);
uint64_t left_distortion(const uint32_t* samples, ptrdiff_t stride, int width, int height,
                         int planes, bool reversible);
}  // namespace simd

}  // namespace cj2k
