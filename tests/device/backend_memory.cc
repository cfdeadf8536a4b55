// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Open allocates all memory of the driver. After the first GOPs a frame allocates nothing on the host either. The
// operators new of the whole program are replaced here, as in tests/api/memory.cc; the shim's own
// allocations do not count.
#ifndef __SANITIZE_THREAD__  // it has its own operators new
#include <cstddef>
#include <cstdlib>
#include <new>

#include "backend_check.h"
#include "kernels/simt/device.h"

namespace {

std::atomic<int64_t> allocations{0};

void* allocate(size_t bytes, size_t alignment) {
  if (!cj2k::simt::shim::in_driver()) ++allocations;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(bytes != 0 ? bytes : 1);
  if (bytes > SIZE_MAX - alignment) return nullptr;
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

/// Not inlined: otherwise g++ sees free() on memory from new and warns.
__attribute__((noinline)) void release(void* memory) { std::free(memory); }

}  // namespace

#include "support/replace_new.h"

namespace cj2k::simt::test {
namespace {

/// Sends a frame and drops the packets that are ready. Allocates nothing itself.
cj2k_status pass(cj2k_encoder* encoder, const cj2k_frame& frame) {
  cj2k_status status = CJ2K_OK;
  while ((status = cj2k_encoder_send_frame(encoder, &frame)) == CJ2K_AGAIN) {
    cj2k_packet packet = {};
    packet.struct_size = sizeof packet;
    status = cj2k_encoder_receive_packet(encoder, &packet);
    if (status != CJ2K_OK) return status;
    cj2k_packet_release(&packet);
  }
  return status;
}

/// Receives all packets in flight before it gives the first one back.
void hold_all(cj2k_encoder* encoder, int count) {
  std::vector<cj2k_packet> packets(static_cast<size_t>(count));
  REQUIRE(cj2k_encoder_send_frame(encoder, nullptr) == CJ2K_OK);
  for (cj2k_packet& packet : packets) {
    packet.struct_size = sizeof packet;
    REQUIRE(cj2k_encoder_receive_packet(encoder, &packet) == CJ2K_OK);
  }
  for (cj2k_packet& packet : packets) cj2k_packet_release(&packet);
  REQUIRE(cj2k_encoder_flush(encoder) == CJ2K_OK);
}

}  // namespace

TEST_CASE("backend: after the first GOPs nothing is allocated, on the host or of the driver") {
  const Settings kCases[] = {
      {{"tier1", "classic"}, {"gop", "1"}, {"target_bytes", "500"}},
      {{"tier1", "cibo"}, {"gop", "2"}, {"lossless", "1"}},
      {{"tier1", "fused"}, {"gop", "2"}, {"cblk_style", "bypass+termall+pterm"}, {"layers", "2"}},
      {{"tier1", "fused"}, {"gop", "1"}, {"stop", "pst"}, {"target_bytes", "500"}},
      {{"tier1", "fused"}, {"gop", "2"}, {"stop", "psb"}, {"target_bytes", "500"}},
      {{"tier1", "fused"}, {"gop", "2"}, {"stop", "bpi"}, {"target_bytes", "500"}},
  };
  bool with_release = false;
  for (const Settings& settings : kCases) {
    {
      with_release = !with_release;
      cj2k_params p = backend_params(
          25, 18, 1, {{"levels", "2"}, {"cblk", "8x8"}, {"threads", "2"}, {"device", "cuda"}});
      for (const auto& [key, value] : settings) cj2k::test::set(p, key, value);
      const std::vector<Picture> pictures = {cj2k::test::make_picture(p, Content::kTexture, 5)};
      start_machine();
      {
        const HostFrames frames(pictures, with_release);
        Session session(p);
        CAPTURE(session.log.text());
        REQUIRE(session.opened == CJ2K_OK);
        const int depth = session.info().async_depth;
        cj2k_status status = CJ2K_OK;
        // As many packets as can exist at a time, and then each GOP once more.
        for (int i = 0; i < depth && status == CJ2K_OK; ++i)
          status = pass(session.encoder, frames[0]);
        REQUIRE(status == CJ2K_OK);
        hold_all(session.encoder, depth);
        for (int i = 0; i < depth && status == CJ2K_OK; ++i)
          status = pass(session.encoder, frames[0]);
        REQUIRE(status == CJ2K_OK);
        const uint64_t of_driver = shim::num_allocations();
        const int64_t on_host = allocations;
        for (int i = 0; i < 2 * depth && status == CJ2K_OK; ++i)
          status = pass(session.encoder, frames[0]);
        const int64_t on_host_after = allocations;
        CHECK(status == CJ2K_OK);
        CAPTURE(p.tier1);
        CAPTURE(p.stop);
        CAPTURE(with_release);
        CHECK(on_host > 0);
        CHECK(on_host_after - on_host == 0);
        CHECK(of_driver > 0);
        CHECK(shim::num_allocations() - of_driver == 0);
      }
      CHECK(left_behind() == "");
    }
  }
}

namespace {

/// The frames in the memory of an application on the device.
class DeviceFrames {
 public:
  explicit DeviceFrames(const HostFrames& frames, const std::vector<Picture>& pictures) {
    const Log quiet;
    REQUIRE(Context::open({}, quiet, &context_) == Status::kOk);
    Stream stream;
    REQUIRE(stream.create(*context_) == Status::kOk);
    for (size_t i = 0; i < frames.size(); ++i) {
      frames_.push_back(frames[i]);
      frames_.back().memory = CJ2K_MEMORY_CUDA;
      for (size_t c = 0; c < pictures[i].components.size(); ++c) {
        cj2k_component_view& view = frames_.back().components[c];
        const auto bytes = static_cast<size_t>(view.stride_bytes) *
                           static_cast<size_t>(pictures[i].components[c].height);
        buffers_.emplace_back();
        REQUIRE(buffers_.back().allocate(*context_, bytes) == Status::kOk);
        REQUIRE(stream.upload(buffers_.back().as<uint8_t>(), view.data, bytes) == Status::kOk);
        REQUIRE(stream.synchronize() == Status::kOk);
        view.data = buffers_.back().as<uint8_t>();
      }
    }
  }
  const cj2k_frame& operator[](size_t i) const { return frames_[i]; }

