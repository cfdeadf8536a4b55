// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include "cpu/step_guess.h"

namespace cj2k {
namespace {

/// Frames that choose these sets. @return right and wrong guesses
struct Guesses {
  int right = 0, wrong = 0;
  void follow(StepGuess& steps, std::initializer_list<uint32_t> sets) {
    for (const uint32_t set : sets) {
      const std::optional<uint32_t> guess = steps.next();
      if (guess) ++(*guess == set ? right : wrong);
      steps.note(guess, set);
    }
  }
};

TEST_CASE("step guess: the first frame takes set 0; then two frames must agree") {
  StepGuess steps;
  CHECK(steps.next() == 0u);
  Guesses g;
  g.follow(steps, {0, 0, 0});
  CHECK(g.right == 3);
  g.follow(steps, {5});
  CHECK(g.wrong == 1);
  CHECK(!steps.next());
}

TEST_CASE("step guess: frames that do not agree for long cost few transforms") {
  StepGuess steps;
  Guesses g;
  for (int i = 0; i < 100; ++i) g.follow(steps, {1, 1, 2, 2, 2, 3});
  CHECK(g.wrong <= 3);
}

TEST_CASE("step guess: frames that agree again are guessed again") {
  StepGuess steps;
  Guesses g;
  g.follow(steps, {0, 0, 1, 1, 1, 1, 2, 2, 2});
  for (int i = 0; i < 100; ++i) g.follow(steps, {2});
  CHECK(g.right > 80);
  CHECK(steps.next() == 2u);
}

}  // namespace
}  // namespace cj2k
