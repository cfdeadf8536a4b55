// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Parallel loops on the encoder's threads. Call them inside Threads::run; elsewhere a loop runs in
// the calling thread.
#pragma once

#include <cstddef>

#include "base/threads.h"

namespace cj2k {

/// The number of threads that may run parts of a loop here, and the index of this thread. There is
/// one piece of working memory per worker. A part of a loop may start another loop, but must not
/// keep using its working memory across it: the thread may run parts of other loops meanwhile.
inline size_t num_workers() {
  const Threads* const threads = Threads::current();
  return threads != nullptr ? threads->num_places() : 1;
}
inline size_t worker_index() { return Threads::index(); }

/// Calls body(begin, end) for disjoint parts of [0, count), each `grain` long but the last.
template <typename Body>
void parallel_for(size_t count, size_t grain, const Body& body) {
  if (count == 0) return;
  Threads* const threads = Threads::current();
  if (count <= grain || threads == nullptr || threads->num_places() == 1) {
    body(size_t{0}, count);
    return;
  }
  Loop loop{.part = [](const void* of, size_t begin,
                       size_t end) { (*static_cast<const Body*>(of))(begin, end); },
            .body = &body,
            .count = count,
            .grain = grain};
  threads->run(loop);
}

}  // namespace cj2k
