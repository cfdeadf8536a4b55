// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Pictures of so many tiles that a frame under a cap is coded group by group, too (cpu/cpu_pixels.h): the
// bytes are those of a frame whose coefficients are all in memory, as measure_mse asks for.
#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "support/encode.h"
#include "support/picture.h"

namespace cj2k::test {
namespace {

TEST_CASE("tiles in groups: blocks that are coded in several orders") {
  cj2k_params p = make_params(5000, 4600, 3, 8);
  set(p, "tile", "1024");
  set(p, "threads", "2");
  const Picture picture = make_picture(p, Content::kTexture, 3);
  using Settings = std::vector<std::pair<const char*, const char*>>;
  for (const Settings& settings :
       {Settings{{"target_bytes", "3000000"}},
        Settings{{"target_bytes", "3000000"}, {"effort", "2"}},
        Settings{{"target_bytes", "3000000"}, {"coder", "ht"}},
        Settings{{"target_bytes", "200000"}, {"coder", "ht"}, {"ht_passes", "cleanup"}},
        Settings{{"quality", "2"}, {"max_frame_bytes", "2000000"}}}) {
    cj2k_params q = p;
    for (const auto& [name, value] : settings) set(q, name, value);
    CAPTURE(settings.back().second);
    const Encoded groups = encode(q, picture);
    q.measure_mse = 1;
    const Encoded whole = encode(q, picture);
    REQUIRE(groups.status == CJ2K_OK);
    CHECK(groups.bytes == whole.bytes);
  }
}

}  // namespace
}  // namespace cj2k::test
