// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The rules between parameters.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "params/params.h"
#include "unit/params_support.h"

namespace {

using namespace cj2k::test;
using cj2k::Log;
using cj2k::Status;

}  // namespace

TEST_CASE("params: code-block and precinct rules") {
  cj2k_params p = valid();
  struct Size {
    int w, h;
    bool ok;
  };
  for (const Size& size : std::initializer_list<Size>{{4, 1024, true},
                                                      {1024, 4, true},
                                                      {64, 64, true},
                                                      {4, 4, true},
                                                      {128, 64, false},
                                                      {1024, 8, false},
                                                      {48, 32, false},
                                                      {32, 5, false}}) {
    const int w = size.w, h = size.h;
    const bool ok = size.ok;
    CAPTURE(w);
    CAPTURE(h);
    p.cblk_width = w;
    p.cblk_height = h;
    CHECK((resolve_error(p) == "") == ok);
  }
  p = valid();
  p.levels = 1;
  p.num_precincts = 2;
  const auto with = [&](int w0, int h0, int w1, int h1) {
    p.precinct_width[0] = w0;
    p.precinct_height[0] = h0;
    p.precinct_width[1] = w1;
    p.precinct_height[1] = h1;
    return resolve_error(p);
  };
  CHECK(with(2, 32768, 1, 1) == "");
  CHECK(contains(with(1, 2, 1, 1), "precincts[0] 1x2"));
  CHECK(contains(with(2, 1, 1, 1), "precincts[0] 2x1"));
  CHECK(contains(with(2, 2, 3, 1), "precincts[1] 3x1"));
  // The last entry repeats: with two levels it also belongs to a resolution above the lowest.
  p.levels = 2;
  CHECK(contains(with(2, 2, 1, 1), "precincts[1] 1x1"));
  p.levels = 1;
  p.num_precincts = 3;
  p.precinct_width[2] = p.precinct_height[2] = 2;
  CHECK(contains(resolve_error(p), "num_precincts 3"));
}

TEST_CASE("params: the levels that are chosen") {
  struct Row {
    int32_t width, height, tile, lossless, levels;
  };
  for (const Row& row : {Row{2048, 2048, 0, 0, 5},
                         {2049, 16, 0, 0, 6},
                         {16, 2049, 0, 0, 6},
                         {2049, 2049, 0, 1, 5},
                         {4096, 2160, 1024, 0, 5},
                         {32, 24, 4096, 0, 5}}) {
    CAPTURE(row.width);
    CAPTURE(row.height);
    cj2k_params p = valid();
    p.width = row.width;
    p.height = row.height;
    p.tile_width = p.tile_height = row.tile;
    p.lossless = row.lossless;
    CHECK(resolved(p).levels == row.levels);
  }
}

TEST_CASE("params: colour rules") {
  CHECK(resolved(valid()).mct == CJ2K_MCT_ON);
  CHECK(resolved(valid()).colorspace == CJ2K_COLOR_SRGB);
  for (const char* unlike : {"depth=8,9", "is_signed=0,0,1", "dx=1,2,2", "dy=1,2,2"}) {
    cj2k_params p = valid();
    const std::string text = unlike;
    const size_t equal = text.find('=');
    REQUIRE(set(&p, text.substr(0, equal), text.substr(equal + 1)) == Status::kOk);
    CHECK(resolved(p).mct == CJ2K_MCT_OFF);
    p.mct = CJ2K_MCT_ON;
    CHECK(contains(resolve_error(p), "mct on with unlike components"));
  }
  cj2k_params p = valid();
  p.mct = CJ2K_MCT_OFF;
  CHECK(resolved(p).mct == CJ2K_MCT_OFF);
  p = valid();
  p.colorspace = CJ2K_COLOR_SYCC;  // already transformed
  CHECK(resolved(p).mct == CJ2K_MCT_OFF);
  p.mct = CJ2K_MCT_ON;
  CHECK(resolved(p).mct == CJ2K_MCT_ON);
  p = valid();
  p.num_components = 4;
  p.depth[3] = 5;
  p.alpha = 1;
  CHECK(resolved(p).mct == CJ2K_MCT_ON);
  p.num_components = 3;
  CHECK(resolved(p).mct == CJ2K_MCT_OFF);
  p.num_components = 2;
  CHECK(resolved(p).mct == CJ2K_MCT_OFF);
  CHECK(resolved(p).colorspace == CJ2K_COLOR_GRAY);
  p.mct = CJ2K_MCT_ON;
  CHECK(contains(resolve_error(p), "mct on with num_components 2 not in [3, 4]"));
  p.mct = CJ2K_MCT_AUTO;
  p.num_components = 1;
  CHECK(contains(resolve_error(p), "alpha 1 with num_components 1"));
}

