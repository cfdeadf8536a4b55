// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Rate control of GOPs on the device: the bytes and the statistics of the CPU, one wait, and the
// frames that are left to the host. The waits are counted on the shim.
#include "backend_check.h"
#include "kernels/simt/device.h"

namespace cj2k::simt::test {
namespace {

constexpr int kFrames = 4;

uint64_t launches_of(const std::string& name) {
  for (const KernelInfo* kernel = KernelInfo::first(); kernel != nullptr; kernel = kernel->next) {
    if (kernel->name == "cj2k_" + name) return kernel->num_launches();
  }
  FAIL("no kernel ", name);
  return 0;
}

/// All that does not depend on time or on the GOP.
void check_stats(const cj2k_stats& actual, const cj2k_stats& expected) {
  CHECK(actual.bytes == expected.bytes);
  CHECK(actual.header_bytes == expected.header_bytes);
  CHECK(actual.blocks == expected.blocks);
  CHECK(actual.passes_coded == expected.passes_coded);
  CHECK(actual.passes_included == expected.passes_included);
  CHECK(actual.slope_threshold == expected.slope_threshold);
  CHECK(actual.passes_resumed == expected.passes_resumed);
  CHECK(actual.bytes_coded == expected.bytes_coded);
  CHECK(actual.passes_left == expected.passes_left);
  for (int c = 0; c < CJ2K_MAX_COMPONENTS; ++c) {
    CHECK(actual.component_bytes[c] == expected.component_bytes[c]);
    CHECK(actual.mse[c] == expected.mse[c]);
  }
}

/// Where the frames of a GOP were allocated.
enum class Where {
  kDevice,
  kFinished,  ///< on the device, but blocks of some frames went on: the host did the rest
  kHost,      ///< the device was not asked
};

struct Row {
  const char* name;
  Settings settings;
  Content content;
  Where where;
};

/// @return passes that were coded after their blocks had paused
int64_t check_row(const Row& row, const char* tier1) {
  cj2k_params p = backend_params(92, 92, 1,
                                 {{"levels", "1"},
                                  {"cblk", "4x4"},
                                  {"threads", "2"},
                                  {"gop", std::to_string(kFrames)},
                                  {"async_depth", std::to_string(kFrames)}});
  cj2k::test::set(p, "tier1", tier1);
  for (const auto& [key, value] : row.settings) cj2k::test::set(p, key, value);
  std::vector<Picture> pictures;
  for (uint64_t i = 0; i < kFrames; ++i)
    pictures.push_back(cj2k::test::make_picture(p, row.content, 41 + i));
  const std::vector<Encoded> expected = on_cpu(p, pictures);
  cj2k::test::set(p, "device", "cuda");
  start_machine();
  int64_t resumed = 0;
  {
    const HostFrames frames(pictures);
    Session session(p);
    CAPTURE(session.log.text());
    REQUIRE(session.opened == CJ2K_OK);
    const uint64_t written = launches_of("packet_bodies"), marked = launches_of("resume_blocks");
#if defined(CJ2K_SIMT_SHIM)
    const shim::HostCalls before = shim::host_calls();
#endif
    for (size_t i = 0; i < kFrames; ++i) REQUIRE(session.send(frames[i]) == CJ2K_OK);
    session.drain();
    check_packets(session, expected);
    for (size_t i = 0; i < kFrames; ++i) {
      CAPTURE(i);
      check_stats(session.results[i].stats, expected[i].stats);
      resumed += session.results[i].stats.passes_resumed;
    }
    CHECK((launches_of("packet_bodies") > written) == (row.where != Where::kHost));
    // Before and after a round of blocks that resume, and to let the host go on.
    CHECK((launches_of("resume_blocks") - marked == 3) == (row.where == Where::kFinished));
#if defined(CJ2K_SIMT_SHIM)
    if (row.where == Where::kDevice) CHECK(shim::host_calls().waits - before.waits == 1);
#endif
  }
  CHECK(left_behind() == "");
  return resumed;
}

TEST_CASE("rate control on the device: bytes and statistics of the CPU, with one wait") {
  using enum Content;
  const Row rows[] = {
      // clang-format off
      {"exact", {{"target_bytes", "2500"}}, kTexture, Where::kDevice},
      {"5/3, SOP and EPH", {{"target_bytes", "5000"}, {"wavelet", "5/3"}, {"sop", "1"}, {"eph", "1"}}, kEdges, Where::kDevice},
      {"a round of blocks that resume", {{"target_bytes", "800"}}, kTexture, Where::kDevice},
      {"blocks go on after it", {{"target_bytes", "2500"}}, kEdges, Where::kFinished},
      {"none", {{"stop", "none"}, {"target_bytes", "900"}}, kTexture, Where::kDevice},
      {"the cap is not used up", {{"target_bytes", "100000"}}, kFlat, Where::kDevice},
      {"cap of components", {{"max_component_bytes", "2000"}}, kTexture, Where::kDevice},
      {"a cap and a quality", {{"target_bytes", "2500"}, {"quality", "8"}}, kNoise, Where::kDevice},
      {"pst", {{"stop", "pst"}, {"target_bytes", "900"}}, kTexture, Where::kDevice},
      {"quality alone", {{"quality", "8"}}, kTexture, Where::kHost},
      {"lossless", {{"lossless", "1"}}, kEdges, Where::kDevice},
      {"lossless, nothing in it", {{"lossless", "1"}}, kFlat, Where::kDevice},
      {"lossless, noise", {{"lossless", "1"}, {"cblk", "8x8"}}, kNoise, Where::kDevice},
      {"lossless, layers", {{"lossless", "1"}, {"layers", "2"}}, kEdges, Where::kHost},
      {"lossless, segments", {{"lossless", "1"}, {"cblk_style", "termall"}}, kEdges, Where::kHost},
      {"lossless, PLT", {{"lossless", "1"}, {"plt", "1"}}, kEdges, Where::kHost},
      {"lossless, measured errors", {{"lossless", "1"}, {"measure_mse", "1"}}, kEdges, Where::kHost},
      {"segments", {{"target_bytes", "2500"}, {"cblk_style", "bypass"}}, kTexture, Where::kHost},
      {"layers", {{"target_bytes", "2500"}, {"layers", "3"}}, kTexture, Where::kHost},
      {"measured errors", {{"target_bytes", "2500"}, {"measure_mse", "1"}}, kTexture, Where::kHost},
      // clang-format on
  };
  int64_t resumed = 0;
  for (const Row& row : rows) {
    for (const char* tier1 : {"classic", "cibo", "fused"}) {
      if (row.where == Where::kHost && std::string(tier1) != "classic") continue;
      INFO(std::string(row.name), ", ", std::string(tier1));
      resumed += check_row(row, tier1);
    }
  }
  CHECK(resumed > 0);
}

TEST_CASE("rate control on the device: short GOPs, and frames with caps of their own") {
  cj2k_params p = backend_params(92, 92, 1,
                                 {{"levels", "1"},
                                  {"cblk", "4x4"},
                                  {"threads", "2"},
                                  {"gop", "4"},
                                  {"async_depth", "4"},
                                  {"target_bytes", "2500"}});
  std::vector<Picture> pictures;
  for (uint64_t i = 0; i < kFrames; ++i)
    pictures.push_back(cj2k::test::make_picture(p, Content::kTexture, 40 + i));
  cj2k_params other = p;
  cj2k::test::set(other, "target_bytes", "1200");
  const std::vector<Encoded> expected = on_cpu(p, pictures);
  const std::vector<Encoded> smaller = on_cpu(other, pictures);
  cj2k::test::set(p, "device", "cuda");
  for (const int frames : {1, 3, 4}) {
    start_machine();
    {
      const HostFrames host(pictures);
      Session session(p);
      REQUIRE(session.opened == CJ2K_OK);
      for (int i = 0; i < frames; ++i) {
        cj2k_frame frame = host[static_cast<size_t>(i)];
        if (i % 2 == 1) frame.target_bytes = 1200;
        REQUIRE(session.send(frame) == CJ2K_OK);
      }
      session.drain();
      REQUIRE(session.results.size() == static_cast<size_t>(frames));
      for (size_t i = 0; i < session.results.size(); ++i) {
        const Encoded& one = i % 2 == 1 ? smaller[i] : expected[i];
        CHECK(session.results[i].bytes == one.bytes);
        check_stats(session.results[i].stats, one.stats);
      }
    }
    CHECK(left_behind() == "");
  }
}

/// Encodes pictures in GOPs of three. @return calls that left frames to the host
uint64_t check_lossless(const Settings& settings) {
  cj2k_params p = backend_params(97, 75, 3,
                                 {{"lossless", "1"},
                                  {"cblk", "16x16"},
                                  {"levels", "3"},
                                  {"threads", "2"},
                                  {"gop", "3"},
                                  {"async_depth", "3"}});
  for (const auto& [key, value] : settings) cj2k::test::set(p, key, value);
  INFO(cj2k::test::describe(p));
  std::vector<Picture> pictures;
  for (const Content content : cj2k::test::kAllContents)
    pictures.push_back(cj2k::test::make_picture(p, content, 60 + pictures.size()));
  const std::vector<Encoded> expected = on_cpu(p, pictures);
  cj2k::test::set(p, "device", "cuda");
  start_machine();
  uint64_t left = 0;
  {
    const HostFrames frames(pictures);
    Session session(p);
    CAPTURE(session.log.text());
    REQUIRE(session.opened == CJ2K_OK);
    const uint64_t written = launches_of("packet_bodies"), released = launches_of("resume_blocks");
    for (size_t i = 0; i < pictures.size(); ++i) REQUIRE(session.send(frames[i]) == CJ2K_OK);
    session.drain();
    check_packets(session, expected);
    for (size_t i = 0; i < pictures.size(); ++i) {
      CAPTURE(i);
      check_stats(session.results[i].stats, expected[i].stats);
      CHECK(session.results[i].stats.rounds == expected[i].stats.rounds);
    }
    CHECK(launches_of("packet_bodies") - written >= 2);
    left = launches_of("resume_blocks") - released;
  }
  CHECK(left_behind() == "");
  return left;
}

TEST_CASE("rate control on the device: lossless frames of all kinds") {
  const Settings cases[] = {
      {{"depth", "1"}, {"cblk", "4x4"}},
      {{"depth", "8"}, {"mct", "off"}, {"width", "1"}, {"height", "1"}, {"levels", "0"}},
      {{"depth", "10"},
       {"cblk", "64x64"},
       {"dx", "1,2,2"},
       {"dy", "1,2,2"},
       {"progression", "cprl"}},
      {{"depth", "12"}, {"cblk", "32x32"}, {"precincts", "32x32"}, {"progression", "rpcl"}},
      {{"depth", "12"}, {"tile_parts", "resolution"}, {"progression", "rlcp"}, {"sop", "1"}},
      {{"depth", "16"}, {"is_signed", "1"}, {"num_components", "1"}, {"cblk", "8x8"}},
      {{"depth", "16"}, {"num_components", "4"}, {"cblk", "1024x4"}, {"levels", "1"}},
      {{"tile", "40x33"}, {"tile_offset", "3x5"}, {"image_offset", "7x9"}, {"eph", "1"}},
      {{"tile", "40x33"}, {"tile_parts", "component"}, {"progression", "pcrl"}, {"tlm", "1"}},
      {{"poc", "0,0,1,3,3,cprl/3,0,1,4,3,cprl"}, {"tile_parts", "component"}},
      {{"format", "jp2"}, {"precincts", "16x16"}, {"cblk", "4x8"}, {"levels", "5"}},
      {{"cblk_style", "reset+vsc+segsym"}, {"min_frame_bytes", "30000"}},
      {{"roi", "30,20,25,20"}, {"cblk", "8x8"}},
      {{"levels", "0"}, {"cblk", "4x4"}, {"width", "64"}, {"height", "64"}},
  };
  uint64_t left = 0;
  for (const Settings& settings : cases) left += check_lossless(settings);
  CHECK(left == 0);
  // Tile-parts that take more than the memory of the samples: of one sample each.
  CHECK(check_lossless({{"tile", "1x1"}, {"levels", "0"}, {"width", "23"}, {"height", "9"}}) > 0);
}

/// A GOP that takes far more bytes than the one before it writes its tile-parts twice.
TEST_CASE("rate control on the device: lossless frames that take more room than the GOP before") {
  cj2k_params p = backend_params(92, 92, 1,
                                 {{"lossless", "1"},
                                  {"levels", "1"},
                                  {"cblk", "8x8"},
                                  {"threads", "2"},
                                  {"gop", std::to_string(kFrames)},
                                  {"async_depth", std::to_string(kFrames)}});
  cj2k_params on_device = p;
  cj2k::test::set(on_device, "device", "cuda");
  using enum Content;
  const struct {
    Content content;
    size_t frames;
    uint64_t times;
  } gops[] = {{kNoise, kFrames, 1}, {kFlat, kFrames, 1},  {kNoise, 1, 2},   {kNoise, kFrames, 1},
              {kFlat, 1, 1},        {kEdges, kFrames, 2}, {kTexture, 2, 2}, {kFlat, kFrames, 1}};
  start_machine();
  {
    Session session(on_device);
    REQUIRE(session.opened == CJ2K_OK);
    for (const auto& gop : gops) {
      CAPTURE(&gop - gops);
      std::vector<Picture> pictures;
      for (uint64_t i = 0; i < gop.frames; ++i)
        pictures.push_back(cj2k::test::make_picture(p, gop.content, 70 + i));
      const std::vector<Encoded> expected = on_cpu(p, pictures);
      const HostFrames frames(pictures);
      session.results.clear();
      session.accepted.clear();
      const uint64_t written = launches_of("packet_bodies"), left = launches_of("resume_blocks");
#if defined(CJ2K_SIMT_SHIM)
      const shim::HostCalls before = shim::host_calls();
      const auto allocations = shim::num_allocations();
#endif
      for (size_t i = 0; i < gop.frames; ++i) REQUIRE(session.send(frames[i]) == CJ2K_OK);
      session.drain();
      REQUIRE(cj2k_encoder_flush(session.encoder) == CJ2K_OK);
      check_packets(session, expected);
      for (size_t i = 0; i < gop.frames; ++i)
        check_stats(session.results[i].stats, expected[i].stats);
      CHECK(launches_of("packet_bodies") - written == gop.times);
      CHECK(launches_of("resume_blocks") == left);
#if defined(CJ2K_SIMT_SHIM)
      CHECK(shim::host_calls().waits - before.waits == gop.times);
      // The first GOP allocates the memory for frames on their way up.
      if (&gop > gops) CHECK(shim::num_allocations() == allocations);
#endif
    }
  }
  CHECK(left_behind() == "");
}

}  // namespace
}  // namespace cj2k::simt::test
