// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Ingest: stored words to planes of samples, with level shift and colour transform.
#pragma once

#include "cj2k.h"
#include "core.h"

namespace cj2k::cuda {

struct IngestView {
  const uint8_t* data;
  int64_t stride_bytes;
  int32_t step_bytes;
  int32_t word_bytes;
  SampleDecode decode;
};

struct IngestComponent {
  uint64_t plane;
  uint32_t stride;
  int32_t width, height;
};

enum class IngestMode { kInteger, kFloat, kRct, kIct };

/// A thread makes four neighbouring samples of a row: of one component, or with a colour transform
/// of three.
/// Grid: x = width / 512, y = rows (a block takes every gridDim.y-th), z = frame * components +
/// component (z = frame with a colour transform). Block: 128 threads along the row.
/// Global: one read of each word (four at a time where they are adjacent and aligned), one 16-byte
/// store per four samples: 4 bytes + the word per sample. Shared: none. Barriers: none.
template <IngestMode kMode>
struct Ingest {
  static constexpr bool kIsColour = kMode == IngestMode::kRct || kMode == IngestMode::kIct;
  static constexpr int kNumComponents = kIsColour ? 3 : 1;
  static constexpr int kThreads = 128;
  static constexpr int kMinBlocks = 8;
  static constexpr int kMaxFrames = 16;

  struct Params {
    uint32_t* samples;  ///< of the first frame
    uint64_t frame_samples;
    uint32_t first_component, num_components;  ///< without colour transform
    IngestComponent components[CJ2K_MAX_COMPONENTS];
    IngestView views[kMaxFrames][CJ2K_MAX_COMPONENTS];
  };
  struct Smem {};

  /// At any alignment; device loads are naturally aligned.
  template <typename T>
  CJ2K_KERNEL_FN static uint32_t load_word(T& t, const uint8_t* p, int32_t word_bytes) {
    const auto address = reinterpret_cast<uintptr_t>(p);
    if (word_bytes == 1) return t.gload_ro(p);
    if (word_bytes == 2) {
      if ((address & 1) == 0) return t.gload_ro(reinterpret_cast<const uint16_t*>(p));
      return t.gload_ro(p) | uint32_t{t.gload_ro(p + 1)} << 8;
    }
    if ((address & 3) == 0) return t.gload_ro(reinterpret_cast<const uint32_t*>(p));
    return t.gload_ro(p) | uint32_t{t.gload_ro(p + 1)} << 8 | uint32_t{t.gload_ro(p + 2)} << 16 |
           uint32_t{t.gload_ro(p + 3)} << 24;
  }

  /// out[0 .. 4) = samples x .. x + 3, of which `count` exist; the others are 0.
  template <typename T>
  CJ2K_KERNEL_FN static void load_four(T& t, const IngestView& view, int32_t y, int32_t x,
                                       int32_t count, int32_t* out) {
    const uint8_t* p = view.data + y * view.stride_bytes + int64_t{x} * view.step_bytes;
    const int32_t word_bytes = view.word_bytes;
    const bool aligned =
        (reinterpret_cast<uintptr_t>(p) & (4u * static_cast<uint32_t>(word_bytes) - 1)) == 0;
    if (count == 4 && view.step_bytes == word_bytes && aligned) {
      // Bits of the next words, above, fall out in decode_sample.
      uint32_t words[4];
      if (word_bytes == 1) {
        words[0] = t.gload_ro(reinterpret_cast<const uint32_t*>(p));
        words[1] = words[0] >> 8;
        words[2] = words[0] >> 16;
        words[3] = words[0] >> 24;
      } else if (word_bytes == 2) {
        const simt::U32x2 v = t.gload_ro(reinterpret_cast<const simt::U32x2*>(p));
        words[0] = v.x;
        words[1] = v.x >> 16;
        words[2] = v.y;
        words[3] = v.y >> 16;
      } else {
        const simt::U32x4 v = t.gload_ro(reinterpret_cast<const simt::U32x4*>(p));
        words[0] = v.x;
        words[1] = v.y;
        words[2] = v.z;
        words[3] = v.w;
      }
      CJ2K_UNROLL
      for (int i = 0; i < 4; ++i) out[i] = decode_sample(words[i], view.decode);
      return;
    }
    CJ2K_UNROLL
    for (int i = 0; i < 4; ++i) {
      out[i] = 0;
      if (i < count) {
        out[i] =
            decode_sample(load_word(t, p + int64_t{i} * view.step_bytes, word_bytes), view.decode);
      }
    }
  }

