// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "base/parallel.h"
#include "base/threads.h"

namespace cj2k {
namespace {

TEST_CASE("parallel_for: each index once, in parts of the grain; a worker's memory is its own") {
  for (const int count : {1, 2, 3, 7}) {
    Threads threads(count, 0);
    threads.start();
    REQUIRE(threads.error() == 0);
    threads.run([&] {
      CHECK(num_workers() == static_cast<size_t>(count));
      std::vector<std::atomic<int>> in_use(num_workers());
      for (const size_t items : {size_t{0}, size_t{1}, size_t{5}, size_t{64}, size_t{1000}}) {
        for (const size_t grain : {size_t{1}, size_t{3}, size_t{64}}) {
          std::vector<std::atomic<int>> seen(items);
          std::atomic<int> wrong{0};
          parallel_for(items, grain, [&](size_t begin, size_t end) {
            wrong += worker_index() >= num_workers();
            wrong += in_use[worker_index()].fetch_add(1) != 0;
            wrong += end <= begin || (num_workers() > 1 && end - begin > grain);
            for (size_t i = begin; i < end; ++i) ++seen[i];
            --in_use[worker_index()];
          });
          CHECK(wrong == 0);
          CHECK(std::all_of(seen.begin(), seen.end(), [](const auto& n) { return n == 1; }));
        }
      }
    });
  }
}

TEST_CASE("parallel_for: loops in parts of loops, from several callers") {
  constexpr int kCallers = 5;
  constexpr size_t kOuter = 40, kInner = 30;
  for (const int drivers : {0, 2}) {
    Threads threads(3, drivers);
    threads.start();
    std::atomic<size_t> sum{0};
    std::atomic<int> inside{0}, most{0};
    std::vector<std::thread> callers;
    for (int c = 0; c < kCallers; ++c) {
      callers.emplace_back([&] {
        for (int round = 0; round < 20; ++round) {
          threads.run([&] {
            const int now = ++inside;
            for (int before = most; before < now && !most.compare_exchange_weak(before, now);) {
            }
            parallel_for(kOuter, 1, [&](size_t, size_t) {
              parallel_for(kInner, 4, [&](size_t begin, size_t end) { sum += end - begin; });
            });
            --inside;
          });
        }
      });
    }
    for (std::thread& caller : callers) caller.join();
    CHECK(sum == kCallers * 20 * kOuter * kInner);
    CHECK(most <= 3 + drivers);
  }
}

TEST_CASE(
    "parallel_for: the first exception of a part comes to the caller, and the threads go on") {
  Threads threads(4, 0);
  threads.start();
  threads.run([&] {
    for (int round = 0; round < 50; ++round) {
      std::atomic<size_t> parts{0};
      CHECK_THROWS_AS(parallel_for(10000, 1,
                                   [&](size_t begin, size_t) {
                                     ++parts;
                                     if (begin % 100 == 99) throw std::bad_alloc();
                                   }),
                      std::bad_alloc);
      CHECK(parts < 10000);
    }
    std::atomic<size_t> sum{0};
    parallel_for(100, 1, [&](size_t begin, size_t) { sum += begin; });
    CHECK(sum == 4950);
  });
  CHECK_THROWS_AS(threads.run([] { throw 1; }), int);
  threads.run([] { CHECK(worker_index() < 4); });
}

TEST_CASE("parallel_for: outside of Threads::run, and without helpers, in the calling thread") {
  const std::thread::id here = std::this_thread::get_id();
  const auto stays_here = [&] {
    bool same = true;
    size_t sum = 0;
    parallel_for(100, 10, [&](size_t begin, size_t end) {
      same &= std::this_thread::get_id() == here;
      sum += end - begin;
    });
    return same && sum == 100;
  };
  CHECK(num_workers() == 1);
  CHECK(stays_here());
  Threads threads(3, 0);  // not started
  threads.run([&] { CHECK(stays_here()); });
}

}  // namespace
}  // namespace cj2k
