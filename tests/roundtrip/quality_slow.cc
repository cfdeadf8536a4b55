// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// PSNR at equal bytes, compared with libopenjpeg's encoder.
#include <doctest/doctest.h>

#include <cstdio>

#include "roundtrip/roundtrip.h"
#include "support/image_io.h"
#include "support/media.h"
#include "support/process.h"

namespace cj2k::test {
namespace {

/// A smaller difference is a tie: it comes from the few bytes left below the target.
constexpr double kTieDb = 0.01;

/// opj_compress with the 9/7 and 32x32 blocks, at a compression ratio.
std::vector<uint8_t> encode_with_openjpeg(const Picture& picture, int ratio) {
  const TempDir dir;
  const std::string input = (dir / (picture.components.size() == 1 ? "in.pgm" : "in.ppm")).string();
  const std::string output = (dir / "out.j2k").string();
  REQUIRE(write_pnm(input, picture));
  const ProcessResult run = run_process({"opj_compress", "-i", input, "-o", output, "-I", "-r",
                                         std::to_string(ratio), "-b", "32,32", "-n", "6"});
  INFO(run.output);
  const auto bytes = read_file(output);
  REQUIRE(bytes.has_value());
  return *bytes;
}

void compare(const Picture& picture, const std::string& name, const std::vector<int>& ratios) {
  cj2k_params p =
      make_params(picture.width, picture.height, static_cast<int32_t>(picture.components.size()),
                  picture.components[0].depth);
  set(p, "cblk", "32x32");
  for (int ratio : ratios) {
    const std::vector<uint8_t> theirs = encode_with_openjpeg(picture, ratio);
    p.target_bytes = static_cast<int64_t>(theirs.size());
    const Encoded ours = encode(p, picture);
    INFO(name, " 1:", ratio, " ", ours.log);
    REQUIRE(ours.status == CJ2K_OK);
    CHECK(ours.bytes.size() <= theirs.size());
    const Decoded our_picture = decode(Decoder::kOpenJpeg, ours.bytes, p);
    const Decoded their_picture = decode(Decoder::kOpenJpeg, theirs, p);
    INFO(our_picture.error, their_picture.error);
    REQUIRE(our_picture.picture);
    REQUIRE(their_picture.picture);
    const double our_psnr = psnr(picture, *our_picture.picture),
                 their_psnr = psnr(picture, *their_picture.picture);
    std::printf("%s 1:%d: %zu bytes %.3f dB, libopenjpeg %zu bytes %.3f dB\n", name.c_str(), ratio,
                ours.bytes.size(), our_psnr, theirs.size(), their_psnr);
    CHECK(our_psnr >= their_psnr - kTieDb);
  }
}

TEST_CASE("quality per byte is at least libopenjpeg's") {
  if (!use_decoder(Decoder::kOpenJpeg)) return;
  for (int depth : {8, 12}) {
    const cj2k_params p = make_params(512, 384, 3, depth);
    compare(make_picture(p, Content::kTexture, 47), "texture " + std::to_string(depth) + " bits",
            {5, 12, 30});
  }
  for (const char* name :
       {"kodak/kodim01.png", "kodak/kodim05.png", "kodak/kodim20.png", "kodak/kodim23.png"}) {
    if (const auto picture = load_media(name, 8)) compare(*picture, name, {8, 16, 32});
  }
  if (const auto picture = load_media("stills4k/gopro_hero6_3840x2160_12b.png", 12)) {
    compare(*picture, "stills4k/gopro_hero6", {30});
  }
}

}  // namespace
}  // namespace cj2k::test
