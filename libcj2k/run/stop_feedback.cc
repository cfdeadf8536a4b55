// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "run/stop_feedback.h"

namespace cj2k {

uint64_t StopFeedback::begin() {
  const std::lock_guard lock(mutex_);
  return next_++;
}

void StopFeedback::publish(uint64_t gop, const SlopeThresholds& thresholds) {
  {
    const std::lock_guard lock(mutex_);
    ended_[gop % ended_.size()] = {gop, thresholds};
  }
  published_.notify_all();
}

SlopeThresholds StopFeedback::previous(uint64_t gop) {
  std::unique_lock lock(mutex_);
  if (gop == first_) return {};
  const Ended& before = ended_[(gop - 1) % ended_.size()];
  published_.wait(lock, [&] { return before.gop == gop - 1; });
  return before.thresholds;
}

void StopFeedback::restart() {
  const std::lock_guard lock(mutex_);
  first_ = next_;
}

}  // namespace cj2k
