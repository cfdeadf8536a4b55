// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "coders/coded_block.h"

namespace cj2k::test {

/// Number of hull points of `block`, which has no codes, in layers 0 .. layer of a selection.
inline uint32_t points_in_layers(const Selection& selection, uint32_t block, uint32_t layer) {
  const uint32_t last = selection.final_points[block];
  if (layer + 1 == selection.layers) return last;
  uint32_t n = 0;
  while (n < last && selection.blocks[block].hull[n].slope >= selection.layer_slopes[layer]) ++n;
  return n;
}

}  // namespace cj2k::test
