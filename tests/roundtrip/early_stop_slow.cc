// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// stop = exact against coding every plane: within 0.01 dB, with far fewer passes.
#include <doctest/doctest.h>

#include <cstdio>

#include "roundtrip/roundtrip.h"
#include "support/media.h"

namespace cj2k::test {
namespace {

/// @param most_loss  in dB
void compare(const Picture& picture, const std::string& name, cj2k_params p, double most_loss) {
  p.stop = CJ2K_STOP_NONE;
  const Encoded full = encode(p, picture);
  p.stop = CJ2K_STOP_EXACT;
  const Encoded exact = encode(p, picture);
  INFO(name, " ", full.log, exact.log);
  REQUIRE(full.status == CJ2K_OK);
  REQUIRE(exact.status == CJ2K_OK);
  if (p.target_bytes > 0) CHECK(static_cast<int64_t>(exact.bytes.size()) <= p.target_bytes);
  const Decoded a = decode(Decoder::kOpenJpeg, full.bytes, p),
                b = decode(Decoder::kOpenJpeg, exact.bytes, p);
  REQUIRE(a.picture);
  REQUIRE(b.picture);
  const double full_psnr = psnr(picture, *a.picture), exact_psnr = psnr(picture, *b.picture);
  std::printf("%s: none %zu bytes %.3f dB %lld passes, exact %zu bytes %.3f dB %lld passes\n",
              name.c_str(), full.bytes.size(), full_psnr,
              static_cast<long long>(full.stats.passes_coded), exact.bytes.size(), exact_psnr,
              static_cast<long long>(exact.stats.passes_coded));
  CHECK(exact_psnr >= full_psnr - most_loss);
  CHECK(exact.stats.passes_coded <= full.stats.passes_coded);
}

void compare_rates(const Picture& picture, const std::string& name, const char* style) {
  cj2k_params p =
      make_params(picture.width, picture.height, static_cast<int32_t>(picture.components.size()),
                  picture.components[0].depth);
  set(p, "cblk", "32x32");
  set(p, "cblk_style", style);
  for (int mbits : {25, 50, 100, 250}) {
    p.target_bytes = mbits * 1000000LL / 8 / 24;
    compare(picture, name + " " + std::to_string(mbits) + " Mbit/s", p, 0.01);
  }
  p.target_bytes = 0;
  p.quality = 4;
  compare(picture, name + " quality 4", p, 0.01);
  p.quality = 0;
  p.target_bytes = 400000;
  p.max_component_bytes = 200000;
  p.layers = 4;
  compare(picture, name + " component caps, 4 layers", p, 0.01);
}

TEST_CASE("stop exact loses less than 0.01 dB against stop none: contents") {
  if (!use_decoder(Decoder::kOpenJpeg)) return;
  const cj2k_params p = make_params(1200, 800, 3, 10);
  SUBCASE("texture") { compare_rates(make_picture(p, Content::kTexture, 3), "texture", "0"); }
  SUBCASE("noise") { compare_rates(make_picture(p, Content::kNoise, 3), "noise", "0"); }
  // Flat areas and sharp corners: planes with nearly no bytes, and slopes that rise again in lower
  // planes.
  SUBCASE("edges") { compare_rates(make_picture(p, Content::kEdges, 3), "edges", "0"); }
}

TEST_CASE("stop exact loses less than 0.01 dB against stop none: code-block styles") {
  if (!use_decoder(Decoder::kOpenJpeg)) return;
  const cj2k_params p = make_params(1200, 800, 3, 10);
  for (const char* style : {"bypass", "termall+reset", "vsc+segsym+pterm"}) {
    compare_rates(make_picture(p, Content::kTexture, 3), style, style);
  }
}

TEST_CASE("stop exact loses less than 0.01 dB against stop none: photographs") {
  if (!use_decoder(Decoder::kOpenJpeg)) return;
  for (const char* name :
       {"stills2k/apples_2048x1080_8b.png", "film/kodak_pcd0023_parrots_3072x2048_8b.png"}) {
    if (const auto picture = load_media(name, 8)) compare_rates(*picture, name, "0");
  }
}

}  // namespace
}  // namespace cj2k::test
