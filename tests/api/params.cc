// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Every parameter inside and outside its range, by name and by field, and the rules between
// parameters.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/encode.h"

namespace cj2k::test {
namespace {

std::string text_of(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.15g", value);
  return text;
}

std::vector<cj2k_param_info> all_params() {
  std::vector<cj2k_param_info> all;
  cj2k_param_info info = {};
  info.struct_size = sizeof info;
  for (int i = 0; cj2k_params_describe(i, &info) == CJ2K_OK; ++i) all.push_back(info);
  return all;
}

struct Outcome {
  cj2k_status status;
  std::string log;
};

Outcome set_logged(cj2k_params& p, const char* key, const char* value) {
  LogText log;
  p.log = LogText::append;
  p.log_opaque = &log;
  const cj2k_status status = cj2k_params_set(&p, key, value);
  p.log = nullptr;
  p.log_opaque = nullptr;
  return {status, log.text};
}

Outcome open_logged(cj2k_params p) {
  LogText log;
  p.log = LogText::append;
  p.log_opaque = &log;
  cj2k_encoder* encoder = reinterpret_cast<cj2k_encoder*>(&log);  // must be overwritten
  const cj2k_status status = cj2k_encoder_open(&p, &encoder);
  if (status == CJ2K_OK) {
    CHECK(encoder != nullptr);
    cj2k_encoder_close(encoder);
  } else {
    CHECK(encoder == nullptr);
  }
  return {status, log.text};
}

size_t count_lines(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

/// The error must be INVALID, with one line that contains each of `words`.
void check_refused(const Outcome& outcome, const std::vector<std::string>& words) {
  INFO("log: ", outcome.log);
  CHECK(outcome.status == CJ2K_INVALID);
  CHECK(count_lines(outcome.log) == 1);
  for (const std::string& word : words) {
    INFO("missing: ", word);
    CHECK(outcome.log.find(word) != std::string::npos);
  }
}

bool is_number(const cj2k_param_info& info) {
  return info.type == CJ2K_PARAM_INT || info.type == CJ2K_PARAM_BOOL ||
         info.type == CJ2K_PARAM_DOUBLE || info.type == CJ2K_PARAM_SIZE ||
         info.type == CJ2K_PARAM_LIST;
}

TEST_CASE("describe: every row is complete, names are unique, defaults can be set") {
  const std::vector<cj2k_param_info> all = all_params();
  CHECK(all.size() > 40);
  std::set<std::string> names;
  for (const cj2k_param_info& info : all) {
    INFO(std::string(info.name));
    CHECK(names.insert(info.name).second);
    CHECK(std::strlen(info.help) > 0);
    CHECK(info.min <= info.max);
    for (const char* text : {info.default_value, info.unit, info.values, info.clause})
      CHECK(text != nullptr);
    const bool has_names = info.type == CJ2K_PARAM_ENUM || info.type == CJ2K_PARAM_FLAGS;
    if (info.type != CJ2K_PARAM_INT) CHECK((std::strlen(info.values) > 0) == has_names);
    cj2k_params p = make_params(64, 64);
    if (std::strlen(info.default_value) > 0)
      CHECK(set_logged(p, info.name, info.default_value).status == CJ2K_OK);
  }
  cj2k_param_info info = {};
  info.struct_size = sizeof info;
  CHECK(cj2k_params_describe(static_cast<int>(all.size()), &info) == CJ2K_EOF);
  CHECK(cj2k_params_describe(-1, &info) == CJ2K_INVALID);
  CHECK(std::string(cj2k_encoder_last_error(nullptr)) ==
        "parameter -1 not in [0, " + std::to_string(all.size() - 1) + "]");
  CHECK(cj2k_params_describe(0, nullptr) < 0);
}

TEST_CASE("set: the ends of each range are taken, beyond them nothing is") {
  for (const cj2k_param_info& info : all_params()) {
    if (!is_number(info)) continue;
    INFO(std::string(info.name));
    const double step = info.type == CJ2K_PARAM_DOUBLE ? 1e-3 : 1;
    cj2k_params p = make_params(64, 64);
    const cj2k_params before = p;
    const bool powers_of_two = info.type == CJ2K_PARAM_SIZE && std::strcmp(info.name, "cblk") == 0;
    if (!powers_of_two)
      CHECK(set_logged(p, info.name, text_of(info.min).c_str()).status == CJ2K_OK);
    if (info.type != CJ2K_PARAM_SIZE)
      CHECK(set_logged(p, info.name, text_of(info.max).c_str()).status == CJ2K_OK);

    const bool below_is_auto = info.min == 0 && std::strcmp(info.default_value, "auto") == 0;
    for (double outside : {info.min - step, info.max + step, info.max * 1e6 + 1e6}) {
      if (outside == -1 && below_is_auto) continue;
      if (outside == 0) continue;  // 0 means "chosen" or "none" if it is not in the range
      p = before;
      const std::string text = text_of(outside);
      check_refused(set_logged(p, info.name, text.c_str()),
                    {info.name, text, text_of(info.min), text_of(info.max)});
      CHECK(std::memcmp(&p, &before, sizeof p) == 0);
    }
  }
}

TEST_CASE("set: text that is no value") {
  for (const cj2k_param_info& info : all_params()) {
    if (info.type == CJ2K_PARAM_TEXT) continue;
    INFO(std::string(info.name));
    cj2k_params p = make_params(64, 64);
    const cj2k_params before = p;
    for (const char* text : {"x", "1x", "nan", "inf", "-inf", "0x", "1;2",
                             "99999999999999999999999", "1.5.2", " ", "1e999"}) {
      INFO(std::string(text));
      check_refused(set_logged(p, info.name, text), {info.name, text});
      CHECK(std::memcmp(&p, &before, sizeof p) == 0);
    }
  }
  cj2k_params p = make_params(64, 64);
  check_refused(set_logged(p, "no_such_parameter", "1"), {"no_such_parameter"});
  check_refused(set_logged(p, "", "1"), {});
  CHECK(set_logged(p, nullptr, "1").status == CJ2K_INVALID);
  CHECK(set_logged(p, "width", nullptr).status == CJ2K_INVALID);
  CHECK(cj2k_params_set(nullptr, "width", "1") == CJ2K_INVALID);
  const std::string long_text(300, 'c');
  check_refused(set_logged(p, "comment", long_text.c_str()), {"comment", "255"});
  CHECK(set_logged(p, "comment", long_text.substr(0, 255).c_str()).status == CJ2K_OK);
}

TEST_CASE("set: names of enumerations and flags, sizes and lists") {
  for (const cj2k_param_info& info : all_params()) {
    if (info.type != CJ2K_PARAM_ENUM && info.type != CJ2K_PARAM_FLAGS) continue;
    const std::string values = info.values;
    for (size_t begin = 0; begin < values.size();) {
      const size_t end = std::min(values.find('|', begin), values.size());
      const std::string name = values.substr(begin, end - begin);
      INFO(std::string(info.name), "=", name);
      cj2k_params p = make_params(64, 64);
      CHECK(set_logged(p, info.name, name.c_str()).status == CJ2K_OK);
      CHECK(set_logged(p, info.name, (name + "_").c_str()).status == CJ2K_INVALID);
      begin = end + 1;
    }
  }
  cj2k_params p = params_from({{"width", "64"},
                               {"height", "32"},
                               {"cblk", "32x16"},
                               {"cblk_style", "bypass+segsym"},
                               {"precincts", "256x128,64"},
                               {"depth", "8,10"},
                               {"num_components", "3"},
                               {"image_offset", "3x4"},
                               {"layer_rates", "20,10,5"},
                               {"progression", "cprl"}});
  CHECK(p.cblk_width == 32);
  CHECK(p.cblk_height == 16);
  CHECK(p.cblk_style == (CJ2K_STYLE_BYPASS | CJ2K_STYLE_SEGSYM));
  CHECK(p.num_precincts == 2);
  CHECK(p.precinct_width[0] == 256);
  CHECK(p.precinct_height[0] == 128);
  CHECK(p.precinct_width[1] == 64);
  CHECK(p.precinct_height[1] == 64);
  CHECK(p.depth[0] == 8);
  CHECK(p.depth[1] == 10);
  CHECK(p.depth[2] == 10);
  CHECK(p.image_offset_x == 3);
  CHECK(p.image_offset_y == 4);
  CHECK(p.layers == 3);
  CHECK(p.num_layer_rates == 3);
  CHECK(p.layer_rates[2] == 5);
  CHECK(p.progression == CJ2K_CPRL);
  CHECK(set_logged(p, "cblk_style", "34").status == CJ2K_OK);
  CHECK(p.cblk_style == 34);
}

TEST_CASE("init: the defaults") {
  cj2k_params p;
  CHECK(cj2k_params_init(nullptr, sizeof p) == CJ2K_INVALID);
  REQUIRE(cj2k_params_init(&p, sizeof p) == CJ2K_OK);
  CHECK(p.struct_size == sizeof p);
  CHECK(std::string(p.comment) == "libcj2k " CJ2K_VERSION_STRING);
  CHECK(p.num_components == 3);
  CHECK(p.levels == -1);
  CHECK(p.tlm == 1);
}

/// A field outside its range, and the words that the message must contain.
struct BadField {
  std::function<void(cj2k_params&)> spoil;
  std::vector<std::string> words;
};

TEST_CASE("open: every field at and outside its range") {
  constexpr int32_t kMax = std::numeric_limits<int32_t>::max(),
                    kMin = std::numeric_limits<int32_t>::min();
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  std::vector<BadField> bad;
#define BAD(field, value, ...) \
  bad.push_back({[=](cj2k_params& p) { p.field = value; }, {__VA_ARGS__}})
#define BAD_CBLK(w, h, ...) \
  bad.push_back({[=](cj2k_params& p) { p.cblk_width = w, p.cblk_height = h; }, {__VA_ARGS__}})
  for (int32_t value : {0, -1, kMin}) {
    BAD(width, value, "width", std::to_string(value));
    BAD(height, value, "height", std::to_string(value));
    BAD(num_components, value, "num_components", std::to_string(value));
    BAD(depth[1], value, "depth", std::to_string(value));
    BAD(dx[2], value, "dx", std::to_string(value));
    BAD(dy[0], value, "dy", std::to_string(value));
    BAD(layers, value, "layers", std::to_string(value));
    if (value != 0) BAD(guard_bits, value, "guard_bits", std::to_string(value));
    BAD_CBLK(value, 64, "cblk", std::to_string(value));
    BAD_CBLK(64, value, "cblk", std::to_string(value));
  }
  for (int32_t value : {-1, kMin}) {
    BAD(image_offset_x, value, "image_offset", std::to_string(value));
    BAD(image_offset_y, value, "image_offset", std::to_string(value));
    BAD(tile_width, value, "tile", std::to_string(value));
    BAD(tile_height, value, "tile", std::to_string(value));
    BAD(tile_offset_x, value, "tile_offset", std::to_string(value));
    BAD(tile_offset_y, value, "tile_offset", std::to_string(value));
    BAD(is_signed[0], value, "is_signed", std::to_string(value));
    BAD(alpha, value, "alpha", std::to_string(value));
    BAD(lossless, value, "lossless", std::to_string(value));
    if (value != -1) BAD(levels, value, "levels", std::to_string(value));
    BAD(cblk_style, value, "cblk_style", std::to_string(value));
    BAD(num_precincts, value, "precincts", std::to_string(value));
    BAD(num_layer_rates, value, "layer_rates", std::to_string(value));
    BAD(sop, value, "sop", std::to_string(value));
    BAD(eph, value, "eph", std::to_string(value));
    BAD(tlm, value, "tlm", std::to_string(value));
    BAD(plt, value, "plt", std::to_string(value));
    BAD(threads, value, "threads", std::to_string(value));
    BAD(gop, value, "gop", std::to_string(value));
    BAD(async_depth, value, "async_depth", std::to_string(value));
    BAD(stop_margin, value, "stop_margin", std::to_string(value), "4096");
    BAD(target_bytes, value, "target_bytes", std::to_string(value));
    BAD(max_frame_bytes, value, "max_frame_bytes", std::to_string(value));
    BAD(max_component_bytes, value, "max_component_bytes", std::to_string(value));
    BAD(min_frame_bytes, value, "min_frame_bytes", std::to_string(value));
  }
  for (int32_t value : {5, kMax})
    BAD(num_components, value, "num_components", std::to_string(value), "4");
  for (int32_t value : {17, kMax}) BAD(depth[0], value, "depth", std::to_string(value), "16");
  for (int32_t value : {3, 5, 8, kMax}) BAD(dx[1], value, "dx", std::to_string(value), "4");
  for (int32_t value : {2, kMax}) {
    BAD(is_signed[2], value, "is_signed", std::to_string(value), "1");
    BAD(lossless, value, "lossless", std::to_string(value), "1");
    BAD(sop, value, "sop", std::to_string(value), "1");
    BAD(eph, value, "eph", std::to_string(value), "1");
    BAD(tlm, value, "tlm", std::to_string(value), "1");
    BAD(plt, value, "plt", std::to_string(value), "1");
  }
  BAD(levels, 33, "levels", "33", "32");
  BAD(guard_bits, 8, "guard_bits", "8", "7");
  BAD(layers, 65536, "layers", "65536", "65535");
  BAD(cblk_style, 64, "cblk_style", "64", "63");
  BAD_CBLK(2, 64, "cblk", "2", "4");
  BAD_CBLK(48, 64, "cblk", "48");
  BAD_CBLK(128, 64, "cblk", "128", "4096");
  BAD_CBLK(2048, 64, "cblk", "2048", "1024");
  BAD(num_precincts, 34, "precincts", "34");
  BAD(num_layer_rates, 65, "layer_rates", "65", "64");
  BAD(num_layer_psnr, 65, "layer_psnr", "65", "64");
  BAD(threads, 1025, "threads", "1025", "1024");
  BAD(gop, 65, "gop", "65", "64");
  BAD(async_depth, 65, "async_depth", "65", "64");
  BAD(stop_margin, 4097, "stop_margin", "4097", "4096");
  for (double value : {-1.0, 1e-4, 1025.0, nan, inf, -inf}) BAD(quant_step, value, "quant_step");
  for (double value : {-1.0, 1e-4, 1.1e9, nan, inf, -inf}) {
    BAD(resolution_x, value, "resolution_x");
    BAD(resolution_y, value, "resolution_y");
  }
  for (double value : {-1.0, 1e-4, 257.0, nan, inf, -inf}) BAD(quality, value, "quality");
  for (int value : {-2, 5, kMax})
    BAD(progression, static_cast<cj2k_progression>(value), "progression");
  for (int value : {-2, 2, kMax}) BAD(coder, static_cast<cj2k_coder>(value), "coder");
  for (int value : {-1, 2}) BAD(ht_passes, static_cast<cj2k_ht_passes>(value), "ht_passes");
  for (int value : {-2, 2, kMax}) BAD(wavelet, static_cast<cj2k_wavelet>(value), "wavelet");
  for (int value : {-1, 3, kMax}) BAD(mct, static_cast<cj2k_mct>(value), "mct");
  for (int value : {-2, 3, kMax})
    BAD(tile_parts, static_cast<cj2k_tile_parts>(value), "tile_parts");
  for (int value : {-1, 2, kMax}) BAD(format, static_cast<cj2k_format>(value), "format");
  for (int32_t value : {3, kMax}) BAD(alpha, value, "alpha", std::to_string(value), "2");
  for (int value : {-1, 5, kMax})
    BAD(colorspace, static_cast<cj2k_colorspace>(value), "colorspace");
  for (int value : {-1, 6, kMax}) BAD(primaries, static_cast<cj2k_primaries>(value), "primaries");
  for (int value : {-1, 8, kMax}) BAD(transfer, static_cast<cj2k_transfer>(value), "transfer");
  for (int value : {-1, 5, kMax}) BAD(stop, static_cast<cj2k_stop>(value), "stop");
  for (int value : {-1, 4, kMax}) BAD(tier1, static_cast<cj2k_tier1>(value), "tier1");
#undef BAD
#undef BAD_CBLK
  for (const char* text : {"", "gpu", "cuda:", "cuda:-1", "cuda:256", "cuda:0,0", "cuda:GPU-1"}) {
    bad.push_back({[=](cj2k_params& p) { std::snprintf(p.device, sizeof p.device, "%s", text); },
                   {"device", text}});
  }
  bad.push_back({[](cj2k_params& p) { std::memset(p.device, 'x', sizeof p.device); }, {"device"}});
  for (const BadField& field : bad) {
    cj2k_params p = make_params(64, 48);
    field.spoil(p);
    INFO("parameters: ", describe(p));
    check_refused(open_logged(p), field.words);
  }
  CHECK(open_logged(make_params(64, 48)).status == CJ2K_OK);
}

TEST_CASE("open: rules between parameters") {
  const auto refused = [](std::function<void(cj2k_params&)> spoil, std::vector<std::string> words) {
    cj2k_params p = make_params(64, 48);
    spoil(p);
    INFO("parameters: ", describe(p));
    check_refused(open_logged(p), words);
  };
  // Precincts are powers of two. 1 is allowed only in the lowest resolution (T.800 A.6.1).
  const auto precinct = [](int32_t width, int32_t height) {
    return [=](cj2k_params& p) {
      p.num_precincts = 1;
      p.precinct_width[0] = width;
      p.precinct_height[0] = height;
    };
  };
  refused(precinct(0, 64), {"precinct"});
  refused(precinct(65536, 64), {"precinct", "65536"});
  refused(precinct(64, 48), {"precinct", "48"});
  refused(precinct(1, 64), {"precinct", "1"});
  // Lossless keeps everything, so no limits are allowed.
  for (const char* key : {"target_bytes", "max_frame_bytes", "max_component_bytes", "quality"}) {
    refused(
        [key](cj2k_params& p) {
          p.lossless = 1;
          set(p, key, "100");
        },
        {"lossless", key});
  }
  // The colour transform needs three components of one kind (T.800 G.2).
  refused([](cj2k_params& p) { p.mct = CJ2K_MCT_ON, p.num_components = 2; }, {"mct"});
  refused([](cj2k_params& p) { p.mct = CJ2K_MCT_ON, p.depth[1] = 9; }, {"mct"});
  refused([](cj2k_params& p) { p.mct = CJ2K_MCT_ON, p.dx[2] = 2; }, {"mct"});
  refused([](cj2k_params& p) { p.mct = CJ2K_MCT_ON, p.is_signed[0] = 1; }, {"mct"});
  refused([](cj2k_params& p) { p.alpha = 1, p.num_components = 1; }, {"alpha"});
  // Tiles (T.800 B.3).
  refused([](cj2k_params& p) { p.tile_offset_x = 1; }, {"tile_offset"});
  refused([](cj2k_params& p) { p.image_offset_x = 50, p.tile_width = 20, p.tile_height = 20; },
          {"tile"});
  refused([](cj2k_params& p) { p.width = p.height = 4096, p.tile_width = p.tile_height = 16; },
          {"65535"});
  // A component without samples.
  refused([](cj2k_params& p) { p.width = 1, p.image_offset_x = 1, p.dx[1] = 4; }, {"component"});
  refused([](cj2k_params& p) { p.height = 2, p.image_offset_y = 1, p.dy[2] = 4; }, {"component"});
  // The reference grid ends at 2^31 - 1.
  refused([](cj2k_params& p) { p.image_offset_x = 2147483647; }, {"image_offset"});
  // Rate.
  refused([](cj2k_params& p) { p.min_frame_bytes = 1000, p.max_frame_bytes = 999; },
          {"min_frame_bytes"});
  // A cap that is too small, or larger than any cap can be: the same upper bound in full digits.
  const std::string bound = ", 1099511627776]";
  for (const int64_t small : {int64_t{1}, int64_t{20}}) {
    const std::string text = std::to_string(small) + " not in [";
    refused([=](cj2k_params& p) { p.target_bytes = small; }, {"target_bytes " + text, bound});
    refused([=](cj2k_params& p) { p.max_frame_bytes = small; }, {"max_frame_bytes " + text, bound});
  }
  refused([](cj2k_params& p) { p.max_component_bytes = 1; },
          {"max_component_bytes 1 not in [", bound});
  for (const int64_t large :
       {int64_t{1099511627777}, int64_t{4503599627370497}, std::numeric_limits<int64_t>::max()}) {
    const std::string text = std::to_string(large) + " not in [0" + bound;
    refused([=](cj2k_params& p) { p.target_bytes = large; }, {"target_bytes " + text});
    refused([=](cj2k_params& p) { p.max_frame_bytes = large; }, {"max_frame_bytes " + text});
    refused([=](cj2k_params& p) { p.max_component_bytes = large; },
            {"max_component_bytes " + text});
    refused([=](cj2k_params& p) { p.min_frame_bytes = large; }, {"min_frame_bytes " + text});
  }
  refused([](cj2k_params& p) { set(p, "layer_rates", "1000000"); }, {"layer_rates", bound});
  refused(
      [](cj2k_params& p) {
        p.num_layer_rates = p.layers = 2;
        p.layer_rates[0] = 5;
        p.layer_rates[1] = 6;
      },
      {"layer_rates"});
}

TEST_CASE("open: the largest sizes are refused, quickly and without using the memory") {
  constexpr int32_t kMax = std::numeric_limits<int32_t>::max();
  for (int32_t tile : {0, 1, 65536, kMax}) {
    cj2k_params p = make_params(kMax, kMax);
    p.tile_width = p.tile_height = tile;
    const Outcome outcome = open_logged(p);
    INFO("tile ", tile, " log ", outcome.log);
    CHECK(outcome.status < 0);
    CHECK(count_lines(outcome.log) == 1);
  }
}

cj2k_info planned(const cj2k_params& p) {
  cj2k_info info = {};
  info.struct_size = sizeof info;
  CHECK(cj2k_params_info(&p, &info) == CJ2K_OK);
  return info;
}

TEST_CASE("params_info: what the encoder then reserves") {
  for (const auto& [threads, gop, depth] :
       std::vector<std::array<int, 3>>{{1, 0, 0}, {2, 0, 0}, {2, 3, 0}, {3, 2, 5}}) {
    cj2k_params p = make_params(300, 200);
    set(p, "cblk", "32x32");
    set(p, "tile", "128x128");
    set(p, "device", "cpu");
    p.threads = threads;
    p.gop = gop;
    p.async_depth = depth;
    const cj2k_info before = planned(p);
    cj2k_encoder* encoder = nullptr;
    REQUIRE(cj2k_encoder_open(&p, &encoder) == CJ2K_OK);
    cj2k_info after = {};
    after.struct_size = sizeof after;
    CHECK(cj2k_encoder_info(encoder, &after) == CJ2K_OK);
    INFO("threads ", p.threads, " gop ", p.gop, " async_depth ", p.async_depth);
    CHECK(std::string(before.backend) == "cpu");
    CHECK(std::string(after.backend) == "cpu");
    CHECK(std::string(before.simd) == after.simd);
    for (const cj2k_info& info : {before, after}) {
      CHECK(info.threads == threads);
      CHECK(info.gop == std::max(gop, 1));
      CHECK(info.async_depth % info.gop == 0);
      CHECK(info.async_depth >= depth);
      CHECK(info.num_tiles == 6);
      CHECK(std::string(info.device_name).empty());
      CHECK(std::string(info.tier1).empty());
      CHECK(info.device_bytes == 0);
      CHECK(info.pinned_bytes == 0);
    }
    CHECK(before.async_depth == after.async_depth);
    CHECK(before.num_blocks == after.num_blocks);
    CHECK(before.num_packets == after.num_packets);
    CHECK(before.host_bytes == after.host_bytes);
    CHECK(before.header_bytes == after.header_bytes);
    CHECK(after.host_bytes >= int64_t{300} * 200 * 3 * 4 * after.async_depth);
    cj2k_encoder_close(encoder);

    // "auto" is not replaced yet.
    set(p, "device", "auto");
    CHECK(std::string(planned(p).backend).empty());
    CHECK(std::string(planned(p).device_name).empty());
    CHECK(planned(p).host_bytes == before.host_bytes);
  }
}

TEST_CASE("params_info: the smallest caps are those that open takes") {
  cj2k_params p = make_params(300, 200);
  set(p, "tile_parts", "component");
  set(p, "progression", "cprl");
  cj2k_info info = {};
  info.struct_size = sizeof info;
  REQUIRE(cj2k_params_info(&p, &info) == CJ2K_OK);
  CHECK(info.least_frame_bytes > info.header_bytes);
  CHECK(info.least_component_bytes > 0);
  CHECK(info.least_component_bytes < info.least_frame_bytes);
  for (const int less : {0, 1}) {
    for (const int which : {0, 1, 2}) {
      cj2k_params capped = p;
      (which == 0   ? capped.target_bytes
       : which == 1 ? capped.max_frame_bytes
                    : capped.max_component_bytes) =
          (which == 2 ? info.least_component_bytes : info.least_frame_bytes) - less;
      INFO("cap ", which, " less ", less);
      cj2k_encoder* encoder = nullptr;
      CHECK(cj2k_encoder_open(&capped, &encoder) == (less == 0 ? CJ2K_OK : CJ2K_INVALID));
      if (encoder == nullptr) continue;
      cj2k_info open = {};
      open.struct_size = sizeof open;
      CHECK(cj2k_encoder_info(encoder, &open) == CJ2K_OK);
      CHECK(open.least_frame_bytes == info.least_frame_bytes);
      CHECK(open.least_component_bytes == info.least_component_bytes);
      CHECK(open.most_frame_bytes == (which == 2 ? 0 : info.least_frame_bytes));
      cj2k_encoder_close(encoder);
    }
  }
}

TEST_CASE("params_info: errors") {
  cj2k_params p = make_params(300, 200);
  cj2k_info info = {};
  info.struct_size = sizeof info;
  CHECK(cj2k_params_info(nullptr, &info) == CJ2K_INVALID);
  CHECK(cj2k_params_info(&p, nullptr) == CJ2K_INVALID);
  const auto refused = [&](const std::string& word) {
    LogText log;
    p.log = LogText::append;
    p.log_opaque = &log;
    check_refused({cj2k_params_info(&p, &info), log.text}, {word});
  };
  p.levels = 40;
  refused("levels");
  p.levels = 5;
  p.target_bytes = 20;
  refused("target_bytes");
}

TEST_CASE("open: null arguments and struct sizes") {
  cj2k_params p = make_params(64, 48);
  cj2k_encoder* encoder = nullptr;
  CHECK(cj2k_encoder_open(nullptr, &encoder) == CJ2K_INVALID);
  CHECK(cj2k_encoder_open(&p, nullptr) == CJ2K_INVALID);
  CHECK(std::string(cj2k_encoder_last_error(nullptr)) == "cj2k_encoder_open: encoder is NULL");
  p.struct_size = 0;
  CHECK(open_logged(p).status == CJ2K_INVALID);
}

TEST_CASE("last_error(NULL) says why the thread's last call without an encoder failed") {
  const auto text = [] { return std::string(cj2k_encoder_last_error(nullptr)); };
  cj2k_params p = make_params(64, 48);
  CHECK(cj2k_params_set(&p, "levels", "99") == CJ2K_INVALID);
  const std::string refused = "levels \"99\" is not an integer in [0, 32] or auto";
  CHECK(text() == refused);
  std::thread([&] { CHECK(text() == ""); }).join();
  CHECK(cj2k_params_set(&p, "levels", "2") == CJ2K_OK);
  CHECK(text() == refused);  // a call that succeeds does not change it
  p.layers = 0;
  cj2k_encoder* encoder = nullptr;
  CHECK(cj2k_encoder_open(&p, &encoder) == CJ2K_INVALID);
  CHECK(std::string(cj2k_encoder_last_error(encoder)) == "layers 0 not in [1, 65535]");
  CHECK(cj2k_params_describe(-1, nullptr) == CJ2K_INVALID);
  CHECK(text() == "cj2k_params_describe: info is NULL");
}

std::string get(const cj2k_params& p, const char* key) {
  char text[CJ2K_MAX_PARAM_TEXT];
  const cj2k_status status = cj2k_params_get(&p, key, text, sizeof text);
  return status == CJ2K_OK ? text : std::string("error: ") + cj2k_encoder_last_error(nullptr);
}

TEST_CASE("params_get: errors") {
  cj2k_params p = make_params(64, 48);
  char text[8];
  CHECK(cj2k_params_get(nullptr, "levels", text, sizeof text) == CJ2K_INVALID);
  CHECK(cj2k_params_get(&p, nullptr, text, sizeof text) == CJ2K_INVALID);
  CHECK(cj2k_params_get(&p, "levels", nullptr, 0) == CJ2K_INVALID);
  CHECK(get(p, "level") == "error: unknown parameter \"level\"; did you mean levels?");
  set(p, "cblk", "64x64");
  CHECK(cj2k_params_get(&p, "cblk", text, 5) == CJ2K_INVALID);
  CHECK(std::string(cj2k_encoder_last_error(nullptr)) ==
        "cblk: a buffer of 5 bytes, but the text takes 6");
  CHECK(cj2k_params_get(&p, "cblk", text, 6) == CJ2K_OK);
  CHECK(std::string(text) == "64x64");
  p.stop = static_cast<cj2k_stop>(9);
  CHECK(get(p, "stop").find("stop 9") != std::string::npos);
  p.cblk_style = 1 + 64;
  CHECK(get(p, "cblk_style").find("cblk_style 65") != std::string::npos);
  p.num_precincts = 34;
  CHECK(get(p, "precincts").find("num_precincts 34 not in [0, 33]") != std::string::npos);
  p.num_layer_rates = -1;
  CHECK(get(p, "layer_rates").find("num_layer_rates -1 not in [0, 64]") != std::string::npos);
  std::memset(p.comment, 'x', sizeof p.comment);
  CHECK(get(p, "comment").find("comment has no terminating zero") != std::string::npos);
}

TEST_CASE("encoder_params: what was chosen, as good as what was asked for") {
  const struct {
    std::vector<std::pair<const char*, const char*>> asked, chosen;
  } table[] = {
      {{{"threads", "2"}},
       {{"gop", "1"},
        {"async_depth", "2"},
        {"threads", "2"},
        {"quant_step", "0.5"},
        {"quality", "2"},
        {"mct", "on"},
        {"colorspace", "srgb"},
        {"tile", "90x70"},
        {"device", "cpu"}}},
      {{{"threads", "1"},
        {"gop", "3"},
        {"async_depth", "4"},
        {"depth", "12,12,10"},
        {"quality", "0.01"}},
       {{"gop", "3"},
        {"async_depth", "6"},
        {"quant_step", "0.08"},
        {"mct", "off"},
        {"depth", "12,12,10"}}},
      {{{"threads", "1"},
        {"lossless", "1"},
        {"dx", "1,2"},
        {"layer_rates", "9,4.5,1"},
        {"precincts", "64x32,32"}},
       {{"wavelet", "5/3"},
        {"colorspace", "sycc"},
        {"layers", "3"},
        {"layer_rates", "9,4.5,1"},
        {"precincts", "64x32,32x32"},
        {"quality", "0"},
        {"dx", "1,2"},
        {"async_depth", "1"}}},
  };
  for (const auto& row : table) {
    cj2k_params p = make_params(90, 70);
    set(p, "device", "cpu");
    for (const auto& [key, value] : row.asked) set(p, key, value);
    cj2k_encoder* encoder = nullptr;
    REQUIRE(cj2k_encoder_open(&p, &encoder) == CJ2K_OK);
    cj2k_params chosen = {};
    chosen.struct_size = sizeof chosen;
    CHECK(cj2k_encoder_params(encoder, &chosen) == CJ2K_OK);
    cj2k_encoder_close(encoder);
    for (const auto& [name, value] : row.chosen) {
      const char* const key = name;  // clang 14 refuses structured bindings in a lambda
      INFO(std::string(key));
      CHECK(get(chosen, key) == value);
    }
    CHECK((chosen.log == nullptr));
    const Picture picture = make_picture(p, Content::kTexture, 2);
    const Encoded expected = encode(p, picture);
    REQUIRE(expected.status == CJ2K_OK);
    CHECK(encode(chosen, picture).bytes == expected.bytes);
  }
  // "auto" has been replaced.
  cj2k_params p = make_params(90, 70);
  cj2k_encoder* encoder = nullptr;
  REQUIRE(cj2k_encoder_open(&p, &encoder) == CJ2K_OK);
  CHECK(cj2k_encoder_params(encoder, nullptr) == CJ2K_INVALID);
  CHECK(cj2k_encoder_params(encoder, &p) == CJ2K_OK);
  cj2k_info info = {};
  info.struct_size = sizeof info;
  CHECK(cj2k_encoder_info(encoder, &info) == CJ2K_OK);
  CHECK(get(p, "device") == info.backend);
  CHECK(p.threads == info.threads);
  CHECK(p.gop == info.gop);
  CHECK(p.async_depth == info.async_depth);
  cj2k_encoder_close(encoder);
  CHECK(cj2k_encoder_params(nullptr, &p) == CJ2K_INVALID);
}

}  // namespace
}  // namespace cj2k::test
