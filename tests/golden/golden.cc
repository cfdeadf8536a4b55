// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Size and hash of codestreams, compared with golden.tsv. CJ2K_UPDATE_GOLDEN=1 writes the table
// anew; the change is then reviewed like code.
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "support/encode.h"
#include "support/picture.h"

namespace cj2k::test {
namespace {

const char* const kTable = CJ2K_SOURCE_DIR "/tests/golden/golden.tsv";
const char* const kHeading = "# options\tcontent\tbytes\tfnv1a-64\n";

/// Options as cj2k_params_set takes them, separated by spaces.
const std::vector<std::string> kConfigurations = {
    "width=161 height=97 lossless=1",
    "width=161 height=97 lossless=1 depth=16 num_components=1",
    "width=161 height=97 lossless=1 mct=off depth=12",
    "width=161 height=97",
    "width=161 height=97 depth=12 quality=0.5",
    "width=161 height=97 wavelet=5/3 quality=4",
    "width=161 height=97 target_bytes=8000",
    "width=161 height=97 depth=10 wavelet=5/3 target_bytes=8000",
    "width=161 height=97 depth=12 cblk=32x32 target_bytes=8000 max_component_bytes=6400 "
    "guard_bits=1 progression=cprl "
    "tile_parts=component precincts=256x256,256x256,256x256,256x256,256x256,128x128",
    "width=161 height=97 layers=6 target_bytes=9000 progression=rlcp",
    "width=161 height=97 layer_rates=40,20,10 sop=1 eph=1",
    "width=161 height=97 tile=70x50 image_offset=11x7 tile_offset=3x2 progression=rpcl "
    "precincts=32x32 plt=1 layers=2",
    "width=161 height=97 num_components=4 alpha=1 format=jp2 progression=pcrl",
    "width=161 height=97 dx=1,2,2 dy=1,2,2 depth=10 progression=pcrl precincts=64x64",
    "width=161 height=97 lossless=1 is_signed=1 depth=9 levels=3",
    "width=161 height=97 cblk_style=bypass+termall cblk=64x16",
    "width=161 height=97 lossless=1 cblk_style=bypass+reset+vsc+pterm+segsym cblk=16x64",
    "width=161 height=97 num_components=1 min_frame_bytes=20000 comment=padded",
    "width=3 height=5 lossless=1",
    "width=1 height=1 num_components=1",
};

std::string encode_row(const std::string& options, Content content) {
  cj2k_params p = make_params(1, 1);
  for (size_t begin = 0; begin < options.size();) {
    const size_t end = std::min(options.find(' ', begin), options.size());
    const std::string word = options.substr(begin, end - begin);
    const size_t equals = word.find('=');
    set(p, word.substr(0, equals).c_str(), word.substr(equals + 1));
    begin = end + 1;
  }
  const Encoded encoded = encode(p, make_picture(p, content, 0xC0FFEE));
  INFO(options, ": ", encoded.log);
  CHECK(encoded.status == CJ2K_OK);
  char result[64];
  std::snprintf(result, sizeof result, "%zu\t%016llx", encoded.bytes.size(),
                static_cast<unsigned long long>(hash_bytes(encoded.bytes)));
  return result;
}

TEST_CASE("codestreams are those of the table") {
  std::map<std::string, std::string> table;
  std::ifstream file(kTable);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t second_tab = line.find('\t', line.find('\t') + 1);
    REQUIRE(second_tab != std::string::npos);
    table[line.substr(0, second_tab)] = line.substr(second_tab + 1);
  }
  const char* update_text = std::getenv("CJ2K_UPDATE_GOLDEN");
  const bool update = update_text != nullptr && std::string(update_text) == "1";
  std::string written = kHeading;
  for (const std::string& options : kConfigurations) {
    for (Content content : {Content::kTexture, Content::kNoise}) {
      const std::string key = options + "\t" + content_name(content);
      const std::string row = encode_row(options, content);
      written += key + "\t" + row + "\n";
      if (update) continue;
      INFO(key);
      CHECK(table[key] == row);
    }
  }
  if (update) {
    std::ofstream out(kTable);
    out << written;
    CHECK(out.good());
  } else {
    CHECK(table.size() == 2 * kConfigurations.size());
  }
}

}  // namespace
}  // namespace cj2k::test
