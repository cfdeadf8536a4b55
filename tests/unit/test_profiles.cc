// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Profiles: the table, levels, caps, and what a profile makes of the parameters.
#include <doctest/doctest.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "params/profiles.h"
#include "unit/params_support.h"

namespace {

using namespace cj2k::test;
using cj2k::Status;

/// A picture of three components at a frame rate, under a profile.
cj2k_params under(cj2k_profile profile, int width, int height, int depth, const char* frame_rate) {
  cj2k_params p = valid();
  p.profile = profile;
  p.width = width;
  p.height = height;
  for (int32_t& d : p.depth) d = depth;
  REQUIRE(set(&p, "frame_rate", frame_rate) == Status::kOk);
  return p;
}

cj2k_params cinema(cj2k_profile profile, const char* frame_rate = "24") {
  const bool is_4k = profile == CJ2K_PROFILE_CINEMA_4K;
  return under(profile, is_4k ? 4096 : 2048, is_4k ? 2160 : 1080, 12, frame_rate);
}

void make_422(cj2k_params* p) { p->dx[1] = p->dx[2] = 2; }

std::string text_of(const cj2k_params& p, const char* key) {
  char text[CJ2K_MAX_PARAM_TEXT];
  REQUIRE(cj2k::get_param(p, key, text, sizeof text, {}) == Status::kOk);
  return text;
}

}  // namespace

TEST_CASE("profiles: bytes of a frame at every frame rate") {
  // 250, 200, 230 Mbit/s.
  struct Row {
    int32_t num, den;
    int64_t frame, component, safe;
  };
  const std::vector<Row> rows = {
      {24, 1, 1302083, 1041666, 1197916},       {25, 1, 1250000, 1000000, 1150000},
      {30, 1, 1041666, 833333, 958333},         {48, 1, 651041, 520833, 598958},
      {50, 1, 625000, 500000, 575000},          {60, 1, 520833, 416666, 479166},
      {96, 1, 325520, 260416, 299479},          {120, 1, 260416, 208333, 239583},
      {24000, 1001, 1303385, 1042708, 1199114}, {60000, 1001, 521354, 417083, 479645}};
  for (const Row& row : rows) {
    CAPTURE(row.num);
    CHECK(cj2k::bytes_per_frame(250000000, row.num, row.den) == row.frame);
    CHECK(cj2k::bytes_per_frame(200000000, row.num, row.den) == row.component);
    CHECK(cj2k::bytes_per_frame(230000000, row.num, row.den) == row.safe);
    for (const cj2k_profile profile : {CJ2K_PROFILE_CINEMA_2K, CJ2K_PROFILE_CINEMA_4K}) {
      cj2k_params p = cinema(profile);
      p.frame_rate_num = row.num;
      p.frame_rate_den = row.den;
      cj2k_params r = resolved(p);
      CHECK(r.max_frame_bytes == row.frame);
      CHECK(r.max_component_bytes == row.component);
      CHECK(r.target_bytes == row.safe);
      p.cinema_rate = CJ2K_CINEMA_RATE_FULL;
      CHECK(resolved(p).target_bytes == row.frame);
      p.cinema_rate = CJ2K_CINEMA_RATE_HFR;
      if (row.num <= 30 * row.den) {
        CHECK(contains(resolve_error(p), "profile cinema"));
        CHECK(contains(resolve_error(p), "above 30 frames/s only"));
        continue;
      }
      r = resolved(p);
      CHECK(r.max_frame_bytes == cj2k::bytes_per_frame(500000000, row.num, row.den));
      CHECK(r.target_bytes == r.max_frame_bytes);
      CHECK(r.max_component_bytes == cj2k::bytes_per_frame(400000000, row.num, row.den));
    }
  }
  // Neither the smallest nor the largest numbers overflow.
  CHECK(cj2k::bytes_per_frame(51200000000, 1, 2147483647) == int64_t{1} << 40);
  CHECK(cj2k::bytes_per_frame(200000000, 2147483647, 1) == 0);
}

