// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Send, receive, drain, flush and close in every order, and several encoders at once.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/encode.h"

namespace cj2k::test {
namespace {

constexpr int kWidth = 48, kHeight = 40;

/// An encoder, numbered frames, and a count of their releases.
class Session {
 public:
  explicit Session(cj2k_params p) : params_(p) {
    REQUIRE(cj2k_encoder_open(&params_, &encoder_) == CJ2K_OK);
    packet_.struct_size = sizeof packet_;
  }
  ~Session() { close(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  cj2k_status send(int number) {
    memory_.push_back(
        std::make_unique<FrameMemory>(make_picture(params_, Content::kTexture, number)));
    cj2k_frame frame = memory_.back()->frame;
    frame.pts = number;
    frame.release = [](void* opaque) { ++*static_cast<std::atomic<int>*>(opaque); };
    frame.release_opaque = &released;
    const cj2k_status status = cj2k_encoder_send_frame(encoder_, &frame);
    if (status == CJ2K_OK) ++sent;
    return status;
  }
  cj2k_status drain() { return cj2k_encoder_send_frame(encoder_, nullptr); }
  cj2k_status receive(bool release = true) {
    const cj2k_status status = cj2k_encoder_receive_packet(encoder_, &packet_);
    if (status == CJ2K_OK) {
      pts.push_back(packet_.pts);
      if (release) cj2k_packet_release(&packet_);
    }
    return status;
  }
  cj2k_status flush() { return cj2k_encoder_flush(encoder_); }
  void close() {
    cj2k_encoder_close(encoder_);
    encoder_ = nullptr;
  }
  cj2k_encoder* encoder() { return encoder_; }
  const cj2k_packet& packet() const { return packet_; }

  std::atomic<int> released = 0;
  int sent = 0;
  std::vector<int64_t> pts;

 private:
  cj2k_params params_;
  cj2k_encoder* encoder_ = nullptr;
  cj2k_packet packet_ = {};
  std::vector<std::unique_ptr<FrameMemory>> memory_;
};

cj2k_params with_depth(int async_depth, int gop, int threads = 2) {
  cj2k_params p = make_params(kWidth, kHeight, 3, 8);
  p.async_depth = async_depth;
  p.gop = gop;
  p.threads = threads;
  return p;
}

TEST_CASE("async_depth frames are taken before a packet must be") {
  for (int depth : {1, 2, 5}) {
    for (int gop : {1, 2, 3}) {
      Session session(with_depth(depth, gop));
      cj2k_info info = {};
      info.struct_size = sizeof info;
      REQUIRE(cj2k_encoder_info(session.encoder(), &info) == CJ2K_OK);
      INFO("async_depth ", depth, " gop ", gop, " info ", info.async_depth);
      CHECK(info.async_depth >= depth);
      CHECK(session.receive() == CJ2K_AGAIN);
      for (int i = 0; i < info.async_depth; ++i) REQUIRE(session.send(i) == CJ2K_OK);
      CHECK(session.send(99) == CJ2K_AGAIN);
      CHECK(session.receive() == CJ2K_OK);
      CHECK(session.drain() == CJ2K_OK);
      while (session.receive() == CJ2K_OK) {
      }
      CHECK(session.receive() == CJ2K_EOF);
      REQUIRE(session.pts.size() == static_cast<size_t>(info.async_depth));
      for (size_t i = 0; i < session.pts.size(); ++i)
        CHECK(session.pts[i] == static_cast<int64_t>(i));
      CHECK(session.released == session.sent);
    }
  }
}

TEST_CASE("after the end nothing is taken until a flush") {
  Session session(with_depth(2, 1));
  CHECK(session.send(1) == CJ2K_OK);
  CHECK(session.drain() == CJ2K_OK);
  CHECK(session.drain() == CJ2K_EOF);
  CHECK(session.send(2) == CJ2K_EOF);
  CHECK(session.receive() == CJ2K_OK);
  CHECK(session.receive() == CJ2K_EOF);
  CHECK(session.receive() == CJ2K_EOF);
  CHECK(session.send(3) == CJ2K_EOF);
  CHECK(session.flush() == CJ2K_OK);
  CHECK(session.receive() == CJ2K_AGAIN);
  CHECK(session.send(4) == CJ2K_OK);
  CHECK(session.drain() == CJ2K_OK);
  CHECK(session.receive() == CJ2K_OK);
  CHECK(session.receive() == CJ2K_EOF);
  CHECK(session.pts == std::vector<int64_t>{1, 4});
}

TEST_CASE("draining an encoder that has had no frame") {
  Session session(with_depth(3, 2));
  CHECK(session.drain() == CJ2K_OK);
  CHECK(session.receive() == CJ2K_EOF);
}

TEST_CASE("flush drops frames in flight and releases them") {
  for (int gop : {1, 3}) {
    Session session(with_depth(4, gop));
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < 4; ++i) REQUIRE(session.send(10 * round + i) == CJ2K_OK);
      REQUIRE(session.flush() == CJ2K_OK);
      CHECK(session.released == session.sent);
      CHECK(session.receive() == CJ2K_AGAIN);
    }
    CHECK(session.pts.empty());
    REQUIRE(session.send(77) == CJ2K_OK);
    REQUIRE(session.drain() == CJ2K_OK);
    CHECK(session.receive() == CJ2K_OK);
    CHECK(session.pts == std::vector<int64_t>{77});
  }
}

TEST_CASE("closing with frames in flight releases them") {
  for (int gop : {1, 4}) {
    auto session = std::make_unique<Session>(with_depth(4, gop));
    for (int i = 0; i < 3; ++i) REQUIRE(session->send(i) == CJ2K_OK);
    session->close();
    CHECK(session->released == 3);
  }
}

TEST_CASE("packets that are not released keep their bytes, however many there are") {
  Session session(with_depth(3, 1));
  std::vector<cj2k_packet> held;
  std::vector<std::vector<uint8_t>> copies;
  const auto take_all = [&] {
    while (session.receive(false) == CJ2K_OK) {
      held.push_back(session.packet());
      copies.emplace_back(session.packet().data, session.packet().data + session.packet().size);
    }
  };
  for (int i = 0; i < 40; ++i) {
    REQUIRE(session.send(i) == CJ2K_OK);
    take_all();
  }
  REQUIRE(session.drain() == CJ2K_OK);
  take_all();
  REQUIRE(held.size() == 40);
  for (size_t i = 0; i < held.size(); ++i) {
    CHECK(std::vector<uint8_t>(held[i].data, held[i].data + held[i].size) == copies[i]);
  }
  REQUIRE(session.flush() == CJ2K_OK);
  // The packets are released out of order, and the encoder reuses their memory.
  for (size_t i = 0; i < held.size(); ++i) cj2k_packet_release(&held[(i * 7) % held.size()]);
  for (int i = 0; i < 5; ++i) {
    REQUIRE(session.send(i) == CJ2K_OK);
    while (session.receive() == CJ2K_OK) {
    }
  }
}

TEST_CASE("packets outlive the encoder, one by one") {
  std::vector<cj2k_packet> held;
  std::vector<std::vector<uint8_t>> copies;
  std::vector<int64_t> bytes;
  {
    Session session(with_depth(3, 1));
    for (int i = 0; i < 9; ++i) {
      while (session.send(i) == CJ2K_AGAIN) {
        REQUIRE(session.receive(false) == CJ2K_OK);
        held.push_back(session.packet());
      }
    }
    for (const cj2k_packet& packet : held) {
      copies.emplace_back(packet.data, packet.data + packet.size);
      bytes.push_back(stats_of(packet).bytes);
    }
    // The encoder closes with frames in flight.
  }
  REQUIRE(held.size() == 6);
  for (const size_t i : {4u, 0u, 5u, 1u, 3u, 2u}) {
    CHECK(std::vector<uint8_t>(held[i].data, held[i].data + held[i].size) == copies[i]);
    CHECK(stats_of(held[i]).bytes == bytes[i]);
    cj2k_packet_release(&held[i]);
    CHECK(held[i].data == nullptr);
    CHECK(held[i].slot == nullptr);
  }
}

TEST_CASE("zeros follow the bytes of a packet, also in memory that had a longer one") {
  cj2k_params p = with_depth(1, 1);
  p.quality = 0.5;
  Session session(p);
  for (const Content content :
       {Content::kNoise, Content::kFlat, Content::kTexture, Content::kFlat}) {
    const FrameMemory memory(make_picture(p, content, 7));
    REQUIRE(cj2k_encoder_send_frame(session.encoder(), &memory.frame) == CJ2K_OK);
    REQUIRE(session.receive(false) == CJ2K_OK);
    cj2k_packet packet = session.packet();
    for (int i = 0; i < CJ2K_PACKET_PADDING; ++i) CHECK(packet.data[packet.size + i] == 0);
    cj2k_packet_release(&packet);
  }
}

TEST_CASE("a packet released twice does no harm; of a released one there are no statistics") {
  Session session(with_depth(2, 1));
  REQUIRE(session.send(1) == CJ2K_OK);
  REQUIRE(session.send(2) == CJ2K_OK);
  REQUIRE(session.drain() == CJ2K_OK);
  REQUIRE(session.receive(false) == CJ2K_OK);
  cj2k_packet packet = session.packet();
  cj2k_packet_release(&packet);
  cj2k_packet_release(&packet);
  cj2k_stats stats = {};
  stats.struct_size = sizeof stats;
  CHECK(cj2k_packet_stats(&packet, &stats) == CJ2K_INVALID);
  CHECK(std::string(cj2k_encoder_last_error(nullptr)).find("released") != std::string::npos);
  REQUIRE(session.receive() == CJ2K_OK);
}

TEST_CASE("two encoders at once in two threads give what each gives alone") {
  cj2k_params first = make_params(160, 120, 3, 8);
  cj2k_params second = make_params(130, 97, 1, 12);
  set(second, "cblk", "32x32");
  second.lossless = 1;
  std::vector<Picture> first_pictures, second_pictures;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    first_pictures.push_back(make_picture(first, Content::kTexture, seed));
    second_pictures.push_back(make_picture(second, Content::kTexture, seed));
  }
  const auto alone_first = encode_sequence(first, first_pictures);
  const auto alone_second = encode_sequence(second, second_pictures);
  std::vector<Encoded> together_first, together_second;
  std::thread other([&] { together_second = encode_sequence(second, second_pictures); });
  together_first = encode_sequence(first, first_pictures);
  other.join();
  REQUIRE(together_first.size() == alone_first.size());
  REQUIRE(together_second.size() == alone_second.size());
  for (size_t i = 0; i < alone_first.size(); ++i) {
    CHECK(together_first[i].bytes == alone_first[i].bytes);
    CHECK(together_second[i].bytes == alone_second[i].bytes);
  }
}

TEST_CASE("two encoders fed in turn by one thread") {
  Session a(with_depth(2, 1)), b(with_depth(2, 1, 1));
  for (int i = 0; i < 6; ++i) {
    for (Session* session : {&a, &b}) {
      while (session->send(i) == CJ2K_AGAIN) REQUIRE(session->receive() == CJ2K_OK);
    }
  }
  for (Session* session : {&a, &b}) {
    REQUIRE(session->drain() == CJ2K_OK);
    while (session->receive() == CJ2K_OK) {
    }
    CHECK(session->pts == std::vector<int64_t>{0, 1, 2, 3, 4, 5});
  }
}

/// The ICC profile in a JP2 file; empty if there is none.
std::vector<uint8_t> profile_of(const std::vector<uint8_t>& file) {
  const std::string signature = "acsp";
  const auto at = std::search(file.begin(), file.end(), signature.begin(), signature.end());
  if (at - file.begin() < 36 || at == file.end()) return {};
  const auto begin = at - 36;
  const long bytes = begin[0] << 24 | begin[1] << 16 | begin[2] << 8 | begin[3];
  REQUIRE(file.end() - begin > bytes);
  return {begin, begin + bytes};
}

/// Encodes one picture to the end of the sequence.
std::vector<uint8_t> packet_of(cj2k_encoder* encoder, const Picture& picture) {
  const FrameMemory memory(picture, {});
  REQUIRE(cj2k_encoder_send_frame(encoder, &memory.frame) == CJ2K_OK);
  REQUIRE(cj2k_encoder_send_frame(encoder, nullptr) == CJ2K_OK);
  cj2k_packet packet = {};
  packet.struct_size = sizeof packet;
  REQUIRE(cj2k_encoder_receive_packet(encoder, &packet) == CJ2K_OK);
  std::vector<uint8_t> bytes(packet.data, packet.data + packet.size);
  cj2k_packet_release(&packet);
  return bytes;
}

TEST_CASE("open copies the caller's ICC profile") {
  cj2k_params p = make_params(kWidth, kHeight, 3, 8);
  p.format = CJ2K_FORMAT_JP2;
  const Picture picture = make_picture(p, Content::kTexture, 1);
  CHECK(profile_of(encode(p, picture).bytes).empty());
  p.primaries = CJ2K_PRIMARIES_REC2020;
  const std::vector<uint8_t> profile = profile_of(encode(p, picture).bytes);
  REQUIRE(profile.size() > 500);

  p.primaries = CJ2K_PRIMARIES_REC709;
  SUBCASE("set_icc sets it later") {
    cj2k_encoder* encoder = nullptr;
    REQUIRE(cj2k_encoder_open(&p, &encoder) == CJ2K_OK);
    CHECK(cj2k_encoder_set_icc(encoder, profile.data(), profile.size() - 1) == CJ2K_INVALID);
    CHECK(packet_of(encoder, picture) == encode(p, picture).bytes);  // the encoder stays usable
    CHECK(cj2k_encoder_set_icc(encoder, profile.data(), profile.size()) == CJ2K_INVALID);
    cj2k_encoder_close(encoder);
    REQUIRE(cj2k_encoder_open(&p, &encoder) == CJ2K_OK);
    cj2k_frame refused{};
    refused.struct_size = sizeof(refused);
    CHECK(cj2k_encoder_send_frame(encoder, &refused) == CJ2K_INVALID);
    CHECK(cj2k_encoder_set_icc(encoder, profile.data(), profile.size()) == CJ2K_OK);
    CHECK(profile_of(packet_of(encoder, picture)) == profile);
    cj2k_encoder_close(encoder);
    REQUIRE(cj2k_encoder_open(&p, &encoder) == CJ2K_OK);
    REQUIRE(cj2k_encoder_send_frame(encoder, nullptr) == CJ2K_OK);
    CHECK(cj2k_encoder_set_icc(encoder, profile.data(), profile.size()) == CJ2K_INVALID);
    cj2k_encoder_close(encoder);
    return;
  }
  auto own = std::make_unique<std::vector<uint8_t>>(profile);
  p.icc_profile = own->data();
  p.icc_profile_bytes = own->size();
  cj2k_encoder* encoder = nullptr;
  REQUIRE(cj2k_encoder_open(&p, &encoder) == CJ2K_OK);
  std::fill(own->begin(), own->end(), uint8_t{0xA5});
  own.reset();
  cj2k_params used = {};
  used.struct_size = sizeof used;
  CHECK(cj2k_encoder_params(encoder, &used) == CJ2K_OK);
  CHECK(used.icc_profile == nullptr);
  CHECK(used.icc_profile_bytes == 0);
  CHECK(profile_of(packet_of(encoder, picture)) == profile);
  cj2k_encoder_close(encoder);
}

}  // namespace
}  // namespace cj2k::test
