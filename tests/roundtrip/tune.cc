// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// tune = visual: bytes move from what is not seen to what is, and reported errors stay unweighted.
#include <doctest/doctest.h>

#include <string>

#include "roundtrip/roundtrip.h"

namespace cj2k::test {
namespace {

cj2k_params params(const std::string& coder, const std::string& wavelet) {
  cj2k_params p = make_params(512, 400, 3, 8);
  set(p, "coder", coder);
  set(p, "wavelet", wavelet);
  set(p, "cblk", "32x32");
  p.target_bytes = 40000;
  p.threads = 1;
  return p;
}

TEST_CASE("tune visual: same cap, less PSNR, an estimate of the error that is right") {
  for (const char* coder : {"ebcot", "ht"}) {
    for (const char* wavelet : {"9/7", "5/3"}) {
      INFO(coder, " ", wavelet);
      cj2k_params p = params(coder, wavelet);
      const Picture picture = make_picture(p, Content::kTexture, 5);
      const Encoded plain = encode(p, picture);
      set(p, "tune", "visual");
      const Encoded estimated = encode(p, picture);
      set(p, "visual_strength", "0.5");
      CHECK(encode(p, picture).bytes == estimated.bytes);
      CHECK(estimated.bytes != plain.bytes);
      CHECK(estimated.bytes.size() <= 40000);
      CHECK(estimated.bytes.size() >= 39900);
      p.measure_mse = 1;
      const Encoded measured = encode(p, picture);
      CHECK(measured.bytes == estimated.bytes);
      double sum = 0, plain_sum = 0;
      for (int c = 0; c < 3; ++c) {
        INFO("component ", c);
        sum += estimated.stats.mse[c];
        plain_sum += plain.stats.mse[c];
      }
      double real = 0;
      for (int c = 0; c < 3; ++c) real += measured.stats.mse[c];
      CHECK(sum > plain_sum);
      CHECK(sum == doctest::Approx(real).epsilon(0.1));
      p.tune = CJ2K_TUNE_MSE;
      p.target_bytes = 0;
      p.lossless = 1;
      set(p, "wavelet", "auto");
      const Encoded lossless = encode(p, picture);
      set(p, "tune", "visual");
      CHECK(encode(p, picture).bytes == lossless.bytes);
    }
  }
}

}  // namespace
}  // namespace cj2k::test
