// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Loops over the encoder's threads. Called inside its oneTBB arena.
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

/// Threads that may run parts of a loop here, and which of them this is: working memory is one
/// piece per worker. A part may start another loop, but must not hold working memory over it: the
/// thread may take parts of others meanwhile.
inline size_t num_workers() { return static_cast<size_t>(tbb::this_task_arena::max_concurrency()); }
inline size_t worker_index() {
  const int index = tbb::this_task_arena::current_thread_index();
  return index == tbb::task_arena::not_initialized ? 0 : static_cast<size_t>(index);
}

/// While it lives, the thread holds its place in the arena: what it does with its working memory
/// comes after what the place's last holder did. oneTBB guarantees that; this tells
/// ThreadSanitizer.
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

/// body(begin, end) over disjoint parts of [0, count), about `grain` long. The annotations tell
/// ThreadSanitizer what oneTBB, which is not instrumented, guarantees: the caller happens before
/// every part, and every part before the return.
template <typename Body>
void parallel_for(size_t count, size_t grain, const Body& body) {
  if (count == 0) return;
  if (count <= grain || num_workers() == 1) {
    body(size_t{0}, count);
    return;
  }
  char enter = 0, leave = 0;
  CJ2K_TSAN_RELEASE(&enter);
  tbb::parallel_for(
      tbb::blocked_range<size_t>(0, count, grain),
      [&](const tbb::blocked_range<size_t>& range) {
        CJ2K_TSAN_ACQUIRE(&enter);
        {
          const WorkerPlace place;
          body(range.begin(), range.end());
        }
        CJ2K_TSAN_RELEASE(&leave);
      },
      tbb::simple_partitioner());
  CJ2K_TSAN_ACQUIRE(&leave);
}

}  // namespace cj2k
