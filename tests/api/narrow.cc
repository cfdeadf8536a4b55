// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Coefficients of 16 bits, with the 9/7 quantised or rounded in the wavelet transform (cpu/cpu_pixels.h),
// against those of 32 bits, which measure_mse needs. With one thread the levels of the wavelet transform
// are a chain.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/encode.h"

namespace cj2k::test {
namespace {

void set_all(cj2k_params& p, const std::string& text) {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const size_t equals = text.find('=', begin);
    set(p, text.substr(begin, equals - begin).c_str(), text.substr(equals + 1, end - equals - 1));
    begin = end + 1;
  }
}

TEST_CASE("16 bits: the bytes are those with coefficients of 32 bits") {
  const struct {
    int depth;
    const char* coding;  // name=value ...
  } table[] = {
      {8, "target_bytes=40000"},
      {8, "target_bytes=40000 levels=1"},
      {8, "target_bytes=40000 levels=2 cblk_style=1"},
      {8, "target_bytes=40000 levels=3 stop=none"},
      {8, "target_bytes=40000 levels=4 stop=psb"},
      {8, "target_bytes=40000 levels=8 stop=bpi"},
      {8, "quality=4 tile=97x61 tile_offset=3x5 image_offset=7x9"},
      {8, "target_bytes=40000 dx=1,2,4 dy=1,2,1 mct=off tile=101x64"},
      {8, "target_bytes=40000 roi=20,30,80,60"},
      {8, "target_bytes=40000 coder=ht frame_steps=0"},
      {10, "target_bytes=40000"},
      {10, "target_bytes=40000 tile=97x61 levels=6"},
      {12, "target_bytes=40000 tile=128x128"},
      {12, "target_bytes=40000 levels=4 quant_step=0.25"},
      {14, "target_bytes=40000 levels=3"},
      {16, "target_bytes=40000 quant_step=0.0625"},
      {8, "target_bytes=40000 levels=0"},
      {16, "target_bytes=40000 levels=0"},
      {8, "target_bytes=40000 coder=ht"},
      {8, "target_bytes=100000 coder=ht cblk=16x16"},
      {8, "target_bytes=90000 coder=ht cblk=8x32 image_offset=7x9 levels=1"},
      {10, "target_bytes=90000 coder=ht cblk=16x8 precincts=64x32 levels=4 image_offset=5x2"},
      {12, "target_bytes=50000 coder=ht cblk=16x16 dx=1,2,2 dy=1,2,1 mct=off levels=3"},
      {8, "target_bytes=120000 coder=ht cblk=16x16 ht_passes=cleanup"},
      {8, "quality=4 coder=ht cblk=16x16"},
      {8, "wavelet=5/3 stop=psb target_bytes=40000"},
  };
  for (const auto& row : table) {
    CAPTURE(std::string(row.coding));
    cj2k_params p = make_params(331, 270, 3, row.depth);
    p.threads = 1;
    set_all(p, row.coding);
    cj2k_params wide = p;
    wide.measure_mse = 1;
    for (const Content content : {Content::kTexture, Content::kNoise}) {
      const Picture picture = make_picture(p, content, 7);
      const std::vector<uint8_t> expected = encode(wide, picture).bytes;
      REQUIRE(!expected.empty());
      CHECK(encode(p, picture).bytes == expected);
      cj2k_params threads = p;
      threads.threads = 2;
      CHECK(encode(threads, picture).bytes == expected);
    }
  }
}

}  // namespace
}  // namespace cj2k::test
