// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Same input, same bytes, with any number of threads, any instruction set and any batch. Also what
// info and stats report.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "support/check.h"
#include "support/codestream.h"
#include "support/encode.h"

namespace cj2k::test {
namespace {

std::vector<cj2k_params> configurations() {
  std::vector<cj2k_params> all;
  for (const char* rate : {"lossless", "quality", "target"}) {
    for (const char* wavelet : {"9/7", "5/3"}) {
      cj2k_params p = make_params(333, 217, 3, 12);
      set(p, "wavelet", wavelet);
      set(p, "cblk", "32x32");
      if (std::string(rate) == "lossless") p.lossless = 1;
      if (std::string(rate) == "quality") p.quality = 1;
      if (std::string(rate) == "target") p.target_bytes = 30000;
      if (p.lossless == 0 || p.wavelet == CJ2K_WAVELET_53) all.push_back(p);
    }
  }
  cj2k_params tiles = make_params(333, 217, 4, 8);
  set(tiles, "tile", "128x100");
  set(tiles, "layers", "5");
  set(tiles, "progression", "rpcl");
  set(tiles, "precincts", "64x64");
  set(tiles, "cblk_style", "bypass+termall+segsym");
  tiles.target_bytes = 40000;
  all.push_back(tiles);
  return all;
}

TEST_CASE("1, 2 and 7 threads give the same bytes") {
  for (cj2k_params p : configurations()) {
    INFO("parameters: ", describe(p));
    const Picture picture = make_picture(p, Content::kTexture, 3);
    p.threads = 1;
    const Encoded one = encode(p, picture);
    REQUIRE(one.status == CJ2K_OK);
    for (int threads : {2, 7}) {
      for (int repeat = 0; repeat < 3; ++repeat) {
        p.threads = threads;
        const Encoded many = encode(p, picture);
        CHECK(many.bytes == one.bytes);
        CHECK(many.stats.slope_threshold == one.stats.slope_threshold);
        CHECK(many.stats.passes_included == one.stats.passes_included);
        for (int c = 0; c < p.num_components; ++c) CHECK(many.stats.mse[c] == one.stats.mse[c]);
      }
    }
  }
}

// With CJ2K_FETCH the library has a Highway of its own, which nothing outside it can force to a target.
TEST_CASE("every instruction set of this machine gives the same bytes" *
          doctest::skip(CJ2K_HIGHWAY_IS_INSIDE)) {
  const std::vector<int64_t> targets = check::targets();
  REQUIRE(!targets.empty());
  for (cj2k_params p : configurations()) {
    p.threads = 2;
    INFO("parameters: ", describe(p));
    const Picture picture = make_picture(p, Content::kTexture, 7);
    const Encoded expected = encode(p, picture);
    REQUIRE(expected.status == CJ2K_OK);
    for (int64_t target : targets) {
      const check::ForceTarget force(target);
      INFO("target ", std::string(hwy::TargetName(target)));
      cj2k_encoder* encoder = nullptr;
      REQUIRE(cj2k_encoder_open(&p, &encoder) == CJ2K_OK);
      cj2k_info info = {};
      info.struct_size = sizeof info;
      CHECK(cj2k_encoder_info(encoder, &info) == CJ2K_OK);
      CHECK(std::string(info.simd) == std::string(hwy::TargetName(target)));
      cj2k_encoder_close(encoder);
      CHECK(encode(p, picture).bytes == expected.bytes);
    }
  }
}

TEST_CASE("info tells what was opened") {
  cj2k_params p = make_params(300, 200, 3, 8);
  set(p, "tile", "150x100");
  set(p, "cblk", "32x32");
  set(p, "levels", "1");
  p.layers = 3;
  p.threads = 3;
  cj2k_encoder* encoder = nullptr;
  REQUIRE(cj2k_encoder_open(&p, &encoder) == CJ2K_OK);
  cj2k_info info = {};
  info.struct_size = sizeof info;
  CHECK(cj2k_encoder_info(encoder, &info) == CJ2K_OK);
  CHECK(std::string(info.backend) == "cpu");
  CHECK(std::string(info.simd).size() > 0);
  CHECK(info.threads == 3);
  CHECK(info.gop >= 1);
  CHECK(info.async_depth >= 1);
  CHECK(info.num_tiles == 4);
  CHECK(info.num_packets == 4 * 3 * 2 * 3);  // tiles, components, resolutions, layers
  // Each tile-component is 150x100. At level 1 it has four subbands of 75x50, with 32x32 blocks on
  // the subband's grid.
  CHECK(info.num_blocks >= 4 * 3 * 4 * 6);
  CHECK(info.num_blocks <= 4 * 3 * 4 * 12);
  CHECK(info.host_bytes >= 300 * 200 * 3 * 4);
  CHECK(info.host_bytes < int64_t{1} << 30);

  const Picture picture = make_picture(p, Content::kTexture, 1);
  const Encoded encoded = encode(p, picture);
  REQUIRE(encoded.status == CJ2K_OK);
  CHECK(encoded.stats.blocks == info.num_blocks);
  const ParsedCodestream parsed = check_codestream(encoded.bytes);
  size_t headers = parsed.main_header_bytes + 2;
  for (const ParsedTilePart& part : parsed.tile_parts) headers += part.data - part.begin;
  CHECK(info.header_bytes == static_cast<int64_t>(headers));
  cj2k_encoder_close(encoder);
}

TEST_CASE("stats add up") {
  cj2k_params p = make_params(256, 192, 3, 8);
  set(p, "mct", "off");
  p.quality = 4;
  const Picture picture = make_picture(p, Content::kTexture, 1);
  const Encoded encoded = encode(p, picture);
  REQUIRE(encoded.status == CJ2K_OK);
  const cj2k_stats& stats = encoded.stats;
  CHECK(stats.bytes == static_cast<int64_t>(encoded.bytes.size()));
  const ParsedCodestream parsed = check_codestream(encoded.bytes);
  int64_t packets = 0, headers = static_cast<int64_t>(parsed.main_header_bytes) + 2;
  for (const ParsedTilePart& part : parsed.tile_parts) {
    packets += static_cast<int64_t>(part.end - part.data);
    headers += static_cast<int64_t>(part.data - part.begin);
  }
  CHECK(stats.component_bytes[0] + stats.component_bytes[1] + stats.component_bytes[2] == packets);
  CHECK(stats.header_bytes >= headers);
  CHECK(stats.header_bytes < stats.bytes / 2);
  CHECK(stats.passes_included > 0);
  CHECK(stats.passes_included <= stats.passes_coded);
  CHECK(stats.slope_threshold > 0);
  for (int c = 0; c < 3; ++c) CHECK(stats.mse[c] > 0);
  for (int i = 0; i < CJ2K_MAX_STAGES; ++i) {
    CHECK(stats.stage_ms[i] >= 0);
    if (i >= CJ2K_NUM_STAGES) CHECK(stats.stage_ms[i] == 0);
  }
  // Each other stage may take less than the clock resolves for such a small picture.
  CHECK(stats.stage_ms[CJ2K_STAGE_INGEST] > 0);
  CHECK(stats.stage_ms[CJ2K_STAGE_BLOCKS] > 0);

  p.lossless = 1;
  p.quality = 0;
  const Encoded lossless = encode(p, picture);
  REQUIRE(lossless.status == CJ2K_OK);
  CHECK(lossless.stats.passes_included == lossless.stats.passes_coded);
  for (int c = 0; c < 3; ++c) CHECK(std::abs(lossless.stats.mse[c]) < 1e-9);
}

TEST_CASE("stop exact does not begin blocks of which nothing can come into the file") {
  cj2k_params p = make_params(512, 512, 1, 12);
  set(p, "cblk", "16x16");
  p.target_bytes = 6000;
  // A strip that uses all bytes, and faint grain elsewhere.
  Picture picture = make_picture(p, Content::kNoise, 1);
  for (size_t i = 64 * 512; i < picture.components[0].samples.size(); ++i) {
    picture.components[0].samples[i] = 2048 + picture.components[0].samples[i] / 512;
  }
  const Encoded exact = encode(p, picture);
  REQUIRE(exact.status == CJ2K_OK);
  p.stop = CJ2K_STOP_NONE;
  const Encoded none = encode(p, picture);
  REQUIRE(none.status == CJ2K_OK);
  CHECK(none.stats.passes_coded > 5 * none.stats.blocks);
  CHECK(none.stats.passes_left == 0);
  CHECK(none.stats.saved_ms == 0);
  CHECK(exact.stats.saved_ms == doctest::Approx(exact.stats.stage_ms[CJ2K_STAGE_BLOCKS] *
                                                static_cast<double>(exact.stats.passes_left) /
                                                static_cast<double>(exact.stats.passes_coded)));
  CHECK(exact.stats.passes_coded + exact.stats.passes_left == none.stats.passes_coded);
  CHECK(exact.stats.passes_coded < 4900);  // 5300 if each block is begun
  CHECK(exact.bytes == none.bytes);
  // The error of blocks that were not begun is included.
  CHECK(exact.stats.mse[0] == doctest::Approx(none.stats.mse[0]).epsilon(0.01));
}

TEST_CASE("stop exact codes a part of a small frame") {
  for (const char* coder : {"ebcot", "ht"}) {
    CAPTURE(coder);
    cj2k_params p = make_params(384, 256, 3, 8);
    set(p, "coder", coder);
    set(p, "cblk", "32x32");
    p.target_bytes = 30000;
    const Picture picture = make_picture(p, Content::kTexture, 1);
    const Encoded exact = encode(p, picture);
    REQUIRE(exact.status == CJ2K_OK);
    CHECK(exact.stats.blocks > 256);  // fewer are coded in full
    CHECK(exact.stats.blocks < 512);
    p.stop = CJ2K_STOP_NONE;
    const Encoded none = encode(p, picture);
    REQUIRE(none.status == CJ2K_OK);
    const int64_t most = p.coder == CJ2K_CODER_HT ? 30 : 90;  // percent
    CHECK(exact.stats.passes_coded < none.stats.passes_coded * most / 100);
  }
}

TEST_CASE("a smaller quality value is a better picture and a larger file") {
  cj2k_params p = make_params(256, 192, 3, 8);
  const Picture picture = make_picture(p, Content::kTexture, 1);
  size_t last_bytes = SIZE_MAX;
  double last_mse = 0;
  for (double quality : {0.25, 0.5, 1.0, 2.0, 4.0, 16.0, 64.0}) {
    p.quality = quality;
    const Encoded encoded = encode(p, picture);
    REQUIRE(encoded.status == CJ2K_OK);
    CHECK(encoded.bytes.size() <= last_bytes);
    CHECK(encoded.stats.mse[0] >= last_mse);
    last_bytes = encoded.bytes.size();
    last_mse = encoded.stats.mse[0];
  }
}

}  // namespace
}  // namespace cj2k::test
