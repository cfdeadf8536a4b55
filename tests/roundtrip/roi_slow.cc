// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Regions of interest through the decoders.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "roundtrip/roundtrip.h"
#include "support/codestream.h"

namespace cj2k::test {
namespace {

TEST_CASE("random regions, lossless and lossy") {
  Random random(99);
  for (int run = 0; run < 40; ++run) {
    cj2k_params p = make_params(random.range(60, 160), random.range(40, 110), random.range(1, 4),
                                random.pick<int>({5, 8, 8, 8, 10}));
    p.lossless = random.chance(70);
    p.levels = random.range(0, 5);
    p.layers = random.range(1, 4);
    set(p, "cblk", random.pick<std::string>({"4x4", "8x8", "16x16", "32x32"}));
    if (random.chance(30)) p.cblk_style = random.range(0, 63);
    if (random.chance(40)) set(p, "tile", "64x48");
    if (random.chance(40)) set(p, "image_offset", "5x9");
    if (random.chance(30) && p.num_components == 3) set(p, "mct", "off");
    p.num_roi = random.range(1, 3);
    for (int i = 0; i < p.num_roi; ++i) {
      p.roi[i] = {random.range(p.image_offset_x, p.image_offset_x + p.width - 1),
                  random.range(p.image_offset_y, p.image_offset_y + p.height - 1),
                  random.range(1, 60), random.range(1, 60), 0};
    }
    const Picture picture = make_picture(p, Content::kTexture, random.next());
    const Encoded encoded = check_roundtrip(p, picture, kAllDecoders, quality_floor(p, 2));
    const ParsedCodestream parsed = check_codestream(encoded.bytes);
    CHECK(parsed.rgn.size() == static_cast<size_t>(p.num_components));
  }
}

/// Full swing that makes a large coefficient: samples by the signs of the analysis filter of the 5/3,
/// high-pass of level 2 in both directions, around a coefficient in the middle. Component 1 is the
/// opposite of the others, so the chroma of the RCT has twice the swing.
Picture full_swing(const cj2k_params& p) {
  static constexpr int kSigns[] = {1, -1, -1, 1, 1, 1, -1, -1, 1};
  static constexpr int kCentre = 66, kReach = 4;  // 2 (2 k + 1) is a position of the level
  Picture picture = make_picture(p, Content::kTexture, 1);
  const auto sign = [](int32_t at) {
    const int32_t off = at - kCentre;
    return off < -kReach || off > kReach ? 1 : kSigns[off + kReach];
  };
  for (size_t c = 0; c < picture.components.size(); ++c) {
    ComponentPlane& plane = picture.components[c];
    const int32_t top = (1 << p.depth[c]) - 1;
    for (int32_t y = 0; y < plane.height; ++y)
      for (int32_t x = 0; x < plane.width; ++x)
        plane.samples[static_cast<size_t>(y) * static_cast<size_t>(plane.width) +
                      static_cast<size_t>(x)] = (sign(x) * sign(y) > 0) != (c == 1) ? top : 0;
  }
  return picture;
}

TEST_CASE("full swing in the region, in as many bit-planes as are taken") {
  for (const char* depth : {"8", "10", "11", "12", "13"}) {
    for (const char* mct : {"on", "off"}) {
      for (const int32_t guard_bits : {0, 1, 2, 3, 4}) {
        cj2k_params p = make_params(132, 132, 3, 8);
        set(p, "depth", depth);
        set(p, "mct", mct);
        set(p, "roi", "50,50,32,32");
        p.guard_bits = guard_bits;
        p.lossless = 1;
        INFO(describe(p));
        cj2k_info info = {};
        info.struct_size = sizeof info;
        if (cj2k_params_info(&p, &info) != CJ2K_OK) {
          CHECK(std::string(cj2k_encoder_last_error(nullptr)).find("decoders hold 30") !=
                std::string::npos);
          continue;
        }
        const Encoded encoded = encode(p, full_swing(p));
        REQUIRE(encoded.status == CJ2K_OK);
        const Decoded decoded = decode(Decoder::kOpenJpeg, encoded.bytes, p);
        INFO(decoded.error);
        REQUIRE(decoded.picture.has_value());
        for (size_t c = 0; c < 3; ++c)
          CHECK(decoded.picture->components[c].samples == full_swing(p).components[c].samples);
      }
    }
  }
}

TEST_CASE("bypass with a region: a warning, and OpenJPEG decodes another picture") {
  cj2k_params p = make_params(96, 96, 1, 8);
  p.lossless = 1;
  set(p, "cblk_style", "bypass");
  const Picture picture = make_picture(p, Content::kTexture, 3);
  for (const bool with : {false, true}) {
    if (with) set(p, "roi", "32,32,32,32");
    const Encoded encoded = encode(p, picture);
    REQUIRE(encoded.status == CJ2K_OK);
    CHECK((encoded.log.find("roi with cblk_style bypass: OpenJPEG") != std::string::npos) == with);
    const Decoded decoded = decode(Decoder::kOpenJpeg, encoded.bytes, p);
    REQUIRE(decoded.picture.has_value());
    CHECK((decoded.picture->components[0].samples == picture.components[0].samples) == !with);
  }
}

/// Mean squared error of component 0 inside (1) and outside (0) of a rectangle.
struct Errors {
  double mse[2];
};
Errors errors_of(const Picture& a, const Picture& b, const cj2k_region& region) {
  double sum[2] = {}, count[2] = {};
  const ComponentPlane &pa = a.components[0], &pb = b.components[0];
  for (int32_t y = 0; y < pa.height; ++y) {
    for (int32_t x = 0; x < pa.width; ++x) {
      const bool inside = x >= region.x && x < region.x + region.width && y >= region.y &&
                          y < region.y + region.height;
      const size_t i =
          static_cast<size_t>(y) * static_cast<size_t>(pa.width) + static_cast<size_t>(x);
      const double off = pa.samples[i] - pb.samples[i];
      sum[inside] += off * off;
      count[inside] += 1;
    }
  }
  return {{sum[0] / count[0], sum[1] / count[1]}};
}

TEST_CASE("at the same bytes the region is better inside") {
  for (const char* wavelet : {"9/7", "5/3"}) {
    cj2k_params p = make_params(320, 240, 1, 8);
    set(p, "cblk", "16x16");
    set(p, "wavelet", wavelet);
    p.target_bytes = 15000;
    p.measure_mse = 1;
    const Picture picture = make_picture(p, Content::kTexture, 5);
    const cj2k_region region = {100, 80, 70, 60, 0};
    Errors errors[2];
    for (int with = 0; with < 2; ++with) {
      p.num_roi = with;
      p.roi[0] = region;
      const Encoded encoded = encode(p, picture);
      REQUIRE(encoded.status == CJ2K_OK);
      CHECK(encoded.bytes.size() <= 15000);
      CHECK(encoded.bytes.size() > 14950);
      const Decoded decoded = decode(Decoder::kOpenJpeg, encoded.bytes, p);
      REQUIRE(decoded.picture.has_value());
      errors[with] = errors_of(picture, *decoded.picture, region);
      // The measured error is that of a decoder; the estimate counts errors as they are.
      const Errors whole = errors_of(picture, *decoded.picture, {0, 0, 1000, 1000, 0});
      CHECK(encoded.stats.mse[0] == doctest::Approx(whole.mse[1]).epsilon(0.02));
      p.measure_mse = 0;
      const Encoded estimated = encode(p, picture);
      p.measure_mse = 1;
      CHECK(estimated.bytes == encoded.bytes);
      CHECK(estimated.stats.mse[0] == doctest::Approx(whole.mse[1]).epsilon(0.35));
    }
    const auto gain = [&](int inside) {
      return 10 * std::log10(errors[0].mse[inside] / errors[1].mse[inside]);
    };
    MESSAGE(std::string(wavelet), ": ", gain(1), " dB inside, ", gain(0), " dB outside");
    CHECK(gain(1) > 6);
    CHECK(gain(0) < 0);
  }
}

}  // namespace
}  // namespace cj2k::test
