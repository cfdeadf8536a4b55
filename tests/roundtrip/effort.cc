// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// effort: what 2 and 3 make is Part 1 for other projects' decoders, within the caps, the same for any
// number of threads, and better than effort 1 at the same bytes.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "roundtrip/roundtrip.h"

namespace cj2k::test {
namespace {

cj2k_params params_with(int effort, int width, int height, int components = 3, int depth = 8) {
  cj2k_params p = make_params(width, height, components, depth);
  p.effort = effort;
  return p;
}

/// @param text  "name=value name=value"
void set_all(cj2k_params& p, std::string text) {
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const size_t equals = text.find('=');
    set(p, text.substr(0, equals).c_str(), text.substr(equals + 1, end - equals - 1));
    text.erase(0, end + 1);
  }
}

/// PSNR under a cap, as OpenJPEG shows it.
double psnr_at(cj2k_params p, const Picture& picture, int64_t bytes) {
  p.target_bytes = bytes;
  const Encoded ours = encode(p, picture);
  INFO(ours.log);
  REQUIRE(ours.status == CJ2K_OK);
  CHECK(ours.bytes.size() <= static_cast<size_t>(bytes));
  CHECK(ours.bytes.size() > static_cast<size_t>(bytes) * 9 / 10);
  const Decoded shown = decode(Decoder::kOpenJpeg, ours.bytes, p);
  INFO(shown.error);
  REQUIRE(shown.picture);
  return psnr(picture, *shown.picture);
}

TEST_CASE("effort: 2 and 3 gain at equal bytes, 0 loses next to nothing" *
          doctest::test_suite("quality")) {
  if (!use_decoder(Decoder::kOpenJpeg)) return;
  for (const cj2k_wavelet wavelet : {CJ2K_WAVELET_97, CJ2K_WAVELET_53}) {
    cj2k_params p = params_with(1, 640, 480);
    p.wavelet = wavelet;
    set(p, "cblk", "32x32");
    const Picture picture = make_picture(p, Content::kTexture, 3);
    for (const int64_t bytes : {20000, 60000}) {
      CAPTURE(bytes);
      CAPTURE(static_cast<int>(wavelet));
      double db[4];
      for (int effort = 0; effort <= 3; ++effort) {
        p.effort = effort;
        db[effort] = psnr_at(p, picture, bytes);
      }
      std::string all;
      for (const double d : db) all += std::to_string(d) + " ";
      INFO(all);
      CHECK(db[0] > db[1] - 0.06);
      CHECK(db[2] > db[1] + 0.03);
      CHECK(db[3] > db[1] + 0.05);
    }
  }
}

TEST_CASE("effort 2 and 3: the errors of Y, Cb and Cr are taken together") {
  if (!use_decoder(Decoder::kOpenJpeg)) return;
  // Components without anything in common. One by one, RDOQ gains 0.07 dB at this rate.
  cj2k_params p = params_with(1, 640, 480);
  const Picture picture = make_picture(p, Content::kNoise, 5);
  const double plain = psnr_at(p, picture, 60000);
  for (const int effort : {2, 3}) {
    p.effort = effort;
    CHECK(psnr_at(p, picture, 60000) > plain + 0.2);
  }
}

TEST_CASE("effort 2 and 3: the mean squared error that is measured is that of a decoder") {
  if (!use_decoder(Decoder::kOpenJpeg)) return;
  for (const int effort : {2, 3}) {
    for (const char* wavelet : {"9/7", "5/3"}) {
      cj2k_params p = params_with(effort, 320, 240);
      set(p, "wavelet", wavelet);
      p.target_bytes = 20000;
      p.measure_mse = 1;
      const Picture picture = make_picture(p, Content::kTexture, 5);
      const Encoded ours = encode(p, picture);
      REQUIRE(ours.status == CJ2K_OK);
      const Decoded shown = decode(Decoder::kOpenJpeg, ours.bytes, p);
      REQUIRE(shown.picture);
      double mean = 0;
      for (int c = 0; c < 3; ++c) mean += ours.stats.mse[c] / 3;
      CAPTURE(effort);
      CAPTURE(wavelet);
      CHECK(10 * std::log10(255 * 255 / mean) ==
            doctest::Approx(psnr(picture, *shown.picture)).epsilon(0.0002));
    }
  }
}

TEST_CASE(
    "effort 2 and 3: every code-block style, shapes, layers, tiles, regions: decoders agree") {
  const char* const kSets[] = {
      "cblk_style=bypass cblk=32x32",
      "cblk_style=reset",
      "cblk_style=termall",
      "cblk_style=vsc cblk=16x64",
      "cblk_style=pterm cblk=32x32",
      "cblk_style=segsym",
      "cblk_style=bypass+reset+termall+vsc+pterm+segsym",
      "cblk=1024x4",
      "cblk=4x1024 levels=2",
      "cblk=4x4 wavelet=5/3",
      "layers=5 tile=100x90 progression=rpcl precincts=64x64,32x32",
      "wavelet=5/3 mct=off cblk_style=bypass",
      "stop=none frame_steps=0",
      "max_component_bytes=4000 max_frame_bytes=9000",
  };
  int i = 0;
  for (const char* settings : kSets) {
    CAPTURE(settings);
    cj2k_params p = params_with(2 + i % 2, 203, 147, 3, i % 3 == 0 ? 12 : 8);
    set_all(p, settings);
    const bool has_cap = p.max_frame_bytes != 0;
    p.quality = 3;
    check_roundtrip(p, make_picture(p, Content::kTexture, 6), kTwoDecoders,
                    has_cap ? 20 : quality_floor(p, 3) - 2);
    p.target_bytes = 12000;
    p.quality = 0;
    check_roundtrip(p, make_picture(p, Content::kNoise, 7), kTwoDecoders, 5);
    ++i;
  }
  cj2k_params p = params_with(3, 203, 147);
  set(p, "roi", "40,40,60,50");
  set(p, "cblk", "16x16");
  p.target_bytes = 12000;
  check_roundtrip(p, make_picture(p, Content::kTexture, 8), {Decoder::kOpenJpeg}, 15);
}

TEST_CASE("effort 2 and 3: the bytes do not depend on threads; without loss nothing changes") {
  for (const auto& [effort, coder] :
       {std::pair{2, CJ2K_CODER_EBCOT}, {3, CJ2K_CODER_EBCOT}, {2, CJ2K_CODER_HT}}) {
    cj2k_params p = params_with(effort, 800, 600);
    p.coder = coder;
    set(p, "cblk", "16x16");
    p.target_bytes = 50000;
    const Picture picture = make_picture(p, Content::kTexture, 9);
    p.threads = 1;
    const Encoded one = encode(p, picture);
    REQUIRE(one.status == CJ2K_OK);
    for (const int threads : {2, 5}) {
      p.threads = threads;
      CHECK(encode(p, picture).bytes == one.bytes);
    }
    p.target_bytes = 0;
    p.lossless = 1;
    const Encoded lossless = encode(p, picture);
    p.effort = 1;
    CHECK(encode(p, picture).bytes == lossless.bytes);
  }
}

TEST_CASE("effort 2 and 3 with HT: more PSNR at equal bytes, as decoders show it" *
          doctest::test_suite("quality")) {
  if (!use_decoder(Decoder::kOpenJpeg)) return;
  // Frames of less than 512 blocks, and of more; with refinement passes, and without.
  for (const char* cblk : {"64x64", "16x16"}) {
    for (const char* passes : {"all", "cleanup"}) {
      for (const cj2k_wavelet wavelet : {CJ2K_WAVELET_97, CJ2K_WAVELET_53}) {
        cj2k_params p = params_with(1, 640, 480);
        p.coder = CJ2K_CODER_HT;
        p.wavelet = wavelet;
        set(p, "cblk", cblk);
        set(p, "ht_passes", passes);
        const Picture picture = make_picture(p, Content::kTexture, 3);
        const double plain = psnr_at(p, picture, 60000);
        p.effort = 2;
        CAPTURE(cblk);
        CAPTURE(passes);
        CAPTURE(static_cast<int>(wavelet));
        const double exact = psnr_at(p, picture, 60000);
        CHECK(exact > plain + 0.05);
        p.stop = CJ2K_STOP_NONE;
        CHECK(exact == doctest::Approx(psnr_at(p, picture, 60000)).epsilon(0.002));
      }
    }
  }
}

TEST_CASE("effort 3 with HT changes two planes, 2 one, but two with fixed steps or cleanup alone") {
  cj2k_params p = params_with(1, 640, 480);
  p.coder = CJ2K_CODER_HT;
  p.target_bytes = 60000;
  const Picture picture = make_picture(p, Content::kTexture, 3);
  const auto bytes_of = [&](const char* settings, int effort) {
    cj2k_params with = p;
    set_all(with, settings);
    with.effort = effort;
    const Encoded encoded = encode(with, picture);
    REQUIRE(encoded.status == CJ2K_OK);
    return encoded.bytes;
  };
  CHECK(bytes_of("", 2) != bytes_of("", 3));
  for (const char* settings : {"frame_steps=0", "ht_passes=cleanup"}) {
    CAPTURE(settings);
    CHECK(bytes_of(settings, 1) != bytes_of(settings, 2));
    CHECK(bytes_of(settings, 2) == bytes_of(settings, 3));
  }
}

TEST_CASE("effort 2 and 3 with HT: the mean squared error that is measured is that of a decoder") {
  if (!use_decoder(Decoder::kOpenJpeg)) return;
  for (const char* wavelet : {"9/7", "5/3"}) {
    cj2k_params p = params_with(2, 320, 240);
    p.coder = CJ2K_CODER_HT;
    set(p, "wavelet", wavelet);
    p.target_bytes = 20000;
    p.measure_mse = 1;
    const Picture picture = make_picture(p, Content::kTexture, 5);
    const Encoded ours = encode(p, picture);
    REQUIRE(ours.status == CJ2K_OK);
    const Decoded shown = decode(Decoder::kOpenJpeg, ours.bytes, p);
    REQUIRE(shown.picture);
    double mean = 0;
    for (int c = 0; c < 3; ++c) mean += ours.stats.mse[c] / 3;
    CAPTURE(wavelet);
    CHECK(10 * std::log10(255 * 255 / mean) ==
          doctest::Approx(psnr(picture, *shown.picture)).epsilon(0.0002));
  }
}

TEST_CASE("effort 2 and 3 with HT: shapes, layers, tiles and caps: decoders agree") {
  const char* const kSets[] = {
      "cblk_style=vsc cblk=16x64",
      "cblk=1024x4",
      "cblk=4x1024 levels=2",
      "cblk=4x4 wavelet=5/3",
      "tile=100x90 progression=rpcl precincts=64x64,32x32",
      "wavelet=5/3 mct=off ht_passes=cleanup",
      "stop=none frame_steps=0",
      "max_component_bytes=4000 max_frame_bytes=9000",
      "tune=visual frame_steps=2",
  };
  int i = 0;
  for (const char* settings : kSets) {
    CAPTURE(settings);
    cj2k_params p = params_with(2 + i % 2, 203, 147, 3, i % 3 == 0 ? 12 : 8);
    p.coder = CJ2K_CODER_HT;
    set_all(p, settings);
    const bool has_cap = p.max_frame_bytes != 0;
    p.quality = 3;
    check_roundtrip(p, make_picture(p, Content::kTexture, 6), kHtDecoders,
                    has_cap ? 20 : quality_floor(p, 3) - 3);
    p.target_bytes = 12000;
    p.quality = 0;
    check_roundtrip(p, make_picture(p, Content::kNoise, 7), kHtDecoders, 5);
    ++i;
  }
  // OpenJPH shows the first of several layers.
  cj2k_params p = params_with(2, 203, 147);
  p.coder = CJ2K_CODER_HT;
  set(p, "layers", "4");
  p.target_bytes = 12000;
  check_roundtrip(p, make_picture(p, Content::kTexture, 8), {Decoder::kOpenJpeg}, 15);
}

TEST_CASE("effort 2 and 3: empty, tiny and flat pictures, and caps that everything fits") {
  for (const int effort : {2, 3}) {
    for (const auto& [width, height] : {std::pair{1, 1}, {3, 5}, {37, 1}}) {
      cj2k_params p = params_with(effort, width, height);
      p.quality = 2;
      check_roundtrip(p, make_picture(p, Content::kNoise, 4), kTwoDecoders, 15);
    }
    cj2k_params p = params_with(effort, 300, 200);
    p.target_bytes = 500000;
    check_roundtrip(p, make_picture(p, Content::kTexture, 4), kTwoDecoders, 45);
    p.target_bytes = 400;
    check_roundtrip(p, make_picture(p, Content::kTexture, 4), kTwoDecoders, 5);
  }
}

}  // namespace
}  // namespace cj2k::test
