// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Multiple component transforms of T.800 Annex G on one row of the three components, in place, |x|
// <= 2^16. float32 results have a fixed order of operations, without contraction, so that every
// implementation gives the same bits.
#pragma once

#include <cstdint>

namespace cj2k {

/// RCT, G.2.1: c0 = floor((R + 2G + B) / 4), c1 = B - G, c2 = R - G.
/// ICT, G.3.1: integers in, floats out over the same memory (the three pointers are written as
/// float):
///   c0 = (kIctYr*R + kIctYg*G) + kIctYb*B, and likewise c1, c2 with the coefficients of
///   core/colour.h.
/// to_float: the same integer-to-float step for components without ICT.
/// Pointers need not be aligned, must not overlap. Deterministic: yes. Allocates: no. Thread-safe:
/// yes.
namespace ref {
void rct_row(int32_t* c0, int32_t* c1, int32_t* c2, int32_t count);
void ict_row(int32_t* c0, int32_t* c1, int32_t* c2, int32_t count);
void to_float_row(int32_t* c, int32_t count);
}  // namespace ref
namespace simd {
void rct_row(int32_t* c0, int32_t* c1, int32_t* c2, int32_t count);
void ict_row(int32_t* c0, int32_t* c1, int32_t* c2, int32_t count);
void to_float_row(int32_t* c, int32_t count);
}  // namespace simd

}  // namespace cj2k
