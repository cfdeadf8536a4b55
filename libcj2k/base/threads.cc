// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "base/threads.h"

#include <oneapi/tbb/task_group.h>

#include <algorithm>
#include <new>
#include <system_error>
#include <thread>

#include "base/parallel.h"

namespace cj2k {
namespace {

/// Makes oneTBB allocate its memory for this thread, which it does at the thread's first call and
/// which may fail. Dropping a task_handle is such a call too, and must not fail. ThreadSanitizer does
/// not see that it may be the memory of a thread that has ended.
void know_this_thread() {
  [[maybe_unused]] static char in_turn;
  CJ2K_TSAN_ACQUIRE(&in_turn);
  tbb::this_task_arena::isolate([] {});
  CJ2K_TSAN_RELEASE(&in_turn);
}

}  // namespace

/// A thread that runs parts of the loops in the arena. It does so while it waits there for `group`,
/// which ends when `stay` is dropped.
struct Threads::Helper {
  tbb::task_group group;
  tbb::task_handle stay;  ///< empty: the helper has no place in the arena, or is about to leave it
  std::thread thread;
};

Threads::Threads(int count, int drivers)
    : arena_(count + drivers, static_cast<unsigned>(count + drivers)),
      num_helpers_(drivers > 0 ? count : count - 1),
      count_(count),
      places_(count + drivers) {
  know_this_thread();
  arena_.initialize();
}

Threads::~Threads() { stop(); }

void Threads::start() {
  helpers_.reserve(static_cast<size_t>(num_helpers_));
  for (int i = 0; i < num_helpers_; ++i) {
    auto helper = std::make_unique<Helper>();
    try {
      helper->thread = std::thread([this, &h = *helper] { help(h); });
    } catch (const std::system_error& e) {
      error_ = e.code().value();
      count_ = std::max(count_ - (num_helpers_ - i), 1);
      return;
    }
    helpers_.push_back(std::move(helper));
  }
}

void Threads::stop() {
  {
    const std::lock_guard lock(mutex_);
    quit_ = true;
    for (const std::unique_ptr<Helper>& helper : helpers_) helper->stay = {};
  }
  changed_.notify_all();
  for (const std::unique_ptr<Helper>& helper : helpers_) helper->thread.join();
}

void Threads::help(Helper& helper) {
  std::unique_lock lock(mutex_);
  bool failed = false;  // out of memory: the other helpers do its work
  while (!failed) {
    // num_calls_ includes calls of run that wait for a place, and num_staying_ leaves out helpers
    // that were told to leave. So no helper takes the place that such a call waits for.
    changed_.wait(lock, [this] {
      return quit_ || (num_taken_ < places_ && num_staying_ + num_calls_ < places_);
    });
    if (quit_) return;
    try {
      helper.stay = helper.group.defer([] {});
    } catch (...) {
      return;
    }
    ++num_staying_;
    ++num_taken_;
    lock.unlock();
    try {
      arena_.execute([&helper] { helper.group.wait(); });
    } catch (...) {
      failed = true;
    }
    lock.lock();
    if (helper.stay) --num_staying_;
    helper.stay = {};
    --num_taken_;
    changed_.notify_all();
  }
}

void Threads::enter() {
  know_this_thread();
  std::unique_lock lock(mutex_);
  ++num_calls_;
  for (auto h = helpers_.rbegin(); h != helpers_.rend() && num_staying_ + num_calls_ > places_;
       ++h) {
    if (!(*h)->stay) continue;
    (*h)->stay = {};
    --num_staying_;
  }
  changed_.wait(lock, [this] { return num_taken_ < places_; });
  ++num_taken_;
}

void Threads::leave() {
  const std::lock_guard lock(mutex_);
  --num_calls_;
  --num_taken_;
  changed_.notify_all();
}

}  // namespace cj2k