TEST_CASE("profiles: a rate under the cap is honoured, one above it is refused") {
  cj2k_params p = cinema(CJ2K_PROFILE_CINEMA_2K);
  p.target_bytes = 1302083;  // more than the safe choice
  CHECK(resolved(p).target_bytes == 1302083);
  CHECK(resolved(p).max_frame_bytes == 1302083);
  p.target_bytes = 1302084;
  CHECK(resolve_error(p) ==
        "target_bytes 1302084 (250 Mbit/s): profile cinema2k has at most 1302083 (250 Mbit/s at 24 "
        "frames/s)");
  p.target_bytes = 400000;
  CHECK(resolved(p).target_bytes == 400000);
  p.target_bytes = 0;
  p.max_frame_bytes = 900000;  // a cap alone is filled too
  CHECK(resolved(p).target_bytes == 900000);
  CHECK(resolved(p).max_frame_bytes == 900000);
  p.max_frame_bytes = 2000000;
  CHECK(contains(resolve_error(p), "max_frame_bytes 2000000 (384 Mbit/s): profile cinema2k"));
  p.max_frame_bytes = 0;
  p.max_component_bytes = 500000;
  CHECK(resolved(p).max_component_bytes == 500000);
  p.max_component_bytes = 1041667;
  CHECK(contains(resolve_error(p), "max_component_bytes 1041667 (200 Mbit/s): profile cinema2k"));
  // Constant quality stays it, under the cap.
  p.max_component_bytes = 0;
  p.quality = 1;
  CHECK(resolved(p).target_bytes == 0);
  CHECK(resolved(p).quality == 1);
  CHECK(resolved(p).max_frame_bytes == 1197916);
  p.quality = 0;
  p.frame_rate_num = 0;
  CHECK(resolve_error(p) == "frame_rate 0 (unknown): profile cinema2k needs it for its caps");
  p.frame_rate_num = 24;
  p.frame_rate_den = 0;
  CHECK(contains(resolve_error(p), "frame_rate 24/0"));
}

TEST_CASE("profiles: what each sets") {
  struct Row {
    cj2k_profile profile;
    int width, height, depth;
    const char *wavelet, *levels, *guard_bits, *cblk, *progression, *tile_parts, *precincts;
    int lossless;
    uint16_t rsiz;
  };
  const char* const at_5 = "256x256,256x256,256x256,256x256,256x256,128x128";
  const char* const at_6 = "256x256,256x256,256x256,256x256,256x256,256x256,128x128";
  const char* const at_7 = "256x256,256x256,256x256,256x256,256x256,256x256,256x256,128x128";
  const std::vector<Row> rows = {
      {CJ2K_PROFILE_NONE, 1920, 1080, 10, "9/7", "5", "2", "64x64", "lrcp", "none", "", 0, 0},
      {CJ2K_PROFILE_0, 1920, 1080, 10, "9/7", "5", "2", "64x64", "lrcp", "none", "", 0, 1},
      {CJ2K_PROFILE_0, 8192, 1080, 10, "9/7", "6", "2", "64x64", "lrcp", "none", "", 0, 1},
      {CJ2K_PROFILE_1, 1920, 1080, 10, "9/7", "5", "2", "64x64", "lrcp", "none", "", 0, 2},
      {CJ2K_PROFILE_CINEMA_2K, 1998, 1080, 12, "9/7", "5", "1", "32x32", "cprl", "component", at_5,
       0, 3},
      {CJ2K_PROFILE_CINEMA_4K, 3996, 2160, 12, "9/7", "6", "2", "32x32", "cprl", "component", at_6,
       0, 4},
      {CJ2K_PROFILE_IMF_2K, 1920, 1080, 10, "9/7", "5", "2", "32x32", "cprl", "component", at_5, 0,
       0x0413},
      {CJ2K_PROFILE_IMF_4K, 3840, 2160, 12, "9/7", "6", "2", "32x32", "cprl", "component", at_6, 0,
       0x0546},
      {CJ2K_PROFILE_IMF_8K, 7680, 4320, 12, "9/7", "7", "2", "32x32", "cprl", "component", at_7, 0,
       0x0657},
      {CJ2K_PROFILE_IMF_2K_R, 2048, 1080, 12, "5/3", "5", "2", "32x32", "cprl", "component", at_5,
       1, 0x0703},
      {CJ2K_PROFILE_IMF_4K_R, 4096, 2160, 12, "5/3", "6", "2", "32x32", "cprl", "component", at_6,
       1, 0x0806},
      {CJ2K_PROFILE_IMF_8K_R, 8192, 4320, 12, "5/3", "7", "2", "32x32", "cprl", "component", at_7,
       1, 0x0908},
      {CJ2K_PROFILE_BROADCAST_SINGLE, 1920, 1080, 10, "9/7", "5", "2", "64x64", "cprl", "component",
       at_5, 0, 0x0103},
      {CJ2K_PROFILE_BROADCAST_MULTI, 1920, 1080, 10, "9/7", "5", "2", "64x64", "cprl", "component",
       at_5, 0, 0x0203},
      // 1920 * 1080 * 3 * 10 bits * 24 = 1493 Mbit/s: level 6, up to 1600.
      {CJ2K_PROFILE_BROADCAST_MULTI_R, 1920, 1080, 10, "5/3", "5", "2", "64x64", "cprl",
       "component", at_5, 1, 0x0306}};
  for (const Row& row : rows) {
    INFO("profile ", static_cast<int>(row.profile), " width ", row.width);
    const cj2k_params r = resolved(under(row.profile, row.width, row.height, row.depth, "24"));
    CHECK(text_of(r, "wavelet") == row.wavelet);
    CHECK(text_of(r, "levels") == row.levels);
    CHECK(text_of(r, "guard_bits") == row.guard_bits);
    CHECK(text_of(r, "cblk") == row.cblk);
    CHECK(text_of(r, "progression") == row.progression);
    CHECK(text_of(r, "tile_parts") == row.tile_parts);
    CHECK(text_of(r, "precincts") == row.precincts);
    CHECK(text_of(r, "poc") ==
          (row.profile == CJ2K_PROFILE_CINEMA_4K ? "0,0,1,6,3,cprl/6,0,1,7,3,cprl" : ""));
    CHECK(r.lossless == row.lossless);
    CHECK(r.profile == row.profile);
    CHECK(cj2k::rsiz_of(r) == row.rsiz);
    // What was resolved can be asked for again, and gives the same.
    CHECK(cj2k::rsiz_of(resolved(r)) == row.rsiz);
  }
  const cj2k_params r = resolved(under(CJ2K_PROFILE_BROADCAST_MULTI, 1998, 1080, 10, "24"));
  CHECK(r.tile_width == 1000);
  CHECK(r.tile_height == 540);
}

