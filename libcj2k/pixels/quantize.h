// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The coefficients of one code-block become sign-magnitude integers (T.800 E.1.1); and the error of
// these integers without their lowest planes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cj2k {

/// Bit 31 = sign (1: negative; 0 where the magnitude is 0), bits 30..0 = magnitude.
inline constexpr uint32_t kSignBit = 0x80000000u;

/// Of a subband with the 9/7.
struct Quantizer97 {
  float inverse_step;
  float unit;  ///< coefficients are first rounded to multiples of it (core/quantizer.h); 0: not
  uint32_t max_magnitude;  ///< below 2^31
};

/// quantize_97, quantize_53: fill out[y * out_stride + x] for the width x height block at `src`.
/// Strides are in samples. They return the bitwise OR of all magnitudes.
///   9/7  magnitude = min(floor(|c| * inverse_step), max_magnitude): one rounded float multiply, a
///        clamp, then truncation. Inputs are finite, so NaN cannot occur. Of 16 bits: multiples of unit,
///        max_magnitude above 0
///   5/3  magnitude = |c|, of 32 or 16 bits. The plan makes M_b large enough for it (T.800 E.1.2).
/// left_distortion: the sum of LeftPlanes::term (core/distortion.h) over a block of at most 4096
/// quantised samples; `planes` is 1 .. 31.
/// Allocates: no. Thread-safe: yes.
namespace ref {
uint32_t quantize_97(const float* src, ptrdiff_t src_stride, int width, int height,
                     const Quantizer97& quantizer, uint32_t* out, ptrdiff_t out_stride);
uint32_t quantize_97(const int16_t* src, ptrdiff_t src_stride, int width, int height,
                     const Quantizer97& quantizer, uint32_t* out, ptrdiff_t out_stride);
uint32_t quantize_53(const int32_t* src, ptrdiff_t src_stride, int width, int height, uint32_t* out,
                     ptrdiff_t out_stride);
uint32_t quantize_53(const int16_t* src, ptrdiff_t src_stride, int width, int height, uint32_t* out,
                     ptrdiff_t out_stride);
uint64_t left_distortion(const uint32_t* samples, ptrdiff_t stride, int width, int height,
                         int planes, bool reversible);
}  // namespace ref
namespace simd {
uint32_t quantize_97(const float* src, ptrdiff_t src_stride, int width, int height,
                     const Quantizer97& quantizer, uint32_t* out, ptrdiff_t out_stride);
uint32_t quantize_97(const int16_t* src, ptrdiff_t src_stride, int width, int height,
                     const Quantizer97& quantizer, uint32_t* out, ptrdiff_t out_stride);
uint32_t quantize_53(const int32_t* src, ptrdiff_t src_stride, int width, int height, uint32_t* out,
                     ptrdiff_t out_stride);
uint32_t quantize_53(const int16_t* src, ptrdiff_t src_stride, int width, int height, uint32_t* out,
                     ptrdiff_t out_stride);
uint64_t left_distortion(const uint32_t* samples, ptrdiff_t stride, int width, int height,
                         int planes, bool reversible);
}  // namespace simd

}  // namespace cj2k
