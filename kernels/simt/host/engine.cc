// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/simt/host/engine.h"

#include <algorithm>
#include <bit>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <numeric>

namespace cj2k::simt::shim {
namespace {

constexpr size_t kSmemCanaryBytes = 4096;
constexpr uint8_t kSmemCanary = 0xE7;
constexpr uint32_t kMaxSpins = 4'000'000;
constexpr uint64_t kUndefined = 0xDEADBEEFDEADBEEF;

bool same_place(const Where& a, const Where& b) {
  return a.line() == b.line() && a.column() == b.column() &&
         (a.file_name() == b.file_name() || std::strcmp(a.file_name(), b.file_name()) == 0);
}

const char* base_name(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

}  // namespace

Block& Block::instance() {
  static Block* block = new Block;
  return *block;
}

Block::Block()
    : pool_(&fiber_entry),
      memory_(DeviceMemory::instance()),
      threads_(kMaxThreads),
      warps_(kMaxWarps),
      shared_records_(kMaxSmemBytes / 4 + 1) {
  smem_ = static_cast<uint8_t*>(
      std::aligned_alloc(4096, (kMaxSmemBytes + kSmemCanaryBytes + 4095) / 4096 * 4096));
  for (uint32_t i = 0; i < kMaxThreads; ++i) {
    threads_[i].block_ = this;
    threads_[i].thread_ = i;
    threads_[i].warp_state_ = &warps_[i / 32];
  }
}

void Block::draw_orders() {
  for (uint32_t i = 0; i < kNumOrders; ++i) {
    std::iota(orders_[i].begin(), orders_[i].end(), uint8_t{0});
    for (uint32_t n = 32; n > 1; --n) std::swap(orders_[i][n - 1], orders_[i][random_->below(n)]);
    for (uint8_t s = 0; s < 32; ++s) slots_[i][orders_[i][s]] = s;
  }
}

bool Block::run_launch(const HostKernel& kernel, Dim3 grid, const void* params, int owner,
                       bool check_races, Random& random) {
  kernel_ = &kernel;
  grid_ = grid;
  params_ = params;
  owner_ = owner;
  check_races_ = check_races;
  random_ = &random;
  ++launch_;
  noted_ = 0;
  failed_ = false;
  main_ = {};  // stands for the host thread that runs this launch
  num_threads_ = kernel.sizes.threads;
  num_warps_ = num_threads_ / 32;
  draw_orders();
  ++stats.launches;

  const uint32_t num_blocks = grid.x * grid.y * grid.z;
  std::vector<uint32_t> order(num_blocks);
  std::iota(order.begin(), order.end(), 0u);
  for (uint32_t n = num_blocks; n > 1; --n) std::swap(order[n - 1], order[random.below(n)]);
  for (const uint32_t index : order) {
    if (!run_block(index)) {
      pool_.rewind();
      return false;
    }
  }
  return true;
}

bool Block::run_block(uint32_t index) {
  block_ = index;
  block_index_ = {index % grid_.x, index / grid_.x % grid_.y, index / grid_.x / grid_.y};
  ++stats.blocks;
  stats.threads += num_threads_;
  num_ended_ = 0;
  at_barrier_ = 0;
  num_atomics_ = num_spins_ = 0;
  new_epoch();
  for (uint32_t w = 0; w < num_warps_; ++w) {
    Warp& warp = warps_[w];
    warp.num_groups = 0;
    warp.live = kFullMask;
    warp.ready = kFullMask;
    warp.time = 1;
    warp.lane_time.fill(1);
    warp.ordered.fill(1);
    for (Clock& clock : warp.clocks) clock.fill(0);
    draw_order(warp);
  }
  for (uint32_t t = 0; t < num_threads_; ++t) threads_[t].fiber_ = nullptr;
  for (NamedBarrier& barrier : named_) {
    barrier.arrived = 0;
    barrier.waiting.clear();
  }
  ready_warps_ = num_warps_ == 32 ? kFullMask : (1u << num_warps_) - 1;
  current_warp_ = &warps_[random_->below(num_warps_)];
  std::memset(smem_, static_cast<int>(random_->next() | 0x80), kernel_->sizes.smem_bytes);
  std::memset(smem_ + kernel_->sizes.smem_bytes, kSmemCanary, kSmemCanaryBytes);

  resume(&main_, pick());
  if (failed_) return false;
  for (size_t i = 0; i < kSmemCanaryBytes; ++i) {
    if (smem_[kernel_->sizes.smem_bytes + i] == kSmemCanary) continue;
    note(&threads_[0], Bug::kCanary, Where::current(),
         "byte %zu after the %u bytes of shared memory was changed", i, kernel_->sizes.smem_bytes);
    break;
  }
  return true;
}

void Block::new_epoch() {
  ++epoch_;
  if (!has_clocks_) return;
  has_clocks_ = false;
  released_.clear();
  for (Warp& warp : warps_) {
    for (Clock& clock : warp.clocks) clock.fill(0);
  }
}

void Block::fiber_entry(boost::context::detail::transfer_t transfer) {
  Fiber* self = instance().entering_;
  arrive(self, transfer);
  instance().fiber_loop(self);
}

void Block::fiber_loop(Fiber* self) {
  for (;;) {
    Thread* thread = self->start;
    kernel_->run(*thread, smem_, params_);
    thread_ended(thread);
    Thread* next = pick();
    if (next == nullptr && num_ended_ != num_threads_) {
      thread->fiber_ = self;
      fail(thread, Bug::kDeadlock, Where::current(), "no thread can run: %s", waiting_threads());
    }
    if (next != nullptr && next->fiber_ == nullptr) {
      self->start = next;
      next->fiber_ = self;
      continue;
    }
    pool_.give(self);
    if (next != nullptr) ++stats.switches;
    switch_fiber(self, next == nullptr ? &main_ : next->fiber_);
  }
}

void Block::make_ready(Warp* warp, uint32_t lanes) {
  if (lanes == 0) return;
  if (lanes == kFullMask) {
    warp->ready = kFullMask;
  } else if (std::popcount(lanes) == 31) {
    warp->ready |= ~(1u << warp->slot[std::countr_one(lanes)]);
  } else {
    for (; lanes != 0; lanes &= lanes - 1) warp->ready |= 1u << warp->slot[std::countr_zero(lanes)];
  }
  ready_warps_ |= 1u << warp_index(warp);
}

Thread* Block::pick() {
  Warp* warp = current_warp_;
  if (warp->ready == 0) {
    if (ready_warps_ == 0) return nullptr;
    const int turn = static_cast<int>(random_->next() & 31);
    warp = current_warp_ = &warps_[(std::countr_zero(std::rotr(ready_warps_, turn)) + turn) & 31];
  }
  const uint32_t slot = static_cast<uint32_t>(std::countr_zero(warp->ready));
  warp->ready &= warp->ready - 1;
  const uint32_t index = warp_index(warp);
  if (warp->ready == 0) ready_warps_ &= ~(1u << index);
  return &threads_[index * 32 + warp->order[slot]];
}

Thread* Block::pick_any() {
  if (ready_warps_ == 0) return nullptr;
  const int turn = static_cast<int>(random_->next() & 31);
  const uint32_t index =
      (static_cast<uint32_t>(std::countr_zero(std::rotr(ready_warps_, turn))) + turn) & 31;
  Warp* warp = current_warp_ = &warps_[index];
  const int slot_turn = static_cast<int>(random_->next() & 31);
  const uint32_t slot =
      (static_cast<uint32_t>(std::countr_zero(std::rotr(warp->ready, slot_turn))) + slot_turn) & 31;
  warp->ready &= ~(1u << slot);
  if (warp->ready == 0) ready_warps_ &= ~(1u << index);
  return &threads_[index * 32 + warp->order[slot]];
}

void Block::resume(Fiber* from, Thread* next) {
  Fiber* to = next->fiber_;
  if (to == nullptr) {
    to = pool_.take();
    to->start = next;
    next->fiber_ = to;
    entering_ = to;
  }
  ++stats.switches;
  switch_fiber(from, to);
}

void Block::suspend(Thread* self, const char* waits_for, const Where& where) {
  self->waits_for_ = waits_for;
  self->where_ = where;
  Thread* next = pick();
  if (next == nullptr)
    fail(self, Bug::kDeadlock, where, "no thread can run: %s", waiting_threads());
  if (next != self) resume(self->fiber_, next);
  self->waits_for_ = nullptr;
}

void Block::let_others_run(Thread* self, const Where& where) {
  if (++num_spins_ > kMaxSpins)
    fail(self, Bug::kDeadlock, where, "spins forever; %s", waiting_threads());
  Thread* next = pick_any();
  if (next == nullptr) return;
  make_ready(self->warp_state_, 1u << self->lane());
  self->waits_for_ = nullptr;
  resume(self->fiber_, next);
}

/// Sometimes lets another warp run although this thread could continue.
void Block::preempt(Thread* self, const char* at, const Where& where) {
  const uint32_t others = ready_warps_ & ~(1u << self->warp());
  if (others == 0 || (random_->next() & 7) != 0) return;
  make_ready(self->warp_state_, 1u << self->lane());
  const int turn = static_cast<int>(random_->next() & 31);
  current_warp_ = &warps_[(std::countr_zero(std::rotr(others, turn)) + turn) & 31];
  suspend(self, at, where);
}

void Block::thread_ended(Thread* thread) {
  Warp& warp = *thread->warp_state_;
  const uint32_t bit = 1u << thread->lane();
  for (uint32_t g = 0; g < warp.num_groups; ++g) {
    if ((warp.groups[g].mask & bit) == 0) continue;
    fail(thread, Bug::kWarpDivergence, warp.groups[g].where,
         "lane %u has ended, lanes 0x%08x of its warp wait here for it", thread->lane(),
         warp.groups[g].arrived);
  }
  if (at_barrier_ != 0) {
    fail(thread, Bug::kBarrierDivergence, barrier_where_,
         "the thread has ended, %u threads wait at this barrier for it", at_barrier_);
  }
  warp.live &= ~bit;
  ++num_ended_;
  thread->fiber_ = nullptr;
}

void Thread::sync(Where where) {
  Block& b = *block_;
  if (b.num_ended_ != 0) {
    b.fail(this, Bug::kBarrierDivergence, where, "a barrier after %u of the %u threads have ended",
           b.num_ended_, b.num_threads_);
  }
  if (b.at_barrier_ == 0) {
    b.barrier_where_ = where;
  } else if (!same_place(b.barrier_where_, where)) {
    b.fail(this, Bug::kBarrierDivergence, where, "%u threads wait at another barrier, %s:%u",
           b.at_barrier_, base_name(b.barrier_where_.file_name()),
           static_cast<unsigned>(b.barrier_where_.line()));
  }
  if (++b.at_barrier_ == b.num_threads_) {
    b.at_barrier_ = 0;
    b.new_epoch();
    for (uint32_t w = 0; w < b.num_warps_; ++w) {
      b.draw_order(b.warps_[w]);
      b.make_ready(&b.warps_[w], kFullMask);
    }
    b.current_warp_ = &b.warps_[b.random_->below(b.num_warps_)];
  }
  b.suspend(this, "sync", where);
}

void Thread::relax(uint32_t, Where where) { block_->let_others_run(this, where); }

uint64_t Thread::collective(Collective op, uint32_t mask, uint64_t value, uint32_t argument,
                            const Where& where, Combine combine) {
  static constexpr const char* kNames[] = {"sync_warp",
                                           "shuffle",
                                           "shuffle_up",
                                           "shuffle_down",
                                           "shuffle_xor",
                                           "ballot",
                                           "any",
                                           "all",
                                           "warp_reduce",
                                           "warp_inclusive_scan",
                                           "warp_exclusive_scan",
                                           "named barrier"};
  Block& b = *block_;
  Warp& warp = *warp_state_;
  const uint32_t lane = thread_ & 31, bit = 1u << lane;
  const char* name = kNames[static_cast<int>(op)];
  if ((mask & bit) == 0)
    b.fail(this, Bug::kWarpDivergence, where, "%s: mask 0x%08x without lane %u", name, mask, lane);
  if ((mask & ~warp.live) != 0) {
    b.fail(this, Bug::kWarpDivergence, where, "%s: lanes 0x%08x of the mask have ended", name,
           mask & ~warp.live);
  }
  Warp::Group* group = nullptr;
  for (uint32_t g = 0; g < warp.num_groups; ++g) {
    if (warp.groups[g].mask == mask) {
      group = &warp.groups[g];
    } else if ((warp.groups[g].arrived & mask) != 0 && (warp.groups[g].mask & bit) != 0) {
      // The two groups wait for each other. If the other group did not wait for this lane, its
      // lanes could still arrive.
      b.fail(this, Bug::kWarpDivergence, where,
             "%s: mask 0x%08x; lanes 0x%08x wait at %s (%s:%u) with mask 0x%08x", name, mask,
             warp.groups[g].arrived, kNames[warp.groups[g].op],
             base_name(warp.groups[g].where.file_name()),
             static_cast<unsigned>(warp.groups[g].where.line()), warp.groups[g].mask);
    }
  }
  if (group == nullptr) {
    group = &warp.groups[warp.num_groups++];
    *group = {mask, 0, combine, where, static_cast<uint8_t>(op)};
  } else if (group->op != static_cast<uint8_t>(op) || group->combine != combine ||
             (op != Collective::kSync && !same_place(group->where, where))) {
    b.fail(this, Bug::kWarpDivergence, where, "%s: lanes 0x%08x wait at %s, %s:%u", name,
           group->arrived, kNames[group->op], base_name(group->where.file_name()),
           static_cast<unsigned>(group->where.line()));
  }
  warp.values[lane] = value;
  warp.arguments[lane] = argument;
  group->arrived |= bit;
  if (group->arrived != mask) {
    b.suspend(this, name, where);
    return warp.results[lane];
  }
  b.complete(&warp, *group);
  *group = warp.groups[--warp.num_groups];
  b.make_ready(&warp, mask & ~bit);
  b.preempt(this, name, where);
  return warp.results[lane];
}

void Block::complete(Warp* warp, const Warp::Group& group) {
  using enum Thread::Collective;
  const auto op = static_cast<Thread::Collective>(group.op);
  const auto for_lanes = [&](const auto& body) {
    if (group.mask == kFullMask) {
      for (uint32_t lane = 0; lane < 32; ++lane) body(lane);
    } else {
      for (uint32_t lanes = group.mask; lanes != 0; lanes &= lanes - 1) {
        body(static_cast<uint32_t>(std::countr_zero(lanes)));
      }
    }
  };
  switch (op) {
    case kSync:
    case kNamed:
      order_lanes(warp, group.mask);
      break;
    case kShuffle:
    case kShuffleUp:
    case kShuffleDown:
    case kShuffleXor:
      for_lanes([&](uint32_t lane) {
        const uint32_t source = warp->arguments[lane];
        warp->results[lane] = (group.mask >> source & 1) != 0 ? warp->values[source] : kUndefined;
      });
      break;
    case kBallot:
    case kAny:
    case kAll: {
      uint32_t bits = 0;
      for_lanes([&](uint32_t lane) { bits |= (warp->values[lane] != 0 ? 1u : 0u) << lane; });
      for_lanes([&](uint32_t lane) { warp->results[lane] = bits; });
      break;
    }
    case kReduce:
    case kScan:
    case kExclusiveScan: {
      uint64_t sum = 0;
      for (uint32_t lane = 0; lane < 32; ++lane) {
        if (op == kExclusiveScan) warp->results[lane] = sum;
        sum = lane == 0 ? warp->values[0] : group.combine(sum, warp->values[lane]);
        if (op == kScan) warp->results[lane] = sum;
      }
      if (op == kReduce) warp->results.fill(sum);
      break;
    }
  }
}

/// What the lanes did and acquired before comes before what each of them does from now on. Only
/// sync_warp and barriers do this; shuffles, votes and reductions order no memory.
void Block::order_lanes(Warp* warp, uint32_t lanes) {
  ++warp->time;
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    warp->lane_time[lane] = warp->ordered[lane] = warp->time;
  }
  if (!has_clocks_) return;
  Clock all{};
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    join_clock(all, warp->clocks[static_cast<uint32_t>(std::countr_zero(left))]);
  }
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    warp->clocks[static_cast<uint32_t>(std::countr_zero(left))] = all;
  }
}

