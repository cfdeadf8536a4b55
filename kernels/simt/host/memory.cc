// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/simt/host/memory.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>

#include "kernels/simt/host/internal.h"

namespace cj2k::simt::shim {
namespace {

constexpr uint8_t kPoison = 0xCB;  // as a float -2.7e7, as an index far out of bounds
constexpr uint8_t kCanary = 0xE5;

void* reserve(size_t bytes, int protection) {
  void* p = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) {
    std::fprintf(stderr,
                 "shim: cannot reserve %zu bytes of address space (a limit on virtual memory?)\n",
                 bytes);
    std::abort();
  }
  return p;
}

}  // namespace

DeviceMemory& DeviceMemory::instance() {
  static DeviceMemory* memory =
      new DeviceMemory;  // never destroyed, because buffers may outlive static objects
  return *memory;
}

DeviceMemory::DeviceMemory() : slot_buffer_(kArenaBytes / kSlotBytes, 0), buffers_(1) {
  base_ = reinterpret_cast<uintptr_t>(reserve(kArenaBytes, PROT_NONE));
  data_ = static_cast<uint8_t*>(reserve(kArenaBytes, PROT_READ | PROT_WRITE));
  records_ = static_cast<WordRecord*>(
      reserve(kArenaBytes / 4 * sizeof(WordRecord), PROT_READ | PROT_WRITE));
}

uintptr_t DeviceMemory::allocate(size_t bytes, int owner) {
  const size_t num_slots = (bytes + kCanaryBytes + kSlotBytes - 1) / kSlotBytes + 1;
  const size_t total = slot_buffer_.size();
  if (num_slots >= total) return 0;
  // The search begins after the last buffer, so that the address of a freed buffer stays unused for
  // a long time.
  size_t run = 0, tried = 0, slot = next_slot_;
  for (; run < num_slots && tried <= 2 * total; ++tried) {
    if (slot == total) {
      slot = 1;
      run = 0;
    }
    run = slot_buffer_[slot] == 0 ? run + 1 : 0;
    ++slot;
  }
  if (run < num_slots) return 0;
  const size_t first = slot - num_slots;
  next_slot_ = slot;

  uint32_t index = 0;
  if (free_indices_.empty()) {
    index = static_cast<uint32_t>(buffers_.size());
    buffers_.emplace_back();
  } else {
    index = free_indices_.back();
    free_indices_.pop_back();
  }
  Buffer& buffer = buffers_[index];
  buffer = {first * kSlotBytes, first * kSlotBytes + bytes, num_slots - 1, owner};
  for (size_t i = 0; i < buffer.slots; ++i) slot_buffer_[first + i] = index;
  std::memset(data_ + buffer.begin, kPoison, bytes);
  std::memset(data_ + buffer.end, kCanary, kCanaryBytes);
  bytes_in_use_ += bytes;
  return base_ + buffer.begin;
}

void DeviceMemory::check_canary(const Buffer& buffer) const {
  for (size_t i = 0; i < kCanaryBytes; ++i) {
    if (data_[buffer.end + i] == kCanary) continue;
    report(Bug::kCanary, "byte %zu after a buffer of %zu bytes was changed to 0x%02x", i,
           static_cast<size_t>(buffer.end - buffer.begin), data_[buffer.end + i]);
    std::memset(data_ + buffer.end, kCanary, kCanaryBytes);
    return;
  }
}

void DeviceMemory::check_canaries() const {
  for (const Buffer& buffer : buffers_) {
    if (buffer.end != 0) check_canary(buffer);
  }
}

void DeviceMemory::release(uint32_t index) {
  Buffer& buffer = buffers_[index];
  check_canary(buffer);
  const size_t bytes = buffer.slots * kSlotBytes;
  // Returns the pages to the system. Both ranges read as zero afterwards.
  madvise(data_ + buffer.begin, bytes, MADV_DONTNEED);
  madvise(records_ + buffer.begin / 4, bytes / 4 * sizeof(WordRecord), MADV_DONTNEED);
  for (size_t i = 0; i < buffer.slots; ++i) slot_buffer_[buffer.begin / kSlotBytes + i] = 0;
  bytes_in_use_ -= buffer.end - buffer.begin;
  buffer = {};
  free_indices_.push_back(index);
}

bool DeviceMemory::free(uintptr_t address) {
  if (!contains(address)) return false;
  const uint32_t index = slot_buffer_[(address - base_) / kSlotBytes];
  if (index == 0 || buffers_[index].begin != address - base_) return false;
  release(index);
  return true;
}

size_t DeviceMemory::bytes_in_use(int owner) const {
  size_t bytes = 0;
  for (const Buffer& buffer : buffers_) {
    if (buffer.end != 0 && buffer.owner == owner) bytes += buffer.end - buffer.begin;
  }
  return bytes;
}

size_t DeviceMemory::free_all(int owner) {
  size_t count = 0;
  for (uint32_t index = 1; index < buffers_.size(); ++index) {
    if (buffers_[index].end == 0 || buffers_[index].owner != owner) continue;
    release(index);
    ++count;
  }
  return count;
}

const char* DeviceMemory::describe(uintptr_t address) const {
  if (!contains(address)) return "not a device address";
  const size_t offset = address - base_;
  const Buffer* before = nullptr;
  for (const Buffer& buffer : buffers_) {
    if (buffer.end != 0 && buffer.begin <= offset &&
        (before == nullptr || buffer.begin > before->begin)) {
      before = &buffer;
    }
  }
  if (before == nullptr || offset > before->end + (size_t{1} << 20)) return "in no buffer (freed?)";
  description_ = "byte " + std::to_string(offset - before->begin) + " of a buffer of " +
                 std::to_string(before->end - before->begin) + " bytes";
  return description_.c_str();
}

}  // namespace cj2k::simt::shim
