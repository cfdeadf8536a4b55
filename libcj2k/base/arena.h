// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Memory for results whose size is not known before they exist. Each frame slot has one pool, which
// its workers cut into chunks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/buffer.h"

namespace cj2k {

/// Hands out chunks to any thread. It uses the planned memory first, then allocates more, which it
/// keeps.
class ChunkPool {
 public:
  static constexpr size_t kChunkBytes = 64 * 1024;

  explicit ChunkPool(size_t planned_bytes) : planned_(planned_bytes) {}

  /// Frees everything that was handed out. No other thread may use the pool meanwhile.
  void reset() {
    used_ = 0;
    extra_used_ = 0;
  }

  /// Takes at least `bytes`, aligned to a cache line. Throws std::bad_alloc.
  /// @param granted  result: usable bytes
  uint8_t* take(size_t bytes, size_t* granted) {
    *granted = (bytes + kChunkBytes - 1) / kChunkBytes * kChunkBytes;
    const size_t begin = used_.fetch_add(*granted, std::memory_order_relaxed);
    if (begin + *granted <= planned_.bytes()) return planned_.as<uint8_t>() + begin;
    const std::lock_guard lock(mutex_);
    while (extra_used_ < extra_.size() && extra_[extra_used_].bytes() < *granted) ++extra_used_;
    if (extra_used_ == extra_.size()) extra_.emplace_back(*granted);
    return extra_[extra_used_++].as<uint8_t>();
  }

 private:
  HostBuffer planned_;
  std::atomic<size_t> used_ = 0;
  std::mutex mutex_;
  std::vector<HostBuffer> extra_;
  size_t extra_used_ = 0;
};

/// The memory of one worker, taken from a pool chunk by chunk.
class Arena {
 public:
  /// Forgets the current chunk. Call it with ChunkPool::reset.
  void reset() { next_ = end_ = nullptr; }

  /// @return `count` uninitialised Ts, aligned to 16 bytes. Throws std::bad_alloc.
  template <typename T>
  T* take(ChunkPool& pool, size_t count) {
    const size_t bytes = (count * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
    if (static_cast<size_t>(end_ - next_) < bytes) {
      size_t granted = 0;
      next_ = pool.take(bytes, &granted);
      end_ = next_ + granted;
    }
    uint8_t* taken = next_;
    next_ += bytes;
    return reinterpret_cast<T*>(taken);
  }

 private:
  static constexpr size_t kAlignment = 16;
  uint8_t* next_ = nullptr;
  uint8_t* end_ = nullptr;
};

}  // namespace cj2k
