// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Caps on synthetic pictures, so that the tests run everywhere.
#include "roundtrip/caps.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>

#include "roundtrip/roundtrip.h"
#include "support/codestream.h"

namespace cj2k::test {
namespace {

constexpr int64_t kEndless = int64_t{1} << 40;

Encoded encode_checked(const cj2k_params& params, const Picture& picture) {
  Encoded encoded = encode(params, picture);
  INFO("parameters: ", describe(params));
  INFO("log: ", encoded.log);
  REQUIRE(encoded.status == CJ2K_OK);
  CHECK(encoded.stats.bytes == static_cast<int64_t>(encoded.bytes.size()));
  return encoded;
}

int64_t size_of(const Encoded& encoded) { return static_cast<int64_t>(encoded.bytes.size()); }

}  // namespace

void check_targets(const cj2k_params& params, const Picture& picture,
                   const std::vector<int64_t>& targets, const std::string& name) {
  cj2k_params p = params;
  p.target_bytes = kEndless;
  const int64_t all = size_of(encode_checked(p, picture));
  for (int64_t target : targets) {
    p.target_bytes = target;
    const int64_t bytes = size_of(encode_checked(p, picture));
    std::printf("%s: %lld of %lld bytes (%.3f %%)\n", name.c_str(), static_cast<long long>(bytes),
                static_cast<long long>(target),
                100.0 * static_cast<double>(bytes) / static_cast<double>(target));
    INFO(name, " target ", target, " bytes ", bytes, " without target ", all);
    CHECK(bytes <= target);
    if (all >= target) {
      CHECK(bytes * 1000 >= target * 999);
    } else {
      CHECK(bytes == all);
    }
  }
}

void check_component_caps(cj2k_params p, const Picture& picture,
                          const std::vector<int64_t>& targets, const std::string& name) {
  set(p, "tile_parts", "component");
  set(p, "progression", "cprl");
  p.target_bytes = kEndless;
  const Encoded all = encode_checked(p, picture);
  for (int64_t target : targets) {
    p.target_bytes = target;
    p.max_component_bytes = target * 4 / 5;
    const Encoded encoded = encode_checked(p, picture);
    const ParsedCodestream parsed = check_codestream(encoded.bytes);
    INFO(name, " target ", target, " bytes ", encoded.bytes.size());
    REQUIRE(parsed.tile_parts.size() == picture.components.size());
    int64_t possible = static_cast<int64_t>(parsed.main_header_bytes) + 2;
    for (size_t c = 0; c < parsed.tile_parts.size(); ++c) {
      const ParsedTilePart& part = parsed.tile_parts[c];
      // The cap includes the header of the tile-part, as validators measure it.
      CHECK(part.psot <= p.max_component_bytes);
      CHECK(static_cast<int64_t>(part.end - part.data) == encoded.stats.component_bytes[c]);
      possible += std::min(all.stats.component_bytes[c], p.max_component_bytes);
    }
    CHECK(size_of(encoded) <= target);
    if (possible >= target) CHECK(size_of(encoded) * 1000 >= target * 999);
  }
}

namespace {

TEST_CASE("generated pictures: targets are filled and never passed") {
  for (Content content :
       {Content::kTexture, Content::kNoise, Content::kEdges, Content::kGradient}) {
    for (const char* wavelet : {"9/7", "5/3"}) {
      cj2k_params p = make_params(640, 360, 3, 12);
      set(p, "wavelet", wavelet);
      set(p, "cblk", "32x32");
      const Picture picture = make_picture(p, content, 23);
      check_targets(p, picture, {5000, 14467, 60000, 150001},
                    std::string(content_name(content)) + " " + wavelet);
    }
  }
}

TEST_CASE("generated pictures: component caps") {
  cj2k_params p = make_params(640, 360, 3, 12);
  set(p, "cblk", "32x32");
  check_component_caps(p, make_picture(p, Content::kTexture, 29), {14467, 60000}, "texture");
  check_component_caps(p, make_picture(p, Content::kNoise, 29), {14467, 60000}, "noise");
  // One component has nearly all bits, so its cap limits the frame.
  Picture lopsided = make_picture(p, Content::kFlat, 31);
  lopsided.components[0] = make_picture(p, Content::kNoise, 31).components[0];
  p.mct = CJ2K_MCT_OFF;
  check_component_caps(p, lopsided, {60000}, "one component");
}

TEST_CASE("targets with tiles, precincts, layers and every marker") {
  cj2k_params p = make_params(300, 200, 3, 8);
  for (const auto& [key, value] : {std::pair{"tile", "150x120"},
                                   {"precincts", "64x64"},
                                   {"layers", "4"},
                                   {"sop", "1"},
                                   {"eph", "1"},
                                   {"progression", "rpcl"}}) {
    set(p, key, value);
  }
  const Picture picture = make_picture(p, Content::kTexture, 37);
  check_targets(p, picture, {12000, 30000}, "tiles");
  set(p, "format", "jp2");
  check_targets(p, picture, {12000, 30000}, "JP2");
}

TEST_CASE("the smallest caps: every size down to the first refusal is kept") {
  cj2k_params p = make_params(97, 61, 3, 8);
  const Picture picture = make_picture(p, Content::kTexture, 41);
  int64_t target = 1500;
  for (; target > 0; target -= 37) {
    p.target_bytes = target;
    const Encoded encoded = encode(p, picture);
    if (encoded.status != CJ2K_OK) {
      CHECK(encoded.status == CJ2K_INVALID);
      CHECK(!encoded.log.empty());
      break;
    }
    CHECK(size_of(encoded) <= target);
  }
  CHECK(target > 0);
  CHECK(target < 400);
}

TEST_CASE("max_frame_bytes caps constant quality") {
  cj2k_params p = make_params(320, 200, 3, 8);
  p.quality = 1;
  const Picture picture = make_picture(p, Content::kTexture, 43);
  const int64_t free = size_of(encode_checked(p, picture));
  p.max_frame_bytes = free;
  CHECK(size_of(encode_checked(p, picture)) == free);
  p.max_frame_bytes = free / 2;
  const int64_t capped = size_of(encode_checked(p, picture));
  CHECK(capped <= free / 2);
  CHECK(capped * 100 >=
        free / 2 * 99);  // a cap is no target: it need not be filled to the last byte
}

}  // namespace
}  // namespace cj2k::test
