// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Profile x frame rate x size x content: the checker finds nothing in libcj2k's codestreams. Here
// small pictures, in matrix_long.cc those of the profiles.
#include "conformance/matrix.h"

#include <doctest/doctest.h>

#include <string>

namespace cj2k::test {

void check_matrix_point(const MatrixRow& row, cj2k_check::FrameRate fps, Content content,
                        bool full) {
  const std::string name = row.profile;
  const bool cinema = name.rfind("cinema", 0) == 0;
  cj2k_params p = make_params(row.width, row.height, 3, row.depth);
  set(p, "profile", name);
  set(p, "frame_rate", fps.text());
  if (cinema && full) set(p, "cinema_rate", "full");
  const bool part_15 = name.find("_ht") != std::string::npos;
  if (name.size() > 2 && name.substr(name.size() - 2) == "_r") p.lossless = 1;
  if (row.chroma_422) p.dx[1] = p.dx[2] = 2;
  const Encoded encoded = encode(p, make_picture(p, content, 3));
  CAPTURE(name);
  CAPTURE(fps.text());
  CAPTURE(std::string(content_name(content)));
  REQUIRE_MESSAGE(encoded.status == CJ2K_OK, encoded.log);
  cj2k_check::Options options;
  options.fps = fps;
  if (part_15) options.profile = name;  // Rsiz does not name it
  const cj2k_check::FileResult result = cj2k_check::check_bytes(encoded.bytes, options);
  CHECK(result.facts.profile == name);
  uint64_t allowed = 0;
  if (full) allowed += result.report.has("cinema-near-cap");
  // The small pictures of the fast test are no pictures of cinemas.
  if (row.width < 1998) allowed += result.report.has("cinema-picture-size");
  CHECK_MESSAGE(result.report.errors() + result.report.warnings() == allowed,
                cj2k_check::describe(result, false));
}

namespace {

TEST_CASE("matrix of small pictures: profile x frame rate x content") {
  const MatrixRow rows[] = {{"none", 400, 300, 8, false},
                            {"profile0", 400, 300, 8, false},
                            {"profile1", 400, 300, 12, false},
                            {"cinema2k", 512, 270, 12, false},
                            {"cinema4k", 1024, 540, 12, false},
                            {"imf_2k", 640, 360, 10, true},
                            {"imf_4k", 2056, 90, 12, false},
                            {"imf_8k", 4104, 64, 16, false},
                            {"imf_2k_r", 640, 360, 10, false},
                            {"imf_4k_r", 2056, 90, 12, true},
                            {"imf_8k_r", 4104, 64, 16, false},
                            {"broadcast_single", 640, 360, 10, true},
                            {"broadcast_multi", 640, 360, 10, true},
                            {"broadcast_multi_r", 640, 360, 8, false},
                            {"imf_ht", 640, 360, 10, true},
                            {"imf_ht", 2056, 90, 12, false},
                            {"imf_ht", 400, 300, 8, false},
                            {"imf_ht_r", 4104, 64, 16, false},
                            {"imf_ht_r", 640, 360, 10, true},
                            {"dicom_ht", 300, 300, 12, false},
                            {"dicom_ht_r", 300, 300, 12, false},
                            {"dicom_ht_rpcl", 300, 300, 12, false}};
  for (const MatrixRow& row : rows) {
    for (const cj2k_check::FrameRate fps :
         {cj2k_check::FrameRate{24000, 1001}, cj2k_check::FrameRate{60, 1}}) {
      for (const Content content : {Content::kFlat, Content::kTexture, Content::kNoise})
        check_matrix_point(row, fps, content, fps.numerator == 60);
    }
  }
}

}  // namespace
}  // namespace cj2k::test
