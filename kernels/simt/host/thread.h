// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The thread context of the shim; kernels/simt/kernel.h has the contract. There is one for each
// thread of a block, and a fiber runs it.
//
// Races on shared memory are checked per 4-byte word. An access comes after an earlier access of
// another thread if one of these lies between:
// - a block barrier, which begins a new epoch;
// - a sync_warp of both, which begins a new time of their lanes; shuffles, votes and reductions
//   order no memory;
// - a named barrier that both warps took part in, or a release and the acquire of it by the later
//   thread, or by a lane that it met in a sync_warp since; vector clocks of lanes record these.
// Accesses to different bytes of a word do not conflict. Only the last one is remembered, so a race
// on parts of a word can go unnoticed.
#pragma once

#include <bit>
#include <cstring>
#include <source_location>
#include <type_traits>

#include "kernels/simt/device.h"
#include "kernels/simt/host/memory.h"
#include "kernels/simt/types.h"

namespace cj2k::simt::shim {

class Thread;
class Block;
struct Fiber;
struct Warp;
using Where = std::source_location;

/// A kernel compiled for the host: what KernelInfo::image points to.
struct HostKernel {
  static constexpr uint64_t kMagic = 0x6c656e72656b6a63;
  uint64_t magic;
  const char* name;
  KernelInfo::Sizes sizes;
  void (*run)(Thread&, void* smem, const void* params);
};

enum class Access { kRead, kReadOnly, kWrite, kAtomic };

class Thread : public WarpOps<Thread> {
 public:
  uint32_t thread() const { return thread_; }
  uint32_t num_threads() const;
  uint32_t lane() const { return thread_ & 31; }
  uint32_t warp() const { return thread_ >> 5; }
  uint32_t num_warps() const { return num_threads() / 32; }
  uint32_t block_x() const;
  uint32_t block_y() const;
  uint32_t block_z() const;
  uint32_t grid_x() const;
  uint32_t grid_y() const;
  uint32_t grid_z() const;

  template <typename X>
  X gload(const X* p, Where where = Where::current()) {
    return copy_in<X>(
        global(reinterpret_cast<uintptr_t>(p), sizeof(X), alignof(X), Access::kRead, where));
  }
  template <typename X>
  X gload_ro(const X* p, Where where = Where::current()) {
    static_assert(sizeof(X) == 1 || sizeof(X) == 2 || sizeof(X) == 4 || sizeof(X) == 8 ||
                  sizeof(X) == 16);
    return copy_in<X>(
        global(reinterpret_cast<uintptr_t>(p), sizeof(X), sizeof(X), Access::kReadOnly, where));
  }
  template <typename X>
  void gstore(X* p, std::type_identity_t<X> value, Where where = Where::current()) {
    static_assert(std::is_trivially_copyable_v<X>);
    std::memcpy(
        global(reinterpret_cast<uintptr_t>(p), sizeof(X), alignof(X), Access::kWrite, where),
        &value, sizeof value);
  }
  template <typename X>
  X sload(const X& x, Where where = Where::current()) {
    shared(&x, sizeof(X), Access::kRead, where);
    return x;
  }
  template <typename X>
  void sstore(X& x, std::type_identity_t<X> value, Where where = Where::current()) {
    static_assert(std::is_trivially_copyable_v<X>);
    shared(&x, sizeof(X), Access::kWrite, where);
    x = value;
  }

  void sync(Where where = Where::current());
  void sync_warp(uint32_t mask = kFullMask, Where where = Where::current()) {
    collective(Collective::kSync, mask, 0, 0, where);
  }
  void sync_named(uint32_t id, uint32_t num_threads, Where where = Where::current()) {
    named_barrier(id, num_threads, true, where);
  }
  void arrive_named(uint32_t id, uint32_t num_threads, Where where = Where::current()) {
    named_barrier(id, num_threads, false, where);
  }
  void fence_block() {}
  void fence_device() {}
  void relax(uint32_t nanoseconds = 20, Where where = Where::current());

