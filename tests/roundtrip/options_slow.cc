// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Every coding option by itself, and all 64 code-block styles.
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "roundtrip/roundtrip.h"
#include "support/codestream.h"

namespace cj2k::test {
namespace {

using Settings = std::vector<std::pair<const char*, const char*>>;

constexpr double kFloorDb = 40;  // for the default quality, 2 LSB at 8 bits

void check_settings(const Settings& settings, Content content, bool lossless) {
  cj2k_params p = make_params(149, 83, 3, 8);
  p.lossless = lossless;
  for (const auto& [key, value] : settings) set(p, key, value);
  double floor = kFloorDb;
  for (int c = 0; c < p.num_components; ++c)
    floor = std::min(floor, quality_floor(p, p.quality > 0 ? p.quality : 2));
  check_roundtrip(p, make_picture(p, content, 11), kAllDecoders, floor);
}

const std::vector<Settings> kEachOption = {
    {},
    {{"num_components", "1"}},
    {{"num_components", "2"}},
    {{"num_components", "2"}, {"alpha", "1"}, {"format", "jp2"}},
    {{"num_components", "4"}},
    {{"num_components", "4"}, {"alpha", "1"}, {"format", "jp2"}},
    {{"depth", "1"}},
    {{"depth", "2"}},
    {{"depth", "5"}},
    {{"depth", "7"}},
    {{"depth", "9"}},
    {{"depth", "10"}},
    {{"depth", "12"}},
    {{"depth", "14"}},
    {{"depth", "16"}},
    {{"depth", "8,10,12"}, {"mct", "off"}},
    {{"is_signed", "1"}},
    {{"is_signed", "1"}, {"depth", "12"}},
    {{"is_signed", "0,1,1"}, {"mct", "off"}},
    {{"dx", "1,2,2"}},
    {{"dx", "1,2,2"}, {"dy", "1,2,2"}},
    {{"dx", "1,2,2"}, {"dy", "1,2,2"}, {"depth", "10"}},
    {{"dx", "1,4,4"}},
    {{"dx", "1,4,4"}, {"dy", "1,4,4"}},
    {{"dx", "2"}, {"dy", "2"}},
    {{"image_offset", "1x1"}},
    {{"image_offset", "37x53"}},
    {{"tile", "64x64"}},
    {{"tile", "37x29"}},
    {{"tile", "64x64"}, {"image_offset", "21x10"}, {"tile_offset", "5x7"}},
    {{"tile", "149x1"}},
    {{"mct", "off"}},
    {{"mct", "on"}},
    {{"levels", "0"}},
    {{"levels", "1"}},
    {{"levels", "2"}},
    {{"levels", "7"}},
    {{"levels", "8"}},
    {{"levels", "32"}},
    {{"guard_bits", "1"}},
    {{"guard_bits", "3"}},
    {{"guard_bits", "7"}},
    {{"cblk", "4"}},
    {{"cblk", "4x64"}},
    {{"cblk", "64x4"}},
    {{"cblk", "1024x4"}},
    {{"cblk", "4x1024"}},
    {{"cblk", "16x16"}},
    {{"cblk", "32x32"}},
    {{"cblk", "128x32"}},
    {{"precincts", "128"}},
    {{"precincts", "64x32"}},
    {{"precincts", "256x256,128x128,64x64"}},
    {{"precincts", "16"}},
    {{"precincts", "2"}, {"levels", "1"}},
    {{"precincts", "32x32,1x1"}, {"levels", "1"}},
    {{"progression", "rlcp"}},
    {{"progression", "rpcl"}},
    {{"progression", "pcrl"}},
    {{"progression", "cprl"}},
    {{"progression", "rpcl"}, {"precincts", "32"}},
    {{"progression", "pcrl"}, {"precincts", "32"}},
    {{"progression", "cprl"}, {"precincts", "32"}},
    {{"progression", "pcrl"},
     {"precincts", "32"},
     {"dx", "1,2,2"},
     {"dy", "1,2,2"},
     {"tile", "70x50"}},
    {{"layers", "2"}},
    {{"layers", "7"}},
    {{"layers", "30"}},
    {{"layer_rates", "40,20,10"}},
    {{"layer_rates", "80,5,1"}},
    {{"tile_parts", "resolution"}, {"progression", "rlcp"}},
    {{"tile_parts", "resolution"}, {"progression", "rpcl"}},
    {{"tile_parts", "component"}, {"progression", "cprl"}},
    {{"tile_parts", "component"}, {"progression", "cprl"}, {"tile", "64x64"}},
    {{"poc", "0,0,1,6,3,pcrl"}},
    {{"poc", "0,0,1,5,3,cprl/5,0,1,6,3,cprl"}, {"tile_parts", "component"}, {"plt", "1"}},
    {{"poc", "0,0,1,2,2,rlcp/0,1,2,4,3,rpcl/0,0,4,6,3,lrcp"},
     {"layers", "4"},
     {"precincts", "32"},
     {"tile", "70x50"},
     {"tile_parts", "resolution"},
     {"sop", "1"}},
    {{"roi", "40,20,30,30"}},
    {{"roi", "40,20,30,30"}, {"depth", "12"}, {"mct", "off"}},
    {{"roi", "0,0,1,1/140,80,9,9"}, {"levels", "2"}, {"cblk", "8x8"}},
    {{"sop", "1"}},
    {{"eph", "1"}},
    {{"sop", "1"}, {"eph", "1"}, {"plt", "1"}, {"layers", "3"}},
    {{"tlm", "0"}},
    {{"plt", "1"}},
    {{"plt", "1"}, {"precincts", "16"}, {"layers", "5"}},
    {{"comment", ""}},
    {{"comment", "two words"}},
    {{"format", "jp2"}},
    {{"format", "jp2"}, {"num_components", "1"}},
    {{"min_frame_bytes", "60000"}},
    {{"threads", "1"}},
    {{"threads", "3"}},
    {{"gop", "2"}},
    {{"async_depth", "4"}},
    {{"device", "cpu"}},
};

TEST_CASE("each option alone, lossless and lossy") {
  for (const Settings& settings : kEachOption) {
    for (bool lossless : {false, true}) check_settings(settings, Content::kTexture, lossless);
  }
}

TEST_CASE("each option of lossy coding alone") {
  const std::vector<Settings> table = {
      {{"wavelet", "5/3"}},
      {{"wavelet", "5/3"}, {"mct", "off"}},
      {{"quant_step", "0.125"}},
      {{"quant_step", "0.5"}},
      {{"quant_step", "2"}},
      {{"quality", "0.25"}},
      {{"quality", "1"}},
      {{"quality", "4"}},
      {{"quality", "4"}, {"wavelet", "5/3"}},
      {{"quality", "0.0625"}, {"depth", "16"}},
  };
  for (const Settings& settings : table) check_settings(settings, Content::kTexture, false);
}

TEST_CASE("every content, lossless and lossy") {
  for (Content content : kAllContents) {
    for (const char* depth : {"1", "8", "16"}) {
      for (bool lossless : {false, true}) {
        check_settings({{"depth", depth}}, content, lossless);
        check_settings({{"depth", depth}, {"guard_bits", "1"}, {"mct", "off"}}, content, lossless);
      }
    }
  }
}

TEST_CASE("all 64 code-block styles through three decoders") {
  for (int style = 0; style < 64; ++style) {
    for (bool lossless : {false, true}) {
      cj2k_params p = make_params(97, 61, 1, 12);
      p.cblk_style = style;
      p.lossless = lossless;
      p.layers = 1 + style % 3;
      p.quality = lossless ? 0 : 0.5;
      set(p, "cblk", style % 2 ? "32x32" : "64x64");
      check_roundtrip(p, make_picture(p, Content::kTexture, 13), kAllDecoders,
                      quality_floor(p, 0.5));
    }
  }
}

TEST_CASE(
    "padding to min_frame_bytes is exact, or a little more where a comment cannot be that short") {
  cj2k_params p = make_params(40, 30, 1, 8);
  p.lossless = 1;
  const Picture picture = make_picture(p, Content::kTexture, 17);
  const size_t plain = encode(p, picture).bytes.size();
  for (size_t more : {size_t{0}, size_t{1}, size_t{6}, size_t{7}, size_t{8}, size_t{65535},
                      size_t{65545}, size_t{200000}}) {
    p.min_frame_bytes = static_cast<int64_t>(plain + more);
    const Encoded encoded = check_roundtrip(p, picture, {Decoder::kOpenJpeg}, 0);
    CHECK(encoded.bytes.size() >= plain + more);
    CHECK(encoded.bytes.size() <= plain + more + 7);
  }
}

TEST_CASE("tile-parts of one component hold what the statistics say") {
  cj2k_params p = make_params(149, 83, 3, 8);
  set(p, "tile_parts", "component");
  set(p, "progression", "cprl");
  const Encoded encoded =
      check_roundtrip(p, make_picture(p, Content::kTexture, 19), {Decoder::kOpenJpeg}, kFloorDb);
  const ParsedCodestream parsed = check_codestream(encoded.bytes);
  REQUIRE(parsed.tile_parts.size() == 3);
  for (size_t c = 0; c < 3; ++c) {
    const ParsedTilePart& part = parsed.tile_parts[c];
    CHECK(static_cast<int64_t>(part.end - part.data) == encoded.stats.component_bytes[c]);
  }
}

}  // namespace
}  // namespace cj2k::test
