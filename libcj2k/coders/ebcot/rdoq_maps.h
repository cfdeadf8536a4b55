// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The maps of rdoq_simd.cc (core/ebcot/rdoq_trial.h has the windows).
//
// 6 bits of a map are a column of a stripe with the rows -1 .. 4, so 8 columns are 6 bytes. Columns of
// zeros stand on both sides of a stripe, and a stripe of zeros above and below.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "core/ebcot/rdoq_trial.h"

namespace cj2k::simd::rdoq_maps {

inline constexpr int kLeftBits = 24;  ///< of the columns of zeros
inline constexpr int kChunk = 8;      ///< columns in kChunkBytes
inline constexpr int kChunkBytes = 6;
inline constexpr int kMarginBytes = 5;  ///< of the columns of zeros
inline constexpr uint32_t kAll = 0x3FFFFFFF;

/// Labels by window: context << 1, and for signs the flip in bit 0.
struct Labels {
  uint8_t zero[4][512];
  uint8_t sign[256];
};
constexpr Labels make_labels() {
  Labels labels{};
  for (unsigned w = 0; w < 512; ++w) {
    for (unsigned o = 0; o < 4; ++o)
      labels.zero[o][w] = static_cast<uint8_t>(rdoq::zero_label(static_cast<Orientation>(o), w));
  }
  for (unsigned w = 0; w < 256; ++w) {
    const auto s = rdoq::sign_label(w);
    labels.sign[w] = static_cast<uint8_t>(s.context << 1 | s.flip);
  }
  return labels;
}
inline constexpr Labels kLabels = make_labels();

inline uint64_t load8(const uint8_t* from) {
  uint64_t v;
  std::memcpy(&v, from, sizeof v);
  return std::endian::native == std::endian::little ? v : __builtin_bswap64(v);
}
inline void store8(uint8_t* to, uint64_t v) {
  if (std::endian::native != std::endian::little) v = __builtin_bswap64(v);
  std::memcpy(to, &v, sizeof v);
}

/// Of eight columns, bit 4 * column + row to bit 6 * column + row + 1.
inline uint64_t spread_columns(uint32_t columns) {
  uint64_t v = columns;
  v = (v & 0xFFFF) | (v & 0xFFFF0000) << 8;
  v = (v & 0xFF0000FF) | (v & 0xFF0000FF00) << 4;
  v = (v & 0xF00F00F00F) | (v & 0xF00F00F00F0) << 2;
  return v << 1;
}

}  // namespace cj2k::simd::rdoq_maps
