// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace cj2k {

/// The GOPs of an encoder read their frames one after the other. If GOPs in flight shared the way to
/// the device, all of them would have their frames at the same time, late, and the device would wait
/// until then.
class ReadingTurns {
 public:
  /// Call it in the order of the frames. @return the turn
  uint64_t begin() {
    const std::lock_guard lock(mutex_);
    return begun_++;
  }
  /// Waits until the GOPs before have ended their turns.
  void wait(uint64_t turn) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ended_ >= turn; });
  }
  /// After `wait`: all frames of the GOP have been read, and no more come.
  void end(uint64_t turn) {
    {
      const std::lock_guard lock(mutex_);
      ended_ = turn + 1;
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t begun_ = 0, ended_ = 0;
};

}  // namespace cj2k
