// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>

namespace cj2k {

/// For frame_steps = 2: passes the step set (plan.h) that the first frame of a sequence chose to
/// the frames after it. Thread-safe.
class StepChoice {
 public:
  /// Each GOP calls it when it begins, in order.
  /// @return whether the GOP is the first one, which must publish
  bool begin();
  /// Only the first call of a sequence counts.
  void publish(uint32_t step_set);
  /// Waits until the first GOP has published.
  uint32_t wait();
  /// Begins a new sequence. All GOPs must have ended.
  void restart();

 private:
  std::mutex mutex_;
  std::condition_variable published_;
  bool begun_ = false;
  std::optional<uint32_t> step_set_;
};

}  // namespace cj2k
