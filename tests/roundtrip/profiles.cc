// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Every profile through the public API and three decoders, and the caps of cinema.
#include "roundtrip/profiles.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "roundtrip/roundtrip.h"
#include "support/codestream.h"
#include "support/encode.h"

namespace cj2k::test {

void check_caps(const std::vector<uint8_t>& bytes, int64_t frame_cap, int64_t component_cap,
                CapUse* use) {
  const auto size = static_cast<int64_t>(bytes.size());
  const ParsedCodestream parsed = parse_codestream(bytes);
  CHECK(size <= frame_cap);
  REQUIRE(parsed.tile_parts.size() % 3 == 0);
  int64_t components[3] = {};
  for (const ParsedTilePart& part : parsed.tile_parts) {
    CHECK(part.psot <= component_cap);
    use->most_part = std::max<int64_t>(use->most_part, part.psot);
    components[part.index % 3] += part.psot;
  }
  for (const int64_t component : components) {
    CHECK(component <= component_cap);
    use->most_component = std::max(use->most_component, component);
  }
  use->most_frame = std::max(use->most_frame, size);
  use->least_frame = std::min(use->least_frame, size);
}

cj2k_params cinema_params(const char* profile, int32_t width, int32_t height,
                          const char* frame_rate) {
  cj2k_params p = make_params(width, height, 3, 12);
  set(p, "profile", profile);
  set(p, "frame_rate", frame_rate);
  return p;
}

namespace {

/// The parameters that an encoder for `p` works with.
cj2k_params resolved_by_encoder(const cj2k_params& p) {
  cj2k_encoder* encoder = nullptr;
  REQUIRE(cj2k_encoder_open(&p, &encoder) == CJ2K_OK);
  cj2k_params resolved = {};
  resolved.struct_size = sizeof resolved;
  CHECK(cj2k_encoder_params(encoder, &resolved) == CJ2K_OK);
  cj2k_encoder_close(encoder);
  return resolved;
}

TEST_CASE("profiles: every profile is written, says so, and is read by every decoder") {
  struct Row {
    const char *profile, *frame_rate, *dx;
    int32_t width, height, depth;
    uint32_t rsiz;
  };
  const std::vector<Row> rows = {
      {"none", "0", "1", 200, 120, 8, 0},
      {"profile0", "0", "1,2,2", 200, 120, 8, 1},
      {"profile1", "0", "1", 200, 120, 10, 2},
      {"cinema2k", "24", "1", 200, 120, 12, 3},
      {"cinema4k", "24000/1001", "1", 300, 220, 12, 4},
      {"imf_2k", "25", "1,2,2", 200, 120, 10, 0x0411},
      {"imf_4k", "60", "1", 2050, 16, 12, 0x0511},
      {"imf_8k", "24", "1", 4100, 16, 16, 0x0611},
      {"imf_2k_r", "30", "1", 200, 120, 12, 0x0701},
      {"imf_4k_r", "30", "1", 2050, 16, 16, 0x0801},
      {"imf_8k_r", "30", "1,2,2", 4100, 16, 10, 0x0901},
      {"broadcast_single", "60000/1001", "1,2,2", 200, 120, 10, 0x0101},
      {"broadcast_multi", "50", "1,2,2", 200, 120, 10, 0x0201},
      {"broadcast_multi_r", "50", "1", 200, 120, 12, 0x0301},
  };
  for (const Row& row : rows) {
    INFO(std::string(row.profile));
    cj2k_params p = make_params(row.width, row.height, 3, row.depth);
    for (const auto& [key, value] :
         {std::pair{"profile", row.profile}, {"frame_rate", row.frame_rate}, {"dx", row.dx}}) {
      set(p, key, value);
    }
    cj2k_info info = {};
    info.struct_size = sizeof info;
    REQUIRE(cj2k_params_info(&p, &info) == CJ2K_OK);
    CHECK(static_cast<uint32_t>(info.rsiz) == row.rsiz);
    p = resolved_by_encoder(p);
    const Encoded encoded = check_roundtrip(p, make_picture(p, Content::kTexture, 3), kAllDecoders,
                                            p.lossless ? 0 : quality_floor(p, 2));
    REQUIRE(encoded.status == CJ2K_OK);
    CHECK(get_be(check_codestream(encoded.bytes).siz, 0, 2) == row.rsiz);
  }
}

TEST_CASE("profiles: cinema marker segments") {
  for (const char* profile : {"cinema2k", "cinema4k"}) {
    INFO(std::string(profile));
    const bool is_4k = std::string(profile) == "cinema4k";
    cj2k_params p = cinema_params(profile, 300, 220, "24");
    const std::vector<Encoded> frames = encode_sequence(
        p, {make_picture(p, Content::kFlat, 1), make_picture(p, Content::kNoise, 2)});
    Bytes first_cod, first_qcd;
    for (const Encoded& frame : frames) {
      REQUIRE(frame.status == CJ2K_OK);
      const ParsedCodestream parsed = check_codestream(frame.bytes);
      CHECK(parsed.siz.size() == 45);  // Lsiz 47
      const uint8_t levels = is_4k ? 6 : 5;
      // Scod 1, CPRL, one layer, ICT, levels, blocks 32x32, style 0, 9/7, precincts.
      std::vector<uint8_t> cod = {1, 4, 0, 1, 1, levels, 3, 3, 0, 0, 0x77};
      cod.insert(cod.end(), levels, 0x88);
      CHECK(std::equal(cod.begin(), cod.end(), parsed.cod.begin(), parsed.cod.end()));
      CHECK((parsed.qcd[0] >> 5) == (is_4k ? 2 : 1));
      CHECK(parsed.qcc.empty());
      CHECK(parsed.comments.size() == 1);
      CHECK(parsed.padding.empty());
      REQUIRE(parsed.tlm.size() == parsed.tile_parts.size());
      CHECK(parsed.tile_parts.size() == (is_4k ? 6 : 3));
      const auto& markers = parsed.main_markers;
      CHECK(std::count(markers.begin(), markers.end(), 0xFF5F) == (is_4k ? 1 : 0));  // POC
      if (first_cod.empty()) {
        first_cod = parsed.cod;
        first_qcd = parsed.qcd;
      }
      CHECK(std::equal(first_cod.begin(), first_cod.end(), parsed.cod.begin(), parsed.cod.end()));
      CHECK(std::equal(first_qcd.begin(), first_qcd.end(), parsed.qcd.begin(), parsed.qcd.end()));
    }
  }
}

// The caps are so many bits/s, so a small picture at a high frame rate meets them as a large one
// does at a low rate: 512x270 has a 16th of the samples of 2K and a 64th of those of 4K.
TEST_CASE("profiles: caps of cinema at every frame rate") {
  const std::vector<const char*> rates = {"24", "25", "30",  "48",         "50",
                                          "60", "96", "120", "24000/1001", "60000/1001"};
  for (const char* profile : {"cinema2k", "cinema4k"}) {
    for (const char* cinema_rate : {"safe", "full", "hfr"}) {
      for (const char* rate : rates) {
        INFO(std::string(profile), " ", std::string(cinema_rate), " ", std::string(rate));
        cj2k_params p = cinema_params(profile, 512, 270, rate);
        p.frame_rate_num *= std::string(profile) == "cinema4k" ? 64 : 16;
        set(p, "cinema_rate", cinema_rate);
        if (std::string(cinema_rate) == "hfr" && p.frame_rate_num <= 30 * p.frame_rate_den)
          continue;
        const bool hfr = std::string(cinema_rate) == "hfr";
        const int64_t bits = int64_t{hfr ? 500 : 250} * 1000000;
        const int64_t cap = bits * p.frame_rate_den / (8 * int64_t{p.frame_rate_num});
        const int64_t component_cap =
            bits / 5 * 4 * p.frame_rate_den / (8 * int64_t{p.frame_rate_num});
        CapUse use;
        Picture lopsided = make_picture(p, Content::kFlat, 1);
        lopsided.components[1] = make_picture(p, Content::kNoise, 1).components[1];
        for (const Picture& picture : {make_picture(p, Content::kNoise, 5), lopsided}) {
          const Encoded encoded = encode(p, picture);
          REQUIRE(encoded.status == CJ2K_OK);
          check_caps(encoded.bytes, cap, component_cap, &use);
        }
        // Noise fills what was asked for.
        const int64_t target = std::string(cinema_rate) == "safe" ? cap * 230 / 250 : cap;
        CHECK(use.most_frame <= target + 1);
        CHECK(use.most_frame * 1000 >= target * 990);
      }
    }
  }
}

TEST_CASE("profiles: the smallest frame is padded by comments that are legal in cinema") {
  for (const char* profile : {"cinema2k", "cinema4k"}) {
    for (const int32_t least : {1000, 16384, 70000}) {
      INFO(std::string(profile), " ", least);
      cj2k_params p = cinema_params(profile, 512, 270, "24");
      set(p, "min_frame_bytes", std::to_string(least));
      const Encoded black = encode(p, make_picture(p, Content::kFlat, 1));
      REQUIRE(black.status == CJ2K_OK);
      CHECK(black.bytes.size() == static_cast<size_t>(least));
      const ParsedCodestream parsed = check_codestream(black.bytes);
      CHECK(parsed.comments.size() == 1);
      for (const size_t bytes : parsed.padding) CHECK(bytes >= 7);  // none is empty
    }
  }
}

TEST_CASE("profiles: a frame's own caps stay under the profile's") {
  const cj2k_params p = cinema_params("cinema2k", 200, 120, "24");
  LogText log;
  cj2k_params logged = p;
  logged.log = LogText::append;
  logged.log_opaque = &log;
  cj2k_encoder* encoder = nullptr;
  REQUIRE(cj2k_encoder_open(&logged, &encoder) == CJ2K_OK);
  FrameMemory memory(make_picture(p, Content::kTexture, 1));
  memory.frame.target_bytes = 1302084;
  CHECK(cj2k_encoder_send_frame(encoder, &memory.frame) == CJ2K_INVALID);
  CHECK(log.text.find("frame: target_bytes 1302084: profile cinema2k has at most 1302083") !=
        std::string::npos);
  memory.frame.target_bytes = 0;
  memory.frame.max_component_bytes = 1041667;
  CHECK(cj2k_encoder_send_frame(encoder, &memory.frame) == CJ2K_INVALID);
  memory.frame.max_component_bytes = 1041666;
  CHECK(cj2k_encoder_send_frame(encoder, &memory.frame) == CJ2K_OK);
  cj2k_encoder_close(encoder);
}

}  // namespace
}  // namespace cj2k::test
