// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// One encoder used by several threads, and how long receive waits.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/encode.h"

namespace cj2k::test {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

cj2k_params params_of(int threads, int gop, int async_depth) {
  cj2k_params p = make_params(150, 90, 3, 8);
  set(p, "cblk", "16x16");
  set(p, "device", "cpu");
  p.target_bytes = 9000;
  p.threads = threads;
  p.gop = gop;
  p.async_depth = async_depth;
  return p;
}

/// A queue. The receiver passes packets to the thread that releases them, and free places for
/// frames to the sender.
template <typename T>
class Channel {
 public:
  void put(T value) {
    const std::lock_guard lock(mutex_);
    values_.push_back(value);
    changed_.notify_all();
  }
  T get() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return next_ < values_.size(); });
    return values_[next_++];
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<T> values_;
  size_t next_ = 0;
};

TEST_CASE("one thread sends, one receives, one releases") {
  constexpr int kFrames = 24;
  for (const auto& [num_threads, gop, depth] :
       std::vector<std::array<int, 3>>{{1, 1, 1}, {1, 2, 4}, {2, 1, 3}, {3, 3, 6}}) {
    const cj2k_params p = params_of(num_threads, gop, depth);
    CAPTURE(p.threads);
    CAPTURE(p.gop);
    std::vector<Picture> pictures;
    std::vector<std::unique_ptr<FrameMemory>> frames;
    for (int i = 0; i < 5; ++i) {
      pictures.push_back(make_picture(p, Content::kTexture, static_cast<uint64_t>(i)));
      frames.push_back(std::make_unique<FrameMemory>(pictures.back()));
    }
    const std::vector<Encoded> expected = encode_sequence(p, pictures);
    REQUIRE(expected.size() == pictures.size());

    cj2k_encoder* encoder = nullptr;
    REQUIRE(cj2k_encoder_open(&p, &encoder) == CJ2K_OK);
    std::atomic<int> released = 0, refused = 0, wrong_bytes = 0, out_of_order = 0;
    Channel<int> places;
    Channel<cj2k_packet> packets;
    std::thread sender([&] {
      for (int i = 0; i < kFrames;) {
        cj2k_frame frame = frames[static_cast<size_t>(i % 5)]->frame;
        frame.pts = i;
        if (i % 2 == 0) {
          frame.release = [](void* count) { ++*static_cast<std::atomic<int>*>(count); };
          frame.release_opaque = &released;
        }
        const cj2k_status status = cj2k_encoder_send_frame(encoder, &frame);
        if (status == CJ2K_OK) ++i;
        if (status == CJ2K_AGAIN) places.get();  // until a packet has been received
        if (status < 0) ++refused;
      }
      if (cj2k_encoder_send_frame(encoder, nullptr) != CJ2K_OK) ++refused;
    });
    std::thread receiver([&] {
      cj2k_packet packet = {};
      packet.struct_size = sizeof packet;
      int64_t next = 0;
      cj2k_status status;
      while ((status = cj2k_encoder_receive_packet_timed(encoder, &packet, -1)) == CJ2K_OK) {
        out_of_order += packet.pts != next++;
        places.put(0);
        packets.put(packet);
      }
      out_of_order += status != CJ2K_EOF || next != kFrames;
      packets.put({});
    });
    std::thread releaser([&] {
      for (cj2k_packet packet = packets.get(); packet.slot != nullptr; packet = packets.get()) {
        const auto i = static_cast<size_t>(packet.pts % 5);
        wrong_bytes +=
            std::vector<uint8_t>(packet.data, packet.data + packet.size) != expected[i].bytes;
        cj2k_packet_release(&packet);
      }
    });
    sender.join();
    receiver.join();
    releaser.join();
    cj2k_encoder_close(encoder);
    CHECK(released == kFrames / 2);
    CHECK(refused == 0);
    CHECK(out_of_order == 0);
    CHECK(wrong_bytes == 0);
  }
}

