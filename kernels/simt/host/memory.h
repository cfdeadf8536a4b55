// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The device memory of the shim. Device addresses lie in a range of addresses that is mapped
// without any access rights. The bytes lie in a second range at a constant distance, and only the
// checked accesses add that distance. So the host and a kernel both fault when they dereference a
// device address themselves. Each buffer has its own slots, with at least one free slot between
// buffers:
//
//   | buffer 1 ... canary | free | buffer 2 ...        ... canary | free | ...
//   0                     64K    128K
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace cj2k::simt::shim {

/// The blocks that accessed a 4-byte word in the launch `launch`, counted from 1; 0: none, kMany:
/// several. `written` and `read` are masks of bytes: accesses to disjoint bytes do not conflict,
/// and then only the last writer is remembered.
struct WordRecord {
  static constexpr uint32_t kMany = (1u << 28) - 1;
  uint32_t launch;
  uint32_t writer : 28, written : 4;
  uint32_t reader : 28, read : 4;
  uint32_t atomic : 28, read_only : 1, : 3;
};
static_assert(sizeof(WordRecord) == 16);

class DeviceMemory {
 public:
  static constexpr size_t kArenaBytes = size_t{16} << 30;
  static constexpr size_t kSlotBytes = 64 * 1024;
  static constexpr size_t kCanaryBytes = 256;

  static DeviceMemory& instance();

  /// @return the address of a poisoned buffer; 0: no room
  uintptr_t allocate(size_t bytes, int owner);
  /// @return false: not the address of a buffer
  bool free(uintptr_t address);
  size_t bytes_in_use(int owner) const;
  size_t bytes_in_use() const { return bytes_in_use_; }
  /// Frees all buffers of an owner.
  /// @return how many there were
  size_t free_all(int owner);
  void check_canaries() const;

  /// @return where the bytes are; null if they are not all inside one buffer of `owner`
  uint8_t* access(uintptr_t address, size_t bytes, int owner) const {
    const uintptr_t offset = address - base_;
    if (offset < kArenaBytes) [[likely]] {
      const Buffer& buffer = buffers_[slot_buffer_[offset / kSlotBytes]];
      if (offset + bytes <= buffer.end && buffer.owner == owner) [[likely]]
        return data_ + offset;
    }
    return nullptr;
  }
  bool contains(uintptr_t address) const { return address - base_ < kArenaBytes; }
  WordRecord* record(uintptr_t address) const { return records_ + (address - base_) / 4; }
  /// Text for messages, valid until the next call: the buffer that holds the address or lies before
  /// it. Not a std::string, because the caller may never return, and would leak it.
  const char* describe(uintptr_t address) const;

 private:
  struct Buffer {
    uintptr_t begin = 0, end = 0;  ///< offsets; end = 0: none
    size_t slots = 0;
    int owner = -1;
  };
  DeviceMemory();
  void check_canary(const Buffer& buffer) const;
  void release(uint32_t index);

  uintptr_t base_ = 0;
  uint8_t* data_ = nullptr;
  WordRecord* records_ = nullptr;
  std::vector<uint32_t> slot_buffer_;  ///< [slot] index of its buffer; 0: none
  std::vector<Buffer> buffers_;
  std::vector<uint32_t> free_indices_;
  size_t next_slot_ = 1;
  size_t bytes_in_use_ = 0;
  mutable std::string description_;
};

}  // namespace cj2k::simt::shim
