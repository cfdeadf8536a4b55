// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Films with one budget (cj2k_encoder_open_film): what the passes do is what their parts do, however
// the encoder is driven.
#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cj2k_film.h"
#include "support/encode.h"

namespace cj2k::test {
namespace {

constexpr size_t kFrames = 7;
constexpr int64_t kMean = 3000;

using Packets = std::vector<std::vector<uint8_t>>;

cj2k_params film_params() {
  cj2k_params p = make_params(120, 90, 3, 8);
  set(p, "frame_rate", "25");
  set(p, "cblk", "16x16");
  p.max_frame_bytes = 2 * kMean;
  p.threads = 2;
  return p;
}

cj2k_film_pass film_pass(int32_t pass) {
  cj2k_film_pass film{};
  film.struct_size = sizeof film;
  film.pass = pass;
  film.bits_per_second = kMean * 8 * 25;
  film.reservoir_bytes = 2 * kMean;
  film.ahead = 3;
  return film;
}

const std::vector<Picture>& pictures() {
  static const std::vector<Picture> all = [] {
    std::vector<Picture> made;
    for (size_t n = 0; n < kFrames; ++n)
      made.push_back(make_picture(film_params(), n < 3 ? Content::kFlat : Content::kTexture, n));
    return made;
  }();
  return all;
}

/// An encoder of a film, and the frames that it holds.
class Film {
 public:
  Film(const cj2k_params& p, const cj2k_film_pass* pass) {
    const cj2k_status opened = cj2k_encoder_open_film(&p, pass, &encoder_);
    INFO(cj2k_encoder_last_error(nullptr));
    REQUIRE(opened == CJ2K_OK);
  }
  ~Film() {
    close();
    CHECK(held_ == 0);
  }
  void close() {
    cj2k_encoder_close(encoder_);
    encoder_ = nullptr;
  }
  cj2k_encoder* get() const { return encoder_; }

  cj2k_status send(size_t n, int64_t target = 0) {
    auto owned = std::make_unique<Held>(Held{this, FrameMemory(pictures()[n])});
    cj2k_frame& frame = owned->memory.frame;
    frame.target_bytes = target;
    frame.pts = static_cast<int64_t>(n);
    frame.release = [](void* held) {
      --static_cast<Held*>(held)->film->held_;
      delete static_cast<Held*>(held);
    };
    frame.release_opaque = owned.get();
    ++held_;
    const cj2k_status status = cj2k_encoder_send_frame(encoder_, &frame);
    if (status == CJ2K_OK)
      (void)owned.release();
    else
      --held_;
    return status;
  }
  /// @return whether there was a packet
  cj2k_status receive(int timeout_ms = 0) {
    cj2k_packet packet{};
    packet.struct_size = sizeof packet;
    const cj2k_status status =
        timeout_ms == 0 ? cj2k_encoder_receive_packet(encoder_, &packet)
                        : cj2k_encoder_receive_packet_timed(encoder_, &packet, timeout_ms);
    if (status != CJ2K_OK) return status;
    CHECK(packet.pts == static_cast<int64_t>(packets.size()));
    packets.emplace_back(packet.data, packet.data + packet.size);
    cj2k_curve curve;
    if (cj2k_packet_curve(&packet, &curve) == CJ2K_OK) curves.push_back(curve);
    cj2k_packet_release(&packet);
    return status;
  }
  /// Sends all frames, and receives until all packets are there.
  void run(const std::vector<int64_t>& targets = std::vector<int64_t>(kFrames)) {
    for (size_t n = 0; n < kFrames;) {
      const cj2k_status status = receive();
      if (status == CJ2K_OK) continue;
      REQUIRE(status == CJ2K_AGAIN);
      REQUIRE(send(n, targets[n]) == CJ2K_OK);
      ++n;
    }
    REQUIRE(cj2k_encoder_send_frame(encoder_, nullptr) == CJ2K_OK);
    CHECK(cj2k_encoder_send_frame(encoder_, nullptr) == CJ2K_EOF);
    CHECK(send(0) == CJ2K_EOF);
    while (receive() == CJ2K_OK) continue;
    CHECK(receive() == CJ2K_EOF);
    REQUIRE(packets.size() == kFrames);
  }
  std::vector<uint8_t> log() const {
    void* bytes = nullptr;
    size_t size = 0;
    const cj2k_status status = cj2k_encoder_film_log(encoder_, &bytes, &size);
    INFO(cj2k_encoder_last_error(encoder_));
    REQUIRE(status == CJ2K_OK);
    const auto* begin = static_cast<const uint8_t*>(bytes);
    std::vector<uint8_t> log(begin, begin + size);
    cj2k_free(bytes);
    return log;
  }
  std::string headline() const {
    char text[CJ2K_MAX_PARAM_TEXT];
    REQUIRE(cj2k_encoder_headline(encoder_, 1, text, sizeof text) == CJ2K_OK);
    return text;
  }

