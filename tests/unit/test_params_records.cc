// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Parameters that are lists of records: their text, their ranges and their rules.
#include <doctest/doctest.h>

#include <string>

#include "params/params.h"
#include "unit/params_support.h"

namespace {

using namespace cj2k::test;
using cj2k::Status;

// The text as it is read back; the error if it is refused.
std::string text_of(const std::string& key, const std::string& value) {
  cj2k_params p = valid();
  Messages m;
  if (set(&p, key, value, &m) != Status::kOk) return m.last();
  char text[CJ2K_MAX_PARAM_TEXT];
  if (cj2k::get_param(p, key.c_str(), text, sizeof text, m.log) != Status::kOk) return m.last();
  return text;
}

// Three components, two layers, five levels, and this `poc`.
std::string poc_error(const std::string& poc) {
  cj2k_params p = valid();
  p.layers = 2;
  REQUIRE(set(&p, "poc", poc) == Status::kOk);
  return resolve_error(p);
}

}  // namespace

TEST_CASE("params: text of poc") {
  cj2k_params p = valid();
  REQUIRE(set(&p, "poc", "0,1,2,3,4,cprl/5,6,7,8,9,LRCP") == Status::kOk);
  CHECK(p.num_poc == 2);
  CHECK(p.poc[0].resolution_begin == 0);
  CHECK(p.poc[0].component_begin == 1);
  CHECK(p.poc[0].layer_end == 2);
  CHECK(p.poc[0].resolution_end == 3);
  CHECK(p.poc[0].component_end == 4);
  CHECK(p.poc[0].progression == CJ2K_CPRL);
  CHECK(p.poc[1].component_end == 9);
  CHECK(p.poc[1].progression == CJ2K_LRCP);
  CHECK(text_of("poc", "0,1,2,3,4,cprl/5,6,7,8,9,LRCP") == "0,1,2,3,4,cprl/5,6,7,8,9,lrcp");
  CHECK(set(&p, "poc", "") == Status::kOk);
  CHECK(p.num_poc == 0);

  for (const char* bad :
       {"0", "cprl", "0,0,1,6,3", "0,0,1,6,3,", "0,0,1,6,cprl", "0,0,1,6,3,4,cprl",
        "0,0,1,6,3,xprl", "0,0,1,6,3,cprl,", "0,0,1,6,3,cprl/", "/0,0,1,6,3,cprl",
        "-1,0,1,6,3,cprl", "0,0,65536,6,3,cprl", "0,0,1.0,6,3,cprl", "0,0, 1,6,3,cprl",
        "0,0,1,6,3, cprl", "0,0,,6,3,cprl", "0;0;1;6;3;cprl"}) {
    CHECK(text_of("poc", bad) == "poc \"" + std::string(bad) +
                                     "\" is not at most 32 entries \"RS,CS,LYE,RE,CE,order\" "
                                     "separated by '/', with numbers in [0, 65535]");
  }
  std::string many = "0,0,1,6,3,cprl";
  for (int i = 1; i < 32; ++i) many += "/0,0,1,6,3,cprl";
  CHECK(text_of("poc", many) == many);
  CHECK(contains(text_of("poc", many + "/0,0,1,6,3,cprl"), "is not at most 32 entries"));

  p.num_poc = 33;
  char text[CJ2K_MAX_PARAM_TEXT];
  Messages m;
  CHECK(cj2k::get_param(p, "poc", text, sizeof text, m.log) == Status::kInvalid);
  CHECK(m.last() == "num_poc 33 not in [0, 32]");
  CHECK(resolve_error(p) == "num_poc 33 not in [0, 32]");
  p.num_poc = -1;
  CHECK(resolve_error(p) == "num_poc -1 not in [0, 32]");
  // Fields may hold any number; the longest text fits.
  p.num_poc = 32;
  const int32_t low = -2147483647 - 1;
  for (auto& entry : p.poc) entry = {low, low, low, low, low, CJ2K_CPRL};
  CHECK(cj2k::get_param(p, "poc", text, sizeof text, m.log) == Status::kOk);
  p.poc[31].progression = static_cast<cj2k_progression>(5);
  CHECK(cj2k::get_param(p, "poc", text, sizeof text, m.log) == Status::kInvalid);
  CHECK(m.last() == "poc[31].progression 5 is not one of lrcp|rlcp|rpcl|pcrl|cprl");
}