  CJ2K_KERNEL_FN static uint32_t bits(float value) {
    uint32_t result;
    __builtin_memcpy(&result, &value, sizeof result);
    return result;
  }

  /// The three (or the one) samples of a pixel in place, as bits.
  CJ2K_KERNEL_FN static void transform(int32_t* c, uint32_t* out) {
    if constexpr (kMode == IngestMode::kRct) {
      out[0] = static_cast<uint32_t>(rct_luma(c[0], c[1], c[2]));
      out[1] = static_cast<uint32_t>(c[2] - c[1]);
      out[2] = static_cast<uint32_t>(c[0] - c[1]);
    } else if constexpr (kMode == IngestMode::kIct) {
      const auto r = static_cast<float>(c[0]);
      const auto g = static_cast<float>(c[1]);
      const auto b = static_cast<float>(c[2]);
      out[0] = bits(ict(r, g, b, kIctYr, kIctYg, kIctYb));
      out[1] = bits(ict(r, g, b, kIctCbR, kIctCbG, kIctCbB));
      out[2] = bits(ict(r, g, b, kIctCrR, kIctCrG, kIctCrB));
    } else if constexpr (kMode == IngestMode::kFloat) {
      out[0] = bits(static_cast<float>(c[0]));
    } else {
      out[0] = static_cast<uint32_t>(c[0]);
    }
  }

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem&, const Params& p) {
    const uint32_t frame = kIsColour ? t.block_z() : t.block_z() / p.num_components;
    const uint32_t first =
        kIsColour ? 0 : p.first_component + t.block_z() - frame * p.num_components;
    const int32_t width = p.components[first].width, height = p.components[first].height;
    const auto x = static_cast<int32_t>(4 * (t.block_x() * kThreads + t.thread()));
    if (x >= width) return;
    const int32_t count = width - x < 4 ? width - x : 4;
    uint32_t* const samples = p.samples + frame * p.frame_samples;
    for (auto y = static_cast<int32_t>(t.block_y()); y < height;
         y += static_cast<int32_t>(t.grid_y())) {
      int32_t in[kNumComponents][4];
      CJ2K_UNROLL
      for (int c = 0; c < kNumComponents; ++c) {
        load_four(t, p.views[frame][first + c], y, x, count, in[c]);
      }
      uint32_t out[kNumComponents][4];
      CJ2K_UNROLL
      for (int i = 0; i < 4; ++i) {
        int32_t pixel[kNumComponents];
        uint32_t transformed[kNumComponents];
        CJ2K_UNROLL
        for (int c = 0; c < kNumComponents; ++c) pixel[c] = in[c][i];
        transform(pixel, transformed);
        CJ2K_UNROLL
        for (int c = 0; c < kNumComponents; ++c) out[c][i] = transformed[c];
      }
      CJ2K_UNROLL
      for (int c = 0; c < kNumComponents; ++c) {
        const IngestComponent& component = p.components[first + c];
        uint32_t* to =
            samples + component.plane + uint64_t{component.stride} * static_cast<uint32_t>(y) + x;
        t.gstore(reinterpret_cast<simt::U32x4*>(to),
                 simt::U32x4{out[c][0], out[c][1], out[c][2], out[c][3]});
      }
    }
  }
};

}  // namespace cj2k::cuda
