// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Codestreams with many codeword segments, some of them empty. The last segment of a tile-part must
// not be empty (packets/packets.cc).
#include <doctest/doctest.h>

#include "roundtrip/roundtrip.h"

namespace cj2k::test {
namespace {

TEST_CASE("styles of many segments: no decoder takes a tile-part for truncated") {
  uint64_t seed = 60;
  for (const char* style : {"termall", "bypass+termall", "reset+termall", "bypass"}) {
    for (const char* tile_parts : {"none", "resolution", "component"}) {
      cj2k_params p = make_params(200, 130, 3, 8);
      set(p, "cblk_style", style);
      set(p, "tile_parts", tile_parts);
      set(p, "progression", std::string(tile_parts) == "component" ? "cprl" : "rlcp");
      set(p, "cblk", "16x16");
      set(p, "tile", "64x64");
      const Picture picture = make_picture(p, Content::kTexture, ++seed);
      p.lossless = 1;
      check_roundtrip(p, picture, kAllDecoders, 0);
      p.lossless = 0;
      p.target_bytes = 12000;
      check_roundtrip(p, picture, kAllDecoders, 25);
    }
  }
}

}  // namespace
}  // namespace cj2k::test
