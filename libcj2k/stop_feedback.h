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

/// For stop = pst: where rate control ended in each GOP, for the next one. GOPs are numbered as
/// they begin. Thread-safe.
class StopFeedback {
 public:
  /// @param most  GOPs in flight at a time
  explicit StopFeedback(size_t most) : ended_(most + 1) {}
  /// The number of a GOP that begins.
  uint64_t begin();
  void publish(uint64_t gop, const SlopeThresholds& thresholds);
  /// Waits for the GOP before `gop`.
  SlopeThresholds previous(uint64_t gop);
  /// A new sequence begins; all GOPs have published.
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
