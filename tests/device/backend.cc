// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// How the CUDA backend behaves, on any device: the figures and names that it tells, frames with
// limits of their own, layouts in host memory, flush, close and bad frames.
#include <chrono>
#include <cstring>

#include "backend_check.h"
#include "cuda/gop_memory.h"
#include "device/kernel_check.h"

namespace cj2k::simt::test {

TEST_CASE("backend: the parameters of an encoder say which device and which kernels it took") {
  start_machine();
  for (const char* tier1 : {"auto", "fused"}) {
    Session session(tiny_params({{"device", "auto"}, {"tier1", tier1}}));
    REQUIRE(session.opened == CJ2K_OK);
    cj2k_params p = {};
    p.struct_size = sizeof p;
    REQUIRE(cj2k_encoder_params(session.encoder, &p) == CJ2K_OK);
    CHECK(std::string(p.device) == "cuda");
    CHECK(p.tier1 == (tier1 == std::string("fused") ? CJ2K_TIER1_FUSED : CJ2K_TIER1_CLASSIC));
    CHECK(p.gop == session.info().gop);
    CHECK(p.gop > 0);
    CHECK(p.async_depth == session.info().async_depth);
  }
  CHECK(left_behind() == "");
}

TEST_CASE(
    "backend: cj2k_params_info names the figures of an open encoder, and open reserves them") {
  const Settings kCases[] = {
      {{"gop", "1"}, {"tier1", "classic"}},
      {{"gop", "2"}, {"async_depth", "8"}, {"lossless", "1"}, {"tier1", "fused"}},
      {{"gop", "2"}, {"async_depth", "4"}, {"target_bytes", "900"}, {"tier1", "cibo"}},
      {{"gop", "2"}, {"coder", "ht"}, {"target_bytes", "900"}},
  };
  for (const Settings& settings : kCases) {
    const cj2k_params p = tiny_params(settings);
    CAPTURE(cj2k::test::describe(p));
    start_machine();
    {
      const Log quiet;
      std::unique_ptr<Context> context;
      REQUIRE(Context::open({}, quiet, &context) == Status::kOk);
      size_t before = 0, after = 0, total = 0;
      REQUIRE(context->memory(&before, &total) == Status::kOk);
      const Session session(p);
      REQUIRE(session.opened == CJ2K_OK);
      REQUIRE(context->memory(&after, &total) == Status::kOk);
      const cj2k_info plan = planned(p), info = session.info();
      CHECK(info.backend == std::string("cuda"));
      CHECK(info.device_name == context->info().name);
      CHECK(info.tier1 == std::string(plan.tier1));
      CHECK(info.gop == plan.gop);
      CHECK(info.async_depth == plan.async_depth);
      CHECK(info.device_bytes == plan.device_bytes);
      CHECK(info.pinned_bytes == plan.pinned_bytes);
      CHECK(info.host_bytes == plan.host_bytes);
      CHECK(before - after >= static_cast<size_t>(info.device_bytes));
    }
    CHECK(left_behind() == "");
  }
}

TEST_CASE("backend: how long open takes") {
  const cj2k_params p = tiny_params({{"gop", "1"}, {"target_bytes", "700"}});
  const std::vector<Picture> pictures = pictures_of(p, 2);
  const std::vector<Encoded> expected = on_cpu(p, pictures);
  start_machine();
  {
    const HostFrames frames(pictures);
    for (const char* which : {"the first of the process", "the second"}) {
      const auto start = std::chrono::steady_clock::now();
      Session session(p);
      const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
      MESSAGE("open: ", elapsed.count(), " s, ", std::string(which));
      check_sequence(session, frames, expected);
    }
  }
  CHECK(left_behind() == "");
}

TEST_CASE("backend: frames with limits of their own beside others in their GOP") {
  struct Own {
    int64_t target_bytes, max_component_bytes;
    double quality;
  };
  const Own kFrames[] = {{0, 0, 0},   {900, 0, 0},     {0, 0, 12},
                         {0, 700, 0}, {1500, 1200, 4}, {0, 0, 0}};
  const Settings kCases[] = {
      {{"tier1", "classic"}, {"stop", "exact"}},
      {{"tier1", "cibo"}, {"stop", "exact"}, {"target_bytes", "2500"}},
      {{"tier1", "fused"}, {"stop", "psb"}, {"target_bytes", "2500"}},
      {{"tier1", "classic"}, {"stop", "bpi"}, {"max_frame_bytes", "2500"}},
      {{"tier1", "fused"}, {"stop", "none"}},
  };
  for (const Settings& settings : kCases) {
    cj2k_params p = backend_params(104, 88, 1,
                                   {{"levels", "2"},
                                    {"cblk", "4x4"},
                                    {"threads", "2"},
                                    {"gop", "4"},
                                    {"quant_step", "0.25"},
                                    {"device", "cuda"}});
    for (const auto& [key, value] : settings) cj2k::test::set(p, key, value);
    const std::vector<Picture> pictures = pictures_of(p, std::size(kFrames));
    start_machine();
    {
      const HostFrames frames(pictures);
      Session session(p);
      CAPTURE(session.log.text());
      REQUIRE(session.opened == CJ2K_OK);
      CHECK(session.info().num_blocks > 512);  // enough blocks for the sample of stop exact
      std::vector<Encoded> expected;
      for (size_t i = 0; i < std::size(kFrames); ++i) {
        cj2k_frame frame = frames[i];
        cj2k_params alone = p;
        const Own& own = kFrames[i];
        if (own.target_bytes > 0) frame.target_bytes = alone.target_bytes = own.target_bytes;
        if (own.max_component_bytes > 0)
          frame.max_component_bytes = alone.max_component_bytes = own.max_component_bytes;
        if (own.quality > 0) frame.quality = alone.quality = own.quality;
        REQUIRE(session.send(frame) == CJ2K_OK);
        expected.push_back(on_cpu(alone, {pictures[i]})[0]);
      }
      session.drain();
      check_packets(session, expected);
      for (size_t i = 0; i < std::size(kFrames); ++i)
        CHECK(session.results[i].stats.passes_coded == expected[i].stats.passes_coded);
      CHECK(session.results[1].bytes.size() <= 900);
    }
    CHECK(left_behind() == "");
  }
}

TEST_CASE("backend: frames in host memory, however their samples lie") {
  const FrameLayout kLayouts[] = {
      {0, 0, false, false, 0}, {0, 0, false, false, 13}, {2, 6, false, true, 5},
      {4, 0, false, false, 0}, {4, 19, true, false, 7},  {1, 0, true, false, 0},
      {2, 3, true, true, 2},   {4, 0, true, true, 111},
  };
  size_t num_packed = 0;
  for (const bool with_release : {false, true}) {
    const cj2k_params p = tiny_params({{"gop", "2"}, {"lossless", with_release ? "1" : "0"}});
    const std::vector<Picture> pictures = pictures_of(p, 2);
    const std::vector<Encoded> expected = on_cpu(p, pictures);
    const cuda::InputLayout room(checked_plan(p));
    for (const FrameLayout& layout : kLayouts) {
      {
        CAPTURE(layout.word_bytes);
        CAPTURE(layout.interleaved);
        CAPTURE(layout.bottom_up);
        CAPTURE(layout.gap_bytes);
        start_machine();
        {
          const HostFrames frames(pictures, with_release, layout);
          const cj2k_component_view& view = frames[0].components[0];
          num_packed += static_cast<uint64_t>(view.word_bytes) * 3 * 23 * 14 > room.bytes;
          Session session(p);
          check_sequence(session, frames, expected);
        }
        CHECK(left_behind() == "");
      }
    }
  }
  CHECK(num_packed > 0);  // cases without room for the unpacked rows
}

/// cj2k_read_fn: the samples of a frame of three alike components, words side by side.
static int copy_samples(void* opaque, const cj2k_read_part* parts) {
  const auto& from = *static_cast<const cj2k_frame*>(opaque);
  if (from.pts == 1) return 7;
  for (int c = 0; c < 3; ++c) {
    const cj2k_component_view& view = from.components[c];
    for (int32_t y = 0; y < parts[c].height; ++y) {
      const auto* row =
          static_cast<const uint8_t*>(view.data) + (parts[c].y + y) * view.stride_bytes;
      std::memcpy(static_cast<uint8_t*>(parts[c].data) + y * parts[c].stride_bytes,
                  row + parts[c].x * view.step_bytes,
                  static_cast<size_t>(parts[c].width) * static_cast<size_t>(view.step_bytes));
    }
  }
  return 0;
}

TEST_CASE("backend: samples that the caller's function gives") {
  const cj2k_params p = tiny_params({{"gop", "2"}, {"target_bytes", "800"}});
  const std::vector<Picture> pictures = pictures_of(p, 4);
  const std::vector<Encoded> expected = on_cpu(p, pictures);
  for (const bool with_release : {false, true}) {
    start_machine();
    {
      const HostFrames frames(pictures, with_release);
      std::vector<cj2k_frame> in_memory;
      for (size_t i = 0; i < pictures.size(); ++i) in_memory.push_back(frames[i]);
      Session session(p);
      for (cj2k_frame& from : in_memory) {
        cj2k_frame frame = from;
        for (cj2k_component_view& view : frame.components) view.data = nullptr;
        frame.read = copy_samples;
        frame.read_opaque = &from;
        const bool is_taken = with_release || from.pts != 1;
        CHECK(session.send(frame) == (is_taken ? CJ2K_OK : CJ2K_READ));
      }
      session.drain();
      CHECK(session.results.size() == (with_release ? 4 : 3));
      for (const Result& result : session.results) {
        CHECK(result.status == (result.pts == 1 ? CJ2K_READ : CJ2K_OK));
        if (result.pts != 1) CHECK(result.bytes == expected[static_cast<size_t>(result.pts)].bytes);
      }
      for (size_t i = 0; i < pictures.size(); ++i)
        CHECK(frames.released(i) == (with_release ? 1 : 0));
    }
    CHECK(left_behind() == "");
  }
}

TEST_CASE("backend: drain, flush and close with GOPs that are not full") {
  const cj2k_params p = tiny_params({{"gop", "5"}, {"target_bytes", "800"}});
  const std::vector<Picture> pictures = pictures_of(p, 12);
  const std::vector<Encoded> expected = on_cpu(p, pictures);
  for (const bool with_release : {false, true}) {
    for (const size_t first : {size_t{0}, size_t{3}, size_t{7}}) {
      CAPTURE(with_release);
      CAPTURE(first);
      start_machine();
      {
        const HostFrames frames(pictures, with_release);
        {
          Session session(p);
          REQUIRE(session.opened == CJ2K_OK);
          // Drain all frames sent so far.
          for (size_t i = 0; i < first; ++i) REQUIRE(session.send(frames[i]) == CJ2K_OK);
          session.drain();
          check_packets(session, expected);
          CHECK(cj2k_encoder_send_frame(session.encoder, &frames[0]) == CJ2K_EOF);
          // Drop the frames in flight, twice.
          REQUIRE(cj2k_encoder_flush(session.encoder) == CJ2K_OK);
          const size_t taken = session.results.size();
          for (int round = 0; round < 2; ++round) {
            session.accepted.resize(taken);
            for (size_t i = 0; i < first; ++i)
              REQUIRE(cj2k_encoder_send_frame(session.encoder, &frames[i]) == CJ2K_OK);
            REQUIRE(cj2k_encoder_flush(session.encoder) == CJ2K_OK);
          }
          // Continue. The last frames are still in flight when the encoder is closed.
          for (size_t i = 10; i < 12; ++i) REQUIRE(session.send(frames[i]) == CJ2K_OK);
          session.drain();
          check_packets(session, expected);
          REQUIRE(cj2k_encoder_flush(session.encoder) == CJ2K_OK);
          for (size_t i = 0; i < first; ++i)
            REQUIRE(cj2k_encoder_send_frame(session.encoder, &frames[i]) == CJ2K_OK);
        }
        for (size_t i = 0; i < first; ++i) CHECK(frames.released(i) == (with_release ? 4 : 0));
      }
      CHECK(left_behind() == "");
    }
  }
}

TEST_CASE("backend: close with frames in flight does not wait for what never comes, stop = pst") {
  const cj2k_params p =
      tiny_params({{"gop", "1"}, {"async_depth", "4"}, {"stop", "pst"}, {"target_bytes", "800"}});
  const std::vector<Picture> pictures = pictures_of(p, 8);
  const std::vector<Encoded> expected = on_cpu(p, pictures);
  for (size_t count = 0; count <= 8; ++count) {
    start_machine(count + 1);
    {
      const HostFrames frames(pictures);
      Session session(p);
      REQUIRE(session.opened == CJ2K_OK);
      for (size_t i = 0; i < count; ++i) REQUIRE(session.send(frames[i]) == CJ2K_OK);
      if (count % 2 == 0) {
        session.drain();
        check_packets(session, expected);
      }
      session.close();
      for (size_t i = 0; i < count; ++i) CHECK(frames.released(i) == 1);
    }
    CHECK(left_behind() == "");
  }
}

TEST_CASE("backend: frames that are refused leave their place to the next") {
  const cj2k_params p = tiny_params({{"gop", "2"}, {"lossless", "1"}});
  const std::vector<Picture> pictures = pictures_of(p, 5);
  const std::vector<Encoded> expected = on_cpu(p, pictures);
  for (const bool with_release : {false, true}) {
    start_machine();
    {
      const HostFrames frames(pictures, with_release);
      Session session(p);
      REQUIRE(session.opened == CJ2K_OK);
      size_t refused = 0;
      for (size_t i = 0; i < frames.size(); ++i) {
        cj2k_frame wrong = frames[i];
        wrong.width += 1;
        CHECK(session.send(wrong) == CJ2K_INVALID);
        wrong = frames[i];
        wrong.components[1].data = nullptr;
        CHECK(session.send(wrong) == CJ2K_INVALID);
        wrong = frames[i];
        wrong.components[2].shift = 1;
        CHECK(session.send(wrong) == CJ2K_INVALID);
        refused += 3;
        CHECK(frames.released(i) == 0);
        REQUIRE(session.send(frames[i]) == CJ2K_OK);
      }
      session.drain();
      check_packets(session, expected);
      CHECK(session.log.of(CJ2K_LOG_ERROR).size() == refused);
      for (size_t i = 0; i < frames.size(); ++i)
        CHECK(frames.released(i) == (with_release ? 1 : 0));
    }
    CHECK(left_behind() == "");
  }
}

}  // namespace cj2k::simt::test
