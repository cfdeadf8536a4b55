// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The parameter table: text, ranges, the grid. test_params_rules.cc tests the other rules between
// parameters.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iomanip>
#include <limits>
#include <map>
#include <set>
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

std::vector<cj2k_param_info> table() {
  std::vector<cj2k_param_info> rows;
  cj2k_param_info info;
  for (int i = 0; cj2k::describe_param(i, {}, &info) == Status::kOk; ++i) rows.push_back(info);
  return rows;
}

cj2k_param_info row_of(const std::string& name) {
  for (const cj2k_param_info& row : table()) {
    if (row.name == name) return row;
  }
  FAIL("no row " << name);
  return {};
}

std::string exactly(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

std::string integer(double value) { return std::to_string(static_cast<long long>(value)); }

// Every field that holds a value: its offset, its type, and the key that sets it.
struct Field {
  std::string name;
  size_t offset;
  char type;  // 'i' int32, 'l' int64, 'd' double, 's' text
  std::string key;
};

// clang-format off
#define AT(field, type, key) Field{#field, offsetof(cj2k_params, field), type, key}
#define I(field) AT(field, 'i', #field)
#define L(field) AT(field, 'l', #field)
#define D(field) AT(field, 'd', #field)
const std::vector<Field> kFields = {
    I(width), I(height), AT(image_offset_x, 'i', "image_offset"),
    AT(image_offset_y, 'i', "image_offset"), AT(tile_width, 'i', "tile"),
    AT(tile_height, 'i', "tile"), AT(tile_offset_x, 'i', "tile_offset"),
    AT(tile_offset_y, 'i', "tile_offset"), I(num_components), AT(depth[2], 'i', "depth"),
    AT(is_signed[2], 'i', "is_signed"), AT(dx[2], 'i', "dx"), AT(dy[2], 'i', "dy"), I(colorspace),
    I(alpha), AT(source_depth[2], 'i', "source_depth"), I(low_bits), I(xyz), D(xyz_gamma), I(lossless), I(wavelet), I(mct), I(levels), I(guard_bits), D(quant_step),
    I(coder), I(ht_passes), I(frame_steps),
    AT(cblk_width, 'i', "cblk"), AT(cblk_height, 'i', "cblk"), I(cblk_style),
    AT(precinct_width[0], 'i', "precincts"), AT(precinct_height[0], 'i', "precincts"),
    I(progression), I(layers), AT(layer_rates[0], 'd', "layer_rates"),
    AT(layer_psnr[0], 'd', "layer_psnr"),
    AT(poc[0].layer_end, 'i', "poc"), AT(roi[0].width, 'i', "roi"), I(tile_parts), I(sop),
    I(eph), I(tlm), I(plt), AT(comment, 's', "comment"), I(format), I(primaries),
    I(transfer), D(resolution_x), D(resolution_y), I(profile), I(main_level), I(sub_level),
    AT(frame_rate_num, 'i', "frame_rate"), AT(frame_rate_den, 'i', "frame_rate"), I(cinema_rate),
    I(profile_strict), L(target_bytes),
    L(max_frame_bytes), L(max_component_bytes), L(min_frame_bytes), D(quality), D(target_psnr), I(qfactor), I(tune),
    D(visual_strength), D(visual_distance), I(stop),
    I(effort), I(stop_margin), I(threads), I(gop), I(async_depth), I(tier1), I(measure_mse), I(verify), AT(device, 's', "device")};
#undef AT
#undef I
#undef L
#undef D
// clang-format on

size_t size_of(const Field& field) { return field.type == 'i' ? 4 : 8; }

// Copies bytes, so that enumerations can also get values that they do not have.
void put(cj2k_params* p, const Field& field, double value) {
  char* at = reinterpret_cast<char*>(p) + field.offset;
  const int32_t i = field.type == 'i' ? static_cast<int32_t>(value) : 0;
  const int64_t l = field.type == 'l' ? static_cast<int64_t>(value) : 0;
  const void* from = field.type == 'i'   ? static_cast<const void*>(&i)
                     : field.type == 'l' ? static_cast<const void*>(&l)
                                         : &value;
  std::memcpy(at, from, size_of(field));
}

TEST_CASE("messages that quote a value are one line of UTF-8") {
  const auto refused = [](const std::string& key, const std::string& value) {
    Messages m;
    cj2k_params p = valid();
    CHECK(set(&p, key, value, &m) == Status::kInvalid);
    REQUIRE(m.lines.size() == 1);
    return m.last();
  };
  CHECK(contains(refused("layers", "1\n\t2\x7F"), "layers \"1??2?\" is not"));
  CHECK(refused("a\nb", "1") == "unknown parameter \"a?b\"");
  CHECK(contains(refused("layers", "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x8E\x9E"),
                 "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x8E\x9E\""));
  for (const char* wrong : {"\x80", "\xC3", "\xC0\x80", "\xE9", "\xE0\x80\x80", "\xED\xA0\x80",
                            "\xF0\x80\x80\x80", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF"}) {
    const std::string marks(std::string(wrong).size(), '?');
    CHECK(contains(refused("layers", std::string(wrong) + " "), "\"" + marks + " \""));
  }
  std::string text = "a";  // 80 bytes are quoted, which ends within a letter
  for (int i = 0; i < 100; ++i) text += "\xC3\xA9";
  CHECK(contains(refused("layers", text), "\xC3\xA9?\" is not"));
}

}  // namespace

TEST_CASE("params: describe covers every field") {
  // A value other than the default for each key.
  std::istringstream pairs(
      "width 7 height 7 image_offset 3x3 tile 9x9 tile_offset 2x2 num_components 1 depth 9 "
      "is_signed 1 dx 2 dy 2 colorspace gray alpha 1 source_depth 16 low_bits round xyz p3dci "
      "xyz_gamma 2.2 lossless 1 "
      "wavelet 5/3 mct off levels 3 "
      "guard_bits 3 quant_step 3 coder ht ht_passes cleanup frame_steps 0 cblk 32x32 cblk_style 63 "
      "precincts 64x32 "
      "progression cprl layers "
      "4 "
      "layer_rates 20,10,5 layer_psnr 30,40 poc 0,0,9,6,3,cprl roi 1,2,3,4,5 tile_parts component "
      "sop 1 eph 1 tlm 0 "
      "plt 1 comment "
      "other format jp2 primaries p3d65 transfer gamma26 resolution_x 11811 resolution_y 5906 "
      "profile cinema4k main_level 3 sub_level 2 frame_rate 24000/1001 cinema_rate full "
      "profile_strict 0 "
      "target_bytes 9 max_frame_bytes 9 max_component_bytes 9 min_frame_bytes 9 quality 3 "
      "target_psnr 3 qfactor "
      "3 threads "
      "3 "
      "tune visual visual_strength 0.25 visual_distance 3 "
      "gop 3 async_depth 3 tier1 cibo measure_mse 1 verify 1 stop none effort 3 stop_margin 3 "
      "device "
      "cuda:1");
  std::map<std::string, std::string> other;
  for (std::string key, value; pairs >> key >> value;) other[key] = value;
  std::set<std::string> names;
  for (const cj2k_param_info& row : table()) {
    CAPTURE(std::string(row.name));
    CHECK(names.insert(row.name).second);
    CHECK(row.struct_size == sizeof row);
    CHECK(std::strlen(row.help) > 0);
    CHECK(row.min <= row.max);
    for (const char* text : {row.default_value, row.unit, row.values, row.clause}) {
      CHECK(text != nullptr);
    }
    REQUIRE(other.count(row.name) == 1);
    cj2k_params before, after;
    cj2k::set_default_params(&before);
    after = before;
    CHECK(set(&after, row.name, other.at(row.name)) == Status::kOk);
    CHECK(std::memcmp(&before, &after, sizeof before) != 0);
  }
  CHECK(names.size() == other.size());

  // All keys together change every field.
  cj2k_params before, after;
  cj2k::set_default_params(&before);
  after = before;
  for (const auto& [key, value] : other) REQUIRE(set(&after, key, value) == Status::kOk);
  for (const Field& field : kFields) {
    CAPTURE(field.name);
    const bool same =
        std::memcmp(reinterpret_cast<char*>(&before) + field.offset,
                    reinterpret_cast<char*>(&after) + field.offset, size_of(field)) == 0;
    CHECK(!same);
    CHECK(names.count(field.key) == 1);
  }
  CHECK(after.num_precincts == 1);
  CHECK(after.num_layer_rates == 3);

  cj2k_param_info info;
  CHECK(cj2k::describe_param(-1, {}, &info) == Status::kInvalid);
  CHECK(cj2k::describe_param(static_cast<int>(names.size()), {}, &info) == Status::kEof);
}

TEST_CASE("params: defaults") {
  cj2k_params p;
  cj2k::set_default_params(&p);
  CHECK(p.struct_size == sizeof p);
  CHECK(p.width == 0);
  CHECK(p.num_components == 3);
  CHECK(p.depth[0] == 8);
  CHECK(p.depth[3] == 8);
  CHECK(p.dx[3] == 1);
  CHECK(p.wavelet == CJ2K_WAVELET_AUTO);
  CHECK(p.levels == -1);
  CHECK(p.guard_bits == 0);
  CHECK(p.cblk_width == 0);
  CHECK(p.cblk_height == 0);
  CHECK(p.progression == CJ2K_PROGRESSION_AUTO);
  CHECK(p.tile_parts == CJ2K_TILE_PARTS_AUTO);
  CHECK(p.profile == CJ2K_PROFILE_NONE);
  CHECK(p.frame_rate_num == 0);
  CHECK(p.frame_rate_den == 1);
  CHECK(p.profile_strict == 1);
  CHECK(p.num_precincts == 0);
  CHECK(p.layers == 1);
  CHECK(p.tlm == 1);
  CHECK(p.plt == 0);
  CHECK(std::string(p.comment) == "libcj2k " CJ2K_VERSION_STRING);
  CHECK((p.log == nullptr));

  // The values as text give the same struct through set_param. Parameters that must be set have no
  // default.
  cj2k_params from_text = p;
  for (const cj2k_param_info& row : table()) {
    CAPTURE(std::string(row.name));
    const bool required = std::string(row.help).find("required") != std::string::npos;
    CHECK(set(&from_text, row.name, row.default_value) ==
          (required ? Status::kInvalid : Status::kOk));
  }
  CHECK(std::memcmp(&p, &from_text, sizeof p) == 0);
}

TEST_CASE("params: every key at and around its range") {
  for (const cj2k_param_info& row : table()) {
    CAPTURE(std::string(row.name));
    const std::string name = row.name;
    const auto accepts = [&](const std::string& value) {
      CAPTURE(value);
      cj2k_params p = valid();
      const cj2k_params before = p;
      Messages m;
      const Status status = set(&p, name, value, &m);
      if (status == Status::kOk) {
        CHECK(m.lines.empty());
        return true;
      }
      CHECK(status == Status::kInvalid);
      CHECK(std::memcmp(&p, &before, sizeof p) == 0);
      REQUIRE(m.lines.size() == 1);
      CHECK(contains(m.last(), name));
      CHECK(contains(m.last(), value.substr(0, 80)));
      return false;
    };
    if (row.type == CJ2K_PARAM_RECORDS) {  // test_params_records.cc tests their syntax
      CHECK(accepts(""));
      CHECK_FALSE(accepts("/"));
      continue;
    }
    if (row.type == CJ2K_PARAM_TEXT) {
      if (name != "device") {  // test_params_device.cc tests its syntax
        CHECK(accepts(""));
        CHECK(accepts(std::string(255, 'c')));
      }
      CHECK_FALSE(accepts(std::string(256, 'c')));
      continue;
    }
    const bool list = row.type == CJ2K_PARAM_LIST;
    const bool clears = name == "precincts" || name == "layer_rates" || name == "layer_psnr";
    CHECK(accepts("") == clears);
    for (const char* garbage :
         {"abc", "nan", "inf", "-inf", "1e999", "99999999999999999999999", " 1", "1 ", "+1", "1z",
          "0x", "x", "1,,2", "1,", ",", "--1", "1x2x3", "0x10"}) {
      // "0x10" is a valid pair for tile and offsets.
      const bool pair_of_zero =
          std::string(garbage) == "0x10" && row.type == CJ2K_PARAM_SIZE && row.min == 0;
      CHECK(accepts(garbage) == pair_of_zero);
    }
    if (row.type == CJ2K_PARAM_RATIO) continue;  // has a test of its own
    if (row.type == CJ2K_PARAM_ENUM) {
      CHECK_FALSE(accepts("0"));
      CHECK_FALSE(accepts(std::string(row.values) + "|"));
      continue;
    }
    if (row.type == CJ2K_PARAM_DOUBLE) {
      CHECK(accepts(std::to_string(row.max)));
      CHECK_FALSE(accepts(std::to_string(row.max + 1)));
      CHECK(accepts("0"));
      CHECK(accepts(exactly(row.min)));
      CHECK_FALSE(accepts(exactly(row.min * 0.99)));
      CHECK_FALSE(accepts("-1"));
      continue;
    }
    CHECK(accepts(integer(row.min)));
    CHECK(accepts(integer(row.max)));
    const bool is_auto = std::string(row.default_value) == "auto";
    CHECK(accepts("auto") == is_auto);
    const bool zero_is_chosen = std::string(row.default_value) == "0" || clears ||
                                (is_auto && (name == "guard_bits" || name == "main_level"));
    const bool below_is_auto = is_auto && row.min == 0;
    CHECK(accepts(integer(row.min - 1)) == ((zero_is_chosen && row.min == 1) || below_is_auto));
    CHECK_FALSE(accepts(integer(row.max + 1)));
    CHECK(accepts("-1") == below_is_auto);
    CHECK_FALSE(accepts("-2"));
    if (name.rfind("layer_", 0) != 0) CHECK_FALSE(accepts("1.5"));
    if (list) CHECK_FALSE(accepts("1,abc"));
  }
}

TEST_CASE("params: text of a ratio") {
  cj2k_params p = valid();
  for (const char* good : {"0", "1", "24/1", "24000/1001", "2147483647/2147483647"}) {
    CHECK(set(&p, "frame_rate", good) == Status::kOk);
  }
  CHECK(p.frame_rate_den == 2147483647);
  for (const char* bad :
       {"", "1/0", "0/0", "-24", "24/-1", "24/", "/1", "23.976", "2147483648", "auto"}) {
    CHECK(set(&p, "frame_rate", bad) == Status::kInvalid);
  }
}

TEST_CASE("params: resolve checks the range of every number") {
  for (const Field& field : kFields) {
    if (field.type == 's') continue;
    CAPTURE(field.name);
    const cj2k_param_info row = row_of(field.key);
    if (row.type == CJ2K_PARAM_RECORDS) continue;  // see test_params_records.cc
    const auto error_at = [&](double value) {
      cj2k_params p = valid();
      if (field.key == "cblk") p.cblk_width = p.cblk_height = 4;
      if (field.key == "precincts") {
        p.levels = 0;
        p.num_precincts = p.precinct_width[0] = p.precinct_height[0] = 1;
      }
      if (field.key == "layer_rates") p.num_layer_rates = 1;
      if (field.key == "layer_psnr") p.num_layer_psnr = 1;
      put(&p, field, value);
      return resolve_error(p);
    };
    std::ostringstream stream;
    stream << std::setprecision(15) << " not in [" << row.min << ", " << row.max << "]";
    const std::string range = stream.str();
    // A value in range is accepted, or refused by another rule with another message.
    for (const double value : {row.min, row.max}) {
      CAPTURE(value);
      CHECK_FALSE(contains(error_at(value), range));
    }
    const bool real = field.type == 'd';
    std::vector<double> outside = {real ? row.min * 0.999 : row.min - 1, -5};
    if (field.type != 'i' || row.max < 2147483646) outside.push_back(row.max + 1);
    if (field.type == 'i' && row.max == 2147483646) outside.push_back(2147483647);
    if (real) outside.push_back(std::numeric_limits<double>::quiet_NaN());
    if (real) outside.push_back(std::numeric_limits<double>::infinity());
    for (const double value : outside) {
      CAPTURE(value);
      // 0 and -1 may stand for "chosen" and "auto".
      const bool is_auto = std::string(row.default_value) == "auto";
      const bool chosen = (value == 0 && (std::string(row.default_value) == "0" || is_auto)) ||
                          (value == -1 && (field.name == "levels" || field.name == "sub_level" ||
                                           field.name == "frame_steps"));
      CHECK(contains(error_at(value), range) != chosen);
      if (!chosen) CHECK(error_at(value).find(field.name + " ") == 0);
    }
  }
  cj2k_params p = valid();
  p.layers = 0;
  CHECK(resolve_error(p) == "layers 0 not in [1, 65535]");
  p = valid();
  p.num_precincts = 7;
  for (int i = 0; i < 7; ++i) p.precinct_width[i] = p.precinct_height[i] = 64;
  CHECK(resolve_error(p) == "num_precincts 7 not in [0, levels + 1 = 6]");
  p.num_precincts = -1;
  CHECK(contains(resolve_error(p), "num_precincts -1"));
  p = valid();
  p.num_layer_rates = 65;
  CHECK(resolve_error(p) == "num_layer_rates 65 not in [0, 64]");
  p.num_layer_rates = 0;
  p.num_layer_psnr = -1;
  CHECK(resolve_error(p) == "num_layer_psnr -1 not in [0, 64]");
  p = valid();
  std::memset(p.comment, 'c', sizeof p.comment);
  CHECK(contains(resolve_error(p), "comment"));
  // Entries of absent components are ignored.
  p = valid();
  p.depth[3] = 77;
  p.dx[3] = 0;
  CHECK(resolve_error(p) == "");
}

TEST_CASE("params: text of composite keys") {
  cj2k_params p = valid();
  CHECK(set(&p, "tile", "640x480") == Status::kOk);
  CHECK(p.tile_width == 640);
  CHECK(p.tile_height == 480);
  CHECK(set(&p, "tile", "512") == Status::kOk);
  CHECK(p.tile_height == 512);
  CHECK(set(&p, "image_offset", "1x2") == Status::kOk);
  CHECK(p.image_offset_x == 1);
  CHECK(p.image_offset_y == 2);
  CHECK(set(&p, "depth", "8,10,12") == Status::kOk);
  CHECK(p.depth[0] == 8);
  CHECK(p.depth[1] == 10);
  CHECK(p.depth[2] == 12);
  CHECK(p.depth[3] == 12);
  CHECK(set(&p, "depth", "8,8,8,8,8") == Status::kInvalid);
  CHECK(set(&p, "precincts", "256x256,128x64") == Status::kOk);
  CHECK(p.num_precincts == 2);
  CHECK(p.precinct_width[1] == 128);
  CHECK(p.precinct_height[1] == 64);
  CHECK(set(&p, "precincts", "0") == Status::kOk);
  CHECK(p.num_precincts == 0);
  std::string many = "2";
  for (int i = 1; i < 33; ++i) many += ",2";
  CHECK(set(&p, "precincts", many) == Status::kOk);
  CHECK(p.num_precincts == 33);
  CHECK(set(&p, "precincts", many + ",2") == Status::kInvalid);
  CHECK(p.num_precincts == 33);
  CHECK(set(&p, "layer_rates", "20,10,5.5") == Status::kOk);
  CHECK(p.layers == 3);
  CHECK(p.num_layer_rates == 3);
  CHECK(p.layer_rates[2] == 5.5);
  CHECK(set(&p, "layer_rates", "") == Status::kOk);
  CHECK(p.num_layer_rates == 0);
  CHECK(set(&p, "layer_psnr", "30,40.5") == Status::kOk);
  CHECK(p.layers == 3);
  CHECK(p.num_layer_psnr == 2);
  CHECK(p.layer_psnr[1] == 40.5);
  CHECK(set(&p, "layer_psnr", "0") == Status::kOk);
  CHECK(p.num_layer_psnr == 0);
  CHECK(p.layers == 3);
  CHECK(set(&p, "cblk_style", "bypass+termall") == Status::kOk);
  CHECK(p.cblk_style == (CJ2K_STYLE_BYPASS | CJ2K_STYLE_TERMALL));
  CHECK(set(&p, "cblk_style", "segsym") == Status::kOk);
  CHECK(p.cblk_style == CJ2K_STYLE_SEGSYM);
  CHECK(set(&p, "cblk_style", "bypass+") == Status::kInvalid);
  CHECK(set(&p, "cblk_style", "64") == Status::kInvalid);
  for (const char* name : {"5/3", "53"}) {
    CHECK(set(&p, "wavelet", name) == Status::kOk);
    CHECK(p.wavelet == CJ2K_WAVELET_53);
  }
  for (const char* name : {"9/7", "97"}) {
    CHECK(set(&p, "wavelet", name) == Status::kOk);
    CHECK(p.wavelet == CJ2K_WAVELET_97);
  }
  CHECK(set(&p, "progression", "RPCL") == Status::kOk);
  CHECK(p.progression == CJ2K_RPCL);
  CHECK(set(&p, "progression", "rpc") == Status::kInvalid);
  CHECK(set(&p, "target_bytes", "1099511627776") == Status::kOk);
  CHECK(p.target_bytes == int64_t{1} << 40);
  CHECK(set(&p, "comment", "abc") == Status::kOk);
  CHECK(std::string(p.comment) == "abc");

  Messages m;
  CHECK(set(&p, "colour", "1", &m) == Status::kInvalid);
  CHECK(contains(m.last(), "\"colour\""));
  CHECK(set(&p, "progression", "xyz", &m) == Status::kInvalid);
  CHECK(m.last() == "progression \"xyz\" is not one of auto|lrcp|rlcp|rpcl|pcrl|cprl");
  CHECK(set(&p, "layers", "0", &m) == Status::kInvalid);
  CHECK(m.last() == "layers \"0\" is not an integer in [1, 65535]");
  CHECK(cj2k::set_param(&p, nullptr, "1", m.log) == Status::kInvalid);
  CHECK(cj2k::set_param(&p, "layers", nullptr, m.log) == Status::kInvalid);
  CHECK(cj2k::set_param(nullptr, "layers", "1", m.log) == Status::kInvalid);
}

TEST_CASE("params: struct_size of other headers") {
  cj2k_params p = valid(), r;
  Messages m;
  for (const size_t bytes : {size_t{0}, offsetof(cj2k_params, lossless) - 1, size_t{65537}}) {
    p.struct_size = bytes;
    CHECK(cj2k::resolve_params(p, m.log, &r) == Status::kInvalid);
    CHECK(contains(m.last(), "struct_size " + std::to_string(bytes)));
    CHECK(set(&p, "layers", "2") == Status::kInvalid);
  }
  // A shorter struct: memory behind it is neither read nor written.
  p = valid();
  p.struct_size = offsetof(cj2k_params, gop);
  p.gop = 99;
  p.async_depth = -7;
  CHECK(set(&p, "threads", "5") == Status::kOk);
  CHECK(set(&p, "gop", "5") == Status::kOk);
  CHECK(p.gop == 99);
  CHECK(p.struct_size == offsetof(cj2k_params, gop));
  r = resolved(p);
  CHECK(r.struct_size == sizeof r);
  CHECK(r.threads == 5);
  CHECK(r.gop == 0);
  CHECK(r.async_depth == 0);
}

// Values of a row as text, from one end of its range to the other.
std::vector<std::string> values_of(const cj2k_param_info& row) {
  const std::string name = row.name, low = integer(row.min), high = integer(row.max);
  std::vector<std::string> values;
  if (row.default_value[0] != '\0') values.push_back(row.default_value);
  switch (row.type) {
    case CJ2K_PARAM_INT:
    case CJ2K_PARAM_BOOL:
      values.insert(values.end(), {low, high});
      break;
    case CJ2K_PARAM_DOUBLE:
      for (const char* value : {"0.1", "0.3333333333333333", "2.5000000000000004", "1"}) {
        if (std::stod(value) >= row.min) values.push_back(value);
      }
      break;
    case CJ2K_PARAM_ENUM:
    case CJ2K_PARAM_FLAGS: {
      std::string all = row.values;
      if (row.type == CJ2K_PARAM_FLAGS) {
        std::replace(all.begin(), all.end(), '|', '+');
        values.push_back(all);
        all = row.values;
      }
      for (size_t bar = 0; bar != std::string::npos; all.erase(0, bar + 1)) {
        bar = all.find('|');
        values.push_back(all.substr(0, bar));
        if (bar == std::string::npos) break;
      }
      break;
    }
    case CJ2K_PARAM_SIZE:
      values.insert(values.end(), {high + "x" + low, low + "x" + high, high});
      break;
    case CJ2K_PARAM_RATIO:
      values.insert(values.end(), {"24", "24000/1001", "2147483647/2147483646"});
      break;
    case CJ2K_PARAM_LIST:
      if (name == "precincts") {
        std::string longest = "32768x32768";
        for (int i = 1; i < CJ2K_MAX_RESOLUTIONS; ++i) longest += ",32768x32768";
        values.insert(values.end(), {"", "256x128,64", longest});
      } else if (name == "layer_rates") {
        std::string longest = "999999.12345678901";
        for (int i = 1; i < CJ2K_MAX_LAYER_RATES; ++i) longest += ",999999.12345678901";
        values.insert(values.end(), {"", "20,10.1,1", longest});
      } else if (name == "layer_psnr") {
        values.insert(values.end(), {"", "20,30.1,200"});
      } else {
        values.insert(values.end(),
                      {low, high, low + "," + high, high + "," + low + "," + low + "," + high});
      }
      break;
    case CJ2K_PARAM_RECORDS: {
      if (name == "roi") {
        std::string longest = "2147483647,2147483646,2147483645,2147483644,2147483643";
        for (int i = 1; i < CJ2K_MAX_REGIONS; ++i) longest += "/0,1,2,3,4";
        values.insert(values.end(), {"", "1,2,3,4", "1,2,3,4,0", "0,1,2,3,4/5,6,7,8", longest});
        break;
      }
      std::string longest = "65535,65535,65535,65535,65535,lrcp";
      for (int i = 1; i < CJ2K_MAX_PROGRESSIONS; ++i) longest += "/0,1,2,3,4,rpcl";
      values.insert(values.end(), {"", "0,0,1,6,3,cprl/6,0,1,7,3,PCRL", longest});
      break;
    }
    case CJ2K_PARAM_TEXT:
      if (name == "device") {
        values.insert(values.end(), {"cpu", "cuda:3,GPU-a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf"});
      } else {
        values.insert(values.end(), {"", "x", std::string(static_cast<size_t>(row.max), 'x')});
      }
      break;
  }
  return values;
}

TEST_CASE("params: the text of every value reads as the same value") {
  for (const cj2k_param_info& row : table()) {
    for (const std::string& value : values_of(row)) {
      INFO(std::string(row.name), " = ", value);
      cj2k_params p = valid();
      REQUIRE(set(&p, row.name, value.c_str()) == Status::kOk);
      char text[CJ2K_MAX_PARAM_TEXT];
      Messages m;
      REQUIRE(cj2k::get_param(p, row.name, text, sizeof text, m.log) == Status::kOk);
      CAPTURE(text);
      cj2k_params again = valid();
      CHECK(set(&again, row.name, text) == Status::kOk);
      CHECK(std::memcmp(&p, &again, sizeof p) == 0);
      char text_again[CJ2K_MAX_PARAM_TEXT];
      REQUIRE(cj2k::get_param(again, row.name, text_again, sizeof text_again, m.log) ==
              Status::kOk);
      CHECK(std::string(text) == text_again);
      // The text of the default is that of the table.
      if (value == row.default_value && value != "") CHECK(text == value);
    }
  }
}

TEST_CASE("params: grid rules") {
  cj2k_params p = valid();
  p.image_offset_x = 2147483647 - 31;
  CHECK(contains(resolve_error(p), "image_offset_x 2147483616 + width 32 = 2147483648 not in"));
  p.image_offset_x -= 1;
  CHECK(resolve_error(p) == "");
  CHECK(resolved(p).tile_width == 2147483647);

  p = valid();
  p.image_offset_x = 3;
  p.tile_offset_x = 4;
  p.tile_width = 100;
  CHECK(resolve_error(p) == "tile_offset_x 4 not in [0, image_offset_x = 3]");
  p.tile_offset_x = 3;
  CHECK(resolve_error(p) == "");
  p = valid();
  p.image_offset_y = 10;
  p.tile_offset_y = 2;
  p.tile_height = 8;
  CHECK(contains(resolve_error(p), "tile_height 8 not in [9, "));
  p.tile_height = 9;
  CHECK(resolve_error(p) == "");

  p = valid();
  p.width = 65535;
  p.height = 1;
  p.tile_width = p.tile_height = 1;
  CHECK(resolve_error(p) == "");
  p.width = 65536;
  CHECK(contains(resolve_error(p), "65536 x 1 tiles of 1x1"));

  p = valid();
  p.tile_offset_x = p.image_offset_x = 5;
  p.image_offset_y = 7;
  const cj2k_params r = resolved(p);
  CHECK(r.tile_width == 32);
  CHECK(r.tile_height == 31);

  p = valid();
  p.dx[1] = 3;
  CHECK(resolve_error(p) == "dx[1] 3 is none of 1, 2, 4");
  p.dx[1] = 4;
  p.width = 2;
  p.image_offset_x = 1;
  CHECK(contains(resolve_error(p), "component 1 has no samples: dx[1] 4"));
  p.image_offset_x = 0;
  CHECK(resolve_error(p) == "");
}

TEST_CASE("params: stop, stop_margin and tier1 by name") {
  cj2k_params p = valid();
  CHECK(p.stop == CJ2K_STOP_EXACT);
  CHECK(p.stop_margin == 128);
  CHECK(p.tier1 == CJ2K_TIER1_AUTO);
  const char* const stops[] = {"none", "exact", "pst", "psb", "bpi"};
  for (int i = 0; i < 5; ++i) {
    REQUIRE(set(&p, "stop", stops[i]) == Status::kOk);
    CHECK(static_cast<int>(resolved(p).stop) == i);
  }
  CHECK(p.stop == CJ2K_STOP_BPI);
  const char* const forms[] = {"auto", "classic", "cibo", "fused"};
  for (int i = 0; i < 4; ++i) {
    REQUIRE(set(&p, "tier1", forms[i]) == Status::kOk);
    CHECK(static_cast<int>(resolved(p).tier1) == i);
  }
  CHECK(p.tier1 == CJ2K_TIER1_FUSED);
}