TEST_CASE("params: the samples of a frame have at least the bits that are coded") {
  cj2k_params p = valid();
  REQUIRE(set(&p, "depth", "12") == Status::kOk);
  p.source_depth[0] = 12;
  p.source_depth[1] = 16;
  CHECK(resolved(p).source_depth[0] == 12);
  CHECK(resolved(p).source_depth[1] == 16);
  CHECK(resolved(p).source_depth[2] == 12);
  p.source_depth[2] = 11;
  CHECK(
      contains(resolve_error(p), "source_depth[2] 11 not in [12, 16], and not 0: depth[2] is 12"));
}

TEST_CASE("params: xyz has three components of 12 bits") {
  const auto with = [](const char* settings) {
    cj2k_params p = valid();
    std::istringstream words(std::string("depth 12 source_depth 10 xyz rec709 ") + settings);
    for (std::string key, value; words >> key >> value;) {
      INFO(key, " ", value);
      REQUIRE(set(&p, key, value) == Status::kOk);
    }
    return p;
  };
  const cj2k_params p = resolved(with(""));
  CHECK(p.colorspace == CJ2K_COLOR_XYZ);
  CHECK(p.mct == CJ2K_MCT_ON);
  CHECK(p.source_depth[2] == 10);
  CHECK(p.xyz_gamma == 2.4);
  CHECK(resolved(with("xyz rec2020")).xyz_gamma == 2.4);
  CHECK(resolved(with("xyz p3d65")).xyz_gamma == 2.6);
  CHECK(resolved(with("xyz p3dci")).xyz_gamma == 2.6);
  CHECK(resolved(with("xyz p3dci xyz_gamma 2.2")).xyz_gamma == 2.2);
  CHECK(resolved(with("source_depth 0")).source_depth[0] == 12);
  const struct {
    const char *settings, *says;
  } table[] = {
      {"num_components 4", "xyz needs num_components 3 and alpha 0, not 4 and 0"},
      {"num_components 1", "xyz needs num_components 3 and alpha 0, not 1 and 0"},
      {"alpha 1", "xyz needs num_components 3 and alpha 0, not 3 and 1"},
      {"depth 12,12,10", "xyz needs depth 12 and is_signed 0: component 2 has 10, 0"},
      {"is_signed 0,1", "xyz needs depth 12 and is_signed 0: component 1 has 12, 1"},
      {"source_depth 7", "source_depth[0] is 7"},
      {"source_depth 8,8,16", "source_depth[2] is 16, source_depth[0] 8"},
      {"dx 1,2,2", "component 1 has dx 2, dy 1, component 0 1, 1"},
      {"colorspace srgb", "xyz needs colorspace xyz or auto"},
  };
  for (const auto& row : table) {
    INFO(row.settings);
    CHECK(contains(resolve_error(with(row.settings)), row.says));
  }
}

