// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Bad frames: the right error, one line that says why, and an encoder that goes on.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "support/encode.h"

namespace cj2k::test {
namespace {

struct Closer {
  void operator()(cj2k_encoder* encoder) const { cj2k_encoder_close(encoder); }
};
using EncoderPtr = std::unique_ptr<cj2k_encoder, Closer>;

EncoderPtr open(cj2k_params p, LogText& log) {
  p.log = LogText::append;
  p.log_opaque = &log;
  cj2k_encoder* encoder = nullptr;
  REQUIRE(cj2k_encoder_open(&p, &encoder) == CJ2K_OK);
  return EncoderPtr(encoder);
}

std::vector<uint8_t> finish(cj2k_encoder* encoder) {
  cj2k_packet packet = {};
  packet.struct_size = sizeof packet;
  REQUIRE(cj2k_encoder_send_frame(encoder, nullptr) == CJ2K_OK);
  REQUIRE(cj2k_encoder_receive_packet(encoder, &packet) == CJ2K_OK);
  const std::vector<uint8_t> bytes(packet.data, packet.data + packet.size);
  cj2k_packet_release(&packet);
  CHECK(cj2k_encoder_receive_packet(encoder, &packet) == CJ2K_EOF);
  return bytes;
}

TEST_CASE("each kind of bad frame") {
  const cj2k_params p = make_params(33, 21, 3, 12);
  const Picture picture = make_picture(p, Content::kTexture, 1);
  const std::vector<uint8_t> expected = encode(p, picture).bytes;
  const FrameMemory good(picture);
  REQUIRE(good.frame.components[0].word_bytes == 2);

  const struct {
    const char* word;  // the message must name it
    std::function<void(cj2k_frame&)> spoil;
  } table[] = {
      {"struct_size", [](cj2k_frame& f) { f.struct_size = 0; }},
      {"CUDA memory", [](cj2k_frame& f) { f.memory = CJ2K_MEMORY_CUDA; }},
      {"memory", [](cj2k_frame& f) { f.memory = static_cast<cj2k_memory>(-1); }},
      {"32", [](cj2k_frame& f) { f.width = 32; }},
      {"34", [](cj2k_frame& f) { f.width = 34; }},
      {"22", [](cj2k_frame& f) { f.height = 22; }},
      {"0x21", [](cj2k_frame& f) { f.width = 0; }},
      {"-33x21", [](cj2k_frame& f) { f.width = -33; }},
      {"33x0", [](cj2k_frame& f) { f.height = 0; }},
      {"data", [](cj2k_frame& f) { f.components[0].data = nullptr; }},
      {"data", [](cj2k_frame& f) { f.components[2].data = nullptr; }},
      {"65", [](cj2k_frame& f) { f.components[1].stride_bytes = 65; }},
      {"-65", [](cj2k_frame& f) { f.components[1].stride_bytes = -65; }},
      {"stride", [](cj2k_frame& f) { f.components[1].stride_bytes = 0; }},
      {"stride", [](cj2k_frame& f) { f.components[0].step_bytes = 3; }},
      {"step", [](cj2k_frame& f) { f.components[0].step_bytes = 1; }},
      {"step", [](cj2k_frame& f) { f.components[0].step_bytes = 0; }},
      {"step", [](cj2k_frame& f) { f.components[0].step_bytes = -2; }},
      {"word", [](cj2k_frame& f) { f.components[0].word_bytes = 0; }},
      {"word", [](cj2k_frame& f) { f.components[0].word_bytes = 3; }},
      {"word", [](cj2k_frame& f) { f.components[0].word_bytes = 8; }},
      {"word", [](cj2k_frame& f) { f.components[0].word_bytes = -1; }},
      {"shift", [](cj2k_frame& f) { f.components[0].shift = -1; }},
      {"shift", [](cj2k_frame& f) { f.components[0].shift = 5; }},  // 12 + 5 bits do not fit 16
      {"shift", [](cj2k_frame& f) { f.components[0].shift = 32; }},
      {"word",
       [](cj2k_frame& f) { f.components[0].word_bytes = 1, f.components[0].step_bytes = 2; }},
  };
  LogText log;
  for (const auto& row : table) {
    const EncoderPtr encoder = open(p, log);
    cj2k_frame frame = good.frame;
    row.spoil(frame);
    log.text.clear();
    const cj2k_status status = cj2k_encoder_send_frame(encoder.get(), &frame);
    INFO("expected word: ", std::string(row.word), " log: ", log.text);
    const bool other_memory = std::string(row.word) == "CUDA memory";
    CHECK(status == (other_memory ? CJ2K_NOT_SUPPORTED : CJ2K_INVALID));
    CHECK(std::count(log.text.begin(), log.text.end(), '\n') == 1);
    CHECK(log.text.find(row.word) != std::string::npos);
    CHECK(cj2k_encoder_last_error(encoder.get()) + std::string("\n") == log.text);
    CHECK(cj2k_encoder_send_frame(encoder.get(), &good.frame) == CJ2K_OK);
    CHECK(cj2k_encoder_last_error(encoder.get()) + std::string("\n") == log.text);
    CHECK(finish(encoder.get()) == expected);
  }
}

TEST_CASE("a refused frame is not released, a taken one exactly once") {
  const cj2k_params p = make_params(33, 21, 1, 8);
  const FrameMemory memory(make_picture(p, Content::kTexture, 1));
  LogText log;
  const EncoderPtr encoder = open(p, log);
  int released = 0;
  cj2k_frame frame = memory.frame;
  frame.release = [](void* opaque) { ++*static_cast<int*>(opaque); };
  frame.release_opaque = &released;
  frame.width = 5;
  CHECK(cj2k_encoder_send_frame(encoder.get(), &frame) == CJ2K_INVALID);
  CHECK(released == 0);
  frame.width = 33;
  CHECK(cj2k_encoder_send_frame(encoder.get(), &frame) == CJ2K_OK);
  finish(encoder.get());
  CHECK(released == 1);
}

TEST_CASE("what must be returned is returned") {
  const cj2k_params p = make_params(33, 21, 1, 8);
  const FrameMemory memory(make_picture(p, Content::kTexture, 1));
  LogText log;
  const EncoderPtr encoder = open(p, log);
  cj2k_packet packet = {};
  packet.struct_size = sizeof packet;
  int sent = 0, received = 0;
  while (received < 7) {
    cj2k_frame frame = memory.frame;
    frame.pts = 100 - sent * 7;
    frame.duration = sent;
    frame.opaque = reinterpret_cast<void*>(static_cast<intptr_t>(sent + 1));
    const cj2k_status status = cj2k_encoder_send_frame(encoder.get(), sent < 7 ? &frame : nullptr);
    if (status == CJ2K_OK && sent < 7) ++sent;
    while (cj2k_encoder_receive_packet(encoder.get(), &packet) == CJ2K_OK) {
      CHECK(packet.pts == 100 - received * 7);
      CHECK(packet.duration == received);
      CHECK(packet.opaque == reinterpret_cast<void*>(static_cast<intptr_t>(received + 1)));
      ++received;
      cj2k_packet_release(&packet);
    }
  }
  CHECK(cj2k_encoder_receive_packet(encoder.get(), &packet) == CJ2K_EOF);
}

TEST_CASE("null arguments") {
  LogText log;
  const EncoderPtr encoder = open(make_params(16, 16), log);
  const FrameMemory memory(make_picture(make_params(16, 16), Content::kFlat, 1));
  cj2k_packet packet = {};
  packet.struct_size = sizeof packet;
  cj2k_info info = {};
  info.struct_size = sizeof info;
  CHECK(cj2k_encoder_send_frame(nullptr, &memory.frame) == CJ2K_INVALID);
  CHECK(cj2k_encoder_send_frame(nullptr, nullptr) == CJ2K_INVALID);
  CHECK(cj2k_encoder_receive_packet(nullptr, &packet) == CJ2K_INVALID);
  CHECK(cj2k_encoder_receive_packet(encoder.get(), nullptr) == CJ2K_INVALID);
  CHECK(cj2k_encoder_info(nullptr, &info) == CJ2K_INVALID);
  CHECK(cj2k_encoder_info(encoder.get(), nullptr) == CJ2K_INVALID);
  CHECK(cj2k_encoder_flush(nullptr) == CJ2K_INVALID);
  cj2k_packet_release(nullptr);
  cj2k_packet_release(&packet);
  cj2k_encoder_close(nullptr);
  cj2k_log_stderr(nullptr, CJ2K_LOG_DEBUG, "");
  packet.struct_size = 0;
  CHECK(cj2k_encoder_receive_packet(encoder.get(), &packet) == CJ2K_INVALID);
  info.struct_size = 0;
  CHECK(cj2k_encoder_info(encoder.get(), &info) == CJ2K_INVALID);
}

/// What the call says: one line with each of `words`.
void check_line(LogText& log, const std::function<void()>& call,
                const std::vector<std::string>& words) {
  log.text.clear();
  call();
  INFO("log: ", log.text);
  CHECK(std::count(log.text.begin(), log.text.end(), '\n') == 1);
  for (const std::string& word : words) {
    INFO("missing: ", word);
    CHECK(log.text.find(word) != std::string::npos);
  }
}

TEST_CASE("null arguments are told where there is a log") {
  LogText log;
  cj2k_params p = make_params(16, 16);
  p.log = LogText::append;
  p.log_opaque = &log;
  const EncoderPtr encoder = open(p, log);
  const auto invalid = [](cj2k_status status) { CHECK(status == CJ2K_INVALID); };
  check_line(log, [&] { invalid(cj2k_encoder_open(&p, nullptr)); }, {"cj2k_encoder_open", "NULL"});
  check_line(log, [&] { invalid(cj2k_params_info(&p, nullptr)); }, {"cj2k_params_info", "NULL"});
  check_line(log, [&] { invalid(cj2k_encoder_info(encoder.get(), nullptr)); },
             {"cj2k_encoder_info", "NULL"});
  check_line(log, [&] { invalid(cj2k_encoder_receive_packet(encoder.get(), nullptr)); },
             {"cj2k_encoder_receive_packet", "NULL"});
}

TEST_CASE("a frame that is not taken now, or not any more, says why") {
  cj2k_params p = make_params(33, 21, 3, 8);
  p.async_depth = 3;
  p.threads = 2;
  const FrameMemory memory(make_picture(p, Content::kTexture, 1));
  LogText log;
  const EncoderPtr encoder = open(p, log);
  cj2k_frame frame = memory.frame;
  for (frame.pts = 100; frame.pts < 103; ++frame.pts)
    REQUIRE(cj2k_encoder_send_frame(encoder.get(), &frame) == CJ2K_OK);
  check_line(log, [&] { CHECK(cj2k_encoder_send_frame(encoder.get(), &frame) == CJ2K_AGAIN); },
             {"frame 103", "3 frames in flight", "async_depth 3", "receive"});
  REQUIRE(cj2k_encoder_send_frame(encoder.get(), nullptr) == CJ2K_OK);
  check_line(log, [&] { CHECK(cj2k_encoder_send_frame(encoder.get(), &frame) == CJ2K_EOF); },
             {"frame not taken", "drain", "flush"});
}

}  // namespace
}  // namespace cj2k::test
