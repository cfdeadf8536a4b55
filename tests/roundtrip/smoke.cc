// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The fast tests: the combinations in daily use, and the smallest pictures.
#include <doctest/doctest.h>

#include "roundtrip/roundtrip.h"

namespace cj2k::test {
namespace {

TEST_CASE("lossless RGB of 8, 10, 12 and 16 bits comes back through two decoders") {
  for (int depth : {8, 10, 12, 16}) {
    for (Content content : {Content::kTexture, Content::kNoise}) {
      cj2k_params p = make_params(133, 71, 3, depth);
      p.lossless = 1;
      check_roundtrip(p, make_picture(p, content, 1), kTwoDecoders, 0);
    }
  }
}

TEST_CASE("9/7 at constant quality: two decoders agree, PSNR above its floor") {
  for (int depth : {8, 12}) {
    for (double quality : {0.5, 2.0, 8.0}) {
      cj2k_params p = make_params(133, 71, 3, depth);
      p.quality = quality;
      check_roundtrip(p, make_picture(p, Content::kTexture, 2), kTwoDecoders,
                      quality_floor(p, quality));
    }
  }
}

TEST_CASE("cinema-like coding of a small picture") {
  cj2k_params p = make_params(256, 135, 3, 12);
  set(p, "cblk", "32x32");
  set(p, "precincts", "256x256,256x256,256x256,256x256,256x256,128x128");
  set(p, "progression", "cprl");
  set(p, "tile_parts", "component");
  set(p, "guard_bits", "1");
  p.target_bytes = 16000;
  p.max_component_bytes = 12800;
  const Encoded encoded =
      check_roundtrip(p, make_picture(p, Content::kTexture, 3), kTwoDecoders, 30);
  CHECK(encoded.bytes.size() <= 16000);
}

TEST_CASE("pictures of a few samples") {
  for (const auto& [width, height] : {std::pair{1, 1}, {1, 37}, {37, 1}, {2, 2}, {3, 5}, {5, 3}}) {
    for (int components : {1, 3}) {
      cj2k_params p = make_params(width, height, components, 8);
      p.lossless = 1;
      check_roundtrip(p, make_picture(p, Content::kNoise, 4), kTwoDecoders, 0);
    }
  }
}

TEST_CASE("more tile-parts than one TLM marker segment holds") {
  // First tile indices of two bytes, then of one byte with several tile-parts per tile.
  for (const auto& [tile, tile_parts] : {std::pair{"4x4", "none"}, {"8x4", "component"}}) {
    cj2k_params p = make_params(68, 64, 3, 8);
    p.lossless = 1;
    p.levels = 2;
    set(p, "tile", tile);
    set(p, "progression", "cprl");
    set(p, "tile_parts", tile_parts);
    check_roundtrip(p, make_picture(p, Content::kTexture, 6), kTwoDecoders, 0);
  }
}

TEST_CASE("JP2 files of every number of components, with and without opacity and chroma") {
  for (int components = 1; components <= 4; ++components) {
    for (int alpha = 0; alpha <= (components > 1 ? 1 : 0); ++alpha) {
      for (int chroma = 1; chroma <= (components > 2 ? 2 : 1); ++chroma) {
        cj2k_params p = make_params(52, 38, components, 8);
        p.lossless = 1;
        p.format = CJ2K_FORMAT_JP2;
        p.alpha = alpha;
        p.dx[1] = p.dx[2] = p.dy[1] = p.dy[2] = chroma;
        check_roundtrip(p, make_picture(p, Content::kTexture, 7), kTwoDecoders, 0);
      }
    }
  }
}

TEST_CASE("every layout of samples in memory gives the same codestream") {
  cj2k_params p = make_params(45, 31, 3, 10);
  p.lossless = 1;
  const Picture picture = make_picture(p, Content::kTexture, 5);
  const Encoded planar = check_roundtrip(p, picture, {Decoder::kOpenJpeg}, 0);
  for (int32_t word_bytes : {2, 4}) {
    for (int32_t shift : {0, 6}) {
      for (bool interleaved : {false, true}) {
        for (bool bottom_up : {false, true}) {
          for (int32_t gap_bytes : {0, 3}) {
            const Encoded other =
                encode(p, picture, {word_bytes, shift, interleaved, bottom_up, gap_bytes});
            INFO("word ", word_bytes, " shift ", shift, " interleaved ", interleaved, " bottom-up ",
                 bottom_up, " gap ", gap_bytes);
            INFO("log: ", other.log);
            CHECK(other.bytes == planar.bytes);
          }
        }
      }
    }
  }
}

TEST_CASE("a sequence: each frame is coded as if it were alone, in order") {
  cj2k_params p = make_params(64, 48, 3, 8);
  std::vector<Picture> pictures;
  for (uint64_t seed = 0; seed < 9; ++seed)
    pictures.push_back(make_picture(p, Content::kTexture, seed));
  const std::vector<Encoded> alone = [&] {
    std::vector<Encoded> all;
    for (const Picture& picture : pictures) all.push_back(encode(p, picture));
    return all;
  }();
  for (int gop : {1, 4}) {
    for (int depth : {1, 3, 8}) {
      p.gop = gop;
      p.async_depth = depth;
      const std::vector<Encoded> together = encode_sequence(p, pictures);
      REQUIRE(together.size() == pictures.size());
      for (size_t i = 0; i < pictures.size(); ++i) CHECK(together[i].bytes == alone[i].bytes);
    }
  }
}

}  // namespace
}  // namespace cj2k::test