TEST_CASE("params: the colour space is one of the components beside alpha") {
  cj2k_params p = valid();
  for (int components = 1; components <= CJ2K_MAX_COMPONENTS; ++components) {
    for (int alpha = 0; alpha <= (components > 1 ? 2 : 0); ++alpha) {
      CAPTURE(components);
      CAPTURE(alpha);
      p.num_components = components;
      p.alpha = alpha;
      const int colours = components - (alpha > 0 ? 1 : 0);
      const bool has_colour = colours >= 3;
      p.colorspace = CJ2K_COLOR_AUTO;
      CHECK(resolved(p).colorspace == (has_colour ? CJ2K_COLOR_SRGB : CJ2K_COLOR_GRAY));
      p.colorspace = CJ2K_COLOR_GRAY;
      CHECK(resolved(p).colorspace == CJ2K_COLOR_GRAY);
      for (const cj2k_colorspace space : {CJ2K_COLOR_SRGB, CJ2K_COLOR_SYCC, CJ2K_COLOR_XYZ}) {
        p.colorspace = space;
        if (has_colour) {
          CHECK(resolved(p).colorspace == space);
          continue;
        }
        const std::string name = space == CJ2K_COLOR_SRGB   ? "srgb"
                                 : space == CJ2K_COLOR_SYCC ? "sycc"
                                                            : "xyz";
        CHECK(contains(resolve_error(p),
                       "colorspace " + name + " with num_components " + std::to_string(components) +
                           " and alpha " + std::to_string(alpha) + ": " + std::to_string(colours) +
                           " beside alpha not in [3, 4]"));
      }
    }
  }
}

TEST_CASE("params: colorspace auto takes components that are subsampled unlike for YCbCr") {
  const struct {
    const char *dx, *dy;
    int components, alpha;
    cj2k_colorspace space;
  } table[] = {
      {"1,2,2", "1,2,2", 3, 0, CJ2K_COLOR_SYCC},     {"1,2,2", "1", 3, 0, CJ2K_COLOR_SYCC},
      {"1", "1,2,2", 3, 0, CJ2K_COLOR_SYCC},         {"1,4,4", "1", 3, 0, CJ2K_COLOR_SYCC},
      {"1,1,2", "1", 3, 0, CJ2K_COLOR_SYCC},         {"1,2,2,1", "1,2,2,1", 4, 1, CJ2K_COLOR_SYCC},
      {"1,2,2,1", "1,2,2,1", 4, 0, CJ2K_COLOR_SYCC}, {"2", "2", 3, 0, CJ2K_COLOR_SRGB},
      {"1,1,1,2", "1,1,1,2", 4, 1, CJ2K_COLOR_SRGB}, {"1,2,2", "1,2,2", 3, 1, CJ2K_COLOR_GRAY},
      {"1,2", "1,2", 2, 0, CJ2K_COLOR_GRAY},
  };
  for (const auto& row : table) {
    INFO("dx ", std::string(row.dx), " dy ", std::string(row.dy), " alpha ", row.alpha);
    cj2k_params p = valid();
    p.num_components = row.components;
    p.alpha = row.alpha;
    REQUIRE(set(&p, "dx", row.dx) == Status::kOk);
    REQUIRE(set(&p, "dy", row.dy) == Status::kOk);
    CHECK(resolved(p).colorspace == row.space);
    if (row.components - row.alpha < 3) continue;
    p.colorspace = CJ2K_COLOR_SRGB;  // an explicit value is used
    CHECK(resolved(p).colorspace == CJ2K_COLOR_SRGB);
  }
}

TEST_CASE("params: what qfactor excludes") {
  cj2k_params p = valid();
  p.qfactor = 90;
  p.coder = CJ2K_CODER_HT;
  CHECK(resolved(p).quality == 0);
  CHECK(resolved(p).quant_step == 0);
  CHECK(resolved(p).frame_steps == 0);
  CHECK(resolve_error(resolved(p)) == "");
  p.max_frame_bytes = 1000;
  p.layers = 3;
  CHECK(resolve_error(p) == "");
  p.wavelet = CJ2K_WAVELET_53;
  CHECK(resolve_error(p) == "qfactor 90 excludes wavelet 5/3, which has no steps");
  p.target_bytes = 9;
  CHECK(resolve_error(p) ==
        "qfactor 90 excludes target_bytes (which must be 0); a cap is max_frame_bytes");
  p.quant_step = 1;
  CHECK(contains(resolve_error(p), "excludes quant_step"));
  p.quality = 1;
  CHECK(contains(resolve_error(p), "excludes quality"));
  p.lossless = 1;
  CHECK(resolve_error(p) == "qfactor 90 excludes lossless (which must be 0)");
  p = valid();
  p.qfactor = 5;
  REQUIRE(set(&p, "layer_rates", "20,10,5") == Status::kOk);
  CHECK(contains(resolve_error(p), "excludes layer_rates"));
  p = valid();
  p.qfactor = 101;
  CHECK(contains(resolve_error(p), "qfactor 101 not in [1, 100]"));
  p.qfactor = -1;
  CHECK(contains(resolve_error(p), "qfactor -1 not in [1, 100]"));
}