void Thread::named_barrier(uint32_t id, uint32_t num_threads, bool wait, const Where& where) {
  Block& b = *block_;
  if (id < 1 || id > 15 || num_threads == 0 || num_threads % 32 != 0 ||
      num_threads > b.num_threads_) {
    b.fail(this, Bug::kBarrierDivergence, where,
           "named barrier %u of %u threads: id not in [1, 15], or not whole warps", id,
           num_threads);
  }
  // The lanes of the warp meet first, so that no lane is a phase of the barrier ahead of another.
  collective(Collective::kNamed, kFullMask, 0, 0, where);
  NamedBarrier& barrier = b.named_[id];
  if (barrier.arrived == 0) {
    barrier.expected = num_threads;
    barrier.clock.fill(0);
  } else if (barrier.expected != num_threads) {
    b.fail(this, Bug::kBarrierDivergence, where,
           "named barrier %u: %u threads, but other threads expect %u", id, num_threads,
           barrier.expected);
  }
  b.has_clocks_ = true;
  if (lane() == 0) {
    b.join_clock(barrier.clock, warp_state_->clocks[0]);
    // The time of the warp before its lanes met; the meeting itself began a new time.
    barrier.clock[warp()] = std::max(barrier.clock[warp()], warp_state_->lane_time[0] - 1);
  }
  if (++barrier.arrived < barrier.expected) {
    if (!wait) return;
    barrier.waiting.push_back(this);
    b.suspend(this, "named barrier", where);
    return;
  }
  barrier.arrived = 0;
  for (Thread* thread : barrier.waiting) {
    if (thread->lane() == 0) b.join_warp_clocks(thread->warp_state_, barrier.clock);
    b.make_ready(thread->warp_state_, 1u << thread->lane());
  }
  barrier.waiting.clear();
  if (wait) b.join_warp_clocks(warp_state_, barrier.clock);
}

