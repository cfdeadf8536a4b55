// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "base/threads.h"

#include <algorithm>
#include <system_error>

namespace cj2k {
namespace {

/// How often a thread looks for work, or for the end of a loop, before it sleeps: to wake it would take
/// longer than many parts.
constexpr int kLooks = 200;

/// @return whether `is_ready` became true
template <typename IsReady>
bool wait_briefly(const IsReady& is_ready) {
  for (int i = 0; i < kLooks; ++i) {
    if (is_ready()) return true;
    std::this_thread::yield();
  }
  return false;
}

}  // namespace

constinit thread_local Threads::Here Threads::here_;

Threads::Threads(int count, int drivers)
    : num_places_(static_cast<size_t>(count + drivers)),
      num_helpers_(drivers > 0 ? count : count - 1),
      count_(count) {
  free_places_.reserve(num_places_);
  for (size_t i = num_places_; i-- > 0;) free_places_.push_back(i);
}

Threads::~Threads() {
  {
    const std::lock_guard lock(mutex_);
    quit_ = true;
  }
  work_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

void Threads::start() {
  helpers_.reserve(static_cast<size_t>(num_helpers_));
  for (int i = 0; i < num_helpers_; ++i) {
    try {
      helpers_.emplace_back([this] { help(); });
    } catch (const std::system_error& e) {
      error_ = e.code().value();
      count_ = std::max(count_ - (num_helpers_ - i), 1);
      return;
    }
  }
}

void Threads::take_place() {
  here_ = {this, free_places_.back()};
  free_places_.pop_back();
}

void Threads::give_place() {
  free_places_.push_back(here_.index);
  here_ = {};
  if (num_waiting_.load(std::memory_order_relaxed) > 0) {
    changed_.notify_all();
  } else {
    work_.notify_one();  // a helper may have had no place
  }
}

void Threads::enter() {
  Lock lock(mutex_);
  ++num_waiting_;
  changed_.wait(lock, [this] { return !free_places_.empty(); });
  take_place();
  if (--num_waiting_ == 0 && !free_places_.empty()) work_.notify_all();
}

void Threads::leave() {
  const Lock lock(mutex_);
  give_place();
}

/// An open loop with parts that nobody has begun, the newest first; null: there is none.
Loop* Threads::open_loop() const {
  Loop* loop = newest_.load(std::memory_order_relaxed);
  while (loop != nullptr && !loop->has_parts()) loop = loop->older;
  return loop;
}

void Threads::help() {
  const auto is_wanted_back = [this] { return num_waiting_.load(std::memory_order_relaxed) > 0; };
  const auto has_work = [&] {
    return quit_ || (!is_wanted_back() && !free_places_.empty() && open_loop() != nullptr);
  };
  Lock lock(mutex_);
  while (true) {
    if (!has_work()) {
      lock.unlock();
      wait_briefly([this] { return newest_.load(std::memory_order_relaxed) != nullptr; });
      lock.lock();
      work_.wait(lock, has_work);
    }
    if (quit_) return;
    take_place();
    while (Loop* const loop = is_wanted_back() ? nullptr : open_loop())
      join(*loop, is_wanted_back, lock);
    give_place();
  }
}

/// Runs parts of another thread's loop until `is_over`. The lock is held before and after.
template <typename IsOver>
void Threads::join(Loop& loop, const IsOver& is_over, Lock& lock) {
  loop.users.fetch_add(1, std::memory_order_relaxed);
  run_parts(loop, is_over, lock);
  // The loop may end as soon as this is 0.
  if (loop.users.fetch_sub(1, std::memory_order_release) == 1) changed_.notify_all();
}

/// Runs parts of a loop until `is_over` or none is left. The lock is held before and after.
template <typename IsOver>
void Threads::run_parts(Loop& loop, const IsOver& is_over, Lock& lock) {
  lock.unlock();
  std::exception_ptr error;
  do {
    const size_t begin = loop.next.fetch_add(loop.grain, std::memory_order_relaxed);
    if (begin >= loop.count) break;
    try {
      loop.part(loop.body, begin, std::min(begin + loop.grain, loop.count));
    } catch (...) {
      error = std::current_exception();
      loop.next.store(loop.count, std::memory_order_relaxed);
    }
  } while (!is_over());
  lock.lock();
  if (error != nullptr && loop.error == nullptr) loop.error = error;
}

void Threads::run(Loop& loop) {
  Lock lock(mutex_);
  add(loop);
  run_parts(
      loop, [] { return false; }, lock);
  remove(loop);
  // Parts that helpers run may begin loops themselves, so this thread helps where it can.
  const auto is_over = [&loop] { return loop.users.load(std::memory_order_acquire) == 0; };
  while (!is_over()) {
    if (Loop* const other = open_loop()) {
      join(*other, is_over, lock);
      continue;
    }
    lock.unlock();
    const bool over = wait_briefly(is_over);
    lock.lock();
    if (!over) changed_.wait(lock, [&] { return is_over() || open_loop() != nullptr; });
  }
  lock.unlock();
  if (loop.error != nullptr) std::rethrow_exception(loop.error);
}

void Threads::add(Loop& loop) {
  loop.older = newest_.load(std::memory_order_relaxed);
  newest_.store(&loop, std::memory_order_relaxed);
  const size_t others = std::min((loop.count - 1) / loop.grain, helpers_.size());
  for (size_t i = 0; i < others; ++i) work_.notify_one();
  changed_.notify_all();
}

/// Takes the loop from the list, so that no helper finds it.
void Threads::remove(const Loop& loop) {
  Loop* newer = newest_.load(std::memory_order_relaxed);
  if (newer == &loop) {
    newest_.store(loop.older, std::memory_order_relaxed);
    return;
  }
  while (newer->older != &loop) newer = newer->older;
  newer->older = loop.older;
}

}  // namespace cj2k
