// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Loops over the lanes of a warp that compilers turn into vector instructions.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "program.h"

namespace cj2k::ptx {

/// to[l] = value(l) for these lanes. value is called for all lanes, so it must not trap.
template <typename T, typename F>
inline void write_lanes(uint32_t lanes, T* to, F value) {
  if (lanes == kAllLanes) {
#pragma omp simd
    for (int l = 0; l < kLanes; ++l) to[l] = value(l);
  } else if ((lanes & (lanes - 1)) == 0) {
    const int l = std::countr_zero(lanes);
    to[l] = value(l);
  } else {
#pragma omp simd
    for (int l = 0; l < kLanes; ++l) to[l] = (lanes >> l & 1) != 0 ? value(l) : to[l];
  }
}

/// A bit for each lane. is_set is called for all lanes.
template <typename F>
inline uint32_t lane_bits(F is_set) {
  alignas(32) uint8_t flags[kLanes];
#pragma omp simd
  for (int l = 0; l < kLanes; ++l) flags[l] = is_set(l) ? 1 : 0;
  uint32_t bits = 0;
  for (int k = 0; k < 4; ++k) {
    uint64_t eight;  // of 0 or 1 each; the product has bit l of the lanes at place 56 + l
    std::memcpy(&eight, flags + 8 * k, sizeof eight);
    bits |= static_cast<uint32_t>(eight * 0x0102040810204080u >> 56) << (8 * k);
  }
  return bits;
}

/// One lane after the other.
template <typename F>
inline void for_each_lane(uint32_t lanes, F f) {
  for (uint32_t left = lanes; left != 0; left &= left - 1) f(std::countr_zero(left));
}

inline void write_predicate(uint32_t lanes, uint32_t& to, uint32_t bits) {
  to = (to & ~lanes) | (bits & lanes);
}

}  // namespace cj2k::ptx
