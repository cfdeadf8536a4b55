// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The threads of an encoder, and its oneTBB arena.
//
// oneTBB starts threads of its own when a loop finds work for them. Where the system refuses one it
// throws, and often in another of its threads, where nobody can catch that. So all places of the
// arena are for threads of the application, oneTBB starts none, and these are started here, all of
// them when the encoder opens.
#pragma once

#include <oneapi/tbb/task_arena.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

namespace cj2k {

class Threads {
 public:
  /// The arena alone.
  /// @param count    threads that work: the one that calls run, and helpers
  /// @param drivers  that call run and mostly wait for a device; they have places beside the
  /// `count` Throws std::bad_alloc.
  Threads(int count, int drivers);
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  /// Starts the helpers, or as many as the system gives. Their stacks come after the memory of
  /// frames, which is needed more. Throws std::bad_alloc.
  void start();
  /// Those that there are after start.
  int count() const { return count_; }
  /// Why there are fewer, an errno value; 0: there are not.
  int error() const { return error_; }

  /// work() in the arena, once there is a place. From several threads at a time, but not from one
  /// of the arena. Throws what `work` throws, std::bad_alloc.
  template <typename Work>
  void run(const Work& work) {
    const Place place(*this);
    arena_.execute(work);
  }

 private:
  struct Helper;
  /// Of a thread that calls run. A helper gives up its own for that.
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
  const int num_helpers_;  ///< asked for
  int count_;
  int error_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  const int places_;
  int num_taken_ = 0;    ///< by helpers and by calls of run
  int num_calls_ = 0;    ///< of run, in the arena or waiting for a place
  int num_staying_ = 0;  ///< helpers that have a place and have not been told to leave it
  bool quit_ = false;
};

}  // namespace cj2k
