// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// coder = ht through other projects' decoders.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>

#include "roundtrip/roundtrip.h"
#include "support/codestream.h"
#include "tools/check/check.h"

namespace cj2k::test {
namespace {

cj2k_params ht_params(int width, int height, int components = 3, int depth = 8) {
  cj2k_params p = make_params(width, height, components, depth);
  p.coder = CJ2K_CODER_HT;
  return p;
}

TEST_CASE("HT: lossless pictures of 1 to 16 bits come back") {
  for (int depth = 1; depth <= 16; ++depth) {
    for (Content content : {Content::kTexture, Content::kNoise}) {
      const int components = depth % 4 == 0 ? 3 : 1;
      cj2k_params p = ht_params(133, 71, components, depth);
      p.lossless = 1;
      check_roundtrip(p, make_picture(p, content, static_cast<uint64_t>(depth)), kHtDecoders, 0);
    }
  }
}

TEST_CASE("HT: pictures of a few samples, and code-blocks of every shape") {
  for (const auto& [width, height] : {std::pair{1, 1}, {1, 37}, {37, 1}, {2, 2}, {3, 5}, {5, 3}}) {
    cj2k_params p = ht_params(width, height);
    p.lossless = 1;
    check_roundtrip(p, make_picture(p, Content::kNoise, 4), kHtDecoders, 0);
  }
  for (const char* cblk : {"4x4", "1024x4", "4x1024", "8x512", "32x128", "128x32"}) {
    cj2k_params p = ht_params(517, 260, 1);
    set(p, "cblk", cblk);
    p.lossless = 1;
    check_roundtrip(p, make_picture(p, Content::kTexture, 5), kHtDecoders, 0);
  }
}

TEST_CASE("HT: tiles, precincts, progressions, markers and offsets") {
  int i = 0;
  for (const char* progression : {"lrcp", "rlcp", "rpcl", "pcrl", "cprl"}) {
    cj2k_params p = ht_params(203, 147, 3, i % 2 == 0 ? 8 : 12);
    set(p, "progression", progression);
    set(p, "precincts", "64x64,32x32");
    set(p, "cblk", "32x32");
    set(p, "tile", i % 2 == 0 ? "100x90" : "0x0");
    p.sop = p.eph = p.plt = 1;
    if (i % 3 == 0) p.cblk_style = CJ2K_STYLE_VSC;
    for (int lossless : {0, 1}) {
      p.lossless = lossless;
      p.quality = lossless != 0 ? 0 : 1;
      check_roundtrip(p, make_picture(p, Content::kTexture, 6), kHtDecoders, quality_floor(p, 1));
    }
    ++i;
  }
  cj2k_params p = ht_params(90, 61, 4, 8);
  set(p, "image_offset", "13x7");
  set(p, "dx", "1,2,2,1");
  set(p, "dy", "1,2,2,1");
  p.alpha = 1;
  p.lossless = 1;
  check_roundtrip(p, make_picture(p, Content::kTexture, 7), kHtDecoders, 0);
}

TEST_CASE("HT: 9/7 and 5/3 at constant quality: decoders agree, PSNR above its floor") {
  for (int depth : {8, 12, 16}) {
    for (double quality : {0.5, 2.0, 8.0}) {
      for (cj2k_wavelet wavelet : {CJ2K_WAVELET_97, CJ2K_WAVELET_53}) {
        cj2k_params p = ht_params(133, 71, 3, depth);
        p.wavelet = wavelet;
        p.quality = quality;
        check_roundtrip(p, make_picture(p, Content::kTexture, 2), kHtDecoders,
                        quality_floor(p, quality));
      }
    }
  }
}

TEST_CASE("HT: a frame never exceeds its cap, nor do components") {
  cj2k_params p = ht_params(512, 270, 3, 12);
  set(p, "cblk", "32x32");
  const Picture picture = make_picture(p, Content::kTexture, 3);
  for (int64_t target : {3000, 8000, 20000, 50000, 120000}) {
    CAPTURE(target);
    p.target_bytes = target;
    p.max_component_bytes = target / 2;
    const Encoded encoded = check_roundtrip(p, picture, kHtDecoders, 20);
    CHECK(static_cast<int64_t>(encoded.bytes.size()) <= target);
    CHECK(target - static_cast<int64_t>(encoded.bytes.size()) <=
          std::max<int64_t>(16, target / 1000));
    for (int c = 0; c < 3; ++c) CHECK(encoded.stats.component_bytes[c] <= target / 2);
  }
}

/// In frames of fewer than 512 blocks, which are coded in full, and of more.
TEST_CASE("HT: cleanup passes alone, under the same caps") {
  for (const auto& size : {std::pair{512, 270}, {800, 500}}) {
    const int width = size.first;  // clang 14 captures no structured binding
    cj2k_params p = ht_params(width, size.second, 3, 8);
    set(p, "cblk", "32x32");
    p.measure_mse = 1;
    const Picture picture = make_picture(p, Content::kTexture, 3);
    for (const int64_t target : {4000, 20000, 100000}) {
      CAPTURE(width);
      CAPTURE(target);
      p.target_bytes = target;
      p.max_component_bytes = target / 2;
      p.ht_passes = CJ2K_HT_PASSES_ALL;
      const Encoded all = encode(p, picture);
      REQUIRE(all.status == CJ2K_OK);
      CHECK(cj2k_check::check_bytes(all.bytes, {}).facts.refined_blocks > 0);
      p.ht_passes = CJ2K_HT_PASSES_CLEANUP;
      const Encoded cleanup = check_roundtrip(p, picture, kHtDecoders, 20);
      const auto bytes = static_cast<int64_t>(cleanup.bytes.size());
      CHECK(cj2k_check::check_bytes(cleanup.bytes, {}).facts.refined_blocks == 0);
      CHECK(bytes <= target);
      CHECK(bytes >= target * 99 / 100);
      const auto error = [](const double* mse) { return mse[0] + mse[1] + mse[2]; };
      CHECK(10 * std::log10(error(cleanup.stats.mse) / error(all.stats.mse)) < 0.6);
    }
  }
  cj2k_params p = ht_params(64, 64);
  p.ht_passes = CJ2K_HT_PASSES_CLEANUP;
  p.coder = CJ2K_CODER_EBCOT;
  CHECK(encode(p, make_picture(p, Content::kTexture, 1)).status == CJ2K_INVALID);
}

TEST_CASE("HT: the only sample of LL has the bits that it is worth") {
  // What MagRef removes of one large sample was taken for all that is left of it, at some steps.
  double worst = 0;
  for (int i = 0; i < 64; ++i) {
    cj2k_params p = ht_params(24, 24, 1, 10);
    set(p, "cblk", "32x4");
    p.quant_step = std::exp2(-i / 64.0);
    p.frame_steps = 0;
    p.target_bytes = 300 + 4 * i;
    p.measure_mse = 1;
    Picture picture = make_picture(p, Content::kTexture, static_cast<uint64_t>(i));
    for (int32_t& sample : picture.components[0].samples) sample = 1000 - sample / 4;
    const double all = encode(p, picture).stats.mse[0];
    p.ht_passes = CJ2K_HT_PASSES_CLEANUP;
    worst = std::max(worst, all / encode(p, picture).stats.mse[0]);
  }
  CHECK(worst > 0);
  CHECK(worst < 1.5);
}

TEST_CASE("HT: padding to the smallest size, and JPH files") {
  cj2k_params p = ht_params(96, 64, 3, 8);
  p.quality = 4;
  p.min_frame_bytes = 30000;
  CHECK(check_roundtrip(p, make_picture(p, Content::kTexture, 8), kHtDecoders, 25).bytes.size() ==
        30000);
  p.format = CJ2K_FORMAT_JP2;
  const Encoded jph =
      check_roundtrip(p, make_picture(p, Content::kTexture, 8), {Decoder::kOpenJpeg}, 25);
  CHECK(std::string(jph.bytes.begin() + 20, jph.bytes.begin() + 24) == "jph ");
}

/// In frames of 512 blocks or more, passes are left out that the slope cannot choose: the caps are used,
/// and the error is that of all passes.
TEST_CASE("HT: passes left out under a cap") {
  cj2k_params p = ht_params(1100, 700, 3, 8);
  set(p, "cblk", "32x32");
  p.measure_mse = 1;
  const Picture picture = make_picture(p, Content::kTexture, 9);
  for (const int64_t target : {20000, 90000, 400000}) {
    CAPTURE(target);
    p.target_bytes = target;
    set(p, "stop", "exact");
    const Encoded near = encode(p, picture);
    REQUIRE(near.status == CJ2K_OK);
    CHECK(static_cast<int64_t>(near.bytes.size()) <= target);
    CHECK(static_cast<int64_t>(near.bytes.size()) >= target * 999 / 1000);
    // Other steps, and all planes.
    set(p, "stop", "none");
    const Encoded all = encode(p, picture);
    REQUIRE(all.status == CJ2K_OK);
    double error = 0, least = 0;
    for (int c = 0; c < 3; ++c) {
      error += near.stats.mse[c];
      least += all.stats.mse[c];
    }
    CHECK(error <= 1.02 * least);
  }
}

/// Noise that the samples take for an eighth of the frame, so the slope predicted is far too high.
Picture misleading_picture(const cj2k_params& p) {
  Picture picture = make_picture(p, Content::kFlat, 1);
  std::mt19937 random(1);
  for (ComponentPlane& plane : picture.components) {
    for (int y = 0; y < plane.height; ++y) {
      for (int x = 0; x < plane.width; ++x) {
        const bool is_noise = y < 64 && x >= 256 && x < 320;
        plane.samples[static_cast<size_t>(y * plane.width + x)] =
            static_cast<int32_t>(is_noise ? random() % 256 : 126 + random() % 5);
      }
    }
  }
  return picture;
}

TEST_CASE("HT: where the prediction fails, more planes are coded") {
  cj2k_params p = ht_params(1100, 700, 3, 8);
  set(p, "cblk", "32x32");
  set(p, "frame_steps", "0");
  p.measure_mse = 1;
  const Picture picture = misleading_picture(p);
  for (const int64_t target : {3000, 3500, 4500}) {
    CAPTURE(target);
    p.target_bytes = target;
    double error[2] = {};
    for (const int is_all : {0, 1}) {
      set(p, "stop", is_all != 0 ? "none" : "exact");
      const Encoded encoded = encode(p, picture);
      REQUIRE(encoded.status == CJ2K_OK);
      for (int c = 0; c < 3; ++c) error[is_all] += encoded.stats.mse[c];
    }
    CHECK(error[0] <= 1.005 * error[1]);
  }
}

TEST_CASE("HT: frames of few bytes are as good as if all planes were coded") {
  cj2k_params p = ht_params(1100, 700, 3, 8);
  set(p, "cblk", "32x32");
  p.measure_mse = 1;
  for (const Content content : {Content::kTexture, Content::kNoise}) {
    const Picture picture = make_picture(p, content, 9);
    for (const int64_t target : {6000, 12000}) {
      CAPTURE(target);
      p.target_bytes = target;
      double error[2] = {}, coded[2] = {};
      for (const int is_all : {0, 1}) {
        set(p, "stop", is_all != 0 ? "none" : "exact");
        const Encoded encoded = encode(p, picture);
        REQUIRE(encoded.status == CJ2K_OK);
        for (int c = 0; c < 3; ++c) error[is_all] += encoded.stats.mse[c];
        coded[is_all] = static_cast<double>(encoded.stats.bytes_coded);
      }
      CHECK(error[0] <= 1.005 * error[1]);
      CHECK(3 * coded[0] < coded[1]);
    }
  }
}

TEST_CASE("HT: the same bytes for 1, 2 and 7 threads, and after other frames") {
  cj2k_params p = ht_params(1100, 700, 3, 10);
  set(p, "cblk", "32x32");
  p.target_bytes = 200000;
  const Picture picture = make_picture(p, Content::kTexture, 9);
  p.threads = 1;
  const Encoded one = encode(p, picture);
  REQUIRE(one.status == CJ2K_OK);
  // No block resumes for a plane that the slope does not ask for.
  CHECK(one.stats.passes_resumed == 0);
  for (int threads : {2, 7}) {
    p.threads = threads;
    const Picture other = make_picture(p, Content::kNoise, 10);
    const auto frames = encode_sequence(p, {picture, other, picture});
    REQUIRE(frames.size() == 3);
    CHECK(frames[0].bytes == one.bytes);
    CHECK(frames[2].bytes == one.bytes);
  }
}

TEST_CASE("HT: the measured error is that of the decoded picture") {
  for (int causal : {0, 1}) {
    cj2k_params p = ht_params(260, 170, 1, 10);
    p.cblk_style = causal != 0 ? CJ2K_STYLE_VSC : 0;
    p.target_bytes = 9000;
    p.measure_mse = 1;
    const Picture picture = make_picture(p, Content::kTexture, 11);
    const Encoded encoded = encode(p, picture);
    REQUIRE(encoded.status == CJ2K_OK);
    const Decoded decoded = decode(Decoder::kOpenJpeg, encoded.bytes, p);
    REQUIRE(decoded.picture.has_value());
    const double peak = 1023;
    const double mse = peak * peak / std::pow(10, psnr(picture, *decoded.picture) / 10);
    CHECK(encoded.stats.mse[0] == doctest::Approx(mse).epsilon(0.01));
  }
}

TEST_CASE("HT: frame_steps changes QCD alone, within an octave, and is worth its place") {
  cj2k_params p = ht_params(512, 384, 1, 8);
  const Picture picture = make_picture(p, Content::kTexture, 12);
  double gain = 0;
  bool changes = false;
  for (int64_t target : {5000, 7000, 10000, 14000, 20000, 28000}) {
    p.target_bytes = target;
    double with[2];
    Encoded frames[2];
    for (int steps : {0, 1}) {
      p.frame_steps = steps;
      frames[steps] = encode(p, picture);
      REQUIRE(frames[steps].status == CJ2K_OK);
      const Decoded decoded = decode(Decoder::kOpenJpeg, frames[steps].bytes, p);
      REQUIRE(decoded.picture.has_value());
      with[steps] = psnr(picture, *decoded.picture);
    }
    gain += with[1] - with[0];
    const ParsedCodestream a = check_codestream(frames[0].bytes);
    const ParsedCodestream b = check_codestream(frames[1].bytes);
    changes |= !std::equal(a.qcd.begin(), a.qcd.end(), b.qcd.begin(), b.qcd.end());
    CHECK(std::equal(a.siz.begin(), a.siz.end(), b.siz.begin(), b.siz.end()));
    CHECK(std::equal(a.cod.begin(), a.cod.end(), b.cod.begin(), b.cod.end()));
    CHECK((a.cap[4] << 8 | a.cap[5]) >= 0x20);
    CHECK(a.cod[8] == 0x40);
    CHECK(get_be(a.siz, 0, 2) == 0x4000);
  }
  CHECK(changes);
  // Small frames are coded in full, so that coarser planes are there for either; on photographs steps
  // still gain up to 0.2 dB (docs/htj2k.md).
  INFO("gain ", gain / 6, " dB");
  CHECK(gain / 6 > -0.01);
}

TEST_CASE("HT: what it excludes is refused by name") {
  const auto error_of = [](auto change) {
    cj2k_params p = ht_params(64, 64);
    change(p);
    const Encoded encoded = encode(p, make_picture(ht_params(64, 64), Content::kTexture, 1));
    CHECK(encoded.status != CJ2K_OK);
    return encoded.log;
  };
  const auto names = [](const std::string& log, const char* text) {
    INFO("log: ", log);
    CHECK(log.find(text) != std::string::npos);
  };
  for (int style : {CJ2K_STYLE_BYPASS, CJ2K_STYLE_RESET, CJ2K_STYLE_TERMALL, CJ2K_STYLE_PTERM,
                    CJ2K_STYLE_SEGSYM}) {
    names(error_of([&](cj2k_params& p) { p.cblk_style = style; }), "coder ht excludes cblk_style");
  }
  names(error_of([](cj2k_params& p) { set(p, "roi", "0,0,8,8"); }),
        "coder ht needs an empty roi, not one of 1 rectangles");
  names(error_of([](cj2k_params& p) {
          p.profile = CJ2K_PROFILE_CINEMA_2K;
          p.depth[0] = p.depth[1] = p.depth[2] = 12;
        }),
        "coder");
  for (cj2k_stop stop : {CJ2K_STOP_PST, CJ2K_STOP_PSB, CJ2K_STOP_BPI})
    names(error_of([&](cj2k_params& p) { p.stop = stop; }),
          "needs stop exact (the default) or none");
  names(error_of([](cj2k_params& p) {
          p.guard_bits = 7;
          p.quant_step = 0.015625;
          p.depth[0] = p.depth[1] = p.depth[2] = 16;
        }),
        "bit-planes not in [0, 29]");
}

}  // namespace
}  // namespace cj2k::test
