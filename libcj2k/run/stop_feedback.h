// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "core/slope_search.h"

namespace cj2k {

/// For stop = pst: passes the thresholds at which rate control ended in a GOP to the next GOP. GOPs
/// are numbered in the order in which they begin. Thread-safe.
class StopFeedback {
 public:
  /// @param most  most GOPs in flight at a time
  explicit StopFeedback(size_t most) : ended_(most + 1) {}
  /// @return the number of a GOP that begins
  uint64_t begin();
  /// Stores where a GOP ended. To be called once for each GOP.
  void publish(uint64_t gop, const SlopeThresholds& thresholds);
  /// Waits until the GOP before `gop` has published. @return its thresholds; 0 for the first GOP
  SlopeThresholds previous(uint64_t gop);
  /// Begins a new sequence. All GOPs must have published.
  void restart();

 private:
  struct Ended {
    uint64_t gop = UINT64_MAX;
    SlopeThresholds thresholds{};
  };
  std::mutex mutex_;
  std::condition_variable published_;
  std::vector<Ended> ended_;
  uint64_t next_ = 0, first_ = 0;
};

}  // namespace cj2k
