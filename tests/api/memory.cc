// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Failures at every allocation, leaks, and the promise that frames need no allocation. The
// operators new of the whole program are replaced here.
#ifndef __SANITIZE_THREAD__  // it has its own operators new
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "support/encode.h"

namespace {

std::atomic<int64_t> allocations{0};  // since the start
std::atomic<int64_t> live_allocations{0};
std::atomic<int64_t> fail_at{-1};  // number of the allocation that fails; -1: none

#if defined(_WIN32)  // without aligned_alloc
void* allocate_aligned(size_t bytes, size_t alignment) {
  return _aligned_malloc(bytes != 0 ? bytes : 1, std::max(alignment, alignof(std::max_align_t)));
}
void free_aligned(void* memory) { _aligned_free(memory); }
#else
void* allocate_aligned(size_t bytes, size_t alignment) {
  if (alignment <= alignof(std::max_align_t)) return std::malloc(bytes != 0 ? bytes : 1);
  if (bytes > SIZE_MAX - alignment) return nullptr;
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
void free_aligned(void* memory) { std::free(memory); }
#endif

void* allocate(size_t bytes, size_t alignment) {
  if (allocations++ == fail_at.load()) return nullptr;
  void* const memory = allocate_aligned(bytes, alignment);
  if (memory != nullptr) ++live_allocations;
  return memory;
}

void release(void* memory) {
  if (memory == nullptr) return;
  --live_allocations;
  free_aligned(memory);
}

}  // namespace

#include "support/replace_new.h"

namespace cj2k::test {
namespace {

constexpr int kMostAllocations = 20000;

/// Counts lines without an allocation.
void count_line(void* opaque, cj2k_log_level level, const char*) {
  if (level == CJ2K_LOG_ERROR) ++*static_cast<int*>(opaque);
}

cj2k_params small_params(int threads) {
  cj2k_params p = make_params(75, 53, 3, 8);
  p.threads = threads;
  p.layers = 2;
  p.target_bytes = 5000;
  set(p, "cblk", "16x16");
  return p;
}

/// Sends one frame and receives one packet. Allocates nothing itself.
/// @param unnamed  counts errors of receive that do not name the frame that failed and the reason
cj2k_status encode_one(cj2k_encoder* encoder, const cj2k_frame& frame, int* unnamed = nullptr) {
  cj2k_packet packet = {};
  packet.struct_size = sizeof packet;
  cj2k_status status = cj2k_encoder_send_frame(encoder, &frame);
  if (status != CJ2K_OK) return status;
  status = cj2k_encoder_receive_packet(encoder, &packet);
  if (status < 0 && unnamed != nullptr) {
    const bool named = packet.pts == frame.pts && packet.duration == frame.duration &&
                       packet.opaque == frame.opaque && packet.data == nullptr && packet.size == 0;
    const bool explained =
        std::strcmp(cj2k_encoder_last_error(encoder), "frame 4711: out of memory") == 0;
    *unnamed += !named || !explained;
  }
  if (status == CJ2K_OK) cj2k_packet_release(&packet);
  return status;
}

TEST_CASE(
    "open survives the failure of any of its allocations, leaks nothing, and works afterwards") {
  for (int threads : {1, 2}) {
    cj2k_params p = small_params(threads);
    int errors = 0;
    p.log = count_line;
    p.log_opaque = &errors;
    cj2k_encoder* encoder = nullptr;
    REQUIRE(cj2k_encoder_open(&p, &encoder) == CJ2K_OK);  // allocates what each process needs once
    cj2k_encoder_close(encoder);

    const int64_t live_before = live_allocations;
    int failures = 0, wrong_status = 0, not_null = 0, silent = 0, leaks = 0;
    cj2k_status status = CJ2K_NO_MEMORY;
    for (; status != CJ2K_OK && failures < kMostAllocations; ++failures) {
      errors = 0;
      fail_at = allocations + failures;
      status = cj2k_encoder_open(&p, &encoder);
      fail_at = -1;
      if (status == CJ2K_OK) break;
      wrong_status += status != CJ2K_NO_MEMORY;
      not_null += encoder != nullptr;
      silent += errors != 1;
      leaks += live_allocations != live_before;
    }
    REQUIRE(status == CJ2K_OK);
    cj2k_encoder_close(encoder);
    const int64_t live_after = live_allocations;
    MESSAGE(failures << " allocations in open with " << threads << " threads");
    CHECK(failures > 3);
    CHECK(wrong_status == 0);
    CHECK(not_null == 0);
    CHECK(silent == 0);
    CHECK(leaks == 0);
    CHECK(live_after == live_before);
  }
}

TEST_CASE("a frame that meets a failed allocation gives NO_MEMORY, and the encoder goes on") {
  for (int threads : {1, 2}) {
    cj2k_params p = small_params(threads);
    p.async_depth = 1;
    p.gop = 1;
    const Picture picture = make_picture(p, Content::kTexture, 5);
    FrameMemory memory(picture);
    memory.frame.pts = 4711;
    memory.frame.duration = 12;
    memory.frame.opaque = &memory;
    const std::vector<uint8_t> expected = encode(p, picture).bytes;
    cj2k_status status = CJ2K_NO_MEMORY;
    int failures = 0, wrong = 0, unusable = 0, unnamed = 0;
    for (; status != CJ2K_OK && failures < kMostAllocations; ++failures) {
      cj2k_encoder* encoder = nullptr;
      REQUIRE(cj2k_encoder_open(&p, &encoder) == CJ2K_OK);
      fail_at = allocations + failures;
      status = encode_one(encoder, memory.frame, &unnamed);
      fail_at = -1;
      wrong += status != CJ2K_OK && status != CJ2K_NO_MEMORY;
      unusable += encode_one(encoder, memory.frame) != CJ2K_OK;
      cj2k_encoder_close(encoder);
    }
    MESSAGE((failures - 1) << " allocations in the first frame with " << threads << " threads");
    CHECK(status == CJ2K_OK);
    CHECK(wrong == 0);
    CHECK(unusable == 0);
    CHECK(unnamed == 0);
    CHECK(encode(p, picture).bytes == expected);
  }
}

TEST_CASE("after the first frames nothing is allocated") {
  for (const auto& row : {std::pair{1, 0}, {2, 0}, {1, 1}, {2, 1}}) {
    const int threads = row.first,
              measures = row.second;  // clang 14 captures no structured binding
    cj2k_params p = small_params(threads);
    p.async_depth = 1;
    p.gop = 1;
    p.measure_mse = measures;
    const FrameMemory flat(make_picture(p, Content::kFlat, 5)),
        noise(make_picture(p, Content::kNoise, 5)), texture(make_picture(p, Content::kTexture, 5));
    cj2k_encoder* encoder = nullptr;
    REQUIRE(cj2k_encoder_open(&p, &encoder) == CJ2K_OK);
    cj2k_status status = CJ2K_OK;
    // After two rounds to warm up, no frame may allocate.
    int64_t before = 0;
    for (int i = 0; i < 6 && status == CJ2K_OK; ++i) {
      if (i == 2) before = allocations;
      for (const FrameMemory* memory : {&flat, &texture, &noise}) {
        if (status == CJ2K_OK) status = encode_one(encoder, memory->frame);
      }
    }
    const int64_t after = allocations;
    CHECK(status == CJ2K_OK);
    INFO("threads ", threads, " measure_mse ", measures);
    CHECK(after - before == 0);
    cj2k_encoder_close(encoder);
  }
}

TEST_CASE("open and close in a loop leak nothing") {
  const cj2k_params p = small_params(2);
  const FrameMemory memory(make_picture(p, Content::kTexture, 5));
  int64_t live = 0;
  for (int i = 0; i < 6; ++i) {
    if (i == 2) live = live_allocations;
    cj2k_encoder* encoder = nullptr;
    REQUIRE(cj2k_encoder_open(&p, &encoder) == CJ2K_OK);
    REQUIRE(cj2k_encoder_send_frame(encoder, &memory.frame) == CJ2K_OK);
    cj2k_encoder_close(encoder);
  }
  const int64_t live_after = live_allocations;
  CHECK(live_after == live);
}

}  // namespace
}  // namespace cj2k::test

#endif  // __SANITIZE_THREAD__