TEST_CASE("params: target_psnr measures, and what it excludes") {
  cj2k_params p = valid();
  p.target_psnr = 45;
  CHECK(resolved(p).quality == 0);
  CHECK(resolved(p).measure_mse == 1);
  CHECK(resolved(p).quant_step == 0.5);
  CHECK(resolve_error(resolved(p)) == "");
  p.max_frame_bytes = p.target_bytes = 1000;
  p.stop = CJ2K_STOP_NONE;
  CHECK(resolve_error(p) == "");
  p.stop = CJ2K_STOP_PST;
  CHECK(resolve_error(p) == "target_psnr 45 excludes stop pst, psb and bpi");
  p.stop = CJ2K_STOP_EXACT;
  p.effort = 2;
  CHECK(contains(resolve_error(p), "excludes effort 2 and 3"));
  p.curves = CJ2K_CURVES_WITH;
  CHECK(contains(resolve_error(p), "excludes curves"));
  p.quality = 1;
  CHECK(contains(resolve_error(p), "excludes quality"));
  p.target_bytes = p.max_frame_bytes = 0;
  p.lossless = 1;
  p.quality = 0;
  CHECK(contains(resolve_error(p), "excludes lossless"));
  p = valid();
  p.target_psnr = 70;
  CHECK(resolved(p).quant_step == doctest::Approx(255 * std::sqrt(12.0) / 4 * std::pow(10, -3.5)));
  p.qfactor = 5;
  CHECK(contains(resolve_error(p), "excludes qfactor"));
  p.target_psnr = 201;
  CHECK(contains(resolve_error(p), "target_psnr 201 not in [1, 200]"));
}

TEST_CASE("params: rate rules") {
  CHECK(resolved(valid()).quality == 2.0);
  CHECK(resolved(valid()).quant_step == 0.5);
  cj2k_params p = valid();
  for (int32_t& depth : p.depth) depth = 12;
  CHECK(resolved(p).quant_step == 1.0);
  p.quality = 0.0625;  // one LSB of 12 bits
  CHECK(resolved(p).quant_step == 0.5);
  p = valid();
  p.quality = 0.25;
  CHECK(resolved(p).quant_step == 0.125);
  p.quality = 0.00390625;
  CHECK(resolved(p).quant_step == 0.015625);  // the finest step
  p = valid();
  p.target_bytes = 1000;
  CHECK(resolved(p).quality == 0);
  p.max_frame_bytes = 900;
  p.min_frame_bytes = 900;
  CHECK(resolve_error(p) == "");
  p.min_frame_bytes = 901;
  CHECK(contains(resolve_error(p), "min_frame_bytes 901 not in [0, 900]"));
  p.comment[0] = '\0';
  p.min_frame_bytes = 895;
  CHECK(contains(resolve_error(p), "min_frame_bytes 895 not in [0, 894]"));
  p.min_frame_bytes = 894;
  CHECK(resolve_error(p) == "");
  p.max_frame_bytes = 0;
  CHECK(resolve_error(p) == "");

  p = valid();
  p.lossless = 1;
  CHECK(resolved(p).wavelet == CJ2K_WAVELET_53);
  CHECK(resolved(p).quality == 0);
  p.min_frame_bytes = 5000;
  CHECK(resolve_error(p) == "");
  p.target_bytes = 1;
  CHECK(resolve_error(p) == "lossless 1 excludes target_bytes (which must be 0)");
  p.target_bytes = 0;
  p.max_frame_bytes = 1;
  CHECK(contains(resolve_error(p), "excludes max_frame_bytes"));
  p.max_frame_bytes = 0;
  p.min_frame_bytes = 0;
  p.max_component_bytes = 1;
  CHECK(contains(resolve_error(p), "excludes max_component_bytes"));
  p.max_component_bytes = 0;
  p.quality = 1;
  CHECK(contains(resolve_error(p), "excludes quality"));

  p = valid();
  p.wavelet = CJ2K_WAVELET_53;
  CHECK(resolved(p).wavelet == CJ2K_WAVELET_53);
  CHECK(resolved(p).quality == 2.0);

  p = valid();
  REQUIRE(set(&p, "layer_rates", "20,10,5") == Status::kOk);
  CHECK(resolved(p).layers == 3);
  p.layers = 2;
  CHECK(resolve_error(p) == "num_layer_rates 3 is not layers 2");
  p.layers = 3;
  p.layer_rates[2] = 10;
  CHECK(resolve_error(p) == "layer_rates[2] 10 not below layer_rates[1] 10");
}