const char* Block::waiting_threads() {
  struct Place {
    const char* what;
    Where where;
    uint32_t first, count;
  };
  std::vector<Place> places;
  for (uint32_t t = 0; t < num_threads_; ++t) {
    const Thread& thread = threads_[t];
    if (thread.fiber_ == nullptr || thread.waits_for_ == nullptr) continue;
    auto at = std::find_if(places.begin(), places.end(), [&](const Place& p) {
      return p.what == thread.waits_for_ && same_place(p.where, thread.where_);
    });
    if (at == places.end()) {
      places.push_back({thread.waits_for_, thread.where_, t, 1});
    } else {
      ++at->count;
    }
  }
  waiting_text_ = std::to_string(num_ended_) + " threads have ended";
  for (const Place& p : places) {
    char line[256];
    std::snprintf(line, sizeof line, ", %u (the first is %u) wait at %s %s:%u", p.count, p.first,
                  p.what, base_name(p.where.file_name()), static_cast<unsigned>(p.where.line()));
    waiting_text_ += line;
  }
  return waiting_text_.c_str();
}

std::string Block::place(const Thread* thread, const Where& where) const {
  char text[256];
  std::snprintf(text, sizeof text, "%s, block %u (%u, %u, %u), thread %u, %s:%u", kernel_->name,
                block_, block_index_.x, block_index_.y, block_index_.z, thread->thread(),
                base_name(where.file_name()), static_cast<unsigned>(where.line()));
  return text;
}

