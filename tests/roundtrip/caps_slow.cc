// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The usual bit rates, on photographs.
#include <doctest/doctest.h>

#include "roundtrip/caps.h"
#include "support/encode.h"
#include "support/media.h"

namespace cj2k::test {
namespace {

const std::vector<int64_t> kRates = {bytes_at(25), bytes_at(50), bytes_at(100), bytes_at(250),
                                     bytes_at(500)};

TEST_CASE("4K and 2K photographs at 25 to 500 Mbit/s") {
  const struct {
    const char* name;
    int depth;
  } media[] = {{"stills4k/gopro_hero6_3840x2160_12b.png", 12},
               {"stills4k/leaves_4096x2160_8b.png", 8},
               {"stills4k/art_patak_3840x2160_8b.png", 8},
               {"stills2k/apples_2048x1080_8b.png", 8}};
  for (const auto& [name, depth] : media) {
    const auto picture = load_media(name, depth);
    if (!picture) continue;
    cj2k_params p = make_params(picture->width, picture->height, 3, depth);
    set(p, "cblk", "32x32");
    check_targets(p, *picture, kRates, name);
  }
}

TEST_CASE("a cinema frame with component caps") {
  const auto picture = load_media("stills4k/gopro_hero6_3840x2160_12b.png", 12);
  if (!picture) return;
  cj2k_params p = make_params(picture->width, picture->height, 3, 12);
  set(p, "cblk", "32x32");
  set(p, "precincts", "256x256,256x256,256x256,256x256,256x256,128x128");
  check_component_caps(p, *picture, {bytes_at(100), bytes_at(250)}, "cinema");
}

}  // namespace
}  // namespace cj2k::test
