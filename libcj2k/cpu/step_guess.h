// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The step set (plan/plan.h) that the next frame will choose, before it is known.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>

namespace cj2k {

/// Guesses after frames that chose the same set. A wrong guess costs another transform, which is three to
/// four times what a right one saves; each one doubles the frames that must agree. It changes no bytes.
/// Thread-safe.
class StepGuess {
 public:
  /// @return none: the frames before do not agree
  std::optional<uint32_t> next() {
    const std::lock_guard lock(mutex_);
    return equal_ >= needed_ ? std::optional(last_) : std::nullopt;
  }
  /// A frame has chosen. @param guess  what `next` said for it
  void note(std::optional<uint32_t> guess, uint32_t step_set) {
    const std::lock_guard lock(mutex_);
    if (guess) needed_ = *guess == step_set ? std::max(needed_ - 1, kFewest) : needed_ * 2;
    needed_ = std::min(needed_, kMost);
    equal_ = last_ == step_set ? equal_ + 1 : 1;
    last_ = step_set;
  }

 private:
  static constexpr uint32_t kFewest = 2, kMost = 64;

  std::mutex mutex_;
  uint32_t last_ = 0;         ///< what stills choose most often
  uint32_t equal_ = kFewest;  ///< frames that chose it, up to the last one; or so at the beginning
  uint32_t needed_ = kFewest;
};

}  // namespace cj2k
