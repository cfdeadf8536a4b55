// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Quality layers of HT codestreams through OpenJPEG, layer by layer.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "roundtrip/roundtrip.h"
#include "support/codestream.h"

namespace cj2k::test {
namespace {

cj2k_params layered(int layers) {
  cj2k_params p = make_params(512, 270, 3, 12);
  p.coder = CJ2K_CODER_HT;
  set(p, "cblk", "32x32");
  p.layers = layers;
  return p;
}

/// @return the PSNR of each layer
std::vector<double> check_layers(const cj2k_params& p) {
  const Picture picture = make_picture(p, Content::kTexture, 3);
  const Encoded encoded = check_roundtrip(p, picture, kHtDecoders, 20);
  if (p.target_bytes > 0) {
    CHECK(static_cast<int64_t>(encoded.bytes.size()) <= p.target_bytes);
    CHECK(static_cast<int64_t>(encoded.bytes.size()) >= p.target_bytes * 99 / 100);
  }
  std::vector<double> db;
  for (int layer = 1; layer <= p.layers; ++layer) {
    const Decoded decoded = decode(Decoder::kOpenJpeg, encoded.bytes, p, layer);
    INFO("layer ", layer, ": ", decoded.error);
    REQUIRE(decoded.picture.has_value());
    db.push_back(psnr(picture, *decoded.picture));
  }
  for (size_t i = 1; i < db.size(); ++i) CHECK(db[i] >= db[i - 1]);
  CHECK(db.back() > db.front() + 3);
  return db;
}

TEST_CASE("HT layers: OpenJPEG decodes each of them, and each is better than the one below") {
  if (!use_decoder(Decoder::kOpenJpeg)) return;
  for (const char* progression : {"lrcp", "rpcl"}) {
    cj2k_params p = layered(4);
    set(p, "progression", progression);
    p.quality = 2;
    check_layers(p);
    p.quality = 0;
    p.target_bytes = 60000;
    p.max_component_bytes = 30000;
    p.cblk_style = CJ2K_STYLE_VSC;
    check_layers(p);
  }
}

TEST_CASE("HT layers: the last one is lossless") {
  if (!use_decoder(Decoder::kOpenJpeg)) return;
  cj2k_params p = layered(5);
  p.lossless = 1;
  CHECK(check_layers(p).back() > 200);
}

TEST_CASE("HT layers: layer_rates, with a last layer that is lossless or exact") {
  if (!use_decoder(Decoder::kOpenJpeg)) return;
  cj2k_params p = layered(3);
  set(p, "layer_rates", "40,20,8");
  p.sop = p.eph = p.plt = 1;
  check_layers(p);
  p.lossless = 1;
  set(p, "layer_rates", "40,20,1");
  CHECK(check_layers(p).back() > 200);
}

TEST_CASE("HT layers: OpenJPH decodes the first one, or refuses more than one") {
  if (!use_decoder(Decoder::kOpenJpeg) || !use_decoder(Decoder::kOpenJph)) return;
  const cj2k_params p = layered(3);
  const Encoded encoded = encode(p, make_picture(p, Content::kTexture, 3));
  REQUIRE(encoded.status == CJ2K_OK);
  const Decoded first = decode(Decoder::kOpenJpeg, encoded.bytes, p, 1);
  const Decoded decoded = decode(Decoder::kOpenJph, encoded.bytes, p);
  REQUIRE(first.picture.has_value());
  if (decoded.error.find("supports 1 quality layer only") != std::string::npos) return;
  REQUIRE_MESSAGE(decoded.picture.has_value(), decoded.error);
  CHECK(max_difference(*first.picture, *decoded.picture) <= 1);
}

}  // namespace
}  // namespace cj2k::test
