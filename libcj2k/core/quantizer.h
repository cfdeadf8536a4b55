// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The dead-zone quantiser of T.800 E.2: one coefficient to sign and magnitude (pixels/quantize.h).
//
// A coefficient may first be rounded to a multiple of a unit, a power of two, so that 16 bits hold it.
// The step can then be chosen when the coefficients are in memory already.
#pragma once

#include <cstdint>

#include "core/hd.h"

namespace cj2k {

/// The largest float that is not above `max_magnitude` (< 2^31): the 24 leading bits of
/// max_magnitude. Every larger float truncates to more than max_magnitude. So a comparison with
/// this limit decides the clamp before the conversion to integer, which could overflow.
CJ2K_HD constexpr float quantizer_limit(uint32_t max_magnitude) {
  int drop = 0;
  while ((max_magnitude >> drop) >> 24 != 0) ++drop;
  return static_cast<float>((max_magnitude >> drop) << drop);
}

/// Adding it to a float and subtracting it again rounds the float to a multiple of `unit`, ties to even.
/// A unit of 0 rounds nothing. The float is below 2^22 units.
CJ2K_HD constexpr float quantizer_rounder(float unit) { return unit * 12582912.0f; }  // 1.5 * 2^23

CJ2K_HD inline float float_of_upper_half(uint16_t half) {
  const uint32_t bits = uint32_t{half} << 16;
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

/// min(floor(|c| * inverse_step), max_magnitude) of the rounded coefficient.
/// @param rounder  quantizer_rounder
/// @param limit    quantizer_limit(max_magnitude)
CJ2K_HD constexpr uint32_t quantize97_magnitude(float c, float rounder, float inverse_step,
                                                float limit, uint32_t max_magnitude) {
  const float q = (((c < 0 ? -c : c) + rounder) - rounder) * inverse_step;
  return q > limit ? max_magnitude : static_cast<uint32_t>(static_cast<int32_t>(q));
}

/// Bit 31 is set if the value is negative and not 0.
CJ2K_HD constexpr uint32_t sign_magnitude(bool negative, uint32_t magnitude) {
  return magnitude | (negative && magnitude != 0 ? 0x80000000u : 0u);
}

/// A coefficient as it lies in device memory to a sample: an integer with the 5/3, else a float.
/// The 5/3 uses none of the last four, which are those of quantize97_magnitude.
template <bool kReversible>
CJ2K_HD inline uint32_t sample_of_bits(uint32_t bits, float rounder, float inverse_step,
                                       float limit, uint32_t max_magnitude) {
  if constexpr (kReversible) {
    const auto c = static_cast<int32_t>(bits);
    return sign_magnitude(c < 0, static_cast<uint32_t>(c < 0 ? -c : c));
  } else {
    float c;
    __builtin_memcpy(&c, &bits, sizeof c);
    return sign_magnitude(c < 0,
                          quantize97_magnitude(c, rounder, inverse_step, limit, max_magnitude));
  }
}

/// The same sample with its sign in bit 0: twice the magnitude, plus 1 if it is negative.
template <bool kReversible>
CJ2K_HD inline uint32_t signed_sample_of_bits(uint32_t bits, float inverse_step,
                                              uint32_t max_magnitude) {
  uint32_t magnitude;
  if constexpr (kReversible) {
    const auto c = static_cast<int32_t>(bits);
    magnitude = static_cast<uint32_t>(c < 0 ? -c : c);
  } else {
    // The clamp to 2^31 keeps the conversion in range, and is above every max_magnitude.
    constexpr float kTop = 2147483648.0f;
    float c;
    __builtin_memcpy(&c, &bits, sizeof c);
    const float q = __builtin_fabsf(c) * inverse_step;
    magnitude = static_cast<uint32_t>(q < kTop ? q : kTop);
    magnitude = magnitude < max_magnitude ? magnitude : max_magnitude;
  }
  const uint32_t negative = bits >> 31;
  return magnitude << 1 | (negative < magnitude ? negative : magnitude);
}

}  // namespace cj2k
