// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <thread>
#include <vector>

#include "run/reading_turns.h"

namespace {

TEST_CASE("reading turns: GOPs read in the order of their frames, whoever comes first") {
  constexpr uint64_t kGops = 6;
  cj2k::ReadingTurns turns;
  for (uint64_t round = 0; round < 50; ++round) {
    std::vector<uint64_t> begun, read;  // `read` has no lock but the turns
    for (uint64_t i = 0; i < kGops; ++i) begun.push_back(turns.begin());
    std::vector<std::thread> gops;
    for (uint64_t i = kGops; i-- > 0;) {
      gops.emplace_back([&, turn = begun[i]] {
        for (int part = 0; part < 2; ++part) {  // frames may come in parts
          turns.wait(turn);
          read.push_back(turn);
        }
        turns.end(turn);
      });
    }
    for (std::thread& gop : gops) gop.join();
    std::vector<uint64_t> expected;
    for (const uint64_t turn : begun) expected.insert(expected.end(), 2, turn);
    CHECK(read == expected);
  }
}

}  // namespace
