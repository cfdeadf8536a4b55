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

TEST_CASE("a 2K frame as cinema has it: grey, and a title card, at 250 Mbit/s") {
  if (!use_decoder(Decoder::kOpenJpeg)) return;
  cj2k_params p = make_params(2048, 1080, 1, 12);
  for (const char* stop : {"exact", "none", "psb", "bpi"}) {
    set(p, "stop", stop);
    for (int32_t value : {3525, 3542}) check_flat(p, {value}, 1302083);
  }
  set(p, "stop", "exact");
  for (int64_t cap : {400000, 1302083}) {
    const Picture card = title_card(p, {3525}, {0}, 12);
    const Picture decoded = check_capped(p, card, cap);
    CHECK(psnr(card, decoded) > 60);
  }
}

TEST_CASE("measured mse is that of the decoded picture, on every test picture") {
  if (!use_decoder(Decoder::kOpenJpeg)) return;
  struct Source {
    const char* name;
    int depth;
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
                               {"film/kodak_pcd0023_parrots_3072x2048_8b.png", 8},
                               {"stills2k/apples_2048x1080_8b.png", 8},
                               {"stills4k/art_patak_3840x2160_8b.png", 8},
                               {"stills4k/leaves_4096x2160_8b.png", 8},
                               {"stills4k/gopro_hero6_3840x2160_12b.png", 12}}) {
    const auto picture = load_media(source.name, source.depth);
    if (!picture) continue;
    cj2k_params p = make_params(picture->width, picture->height,
                                static_cast<int32_t>(picture->components.size()), source.depth);
    const int64_t raw = picture->raw_bits() / 8;
    for (int64_t ratio : {4, 12, 40, 160}) {
      INFO(source.name, " 1:", ratio);
      p.target_bytes = raw / ratio;
      p.measure_mse = 1;
      const Encoded measured = encode(p, *picture);
      REQUIRE(measured.status == CJ2K_OK);
      const Decoded decoded = decode(Decoder::kOpenJpeg, measured.bytes, p);
      REQUIRE(decoded.picture);
      check_mse(measured.stats, *picture, *decoded.picture);
      p.measure_mse = 0;
      const Encoded estimated = encode(p, *picture);
      double sum = 0, estimate = 0;
      for (int c = 0; c < p.num_components; ++c) {
        CHECK(estimated.stats.mse[c] >= 0);
        sum += measured.stats.mse[c];
        estimate += estimated.stats.mse[c];
      }
      std::printf("%s 1:%lld: mse %.4f, estimated %.4f (%+.1f %%)\n", source.name,
                  static_cast<long long>(ratio), sum, estimate, 100 * (estimate / sum - 1));
    }
  }
}

}  // namespace
}  // namespace cj2k::test
