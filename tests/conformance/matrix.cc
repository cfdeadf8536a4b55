// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Profile x frame rate x size x content: the checker finds nothing in libcj2k's codestreams. Here
// small pictures, in matrix_long.cc those of the profiles.
#include "conformance/matrix.h"

#include <doctest/doctest.h>

#include <string>

namespace cj2k::test {
namespace {

/// MSamples/s of the main levels 1 .. 11, the highest sub level of each, Mbit/s in broadcast.
struct LevelRow {
  int megasamples, sub_level, broadcast_megabits;
};
constexpr LevelRow kLevelRows[] = {{65, 1, 200},      {130, 1, 200},    {195, 1, 200},
                                   {260, 2, 400},     {520, 3, 800},    {1200, 4, 1600},
                                   {2400, 5, 3200},   {4800, 6, 6400},  {9600, 7, 12800},
                                   {19200, 8, 25600}, {38400, 9, 51200}};

/// Rsiz and the cap of a frame in bytes; 0: none.
struct Limit {
  uint16_t rsiz = 0;
  int64_t bytes = 0;
};

/// Levels hold `samples` a second, and in lossless broadcast frames of `bytes`.
Limit limit_of(const MatrixRow& row, cj2k_check::FrameRate fps, size_t bytes) {
  const std::string name = row.profile;
  if (name.rfind("cinema", 0) == 0) return {row.rsiz, static_cast<int64_t>(fps.bytes(250))};
  const bool imf = name.rfind("imf", 0) == 0;
  if (!imf && name.rfind("broadcast", 0) != 0) return {row.rsiz, 0};
  const double samples = 1.0 * row.width * row.height * (row.chroma_422 ? 2 : 3);
  const double rate = static_cast<double>(fps.numerator) / static_cast<double>(fps.denominator);
  for (uint16_t level = 1; level <= 11; ++level) {
    const LevelRow& found = kLevelRows[level - 1];
    const auto rsiz = static_cast<uint16_t>(row.rsiz + level);
    const uint64_t most = imf ? fps.bytes(uint64_t{100} << found.sub_level)
                              : fps.bytes(static_cast<uint64_t>(found.broadcast_megabits));
    const bool reversible = name.back() == 'r';
    if (samples * rate > found.megasamples * 1e6) continue;
    if (imf && reversible) return {rsiz, 0};
    if (reversible && bytes > most) continue;
    return {static_cast<uint16_t>(rsiz + (imf ? 16 * found.sub_level : 0)),
            static_cast<int64_t>(most)};
  }
  FAIL("no level for ", name);
  return {};
}

}  // namespace

void check_matrix_point(const MatrixRow& row, cj2k_check::FrameRate fps, Content content) {
  const Limit limit = limit_of(row, fps, 0);
  const HandMade h = {row.profile, limit.rsiz, row.width, row.height, row.depth, row.chroma_422};
  cj2k_params p = hand_made_params(h);
  const std::string name = row.profile;
  if (p.lossless == 0 && limit.bytes > 0) p.target_bytes = limit.bytes;
  if (name.rfind("cinema", 0) == 0) p.max_component_bytes = static_cast<int64_t>(fps.bytes(200));
  std::vector<uint8_t> bytes = hand_made(h, p, content);
  CAPTURE(name);
  CAPTURE(fps.text());
  CAPTURE(std::string(content_name(content)));
  REQUIRE(!bytes.empty());
  bytes[7] = static_cast<uint8_t>(limit_of(row, fps, bytes.size()).rsiz);
  cj2k_check::Options options;
  options.fps = fps;
  const cj2k_check::FileResult result = cj2k_check::check_bytes(bytes, options);
  CHECK(result.facts.profile == name);
  // A frame that fills the cap is above what some checkers warn of.
  const uint64_t allowed =
      result.report.has("cinema-near-cap") + result.report.has("cinema-picture-size");
  CHECK_MESSAGE(result.report.errors() + result.report.warnings() == allowed,
                cj2k_check::describe(result, false));
}

namespace {

TEST_CASE("matrix of small pictures: profile x frame rate x content") {
  const MatrixRow rows[] = {{"none", 0, 400, 300, 8, false},
                            {"profile0", 1, 400, 300, 8, false},
                            {"profile1", 2, 400, 300, 12, false},
                            {"cinema2k", 3, 512, 270, 12, false},
                            {"cinema4k", 4, 1024, 540, 12, false},
                            {"imf_2k", 0x0400, 640, 360, 10, true},
                            {"imf_4k", 0x0500, 640, 360, 12, false},
                            {"imf_8k", 0x0600, 640, 360, 16, false},
                            {"imf_2k_r", 0x0700, 640, 360, 10, false},
                            {"imf_4k_r", 0x0800, 640, 360, 12, true},
                            {"imf_8k_r", 0x0900, 640, 360, 16, false},
                            {"broadcast_single", 0x0100, 640, 360, 10, true},
                            {"broadcast_multi", 0x0200, 640, 360, 10, true},
                            {"broadcast_multi_r", 0x0300, 640, 360, 8, false}};
  for (const MatrixRow& row : rows) {
    for (const cj2k_check::FrameRate fps :
         {cj2k_check::FrameRate{24000, 1001}, cj2k_check::FrameRate{60, 1}}) {
      for (const Content content : {Content::kFlat, Content::kTexture, Content::kNoise})
        check_matrix_point(row, fps, content);
    }
  }
}

}  // namespace
}  // namespace cj2k::test
