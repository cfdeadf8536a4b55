// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Ingest for a plan without wavelet levels: turns the stored words of a frame into planes of
// samples, with level shift and colour transform.
#pragma once

#include "kernels/pixels/ingest_words.cuh"

namespace cj2k::cuda {

/// A thread makes four neighbouring samples of a row of one component.
///
/// Grid: x = width / 512, y = rows (a block makes every gridDim.y-th row), z = component. Block:
/// 128 threads along the row. Shared bytes: none. Barriers: none.
///
/// Global traffic: per sample one word is read (four at a time where they are adjacent and
/// aligned), with a colour transform three words; one 16-byte store per four samples.
template <IngestMode kMode>
struct Ingest {
  using Rows = WordRows<kMode>;
  using Sample = typename Rows::Sample;
  static constexpr int kThreads = 128;
  static constexpr int kMinBlocks = 8;

  struct Component {
    uint64_t plane;
    uint32_t stride;
    int32_t width, height;
  };
  struct Params {
    Sample* samples;
    uint32_t first_component;
    Component components[CJ2K_MAX_COMPONENTS];
    typename Rows::Params rows;
  };
  struct Smem {};
  struct alignas(16) Four {
    Sample x[4];
  };

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem&, const Params& p) {
    const uint32_t c = p.first_component + t.block_z();
    const Component& component = p.components[c];
    const auto x = static_cast<int32_t>(4 * (t.block_x() * kThreads + t.thread()));
    const int32_t count = component.width - x;
    if (count <= 0) return;
    FourColumns columns{x, 0, count >= 4, x >= 4 && count >= 8};
    CJ2K_UNROLL
    for (int32_t i = 1; i < 4; ++i) {
      columns.others |= static_cast<uint32_t>(i < count ? i : count - 1) << (8 * i);
    }
    const Rows rows(p.rows, c, 0, 0, columns);
    for (auto y = static_cast<int32_t>(t.block_y()); y < component.height;
         y += static_cast<int32_t>(t.grid_y())) {
      Four out;
      rows.samples(t, p.rows, rows.load(t, p.rows, y), out.x);
      Sample* const to =
          p.samples + component.plane + uint64_t{component.stride} * static_cast<uint32_t>(y) + x;
      if (count >= 4) {
        t.gstore(reinterpret_cast<Four*>(to), out);
        continue;
      }
      CJ2K_UNROLL
      for (int32_t i = 0; i < 3; ++i) {
        if (i < count) t.gstore(to + i, out.x[i]);
      }
    }
  }
};

}  // namespace cj2k::cuda
