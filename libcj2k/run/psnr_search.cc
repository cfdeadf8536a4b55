// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "run/psnr_search.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/slope.h"
#include "rate/frame_result.h"

namespace cj2k {
namespace {

/// So far above the target the search ends, dB.
constexpr double kNear = 0.005;
/// A measurement further above the target says no more than that.
constexpr double kFar = 6;
/// The search halves what is left with one step in this many, in case that its guesses come no nearer.
constexpr int kHalving = 4;
/// The fewest bytes are found to one part in this many.
constexpr uint64_t kByteParts = 4096;

}  // namespace

PsnrSearch::PsnrSearch(const Plan& plan, const RateControl& rate, const RateLimits& limits,
                       double target)
    : target_(target), caps_(limits), next_(limits), best_(limits) {
  double samples = 0;
  std::array<double, CJ2K_MAX_COMPONENTS> scales{};
  for (size_t c = 0; c < plan.components.size(); ++c) {
    const Component& component = plan.components[c];
    samples += static_cast<double>(component.rect.width()) * component.rect.height();
    const double peak = std::ldexp(1.0, component.depth) - 1;
    scales[c] = 1 / (peak * peak);
  }
  const Selection& selection = rate.selection();
  FrameResult nothing;  // of a frame without any point
  std::vector<double> removed(size_t{kMaxSlope} + 1);
  std::vector<bool> has_point(removed.size());
  has_point[kMaxSlope] = true;  // all points away, or nearly all
  for (size_t b = 0; b < plan.blocks.size(); ++b) {
    const CodeBlock& block = plan.blocks[b];
    const CodedBlock& coded = selection.blocks[b];
    nothing.add_error(plan, block, selection.step_set, coded.total_distortion);
    const double gain = block.in_region ? plan.region_gain : 1;
    const double scale = scales[static_cast<size_t>(block.component)] /
                         (gain * subband_of(plan, block, selection.step_set).visual_weight);
    double before = 0;
    for (int i = 0; i < coded.num_hull; ++i) {
      removed[coded.hull[i].slope] += (coded.hull[i].distortion - before) * scale;
      has_point[coded.hull[i].slope] = true;
      before = coded.hull[i].distortion;
    }
  }
  double error = 0;
  for (size_t c = 0; c < plan.components.size(); ++c) error += nothing.squared_error[c] * scales[c];
  // Below the slope where the caps have cut there is nothing more.
  const size_t lowest = std::max<size_t>(rate.threshold(), 1);
  for (size_t slope = kMaxSlope; slope >= lowest; --slope) {
    if (!has_point[slope]) continue;
    error -= removed[slope];
    const double left = std::max(error / samples, 1e-20);
    cuts_.push_back({static_cast<uint16_t>(slope), -10 * std::log10(left)});
  }
  std::reverse(cuts_.begin(), cuts_.end());
  reached_.cut = -1;
  failed_.cut = static_cast<int64_t>(cuts_.size());
  // With a cap, whether it allows the target is the first question.
  if (!rate.has_cap()) at_ = next_cut();
  next_.slope = slope();
}

/// Above the lowest cut nothing but the limits.
uint16_t PsnrSearch::slope() const {
  return at_ == 0 ? caps_.slope : cuts_[static_cast<size_t>(at_)].slope;
}

/// @return a cut between those known, where the estimate is the target. Its distance from the
///         measurements is interpolated between them.
int64_t PsnrSearch::next_cut() const {
  const int64_t first = reached_.cut + 1, end = failed_.cut;
  const bool has_reached = first > 0, has_failed = end < static_cast<int64_t>(cuts_.size());
  const double low = has_reached ? offset(reached_) : has_failed ? offset(failed_) : 0;
  const double high = has_failed ? offset(failed_) : low;
  if (has_reached && has_failed && steps_ % kHalving == 0) return (first + end - 1) / 2;
  int64_t cut = first;
  while (cut + 1 < end) {
    const double part = static_cast<double>(cut + 1 - reached_.cut) / (end - reached_.cut);
    const double psnr = cuts_[static_cast<size_t>(cut + 1)].psnr + low + part * (high - low);
    if (psnr < target_) break;
    ++cut;
  }
  // With one side alone the steps grow, so that the other one is soon found.
  const int64_t least = int64_t{1} << (steps_ < 16 ? 2 * steps_ : 32);
  if (has_reached && !has_failed) cut = std::max(cut, reached_.cut + least);
  if (has_failed && !has_reached) cut = std::min(cut, failed_.cut - least);
  return std::clamp(cut, first, end - 1);
}

/// @return bytes between those known, interpolated
uint64_t PsnrSearch::next_bytes() const {
  const uint64_t between = reached_.bytes - failed_.bytes;
  double part = (target_ - failed_.psnr) / (reached_.psnr - failed_.psnr);
  if (steps_ % kHalving == 0) part = 0.5;
  const auto more = static_cast<uint64_t>(part * static_cast<double>(between)) + 1;
  return failed_.bytes + std::min(more, between - 1);
}

bool PsnrSearch::step(double psnr, uint64_t frame_bytes) {
  ++steps_;
  const bool reaches = psnr >= target_;
  const double most = target_ + kFar;
  (reaches ? reached_ : failed_) = {at_, psnr < most ? psnr : most, frame_bytes};
  // Under this cap no cut has the target, also where the points leave some of it.
  if (!reaches && cuts_bytes_) failed_.bytes = next_.frame_bytes;
  if (reaches) best_ = next_;
  is_best_ = reaches || reached_.cut < 0;
  const bool is_near = reached_.cut >= 0 && reached_.psnr <= target_ + kNear;
  if (!is_near && !cuts_bytes_ && failed_.cut - reached_.cut > 1) {
    at_ = next_cut();
    next_.slope = slope();
    return true;
  }
  // Between the points of one slope.
  cuts_bytes_ = true;
  next_ = best_;
  if (is_near || reached_.cut < 0 || failed_.bytes == 0 ||
      reached_.bytes <= failed_.bytes + std::max<uint64_t>(reached_.bytes / kByteParts, 1))
    return false;
  next_.frame_bytes = std::min(caps_.frame_bytes, next_bytes());
  return true;
}

std::vector<uint16_t> layer_psnr_slopes(const Plan& plan, RateControl& rate,
                                        const RateLimits& limits,
                                        const std::function<double()>& measured) {
  const CodedBlock* const blocks = rate.selection().blocks;
  const auto cut = [&](const RateLimits& at) {
    rate.set_limits(at);
    rate.allocate(blocks);
  };
  std::vector<uint16_t> slopes;
  for (int l = 0; l < plan.params.num_layer_psnr; ++l) {
    cut(limits);
    PsnrSearch search(plan, rate, limits, plan.params.layer_psnr[l]);
    for (bool goes_on = true; goes_on && !search.has_slope();) {
      cut(search.limits());
      goes_on = search.step(measured(), rate.frame_bytes());
    }
    const uint16_t slope = std::max(search.limits().slope, kMinSlope);
    slopes.push_back(slopes.empty() ? slope : std::min(slopes.back(), slope));
  }
  return slopes;
}

}  // namespace cj2k
