// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "base/system.h"

namespace cj2k {

inline constexpr size_t kCacheLineBytes = 64;

/// Uninitialised host memory, aligned to a cache line. Large buffers take only address space until
/// they are touched. They ask for large pages, because planes are read by columns as well as by
/// rows.
class HostBuffer {
 public:
  HostBuffer() = default;
  /// Throws std::bad_alloc; api.cc turns it into kNoMemory.
  explicit HostBuffer(size_t bytes)
      : data_(bytes == 0 ? nullptr : ::operator new(bytes, alignment(bytes))), bytes_(bytes) {
    if (alignment(bytes) == kLargePage) advise_large_pages(data_, bytes);
  }
  HostBuffer(HostBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  HostBuffer& operator=(HostBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~HostBuffer() {
    if (data_ != nullptr) ::operator delete(data_, alignment(bytes_));
  }

  size_t bytes() const { return bytes_; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  static constexpr std::align_val_t kLargePage{size_t{2} << 20};
  static constexpr std::align_val_t alignment(size_t bytes) {
    return bytes >= static_cast<size_t>(kLargePage) ? kLargePage
                                                    : std::align_val_t{kCacheLineBytes};
  }

  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace cj2k