 private:
  std::unique_ptr<Context> context_;
  std::vector<DeviceBuffer> buffers_;
  std::vector<cj2k_frame> frames_;
};

/// Sends frames that differ in every way, and checks that open allocated for all of them, but for the
/// memory that stages frames.
void check_allocates_at_open(cj2k_params p, bool on_device) {
  CAPTURE(cj2k::test::describe(p));
  CAPTURE(on_device);
  constexpr Content kContents[] = {Content::kFlat, Content::kNoise, Content::kEdges,
                                   Content::kNoise, Content::kTexture};
  std::vector<Picture> pictures;
  for (uint64_t i = 0; i < 15; ++i)
    pictures.push_back(cj2k::test::make_picture(p, kContents[(i + i / 5) % 5], 70 + i));
  start_machine();
  {
    const HostFrames frames(pictures);
    const DeviceFrames device_frames(frames, pictures);
    Session session(p);
    CAPTURE(session.log.text());
    REQUIRE(session.opened == CJ2K_OK);
    const size_t at_open = shim::pinned_bytes_in_use();
    const auto most = static_cast<size_t>(session.info().pinned_bytes);
    const uint64_t allocations = shim::num_allocations();
    for (size_t i = 0; i < frames.size(); ++i) {
      cj2k_frame frame = on_device ? device_frames[i] : frames[i];
      // Some have a cap of their own, below that of the parameters.
      if (i % 4 == 3 && p.lossless == 0) frame.target_bytes = 600;
      REQUIRE(session.send(frame) == CJ2K_OK);
    }
    session.drain();
    for (const Result& result : session.results) REQUIRE(result.status == CJ2K_OK);
    // Memory to stage frames comes with the first frame of each GOP in flight that needs it.
    const int num_gops = p.async_depth / p.gop;
    CHECK(shim::num_allocations() - allocations ==
          (on_device ? 0u : static_cast<unsigned>(num_gops)));
    CHECK(at_open < most);
    CHECK(shim::pinned_bytes_in_use() == (on_device ? at_open : most));
  }
  CHECK(left_behind() == "");
}

}  // namespace

TEST_CASE(
    "backend: open allocates all memory of the driver but for staging, whatever the frames are") {
  const Settings kCodings[] = {
      {{"tier1", "classic"}, {"cblk", "4x4"}},
      {{"tier1", "cibo"}, {"cblk", "8x8"}, {"cblk_style", "bypass"}},
      {{"tier1", "fused"}, {"cblk", "4x4"}, {"cblk_style", "termall+pterm"}},
      {{"coder", "ht"}, {"cblk", "4x4"}},
      {{"coder", "ht"}, {"cblk", "16x16"}, {"layers", "2"}},
  };
  const Settings kLimits[] = {
      {{"lossless", "1"}, {"mct", "off"}},
      {{"quality", "0.5"}},
      {{"target_bytes", "900"}},
      {{"target_bytes", "4000"}},
      {{"target_bytes", "100000"}},
      {{"target_bytes", "1500"}, {"stop", "none"}},
      {{"target_bytes", "1500"}, {"quality", "2"}, {"measure_mse", "1"}},
      {{"max_component_bytes", "2500"}},
  };
  bool on_device = false;
  for (const Settings& coding : kCodings) {
    for (const Settings& limits : kLimits) {
      cj2k_params p = backend_params(56, 44, 1,
                                     {{"levels", "1"},
                                      {"threads", "2"},
                                      {"gop", "2"},
                                      {"async_depth", "4"},
                                      {"device", "cuda"}});
      for (const Settings& settings : {coding, limits}) {
        for (const auto& [key, value] : settings) cj2k::test::set(p, key, value);
      }
      check_allocates_at_open(p, on_device);
      on_device = !on_device;
    }
    on_device = !on_device;
  }
}

TEST_CASE("backend: frames with caps above that of the parameters grow the memory once") {
  const cj2k_params p = backend_params(96, 80, 1,
                                       {{"levels", "1"},
                                        {"cblk", "8x8"},
                                        {"threads", "2"},
                                        {"gop", "1"},
                                        {"async_depth", "2"},
                                        {"target_bytes", "500"},
                                        {"tier1", "fused"},
                                        {"device", "cuda"}});
  const std::vector<Picture> pictures = {cj2k::test::make_picture(p, Content::kTexture, 1),
                                         cj2k::test::make_picture(p, Content::kNoise, 2)};
  cj2k_params larger = p;
  larger.target_bytes = 9000;
  const std::vector<Encoded> expected = {on_cpu(p, {pictures[0]})[0],
                                         on_cpu(larger, {pictures[1]})[0]};
  REQUIRE(expected[1].bytes.size() > 8000);
  start_machine();
  {
    Session session(p);
    REQUIRE(session.opened == CJ2K_OK);
    const HostFrames frames(pictures);
    const int depth = session.info().async_depth;
    const uint64_t allocations = shim::num_allocations();
    const auto round = [&](size_t i) {
      for (int n = 0; n < depth; ++n) {
        cj2k_frame frame = frames[i];
        if (i == 1) frame.target_bytes = larger.target_bytes;
        REQUIRE(session.send(frame) == CJ2K_OK);
      }
      session.drain();
      REQUIRE(cj2k_encoder_flush(session.encoder) == CJ2K_OK);
      return shim::num_allocations() - allocations;
    };
    // Once for each GOP in flight, first to stage frames, then for the larger cap.
    CHECK(round(0) == static_cast<uint64_t>(depth));
    CHECK(round(1) == 2 * static_cast<uint64_t>(depth));
    CHECK(round(1) == 2 * static_cast<uint64_t>(depth));
    CHECK(round(0) == 2 * static_cast<uint64_t>(depth));
    check_packets(session, expected);
  }
  CHECK(left_behind() == "");
}

}  // namespace cj2k::simt::test
#endif  // __SANITIZE_THREAD__
