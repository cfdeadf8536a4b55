// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Slope thresholds go from one GOP to the next, each on a thread of its own.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "run/stop_feedback.h"

namespace cj2k {
namespace {

TEST_CASE("feedback: each GOP hears of the one before it, in whatever order they end") {
  StopFeedback feedback(2);
  CHECK(feedback.begin() == 0);
  CHECK(feedback.begin() == 1);
  CHECK(feedback.previous(0) == SlopeThresholds{});

  std::atomic<bool> heard = false;
  SlopeThresholds previous{};
  std::thread second([&] {
    previous = feedback.previous(1);
    heard = true;
  });
  // It waits for GOP 0, which has not published yet. (If the other thread is slow the check may
  // pass wrongly, but it can never fail wrongly.)
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK_FALSE(heard);
  feedback.publish(0, {100, 101});
  second.join();
  CHECK(previous == SlopeThresholds{100, 101});

  // GOP 2 takes the place of GOP 0 in the ring. GOP 1 publishes before it is asked for.
  CHECK(feedback.begin() == 2);
  feedback.publish(1, {200});
  CHECK(feedback.previous(2) == SlopeThresholds{200});
  feedback.publish(2, {300});
  CHECK(feedback.begin() == 3);
  CHECK(feedback.previous(3) == SlopeThresholds{300});
  feedback.publish(3, {400});

  // A new sequence knows nothing about the one before.
  feedback.restart();
  CHECK(feedback.begin() == 4);
  CHECK(feedback.previous(4) == SlopeThresholds{});
  feedback.publish(4, {500});
  CHECK(feedback.begin() == 5);
  CHECK(feedback.previous(5) == SlopeThresholds{500});
}

TEST_CASE("feedback: a chain of GOPs on threads of their own") {
  constexpr uint64_t kGops = 60, kInFlight = 3;
  StopFeedback feedback(kInFlight);
  std::vector<std::thread> threads(kGops);
  std::vector<uint16_t> heard(kGops);
  for (uint64_t g = 0; g < kGops; ++g) {
    if (g >= kInFlight) threads[g - kInFlight].join();
    const uint64_t number = feedback.begin();
    REQUIRE(number == g);
    threads[g] = std::thread([&, g] {
      heard[g] = feedback.previous(g)[0];
      feedback.publish(g, {static_cast<uint16_t>(heard[g] + g + 1)});
    });
  }
  for (uint64_t g = kGops - kInFlight; g < kGops; ++g) threads[g].join();
  for (uint64_t g = 0; g < kGops; ++g) CHECK(heard[g] == g * (g + 1) / 2);
}

}  // namespace
}  // namespace cj2k
