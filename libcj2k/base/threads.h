// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The threads of an encoder, and its oneTBB arena.
//
// oneTBB starts threads of its own when a loop has work for them. If the system refuses a thread,
// oneTBB throws, often in another of its threads, where nobody can catch the exception. So all
// places of the arena are reserved for threads of the application, and oneTBB starts none. This
// class starts them all when the encoder opens.
#pragma once

#include <oneapi/tbb/task_arena.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

namespace cj2k {

class Threads {
 public:
  /// Makes the arena and starts no thread. Throws std::bad_alloc.
  /// @param count    threads that work: the thread that calls run, and helpers
  /// @param drivers  threads that call run and mostly wait for a device; they have places in
  ///                 addition to `count`
  Threads(int count, int drivers);
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  /// Starts the helpers, or as many as the system allows. Call it after the memory of the frames is
  /// allocated: that is needed more than the stacks of the helpers. Throws std::bad_alloc.
  void start();
  /// Threads that work; after start, those that the system allowed.
  int count() const { return count_; }
  /// An errno value: why there are fewer threads than asked for; 0: there are not fewer.
  int error() const { return error_; }

  /// Calls work() in the arena, as soon as there is a place. Several threads may call this at a
  /// time, but not threads that are in the arena. Throws what `work` throws, and std::bad_alloc.
  template <typename Work>
  void run(const Work& work) {
    const Place place(*this);
    arena_.execute(work);
  }

 private:
  struct Helper;
  /// The place in the arena of a thread that calls run. A helper gives up its own place for it.
  class Place {
   public:
    explicit Place(Threads& threads) : threads_(threads) { threads_.enter(); }
    ~Place() { threads_.leave(); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

   private:
    Threads& threads_;
  };

  void stop();
  void help(Helper& helper);
  void enter();
  void leave();

  tbb::task_arena arena_;
  std::vector<std::unique_ptr<Helper>> helpers_;
  const int num_helpers_;  ///< helpers asked for
  int count_;
  int error_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  const int places_;
  int num_taken_ = 0;    ///< places taken by helpers and by calls of run
  int num_calls_ = 0;    ///< calls of run, in the arena or waiting for a place
  int num_staying_ = 0;  ///< helpers that have a place and were not told to leave it
  bool quit_ = false;
};

}  // namespace cj2k
