// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// One level of the forward wavelet transform (T.800 F.4): all columns (F.4.2 VER_SD), then all rows
// (HOR_SD). The result is in Mallat order: low-pass samples first, then high-pass samples. Level l
// of a tile-component transforms the low-pass rectangle of level l - 1.
//
// Normalisation of T.800: low-pass DC gain 1, high-pass Nyquist gain 2. Symmetric extension
// (F.4.7). A signal of one sample is unchanged at an even coordinate and doubled at an odd one
// (F.4.8), with 5/3 and with 9/7.
//   9/7  float32, with a fixed order of operations and no contraction: d += alpha * (s0 + s1) is
//        one rounded add, one rounded multiply, one rounded add. The scaling comes last:
//        low *= 1/K, high *= K, with the K of Table F.4. Results may be quantised to 16 bits.
//   5/3  int32, |x| < 2^30 / 4. Results that fit may be stored in 16 bits.
//
// `parity` of a direction is the coordinate of the first sample & 1; with 1, that sample is
// high-pass. Deterministic: yes. Allocates: no. Any alignment and stride.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/view.h"

namespace cj2k {

/// The reference: in place, columns [column_begin, column_end) or rows [row_begin, row_end).
/// @param scratch  [dwt_scratch_samples(width, height)]
size_t dwt_scratch_samples(int32_t width, int32_t height);
namespace ref {
void dwt53_vertical(Plane<int32_t> plane, int parity, int32_t column_begin, int32_t column_end,
                    int32_t* scratch);
void dwt53_horizontal(Plane<int32_t> plane, int parity, int32_t row_begin, int32_t row_end,
                      int32_t* scratch);
void dwt97_vertical(Plane<float> plane, int parity, int32_t column_begin, int32_t column_end,
                    float* scratch);
void dwt97_horizontal(Plane<float> plane, int parity, int32_t row_begin, int32_t row_end,
                      float* scratch);
}  // namespace ref

/// Samples in the longest vector of any instruction set.
#if defined(__x86_64__) || defined(__i386__)
inline constexpr int32_t kDwtVector = 16;
#else
inline constexpr int32_t kDwtVector = 64;
#endif

/// How a row is held in working memory, as a line: samples at even x coordinates (low-pass) and
/// samples at odd x coordinates (high-pass) apart. Around both there is room for the longest
/// vector.
struct DwtLine {
  DwtLine(int32_t width, int parity);

  int parity;
  int32_t num_low, num_high;
  ptrdiff_t low, high;  ///< index in the line where each half begins
  ptrdiff_t samples;    ///< samples of a line, whole vectors
};

struct DwtShape {
  int32_t width, height;  ///< >= 1
  int parity_x, parity_y;
};

/// Makes integers of 16 bits of coefficients of the 9/7: the values of quantize_97
/// (pixels/quantize.h) with their signs, of bands whose magnitudes are below 2^15; or rounded to a unit.
struct DwtQuantizer {
  float inverse_step;
  float most;     ///< max_magnitude, below 2^15
  float rounder;  ///< quantizer_rounder(1) (core/quantizer.h), to round; 0: to truncate
};

/// Takes rows of LL as they are made, from top to bottom.
class DwtLowRows {
 public:
  virtual ~DwtLowRows() = default;
  virtual void take(int32_t y) = 0;
};

/// Rows that `low` of a DwtTarget keeps if they are taken: a band reads back as far as this.
inline constexpr int32_t kDwtKeptRows = 8;

/// Whether a level quantises its results.
template <typename Sample, typename Stored>
inline constexpr bool kDwtQuantises =
    std::conjunction_v<std::is_same<Sample, float>, std::is_same<Stored, int16_t>>;

/// Where a level goes.
template <typename Sample, typename Stored>
struct DwtTarget {
  Plane<Stored> bands;  ///< the whole rectangle, Mallat order
  /// LL, for the next level. Without data, LL is in `bands`, too.
  Plane<Sample> low = {};
  DwtLowRows* taker = nullptr;  ///< not null: row y of `low` is in its row y % kDwtKeptRows
  /// For kDwtQuantises. With data in `wide`, results are not quantised, and go there.
  DwtQuantizer ll = {}, hl = {}, lh = {}, hh = {};
  Plane<Sample> wide = {};
};

/// Rows that are read when one is pushed: it, and those before it.
inline constexpr int32_t kDwtPushed = 3;

/// One level of a rectangle whose rows are pushed one by one. Each row is read once and written
/// once: the vertical steps run on a few lines that stay in the cache, and each finished row is
/// transformed horizontally at once. A band makes the pairs of rows [begin, end) of [0,
/// num_pairs(shape)). Bands of one rectangle may run in parallel. At its ends, a band also reads up
/// to three rows of the neighbouring bands, or rows mirrored at the border. Lifting mirrored rows
/// gives mirrored results, bit for bit.
/// Sample is int32_t for 5/3, float for 9/7; Stored is Sample or int16_t.
template <typename Sample, typename Stored = Sample>
class DwtBand {
 public:
  static int32_t num_pairs(const DwtShape& shape) {
    return (shape.height + shape.parity_y + 1) / 2;
  }
  static size_t scratch_samples(int32_t width);

