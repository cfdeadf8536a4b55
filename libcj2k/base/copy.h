// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace cj2k {

/// memcpy to memory that this processor will not read: on x86 the stores do not fetch the lines they
/// overwrite, so a third of the traffic is saved. What was copied is visible to a device, and to
/// other threads that synchronise with this one, when the function returns.
/// @param to  a multiple of 16
inline void copy_past_caches(uint8_t* to, const uint8_t* from, size_t bytes) {
  size_t i = 0;
#if defined(__SSE2__)
  constexpr size_t kLine = 64;
  for (; i + kLine <= bytes; i += kLine) {
    __m128i part[4];
    for (size_t k = 0; k < 4; ++k)
      part[k] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i + 16 * k));
    for (size_t k = 0; k < 4; ++k)
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + i + 16 * k), part[k]);
  }
  _mm_sfence();
#endif
  std::memcpy(to + i, from + i, bytes - i);
}

}  // namespace cj2k
