// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <cmath>

#include "coders/ebcot/colour_errors.h"
#include "pixels/quantize.h"

namespace cj2k::ref {

void add_colour_error(const ChromaBlock& b, float* shift) {
  for (int y = 0; y < b.height; ++y) {
    for (int x = 0; x < b.width; ++x) {
      const uint32_t magnitude = b.samples[y * b.stride + x] & ~kSignBit;
      const float coefficient = b.coefficients[y * b.coefficient_stride + x];
      const bool above = b.cut.upper && (magnitude >> b.cut.plane >> 1) != 0;
      const int lowest = b.cut.plane + (above ? 1 : 0);
      const auto level = static_cast<float>(static_cast<int32_t>(magnitude >> lowest));
      const float shown = level == 0 ? 0 : (level + 0.5f) * std::ldexp(b.step, lowest);
      shift[y * b.width + x] += b.factor * (coefficient - std::copysign(shown, coefficient));
    }
  }
}

}  // namespace cj2k::ref
