// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "core/sample.h"
#include "kernels/pixels/coded_words.cuh"
#include "kernels/pixels/low_bits.h"

namespace cj2k::cuda {

/// Finds samples whose low bits add something to the upper ones. A thread looks at four neighbouring
/// samples of a row of one component.
///
/// Grid: x = width / 512, y = rows (a block looks at every gridDim.y-th row), z = component. Block:
/// 128 threads along the row. Shared bytes: none. Barriers: none.
///
/// Global traffic: one word is read per sample (four at a time where they are adjacent and aligned); an
/// atomic minimum for each thread that finds one in a row, and none in a frame that is as it should be.
struct FindLowBits {
  using Rows = WordRows<IngestMode::kInteger>;
  static constexpr int kThreads = 128;
  static constexpr int kMinBlocks = 8;

  struct Component {
    LowBitsOf of;
    int32_t depth;
    int32_t level;  ///< what unsigned samples regain after the level shift
  };
  struct Params {
    uint64_t* first;
    Component components[CJ2K_MAX_COMPONENTS];
    Rows::Params rows;
  };
  struct Smem {};

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem&, const Params& p) {
    const uint32_t c = t.block_z();
    const Component& component = p.components[c];
    const auto x = static_cast<int32_t>(4 * (t.block_x() * kThreads + t.thread()));
    if (x >= component.of.width || component.of.low_bits == 0) return;
    const LowBits low_bits(component.depth - component.of.low_bits, component.of.low_bits);
    const uint32_t mask = (1u << component.depth) - 1;
    const Rows rows(p.rows, c, 0, 0, four_columns(x, component.of.width));
    for (auto y = static_cast<int32_t>(t.block_y()); y < component.of.height;
         y += static_cast<int32_t>(t.grid_y())) {
      int32_t samples[4];
      rows.samples(t, p.rows, rows.load(t, p.rows, y), samples);
      uint64_t column = kNoPlace;
      CJ2K_UNROLL
      for (int32_t i = 3; i >= 0; --i) {
        const uint32_t sample = static_cast<uint32_t>(samples[i] + component.level) & mask;
        if (x + i < component.of.width && low_bits.adds(sample))
          column = static_cast<uint32_t>(x + i);
      }
      if (column == kNoPlace) continue;
      const uint64_t row = uint64_t{CJ2K_MAX_COMPONENTS} * static_cast<uint32_t>(y) + c;
      t.atomic_min(p.first, row << 32 | column);
    }
  }
};

}  // namespace cj2k::cuda
