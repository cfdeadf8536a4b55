// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// How one piece of device or page-locked memory is divided into typed arrays. Offsets and sizes
// follow from the plan, so they are known before a device is opened.
#pragma once

#include <cstdint>

namespace cj2k::cuda {

/// An array in a piece of memory.
template <typename T>
struct Span {
  uint64_t offset = 0;  ///< in bytes
  uint64_t count = 0;

  uint64_t bytes() const { return count * sizeof(T); }
  /// @param memory  simt::DeviceBuffer or simt::PinnedBuffer that was divided
  /// @return its first entry; null if it is empty
  template <typename Memory>
  T* in(const Memory& memory) const {
    return count > 0 ? memory.template as<T>(offset) : nullptr;
  }
};

/// Takes arrays one after the other, each aligned to 256 bytes.
class Carver {
 public:
  template <typename T>
  Span<T> take(uint64_t count) {
    const Span<T> span{bytes_, count};
    bytes_ += (span.bytes() + kAlignment - 1) / kAlignment * kAlignment;
    return span;
  }
  uint64_t bytes() const { return bytes_; }

 private:
  static constexpr uint64_t kAlignment = 256;
  uint64_t bytes_ = 0;
};

}  // namespace cj2k::cuda
