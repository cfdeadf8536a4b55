// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// One row of samples in any layout becomes signed integers, with the DC level shift of T.800 G.1.
#pragma once

#include <cstdint>

#include "cj2k.h"
#include "plan/plan.h"

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
  /// The lowest bits of the sample are rounded away: the result has depth - round_bits bits. Halves
  /// go up, and what would leave the range is clipped.
  int32_t round_bits = 0;  ///< 0 .. depth - 1
};

/// The row that reads a component of the plan, from words that may hold more bits than are coded
/// (source_depth): these are rounded away (low_bits = round), or not read. With xyz: all bits.
inline SampleRow component_row(const Plan& plan, const Component& component,
                               const cj2k_component_view& view, const uint8_t* data) {
  const int32_t depth = read_depth(plan, component);
  const int32_t unread = component.depth + component.low_bits - depth;
  const int32_t round_bits = plan.params.xyz == CJ2K_XYZ_OFF ? depth - component.depth : 0;
  return {data,  view.step_bytes,     view.word_bytes, view.shift + unread,
          depth, component.is_signed, round_bits};
}

/// out[0..count) = the samples, less 2^(depth-1) if unsigned, divided by 2^round_bits. Bits above
/// `depth` are ignored. `out` need not be aligned. No byte before the first or after the last of the
/// `count` words is read; bytes between the words (other components, padding) may be read.
/// Deterministic: yes. Allocates: no. Thread-safe: yes.
namespace ref {
void ingest_row(const SampleRow& row, int32_t* out, int32_t count);
}
namespace simd {
void ingest_row(const SampleRow& row, int32_t* out, int32_t count);
}

}  // namespace cj2k
