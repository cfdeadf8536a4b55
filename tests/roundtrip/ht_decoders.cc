// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What decoders read of coder = ht: the table in docs/htj2k.md, cell by cell.
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "roundtrip/roundtrip.h"
#include "support/image_io.h"
#include "support/process.h"

namespace cj2k::test {
namespace {

constexpr int kWidth = 203, kHeight = 147;

/// A row of the table: pictures of some sizes, with the same settings.
struct Stream {
  const char* name;
  int components, depth;
  const char* settings;  ///< "name=value name=value"
  std::vector<std::pair<int, int>> sizes = {{kWidth, kHeight}};
};
const std::vector<Stream> kStreams = {
    {"lossless, RGB", 3, 8, "lossless=1"},
    {"lossless, grey", 1, 8, "lossless=1"},
    {"cap, all passes", 3, 8, "target_bytes=12000"},
    {"cap, cleanup passes alone", 3, 8, "target_bytes=12000 ht_passes=cleanup"},
    {"cap, `effort=2`", 3, 8, "target_bytes=12000 effort=2"},
    {"cap, 5/3", 3, 8, "target_bytes=12000 wavelet=5/3"},
    {"cap, vertically causal", 3, 8, "target_bytes=12000 cblk_style=vsc"},
    {"cap, 3 layers", 3, 8, "target_bytes=12000 layers=3"},
    {"12 bit, lossless", 3, 12, "lossless=1"},
    {"12 bit, cap", 3, 12, "target_bytes=20000"},
    {"16 bit, lossless", 3, 16, "lossless=1"},
    {"16 bit, cap", 3, 16, "target_bytes=40000"},
    {"4:2:0, lossless", 3, 8, "lossless=1 dx=1,2,2 dy=1,2,2"},
    {"4:2:0, cap", 3, 8, "target_bytes=12000 dx=1,2,2 dy=1,2,2"},
    {"tiles, precincts, RPCL, SOP, EPH, PLT", 3, 8,
     "lossless=1 tile=110x80 precincts=64x64 progression=rpcl sop=1 eph=1 plt=1"},
    {"1x1, 1x37, 37x1, 5x3, 61x43, lossless",
     3,
     8,
     "lossless=1",
     {{1, 1}, {1, 37}, {37, 1}, {5, 3}, {61, 43}}},
    {"JPH file", 3, 8, "lossless=1 format=jp2"},
};

enum class From { kPath, kReaders, kBuild };
/// A column of the table.
struct Reader {
  const char* name;
  Decoder decoder;
  From from;
  const char* program;
};
const std::vector<Reader> kReaders = {
    {"OpenJPEG 2.5.4", Decoder::kOpenJpeg, From::kReaders, "opj_decompress"},
    {"OpenJPEG 2.5.0", Decoder::kOpenJpeg, From::kPath, "opj_decompress"},
    {"OpenJPH 0.31.0", Decoder::kOpenJph, From::kReaders, "ojph_expand"},
    {"OpenJPH 0.9.0", Decoder::kOpenJph, From::kPath, "ojph_expand"},
    {"OpenHTJ2K 19a544b", Decoder::kOpenHtj2k, From::kReaders, "open_htj2k_dec"},
    {"Grok 10.0.5", Decoder::kGrok, From::kPath, "grk_decompress"},
    {"FFmpeg 5.1", Decoder::kFfmpeg, From::kPath, "ffmpeg"},
    {"FFmpeg 7.1", Decoder::kFfmpeg, From::kBuild, "build/ffmpeg-7.1/ffmpeg"},
    {"FFmpeg 8.1", Decoder::kFfmpeg, From::kBuild, "build/ffmpeg-8.1/ffmpeg"},
};

bool is_debian_12() {
  const auto text = read_file("/etc/os-release");
  if (!text) return false;
  const std::string all(text->begin(), text->end());
  return all.find("ID=debian") != std::string::npos &&
         all.find("VERSION_ID=\"12\"") != std::string::npos;
}

/// The program of a reader; empty: it is not here. What is in PATH has the version of Debian 12.
std::string path_of(const Reader& reader) {
  if (reader.from == From::kPath)
    return is_debian_12() && have_program(reader.program) ? reader.program : "";
  const char* folder = std::getenv("CJ2K_READERS");
  const std::string readers = folder != nullptr ? folder : CJ2K_SOURCE_DIR "/../shared/readers/bin";
  const std::string path = reader.from == From::kReaders
                               ? readers + "/" + reader.program
                               : std::string(CJ2K_SOURCE_DIR "/") + reader.program;
  return std::filesystem::exists(path) ? path : "";
}

/// The table in the documentation: cells by row and column.
std::map<std::pair<std::string, std::string>, std::string> documented() {
  const auto text = read_file(CJ2K_SOURCE_DIR "/docs/htj2k.md");
  REQUIRE(text);
  std::istringstream lines(std::string(text->begin(), text->end()));
  std::map<std::pair<std::string, std::string>, std::string> cells;
  std::vector<std::string> columns;
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> fields;
    std::istringstream in(line);
    for (std::string field; std::getline(in, field, '|');) {
      const size_t from = field.find_first_not_of(' ');
      const size_t to = field.find_last_not_of(' ');
      fields.push_back(from == std::string::npos ? "" : field.substr(from, to - from + 1));
    }
    if (fields.size() > 2 && fields[1] == "stream") {
      columns = fields;
      continue;
    }
    if (columns.empty() || (fields.size() > 1 && fields[1] == "---")) continue;
    if (fields.size() < 2) break;
    for (size_t i = 2; i < fields.size() && i < columns.size(); ++i)
      cells[{fields[1], columns[i]}] = fields[i];
  }
  return cells;
}

/// A codestream, and the samples that a decoder must show.
struct Made {
  cj2k_params params;
  std::vector<uint8_t> bytes;
  Picture expected;
  int64_t most_off;  ///< the 9/7 is rounded in 32 bits
};
Made make(const Stream& stream, std::pair<int, int> size) {
  Made made{make_params(size.first, size.second, stream.components, stream.depth), {}, {}, 0};
  made.params.coder = CJ2K_CODER_HT;
  std::istringstream settings(stream.settings);
  for (std::string setting; settings >> setting;) {
    const size_t equals = setting.find('=');
    set(made.params, setting.substr(0, equals).c_str(), setting.substr(equals + 1));
  }
  made.expected = make_picture(made.params, Content::kTexture, 3);
  const Encoded encoded = encode(made.params, made.expected);
  REQUIRE_MESSAGE(encoded.status == CJ2K_OK, encoded.log);
  made.bytes = encoded.bytes;
  if (made.params.lossless != 0) return made;
  const Decoded shown = decode(Decoder::kOpenJpeg, made.bytes, made.params);
  REQUIRE_MESSAGE(shown.picture, shown.error);
  CHECK(psnr(made.expected, *shown.picture) > 20);
  made.expected = *shown.picture;
  made.most_off = stream.depth > 12 ? 3 : 1;
  return made;
}

bool is_near(const Picture& a, const Picture& b, int64_t most) {
  if (a.components.size() != b.components.size()) return false;
  for (size_t c = 0; c < a.components.size(); ++c) {
    const auto &x = a.components[c].samples, &y = b.components[c].samples;
    const auto off = [most](int64_t p, int64_t q) { return p - q > most || q - p > most; };
    if (x.size() != y.size()) return false;
    for (size_t i = 0; i < x.size(); ++i) {
      if (off(x[i], y[i])) return false;
    }
  }
  return true;
}

/// What decoders say of a codestream that they do not read. Any other error fails the test.
struct Refusal {
  Decoder decoder;
  const char *says, *cell;
};
constexpr Refusal kRefusals[] = {
    {Decoder::kOpenJph, "supports 1 quality layer only", "refuses"},
    {Decoder::kOpenHtj2k, "cleanup pass suffix length", "refuses"},
    {Decoder::kOpenHtj2k, "Length information for a HT-codeblock is invalid", "refuses"},
    {Decoder::kGrok, "Error in HT block coder", "refuses"},
    {Decoder::kGrok, "Unrecognized code-block style byte 0x48", "refuses"},
    {Decoder::kGrok, "wrote no component 1 of the shape", "as RGB"},
    {Decoder::kFfmpeg, "Invalid data", "refuses"},
};

std::string cell(const Reader& reader, const std::string& program, const std::vector<Made>& all) {
  for (const Made& made : all) {
    const Decoded shown = decode(reader.decoder, made.bytes, made.params, 0, program);
    if (!shown.picture) {
      for (const Refusal& refusal : kRefusals) {
        if (refusal.decoder == reader.decoder &&
            shown.error.find(refusal.says) != std::string::npos)
          return refusal.cell;
      }
      return shown.error;
    }
    if (!is_near(made.expected, *shown.picture, made.most_off)) return "wrong";
  }
  return "yes";
}

}  // namespace

TEST_CASE("HT: decoders read what docs/htj2k.md says") {
  if (!use_decoder(Decoder::kOpenJpeg)) return;
  const auto cells = documented();
  CHECK(cells.size() == kStreams.size() * kReaders.size());
  std::map<std::string, std::string> programs;
  for (const Reader& reader : kReaders) {
    programs[reader.name] = path_of(reader);
    if (programs[reader.name].empty())
      std::printf("SKIPPED: %s is not here, its column is not checked\n", reader.name);
  }
  for (const Stream& stream : kStreams) {
    std::vector<Made> all;
    for (const auto& size : stream.sizes) all.push_back(make(stream, size));
    std::string row = std::string("| ") + stream.name;
    bool differs = false;
    for (const Reader& reader : kReaders) {
      const auto written = cells.find({stream.name, reader.name});
      const std::string is = written == cells.end() ? "no cell" : written->second;
      const std::string& program = programs[reader.name];
      const std::string found = program.empty() ? is : cell(reader, program, all);
      row += " | " + found;
      const std::string column = reader.name;
      CAPTURE(column);
      CHECK(found == is);
      differs |= found != is;
    }
    if (differs) MESSAGE("found: ", row, " |");
  }
}

}  // namespace cj2k::test
