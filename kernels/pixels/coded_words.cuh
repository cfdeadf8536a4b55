// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The samples of a frame that are not coded as they are stored, as planes of 16-bit words: the
// first level of the wavelet transform reads these instead of the frame.
//
// They are made by a kernel of their own, because the first level reads each row of three
// components in three warps, and rows beside each segment twice: it would do this work four times.
#pragma once

#include "kernels/pixels/ingest_words.cuh"

namespace cj2k::cuda {

/// Rounds the low bits of samples away. A thread makes four neighbouring samples of a row of one
/// component.
///
/// Grid: x = width / 512, y = rows (a block makes every gridDim.y-th row), z = component. Block:
/// 128 threads along the row. Shared bytes: none. Barriers: none.
///
/// Global traffic: per sample one word is read (four at a time where they are adjacent and
/// aligned); one 8-byte store per four samples.
struct RoundWords {
  using Rows = WordRows<IngestMode::kInteger>;
  static constexpr int kThreads = 128;
  static constexpr int kMinBlocks = 8;

  struct Component {
    uint64_t offset;
    uint32_t row_bytes;
    int32_t width, height;
    int32_t level;  ///< what unsigned samples regain after the level shift
    SampleRound round;
  };
  struct Params {
    uint8_t* words;
    Component components[CJ2K_MAX_COMPONENTS];
    Rows::Params rows;
  };
  struct Smem {};

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem&, const Params& p) {
    const uint32_t c = t.block_z();
    const Component& component = p.components[c];
    const auto x = static_cast<int32_t>(4 * (t.block_x() * kThreads + t.thread()));
    const int32_t count = component.width - x;
    if (count <= 0) return;
    FourColumns columns{x, 0, count >= 4};
    CJ2K_UNROLL
    for (int32_t i = 1; i < 4; ++i) {
      columns.others |= static_cast<uint32_t>(i < count ? i : count - 1) << (8 * i);
    }
    const Rows rows(p.rows, c, 0, 0, columns);
    for (auto y = static_cast<int32_t>(t.block_y()); y < component.height;
         y += static_cast<int32_t>(t.grid_y())) {
      int32_t in[4];
      rows.samples(t, p.rows, rows.load(t, p.rows, y), in);
      uint32_t out[4];
      CJ2K_UNROLL
      for (int32_t i = 0; i < 4; ++i) {
        const int32_t sample = round_sample(in[i], component.round) + component.level;
        out[i] = static_cast<uint32_t>(sample) & 0xFFFF;
      }
      // Rows begin at a multiple of 16 bytes and have room for whole fours.
      uint8_t* const to =
          p.words + component.offset + uint64_t{component.row_bytes} * static_cast<uint32_t>(y);
      t.gstore(reinterpret_cast<simt::U32x2*>(to + 2 * x),
               simt::U32x2{out[0] | out[1] << 16, out[2] | out[3] << 16});
    }
  }
};

}  // namespace cj2k::cuda