TEST_CASE("profiles: levels from samples/s and bytes") {
  const auto level_of = [](const cj2k_params& p) { return resolved(p).main_level; };
  cj2k_params p = under(CJ2K_PROFILE_IMF_2K, 1920, 1080, 10, "25");
  make_422(&p);
  CHECK(level_of(p) == 2);                                                 // 104 Msamples/s
  CHECK(level_of(under(CJ2K_PROFILE_IMF_2K, 1920, 1080, 10, "24")) == 3);  // 149
  CHECK(level_of(under(CJ2K_PROFILE_IMF_4K, 3840, 2160, 10, "24")) == 6);  // 597
  p = under(CJ2K_PROFILE_IMF_4K, 3840, 2160, 10, "60");
  CHECK(level_of(p) == 7);  // 1493
  CHECK(resolved(p).sub_level == 5);
  CHECK(resolved(p).max_frame_bytes == cj2k::bytes_per_frame(3200000000, 60, 1));

  // The lowest sub level for the bytes, and the lowest main level that has it.
  p = under(CJ2K_PROFILE_IMF_2K, 1920, 1080, 10, "25");
  make_422(&p);
  p.target_bytes = 1000000;  // 200 Mbit/s
  CHECK(level_of(p) == 2);
  CHECK(resolved(p).sub_level == 1);
  p.target_bytes = 1000001;
  CHECK(level_of(p) == 4);
  CHECK(resolved(p).sub_level == 2);
  CHECK(cj2k::rsiz_of(resolved(p)) == 0x0424);
  p.main_level = 3;  // a level that is set is a cap
  CHECK(resolve_error(p) ==
        "target_bytes 1000001 (200 Mbit/s): profile imf_2k has at most 1000000 (200 Mbit/s at 25 "
        "frames/s)");
  p.target_bytes = 0;
  CHECK(resolved(p).max_frame_bytes == 1000000);
  p.main_level = 1;
  CHECK(resolve_error(p) == "103.68 Msamples/s: profile imf_2k has at most 65 at main level 1");
  p.main_level = 0;
  p.sub_level = 3;
  CHECK(level_of(p) == 5);
  CHECK(resolved(p).max_frame_bytes == 4000000);
  p.main_level = 4;
  CHECK(resolve_error(p) == "sub_level 3: profile imf_2k has at most 2 at main level 4");
  p.sub_level = 0;
  CHECK(resolve_error(p) == "sub_level 0: profile imf_2k has 1 to 9");

  p = under(CJ2K_PROFILE_IMF_2K_R, 1920, 1080, 10, "25");
  CHECK(resolved(p).sub_level == 0);
  p.sub_level = 1;
  CHECK(resolve_error(p) == "sub_level 1: profile imf_2k_r has none");

  p = under(CJ2K_PROFILE_BROADCAST_SINGLE, 1920, 1080, 10, "25");
  make_422(&p);
  CHECK(level_of(p) == 2);
  CHECK(resolved(p).max_frame_bytes == 1000000);
  p.target_bytes = 1000001;
  CHECK(level_of(p) == 4);
  CHECK(resolved(p).max_frame_bytes == 2000000);
  p.sub_level = 2;
  CHECK(resolve_error(p) == "sub_level 2: profile broadcast_single has none");
  p = under(CJ2K_PROFILE_BROADCAST_SINGLE, 64, 64, 10, "25");
  for (const int64_t megabits : {200, 200, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 51200}) {
    ++p.main_level;
    CHECK(resolved(p).max_frame_bytes == megabits * 1000000 / 8 / 25);
  }

  // Nothing reaches beyond level 11.
  p = under(CJ2K_PROFILE_IMF_8K, 8192, 4320, 12, "400");
  CHECK(resolve_error(p) ==
        "42467.3 Msamples/s: profile imf_8k has at most 38400 at main level 11");
  p = under(CJ2K_PROFILE_IMF_2K, 64, 64, 12, "24");
  p.target_bytes = 300000000;
  CHECK(contains(resolve_error(p), "profile imf_2k has at most 266666666 (51200 Mbit/s"));
  p.frame_rate_num = 0;
  CHECK(resolve_error(p) == "frame_rate 0 (unknown): profile imf_2k needs it for its levels");
  p = valid();
  p.main_level = 1;
  CHECK(resolve_error(p) == "main_level 1: profile none has no levels");
}