void Block::fail(Thread* thread, Bug bug, const Where& where, const char* format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  report(bug, "%s: %s", place(thread, where).c_str(), text);
  failed_ = true;
  switch_fiber(thread->fiber_, &main_);
  std::abort();  // a failed block's fibers are never entered again
}

void Block::note(Thread* thread, Bug bug, const Where& where, const char* format, ...) {
  if ((noted_ >> static_cast<int>(bug) & 1) != 0) return;
  noted_ |= 1u << static_cast<int>(bug);
  char text[1024];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  report(bug, "%s: %s", place(thread, where).c_str(), text);
}

uint32_t Thread::num_threads() const { return block_->num_threads_; }
uint32_t Thread::block_x() const { return block_->block_index_.x; }
uint32_t Thread::block_y() const { return block_->block_index_.y; }
uint32_t Thread::block_z() const { return block_->block_index_.z; }
uint32_t Thread::grid_x() const { return block_->grid_.x; }
uint32_t Thread::grid_y() const { return block_->grid_.y; }
uint32_t Thread::grid_z() const { return block_->grid_.z; }

bool run_launch(const HostKernel& kernel, Dim3 grid, const void* params, int owner,
                bool check_races, Random& random) {
  return Block::instance().run_launch(kernel, grid, params, owner, check_races, random);
}

Stats& engine_stats() { return Block::instance().stats; }

}  // namespace cj2k::simt::shim
