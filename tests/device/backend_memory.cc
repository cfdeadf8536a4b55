// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// After the first GOPs a frame allocates nothing: neither from the driver nor on the host. The
// operators new of the whole program are replaced here, as in tests/api/memory.cc; the shim's own
// allocations do not count.
#ifndef __SANITIZE_THREAD__  // it has its own operators new
#include <cstddef>
#include <cstdlib>
#include <new>

#include "backend_check.h"

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

TEST_CASE("backend: frames of other sizes than planned grow the memory once") {
  // Without a cap, the page-locked memory is planned for the raw size. Noise at full depth needs
  // more.
  const cj2k_params p = backend_params(40, 32, 1,
                                       {{"levels", "1"},
                                        {"cblk", "4x4"},
                                        {"threads", "2"},
                                        {"gop", "1"},
                                        {"lossless", "1"},
                                        {"cblk_style", "termall"},
                                        {"mct", "off"},
                                        {"tier1", "fused"},
                                        {"device", "cuda"}});
  const std::vector<Picture> pictures = {cj2k::test::make_picture(p, Content::kFlat, 1),
                                         cj2k::test::make_picture(p, Content::kNoise, 2)};
  const std::vector<Encoded> expected = on_cpu(p, pictures);
  start_machine();
  {
    Session session(p);
    REQUIRE(session.opened == CJ2K_OK);
    const HostFrames frames(pictures);
    const size_t planned = shim::pinned_bytes_in_use();
    CHECK(planned == static_cast<size_t>(session.info().pinned_bytes));
    const auto round = [&](size_t i) {
      for (int n = 0; n < session.info().async_depth; ++n)
        REQUIRE(session.send(frames[i]) == CJ2K_OK);
      session.drain();
      REQUIRE(cj2k_encoder_flush(session.encoder) == CJ2K_OK);
      return shim::pinned_bytes_in_use();
    };
    CHECK(round(0) == planned);
    const size_t grown = round(1);
    CHECK(grown > planned);
    CHECK(round(1) == grown);
    CHECK(round(0) == grown);
    check_packets(session, expected);
  }
  CHECK(left_behind() == "");
}

}  // namespace cj2k::simt::test
#endif  // __SANITIZE_THREAD__