  template <typename V>
  V shuffle(V value, uint32_t source_lane, uint32_t mask = kFullMask,
            Where where = Where::current()) {
    return from_bits<V>(
        collective(Collective::kShuffle, mask, to_bits(value), source_lane & 31, where));
  }
  template <typename V>
  V shuffle_up(V value, uint32_t delta, uint32_t mask = kFullMask, Where where = Where::current()) {
    const uint32_t source = lane() >= delta ? lane() - delta : lane();
    return from_bits<V>(collective(Collective::kShuffleUp, mask, to_bits(value), source, where));
  }
  template <typename V>
  V shuffle_down(V value, uint32_t delta, uint32_t mask = kFullMask,
                 Where where = Where::current()) {
    const uint32_t source = lane() + delta < 32 ? lane() + delta : lane();
    return from_bits<V>(collective(Collective::kShuffleDown, mask, to_bits(value), source, where));
  }
  template <typename V>
  V shuffle_xor(V value, uint32_t lane_mask, uint32_t mask = kFullMask,
                Where where = Where::current()) {
    const uint32_t source = lane() ^ lane_mask;
    return from_bits<V>(collective(Collective::kShuffleXor, mask, to_bits(value),
                                   source < 32 ? source : lane(), where));
  }
  uint32_t ballot(bool predicate, uint32_t mask = kFullMask, Where where = Where::current()) {
    return static_cast<uint32_t>(collective(Collective::kBallot, mask, predicate, 0, where));
  }
  bool any(bool predicate, uint32_t mask = kFullMask, Where where = Where::current()) {
    return collective(Collective::kAny, mask, predicate, 0, where) != 0;
  }
  bool all(bool predicate, uint32_t mask = kFullMask, Where where = Where::current()) {
    return collective(Collective::kAll, mask, predicate, 0, where) == mask;
  }

  template <typename V, typename Op>
  V warp_reduce(V value, Op, Where where = Where::current()) {
    return from_bits<V>(
        collective(Collective::kReduce, kFullMask, to_bits(value), 0, where, &combine<V, Op>));
  }
  template <typename V, typename Op>
  V warp_inclusive_scan(V value, Op, Where where = Where::current()) {
    return from_bits<V>(
        collective(Collective::kScan, kFullMask, to_bits(value), 0, where, &combine<V, Op>));
  }
  template <typename V, typename Op>
  V warp_exclusive_scan(V value, Op, Where where = Where::current()) {
    const uint64_t before = collective(Collective::kExclusiveScan, kFullMask, to_bits(value), 0,
                                       where, &combine<V, Op>);
    return lane() == 0 ? Op::template identity<V>() : from_bits<V>(before);
  }

  static uint32_t popcount(uint32_t x) { return static_cast<uint32_t>(std::popcount(x)); }
  static uint32_t popcount(uint64_t x) { return static_cast<uint32_t>(std::popcount(x)); }
  static uint32_t clz(uint32_t x) { return static_cast<uint32_t>(std::countl_zero(x)); }
  static uint32_t clz(uint64_t x) { return static_cast<uint32_t>(std::countl_zero(x)); }
  static uint32_t ctz(uint32_t x) { return static_cast<uint32_t>(std::countr_zero(x)); }
  static uint32_t ctz(uint64_t x) { return static_cast<uint32_t>(std::countr_zero(x)); }
  static uint32_t reverse_bits(uint32_t x) {
    x = (x & 0x55555555u) << 1 | (x >> 1 & 0x55555555u);
    x = (x & 0x33333333u) << 2 | (x >> 2 & 0x33333333u);
    x = (x & 0x0F0F0F0Fu) << 4 | (x >> 4 & 0x0F0F0F0Fu);
    return __builtin_bswap32(x);
  }
  static uint32_t mul_high(uint32_t a, uint32_t b) {
    return static_cast<uint32_t>(uint64_t{a} * b >> 32);
  }
  static uint32_t funnel_left(uint32_t low, uint32_t high, uint32_t shift) {
    return static_cast<uint32_t>((uint64_t{high} << 32 | low) << (shift & 31) >> 32);
  }
  static uint32_t funnel_right(uint32_t low, uint32_t high, uint32_t shift) {
    return static_cast<uint32_t>((uint64_t{high} << 32 | low) >> (shift & 31));
  }
  static uint32_t opaque(uint32_t x) { return x; }
  static uint32_t byte_permute(uint32_t low, uint32_t high, uint32_t selector) {
    const uint64_t bytes = uint64_t{high} << 32 | low;
    uint32_t result = 0;
    for (int i = 0; i < 4; ++i) {
      const uint32_t s = selector >> (4 * i) & 15;
      uint32_t byte = static_cast<uint32_t>(bytes >> (8 * (s & 7))) & 0xFF;
      if ((s & 8) != 0) byte = (byte & 0x80) != 0 ? 0xFF : 0;
      result |= byte << (8 * i);
    }
    return result;
  }