TEST_CASE("params: layer_psnr measures, and what it excludes") {
  cj2k_params p = valid();
  REQUIRE(set(&p, "layer_psnr", "30,40") == Status::kOk);
  CHECK(resolved(p).measure_mse == 1);
  CHECK(resolved(p).quality == 2);
  for (const auto& [name, value, text] : {std::tuple{"layer_rates", "9,5,4", "layer_rates"},
                                          {"effort", "2", "effort 2 and 3"},
                                          {"coder", "ht", "coder ht"}}) {
    cj2k_params other = p;
    REQUIRE(set(&other, name, value) == Status::kOk);
    CHECK(resolve_error(other) == std::string("layer_psnr excludes ") + text);
  }
  p.curves = CJ2K_CURVES_WITH;
  CHECK(resolve_error(p) == "layer_psnr excludes curves");
  p.curves = CJ2K_CURVES_OFF;
  p.layers = 2;
  CHECK(resolve_error(p) == "num_layer_psnr 2 is not one less than layers 2");
  p.layers = 3;
  p.layer_psnr[1] = 30;
  CHECK(resolve_error(p) == "layer_psnr[1] 30 not above layer_psnr[0] 30");
}

TEST_CASE("params: chosen values of how it runs") {
  cj2k_params p = valid();
  p.gop = 0;
  // With "auto" the backend is not known yet.
  CHECK(resolved(p).threads >= 1);
  CHECK(resolved(p).gop == 0);
  CHECK(resolved(p).async_depth == 0);
  CHECK(std::string(resolved(p).device) == "auto");
  REQUIRE(set(&p, "device", "cpu") == Status::kOk);
  cj2k_params r = resolved(p);
  CHECK(r.gop == 1);
  CHECK(r.async_depth == (r.threads == 1 ? 1 : 2));
  p.threads = 1;
  CHECK(resolved(p).async_depth == 1);
  p.threads = 3;
  CHECK(resolved(p).async_depth == 2);
  p.async_depth = 7;
  CHECK(resolved(p).async_depth == 7);
  p.gop = 9;
  CHECK(resolved(p).async_depth == 9);
  CHECK(resolved(p).gop == 9);
}

