// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Multiple component transforms of T.800 Annex G on one row of three components, in place. Inputs
// are |x| <= 2^16. float32 results have a fixed order of operations and no contraction, so that
// every implementation gives the same bits.
#pragma once

#include <cstdint>

namespace cj2k {

/// rct_row: RCT, G.2.1.
///   c0 = floor((R + 2G + B) / 4), c1 = B - G, c2 = R - G
/// ict_row: ICT, G.3.1. Reads integers and writes floats to the same memory.
///   c0 = (kIctYr*R + kIctYg*G) + kIctYb*B; c1 and c2 have the same form, with the Cb and Cr
///   coefficients of core/colour.h
/// to_float_row: the same integer-to-float step, for components without ICT.
/// Pointers need not be aligned. Rows must not overlap. Deterministic: yes. Allocates: no.
/// Thread-safe: yes.
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
