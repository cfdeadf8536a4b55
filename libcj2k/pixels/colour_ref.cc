// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <bit>

#include "core/colour.h"
#include "pixels/colour.h"

namespace cj2k::ref {

void rct_row(int32_t* c0, int32_t* c1, int32_t* c2, int32_t count) {
  for (int32_t x = 0; x < count; ++x) {
    const int32_t r = c0[x], g = c1[x], b = c2[x];
    c0[x] = rct_luma(r, g, b);
    c1[x] = b - g;
    c2[x] = r - g;
  }
}

void ict_row(int32_t* c0, int32_t* c1, int32_t* c2, int32_t count) {
  for (int32_t x = 0; x < count; ++x) {
    const float r = static_cast<float>(c0[x]);
    const float g = static_cast<float>(c1[x]);
    const float b = static_cast<float>(c2[x]);
    c0[x] = std::bit_cast<int32_t>(ict(r, g, b, kIctYr, kIctYg, kIctYb));
    c1[x] = std::bit_cast<int32_t>(ict(r, g, b, kIctCbR, kIctCbG, kIctCbB));
    c2[x] = std::bit_cast<int32_t>(ict(r, g, b, kIctCrR, kIctCrG, kIctCrB));
  }
}

void to_float_row(int32_t* c, int32_t count) {
  for (int32_t x = 0; x < count; ++x) c[x] = std::bit_cast<int32_t>(static_cast<float>(c[x]));
}

}  // namespace cj2k::ref
