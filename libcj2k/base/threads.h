// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The threads of an encoder: a number of places, each with working memory of its own. A thread that
// calls run has a place while its work lasts; the other places belong to helpers, which run parts of
// the loops (base/parallel.h) of all threads. All helpers start when the encoder opens, so that a
// thread that the system refuses is known then.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace cj2k {

/// A loop over [0, count) in parts of `grain`. It lies on the stack of the thread that began it.
struct Loop {
  void (*part)(const void* body, size_t begin, size_t end);
  const void* body;
  size_t count, grain;
  std::atomic<size_t> next{0};  ///< where the next part begins
  // The rest is guarded by Threads::mutex_, but users may be read without.
  std::atomic<int> users{0};   ///< helpers that run parts of it
  std::exception_ptr error{};  ///< the first; it ends the loop
  Loop* older = nullptr;       ///< in the list of open loops

  bool has_parts() const { return next.load(std::memory_order_relaxed) < count; }
};

class Threads {
 public:
  /// Starts no thread. Throws std::bad_alloc.
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

  /// Calls work() as soon as there is a place. Several threads may call this at a time, but not from
  /// inside of `work`. Throws what `work` throws.
  template <typename Work>
  void run(const Work& work) {
    const Place place(*this);
    work();
  }

  /// For parallel_for: runs the parts of a loop, with the helpers that are free. Throws what a part
  /// throws; parts that have not begun are left out then. Allocates: no.
  void run(Loop& loop);
  /// The threads in which the calling thread has a place; null: it has none.
  static Threads* current() { return here_.threads; }
  static size_t index() { return here_.index; }
  size_t num_places() const { return num_places_; }

 private:
  struct Here {
    Threads* threads = nullptr;
    size_t index = 0;
  };
  class Place {
   public:
    explicit Place(Threads& threads) : threads_(threads) { threads_.enter(); }
    ~Place() { threads_.leave(); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

   private:
    Threads& threads_;
  };
  using Lock = std::unique_lock<std::mutex>;

  void help();
  void enter();
  void leave();
  void take_place();
  void give_place();
  Loop* open_loop() const;
  template <typename IsOver>
  void join(Loop& loop, const IsOver& is_over, Lock& lock);
  template <typename IsOver>
  void run_parts(Loop& loop, const IsOver& is_over, Lock& lock);
  void add(Loop& loop);
  void remove(const Loop& loop);

  static thread_local Here here_;
  std::vector<std::thread> helpers_;
  const size_t num_places_;
  const int num_helpers_;  ///< asked for
  int count_;
  int error_ = 0;

  std::mutex mutex_;
  std::condition_variable work_;        ///< for helpers: a loop with parts, a place, the end
  std::condition_variable changed_;     ///< for callers: a place, a loop that a helper has left
  std::vector<size_t> free_places_;     ///< their indices
  std::atomic<int> num_waiting_{0};     ///< calls of run that wait for a place
  std::atomic<Loop*> newest_{nullptr};  ///< list of open loops
  bool quit_ = false;
};

}  // namespace cj2k
