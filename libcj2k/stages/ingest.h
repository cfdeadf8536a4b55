// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Any sample layout to one row of signed integers, with the DC level shift of T.800 G.1.
#pragma once

#include <cstdint>

namespace cj2k {

/// One row of one component. Sample x is the word of `word_bytes` (1, 2, 4; host order, any
/// alignment) at data + x * step_bytes, shifted right by `shift` (0 .. 8 * word_bytes - 1), its low
/// `depth` bits (1..16), two's complement when `is_signed`. Bits that the shifted word lacks are 0.
/// `step_bytes` may be any number, negative ones too.
struct SampleRow {
  const uint8_t* data;
  int32_t step_bytes;
  int32_t word_bytes;
  int32_t shift;
  int32_t depth;
  bool is_signed;
};

/// out[0..count) = sample, less 2^(depth-1) when unsigned. Bits above `depth` are ignored. `out`
/// need not be aligned. Reads no byte before the first or behind the last of the `count` words;
/// between them it may read what other components or padding hold. Deterministic: yes. Allocates:
/// no. Thread-safe: yes.
namespace ref {
void ingest_row(const SampleRow& row, int32_t* out, int32_t count);
}
namespace simd {
void ingest_row(const SampleRow& row, int32_t* out, int32_t count);
}

}  // namespace cj2k