struct Contradiction {
  cj2k_profile profile;
  const char *key, *value;
  const char* error;  // "": legal
};
const std::vector<Contradiction> kContradictions = {
    {CJ2K_PROFILE_CINEMA_2K, "levels", "6", "levels 6: profile cinema2k has 5"},
    {CJ2K_PROFILE_CINEMA_2K, "guard_bits", "2", "guard_bits 2: profile cinema2k has 1"},
    {CJ2K_PROFILE_CINEMA_2K, "width", "2050", "width 2050: profile cinema2k has 1 to 2048"},
    {CJ2K_PROFILE_CINEMA_2K, "height", "1081", "height 1081: profile cinema2k has 1 to 1080"},
    {CJ2K_PROFILE_CINEMA_2K, "num_components", "4", "num_components 4: profile cinema2k has 3"},
    {CJ2K_PROFILE_CINEMA_2K, "depth", "8", "depth[0] 8: profile cinema2k has 12"},
    {CJ2K_PROFILE_CINEMA_2K, "is_signed", "0,1,0",
     "is_signed[1] 1: profile cinema2k has unsigned samples"},
    {CJ2K_PROFILE_CINEMA_2K, "dx", "1,2,2",
     "component 1 subsampled by 2x1: profile cinema2k has components of one size (4:4:4)"},
    {CJ2K_PROFILE_CINEMA_2K, "image_offset", "2x0", "image_offset 2x0: profile cinema2k has 0x0"},
    {CJ2K_PROFILE_CINEMA_2K, "tile", "1024x1080", "tile 1024x1080: profile cinema2k has one tile"},
    {CJ2K_PROFILE_CINEMA_2K, "lossless", "1",
     "lossless 1: profile cinema2k is lossy (9/7 wavelet)"},
    {CJ2K_PROFILE_CINEMA_2K, "wavelet", "5/3", "wavelet 5/3: profile cinema2k has 9/7"},
    {CJ2K_PROFILE_CINEMA_2K, "cblk", "64x64", "cblk 64x64: profile cinema2k has 32x32"},
    {CJ2K_PROFILE_CINEMA_2K, "cblk_style", "4", "cblk_style 4: profile cinema2k has none"},
    {CJ2K_PROFILE_CINEMA_2K, "precincts", "256x256",
     "precincts[5] 256x256: profile cinema2k has 128x128 at the lowest resolution and 256x256 "
     "above"},
    {CJ2K_PROFILE_CINEMA_2K, "progression", "lrcp", "progression lrcp: profile cinema2k has cprl"},
    {CJ2K_PROFILE_CINEMA_2K, "layers", "2", "layers 2: profile cinema2k has 1"},
    {CJ2K_PROFILE_CINEMA_2K, "mct", "off", "mct off: profile cinema2k has on"},
    {CJ2K_PROFILE_CINEMA_2K, "tile_parts", "none",
     "tile_parts none: profile cinema2k has component"},
    {CJ2K_PROFILE_CINEMA_2K, "sop", "1", "sop 1: profile cinema2k has 0"},
    {CJ2K_PROFILE_CINEMA_2K, "eph", "1", "eph 1: profile cinema2k has 0"},
    {CJ2K_PROFILE_CINEMA_2K, "plt", "1", "plt 1: profile cinema2k has 0"},
    {CJ2K_PROFILE_CINEMA_2K, "tlm", "0", "tlm 0: profile cinema2k has 1"},
    {CJ2K_PROFILE_CINEMA_2K, "comment", "",
     "comment \"\": profile cinema2k has one: common wrappers fail without it"},
    {CJ2K_PROFILE_CINEMA_2K, "main_level", "2", "main_level 2: profile cinema2k has no levels"},
    {CJ2K_PROFILE_CINEMA_2K, "poc", "0,0,1,6,3,cprl",
     "poc with 1 entries: profile cinema2k has none"},
    {CJ2K_PROFILE_CINEMA_2K, "roi", "0,0,9,9", "roi with 1 rectangles: profile cinema2k has none"},
    {CJ2K_PROFILE_CINEMA_4K, "roi", "0,0,9,9", "roi with 1 rectangles: profile cinema4k has none"},
    {CJ2K_PROFILE_CINEMA_4K, "poc", "0,0,1,7,3,cprl",
     "poc with 1 entries: profile cinema4k has 0,0,1,6,3,cprl/6,0,1,7,3,cprl"},
    {CJ2K_PROFILE_CINEMA_4K, "poc", "0,0,1,6,3,cprl/6,0,1,7,3,cprl", ""},
    {CJ2K_PROFILE_CINEMA_4K, "levels", "5", "levels 5: profile cinema4k has 6"},
    {CJ2K_PROFILE_0, "poc", "1,0,1,6,3,cprl/0,0,1,6,3,lrcp",
     "poc from resolution 1, component 0: profile profile0 has 0 for both"},
    {CJ2K_PROFILE_0, "poc", "0,0,1,6,3,cprl", ""},
    {CJ2K_PROFILE_IMF_2K, "depth", "7", "depth[0] 7: profile imf_2k has 8 to 16"},
    {CJ2K_PROFILE_IMF_2K, "levels", "6", "levels 6: profile imf_2k has 1 to 5"},
    {CJ2K_PROFILE_IMF_2K, "dy", "1,2,2",
     "component 1 subsampled by 1x2: profile imf_2k has 4:4:4 and 4:2:2"},
    {CJ2K_PROFILE_IMF_2K_R, "levels", "6", "levels 6: profile imf_2k_r has 1 to 5"},
    {CJ2K_PROFILE_IMF_2K_R, "tile", "2048x1080", ""},
    {CJ2K_PROFILE_IMF_2K_R, "tile", "1024x1024", ""},
    {CJ2K_PROFILE_IMF_2K_R, "tile", "512x512",
     "tile 512x512: profile imf_2k_r has one tile, or tiles of 1024x1024"},
    {CJ2K_PROFILE_BROADCAST_SINGLE, "depth", "16",
     "depth[0] 16: profile broadcast_single has 8 to 12"},
    {CJ2K_PROFILE_BROADCAST_SINGLE, "cblk", "128x32", ""},
    {CJ2K_PROFILE_BROADCAST_SINGLE, "cblk", "16x16",
     "cblk 16x16: profile broadcast_single has sides from 32 to 128"},
    {CJ2K_PROFILE_BROADCAST_SINGLE, "tile", "1024x540",
     "tile 1024x540: profile broadcast_single has one tile"},
    {CJ2K_PROFILE_BROADCAST_MULTI, "tile", "2048x270", ""},
    {CJ2K_PROFILE_BROADCAST_MULTI, "tile", "512x1080",
     "tile 512x1080: profile broadcast_multi has one tile, or 2 x 2, or 1 x 4"},
    {CJ2K_PROFILE_0, "image_offset", "1x1", "image_offset 1x1: profile profile0 has 0x0"},
    {CJ2K_PROFILE_0, "tile", "128x128", ""},
    {CJ2K_PROFILE_0, "tile", "256x256",
     "tile 256x256: profile profile0 has one tile, or tiles of 128x128"},
    {CJ2K_PROFILE_0, "cblk", "32x64", "cblk 32x64: profile profile0 has 32x32 and 64x64"},
    {CJ2K_PROFILE_0, "cblk_style", "reset",
     "cblk_style 2: profile profile0 has neither reset nor vsc"},
    {CJ2K_PROFILE_0, "cblk_style", "bypass+termall+segsym", ""},
    {CJ2K_PROFILE_0, "levels", "3",
     "levels 3 with tiles of 2048x1080: profile profile0 has at most 128x128 samples in the "
     "lowest resolution of a tile"},
    {CJ2K_PROFILE_0, "precincts", "64x64",
     "precincts[4] 64x64: profile profile0 has one precinct in resolutions up to 128x128"},
    {CJ2K_PROFILE_1, "image_offset", "1x1", ""},
    {CJ2K_PROFILE_1, "cblk", "128x32", "cblk 128x32: profile profile1 has sides from 4 to 64"},
    {CJ2K_PROFILE_1, "cblk_style", "reset+vsc", ""},
    {CJ2K_PROFILE_1, "tile", "1024x1024", ""},
    {CJ2K_PROFILE_1, "tile", "1025x1025",
     "tile 1025x1025: profile profile1 has one tile, or squares up to 1024x1024"},
};

