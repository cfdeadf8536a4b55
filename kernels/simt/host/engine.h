// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Runs a launch: its blocks one after the other in a random order, the threads of a block as fibers
// of one host thread. A thread runs until it waits, and then switches directly to the next thread
// that can run. A thread that never waits needs no switch: its fiber continues with the next
// thread.
#pragma once

#include <array>
#include <memory>
#include <unordered_map>
#include <vector>

#include "kernels/simt/host/fiber.h"
#include "kernels/simt/host/internal.h"
#include "kernels/simt/host/memory.h"
#include "kernels/simt/host/thread.h"

namespace cj2k::simt::shim {

inline constexpr uint32_t kMaxThreads = 1024, kMaxWarps = 32;
inline constexpr size_t kMaxSmemBytes = 227 * 1024;

struct Warp {
  /// Lanes that wait together at a collective: one group per mask in use.
  struct Group {
    uint32_t mask, arrived;
    Thread::Combine combine;
    Where where;
    uint8_t op;
  };
  uint32_t ready = 0;              ///< bit s: the lane order[s] can run
  uint32_t live = 0;               ///< mask of the lanes that have not ended
  const uint8_t* order = nullptr;  ///< [32] a permutation of the lanes, drawn at each barrier
  const uint8_t* slot = nullptr;   ///< [32] its inverse
  uint32_t num_groups = 0;
  uint32_t time = 1;                   ///< the latest time of the warp (thread.h)
  std::array<uint32_t, 32> lane_time;  ///< time of each lane's accesses
  std::array<uint32_t, 32> ordered;    ///< other lanes' accesses before this time come before
  /// Vector clock of each lane: for each other warp the time up to which its accesses come before
  /// this lane's, because of named barriers and acquires.
  std::array<std::array<uint32_t, kMaxWarps>, 32> clocks;
  std::array<uint64_t, 32> values, results;
  std::array<uint32_t, 32> arguments;
  std::array<Group, 32> groups;
};

/// The last accesses to a word of shared memory. A Touch says which thread, in which barrier epoch
/// and at which time of its warp, and the mask of the bytes.
struct SharedRecord {
  struct Touch {
    uint32_t epoch = 0, time = 0;
    uint16_t thread = 0;
    uint8_t bytes = 0;
  };
  Touch write, read, read_before, atomic;
};

struct NamedBarrier {
  uint32_t expected = 0, arrived = 0;
  std::array<uint32_t, kMaxWarps> clock;
  std::vector<Thread*> waiting;
};

class Block {
 public:
  static Block& instance();

  bool run_launch(const HostKernel& kernel, Dim3 grid, const void* params, int owner,
                  bool check_races, Random& random);

  Stats stats;

 private:
  friend class Thread;
  static constexpr uint32_t kNumOrders = 64;
  using Clock = std::array<uint32_t, kMaxWarps>;

  Block();
  static void fiber_entry(boost::context::detail::transfer_t transfer);
  void fiber_loop(Fiber* self);
  bool run_block(uint32_t index);
  void draw_orders();
  void draw_order(Warp& warp) {
    const uint32_t i = random_->below(kNumOrders);
    warp.order = orders_[i].data();
    warp.slot = slots_[i].data();
  }
  void new_epoch();

  uint32_t warp_index(const Warp* warp) const {
    return static_cast<uint32_t>(warp - warps_.data());
  }
  void make_ready(Warp* warp, uint32_t lanes);
  Thread* pick();
  Thread* pick_any();
  void resume(Fiber* from, Thread* next);
  void suspend(Thread* self, const char* waits_for, const Where& where);
  void let_others_run(Thread* self, const Where& where);
  void preempt(Thread* self, const char* at, const Where& where);
  void thread_ended(Thread* thread);
  void complete(Warp* warp, const Warp::Group& group);
  void order_lanes(Warp* warp, uint32_t lanes);

  std::string place(const Thread* thread, const Where& where) const;
  [[noreturn, gnu::format(printf, 5, 6)]] void fail(Thread* thread, Bug bug, const Where& where,
                                                    const char* format, ...);
  [[gnu::format(printf, 5, 6)]] void note(Thread* thread, Bug bug, const Where& where,
                                          const char* format, ...);
  const char* waiting_threads();

  void watch_global(Thread* thread, uintptr_t address, size_t bytes, Access access,
                    const Where& where);
  void watch_shared(Thread* thread, size_t offset, size_t bytes, Access access, const Where& where);
  bool ordered(const SharedRecord::Touch& touch, const Thread* thread) const;
  Clock release_clock(Thread* thread);
  void join_clock(Clock& clock, const Clock& other) const;
  void join_warp_clocks(Warp* warp, const Clock& clock) const;

  // State of the launch.
  const HostKernel* kernel_ = nullptr;
  Dim3 grid_;
  const void* params_ = nullptr;
  int owner_ = -1;
  bool check_races_ = true;
  Random* random_ = nullptr;
  uint32_t launch_ = 0;
  uint32_t noted_ = 0;  ///< bit b: Bug b was reported in this launch
  bool failed_ = false;
  std::string waiting_text_;

  // State of the block.
  uint32_t block_ = 0;  ///< linear index
  Dim3 block_index_;
  uint32_t num_threads_ = 0, num_warps_ = 0;
  uint32_t num_ended_ = 0;
  uint32_t ready_warps_ = 0;
  Warp* current_warp_ = nullptr;
  uint32_t epoch_ = 0;  ///< grows by one with every block and every block barrier; never reset
  uint32_t at_barrier_ = 0;
  Where barrier_where_;
  uint32_t num_atomics_ = 0, num_spins_ = 0;
  bool has_clocks_ = false;
  std::array<NamedBarrier, 16> named_;
  std::unordered_map<const void*, Clock> released_;

  FiberPool pool_;
  Fiber main_;
  Fiber* entering_ = nullptr;
  DeviceMemory& memory_;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  uint8_t* smem_ = nullptr;
  std::vector<SharedRecord> shared_records_;
  std::array<std::array<uint8_t, 32>, kNumOrders> orders_, slots_;
};

}  // namespace cj2k::simt::shim