TEST_CASE("params: GOP and depth of each backend") {
  struct Case {
    int threads, gop, async_depth;
    cj2k_stop stop;
    bool cuda;
    int64_t blocks;
    int expected_gop, expected_depth;
  };
  const std::vector<Case> cases = {
      {1, 0, 0, CJ2K_STOP_EXACT, false, 26000, 1, 1},
      {2, 0, 0, CJ2K_STOP_EXACT, false, 26000, 1, 2},
      {2, 4, 0, CJ2K_STOP_EXACT, false, 26000, 4, 4},
      {2, 4, 5, CJ2K_STOP_EXACT, false, 26000, 4, 8},
      {2, 5, 64, CJ2K_STOP_EXACT, false, 26000, 5, 65},
      {1, 64, 64, CJ2K_STOP_EXACT, false, 26000, 64, 64},
      {2, 0, 0, CJ2K_STOP_EXACT, true, 1, 8, 64},
      {2, 0, 0, CJ2K_STOP_EXACT, true, 8192, 8, 64},
      {2, 0, 0, CJ2K_STOP_EXACT, true, 16383, 8, 64},
      {2, 0, 0, CJ2K_STOP_EXACT, true, 16384, 4, 32},
      {2, 0, 0, CJ2K_STOP_EXACT, true, 32767, 4, 32},
      {2, 0, 0, CJ2K_STOP_EXACT, true, 32768, 2, 16},
      {2, 0, 0, CJ2K_STOP_EXACT, true, 65535, 2, 16},
      {2, 0, 0, CJ2K_STOP_EXACT, true, 65536, 1, 8},
      {2, 0, 0, CJ2K_STOP_NONE, true, int64_t{1} << 40, 1, 8},
      {1, 3, 0, CJ2K_STOP_PSB, true, 26000, 3, 24},
      {1, 9, 0, CJ2K_STOP_PSB, true, 26000, 9, 36},
      {1, 16, 0, CJ2K_STOP_PSB, true, 26000, 16, 64},
      {1, 3, 1, CJ2K_STOP_BPI, true, 26000, 3, 3},
      {1, 3, 7, CJ2K_STOP_BPI, true, 26000, 3, 9},
      // PST looks back one GOP, so the chosen gop must not depend on the device.
      {1, 0, 0, CJ2K_STOP_PST, false, 26000, 1, 1},
      {1, 0, 0, CJ2K_STOP_PST, true, 26000, 1, 8},
      {1, 8, 0, CJ2K_STOP_PST, true, 26000, 8, 64},
  };
  for (const Case& c : cases) {
    cj2k_params p = valid();
    p.threads = c.threads;
    p.gop = c.gop;
    p.async_depth = c.async_depth;
    p.stop = c.stop;
    cj2k::choose_depth(&p, c.cuda, c.blocks);
    INFO("cuda ", c.cuda, " blocks ", c.blocks, " gop ", c.gop, " async_depth ", c.async_depth);
    CHECK(p.gop == c.expected_gop);
    CHECK(p.async_depth == c.expected_depth);
    cj2k::choose_depth(&p, c.cuda, c.blocks);  // a second call changes nothing
    CHECK(p.gop == c.expected_gop);
    CHECK(p.async_depth == c.expected_depth);
  }
}

TEST_CASE("params: what effort 2 and 3 exclude is refused by name; lossless takes any effort") {
  for (const char* effort : {"0", "1", "2", "3"}) {
    const bool optimises = effort[0] >= '2';
    struct Case {
      const char *name, *value, *needs;
    };
    for (const Case& c : std::initializer_list<Case>{{"stop", "psb", "needs stop exact or none"},
                                                     {"stop", "pst", "needs stop exact or none"},
                                                     {"stop", "bpi", "needs stop exact or none"}}) {
      const std::string name = c.name, value = c.value, needs = c.needs;
      CAPTURE(name);
      CAPTURE(value);
      cj2k_params p = valid();
      REQUIRE(set(&p, "effort", effort) == Status::kOk);
      REQUIRE(set(&p, name, value) == Status::kOk);
      const std::string error = resolve_error(p, Status::kNotSupported);
      if (optimises) {
        CHECK(contains(error, std::string("effort ") + effort));
        CHECK(contains(error, needs));
        p.lossless = 1;
        CHECK(resolve_error(p) == "");
      } else {
        CHECK(error == "");
      }
    }
  }
  cj2k_params p = valid();
  CHECK(p.effort == 1);
  p.effort = 4;
  CHECK(contains(resolve_error(p), "effort 4"));
}
