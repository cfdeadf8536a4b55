// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "pixels/xyz.h"

namespace cj2k::ref {

void xyz_row(const XyzTables& tables, int32_t* r, int32_t* g, int32_t* b, int32_t count) {
  const auto half = static_cast<int32_t>(tables.linear.size() / 2);
  for (int32_t x = 0; x < count; ++x) {
    const auto linear = [&](int32_t sample) {
      return tables.linear[static_cast<size_t>(sample + half)];
    };
    const float red = linear(r[x]), green = linear(g[x]), blue = linear(b[x]);
    const auto code = [&](int row) {
      const uint32_t bits = xyz_bits(xyz_linear(tables.matrix, row, red, green, blue));
      return xyz_code(bits, tables.codes[xyz_entry(bits)]) - 2048;
    };
    r[x] = code(0);
    g[x] = code(1);
    b[x] = code(2);
  }
}

}  // namespace cj2k::ref
