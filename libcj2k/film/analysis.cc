// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "film/analysis.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/slope.h"
#include "depth/early_stop.h"
#include "rate/rate.h"

namespace cj2k {
namespace {

/// One block in kStride of each kind is coded, but at least kLeast. The error of a sum falls with the root
/// of their number, so kMost are enough: those of the largest kind of 1920x1080 are 17.
constexpr uint32_t kStride = 8, kLeast = 3, kMost = 24;
/// Magnitudes are summed in quarters of the quantiser step, so that blocks whose samples are all in the
/// dead zone differ too.
constexpr float kSumScale = 4;
constexpr float kMostSum = 524287;  ///< per sample, so that 4096 of them fit into 32 bits
/// Slopes of a block move by four octaves at most.
constexpr int kMostShift = 1024;
/// How far blocks are coded below the lowest point that is used: they pause before they have all
/// points there (core/stop.h).
constexpr int kMargin = 32;

/// Every fourth row tells enough of a block.
constexpr int kRowStep = 4;

/// Coding ends where this share of the cap is reached; from there to the cap the curve is extended, by
/// at most kMostGrowth from point to point.
constexpr double kEnough = 0.65, kMostGrowth = 1.4;
/// What the first coding aims at.
constexpr double kGuess = 0.8;

template <typename Sample>
uint32_t magnitude_sum(const Sample* row, ptrdiff_t stride, int width, int height, float scale) {
  uint32_t sum = 0;
  for (int y = 0; y < height; y += kRowStep, row += kRowStep * stride) {
    for (int x = 0; x < width; ++x) {
      const float magnitude = std::fabs(static_cast<float>(row[x])) * scale;
      sum +=
          static_cast<uint32_t>(static_cast<int32_t>(magnitude < kMostSum ? magnitude : kMostSum));
    }
  }
  return sum;
}

/// log2(x) in 256ths.
int log2_steps(double x) { return log_slope(x, 1) - kSlopeUnit; }

}  // namespace

FrameAnalysis::FrameAnalysis(const Plan& plan)
    : plan_(plan),
      empty_bytes_(smallest_bytes(plan).frame),
      kind_(plan.blocks.size()),
      sum_(plan.blocks.size()),
      by_kind_(plan.blocks.size()),
      stands_(plan.blocks.size()),
      log_means_(plan.blocks.size()) {
  for (size_t b = 0; b < plan.blocks.size(); ++b) {
    const Subband& band = plan.subbands[plan.blocks[b].subband];
    kind_[b] = (band.component * CJ2K_MAX_RESOLUTIONS + band.level) * 4 + band.orientation;
  }
  sample_.reserve(plan.blocks.size());
}

void FrameAnalysis::measure(const CoefficientPlanes& planes, size_t begin, size_t end) {
  for (size_t b = begin; b < end; ++b) {
    const CodeBlock& block = plan_.blocks[b];
    const float scale = plan_.subbands[block.subband].inverse_step * kSumScale;
    if (plan_.reversible) {
      const auto plane = planes.block<int32_t>(block);
      sum_[b] =
          magnitude_sum(plane.data, plane.stride_samples, block.width, block.height, kSumScale);
    } else {
      const auto plane = planes.block<float>(block);
      sum_[b] = magnitude_sum(plane.data, plane.stride_samples, block.width, block.height, scale);
    }
  }
}

void FrameAnalysis::begin(const RateLimits& limits) {
  limits_ = limits;
  std::iota(by_kind_.begin(), by_kind_.end(), 0u);
  std::sort(by_kind_.begin(), by_kind_.end(), [this](uint32_t a, uint32_t b) {
    if (kind_[a] != kind_[b]) return kind_[a] < kind_[b];
    return sum_[a] != sum_[b] ? sum_[a] < sum_[b] : a < b;
  });
  sample_.clear();
  const size_t all = by_kind_.size();
  for (size_t first = 0, end; first < all; first = end) {
    end = first;
    while (end < all && kind_[by_kind_[end]] == kind_[by_kind_[first]]) ++end;
    const size_t count = end - first;
    const size_t groups =
        std::min(count, std::clamp<size_t>((count + kStride - 1) / kStride, kLeast, kMost));
    for (size_t g = 0; g < groups; ++g) {
      const size_t from = first + g * count / groups, to = first + (g + 1) * count / groups;
      const uint32_t middle = by_kind_[(from + to) / 2];
      sample_.push_back(middle);
      for (size_t i = from; i < to; ++i) stands_[by_kind_[i]] = middle;
    }
  }
  std::sort(sample_.begin(), sample_.end());
  order_ = {.blocks = sample_};
  if (plan_.params.coder == CJ2K_CODER_HT) {
    order_.anew = true;
    order_.points = HtPoints::kEstimate;
    point_ = 0;
  } else {
    set_point(first_point());
  }
}

/// Codes down to a point of the curve; below point 0 in full.
void FrameAnalysis::set_point(int point) {
  point_ = std::max(point, 0);
  order_.thresholds.fill(point < 0 ? uint16_t{0}
                                   : static_cast<uint16_t>(curve_slope(point) - kMargin));
}

/// Bytes of the frame where it is cut at a point: a sample of mean magnitude m takes about
/// log2(1 + 2 e m / step) bits, if magnitudes fall exponentially.
double FrameAnalysis::expected_bytes(int point) const {
  double bits = 0;
  for (size_t b = 0; b < plan_.blocks.size(); ++b) {
    const int ratio = log_means_[b] - (curve_slope(point) - kSlopeUnit) / 2;
    if (ratio < -2048) continue;
    const double samples = plan_.blocks[b].width * plan_.blocks[b].height;
    const double ratio_value =
        slope_value(static_cast<uint16_t>(kSlopeUnit + std::min(ratio, 4096)));
    bits += samples * log2_steps(1 + ratio_value) / 256;
  }
  return bits / 8;
}

/// The point at which the frame's cap is expected to be used up.
int FrameAnalysis::first_point() {
  int low = 0, high = CJ2K_CURVE_POINTS - 1;
  if (limits_.frame_bytes == kNoTarget)
    return limits_.slope == 0 ? -1 : std::min((limits_.slope - kCurveLowest) / kCurveStep, high);
  for (size_t b = 0; b < plan_.blocks.size(); ++b) {
    const CodeBlock& block = plan_.blocks[b];
    const int rows = (block.height + kRowStep - 1) / kRowStep;
    // The step S in the picture that trades at a slope has S^2 = 6 slope / (8 ln 2) = 1.082 slope.
    constexpr double kBits = 2 * 2.71828 / 0.69315;
    log_means_[b] = log2_steps(kBits * (sum_[b] + 0.5) / (kSumScale * block.width * rows)) -
                    (log2_steps(1.082) - log2_steps(distortion_weight(plan_, block))) / 2;
  }
  while (low < high) {
    const int middle = (low + high) / 2;
    if (expected_bytes(middle) <= kGuess * most_bytes())
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

bool FrameAnalysis::goes_on(const CodedBlock* blocks) {
  CurveSum sum;
  for (uint32_t b = 0; b < plan_.blocks.size(); ++b) {
    const uint32_t s = stands_[b];
    const int shift = 2 * (log2_steps(sum_[b] + 1.0) - log2_steps(sum_[s] + 1.0));
    sum.add(plan_.blocks[b].component, blocks[s], std::clamp(shift, -kMostShift, kMostShift),
            step_error(plan_, plan_.blocks[b], 0));
  }
  const bool is_full = order_.thresholds[0] == 0;
  curve_ = sum.curve(empty_bytes_, limits_, is_full ? 0 : curve_slope(point_));
  if (is_full || limits_.frame_bytes == kNoTarget) return false;
  const double used = curve_.bytes[0], cap = most_bytes();
  if (used >= kEnough * cap) {
    extend();
    return false;
  }
  // Bytes grow about with the square root of the falling slope.
  set_point(point_ - 1 - 2 * log2_steps(cap / used) / kCurveStep);
  return true;
}

/// Bytes beyond which a curve is of no use.
double FrameAnalysis::most_bytes() const {
  double most = static_cast<double>(limits_.frame_bytes);
  if (limits_.component_bytes != kNoTarget) {
    most = std::min(most, static_cast<double>(limits_.component_bytes) *
                              static_cast<double>(plan_.components.size()));
  }
  return most;
}

/// Goes on below the point where coding ended: bytes grow as they did last, and each removes the error
/// that the slope says.
void FrameAnalysis::extend() {
  if (point_ + 2 >= CJ2K_CURVE_POINTS) return;
  const auto body = [this](int point) {
    return static_cast<double>(curve_.bytes[point]) - static_cast<double>(empty_bytes_);
  };
  const double growth =
      std::clamp(body(point_) / std::max(body(point_ + 1), 1.0), 1.0, kMostGrowth);
  for (int i = point_ - 1; i >= 0; --i) {
    const double bytes =
        std::min(static_cast<double>(empty_bytes_) + growth * body(i + 1), most_bytes());
    curve_.bytes[i] = std::max(curve_.bytes[i + 1], static_cast<uint32_t>(bytes));
    const double slope = slope_value(static_cast<uint16_t>(curve_slope(i) + kCurveStep / 2));
    const double less = slope * (curve_.bytes[i] - curve_.bytes[i + 1]);
    curve_.error[i] = static_cast<float>(std::max(curve_.error[i + 1] - less, 0.0));
  }
}

}  // namespace cj2k