TEST_CASE("params: rules of poc") {
  CHECK(poc_error("0,0,2,6,3,cprl") == "");
  CHECK(poc_error("0,0,1,6,3,cprl/0,0,2,6,3,lrcp") == "");
  CHECK(poc_error("0,0,2,3,3,cprl/3,0,2,6,3,lrcp") == "");
  CHECK(poc_error("6,0,2,7,3,cprl") == "poc[0].resolution_begin 6 not in [0, 5] (0, levels)");
  CHECK(poc_error("0,3,2,6,4,cprl") ==
        "poc[0].component_begin 3 not in [0, 2] (0, num_components - 1)");
  CHECK(poc_error("0,0,2,6,3,cprl/0,0,0,6,3,cprl") ==
        "poc[1].layer_end 0 not in [1, 2] (1, layers)");
  CHECK(poc_error("0,0,3,6,3,cprl") == "poc[0].layer_end 3 not in [1, 2] (1, layers)");
  CHECK(poc_error("2,0,2,2,3,cprl") ==
        "poc[0].resolution_end 2 not in [3, 6] (resolution_begin + 1, levels + 1)");
  CHECK(poc_error("0,0,2,7,3,cprl") ==
        "poc[0].resolution_end 7 not in [1, 6] (resolution_begin + 1, levels + 1)");
  CHECK(poc_error("0,1,2,6,1,cprl") ==
        "poc[0].component_end 1 not in [2, 3] (component_begin + 1, num_components)");
  CHECK(poc_error("0,1,2,6,4,cprl") ==
        "poc[0].component_end 4 not in [2, 3] (component_begin + 1, num_components)");
  const std::string must = ": its entries must hold every packet";
  CHECK(poc_error("0,0,2,5,3,cprl") ==
        "poc leaves out component 0, resolution 5, layers [0, 2)" + must);
  CHECK(poc_error("0,0,2,6,2,cprl/0,2,1,6,3,rlcp") ==
        "poc leaves out component 2, resolution 0, layers [1, 2)" + must);
  CHECK(poc_error("0,0,1,6,3,cprl") ==
        "poc leaves out component 0, resolution 0, layers [1, 2)" + must);

  cj2k_params p = valid();
  p.num_poc = 1;
  p.poc[0] = {0, 0, 1, 6, 3, static_cast<cj2k_progression>(5)};
  CHECK(resolve_error(p) == "poc[0].progression 5 not in [0, 4] (lrcp, cprl)");
  p.poc[0] = {-2147483647 - 1, 0, 1, 6, 3, CJ2K_LRCP};
  CHECK(contains(resolve_error(p), "poc[0].resolution_begin -2147483648 not in [0, 5]"));
  p.poc[0] = {0, 0, 1, 2147483647, 3, CJ2K_LRCP};
  CHECK(contains(resolve_error(p), "poc[0].resolution_end 2147483647 not in [1, 6]"));
}

TEST_CASE("params: text of roi") {
  cj2k_params p = valid();
  REQUIRE(set(&p, "roi", "1,2,3,4/5,6,7,8,9") == Status::kOk);
  CHECK(p.num_roi == 2);
  CHECK(p.roi[0].x == 1);
  CHECK(p.roi[0].y == 2);
  CHECK(p.roi[0].width == 3);
  CHECK(p.roi[0].height == 4);
  CHECK(p.roi[0].shift == 0);
  CHECK(p.roi[1].shift == 9);
  CHECK(text_of("roi", "1,2,3,4/5,6,7,8,9") == "1,2,3,4/5,6,7,8,9");
  CHECK(text_of("roi", "1,2,3,4,0") == "1,2,3,4");
  CHECK(set(&p, "roi", "") == Status::kOk);
  CHECK(p.num_roi == 0);
  for (const char* bad :
       {"1", "1,2,3", "1,2,3,4,5,6", "1,2,3,4,", "1,2,3,x", "-1,2,3,4", "1,2,3,4/", "1x2,3x4",
        "1,2,3,4.5", "1,2,3,2147483648", " 1,2,3,4", "1,,3,4"}) {
    CHECK(text_of("roi", bad) ==
          "roi \"" + std::string(bad) +
              "\" is not at most 16 rectangles \"x,y,w,h\" or \"x,y,w,h,shift\" separated by '/', "
              "with numbers in [0, 2147483647]");
  }
  std::string many = "1,2,3,4";
  for (int i = 1; i < 16; ++i) many += "/1,2,3,4";
  CHECK(text_of("roi", many) == many);
  CHECK(contains(text_of("roi", many + "/1,2,3,4"), "is not at most 16 rectangles"));
}

TEST_CASE("params: rules of roi") {
  const auto error = [](const std::string& roi) {
    cj2k_params p = valid();  // 32x24
    p.image_offset_x = 10;
    REQUIRE(set(&p, "roi", roi) == Status::kOk);
    return resolve_error(p);
  };
  CHECK(error("10,0,1,1") == "");
  CHECK(error("41,23,100,100") == "");
  CHECK(error("0,0,11,1") == "");
  CHECK(error("0,0,0,5") == "roi[0].width 0 not in [1, 2147483647]");
  CHECK(error("0,0,5,0") == "roi[0].height 0 not in [1, 2147483647]");
  CHECK(error("10,0,1,1/10,0,1,1,256") == "roi[1].shift 256 not in [0, 255]");
  const std::string outside =
      " lies outside of the picture, [10, 42) x [0, 24) on the reference grid";
  CHECK(error("0,0,10,5") == "roi[0] 10x5 at 0,0" + outside);
  CHECK(error("42,0,10,5") == "roi[0] 10x5 at 42,0" + outside);
  CHECK(error("20,24,10,5") == "roi[0] 10x5 at 20,24" + outside);
  CHECK(error("2147483647,2147483647,2147483647,2147483647").find("outside") != std::string::npos);
  cj2k_params p = valid();
  p.num_roi = 17;
  CHECK(resolve_error(p) == "num_roi 17 not in [0, 16]");
  p.num_roi = 1;
  p.roi[0] = {-1, 0, 1, 1, 0};
  CHECK(resolve_error(p) == "roi[0].x -1 not in [0, 2147483647]");
}
