// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Parallel loops on the encoder's threads. Call them inside its oneTBB arena.
#pragma once

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <cstddef>

#if defined(__SANITIZE_THREAD__)
extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
}
#define CJ2K_TSAN_ACQUIRE(address) __tsan_acquire(address)
#define CJ2K_TSAN_RELEASE(address) __tsan_release(address)
#else
#define CJ2K_TSAN_ACQUIRE(address) ((void)(address))
#define CJ2K_TSAN_RELEASE(address) ((void)(address))
#endif

namespace cj2k {

/// The number of threads that may run parts of a loop here, and the index of this thread. There is
/// one piece of working memory per worker. A part of a loop may start another loop, but must not
/// keep using its working memory across it: the thread may run parts of other loops meanwhile.
inline size_t num_workers() { return static_cast<size_t>(tbb::this_task_arena::max_concurrency()); }
inline size_t worker_index() {
  const int index = tbb::this_task_arena::current_thread_index();
  return index == tbb::task_arena::not_initialized ? 0 : static_cast<size_t>(index);
}

/// Tells ThreadSanitizer what oneTBB guarantees: while this object lives, the thread holds its
/// place in the arena, and its use of the working memory happens after that of the last holder of
/// the place.
class WorkerPlace {
 public:
#if defined(__SANITIZE_THREAD__)
  WorkerPlace() : token_(&tokens_[worker_index() % kTokens]) { CJ2K_TSAN_ACQUIRE(token_); }
  ~WorkerPlace() { CJ2K_TSAN_RELEASE(token_); }

 private:
  static constexpr size_t kTokens = 2048;
  static inline char tokens_[kTokens];
  char* token_;
#else
  WorkerPlace() {}
#endif
  WorkerPlace(const WorkerPlace&) = delete;
  WorkerPlace& operator=(const WorkerPlace&) = delete;
};

/// What oneTBB calls for a part of a loop. The annotations tell ThreadSanitizer what oneTBB, which is
/// not instrumented, guarantees: the call of parallel_for happens before every part, and every part
/// happens before the return. This object itself lies in memory that oneTBB hands from thread to
/// thread, so its call operator is not checked.
template <typename Body>
class LoopPart {
 public:
  LoopPart(const Body& body, char* enter, char* leave)
      : body_(body), enter_(enter), leave_(leave) {}
#if defined(__SANITIZE_THREAD__)
  [[clang::no_sanitize("thread")]]
#endif
  void
  operator()(const tbb::blocked_range<size_t>& range) const {
    CJ2K_TSAN_ACQUIRE(enter_);
    run(body_, range.begin(), range.end());
    CJ2K_TSAN_RELEASE(leave_);
  }

 private:
  static void run(const Body& body, size_t begin, size_t end) {
    const WorkerPlace place;
    body(begin, end);
  }
  const Body& body_;
  char* enter_;
  char* leave_;
};

/// Calls body(begin, end) for disjoint parts of [0, count), each about `grain` long.
template <typename Body>
void parallel_for(size_t count, size_t grain, const Body& body) {
  if (count == 0) return;
  if (count <= grain || num_workers() == 1) {
    body(size_t{0}, count);
    return;
  }
  char enter = 0, leave = 0;
  CJ2K_TSAN_RELEASE(&enter);
  tbb::parallel_for(tbb::blocked_range<size_t>(0, count, grain), LoopPart(body, &enter, &leave),
                    tbb::simple_partitioner());
  CJ2K_TSAN_ACQUIRE(&leave);
}

}  // namespace cj2k