TEST_CASE("a receiver that asks again while another thread sends") {
  // The receive function that does not wait for frames returns AGAIN until a packet is due.
  constexpr int kFrames = 12;
  const cj2k_params p = params_of(2, 2, 4);
  const FrameMemory memory(make_picture(p, Content::kTexture, 1));
  cj2k_encoder* encoder = nullptr;
  REQUIRE(cj2k_encoder_open(&p, &encoder) == CJ2K_OK);
  int sent = 0, received = 0;
  std::thread sender([&] {
    while (sent < kFrames) {
      const cj2k_status status = cj2k_encoder_send_frame(encoder, &memory.frame);
      if (status < 0) break;
      if (status == CJ2K_OK)
        ++sent;
      else
        std::this_thread::yield();
    }
    if (cj2k_encoder_send_frame(encoder, nullptr) != CJ2K_OK) sent = -1;
  });
  cj2k_packet packet = {};
  packet.struct_size = sizeof packet;
  cj2k_status status;
  while ((status = cj2k_encoder_receive_packet(encoder, &packet)) != CJ2K_EOF && status >= 0) {
    if (status == CJ2K_AGAIN) std::this_thread::yield();
    if (status != CJ2K_OK) continue;
    ++received;
    cj2k_packet_release(&packet);
  }
  sender.join();
  cj2k_encoder_close(encoder);
  CHECK(status == CJ2K_EOF);
  CHECK(sent == kFrames);
  CHECK(received == kFrames);
}

TEST_CASE("receive_packet_timed: 0 does not wait, a limit is kept, what is there is taken") {
  for (const int threads : {1, 2}) {
    const cj2k_params p = params_of(threads, 2, 4);
    const FrameMemory memory(make_picture(p, Content::kTexture, 1));
    cj2k_encoder* encoder = nullptr;
    REQUIRE(cj2k_encoder_open(&p, &encoder) == CJ2K_OK);
    cj2k_packet packet = {};
    packet.struct_size = sizeof packet;
    packet.pts = 77;
    const auto receive = [&](int timeout_ms) {
      return cj2k_encoder_receive_packet_timed(encoder, &packet, timeout_ms);
    };
    // No frame at all, then a GOP that lacks one frame.
    for (int frames = 0; frames < 2; ++frames) {
      CHECK(receive(0) == CJ2K_AGAIN);
      const auto start = Clock::now();
      CHECK(receive(20) == CJ2K_AGAIN);
      CHECK(ms_since(start) >= 20);
      CHECK(packet.pts == 77);  // not written
      REQUIRE(cj2k_encoder_send_frame(encoder, &memory.frame) == CJ2K_OK);
    }
    // Two frames of four are not enough for the other receive function, but they can be received.
    CHECK(cj2k_encoder_receive_packet(encoder, &packet) == CJ2K_AGAIN);
    REQUIRE(receive(60000) == CJ2K_OK);
    cj2k_packet_release(&packet);
    REQUIRE(receive(0) == CJ2K_OK);
    cj2k_packet_release(&packet);
    CHECK(receive(0) == CJ2K_AGAIN);
    // Another thread sends a frame while this one waits.
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      CHECK(cj2k_encoder_send_frame(encoder, &memory.frame) == CJ2K_OK);
      CHECK(cj2k_encoder_send_frame(encoder, nullptr) == CJ2K_OK);
    });
    REQUIRE(receive(-1) == CJ2K_OK);
    cj2k_packet_release(&packet);
    CHECK(receive(-1) == CJ2K_EOF);
    other.join();
    CHECK(receive(0) == CJ2K_EOF);
    CHECK(cj2k_encoder_receive_packet_timed(encoder, nullptr, 0) == CJ2K_INVALID);
    CHECK(std::string(cj2k_encoder_last_error(encoder)) ==
          "cj2k_encoder_receive_packet_timed: packet is NULL");
    CHECK(cj2k_encoder_receive_packet_timed(nullptr, &packet, 0) == CJ2K_INVALID);
    cj2k_encoder_close(encoder);
  }
}

TEST_CASE("last_error of an encoder is the same in every thread") {
  const cj2k_params p = params_of(1, 1, 1);
  cj2k_encoder* encoder = nullptr;
  REQUIRE(cj2k_encoder_open(&p, &encoder) == CJ2K_OK);
  CHECK(std::string(cj2k_encoder_last_error(encoder)) == "");
  std::string there;
  std::thread([&] {
    CHECK(cj2k_encoder_receive_packet(encoder, nullptr) == CJ2K_INVALID);
    there = cj2k_encoder_last_error(encoder);
  }).join();
  CHECK(there == "cj2k_encoder_receive_packet: packet is NULL");
  CHECK(cj2k_encoder_last_error(encoder) == there);
  cj2k_encoder_close(encoder);
}

}  // namespace
}  // namespace cj2k::test
