// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "golden/table.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "support/encode.h"
#include "support/picture.h"

namespace cj2k::test {
namespace {

const char* const kHeading = "# options\tcontent\tbytes\tfnv1a-64\n";

std::map<std::string, std::string> read_table(const std::string& path) {
  std::map<std::string, std::string> table;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t second_tab = line.find('\t', line.find('\t') + 1);
    REQUIRE(second_tab != std::string::npos);
    table[line.substr(0, second_tab)] = line.substr(second_tab + 1);
  }
  return table;
}

std::string encode_row(const std::string& options, Content content) {
  cj2k_params p = make_params(1, 1);
  size_t num_frames = 1;
  std::istringstream words(options);
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    const std::string key = word.substr(0, equals), value = word.substr(equals + 1);
    if (key == "frames")
      num_frames = std::stoul(value);
    else
      set(p, key.c_str(), value);
  }
  std::vector<Picture> pictures;
  for (size_t i = 0; i < num_frames; ++i)
    pictures.push_back(make_picture(p, content, 0xC0FFEE + i));
  const std::vector<Encoded> encoded = encode_sequence(p, pictures);
  CHECK(encoded.size() == num_frames);
  std::vector<uint8_t> bytes;
  for (const Encoded& frame : encoded) {
    INFO(options, ": ", frame.log);
    CHECK(frame.status == CJ2K_OK);
    bytes.insert(bytes.end(), frame.bytes.begin(), frame.bytes.end());
  }
  char row[64];
  std::snprintf(row, sizeof row, "%zu\t%016llx", bytes.size(),
                static_cast<unsigned long long>(hash_bytes(bytes)));
  return row;
}

}  // namespace

void check_table(const std::string& file, const std::vector<std::string>& configurations) {
  const std::string path = CJ2K_SOURCE_DIR "/tests/golden/" + file;
  const char* update_text = std::getenv("CJ2K_UPDATE_GOLDEN");
  const bool update = update_text != nullptr && std::string(update_text) == "1";
  std::map<std::string, std::string> table;
  if (!update) table = read_table(path);
  std::string written = kHeading;
  for (const std::string& options : configurations) {
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
    std::ofstream out(path);
    out << written;
    CHECK(out.good());
  } else {
    CHECK(table.size() == 2 * configurations.size());
  }
}

}  // namespace cj2k::test
