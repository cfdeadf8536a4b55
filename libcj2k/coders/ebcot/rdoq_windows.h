// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The maps and windows of rdoq_simd.cc.
//
// A map holds one bit for each sample and question. 6 bits are a column of a stripe with the rows
// -1 .. 4 (rows -1 and 4 belong to the stripes beside it), so 8 columns are 6 bytes. Columns of zeros
// stand on both sides of a stripe, and a stripe of zeros above and below.
//
// A window is five columns, 30 bits: bit 6 * column + row + 1. The neighbours of a bit are 1, 5, 6
// and 7 bits away, and ascending bits are in scan order.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "coders/ebcot/contexts.h"
#include "coders/ebcot/rdoq.h"
#include "coders/ebcot/rdoq_model.h"

namespace cj2k::simd::rdoq_windows {

// Maps.
inline constexpr int kSign = 0;   ///< negative
inline constexpr int kOne = 1;    ///< + up: bit of that plane
inline constexpr int kEarly = 4;  ///< + up: coded by the significance pass
/// + up: significant after that plane; up to two planes above the tracked
inline constexpr int kReached = 7;
static_assert(kReached + kTrackedPlanes + 2 == kRdoqMaps);

inline constexpr int kLeftBits = 24;  ///< of the columns of zeros
inline constexpr int kChunk = 8;      ///< columns in kChunkBytes
inline constexpr int kChunkBytes = 6;
inline constexpr int kMarginBytes = 5;  ///< of the columns of zeros
inline constexpr int kColumnBits = 6;
inline constexpr uint32_t kAll = 0x3FFFFFFF;
inline constexpr uint32_t kRows = 0x1E;           ///< rows 0 .. 3 of column 0 of a window
inline constexpr uint32_t kRowAbove = 0x1041041;  ///< row -1 of all columns
inline constexpr uint32_t kRowBelow = kRowAbove << 5;
inline constexpr uint32_t kMiddle = kRows << 6 | kRows << 12 | kRows << 18;  ///< columns 1 .. 3
inline constexpr uint32_t kNear = 0x3FFFF << 6;  ///< columns 1 .. 3 with the rows above and below
/// What precedes the columns 1 .. 3 in scan order.
inline constexpr uint32_t kPrecedes = kRowAbove | kRows;
inline constexpr unsigned kNeighbours = 0x1EF;  ///< of the nine bits of around()

/// The nine bits around `bit`, column by column.
inline unsigned around(uint32_t significant, int bit) {
  return (significant >> (bit - 7) & 7) | (significant >> (bit - 1) & 7) << 3 |
         (significant >> (bit + 5) & 7) << 6;
}
inline bool any_around(uint32_t significant, int bit) {
  return (around(significant, bit) & kNeighbours) != 0;
}
/// Left, right, above, below: bits 0 .. 3 their significance, bits 4 .. 7 their signs.
inline unsigned cross(uint32_t significant, uint32_t sign, int bit) {
  const auto four = [bit](uint32_t w) {
    return (w >> (bit - 6) & 1) | (w >> (bit + 6) & 1) << 1 | (w >> (bit - 1) & 1) << 2 |
           (w >> (bit + 1) & 1) << 3;
  };
  return four(significant) | four(sign) << 4;
}
/// All bits next to a bit of `w`.
inline uint32_t grown(uint32_t w) {
  const uint32_t column = w | w << 1 | w >> 1;
  return column | column << 6 | column >> 6;
}

/// The bits beside a bit of `w`, in rows 0 .. 3.
inline uint32_t adjacent(uint32_t w) {
  const uint32_t column = w | w << 1 | w >> 1;
  return w << 1 | w >> 1 | column << 6 | column >> 6;
}

/// Labels by window: context << 1, and for signs the flip in bit 0.
struct Labels {
  uint8_t zero[4][512];
  uint8_t sign[256];
};
constexpr Labels make_labels() {
  Labels labels{};
  for (unsigned w = 0; w < 512; ++w) {
    const auto at = [w](int i) { return static_cast<int>(w >> i & 1); };
    const int h = at(1) + at(7), v = at(3) + at(5), d = at(0) + at(2) + at(6) + at(8);
    for (unsigned o = 0; o < 4; ++o)
      labels.zero[o][w] = static_cast<uint8_t>(
          mq::kZero + ebcot::zero_context(static_cast<Orientation>(o), h, v, d));
  }
  for (unsigned w = 0; w < 256; ++w) {
    const auto at = [w](int i) { return (w >> i & 1) == 0 ? 0 : (w >> (i + 4) & 1) != 0 ? -1 : 1; };
    const auto clamp = [](int sum) { return sum < -1 ? -1 : sum > 1 ? 1 : sum; };
    const auto s = ebcot::sign_context(clamp(at(0) + at(1)), clamp(at(2) + at(3)));
    labels.sign[w] = static_cast<uint8_t>(s.context << 1 | s.flip);
  }
  return labels;
}
inline constexpr Labels kLabels = make_labels();

/// Five columns of one stripe in one plane.
struct Window {
  uint32_t higher, now, early, sign, second, one;
};

/// The one or two windows that a change is seen in.
struct Windows {
  Window w[2];
  uint32_t region[2];  ///< bits of the samples whose decisions are counted
  uint32_t near[2];    ///< of them, those of rows y - 1 .. y + 1
  int first, count;    ///< stripes
  int own;             ///< index of the sample's own stripe
};

/// The windows before and after a change of the sample in the middle.
struct Pair {
  Windows before, after;
};

inline uint64_t load8(const uint8_t* from) {
  uint64_t v;
  std::memcpy(&v, from, sizeof v);
  return std::endian::native == std::endian::little ? v : __builtin_bswap64(v);
}
inline void store8(uint8_t* to, uint64_t v) {
  if (std::endian::native != std::endian::little) v = __builtin_bswap64(v);
  std::memcpy(to, &v, sizeof v);
}

/// Of eight columns, bit 4 * column + row to bit kColumnBits * column + row + 1.
inline uint64_t spread_columns(uint32_t columns) {
  uint64_t v = columns;
  v = (v & 0xFFFF) | (v & 0xFFFF0000) << 8;
  v = (v & 0xFF0000FF) | (v & 0xFF0000FF00) << 4;
  v = (v & 0xF00F00F00F) | (v & 0xF00F00F00F0) << 2;
  return v << 1;
}

inline int64_t cost_of(uint32_t pair, uint32_t bit) { return pair >> (16 * bit) & 0xFFFF; }

}  // namespace cj2k::simd::rdoq_windows