TEST_CASE("profiles: each contradiction names both") {
  for (const Contradiction& row : kContradictions) {
    INFO("profile ", static_cast<int>(row.profile), " ", std::string(row.key), " ",
         std::string(row.value));
    cj2k_params p = under(row.profile, 2048, 1080, 12, "24");
    REQUIRE(set(&p, row.key, row.value) == Status::kOk);
    CHECK(resolve_error(p) == row.error);
    if (row.error[0] == '\0') continue;
    // The same as a warning: the value stays, and the codestream claims no profile.
    p.profile_strict = 0;
    Messages m;
    cj2k_params r;
    REQUIRE(cj2k::resolve_params(p, m.log, &r) == Status::kOk);
    REQUIRE(m.lines.size() >= 2);
    CHECK(m.lines[0] == row.error);
    CHECK(contains(m.last(), "does not claim profile"));
    CHECK(r.profile == CJ2K_PROFILE_NONE);
    CHECK(cj2k::rsiz_of(r) == 0);
    if (std::string(row.key) != "main_level") CHECK(text_of(r, row.key) == text_of(p, row.key));
  }
  cj2k_params p = under(CJ2K_PROFILE_0, 512, 512, 8, "0");
  p.tile_width = p.tile_height = 128;
  p.tile_parts = CJ2K_TILE_PARTS_RESOLUTION;
  CHECK(contains(resolve_error(p), "profile profile0 has the first tile-parts of all tiles"));
}

TEST_CASE("profiles: a larger profile than the picture needs is a warning for IMF") {
  Messages m;
  cj2k_params r;
  CHECK(cj2k::resolve_params(under(CJ2K_PROFILE_IMF_4K, 1920, 1080, 10, "24"), m.log, &r) ==
        Status::kOk);
  CHECK(r.profile == CJ2K_PROFILE_IMF_4K);
  CHECK(contains(m.last(), "width 1920: IMF validators want profile imf_4k"));
}
