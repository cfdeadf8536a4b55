// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// One level of the forward wavelet transform (T.800 F.4), split into independent jobs: first all
// columns (vertical, F.4.2 VER_SD), then all rows (HOR_SD), each in place in Mallat order: low-pass
// samples first, then high-pass ones. Level l of a tile-component works on the top-left low-pass
// rectangle that level l-1 left.
//
// Normalisation of T.800: low-pass DC gain 1, high-pass Nyquist gain 2. Symmetric extension
// (F.4.7). A signal of one sample passes unchanged at an even coordinate and doubled at an odd one
// (F.4.8: 5/3 doubles; 9/7 likewise). 9/7: float32, fixed order of operations, no contraction: d +=
// alpha * (s0 + s1) is one rounded add, one rounded multiply, one rounded add. K is applied last
// (low *= 1/K, high *= K with the K of Table F.4, as T.800 normalises).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/view.h"

namespace cj2k {

/// Floats or ints of scratch that each call of one thread may use, for a plane of at most width x
/// height. Any alignment.
size_t dwt_scratch_samples(int32_t width, int32_t height);

/// Columns [column_begin, column_end) of `plane`. `parity` = the y coordinate of the first row & 1
/// (odd: it is high-pass). Rows [begin, end) likewise for horizontal, `parity` = x coordinate & 1.
/// Different ranges may run in parallel, each with its own scratch. 5/3: int32, |x| < 2^30 / 4.
/// Deterministic: yes. Allocates: no. Any alignment and stride. Fastest: rows aligned to 64 bytes,
/// column ranges of multiples of 64, and a stride that is no multiple of 4096 bytes (rows that
/// share cache sets cost the columns a third).
namespace ref {
void dwt53_vertical(Plane<int32_t> plane, int parity, int32_t column_begin, int32_t column_end,
                    int32_t* scratch);
void dwt53_horizontal(Plane<int32_t> plane, int parity, int32_t row_begin, int32_t row_end,
                      int32_t* scratch);
void dwt97_vertical(Plane<float> plane, int parity, int32_t column_begin, int32_t column_end,
                    float* scratch);
void dwt97_horizontal(Plane<float> plane, int parity, int32_t row_begin, int32_t row_end,
                      float* scratch);
}  // namespace ref
namespace simd {
void dwt53_vertical(Plane<int32_t> plane, int parity, int32_t column_begin, int32_t column_end,
                    int32_t* scratch);
void dwt53_horizontal(Plane<int32_t> plane, int parity, int32_t row_begin, int32_t row_end,
                      int32_t* scratch);
void dwt97_vertical(Plane<float> plane, int parity, int32_t column_begin, int32_t column_end,
                    float* scratch);
void dwt97_horizontal(Plane<float> plane, int parity, int32_t row_begin, int32_t row_end,
                      float* scratch);
}  // namespace simd

}  // namespace cj2k
