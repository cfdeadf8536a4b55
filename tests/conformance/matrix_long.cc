// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The matrix at the sizes of the profiles.
#include <doctest/doctest.h>

#include "conformance/matrix.h"

namespace cj2k::test {
namespace {

using cj2k_check::FrameRate;

const std::vector<FrameRate> kRates = {{24000, 1001}, {24, 1}, {25, 1}, {30, 1},
                                       {48, 1},       {50, 1}, {60, 1}};

void check_rows(const std::vector<MatrixRow>& rows, const std::vector<FrameRate>& rates,
                const std::vector<Content>& contents) {
  for (const MatrixRow& row : rows) {
    for (const FrameRate& fps : rates) {
      for (const Content content : contents) {
        check_matrix_point(row, fps, content);
        if (row.profile[0] == 'c') check_matrix_point(row, fps, content, true);
      }
    }
  }
}

TEST_CASE("matrix: cinema at all frame rates") {
  check_rows({{"cinema2k", 2048, 1080, 12, false},
              {"cinema2k", 1998, 1080, 12, false},
              {"cinema2k", 2048, 858, 12, false}},
             kRates, {Content::kFlat, Content::kTexture, Content::kNoise});
  check_rows({{"cinema4k", 4096, 2160, 12, false}}, kRates,
             {Content::kFlat, Content::kTexture, Content::kNoise});
  check_rows({{"cinema4k", 3996, 2160, 12, false}, {"cinema4k", 4096, 1716, 12, false}},
             {{24, 1}, {60, 1}}, {Content::kFlat, Content::kTexture, Content::kNoise});
}

TEST_CASE("matrix: IMF and broadcast at 2K and 4K") {
  check_rows({{"imf_2k", 1920, 1080, 10, true},
              {"imf_2k", 2048, 1556, 12, false},
              {"imf_2k_r", 1920, 1080, 10, false},
              {"broadcast_single", 1920, 1080, 10, true}},
             kRates, {Content::kFlat, Content::kTexture, Content::kNoise});
  check_rows({{"imf_4k", 3840, 2160, 12, false},
              {"imf_4k_r", 3840, 2160, 10, true},
              {"broadcast_multi", 3840, 2160, 10, true},
              {"broadcast_multi_r", 3840, 2160, 12, false}},
             {{24000, 1001}, {25, 1}, {60, 1}},
             {Content::kFlat, Content::kTexture, Content::kNoise});
}

TEST_CASE("matrix: IMF with HTJ2K at 2K, 4K and 8K") {
  check_rows({{"imf_ht", 1920, 1080, 10, true},
              {"imf_ht", 3840, 2160, 12, false},
              {"imf_ht", 4096, 2160, 8, false},
              {"imf_ht_r", 3840, 2160, 12, false},
              {"imf_ht_r", 7680, 4320, 16, true}},
             {{24, 1}}, {Content::kFlat, Content::kTexture, Content::kNoise});
}

TEST_CASE("matrix: 8K") {
  check_rows({{"imf_8k", 8192, 4320, 12, false}, {"imf_8k_r", 7680, 4320, 10, true}},
             {{24, 1}, {60, 1}}, {Content::kFlat, Content::kTexture, Content::kNoise});
}

}  // namespace
}  // namespace cj2k::test
