// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <hwy/cache_control.h>

#include <algorithm>
#include <utility>

#include "core/lifting.h"
#include "pixels/dwt.h"

namespace cj2k {
namespace {

constexpr ptrdiff_t whole_vectors(int32_t samples) {
  return (ptrdiff_t{samples} + kDwtVector - 1) / kDwtVector * kDwtVector;
}

template <typename Sample>
struct Steps;
// kDelay: step t finishes pair t - kDelay. kWarmUp: steps before the first pair that is valid.
template <>
struct Steps<int32_t> {
  static constexpr int32_t kDelay = 0, kWarmUp = 1, kStateLines = 1;
};
template <>
struct Steps<float> {
  static constexpr int32_t kDelay = 1, kWarmUp = 2, kStateLines = 3;
};

/// Symmetric extension of n samples (T.800 F.4.7). For i near the samples, the loop is short.
int32_t mirrored(int32_t i, int32_t n) {
  while (i < 0 || i >= n) i = i < 0 ? -i : 2 * (n - 1) - i;
  return i;
}

/// Writes row y of the result. @param num_low  rows of LL and HL
template <typename Sample, typename Stored>
void write_row(const DwtLine& layout, Sample* line, const DwtTarget<Sample, Stored>& to, int32_t y,
               int32_t num_low) {
  if constexpr (kDwtQuantises<Sample, Stored>) {
    if (to.wide.data != nullptr)
      return write_row<float, float>(layout, line, {to.wide, to.low, to.taker}, y, num_low);
  }
  const auto result = [](Stored* out, const DwtQuantizer& quantizer) {
    if constexpr (kDwtQuantises<Sample, Stored>) {
      return simd::QuantizedRow{out, quantizer};
    } else {
      return out;
    }
  };
  Stored* low = to.bands.row(y);
  Stored* high = low + layout.num_low;
  if (y >= num_low) {
    simd::dwt_row(layout, line, result(low, to.lh), result(high, to.hh));
  } else if (to.low.data == nullptr) {
    simd::dwt_row(layout, line, result(low, to.ll), result(high, to.hl));
  } else {
    Sample* row = to.low.row(to.taker == nullptr ? y : y % kDwtKeptRows);
    simd::dwt_row(layout, line, simd::CachedRow<Sample>{row}, result(high, to.hl));
  }
  if (y < num_low && to.taker != nullptr) to.taker->take(y);
}

}  // namespace

DwtLine::DwtLine(int32_t width, int parity_x)
    : parity(parity_x),
      num_low(lifting_low_count(width, parity)),
      num_high(width - num_low),
      low(kDwtVector),
      high(low + whole_vectors(num_low) + kDwtVector),
      samples(high + whole_vectors(num_high) + kDwtVector) {}

template <typename Sample, typename Stored>
size_t DwtBand<Sample, Stored>::scratch_samples(int32_t width) {
  return kLines * static_cast<size_t>(DwtLine(width, 1).samples);
}

template <typename Sample, typename Stored>
DwtBand<Sample, Stored>::DwtBand(const DwtShape& shape, const DwtTarget<Sample, Stored>& target,
                                 int32_t begin, int32_t end, Sample* scratch)
    : shape_(shape),
      layout_(shape.width, shape.parity_x),
      target_(target),
      begin_(begin),
      end_(end),
      next_(2 * (begin - Steps<Sample>::kWarmUp)),
      last_(2 * (end + Steps<Sample>::kDelay)) {
  // Vector steps also compute values around the samples. They are not used, but must be finite.
  std::fill_n(scratch, scratch_samples(shape.width), Sample{0});
  const auto line = [&](int i) { return scratch + i * layout_.samples; };
  low_ = line(0);
  high_ = line(1);
  state_ = line(2);
  static_assert(2 + Steps<Sample>::kStateLines <= kLines);
  if (shape.height == 1) last_ = next_;
}

template <typename Sample, typename Stored>
int32_t DwtBand<Sample, Stored>::next_row() const {
  if (next_ > last_) return -1;
  return shape_.height == 1 ? 0 : mirrored(next_ - shape_.parity_y, shape_.height);
}

template <typename Sample, typename Stored>
template <typename Row>
void DwtBand<Sample, Stored>::push(const Row* row) {
  const bool is_first = next_ == 2 * (begin_ - Steps<Sample>::kWarmUp);
  const bool is_odd = (next_++ & 1) != 0;
  if (shape_.height == 1) {  // F.4.8: no neighbours to lift with
    for (int32_t i = 0; i < shape_.width; ++i) {
      const bool is_low = ((i + shape_.parity_x) & 1) == 0;
      low_[(is_low ? layout_.low : layout_.high) + i / 2] =
          static_cast<Sample>(row[i]) * static_cast<Sample>(1 + shape_.parity_y);
    }
    finish(low_, 0);
  } else if (is_odd) {
    d_ = row;
  } else {
    if (!is_first) {
      simd::dwt_step(layout_, static_cast<const Row*>(s0_), static_cast<const Row*>(d_), row,
                     state_, low_, high_);
      finish_pair((next_ - 1) / 2 - 1 - Steps<Sample>::kDelay);
    }
    s0_ = row;
  }
  if (next_ > last_) hwy::FlushStream();  // dwt_row uses streaming stores
}

template <typename Sample, typename Stored>
void DwtBand<Sample, Stored>::finish_pair(int32_t pair) {
  if (pair < begin_ || pair >= end_) return;
  const int32_t num_low = lifting_low_count(shape_.height, shape_.parity_y);
  const int32_t low_row = pair - shape_.parity_y;
  if (low_row >= 0 && low_row < num_low) finish(low_, low_row);
  if (pair < shape_.height - num_low) finish(high_, num_low + pair);
}

template <typename Sample, typename Stored>
void DwtBand<Sample, Stored>::finish(Sample* line, int32_t y) {
  write_row(layout_, line, target_, y, lifting_low_count(shape_.height, shape_.parity_y));
}

template class DwtBand<int32_t>;
template class DwtBand<int32_t, int16_t>;
template class DwtBand<float>;
template class DwtBand<float, int16_t>;
template void DwtBand<int32_t>::push(const int32_t*);
template void DwtBand<int32_t, int16_t>::push(const int32_t*);
template void DwtBand<int32_t, int16_t>::push(const int16_t*);
template void DwtBand<float>::push(const float*);
template void DwtBand<float, int16_t>::push(const float*);

}  // namespace cj2k
