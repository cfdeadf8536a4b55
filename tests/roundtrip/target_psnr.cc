// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// target_psnr and layer_psnr: what an independent decoder shows has the PSNR that was asked for, and
// hardly more.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "roundtrip/roundtrip.h"

namespace cj2k::test {
namespace {

using Options = std::vector<std::pair<std::string, std::string>>;

/// PSNR over all samples, as the library has it; test::psnr is the mean over components.
double psnr_of_samples(const Picture& a, const Picture& b) {
  double error = 0, samples = 0;
  for (size_t c = 0; c < a.components.size(); ++c) {
    const double peak = (1 << a.components[c].depth) - 1;
    const auto count = static_cast<double>(a.components[c].samples.size());
    error += mean_squared_error(a.components[c], b.components[c]) / (peak * peak) * count;
    samples += count;
  }
  return -10 * std::log10(error / samples);
}

cj2k_params make(double target, const Options& options) {
  cj2k_params p = make_params(300, 200, 3, 8);
  set(p, "cblk", "16x16");  // many points: with few blocks one point is a tenth of a decibel
  for (const auto& option : options) set(p, option.first.c_str(), option.second);
  p.target_psnr = target;
  return p;
}

TEST_CASE("target_psnr: reached in OpenJPEG, and no more than 0.05 dB above") {
  const std::vector<std::pair<double, Options>> table = {
      {34, {}},
      {48, {}},
      {40, {{"wavelet", "5/3"}}},
      {40, {{"mct", "off"}}},
      {45, {{"num_components", "1"}, {"depth", "12"}}},
      {60, {{"depth", "16"}}},
      {60, {{"depth", "10"}, {"wavelet", "5/3"}}},
      {42, {{"dx", "1,2,2"}, {"dy", "1,2,2"}, {"colorspace", "sycc"}}},
      {42, {{"tile", "128x96"}, {"image_offset", "11x7"}, {"progression", "rpcl"}}},
      {42, {{"tune", "visual"}, {"layers", "4"}}},
      {42, {{"max_frame_bytes", "200000"}, {"max_component_bytes", "90000"}}},
      {42, {{"roi", "50,40,80,60"}, {"num_components", "1"}}},
  };
  for (const cj2k_coder coder : {CJ2K_CODER_EBCOT, CJ2K_CODER_HT}) {
    for (const auto& row : table) {
      cj2k_params p = make(row.first, row.second);
      if (coder == CJ2K_CODER_HT && p.num_roi > 0) continue;
      p.coder = coder;
      std::string text = coder == CJ2K_CODER_HT ? "ht" : "ebcot";
      for (const auto& option : row.second) text += " " + option.first + "=" + option.second;
      INFO(row.first, " ", text);
      const Picture picture = make_picture(p, Content::kTexture, 7);
      const Encoded encoded = check_roundtrip(p, picture, {Decoder::kOpenJpeg}, 0);
      CHECK(encoded.stats.psnr >= row.first);
      CHECK(encoded.stats.psnr <= row.first + 0.05);
      const Decoded decoded = decode(Decoder::kOpenJpeg, encoded.bytes, p);
      REQUIRE(decoded.picture.has_value());
      const double shown = psnr_of_samples(picture, *decoded.picture);
      // Decoders round halves, and what the 5/3 leaves out, in their own ways.
      CHECK(shown == doctest::Approx(encoded.stats.psnr).epsilon(0.0005));
    }
  }
}

TEST_CASE("target_psnr: the bytes are those of the slope, of one thread or many") {
  cj2k_params p = make(41, {});
  const Picture picture = make_picture(p, Content::kTexture, 7);
  const Encoded one = encode(p, picture);
  p.threads = 4;
  CHECK(encode(p, picture).bytes == one.bytes);
  p.verify = 1;
  CHECK(encode(p, picture).bytes == one.bytes);
  // A target that is a little higher takes more bytes, and never fewer.
  size_t bytes = 0;
  for (double target = 30; target < 60; target += 0.7) {
    p.target_psnr = target;
    const Encoded encoded = encode(p, picture);
    CHECK(encoded.stats.psnr >= target);
    CHECK(encoded.bytes.size() >= bytes);
    bytes = encoded.bytes.size();
  }
}

TEST_CASE("target_psnr: caps come first, and the statistics say what is reached") {
  for (const char* wavelet : {"9/7", "5/3"}) {
    cj2k_params p = make(50, {{"wavelet", wavelet}, {"target_bytes", "20000"}});
    const Picture picture = make_picture(p, Content::kTexture, 7);
    const Encoded capped = encode(p, picture);
    CHECK(capped.bytes.size() <= 20000);
    CHECK(capped.bytes.size() > 19900);
    CHECK(capped.stats.psnr < 50);
    p.target_psnr = 0;
    p.stop = CJ2K_STOP_NONE;
    CHECK(encode(p, picture).stats.bytes == capped.stats.bytes);
  }
  // All of it, with steps that are too coarse.
  const cj2k_params p = make(60, {{"quant_step", "8"}});
  const Encoded coarse = encode(p, make_picture(p, Content::kTexture, 7));
  CHECK(coarse.stats.psnr < 50);
  CHECK(coarse.stats.slope_threshold == 0);
}

/// The PSNR of each layer, as OpenJPEG shows it.
std::vector<double> layers_shown(const cj2k_params& p, const Picture& picture,
                                 const Encoded& encoded) {
  std::vector<double> shown;
  for (int l = 1; l <= p.layers; ++l) {
    const Decoded decoded = decode(Decoder::kOpenJpeg, encoded.bytes, p, l);
    REQUIRE(decoded.picture.has_value());
    shown.push_back(psnr_of_samples(picture, *decoded.picture));
  }
  return shown;
}

TEST_CASE("layer_psnr: each layer has its PSNR in OpenJPEG, under any rate of the last one") {
  if (!use_decoder(Decoder::kOpenJpeg)) return;
  const std::vector<Options> table = {
      {},
      {{"quality", "1"}},
      {{"lossless", "1"}, {"depth", "12"}, {"progression", "rlcp"}},
      {{"target_bytes", "70000"}, {"cblk_style", "bypass+termall"}},
      {{"target_bytes", "70000"}, {"stop", "psb"}, {"sop", "1"}, {"plt", "1"}},
      {{"max_component_bytes", "60000"}, {"quality", "0.5"}, {"tile_parts", "resolution"}},
      {{"wavelet", "5/3"}, {"num_components", "1"}, {"depth", "10"}},
      {{"dx", "1,2,2"}, {"dy", "1,2,2"}, {"colorspace", "sycc"}, {"frame_steps", "1"}},
      {{"tile", "128x96"}, {"image_offset", "11x7"}, {"progression", "rpcl"}, {"tune", "visual"}},
  };
  for (const Options& options : table) {
    cj2k_params p = make(0, options);
    set(p, "layer_psnr", "28,33.5,39");
    std::string text;
    for (const auto& option : options) text += " " + option.first + "=" + option.second;
    INFO(text);
    const Picture picture = make_picture(p, Content::kTexture, 7);
    const Encoded encoded = check_roundtrip(p, picture, {}, 0);
    const std::vector<double> shown = layers_shown(p, picture, encoded);
    for (int l = 0; l < p.num_layer_psnr; ++l) {
      CHECK(shown[static_cast<size_t>(l)] > p.layer_psnr[l] - 0.03);
      CHECK(shown[static_cast<size_t>(l)] < p.layer_psnr[l] + 0.15);
    }
    CHECK(shown.back() > 40);
    CHECK(std::min(shown.back(), 100.0) ==
          doctest::Approx(std::min(encoded.stats.psnr, 100.0)).epsilon(0.0005));
    p.threads = 3;
    p.verify = 1;
    CHECK(encode(p, picture).bytes == encoded.bytes);
  }
}

TEST_CASE("layer_psnr: with target_psnr; layers that the frame does not reach are empty") {
  if (!use_decoder(Decoder::kOpenJpeg)) return;
  cj2k_params p = make(44, {{"layer_psnr", "30,40"}});
  const Picture picture = make_picture(p, Content::kTexture, 7);
  const Encoded reached = encode(p, picture);
  CHECK(reached.stats.psnr >= 44);
  CHECK(reached.stats.psnr < 44.05);
  CHECK(layers_shown(p, picture, reached)[1] > 39.97);

  p = make(0, {{"layer_psnr", "25,90"}, {"target_bytes", "30000"}});
  const Encoded capped = encode(p, picture);
  CHECK(capped.bytes.size() <= 30000);
  CHECK(capped.bytes.size() > 29900);
  const std::vector<double> shown = layers_shown(p, picture, capped);
  CHECK(shown[0] < 25.3);
  CHECK(shown[1] == shown[2]);
  // Frames of one encoder are coded as each by itself.
  const Picture other = make_picture(p, Content::kNoise, 3);
  const std::vector<Encoded> both = encode_sequence(p, {other, picture});
  CHECK(both.back().bytes == capped.bytes);
}

TEST_CASE("target_psnr: every content, down to one sample") {
  for (const char* size : {"1x1", "3x5", "70x50"}) {
    for (const Content content : kAllContents) {
      for (const char* coder : {"ebcot", "ht"}) {
        const std::string text = size;
        INFO(text, " ", std::string(content_name(content)), " ", std::string(coder));
        cj2k_params p = make(60, {{"width", text.substr(0, text.find('x'))},
                                  {"height", text.substr(text.find('x') + 1)},
                                  {"coder", coder}});
        CHECK(encode(p, make_picture(p, content, 7)).stats.psnr >= 60);
      }
    }
  }
}

}  // namespace
}  // namespace cj2k::test
