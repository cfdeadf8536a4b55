// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What a GOP of 8 frames asks of the driver: waits, launches, fills and copies. The numbers are
// those of the code as it is, so that a change of them shows here.
#include "backend_check.h"
#include "kernels/simt/device.h"

namespace cj2k::simt::test {
namespace {

constexpr int kFrames = 8;

/// Frames in the device memory of an application, one component of 8 bits each.
class DeviceFrames {
 public:
  DeviceFrames(const std::vector<Picture>& pictures, bool with_release) {
    const Log quiet;
    REQUIRE(Context::open({}, quiet, &context_) == Status::kOk);
    Stream stream;
    REQUIRE(stream.create(*context_) == Status::kOk);
    for (const Picture& picture : pictures) {
      const FrameMemory host(picture);
      frames_.push_back(host.frame);
      cj2k_frame& frame = frames_.back();
      frame.memory = CJ2K_MEMORY_CUDA;
      frame.pts = static_cast<int64_t>(frames_.size()) - 1;
      if (with_release) {
        frame.release = [](void* count) { ++*static_cast<std::atomic<size_t>*>(count); };
        frame.release_opaque = &released_;
      }
      const auto bytes = static_cast<size_t>(frame.components[0].stride_bytes) *
                         static_cast<size_t>(picture.components[0].height);
      buffers_.emplace_back();
      REQUIRE(buffers_.back().allocate(*context_, bytes) == Status::kOk);
      REQUIRE(stream.upload(buffers_.back().as<uint8_t>(), frame.components[0].data, bytes) ==
              Status::kOk);
      REQUIRE(stream.synchronize() == Status::kOk);
      frame.components[0].data = buffers_.back().as<uint8_t>();
    }
  }
  const cj2k_frame& operator[](size_t i) const { return frames_[i]; }
  size_t released() const { return released_; }

