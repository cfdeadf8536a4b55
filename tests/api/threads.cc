// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// A system that refuses threads. pthread_create is replaced in the whole program, so that all
// calls are counted.
#if !defined(__SANITIZE_THREAD__) && !defined(_WIN32)  // they have their own pthread_create
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "support/encode.h"

namespace {

std::atomic<int> starts{0};      // threads asked for since the start
std::atomic<int> fail_from{-1};  // number of the first thread that is refused; -1: none

}  // namespace

extern "C" [[gnu::visibility("default")]] int pthread_create(pthread_t* thread,
                                                             const pthread_attr_t* attributes,
                                                             void* (*start)(void*),
                                                             void* argument) noexcept {
  static const auto real =
      reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  const int number = starts++;
  if (fail_from >= 0 && number >= fail_from) return EAGAIN;
  return real(thread, attributes, start, argument);
}

namespace cj2k::test {
namespace {

constexpr int kFrames = 5, kThreads = 12, kGops = 2;

/// While it lives, the n-th thread from now on and all later ones are refused.
class NoThreads {
 public:
  explicit NoThreads(int n) { fail_from = starts + n; }
  ~NoThreads() { fail_from = -1; }
};

cj2k_params params_of(cj2k_stop stop = CJ2K_STOP_EXACT) {
  cj2k_params p = make_params(300, 200, 3, 8);
  set(p, "cblk", "8x8");  // enough blocks for every thread
  set(p, "device", "cpu");
  p.target_bytes = 20000;
  p.threads = kThreads;
  p.gop = 2;
  p.async_depth = 2 * kGops;
  p.stop = stop;
  return p;
}

struct Sequence {
  cj2k_params params;
  std::vector<std::unique_ptr<FrameMemory>> frames;
  std::vector<std::vector<uint8_t>> expected;

  explicit Sequence(cj2k_stop stop = CJ2K_STOP_EXACT) : params(params_of(stop)) {
    std::vector<Picture> pictures;
    for (int i = 0; i < kFrames; ++i) {
      pictures.push_back(make_picture(params, Content::kTexture, static_cast<uint64_t>(i)));
      frames.push_back(std::make_unique<FrameMemory>(pictures.back()));
    }
    cj2k_params alone = params;
    alone.threads = 1;
    for (Encoded& encoded : encode_sequence(alone, pictures)) {
      REQUIRE(encoded.status == CJ2K_OK);
      expected.push_back(std::move(encoded.bytes));
    }
    REQUIRE(expected.size() == kFrames);
  }

  /// Encodes all frames and leaves the encoder as after a flush. Every second frame has no release:
  /// the call reads it.
  void run(cj2k_encoder* encoder) const {
    std::atomic<int> released = 0;
    int sent = 0;
    std::vector<std::vector<uint8_t>> got;
    cj2k_packet packet = {};
    packet.struct_size = sizeof packet;
    while (got.size() < kFrames) {
      cj2k_frame frame = frames[static_cast<size_t>(std::min(sent, kFrames - 1))]->frame;
      if (sent % 2 == 0) {
        frame.release = [](void* count) { ++*static_cast<std::atomic<int>*>(count); };
        frame.release_opaque = &released;
      }
      const cj2k_status status =
          cj2k_encoder_send_frame(encoder, sent < kFrames ? &frame : nullptr);
      if (status == CJ2K_OK && sent < kFrames) ++sent;
      REQUIRE(status >= 0);
      const cj2k_status received = cj2k_encoder_receive_packet(encoder, &packet);
      REQUIRE(received >= 0);
      if (received != CJ2K_OK) continue;
      got.emplace_back(packet.data, packet.data + packet.size);
      cj2k_packet_release(&packet);
    }
    CHECK(got == expected);
    CHECK(released == (kFrames + 1) / 2);
    CHECK(cj2k_encoder_flush(encoder) == CJ2K_OK);
  }
};

int threads_of(const cj2k_encoder* encoder) {
  cj2k_info info = {};
  info.struct_size = sizeof info;
  REQUIRE(cj2k_encoder_info(encoder, &info) == CJ2K_OK);
  return info.threads;
}

struct Warnings {
  int errors = 0;
  std::vector<std::string> lines;
  static void add(void* opaque, cj2k_log_level level, const char* message) {
    auto* self = static_cast<Warnings*>(opaque);
    if (level == CJ2K_LOG_ERROR) ++self->errors;
    if (level == CJ2K_LOG_WARNING) self->lines.push_back(message);
  }
};

TEST_CASE("all threads are started by open: none is asked for later, and none can be missed") {
  const Sequence sequence;
  for (int n = 0; n < 2 * kThreads; n += 1 + n / 4) {
    cj2k_encoder* encoder = nullptr;
    REQUIRE(cj2k_encoder_open(&sequence.params, &encoder) == CJ2K_OK);
    CHECK(threads_of(encoder) == kThreads);
    const int before = starts;
    {
      const NoThreads refused(n);
      sequence.run(encoder);
    }
    CHECK(starts == before);
    sequence.run(encoder);
    cj2k_encoder_close(encoder);
  }
}

TEST_CASE("open goes on with the threads that there are, and says so") {
  for (const cj2k_stop stop : {CJ2K_STOP_EXACT, CJ2K_STOP_PST}) {
    Sequence sequence(stop);
    Warnings warnings;
    sequence.params.log = Warnings::add;
    sequence.params.log_opaque = &warnings;
    cj2k_encoder* encoder = nullptr;
    int before = starts;
    REQUIRE(cj2k_encoder_open(&sequence.params, &encoder) == CJ2K_OK);
    const int needed = starts - before;
    cj2k_encoder_close(encoder);
    CHECK(warnings.lines.empty());
    // First one thread for each GOP in flight, then those that work beside the calling thread.
    REQUIRE(needed == kGops + kThreads - 1);
    for (int n = 0; n < needed; ++n) {
      INFO("threads that can be started: ", n);
      warnings.lines.clear();
      {
        const NoThreads refused(n);
        REQUIRE(cj2k_encoder_open(&sequence.params, &encoder) == CJ2K_OK);
      }
      CHECK(threads_of(encoder) == std::max(n - kGops, 0) + 1);
      REQUIRE(warnings.lines.size() == 1);
      INFO("log: ", warnings.lines[0]);
      CHECK(warnings.lines[0].find("Resource temporarily unavailable") != std::string::npos);
      CHECK(warnings.lines[0].find("threads 12") != std::string::npos);
      sequence.run(encoder);
      sequence.run(encoder);
      cj2k_encoder_close(encoder);

      // Close with a frame in flight that nobody receives.
      REQUIRE(cj2k_encoder_open(&sequence.params, &encoder) == CJ2K_OK);
      CHECK(threads_of(encoder) == kThreads);
      CHECK(cj2k_encoder_send_frame(encoder, &sequence.frames[0]->frame) == CJ2K_OK);
      cj2k_encoder_close(encoder);
    }
    CHECK(warnings.errors == 0);
  }
}

}  // namespace
}  // namespace cj2k::test

#endif  // __SANITIZE_THREAD__
