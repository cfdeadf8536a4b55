// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// verify = 1: every codestream is read back before it leaves.
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "support/encode.h"

namespace cj2k::test {
namespace {

TEST_CASE("verify changes no byte, and says how much was proved") {
  struct Row {
    int proved;
    std::vector<std::pair<const char*, std::string>> settings;
  };
  const Row rows[] = {
      {2, {{"lossless", "1"}}},
      {2, {{"lossless", "1"}, {"coder", "ht"}, {"threads", "3"}}},
      {2, {{"lossless", "1"}, {"format", "jp2"}, {"tile", "100x90"}, {"layers", "3"}}},
      {2, {{"wavelet", "5/3"}, {"quality", "0.01"}}},
      {1, {{"wavelet", "5/3"}, {"target_bytes", "20000"}}},
      {1, {{"target_bytes", "20000"}}},
      {1, {{"target_bytes", "20000"}, {"effort", "3"}, {"gop", "2"}}},
      {1, {{"target_bytes", "20000"}, {"coder", "ht"}, {"ht_passes", "cleanup"}}},
      {1, {{"target_bytes", "20000"}, {"coder", "ht"}, {"effort", "2"}}},
      {1, {{"target_bytes", "20000"}, {"stop", "psb"}, {"measure_mse", "1"}}},
      {1, {{"quality", "2"}, {"roi", "20,30,100,80"}}},
  };
  for (const Row& row : rows) {
    cj2k_params p = make_params(301, 203);
    for (const auto& [name, value] : row.settings) set(p, name, value);
    INFO(describe(p));
    const Picture picture = make_picture(p, Content::kTexture, 4);
    const Encoded plain = encode(p, picture);
    REQUIRE(plain.status == CJ2K_OK);
    CHECK(plain.stats.verified == 0);
    p.verify = 1;
    const Encoded proved = encode(p, picture);
    REQUIRE_MESSAGE(proved.status == CJ2K_OK, proved.log);
    CHECK(proved.bytes == plain.bytes);
    CHECK(proved.stats.verified == row.proved);
  }
}

// Finer steps have more bit-planes, so a block of theirs may have more zero bit-planes than the base
// steps have planes.
TEST_CASE("verify knows the steps that a frame chose") {
  cj2k_params p = make_params(41, 1, 2, 10);
  set(p, "coder", "ht");
  set(p, "tile", "8x10");
  set(p, "quality", "4");
  set(p, "frame_steps", "1");
  p.verify = 1;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    for (const Content content : kAllContents) {
      INFO("seed ", seed, " content ", std::string(content_name(content)));
      const Encoded encoded = encode(p, make_picture(p, content, seed));
      CHECK_MESSAGE(encoded.status == CJ2K_OK, encoded.log);
    }
  }
}

}  // namespace
}  // namespace cj2k::test