 private:
  std::atomic<size_t> released_ = 0;
  std::unique_ptr<Context> context_;
  std::vector<DeviceBuffer> buffers_;
  std::vector<cj2k_frame> frames_;
};

struct Counts {
  shim::HostCalls calls;
  int64_t resumed;  ///< passes coded after their block had paused
};

shim::HostCalls since(const shim::HostCalls& before) {
  const shim::HostCalls now = shim::host_calls();
  return {now.waits - before.waits,
          now.launches - before.launches,
          now.fills - before.fills,
          now.uploads - before.uploads,
          now.upload_bytes - before.upload_bytes,
          now.downloads - before.downloads,
          now.download_bytes - before.download_bytes};
}

/// Encodes the same GOP twice, and counts the calls of the second time, when all that depends on the
/// GOP before has settled. Every packet is the CPU's.
Counts count(cj2k_params p, Content content, uint64_t seed) {
  cj2k::test::set(p, "gop", std::to_string(kFrames));
  cj2k::test::set(p, "async_depth", std::to_string(kFrames));
  std::vector<Picture> pictures;
  for (uint64_t i = 0; i < kFrames; ++i)
    pictures.push_back(cj2k::test::make_picture(p, content, seed + i));
  const std::vector<Encoded> expected = on_cpu(p, pictures);
  cj2k::test::set(p, "device", "cuda");
  start_machine();
  Counts counts{};
  {
    const DeviceFrames frames(pictures, false);
    Session session(p);
    REQUIRE(session.opened == CJ2K_OK);
    for (int round = 0; round < 2; ++round) {
      session.results.clear();
      session.accepted.clear();
      const shim::HostCalls before = shim::host_calls();
      for (size_t i = 0; i < kFrames; ++i) REQUIRE(session.send(frames[i]) == CJ2K_OK);
      session.drain();
      REQUIRE(cj2k_encoder_flush(session.encoder) == CJ2K_OK);
      counts = {since(before), 0};
      for (const Result& result : session.results) counts.resumed += result.stats.passes_resumed;
      if (p.stop != CJ2K_STOP_PST) check_packets(session, expected);
    }
  }
  CHECK(left_behind() == "");
  return counts;
}

/// @param has_sample  enough blocks for the sample of exact (depth/early_stop.cc)
cj2k_params params_of(const char* tier1, bool has_sample, Settings settings) {
  const int32_t side = has_sample ? 92 : 40;
  cj2k_params p = backend_params(
      side, side, 1, {{"levels", "1"}, {"cblk", has_sample ? "4x4" : "8x8"}, {"threads", "2"}});
  cj2k::test::set(p, "tier1", tier1);
  for (const auto& [key, value] : settings) cj2k::test::set(p, key, value);
  return p;
}

TEST_CASE("backend: waits, launches and copies of a GOP of 8 frames in device memory") {
  struct Row {
    const char* name;
    Settings settings;
    Content content;
    bool has_sample;
    bool resumes;
    uint64_t launches[3], fills[3];  ///< classic, cibo, fused
    // The same with every form of tier-1.
    uint64_t waits, uploads, upload_bytes, downloads, download_bytes;
  };
  using enum Content;
  const Row rows[] = {
      // clang-format off
      {"exact", {{"target_bytes", "2500"}}, kTexture, true, false,
       {44, 135, 30}, {9, 7, 7}, 9, 0, 0, 5, 58316},
      {"exact, one round of blocks that resume", {{"target_bytes", "800"}}, kTexture, true, true,
       {44, 135, 30}, {9, 7, 7}, 9, 0, 0, 5, 44748},
      {"exact, two rounds: the host does the second", {{"target_bytes", "2500"}}, kEdges, true, true,
       {59, 179, 39}, {15, 12, 12}, 11, 5, 21256, 16, 146420},
      {"none", {{"stop", "none"}, {"target_bytes", "300"}}, kTexture, false, false,
       {19, 52, 17}, {4, 4, 4}, 9, 1, 64, 4, 5772},
      {"psb", {{"stop", "psb"}, {"target_bytes", "300"}}, kTexture, false, true,
       {96, 96, 72}, {17, 6, 17}, 9, 0, 0, 5, 61900},
      {"bpi", {{"stop", "bpi"}, {"target_bytes", "300"}}, kTexture, false, true,
       {84, 84, 60}, {17, 6, 17}, 9, 0, 0, 5, 35324},
      {"pst", {{"stop", "pst"}, {"target_bytes", "300"}}, kTexture, false, false,
       {19, 52, 17}, {4, 4, 4}, 9, 1, 64, 4, 5772},
      {"quality", {{"quality", "4"}}, kTexture, false, false,
       {16, 49, 14}, {4, 4, 4}, 9, 1, 64, 5, 69324},
      {"lossless", {{"lossless", "1"}}, kTexture, false, false,
       {19, 49, 17}, {4, 4, 4}, 9, 1, 64, 4, 14604},
      // clang-format on
  };
  constexpr const char* kTier1[] = {"classic", "cibo", "fused"};
  for (const Row& row : rows) {
    for (size_t i = 0; i < 3; ++i) {
      INFO(std::string(row.name), ", ", std::string(kTier1[i]));
      const Counts counts =
          count(params_of(kTier1[i], row.has_sample, row.settings), row.content, 40);
      CHECK((counts.resumed > 0) == row.resumes);
      CHECK(counts.calls.waits == row.waits);
      CHECK(counts.calls.launches == row.launches[i]);
      CHECK(counts.calls.fills == row.fills[i]);
      CHECK(counts.calls.uploads == row.uploads);
      CHECK(counts.calls.upload_bytes == row.upload_bytes);
      CHECK(counts.calls.downloads == row.downloads);
      CHECK(counts.calls.download_bytes == row.download_bytes);
    }
  }
}

/// Nothing is waited for between the transform and the results of blocks: 8 waits read the frames, and one is
/// for each launch of blocks, of which the last one brings tile-parts. Where the host chooses, one more is
/// for the bytes that were chosen.
TEST_CASE("backend: waits, launches and copies of a GOP of 8 frames with HT") {
  struct Row {
    const char* name;
    Settings settings;
    bool is_large;
    shim::HostCalls calls;
  };
  const Row rows[] = {
      // clang-format off
      {"exact", {{"target_bytes", "12000"}}, true, {14, 37, 7, 6, 82576, 16, 3220188}},
      {"exact: some frames are coded anew", {{"target_bytes", "2500"}}, true, {17, 43, 9, 8, 102288, 46, 9360972}},
      {"exact, few blocks: the host chooses", {{"target_bytes", "300"}}, false, {13, 21, 4, 5, 7136, 12, 510448}},
      {"exact, effort 2", {{"target_bytes", "12000"}, {"effort", "2"}}, true, {15, 38, 6, 7, 193776, 18, 7695568}},
      {"lossless", {{"lossless", "1"}}, false, {9, 16, 3, 1, 1152, 4, 15628}},
      {"quality", {{"quality", "4"}}, false, {13, 21, 4, 5, 15056, 12, 711376}},
      {"none", {{"stop", "none"}, {"target_bytes", "300"}}, false, {10, 13, 1, 2, 5408, 4, 225904}},
      // clang-format on
  };
  for (const Row& row : rows) {
    INFO(std::string(row.name));
    cj2k_params p = params_of("auto", false, row.settings);
    cj2k::test::set(p, "coder", "ht");
    // More than the 512 blocks from which on rate control runs on the device.
    if (row.is_large) p.width = p.height = 200;
    const shim::HostCalls calls = count(p, Content::kTexture, 40).calls;
    CHECK(calls.waits == row.calls.waits);
    CHECK(calls.launches == row.calls.launches);
    CHECK(calls.fills == row.calls.fills);
    CHECK(calls.uploads == row.calls.uploads);
    CHECK(calls.upload_bytes == row.calls.upload_bytes);
    CHECK(calls.downloads == row.calls.downloads);
    CHECK(calls.download_bytes == row.calls.download_bytes);
  }
}

/// The host follows the prediction and chooses: 8 waits read the frames, the others are for the results of each
/// order of blocks, and for the chosen bytes.
TEST_CASE("backend: waits, launches and copies of a GOP of 8 frames with RDOQ of EBCOT") {
  cj2k_params p = backend_params(132, 132, 1,
                                 {{"levels", "1"},
                                  {"cblk", "4x4"},
                                  {"threads", "2"},
                                  {"target_bytes", "5000"},
                                  {"effort", "2"}});
  const shim::HostCalls calls = count(p, Content::kTexture, 40).calls;
  CHECK(calls.waits == 16);
  CHECK(calls.launches == 96);
  CHECK(calls.fills == 48);
  CHECK(calls.uploads == 15);
  CHECK(calls.upload_bytes == 221428);
  CHECK(calls.downloads == 21);
  CHECK(calls.download_bytes == 2666024);
}

/// Frames with `release` are waited for together, if they come faster than they are read. Whether
/// they do is up to the system's scheduler, so the GOP has several tries.
TEST_CASE("backend: two waits for a GOP of frames with release in device memory") {
  cj2k_params p = params_of("classic", false, {{"lossless", "1"}});
  cj2k::test::set(p, "gop", std::to_string(kFrames));
  cj2k::test::set(p, "async_depth", std::to_string(kFrames));
  std::vector<Picture> pictures;
  for (uint64_t i = 0; i < kFrames; ++i)
    pictures.push_back(cj2k::test::make_picture(p, Content::kTexture, i));
  const std::vector<Encoded> expected = on_cpu(p, pictures);
  cj2k::test::set(p, "device", "cuda");
  start_machine();
  {
    DeviceFrames frames(pictures, true);
    Session session(p);
    REQUIRE(session.opened == CJ2K_OK);
    uint64_t fewest = UINT64_MAX;
    size_t rounds = 0;
    for (; rounds < 50 && fewest > 2; ++rounds) {
      session.results.clear();
      session.accepted.clear();
      const shim::HostCalls before = shim::host_calls();
      for (size_t i = 0; i < kFrames; ++i) REQUIRE(session.send(frames[i]) == CJ2K_OK);
      session.drain();
      REQUIRE(cj2k_encoder_flush(session.encoder) == CJ2K_OK);
      check_packets(session, expected);
      CHECK(since(before).waits <= kFrames + 2);
      fewest = std::min(fewest, since(before).waits);
    }
    CHECK(fewest == 2);
    CHECK(frames.released() == rounds * kFrames);
  }
  CHECK(left_behind() == "");
}

}  // namespace
}  // namespace cj2k::simt::test
