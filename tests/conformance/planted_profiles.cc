// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What each profile restricts, wrong once: cj2k-check finds each fault by its rule.
#include <doctest/doctest.h>

#include "conformance/profile_params.h"

namespace cj2k::test {
namespace {

using Body = std::vector<uint8_t>;

constexpr uint16_t kCod = 0xFF52, kTlm = 0xFF55, kPlt = 0xFF58, kQcd = 0xFF5C, kRgn = 0xFF5E,
                   kPoc = 0xFF5F, kPpm = 0xFF60, kCrg = 0xFF63;

constexpr HandMade kCinema2k = {"cinema2k", 3, 2048, 858, 12};
constexpr HandMade kCinema4k = {"cinema4k", 4, 4096, 1716, 12};
constexpr HandMade kImf2k = {"imf_2k", 0x0412, 1920, 300, 10, true};
constexpr HandMade kImf4kReversible = {"imf_4k_r", 0x0803, 1100, 300, 10};
constexpr HandMade kBroadcast = {"broadcast_single", 0x0103, 1920, 300, 10, true};

std::vector<uint8_t> clean(const HandMade& h, int64_t target_bytes = 0) {
  cj2k_params p = hand_made_params(h);
  if (p.lossless == 0 && target_bytes > 0) p.target_bytes = target_bytes;
  const std::vector<uint8_t> bytes = hand_made(h, p);
  REQUIRE(!bytes.empty());
  return bytes;
}

/// Puts a byte at this distance from the COD marker.
std::function<void(Editor&)> cod(size_t field, int value) {
  return [=](Editor& e) { e.put(e.main_marker(kCod) + field, 1, static_cast<uint64_t>(value)); };
}
std::function<void(Editor&)> put(size_t at, int count, uint64_t value) {
  return [=](Editor& e) { e.put(at, count, value); };
}
std::function<void(Editor&)> add(uint16_t code, const Body& body) {
  return [=](Editor& e) { e.add_segment(code, body); };
}

/// What cinema, IMF and broadcast restrict alike.
std::vector<Plant> video_plants() {
  return {
      {"Rsiz", put(6, 2, 2), "profile-rsiz"},
      {"Xsiz", put(8, 4, 20000), "profile-size"},
      {"Ysiz", put(12, 4, 20000), "profile-size"},
      {"XOsiz", put(16, 4, 2), "profile-origin"},
      {"YOsiz", put(20, 4, 2), "profile-origin"},
      {"XTsiz", put(24, 4, 1000), "profile-tiles"},
      {"YTsiz", put(28, 4, 100), "profile-tiles"},
      {"Csiz",
       [](Editor& e) {
         Body body = e.segment(0xFF51);
         body.erase(body.begin(), body.begin() + 4);
         body[35] = 5;
         body.insert(body.end(), {body[36], 1, 1, body[36], 1, 1});
         e.set_body(0xFF51, body);
       },
       "profile-components"},
      {"Ssiz", put(42, 1, 18), "profile-depth"},
      {"signed", put(42, 1, 0x89), "profile-signed"},
      {"XRsiz", put(43, 1, 2), "profile-sampling"},
      {"YRsiz", put(47, 1, 3), "profile-sampling"},
      {"progression", cod(5, 2), "profile-progression"},
      {"layers", cod(7, 2), "profile-layers"},
      {"levels", cod(9, 8), "profile-levels"},
      {"no levels", cod(9, 0), "profile-levels"},
      {"code-block width", cod(10, 2), "profile-blocks"},
      {"code-block height", cod(11, 2), "profile-blocks"},
      {"code-block style", cod(12, 1), "profile-block-style"},
      {"precincts", cod(15, 0x78), "profile-precincts"},
      {"lowest precincts", cod(14, 0x88), "profile-precincts"},
      {"no TLM", [](Editor& e) { e.remove_segment(kTlm); }, "profile-tlm"},
      {"RGN", add(kRgn, {0, 0, 1}), "profile-marker"},
      {"PPM", add(kPpm, {0, 0, 0, 0, 0}), "profile-marker"},
      {"QCD in a tile-part",
       [](Editor& e) {
         Body body = e.segment(kQcd);
         body.erase(body.begin(), body.begin() + 4);
         e.add_segment_in_part(0, kQcd, body);
       },
       "profile-marker-place"},
      {"TNsot", [](Editor& e) { e.put(e.part(0) + 11, 1, 0); }, "profile-tnsot"},
  };
}

std::vector<Plant> joined(std::vector<Plant> a, const std::vector<Plant>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST_CASE("planted: cinema 2K") {
  const std::vector<uint8_t> bytes = clean(kCinema2k, 200000);
  check_plants(bytes, options_of("cinema2k"),
               joined(video_plants(),
                      {{"transform", cod(13, 1), "profile-transform"},
                       {"4 levels", cod(9, 4), "profile-levels"},
                       {"MCT", cod(8, 0), "profile-mct"},
                       {"Scod", cod(4, 7), "profile-scod"},
                       {"guard bits", [](Editor& e) { e.put(e.main_marker(kQcd) + 4, 1, 0x42); },
                        "profile-guard-bits"},
                       {"size of no container", put(8, 4, 2000), "cinema-picture-size"},
                       {"10 bits", put(45, 1, 9), "profile-depth"},
                       {"PLT",
                        [](Editor& e) {
                          e.add_segment_in_part(0, kPlt, {0, 1});
                        },
                        "profile-marker"},
                       {"CRG", add(kCrg, Body(12, 0)), "profile-marker"},
                       {"PRF", add(0xFF56, {0, 1}), "profile-marker"},
                       {"POC", add(kPoc, {0, 0, 0, 1, 6, 3, 4}), "profile-marker"},
                       {"components in the wrong tile-parts",
                        [](Editor& e) {
                          e.add_segment(kPoc, {0, 1, 0, 1, 6, 3, 4, 0, 0, 0, 1, 6, 1, 4});
                        },
                        "profile-marker"}}));
  // 200000 bytes are too many at 250 frames a second, and near the cap at 150.
  check_plants(bytes, options_of("cinema2k", 24),
               {{"nothing", [](Editor& e) { e.put(6, 2, 0); }, "profile-rsiz"}});
  const auto has = [&](uint64_t fps, const char* rule) {
    return cj2k_check::check_bytes(bytes, options_of("cinema2k", fps)).report.has(rule);
  };
  CHECK(has(250, "profile-frame-bytes"));
  CHECK(has(250, "profile-component-bytes"));
  CHECK(!has(150, "profile-frame-bytes"));
  CHECK(has(150, "cinema-near-cap"));
  cj2k_check::Options fast = options_of("cinema2k", 250);
  fast.cinema_megabits = 500;
  CHECK(cj2k_check::check_bytes(bytes, fast).report.errors() == 0);
  CHECK(cj2k_check::check_bytes(bytes, {}).facts.profile == "cinema2k");
}

TEST_CASE("planted: two tile-parts in one, and a tile-part by resolution") {
  cj2k_params p = hand_made_params(kCinema2k);
  p.target_bytes = 50000;
  set(p, "tile_parts", "none");
  CHECK(cj2k_check::check_bytes(hand_made(kCinema2k, p), {}).report.has("profile-tile-parts"));
  set(p, "tile_parts", "resolution");
  set(p, "progression", "rpcl");
  CHECK(cj2k_check::check_bytes(hand_made(kCinema2k, p), {}).report.has("profile-tile-parts"));
}

TEST_CASE("planted: cinema 4K") {
  const std::vector<uint8_t> bytes = clean(kCinema4k, 200000);
  const auto poc = [](size_t field, int value) {
    return [=](Editor& e) { e.put(e.main_marker(kPoc) + field, 1, static_cast<uint64_t>(value)); };
  };
  check_plants(bytes, options_of("cinema4k"),
               joined(video_plants(),
                      {{"5 levels", cod(9, 5), "profile-levels"},
                       {"guard bits", [](Editor& e) { e.put(e.main_marker(kQcd) + 4, 1, 0x22); },
                        "profile-guard-bits"},
                       {"MCT", cod(8, 0), "profile-mct"},
                       {"no POC", [](Editor& e) { e.remove_segment(kPoc); }, "profile-poc"},
                       {"RSpoc", poc(4, 1), "profile-poc"},
                       {"CSpoc", poc(5, 1), "profile-poc"},
                       {"LYEpoc", poc(7, 2), "profile-poc"},
                       {"REpoc", poc(8, 5), "profile-poc"},
                       {"CEpoc", poc(9, 2), "profile-poc"},
                       {"Ppoc", poc(10, 3), "profile-poc"},
                       {"POC in a tile-part",
                        [](Editor& e) {
                          Body body = e.segment(kPoc);
                          body.erase(body.begin(), body.begin() + 4);
                          e.add_segment_in_part(0, kPoc, body);
                        },
                        "profile-marker-place"}}));
  // Tile-parts by component, without the second progression.
  cj2k_params p = hand_made_params(kCinema4k);
  p.target_bytes = 50000;
  set(p, "poc", "");
  const auto report = cj2k_check::check_bytes(hand_made(kCinema4k, p), {}).report;
  CHECK(report.has("profile-poc"));
  CHECK(report.has("profile-tile-parts"));
}

TEST_CASE("planted: IMF") {
  const std::vector<uint8_t> bytes = clean(kImf2k);
  check_plants(bytes, options_of("imf_2k"),
               joined(video_plants(), {{"transform", cod(13, 1), "profile-transform"},
                                       {"POC", add(kPoc, {0, 0, 0, 1, 6, 3, 4}), "profile-marker"},
                                       {"sub level 0", put(6, 2, 0x0402), "profile-sub-level"},
                                       {"sub level 2", put(6, 2, 0x0422), "profile-sub-level"},
                                       {"main level 0", put(6, 2, 0x0410), "profile-level"},
                                       {"main level 12", put(6, 2, 0x041C), "profile-level"}}));
  // 1920x300 in 4:2:2 are 1152000 samples a frame, level 2 is for 130 million a second.
  const auto has = [&](uint64_t fps, const char* rule) {
    return cj2k_check::check_bytes(bytes, options_of("imf_2k", fps)).report.has(rule);
  };
  CHECK(!has(112, "profile-level-samples"));
  CHECK(has(113, "profile-level-samples"));
  CHECK(!has(24, "profile-level-bytes"));
  CHECK(has(25000000 / (bytes.size() - 1) + 1, "profile-level-bytes"));

  check_plants(
      clean(kImf4kReversible), options_of("imf_4k_r"),
      joined(video_plants(), {{"transform", cod(13, 0), "profile-transform"},
                              {"5 levels below tiles of 2048", cod(9, 5), "profile-levels"},
                              {"sub level", put(6, 2, 0x0813), "profile-sub-level"}}));
  // 1100 samples wide: IMF 2K would do.
  cj2k_params p = hand_made_params(kImf4kReversible);
  set(p, "tile", "1024x1024");
  CHECK(cj2k_check::check_bytes(hand_made(kImf4kReversible, p), {}).report.has("imf-picture-size"));
  CHECK_MESSAGE(cj2k_check::check_bytes(hand_made(kImf4kReversible, p), {}).report.errors() == 0,
                findings(hand_made(kImf4kReversible, p)));
}

TEST_CASE("planted: broadcast") {
  const std::vector<uint8_t> bytes = clean(kBroadcast);
  std::vector<Plant> plants = video_plants();
  // Broadcast restricts no size but by its levels.
  std::erase_if(plants, [](const Plant& p) { return std::string(p.rule) == "profile-size"; });
  // 128x32 is allowed.
  std::erase_if(plants, [](const Plant& p) { return std::string(p.rule) == "profile-blocks"; });
  check_plants(bytes, options_of("broadcast_single"),
               joined(plants, {{"code-blocks", cod(10, 1), "profile-blocks"},
                               {"level 0", put(6, 2, 0x0100), "profile-level"},
                               {"level 12", put(6, 2, 0x010C), "profile-level"},
                               {"13 bits", put(42, 1, 12), "profile-depth"}}));
  const auto has = [](const std::vector<uint8_t>& stream, uint64_t fps, const char* rule) {
    return cj2k_check::check_bytes(stream, options_of("auto", fps)).report.has(rule);
  };
  CHECK(has(bytes, 170, "profile-level-samples"));
  CHECK(has(bytes, 25000000 / (bytes.size() - 1) + 1, "profile-level-bytes"));
  // Four tiles for multi-tile profiles, one for the others; 4:2:0 has a warning.
  cj2k_params p = hand_made_params(kBroadcast);
  p.dy[1] = p.dy[2] = 2;
  const HandMade four = {"broadcast_multi", 0x0203, 1920, 300, 10, true};
  set(p, "tile", "960x150");
  CHECK(!has(hand_made(four, p), 24, "profile-tiles"));
  CHECK(has(hand_made(four, p), 24, "broadcast-vertical-chroma"));
  CHECK(has(hand_made(kBroadcast, p), 24, "profile-tiles"));
  set(p, "tile", "640x300");
  CHECK(has(hand_made(four, p), 24, "profile-tiles"));
}

TEST_CASE("planted: Profile 0 and Profile 1") {
  const HandMade profile0 = {"profile0", 1, 300, 200, 8}, profile1 = {"profile1", 2, 300, 200, 8};
  cj2k_params p = hand_made_params(profile0);
  set(p, "tile", "128x128");
  const std::vector<uint8_t> bytes = hand_made(profile0, p);
  check_plants(bytes, options_of("profile0"),
               {{"Rsiz", put(6, 2, 2), "profile-rsiz"},
                {"XOsiz", put(16, 4, 2), "profile-origin"},
                {"tiles", put(24, 4, 100), "profile-tiles"},
                {"subsampling", put(43, 1, 3), "profile-sampling"},
                {"code-blocks", cod(10, 3), "profile-blocks"},
                {"code-block style", cod(12, 2), "profile-block-style"},
                {"PPM", add(kPpm, {0, 0, 0, 0, 0}), "profile-marker"},
                {"QCD in a tile-part",
                 [](Editor& e) {
                   Body body = e.segment(kQcd);
                   body.erase(body.begin(), body.begin() + 4);
                   e.add_segment_in_part(0, kQcd, body);
                 },
                 "profile-marker-place"},
                {"RSpoc", add(kPoc, {1, 0, 0, 1, 6, 3, 0, 0, 0, 0, 1, 6, 3, 0}), "profile-poc"},
                {"order of the tiles",
                 [](Editor& e) {
                   e.put(e.part(0) + 4, 2, 1);
                   e.put(e.part(1) + 4, 2, 0);
                 },
                 "profile-tile-parts"}});
  p = hand_made_params(profile1);
  check_plants(hand_made(profile1, p), options_of("profile1"),
               {{"Rsiz", put(6, 2, 1), "profile-rsiz"},
                {"tiles", put(24, 4, 250), "profile-tiles"},
                {"code-blocks", [](Editor& e) { e.put(e.main_marker(kCod) + 10, 2, 0x0500); },
                 "profile-blocks"},
                {"levels", cod(9, 1), "profile-lowest-resolution"},
                {"CSpoc", add(kPoc, {0, 1, 0, 1, 6, 3, 0, 0, 0, 0, 1, 6, 3, 0}), "profile-poc"}});
  // Resolution 3 is 75x50, resolution 4 is 150x100.
  set(p, "precincts", "64x128,64x64,128x128");
  check_plants(hand_made(profile1, p), options_of("profile1"),
               {{"narrow precincts", cod(17, 0x76), "profile-precincts"},
                {"low precincts", cod(14, 0x67), "profile-precincts"}});
}

}  // namespace
}  // namespace cj2k::test
