// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What the library tells hosts: errors as data, the lines at open and at close, JSON, PSNR, and
// what it takes in their words: Rsiz and comments in UTF-8.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "support/encode.h"

namespace cj2k::test {
namespace {

cj2k_error last_error(const cj2k_encoder* encoder = nullptr) {
  cj2k_error error = {};
  error.struct_size = sizeof error;
  REQUIRE(cj2k_last_error(encoder, &error) == CJ2K_OK);
  return error;
}

cj2k_error open_error(const cj2k_params& p) {
  cj2k_encoder* encoder = nullptr;
  REQUIRE(cj2k_encoder_open(&p, &encoder) == CJ2K_INVALID);
  const cj2k_error error = last_error();
  CHECK(error.status == CJ2K_INVALID);
  CHECK(std::string(error.message) == cj2k_encoder_last_error(nullptr));
  return error;
}

std::string get(const cj2k_params& p, const char* key) {
  char text[CJ2K_MAX_PARAM_TEXT] = "";
  REQUIRE(cj2k_params_get(&p, key, text, sizeof text) == CJ2K_OK);
  return text;
}

TEST_CASE("last_error: the parameter, its value and its range") {
  cj2k_params p = make_params(64, 48);
  p.levels = 33;
  cj2k_error error = open_error(p);
  CHECK(std::string(error.param) == "levels");
  CHECK(error.value == 33);
  CHECK(error.min == 0);
  CHECK(error.max == 32);

  cj2k_info info = {};
  info.struct_size = sizeof info;
  p = make_params(64, 48);
  REQUIRE(cj2k_params_info(&p, &info) == CJ2K_OK);
  p.target_bytes = info.least_frame_bytes - 1;
  error = open_error(p);
  CHECK(std::string(error.param) == "target_bytes");
  CHECK(error.value == static_cast<double>(p.target_bytes));
  CHECK(error.min == static_cast<double>(info.least_frame_bytes));

  p.min_frame_bytes = 5000;
  p.target_bytes = 4000;
  error = open_error(p);
  CHECK(std::string(error.param) == "min_frame_bytes");
  CHECK(error.value == 5000);
  CHECK(error.max == 4000);
}

TEST_CASE("last_error: under a profile, of text, of no parameter, and of wrong arguments") {
  cj2k_params p = params_from({{"width", "64"},
                               {"height", "48"},
                               {"depth", "12"},
                               {"profile", "cinema2k"},
                               {"frame_rate", "24"},
                               {"target_bytes", "1302084"}});
  cj2k_error error = open_error(p);
  CHECK(std::string(error.param) == "target_bytes");
  CHECK(error.max == 1302083);
  p = make_params(64, 48);
  p.depth[1] = 17;
  error = open_error(p);
  CHECK(std::string(error.param) == "depth");
  CHECK(error.value == 17);

  CHECK(cj2k_params_set(&p, "gop", "65") == CJ2K_INVALID);
  error = last_error();
  CHECK(std::string(error.param) == "gop");
  CHECK(error.value == 65);
  CHECK(error.max == 64);
  CHECK(cj2k_params_set(&p, "stop", "never") == CJ2K_INVALID);
  error = last_error();
  CHECK(std::string(error.param) == "stop");
  CHECK(error.min > error.max);
  CHECK(cj2k_params_set(&p, "nonsense", "1") == CJ2K_INVALID);
  CHECK(std::string(last_error().param) == "");
  CHECK(std::string(last_error().message).find("nonsense") != std::string::npos);

  CHECK(cj2k_last_error(nullptr, nullptr) == CJ2K_INVALID);
  error.struct_size = 1;
  CHECK(cj2k_last_error(nullptr, &error) == CJ2K_INVALID);
}

TEST_CASE("last_error: rules between parameters name the one to change") {
  const struct {
    const char *key, *value, *param;
    double number;
  } kRows[] = {{"tile_offset", "1x0", "tile_offset_x", 1},
               {"cblk", "128x64", "cblk", 0},
               {"mct", "on", "mct", 0},
               {"alpha", "1", "alpha", 1},
               {"layer_rates", "2,3", "layer_rates", 0},
               {"depth", "16", "", 0}};
  for (const auto& row : kRows) {
    CAPTURE(row.key);
    cj2k_params p = make_params(64, 48, 1, 8);
    REQUIRE(cj2k_params_set(&p, row.key, row.value) == CJ2K_OK);
    cj2k_encoder* encoder = nullptr;
    const cj2k_status status = cj2k_encoder_open(&p, &encoder);
    CHECK(status == (row.param[0] == '\0' ? CJ2K_OK : CJ2K_INVALID));
    cj2k_encoder_close(encoder);
    if (status == CJ2K_OK) continue;
    CHECK(std::string(last_error().param) == row.param);
    CHECK(last_error().value == row.number);
  }
}

TEST_CASE("the lines of a sequence, and JSON of its frames") {
  cj2k_params p = make_params(320, 240);
  p.target_bytes = 20000;
  p.frame_rate_num = 50;
  p.frame_rate_den = 1;
  p.threads = 1;
  std::snprintf(p.device, sizeof p.device, "cpu");
  p.measure_mse = p.verify = 1;
  cj2k_encoder* e = nullptr;
  REQUIRE(cj2k_encoder_open(&p, &e) == CJ2K_OK);
  char text[CJ2K_MAX_PARAM_TEXT];
  REQUIRE(cj2k_encoder_headline(e, 1, text, sizeof text) == CJ2K_OK);
  CHECK(std::string(text) == "20000 bytes a frame at 50/1 fps (8.0 Mbit/s), cpu, 1 thread");
  REQUIRE(cj2k_encoder_headline(e, 2, text, sizeof text) == CJ2K_OK);
  CHECK(std::string(text) == "20000 bytes a field at 25/1 fps (8.0 Mbit/s), cpu, 1 thread");
  CHECK(cj2k_encoder_headline(e, 3, text, sizeof text) == CJ2K_INVALID);
  CHECK(cj2k_encoder_headline(e, 1, text, 20) == CJ2K_INVALID);
  REQUIRE(cj2k_encoder_summary(e, 1, text, sizeof text) == CJ2K_OK);
  CHECK(std::string(text) == "");
  CHECK(last_error(e).status == CJ2K_INVALID);

  FrameMemory memory(make_picture(p, Content::kNoise, 1));
  REQUIRE(cj2k_encoder_send_frame(e, &memory.frame) == CJ2K_OK);
  REQUIRE(cj2k_encoder_send_frame(e, nullptr) == CJ2K_OK);
  cj2k_packet packet = {};
  packet.struct_size = sizeof packet;
  REQUIRE(cj2k_encoder_receive_packet(e, &packet) == CJ2K_OK);
  const cj2k_stats stats = stats_of(packet);
  for (int c = 0; c < 3; ++c)
    CHECK(stats.component_psnr[c] == doctest::Approx(10 * std::log10(255 * 255 / stats.mse[c])));
  const double mse = (stats.mse[0] + stats.mse[1] + stats.mse[2]) / 3;
  CHECK(stats.psnr == doctest::Approx(10 * std::log10(255 * 255 / mse)));
  CHECK(stats.q > 0);

  REQUIRE(cj2k_packet_json(e, &packet, text, sizeof text) == CJ2K_OK);
  const std::string json = text;
  CHECK(json.starts_with("{\"bytes\":" + std::to_string(packet.size) + ",\"cap\":20000,"));
  CHECK(json.find(",\"verified\":1,\"q\":") != std::string::npos);
  CHECK(json.find(",\"measured\":true,\"psnr\":") != std::string::npos);
  CHECK(json.ends_with("}}"));
  CHECK(cj2k_packet_json(e, &packet, text, 10) == CJ2K_INVALID);
  CHECK(cj2k_packet_json(e, nullptr, text, sizeof text) == CJ2K_INVALID);
  cj2k_packet_release(&packet);
  REQUIRE(cj2k_packet_json(e, &packet, text, sizeof text) == CJ2K_OK);  // of a frame that failed
  CHECK(std::string(text) == "{\"error\":\"cj2k_packet_json: packet is NULL\"}");

  REQUIRE(cj2k_encoder_summary(e, 1, text, sizeof text) == CJ2K_OK);
  CHECK(std::string(text).starts_with("1 frame of " + std::to_string(stats.bytes) +
                                      " bytes on average ("));
  CHECK(
      std::string(text).find(" dB at worst (frame 0), measured; verified; ms per frame: ingest ") !=
      std::string::npos);
  cj2k_encoder_close(e);
}

TEST_CASE("set_colours: code points of H.273") {
  cj2k_params p = make_params(64, 48);
  p.format = CJ2K_FORMAT_JP2;
  p.colorspace = CJ2K_COLOR_SRGB;
  REQUIRE(cj2k_params_set_colours(&p, 12, 17, 2, 0) == CJ2K_OK);
  CHECK(get(p, "primaries") == "p3d65");
  CHECK(get(p, "transfer") == "gamma26");
  CHECK(p.xyz == CJ2K_XYZ_OFF);
  CHECK(p.xyz_gamma == 0);
  CHECK(cj2k_params_set_colours(&p, 8, 1, 2, 0) == CJ2K_NOT_SUPPORTED);
  CHECK(std::string(last_error().param) == "primaries");
  CHECK(cj2k_params_set_colours(&p, 1, 10, 2, 0) == CJ2K_NOT_SUPPORTED);
  CHECK(std::string(last_error().param) == "transfer");
  CHECK(get(p, "primaries") == "p3d65");  // an error changes nothing
  for (int code = 0; code < 24; ++code) {
    INFO("code point ", code);
    const bool has_primaries =
        code == 1 || code == 2 || (code >= 5 && code <= 7) || code == 9 || code == 11 || code == 12;
    const bool has_transfer =
        code == 1 || code == 2 || (code >= 4 && code <= 8) || (code >= 11 && code <= 18);
    CHECK((cj2k_params_set_colours(&p, code, 1, 2, 0) == CJ2K_OK) == has_primaries);
    CHECK((cj2k_params_set_colours(&p, 1, code, 2, 0) == CJ2K_OK) == has_transfer);
  }
  p.format = CJ2K_FORMAT_J2K;
  CHECK(cj2k_params_set_colours(&p, 8, 10, 2, 0) == CJ2K_OK);
  CHECK(get(p, "primaries") == "rec709");
}

TEST_CASE("set_colours: xyz") {
  const struct {
    int primaries, transfer;
    cj2k_xyz xyz;  ///< OFF: refused
    double gamma;
  } kRows[] = {{1, 1, CJ2K_XYZ_REC709, 0},    {9, 14, CJ2K_XYZ_REC2020, 0},
               {11, 17, CJ2K_XYZ_P3DCI, 2.6}, {12, 8, CJ2K_XYZ_P3D65, 1},
               {2, 1, CJ2K_XYZ_OFF, 0},       {5, 1, CJ2K_XYZ_OFF, 0},
               {9, 16, CJ2K_XYZ_OFF, 0},      {9, 18, CJ2K_XYZ_OFF, 0}};
  for (const auto& row : kRows) {
    CAPTURE(row.primaries);
    CAPTURE(row.transfer);
    cj2k_params p = make_params(64, 48);
    p.xyz = CJ2K_XYZ_AUTO;
    CHECK(cj2k_params_set_colours(&p, row.primaries, row.transfer, 2, 0) ==
          (row.xyz == CJ2K_XYZ_OFF ? CJ2K_INVALID : CJ2K_OK));
    CHECK(p.xyz == (row.xyz == CJ2K_XYZ_OFF ? CJ2K_XYZ_AUTO : row.xyz));
    CHECK(p.xyz_gamma == row.gamma);
  }
  cj2k_params p = make_params(64, 48);
  p.xyz = CJ2K_XYZ_P3D65;  // what is set, stays
  REQUIRE(cj2k_params_set_colours(&p, 1, 1, 2, 0) == CJ2K_OK);
  CHECK(get(p, "xyz") == "p3d65");
}

TEST_CASE("set_colours: what contradicts the profile, though no codestream shows it") {
  const struct {
    const char *profile, *colorspace, *frame_rate;
    int primaries, matrix, full_range;
    const char* says;  ///< "": nothing
  } kRows[] = {
      {"cinema2k", "xyz", "24", 2, 2, 1, ""},
      {"cinema2k", "xyz", "0", 2, 2, 1, ""},  // open asks for the rate
      {"cinema4k", "xyz", "120", 2, 2, 0, ""},
      {"cinema2k", "srgb", "24", 1, 0, 1, "cinema2k is X'Y'Z', the frames are not"},
      {"cinema2k", "xyz", "24000/1001", 1, 0, 1, "these are 24000/1001; the nearest is 24"},
      {"cinema4k", "xyz", "1000", 1, 0, 1, "the nearest is 120"},
      {"imf_2k", "sycc", "24000/1001", 1, 1, 0, ""},
      {"imf_ht", "srgb", "24", 1, 2, 1, ""},
      {"imf_2k", "xyz", "24", 1, 0, 1, "is R'G'B' or Y'CbCr (ST 2067-21), the frames are X'Y'Z'"},
      {"imf_2k", "sycc", "24", 2, 2, 0, "the frames have no primaries matrix"},
      {"imf_4k_r", "srgb", "24", 2, 2, 0, "the frames have no primaries"},
      {"imf_ht_r", "sycc", "24", 1, 1, 1, "the frames are of full range"},
      {"broadcast_single", "sycc", "24", 2, 2, 1, ""},
      {"none", "srgb", "23", 2, 2, 1, ""},
  };
  for (const auto& row : kRows) {
    INFO(std::string(row.profile), " ", std::string(row.says));
    std::string log;
    cj2k_params p = make_params(64, 48);
    p.log = [](void* to, cj2k_log_level, const char* text) {
      *static_cast<std::string*>(to) = text;
    };
    p.log_opaque = &log;
    for (const auto& [key, value] : {std::pair{"profile", row.profile},
                                     {"colorspace", row.colorspace},
                                     {"frame_rate", row.frame_rate}})
      REQUIRE(cj2k_params_set(&p, key, value) == CJ2K_OK);
    const auto call = [&] {
      return cj2k_params_set_colours(&p, row.primaries, 1, row.matrix, row.full_range);
    };
    const bool fits = row.says[0] == '\0';
    CHECK(call() == (fits ? CJ2K_OK : CJ2K_INVALID));
    CHECK(log.find(row.says) != std::string::npos);
    p.profile_strict = 0;  // a warning
    log.clear();
    CHECK(call() == CJ2K_OK);
    CHECK(log.find(row.says) != std::string::npos);
    CHECK(log.empty() == fits);
  }
}

TEST_CASE("set_rsiz: profile and levels, where they are not set") {
  struct {
    int rsiz;
    const char* profile;
    int main, sub;
  } constexpr kRows[] = {{0, "none", 0, -1},
                         {1, "profile0", 0, -1},
                         {4, "cinema4k", 0, -1},
                         {0x107, "broadcast_single", 7, -1},
                         {0x301, "broadcast_multi_r", 1, -1},
                         {0x411, "imf_2k", 1, 1},
                         {0x90B, "imf_8k_r", 11, 0}};
  for (const auto& row : kRows) {
    CAPTURE(row.rsiz);
    cj2k_params p = make_params(64, 48);
    REQUIRE(cj2k_params_set_rsiz(&p, row.rsiz) == CJ2K_OK);
    CHECK(get(p, "profile") == row.profile);
    CHECK(p.main_level == row.main);
    CHECK(p.sub_level == row.sub);
  }
  for (const int rsiz : {-1, 5, 0x100, 0x10C, 0x117, 0x40C, 0xA11, 0x8000, 0x10003}) {
    CAPTURE(rsiz);
    cj2k_params p = make_params(64, 48);
    CHECK(cj2k_params_set_rsiz(&p, rsiz) == CJ2K_INVALID);
    CHECK(p.profile == CJ2K_PROFILE_NONE);
  }
  cj2k_params p = make_params(64, 48);
  REQUIRE(cj2k_params_set_rsiz(&p, 0x4000) == CJ2K_OK);
  CHECK(p.coder == CJ2K_CODER_HT);
  p.profile = CJ2K_PROFILE_CINEMA_2K;
  CHECK(cj2k_params_set_rsiz(&p, 4) == CJ2K_INVALID);
  CHECK(std::string(last_error().message) == "Rsiz 0x0004 contradicts profile cinema2k");
  p.profile = CJ2K_PROFILE_IMF_2K;
  p.main_level = 5;
  CHECK(cj2k_params_set_rsiz(&p, 0x421) == CJ2K_OK);
  CHECK(p.main_level == 5);
  CHECK(p.sub_level == 2);
}

TEST_CASE("comment: UTF-8 outside, ISO 8859-15 inside") {
  cj2k_params p = make_params(64, 48);
  REQUIRE(cj2k_params_set(&p, "comment", "Bücher, 5 €, Š") == CJ2K_OK);
  CHECK(std::string(p.comment) ==
        "B\xFC"
        "cher, 5 \xA4, \xA6");
  CHECK(get(p, "comment") == "Bücher, 5 €, Š");
  for (const char* const text : {"Młody", "a¤b", "日本", "½"}) {
    CHECK(cj2k_params_set(&p, "comment", text) == CJ2K_INVALID);
    CHECK(std::string(last_error().param) == "comment");
    CHECK(get(p, "comment") == "Bücher, 5 €, Š");
  }
  CHECK(std::string(last_error().message) == "comment \"½\": U+00BD is not in ISO 8859-15");
  REQUIRE(cj2k_params_set(&p, "comment", "Zo\xEB") == CJ2K_OK);  // no UTF-8
  CHECK(get(p, "comment") == "Zoë");
}

}  // namespace
}  // namespace cj2k::test
