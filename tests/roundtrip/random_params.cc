// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "roundtrip/random_params.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "support/encode.h"

namespace cj2k::test {
namespace {

void choose_poc(cj2k_params& p, Random& random) {
  p.num_poc = random.range(1, 4);
  for (int i = 0; i < p.num_poc; ++i) {
    const bool last = i + 1 == p.num_poc;  // it has every packet that is left
    const int32_t r = last ? 0 : random.range(0, p.levels);
    const int32_t c = last ? 0 : random.range(0, p.num_components - 1);
    p.poc[i] = {r,
                c,
                last ? p.layers : random.range(1, p.layers),
                last ? p.levels + 1 : random.range(r + 1, p.levels + 1),
                last ? p.num_components : random.range(c + 1, p.num_components),
                static_cast<cj2k_progression>(random.range(0, 4))};
  }
}

}  // namespace

int from_environment(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : otherwise;
}

void choose_components(cj2k_params& p, Random& random) {
  p.num_components = random.range(1, 4);
  const int32_t depth = random.range(1, 16);
  const bool is_signed = random.chance(15), mixed = random.chance(10);
  for (int c = 0; c < p.num_components; ++c) {
    p.depth[c] = mixed ? random.range(1, 16) : depth;
    p.is_signed[c] = mixed ? random.chance(30) : is_signed;
  }
  if (random.chance(30)) {
    static const std::vector<std::pair<int, int>> chroma = {{2, 1}, {2, 2}, {4, 1}, {4, 4}, {1, 2}};
    const auto [dx, dy] = random.pick(chroma);
    for (int c = 1; c < std::min(3, p.num_components); ++c) {
      p.dx[c] = dx;
      p.dy[c] = dy;
    }
  } else if (random.chance(10)) {
    for (int c = 0; c < p.num_components; ++c) {
      p.dx[c] = random.pick<int>({1, 2, 4});
      p.dy[c] = random.pick<int>({1, 2, 4});
    }
  }
}

void choose_grid(cj2k_params& p, Random& random) {
  static const std::vector<std::pair<int, int>> sizes = {
      {1, 1},   {1, 37},   {41, 1},    {3, 5},     {17, 33},   {64, 64},
      {200, 3}, {63, 130}, {127, 129}, {160, 100}, {256, 256}, {509, 383}};
  std::tie(p.width, p.height) = random.pick(sizes);
  if (random.chance(25)) {
    p.image_offset_x = random.range(0, 90);
    p.image_offset_y = random.range(0, 90);
  }
  if (random.chance(35)) {
    p.tile_width = random.range(std::max(1, p.width / 6), p.width + 10);
    p.tile_height = random.range(std::max(1, p.height / 6), p.height + 10);
    // The first tile must reach into the image (T.800 B.3).
    p.tile_offset_x =
        random.range(std::max(0, p.image_offset_x - p.tile_width + 1), p.image_offset_x);
    p.tile_offset_y =
        random.range(std::max(0, p.image_offset_y - p.tile_height + 1), p.image_offset_y);
  }
}

void choose_coding(cj2k_params& p, Random& random) {
  p.levels = random.pick<int>({0, 1, 2, 3, 4, 5, 5, 5, 6, 8, 32});
  p.guard_bits = random.pick<int>({1, 2, 2, 2, 3, 4, 7});
  int32_t width_log2 = random.range(2, 10);
  const int32_t height_log2 = random.range(2, std::min(10, 12 - width_log2));
  p.cblk_width = 1 << width_log2;
  p.cblk_height = 1 << height_log2;
  if (random.chance(50)) p.cblk_style = random.range(0, 63);
  if (random.chance(35)) {
    p.num_precincts = random.range(1, 3);
    for (int i = 0; i < p.num_precincts; ++i) {
      // Small enough to divide the picture, large enough to limit the number of packets.
      p.precinct_width[i] = 1 << random.range(p.width > 100 ? 4 : 1, 9);
      p.precinct_height[i] = 1 << random.range(p.height > 100 ? 4 : 1, 9);
    }
  }
  p.progression = static_cast<cj2k_progression>(random.range(0, 4));
  if (random.chance(35)) p.layers = random.pick<int>({2, 3, 5, 12});
  if (random.chance(30)) {
    p.tile_parts = static_cast<cj2k_tile_parts>(random.range(1, 2));
    if (random.chance(70))
      p.progression = p.tile_parts == CJ2K_TILE_PARTS_COMPONENT ? CJ2K_CPRL : CJ2K_RPCL;
  }
  if (random.chance(25)) choose_poc(p, random);
  p.sop = random.chance(25);
  p.eph = random.chance(25);
  p.tlm = !random.chance(25);
  p.plt = random.chance(25);
  if (random.chance(20)) p.format = CJ2K_FORMAT_JP2;
  if (random.chance(15)) p.mct = CJ2K_MCT_OFF;
  p.threads = random.range(1, 3);
  p.gop = random.range(0, 3);
  p.async_depth = random.range(0, 3);
  p.verify = (p.threads + p.gop) % 2;
}

void choose_rest(cj2k_params& p, Random& random) {
  if (random.chance(12)) {
    p.num_roi = random.range(1, 2);
    for (int i = 0; i < p.num_roi; ++i) {
      const int32_t x = random.range(0, p.width - 1), y = random.range(0, p.height - 1);
      p.roi[i] = {p.image_offset_x + x, p.image_offset_y + y, random.range(1, p.width - x),
                  random.range(1, p.height - y), 0};
    }
  }
  if (random.chance(25) && p.layers > 1 && !p.lossless && p.qfactor == 0 && p.quality == 0) {
    p.num_layer_rates = p.layers;
    double rate = random.range(3, 20);
    for (int i = p.layers; i-- > 0; rate *= 1.5) p.layer_rates[i] = rate;
  } else if (random.chance(15) && p.layers > 1) {
    p.num_layer_psnr = p.layers - 1;
    for (int i = 0; i < p.num_layer_psnr; ++i) p.layer_psnr[i] = 25 + 4 * i;
  }
  if (random.chance(15)) p.min_frame_bytes = random.range(1, 60000);
  if (random.chance(15) && p.num_components % 2 == 0) p.alpha = random.range(1, 2);
  if (random.chance(15))
    set(p, "comment", random.pick<std::string>({"a", "two words", "\xC3\xA4"}));
}

void choose_ht(cj2k_params& p) {
  p.coder = CJ2K_CODER_HT;
  p.num_layer_psnr = 0;
  p.cblk_style &= CJ2K_STYLE_VSC;
}

void reset_some(cj2k_params& p) {
  const char* const text = std::getenv("CJ2K_RANDOM_RESET");
  if (text == nullptr) return;
  std::istringstream names(text);
  cj2k_param_info info = {};
  info.struct_size = sizeof info;
  for (std::string name; std::getline(names, name, ',');) {
    for (int i = 0; cj2k_params_describe(i, &info) == CJ2K_OK; ++i)
      if (name == info.name) set(p, info.name, info.default_value);
  }
}

}  // namespace cj2k::test
