// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <cstdio>

#include "roundtrip/graphics.h"
#include "roundtrip/roundtrip.h"
#include "support/graphics.h"
#include "support/media.h"

namespace cj2k::test {
namespace {

TEST_CASE("all grey levels of 12 and 8 bits, and colours, come back within 1") {
  if (!use_decoder(Decoder::kOpenJpeg)) return;
  for (int depth : {12, 8}) {
    const cj2k_params p = make_params(160, 90, 1, depth);
    for (int32_t value = 0; value < 1 << depth; ++value)
      check_flat(p, {value}, value % 2 == 0 ? 2048 : 400000);
  }
  Random random(8);
  for (int depth : {8, 12, 16}) {
    const cj2k_params p = make_params(160, 90, 3, depth);
    const int32_t most = (1 << depth) - 1;
    for (int i = 0; i < 300; ++i) {
      check_flat(p, {random.range(0, most), random.range(0, most), random.range(0, most)},
                 i % 2 == 0 ? 2048 : 400000);
    }
  }
}

/// At four rates, with measured and with estimated MSE.
void check_measured(const char* name, const Picture& picture) {
  cj2k_params p =
      make_params(picture.width, picture.height, static_cast<int32_t>(picture.components.size()),
                  picture.components[0].depth);
  const int64_t raw = picture.raw_bits() / 8;
  for (int64_t ratio : {4, 12, 40, 160}) {
    INFO(name, " 1:", ratio);
    p.target_bytes = raw / ratio;
    p.measure_mse = 1;
    const Encoded measured = encode(p, picture);
    REQUIRE(measured.status == CJ2K_OK);
    const Decoded decoded = decode(Decoder::kOpenJpeg, measured.bytes, p);
    REQUIRE(decoded.picture);
    check_mse(measured.stats, picture, *decoded.picture);
    p.measure_mse = 0;
    const Encoded estimated = encode(p, picture);
    CHECK(estimated.bytes == measured.bytes);
    double sum = 0, estimate = 0, truth = 0;
    for (int c = 0; c < p.num_components; ++c) {
      CHECK(estimated.stats.mse[c] >= 0);
      sum += measured.stats.mse[c];
      estimate += estimated.stats.mse[c];
      const auto i = static_cast<size_t>(c);
      truth += mean_squared_error(picture.components[i], decoded.picture->components[i]);
    }
    std::printf("%s 1:%lld: mse %.4f, measured %.4f (%+.3f %%), estimated %.4f (%+.1f %%)\n", name,
                static_cast<long long>(ratio), truth, sum, 100 * (sum / truth - 1), estimate,
                100 * (estimate / truth - 1));
  }
}

TEST_CASE("measured mse is that of the decoded picture, on every test picture") {
  if (!use_decoder(Decoder::kOpenJpeg)) return;
  struct Source {
    const char* name;
    int depth;
    int frames = 1;
  };
  for (const Source& source : {Source{"kodak/kodim01.png", 8},
                               {"kodak/kodim04.png", 8},
                               {"kodak/kodim05.png", 8},
                               {"kodak/kodim08.png", 8},
                               {"kodak/kodim13.png", 8},
                               {"kodak/kodim20.png", 8},
                               {"kodak/kodim21.png", 8},
                               {"kodak/kodim23.png", 8},
                               {"edge/fox_1203x799_8b.png", 8},
                               {"edge/weld_1024x684_16b.png", 16},
                               {"edge/mr_1024x1024_gray_12b.png", 12},
                               {"edge/dx_1420x1416_gray_16b.png", 16},
                               {"edge/flower_small.rgba.depth12.pam", 12},
                               {"film/kodak_pcd0023_parrots_3072x2048_8b.png", 8},
                               {"stills2k/apples_2048x1080_8b.png", 8},
                               {"stills4k/art_patak_3840x2160_8b.png", 8},
                               {"stills4k/leaves_4096x2160_8b.png", 8},
                               {"stills4k/gopro_hero6_3840x2160_12b.png", 12},
                               {"seq/bbb_cgi_1920x1080_60fps_60f.webm", 8, 2},
                               {"seq/building_hlg_1920x1080_10b_73f.mp4", 10, 2},
                               {"seq/film_street_3840x2160_24f_imf_j2k_pq_p3d65_12b.mxf", 12}}) {
    for (const Picture& picture : load_media_clip(source.name, source.depth, source.frames))
      check_measured(source.name, picture);
  }
}

}  // namespace
}  // namespace cj2k::test
