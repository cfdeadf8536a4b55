// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Pictures that were JPEG 2000 before: near the bytes of the first coding, efforts 2 and 3 and HT with
// steps to choose from lose no more than with the steps of quant_step.
#include <doctest/doctest.h>

#include <string>

#include "roundtrip/roundtrip.h"

namespace cj2k::test {
namespace {

/// A second coding.
struct Again {
  double psnr;  ///< to its input, as a decoder shows it
  bool noticed;
};
Again again(cj2k_params p, const Picture& picture) {
  const Encoded ours = encode(p, picture);
  INFO(ours.log);
  REQUIRE(ours.status == CJ2K_OK);
  CHECK(ours.bytes.size() <= static_cast<size_t>(p.target_bytes));
  const Decoded shown = decode(Decoder::kOpenJpeg, ours.bytes, p);
  INFO(shown.error);
  REQUIRE(shown.picture);
  return {psnr(picture, *shown.picture), ours.log.find("JPEG 2000 before") != std::string::npos};
}

TEST_CASE("a picture that was JPEG 2000 before: as good as with the steps of the first coding" *
          doctest::test_suite("quality")) {
  if (!use_decoder(Decoder::kOpenJpeg)) return;
  for (const int depth : {8, 12}) {
    CAPTURE(depth);
    cj2k_params first = make_params(640, 480, 3, depth);
    set(first, "cblk", "32x32");
    const Picture picture = make_picture(first, Content::kTexture, 3);
    for (const int64_t bytes : {40000, 90000}) {
      CAPTURE(bytes);
      first.target_bytes = bytes;
      const Decoded coded = decode(Decoder::kOpenJpeg, encode(first, picture).bytes, first);
      REQUIRE(coded.picture);
      cj2k_params p = first;
      p.target_bytes = bytes * 104 / 100;
      const Again plain = again(p, *coded.picture);
      CHECK_FALSE(plain.noticed);
      for (const int effort : {2, 3}) {
        CAPTURE(effort);
        p.effort = effort;
        const Again chosen = again(p, *coded.picture);
        CHECK(chosen.noticed);
        // Far above what anyone sees, RDOQ has nothing but the noise of rounded samples to work on.
        CHECK(chosen.psnr > plain.psnr - (plain.psnr > 80 ? 1 : plain.psnr > 70 ? 0.3 : 0.1));
        CHECK_FALSE(again(p, picture).noticed);
      }
      p.effort = 1;
      set(p, "coder", "ht");
      // Its passes take more bytes.
      p.target_bytes = bytes * 12 / 10;
      const Again chosen = again(p, *coded.picture);
      CHECK(chosen.noticed);
      CHECK_FALSE(again(p, picture).noticed);
      p.frame_steps = 0;
      CHECK(chosen.psnr > again(p, *coded.picture).psnr - 0.1);
    }
  }
}

}  // namespace
}  // namespace cj2k::test