  /// @param target   only the band's rows are written
  /// @param scratch  [scratch_samples(width)], aligned to 64 bytes, for as long as the band lives
  DwtBand(const DwtShape& shape, const DwtTarget<Sample, Stored>& target, int32_t begin,
          int32_t end, Sample* scratch);

  /// @return y of the row to push next; -1: the band is complete
  int32_t next_row() const;
  /// @param row  [width] of Sample, with 5/3 also of Stored: all of one type; not written, and read until
  ///             kDwtPushed - 1 more are pushed
  template <typename Row>
  void push(const Row* row);

 private:
  static constexpr int kLines = 5;

  void finish_pair(int32_t pair);
  void finish(Sample* line, int32_t y);

  DwtShape shape_;
  DwtLine layout_;
  DwtTarget<Sample, Stored> target_;
  int32_t begin_, end_;
  /// The next and the last row to push. Row 0 is at the last even coordinate that is not below the
  /// first row; mirrored rows beyond the borders count too.
  int32_t next_, last_;
  const void *s0_, *d_;  ///< the last rows at an even and an odd coordinate
  Sample* state_;        ///< lines that a step leaves for the next step
  Sample *low_, *high_;  ///< lines that a step has finished
};

namespace simd {

/// One vertical step, with the rows s0, d, s1 (2t, 2t + 1, 2t + 2). Steps go from top to bottom. All others are
/// lines.
///   5/3  finishes pair t. `state` is one line: d of pair t - 1.
///   9/7  finishes pair t - 1. `state` is three lines: d of pair t - 1 after alpha, s of pair t - 1
///        after beta, d of pair t - 2 after gamma.
void dwt_step(const DwtLine& layout, const int32_t* s0, const int32_t* d, const int32_t* s1,
              int32_t* state, int32_t* low, int32_t* high);
void dwt_step(const DwtLine& layout, const int16_t* s0, const int16_t* d, const int16_t* s1,
              int32_t* state, int32_t* low, int32_t* high);
void dwt_step(const DwtLine& layout, const float* s0, const float* d, const float* s1, float* state,
              float* low, float* high);

/// The horizontal transform of a line. It overwrites the line.
/// @param low, high  [num_low] and [num_high] results
void dwt_row(const DwtLine& layout, int32_t* line, int32_t* low, int32_t* high);
void dwt_row(const DwtLine& layout, int32_t* line, int16_t* low, int16_t* high);
void dwt_row(const DwtLine& layout, float* line, float* low, float* high);
/// Results that are read again soon, so they stay in the cache; and quantised results.
template <typename Sample>
struct CachedRow {
  Sample* out;
};
struct QuantizedRow {
  int16_t* out;
  DwtQuantizer quantizer;
};
void dwt_row(const DwtLine& layout, int32_t* line, CachedRow<int32_t> low, int32_t* high);
void dwt_row(const DwtLine& layout, int32_t* line, CachedRow<int32_t> low, int16_t* high);
void dwt_row(const DwtLine& layout, float* line, CachedRow<float> low, float* high);
void dwt_row(const DwtLine& layout, float* line, CachedRow<float> low, const QuantizedRow& high);
void dwt_row(const DwtLine& layout, float* line, const QuantizedRow& low, const QuantizedRow& high);

}  // namespace simd
}  // namespace cj2k