  Packets packets;
  std::vector<cj2k_curve> curves;

 private:
  struct Held {
    Film* film;
    FrameMemory memory;
  };
  std::atomic<int> held_ = 0;
  cj2k_encoder* encoder_ = nullptr;
};

TEST_CASE("film: two passes are an analysis, an allocation and targets") {
  const cj2k_params p = film_params();
  cj2k_film_pass one = film_pass(1), two = film_pass(2);
  cj2k_params analysis = p;
  analysis.curves = CJ2K_CURVES_ONLY;
  Film first(p, &one), curves(analysis, nullptr);
  CHECK(first.headline() == "pass 1 runs on the CPU, and its packets have no bytes");
  first.run();
  curves.run();
  std::vector<uint8_t> log(cj2k_film_log_size(kFrames));
  REQUIRE(cj2k_film_log_write(&analysis, curves.curves.data(), kFrames, log.data()) == CJ2K_OK);
  CHECK(first.log() == log);

  cj2k_film budget{};
  budget.struct_size = sizeof budget;
  budget.total_bytes = kMean * kFrames;
  budget.max_frame_bytes = 2 * kMean;
  std::vector<int64_t> targets(kFrames);
  REQUIRE(cj2k_film_allocate(&budget, curves.curves.data(), kFrames, nullptr, nullptr,
                             targets.data()) == CJ2K_OK);
  two.log = log.data();
  two.log_bytes = log.size();
  Film second(p, &two), plain(p, nullptr);
  CHECK(second.headline().find("pass 2: 7 frames get ") == 0);
  second.run();
  plain.run(targets);
  CHECK(second.packets == plain.packets);
}

TEST_CASE("film: pass 2 numbers its frames") {
  cj2k_film_pass one = film_pass(1), two = film_pass(2);
  Film first(film_params(), &one);
  first.run();
  const std::vector<uint8_t> log = first.log();
  two.log = log.data();
  two.log_bytes = log.size();
  LogText said;
  cj2k_params p = film_params();
  p.log = LogText::append;
  p.log_opaque = &said;
  Film second(p, &two);
  second.run();
  CHECK(said.text.find("left over") == std::string::npos);
  const Packets packets = std::exchange(second.packets, {});
  REQUIRE(cj2k_encoder_flush(second.get()) == CJ2K_OK);
  REQUIRE(second.send(0) == CJ2K_OK);
  REQUIRE(cj2k_encoder_send_frame(second.get(), nullptr) == CJ2K_OK);
  CHECK(said.text.find("the film has 1 frames, and the log of pass 1 7") != std::string::npos);
  REQUIRE(second.receive() == CJ2K_OK);
  CHECK(second.packets[0] == packets[0]);
  REQUIRE(cj2k_encoder_flush(second.get()) == CJ2K_OK);
  second.packets.clear();
  for (size_t n = 0; n < kFrames; ++n) {
    REQUIRE(second.send(n) == CJ2K_OK);
    while (second.receive() == CJ2K_OK) continue;
  }
  CHECK(second.send(0) == CJ2K_INVALID);
  CHECK(std::string(cj2k_encoder_last_error(second.get())) ==
        "frame 7: the log of pass 1 has only 7 frames");
}

TEST_CASE("film: lookahead gives the same bytes to one thread, to two, and after a flush") {
  const cj2k_params p = film_params();
  const cj2k_film_pass pass = film_pass(0);
  Film one(p, &pass);
  CHECK(one.headline() ==
        "one pass with lookahead: mean 600000 bit/s, each frame at most 6000 bytes, reservoir 6000 "
        "bytes, 3 frames ahead; cpu");
  one.run();
  size_t bytes = 0;
  for (const auto& packet : one.packets) bytes += packet.size();
  CHECK(bytes <= kMean * kFrames);
  CHECK(one.packets.back().size() > kMean);

  for (int32_t threads : {1, 3}) {
    cj2k_params other = p;
    other.threads = threads;
    other.gop = threads;
    Film two(other, &pass);
    std::thread receiver([&two] {
      while (two.receive(-1) == CJ2K_OK) continue;
    });
    for (size_t n = 0; n < kFrames;) {
      const cj2k_status status = two.send(n);
      n += status == CJ2K_OK;
      if (status != CJ2K_OK) REQUIRE(status == CJ2K_AGAIN);
      std::this_thread::yield();
    }
    REQUIRE(cj2k_encoder_send_frame(two.get(), nullptr) == CJ2K_OK);
    receiver.join();
    CHECK(two.packets == one.packets);
  }

  Film again(p, &pass);
  for (size_t n = 0; n < 6; ++n) {
    REQUIRE(again.send(n) == CJ2K_OK);
    while (again.receive() == CJ2K_OK) continue;
  }
  REQUIRE(cj2k_encoder_flush(again.get()) == CJ2K_OK);
  again.packets.clear();
  again.run();
  CHECK(again.packets == one.packets);
}

TEST_CASE("film: close gives back the frames that wait") {
  const cj2k_film_pass pass = film_pass(0);
  Film film(film_params(), &pass);
  for (size_t n = 0; n < 3; ++n) REQUIRE(film.send(n) == CJ2K_OK);
  CHECK(film.receive() == CJ2K_AGAIN);
  film.close();
}

TEST_CASE("film: what is refused is named") {
  const auto refused = [](const cj2k_params& p, const cj2k_film_pass& pass, const char* param,
                          const char* says) {
    cj2k_encoder* encoder = nullptr;
    CHECK(cj2k_encoder_open_film(&p, &pass, &encoder) == CJ2K_INVALID);
    CHECK(encoder == nullptr);
    cj2k_error error{};
    error.struct_size = sizeof error;
    REQUIRE(cj2k_last_error(nullptr, &error) == CJ2K_OK);
    INFO(error.message);
    CHECK(std::string(error.param) == param);
    CHECK(std::string(error.message).find(says) != std::string::npos);
  };
  const cj2k_params good = film_params();
  const cj2k_film_pass ahead = film_pass(0);
  cj2k_film_pass pass = ahead;
  pass.pass = 3;
  refused(good, pass, "", "film: pass 3 not in [0, 2]");
  pass = ahead;
  pass.ahead = 241;
  refused(good, pass, "", "film: ahead 241 not in [0, 240]");
  pass = ahead;
  pass.bits_per_second = 0;
  refused(good, pass, "", "film: bits_per_second 0 not in [1, ");
  pass = ahead;
  pass.reservoir_bytes = -1;
  refused(good, pass, "", "film: reservoir_bytes -1 not in [0, ");
  pass = ahead;
  pass.struct_size = 8;
  refused(good, pass, "", "film_pass: struct_size");
  refused(good, film_pass(2), "film_log", "pass 2 needs the log of pass 1");
  pass = film_pass(2);
  pass.log = "CJ2K";
  pass.log_bytes = 4;
  refused(good, pass, "film_log", "film log: 4 bytes");

  cj2k_params p = good;
  p.frame_rate_num = 0;
  refused(p, ahead, "frame_rate", "bits_per_second needs frame_rate");
  p = good;
  p.target_bytes = kMean - 1;
  refused(p, ahead, "target_bytes", "lookahead does not go with target_bytes");
  p.target_bytes = kMean;
  Film film(p, &ahead);
  p = good;
  p.min_frame_bytes = kMean + 1;
  refused(p, ahead, "min_frame_bytes", "min_frame_bytes 3001");
  for (const char* other :
       {"lossless", "quality", "qfactor", "target_psnr", "layer_rates", "layer_psnr", "curves"}) {
    p = good;
    if (std::string(other) == "curves")
      p.curves = CJ2K_CURVES_WITH;
    else
      set(p, other, std::string(other) == "layer_rates" ? "20,10" : "1");
    refused(p, film_pass(1), other, (std::string("pass 1 does not go with ") + other).c_str());
  }

  CHECK(film.send(0, 5000) == CJ2K_INVALID);
  const FrameMemory unowned(pictures()[0]);
  CHECK(cj2k_encoder_send_frame(film.get(), &unowned.frame) == CJ2K_INVALID);
  CHECK(std::string(cj2k_encoder_last_error(film.get())).find("release is NULL") !=
        std::string::npos);
  void* log = nullptr;
  size_t bytes = 0;
  CHECK(cj2k_encoder_film_log(film.get(), &log, &bytes) == CJ2K_INVALID);
  CHECK(cj2k_encoder_film_log(film.get(), nullptr, &bytes) == CJ2K_INVALID);
  Film plain(good, nullptr);
  CHECK(cj2k_encoder_film_log(plain.get(), &log, &bytes) == CJ2K_INVALID);
  film.run();  // after all that
}

}  // namespace
}  // namespace cj2k::test
