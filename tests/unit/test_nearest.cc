// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <initializer_list>
#include <string>

#include "params/nearest.h"
#include "params_support.h"

namespace cj2k::test {
namespace {

std::string nearest(const char* text, std::initializer_list<const char*> names) {
  NearestName search(text);
  for (const char* name : names) search.offer(name);
  return std::string(search.name());
}

std::string refused(const char* key, const char* value) {
  Messages m;
  cj2k_params p;
  set_default_params(&p);
  CHECK(set_param(&p, key, value, m.log) == Status::kInvalid);
  return m.last();
}

TEST_CASE("name_distance") {
  CHECK(name_distance("", "") == 0);
  CHECK(name_distance("", "abc") == 3);
  CHECK(name_distance("abc", "") == 3);
  CHECK(name_distance("levels", "Levels") == 0);
  CHECK(name_distance("levls", "levels") == 1);
  CHECK(name_distance("levells", "levels") == 1);
  CHECK(name_distance("lavels", "levels") == 1);
  CHECK(name_distance("elvels", "levels") == 1);  // two neighbours
  CHECK(name_distance("kitten", "sitting") == 3);
  CHECK(name_distance(std::string(1000, 'a'), std::string(2000, 'a')) == 0);
  CHECK(name_distance(std::string(1000, 'a'), "") == 63);
}

TEST_CASE("the nearest name") {
  CHECK(nearest("levls", {"layers", "levels"}) == "levels");
  CHECK(nearest("target", {"tile_parts", "target_bytes"}) == "target_bytes");
  CHECK(nearest("ta", {"tile_parts", "target_bytes"}) == "");  // two letters say too little
  CHECK(nearest("xyz", {"lrcp", "rlcp"}) == "");
  CHECK(nearest("rlpc", {"lrcp", "rlcp", "rpcl"}) == "rlcp");
  CHECK(nearest("", {"on", "off"}) == "");
  CHECK(nearest("of", {"on", "off"}) == "off");
  CHECK(nearest("abd", {"abc", "abe"}) == "abc");  // the first of two
  CHECK(nearest(std::string(600, 'a').c_str(), {"width", "height"}) == "");
}

TEST_CASE("messages about unknown names end with the nearest one") {
  CHECK(refused("levls", "5") == "unknown parameter \"levls\"; did you mean levels?");
  CHECK(refused("zzz", "5") == "unknown parameter \"zzz\"");
  CHECK(refused("progression", "rpc") ==
        "progression \"rpc\" is not one of auto|lrcp|rlcp|rpcl|pcrl|cprl; did you mean rpcl?");
  CHECK(refused("cblk_style", "bypass+sgsym+x").find("; did you mean segsym?") !=
        std::string::npos);
  CHECK(refused("cblk_style", "64").find("did you mean") == std::string::npos);
  CHECK(refused("device", "cdua").find("cuda:GPU-uuid; did you mean cuda?") != std::string::npos);
  CHECK(refused("device", "gpu:0").find("; did you mean cuda?") != std::string::npos);
  CHECK(refused("device", "toaster").find("did you mean") == std::string::npos);
}

}  // namespace
}  // namespace cj2k::test
