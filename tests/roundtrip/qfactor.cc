// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include "roundtrip/roundtrip.h"

namespace cj2k::test {
namespace {

TEST_CASE("qfactor: bytes and PSNR rise with it, and both coders lose the same") {
  for (const int depth : {8, 16}) {
    size_t bytes[2] = {0, 0};
    double db = 0;
    for (const int q : {1, 20, 50, 80, 95, 100}) {
      double coders[2];
      for (const cj2k_coder coder : {CJ2K_CODER_EBCOT, CJ2K_CODER_HT}) {
        cj2k_params p = make_params(300, 200, 3, depth);
        p.qfactor = q;
        p.coder = coder;
        const Picture picture = make_picture(p, Content::kTexture, 5);
        const Encoded encoded =
            check_roundtrip(p, picture, coder == CJ2K_CODER_HT ? kHtDecoders : kTwoDecoders, 0);
        CHECK(encoded.bytes.size() > bytes[coder]);
        bytes[coder] = encoded.bytes.size();
        const Decoded decoded = decode(Decoder::kOpenJpeg, encoded.bytes, p);
        REQUIRE(decoded.picture.has_value());
        coders[coder] = psnr(picture, *decoded.picture);
      }
      CHECK(coders[0] == doctest::Approx(coders[1]).epsilon(0.001));
      CHECK(coders[0] > db);
      db = coders[0];
    }
    CHECK(db > (depth == 8 ? 50 : 80));
  }
}

TEST_CASE("qfactor: caps, layers, subsampling, one guard bit") {
  for (const cj2k_coder coder : {CJ2K_CODER_EBCOT, CJ2K_CODER_HT}) {
    cj2k_params p = make_params(300, 200, 3, 10);
    p.coder = coder;
    p.qfactor = 95;
    p.layers = 3;
    p.max_frame_bytes = 15000;
    set(p, "dx", "1,2");
    p.colorspace = CJ2K_COLOR_SYCC;
    const Picture picture = make_picture(p, Content::kTexture, 6);
    const Encoded encoded = check_roundtrip(p, picture, {Decoder::kOpenJpeg}, 20);
    CHECK(encoded.bytes.size() <= 15000);
    CHECK(encoded.bytes.size() > 14000);
    p.qfactor = p.guard_bits = 1;
    check_roundtrip(p, picture, {Decoder::kOpenJpeg}, 0);
  }
}

}  // namespace
}  // namespace cj2k::test