  template <typename V>
  V atomic_add(V* p, std::type_identity_t<V> value, Where where = Where::current()) {
    return atomic_update(p, where, [&](V old) { return op::Add::apply(old, value); });
  }
  template <typename V>
  V atomic_or(V* p, std::type_identity_t<V> value, Where where = Where::current()) {
    return atomic_update(p, where, [&](V old) { return old | value; });
  }
  template <typename V>
  V atomic_and(V* p, std::type_identity_t<V> value, Where where = Where::current()) {
    return atomic_update(p, where, [&](V old) { return old & value; });
  }
  template <typename V>
  V atomic_max(V* p, std::type_identity_t<V> value, Where where = Where::current()) {
    return atomic_update(p, where, [&](V old) { return old > value ? old : value; });
  }
  template <typename V>
  V atomic_min(V* p, std::type_identity_t<V> value, Where where = Where::current()) {
    return atomic_update(p, where, [&](V old) { return old < value ? old : value; });
  }
  template <typename V>
  V atomic_exchange(V* p, std::type_identity_t<V> value, Where where = Where::current()) {
    return atomic_update(p, where, [&](V) { return value; });
  }
  template <typename V>
  V atomic_cas(V* p, std::type_identity_t<V> expected, std::type_identity_t<V> value,
               Where where = Where::current()) {
    return atomic_update(p, where, [&](V old) { return old == expected ? value : old; });
  }
  template <typename V>
  V atomic_load(const V* p, Where where = Where::current()) {
    const uint8_t* bytes = atomic_bytes(p, sizeof(V), where);
    const V value = copy_in<V>(bytes);
    acquire(bytes);
    return value;
  }
  template <typename V>
  void atomic_store(V* p, std::type_identity_t<V> value, Where where = Where::current()) {
    uint8_t* bytes = atomic_bytes(p, sizeof(V), where);
    std::memcpy(bytes, &value, sizeof value);
    release(bytes);
  }
  template <typename V>
  V atomic_load_block(const V* p, Where where = Where::current()) {
    return atomic_load(p, where);
  }
  template <typename V>
  void atomic_store_block(V* p, std::type_identity_t<V> value, Where where = Where::current()) {
    atomic_store(p, value, where);
  }

 private:
  friend class Block;
  friend struct Warp;
  enum class Collective : uint8_t {
    kSync,
    kShuffle,
    kShuffleUp,
    kShuffleDown,
    kShuffleXor,
    kBallot,
    kAny,
    kAll,
    kReduce,
    kScan,
    kExclusiveScan,
    kNamed
  };
  using Combine = uint64_t (*)(uint64_t, uint64_t);

  template <typename X>
  static X copy_in(const uint8_t* bytes) {
    static_assert(std::is_trivially_copyable_v<X>);
    X x;
    std::memcpy(&x, bytes, sizeof x);
    return x;
  }
  template <typename V>
  static uint64_t to_bits(V value) {
    static_assert((sizeof(V) == 4 || sizeof(V) == 8) && std::is_trivially_copyable_v<V>);
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
  }
  template <typename V>
  static V from_bits(uint64_t bits) {
    V value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  template <typename V, typename Op>
  static uint64_t combine(uint64_t a, uint64_t b) {
    static_assert(std::is_integral_v<V>);
    return to_bits(Op::apply(from_bits<V>(a), from_bits<V>(b)));
  }
  template <typename V, typename Update>
  V atomic_update(V* p, const Where& where, const Update& update) {
    static_assert(sizeof(V) == 4 || sizeof(V) == 8);
    uint8_t* bytes = atomic_bytes(p, sizeof(V), where);
    const V old = copy_in<V>(bytes);
    const V updated = update(old);
    std::memcpy(bytes, &updated, sizeof updated);
    return old;
  }

  uint8_t* global(uintptr_t address, size_t bytes, size_t alignment, Access access,
                  const Where& where);
  void shared(const void* p, size_t bytes, Access access, const Where& where);
  uint8_t* atomic_bytes(const void* p, size_t bytes, const Where& where);
  void acquire(const void* bytes);
  void release(const void* bytes);
  /// Waits until all lanes of the mask have called.
  /// @return the result for this lane
  uint64_t collective(Collective op, uint32_t mask, uint64_t value, uint32_t argument,
                      const Where& where, Combine combine = nullptr);
  void named_barrier(uint32_t id, uint32_t num_threads, bool wait, const Where& where);

  Block* block_ = nullptr;
  Warp* warp_state_ = nullptr;
  Fiber* fiber_ = nullptr;  ///< null: not started, or ended
  uint32_t thread_ = 0;
  const char* waits_for_ = nullptr;
  Where where_;  ///< source location of waits_for_
};

}  // namespace cj2k::simt::shim
