// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// 10^5 frames of films, half of them with each coder. CJ2K_FILM_FRAMES=n sets the number,
// CJ2K_FILM_SEED=n where the random numbers begin.
#include <doctest/doctest.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>

#include "roundtrip/film.h"

namespace cj2k::test {
namespace {

int64_t number_from(const char* name, int64_t otherwise) {
  const char* const value = std::getenv(name);
  return value != nullptr ? std::atoll(value) : otherwise;
}

TEST_CASE("films: 10^5 frames") {
  const int64_t frames = number_from("CJ2K_FILM_FRAMES", 100000);
  const auto seed = static_cast<uint64_t>(number_from("CJ2K_FILM_SEED", 3));
  for (const char* coder : {"ebcot", "ht"}) {
    const FilmUse use = soak_films(coder, frames / 2, seed);
    std::printf(
        "%s: %" PRId64 " frames, none above; %.3f %% of the targets unused, at most %" PRId64
        " bytes of a frame\n",
        coder, use.frames, 100.0 * static_cast<double>(use.left) / static_cast<double>(use.all),
        use.most_left);
    CHECK(use.frames >= frames / 2);
  }
}

}  // namespace
}  // namespace cj2k::test
