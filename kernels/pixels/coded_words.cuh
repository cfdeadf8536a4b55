// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The samples of a frame that are not coded as they are stored, as planes of 16-bit words: the
// first level of the wavelet transform reads these instead of the frame.
//
// They are made by a kernel of their own, because the first level reads each row of three
// components in three warps, and rows beside each segment twice: it would do this work four times.
#pragma once

#include <algorithm>

#include "kernels/pixels/ingest_words.cuh"

namespace cj2k::cuda {

/// Where the words of a component go.
struct WordPlane {
  uint64_t offset;
  uint32_t row_bytes;
  int32_t width, height;
};

/// The columns of a thread: four from `x` on, or the last of the row repeated.
CJ2K_KERNEL_FN FourColumns four_columns(int32_t x, int32_t width) {
  const int32_t count = width - x;
  FourColumns columns{x, 0, count >= 4, x >= 4 && count >= 8};
  CJ2K_UNROLL
  for (int32_t i = 1; i < 4; ++i) {
    columns.others |= static_cast<uint32_t>(i < count ? i : count - 1) << (8 * i);
  }
  return columns;
}

/// The grid of a kernel whose threads take four columns each.
template <typename Kernel>
simt::Dim3 grid_of(int32_t width, int32_t height, uint32_t components) {
  constexpr uint32_t kBlockSamples = 4 * Kernel::kThreads, kMaxGridY = 65535;
  return {(static_cast<uint32_t>(width) + kBlockSamples - 1) / kBlockSamples,
          std::min(static_cast<uint32_t>(height), kMaxGridY), components};
}

/// Stores four words. Rows begin at a multiple of 16 bytes and have room for whole fours.
template <typename T>
CJ2K_KERNEL_FN void store_words(T& t, uint8_t* words, const WordPlane& plane, int32_t x, int32_t y,
                                const int32_t* samples) {
  uint32_t out[4];
  CJ2K_UNROLL
  for (int32_t i = 0; i < 4; ++i) out[i] = static_cast<uint32_t>(samples[i]) & 0xFFFF;
  uint8_t* const to =
      words + plane.offset + uint64_t{plane.row_bytes} * static_cast<uint32_t>(y) + 2 * x;
  t.gstore(reinterpret_cast<simt::U32x2*>(to),
           simt::U32x2{out[0] | out[1] << 16, out[2] | out[3] << 16});
}

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
    WordPlane plane;
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
    if (x >= component.plane.width) return;
    const Rows rows(p.rows, c, 0, 0, four_columns(x, component.plane.width));
    for (auto y = static_cast<int32_t>(t.block_y()); y < component.plane.height;
         y += static_cast<int32_t>(t.grid_y())) {
      int32_t samples[4];
      rows.samples(t, p.rows, rows.load(t, p.rows, y), samples);
      CJ2K_UNROLL
      for (int32_t i = 0; i < 4; ++i) {
        samples[i] = round_sample(samples[i], component.round) + component.level;
      }
      store_words(t, p.words, component.plane, x, y, samples);
    }
  }
};

/// R'G'B' become X'Y'Z' (core/xyz.h). A thread makes four neighbouring pixels of a row.
///
/// Grid: x = width / 512, y = rows (a block makes every gridDim.y-th row). Block: 128 threads along
/// the row. Shared bytes: none. Barriers: none.
///
/// Global traffic: per pixel three words are read, as in RoundWords, and six entries of tables,
/// which are 109 KB and 4 bytes for each value of the source: both stay in L2, and the entries that
/// a picture uses mostly in L1. Three 8-byte stores per four pixels.
struct XyzWords {
  using Rows = WordRows<IngestMode::kInteger>;
  static constexpr int kThreads = 128;
  static constexpr int kMinBlocks = 8;

  struct Params {
    uint8_t* words;
    WordPlane planes[3];
    const float* linear;
    const uint32_t* codes;
    XyzMatrix matrix;
    int32_t half;  ///< what the source regains after the level shift
    Rows::Params rows;
  };
  struct Smem {};

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem&, const Params& p) {
    const int32_t width = p.planes[0].width;
    const auto x = static_cast<int32_t>(4 * (t.block_x() * kThreads + t.thread()));
    if (x >= width) return;
    const FourColumns columns = four_columns(x, width);
    for (auto y = static_cast<int32_t>(t.block_y()); y < p.planes[0].height;
         y += static_cast<int32_t>(t.grid_y())) {
      float linear[3][4];
      CJ2K_UNROLL
      for (uint32_t c = 0; c < 3; ++c) {
        const Rows rows(p.rows, c, 0, 0, columns);
        int32_t samples[4];
        rows.samples(t, p.rows, rows.load(t, p.rows, y), samples);
        CJ2K_UNROLL
        for (int32_t i = 0; i < 4; ++i) linear[c][i] = t.gload_ro(p.linear + p.half + samples[i]);
      }
      CJ2K_UNROLL
      for (int row = 0; row < 3; ++row) {
        int32_t out[4];
        CJ2K_UNROLL
        for (int32_t i = 0; i < 4; ++i) {
          const uint32_t bits =
              xyz_bits(xyz_linear(p.matrix, row, linear[0][i], linear[1][i], linear[2][i]));
          out[i] = xyz_code(bits, t.gload_ro(p.codes + xyz_entry(bits)));
        }
        store_words(t, p.words, p.planes[row], x, y, out);
      }
    }
  }
};

}  // namespace cj2k::cuda
