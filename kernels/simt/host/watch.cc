// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Checks the memory accesses of kernels: bounds, alignment, races.
#include <algorithm>

#include "kernels/simt/host/engine.h"

namespace cj2k::simt::shim {

uint8_t* Thread::global(uintptr_t address, size_t bytes, size_t alignment, Access access,
                        const Where& where) {
  Block& b = *block_;
  uint8_t* data = b.memory_.access(address, bytes, b.owner_);
  if (data == nullptr) [[unlikely]] {
    b.fail(this, Bug::kOutOfBounds, where, "%s of %zu bytes at 0x%llx: %s",
           access == Access::kWrite    ? "store"
           : access == Access::kAtomic ? "atomic"
                                       : "load",
           bytes, static_cast<unsigned long long>(address), b.memory_.describe(address));
  }
  if ((address & (alignment - 1)) != 0) [[unlikely]] {
    b.fail(this, Bug::kMisaligned, where, "%zu bytes at 0x%llx need an alignment of %zu: %s", bytes,
           static_cast<unsigned long long>(address), alignment, b.memory_.describe(address));
  }
  if (b.check_races_) b.watch_global(this, address, bytes, access, where);
  return data;
}

void Thread::shared(const void* p, size_t bytes, Access access, const Where& where) {
  Block& b = *block_;
  const size_t offset = static_cast<size_t>(static_cast<const uint8_t*>(p) - b.smem_);
  if (offset >= b.kernel_->sizes.smem_bytes || bytes > b.kernel_->sizes.smem_bytes - offset)
      [[unlikely]] {
    b.fail(this, Bug::kOutOfBounds, where, "%zu bytes at offset %td: the shared memory has %u",
           bytes, static_cast<const uint8_t*>(p) - b.smem_, b.kernel_->sizes.smem_bytes);
  }
  if (b.check_races_) b.watch_shared(this, offset, bytes, access, where);
}

uint8_t* Thread::atomic_bytes(const void* p, size_t bytes, const Where& where) {
  // The accesses of other threads may come before or after this one.
  if ((++block_->num_atomics_ & 7) == 0) block_->let_others_run(this, where);
  const auto address = reinterpret_cast<uintptr_t>(p);
  if (block_->memory_.contains(address))
    return global(address, bytes, bytes, Access::kAtomic, where);
  shared(p, bytes, Access::kAtomic, where);
  return static_cast<uint8_t*>(const_cast<void*>(p));
}

void Block::watch_global(Thread* thread, uintptr_t address, size_t bytes, Access access,
                         const Where& where) {
  const uint32_t me = block_ % (WordRecord::kMany - 1) + 1;
  for (uintptr_t word = address & ~uintptr_t{3}; word < address + bytes; word += 4) {
    const size_t begin = std::max(word, address) - word,
                 end = std::min(word + 4, address + bytes) - word;
    const uint32_t mask = (1u << end) - (1u << begin);
    WordRecord& r = *memory_.record(word);
    if (r.launch != launch_) {
      r = {};
      r.launch = launch_;
    }
    const bool other_writer = r.writer != 0 && r.writer != me && (r.written & mask) != 0;
    const bool other_reader = r.reader != 0 && r.reader != me && (r.read & mask) != 0;
    const bool other_atomic = r.atomic != 0 && r.atomic != me;
    const char* conflict = nullptr;
    uint32_t other = 0;
    Bug bug = Bug::kGlobalRace;
    switch (access) {
      case Access::kReadOnly:
        if ((r.writer != 0 && (r.written & mask) != 0) || r.atomic != 0) {
          bug = Bug::kReadOnlyWritten;
          conflict = "gload_ro of what was written in this launch by";
          other = r.writer != 0 ? r.writer : r.atomic;
        }
        r.read_only = 1;
        [[fallthrough]];
      case Access::kRead:
        if (conflict == nullptr && (other_writer || other_atomic)) {
          conflict = other_writer ? "load of what was stored by"
                                  : "load of what was changed by an atomic of";
          other = other_writer ? r.writer : r.atomic;
        }
        r.reader = r.reader == 0 || r.reader == me ? me : WordRecord::kMany;
        r.read |= mask;
        break;
      case Access::kWrite:
        if (other_writer || other_reader || other_atomic) {
          conflict = other_writer   ? "store to what was stored by"
                     : other_reader ? "store to what was loaded by"
                                    : "store to what was changed by an atomic of";
          other = other_writer ? r.writer : other_reader ? r.reader : r.atomic;
        } else if (r.read_only != 0 && (r.read & mask) != 0) {
          bug = Bug::kReadOnlyWritten;
          conflict = "store to what was loaded by gload_ro by";
          other = r.reader;
        }
        r.written = r.writer == me ? r.written | mask : mask;
        r.writer = me;
        break;
      case Access::kAtomic:
        if (other_writer || other_reader) {
          conflict = other_writer ? "atomic on what was stored by" : "atomic on what was loaded by";
          other = other_writer ? r.writer : r.reader;
        }
        r.atomic = r.atomic == 0 || r.atomic == me ? me : WordRecord::kMany;
        break;
    }
    if (conflict == nullptr) continue;
    if (other == WordRecord::kMany) {
      note(thread, bug, where, "%s several blocks, in the same launch: %s", conflict,
           memory_.describe(word));
    } else {
      note(thread, bug, where, "%s block %u, in the same launch: %s", conflict, other - 1,
           memory_.describe(word));
    }
  }
}

bool Block::ordered(const SharedRecord::Touch& touch, const Thread* thread) const {
  if (touch.epoch != epoch_ || touch.thread == thread->thread()) return true;
  const Warp& warp = *thread->warp_state_;
  const uint32_t other_warp = touch.thread / 32u;
  if (other_warp == thread->warp()) return warp.ordered[thread->lane()] > touch.time;
  return has_clocks_ && warp.clocks[thread->lane()][other_warp] >= touch.time;
}

void Block::watch_shared(Thread* thread, size_t offset, size_t bytes, Access access,
                         const Where& where) {
  const SharedRecord::Touch now = {epoch_, thread->warp_state_->lane_time[thread->lane()],
                                   static_cast<uint16_t>(thread->thread()), 0};
  for (size_t word = offset / 4; word * 4 < offset + bytes; ++word) {
    const size_t begin = std::max(word * 4, offset) - word * 4,
                 end = std::min(word * 4 + 4, offset + bytes) - word * 4;
    const uint8_t mask = static_cast<uint8_t>((1u << end) - (1u << begin));
    SharedRecord& r = shared_records_[word];
    const auto conflicts = [&](const SharedRecord::Touch& touch) {
      return touch.epoch == epoch_ && (touch.bytes & mask) != 0 && !ordered(touch, thread);
    };
    const auto merge = [&](SharedRecord::Touch& touch) {
      const bool same =
          touch.epoch == now.epoch && touch.thread == now.thread && touch.time == now.time;
      const uint8_t touched = same ? touch.bytes | mask : mask;
      touch = now;
      touch.bytes = touched;
    };
    const char* conflict = nullptr;
    uint32_t other = 0;
    const auto check = [&](const SharedRecord::Touch& touch, const char* text) {
      if (conflict != nullptr || !conflicts(touch)) return;
      conflict = text;
      other = touch.thread;
    };
    switch (access) {
      case Access::kRead:
      case Access::kReadOnly:
        check(r.write, "load of what was stored by");
        check(r.atomic, "load of what was changed by an atomic of");
        if (r.read.epoch == epoch_ && r.read.thread != now.thread) r.read_before = r.read;
        merge(r.read);
        break;
      case Access::kWrite:
        check(r.write, "store to what was stored by");
        check(r.read, "store to what was loaded by");
        check(r.read_before, "store to what was loaded by");
        check(r.atomic, "store to what was changed by an atomic of");
        merge(r.write);
        break;
      case Access::kAtomic:
        check(r.write, "atomic on what was stored by");
        check(r.read, "atomic on what was loaded by");
        check(r.read_before, "atomic on what was loaded by");
        merge(r.atomic);
        break;
    }
    if (conflict != nullptr) {
      note(thread, Bug::kSharedRace, where,
           "shared memory at offset %zu: %s thread %u, no barrier between", word * 4, conflict,
           other);
    }
  }
}

Block::Clock Block::release_clock(Thread* thread) {
  Warp& warp = *thread->warp_state_;
  Clock clock = warp.clocks[thread->lane()];
  uint32_t& lane_time = warp.lane_time[thread->lane()];
  clock[thread->warp()] = lane_time;
  lane_time = ++warp.time;  // this release does not cover later accesses
  has_clocks_ = true;
  return clock;
}

void Block::join_clock(Clock& clock, const Clock& other) const {
  for (uint32_t w = 0; w < num_warps_; ++w) clock[w] = std::max(clock[w], other[w]);
}

void Block::join_warp_clocks(Warp* warp, const Clock& clock) const {
  for (Clock& of_lane : warp->clocks) join_clock(of_lane, clock);
}

void Thread::release(const void* bytes) {
  if (!block_->check_races_) return;
  Block::Clock clock = block_->release_clock(this);
  block_->join_clock(block_->released_.try_emplace(bytes, Block::Clock{}).first->second, clock);
}

void Thread::acquire(const void* bytes) {
  if (!block_->check_races_ || block_->released_.empty()) return;
  const auto found = block_->released_.find(bytes);
  if (found == block_->released_.end()) return;
  block_->join_clock(warp_state_->clocks[lane()], found->second);
  // The release may have been by a lane of the same warp.
  uint32_t& ordered = warp_state_->ordered[lane()];
  ordered = std::max(ordered, found->second[warp()] + 1);
}

}  // namespace cj2k::simt::shim
