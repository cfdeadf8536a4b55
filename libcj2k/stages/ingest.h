// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// One row of samples in any layout becomes signed integers, with the DC level shift of T.800 G.1.
#pragma once

#include <cstdint>

namespace cj2k {

/// One row of one component. Sample x is the word at data + x * step_bytes, shifted right by
/// `shift`, its low `depth` bits; two's complement if `is_signed`. Bits that the shifted word lacks
/// are 0.
struct SampleRow {
  const uint8_t* data;
  int32_t step_bytes;  ///< any number, also negative
  int32_t word_bytes;  ///< 1, 2 or 4; host byte order, any alignment
  int32_t shift;       ///< 0 .. 8 * word_bytes - 1
  int32_t depth;       ///< 1 .. 16
  bool is_signed;
};

/// out[0..count) = the samples, less 2^(depth-1) if unsigned. Bits above `depth` are ignored. `out`
/// need not be aligned. No byte before the first or after the last of the `count` words is read;
/// bytes between the words (other components, padding) may be read. Deterministic: yes. Allocates:
/// no. Thread-safe: yes.
namespace ref {
void ingest_row(const SampleRow& row, int32_t* out, int32_t count);
}
namespace simd {
void ingest_row(const SampleRow& row, int32_t* out, int32_t count);
}

}  // namespace cj2k
