// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Bad frames: the right error, one line that gives the reason, and an encoder that continues.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <limits>
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
    const char* word;  // the message must contain it
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

// ---- Limits of one frame ----

/// Limits that either a frame or the parameters set.
struct Own {
  int64_t target_bytes = 0, max_frame_bytes = 0, max_component_bytes = 0;
  double quality = 0;

  void set(cj2k_frame& frame) const {
    frame.target_bytes = target_bytes;
    frame.max_frame_bytes = max_frame_bytes;
    frame.max_component_bytes = max_component_bytes;
    frame.quality = quality;
  }
  /// Sets the same limits for all frames of an encoder.
  void set(cj2k_params& p) const {
    if (target_bytes != 0) p.target_bytes = target_bytes;
    if (max_frame_bytes != 0) p.max_frame_bytes = max_frame_bytes;
    if (max_component_bytes != 0) p.max_component_bytes = max_component_bytes;
    if (quality != 0) p.quality = quality;
  }
};

/// Encodes one picture several times with one encoder; each frame has its own limits.
std::vector<std::vector<uint8_t>> encode_own(const cj2k_params& p, const Picture& picture,
                                             const std::vector<Own>& frames) {
  LogText log;
  const EncoderPtr encoder = open(p, log);
  const FrameMemory memory(picture);
  std::vector<std::vector<uint8_t>> packets;
  cj2k_packet packet = {};
  packet.struct_size = sizeof packet;
  for (size_t sent = 0; packets.size() < frames.size();) {
    cj2k_frame frame = memory.frame;
    if (sent < frames.size()) frames[sent].set(frame);
    const cj2k_status status =
        cj2k_encoder_send_frame(encoder.get(), sent < frames.size() ? &frame : nullptr);
    INFO(log.text);
    REQUIRE(status >= 0);
    sent += status == CJ2K_OK && sent < frames.size();
    while (cj2k_encoder_receive_packet(encoder.get(), &packet) == CJ2K_OK) {
      packets.emplace_back(packet.data, packet.data + packet.size);
      cj2k_packet_release(&packet);
    }
  }
  return packets;
}

TEST_CASE("a frame's own target, caps and quality: what an encoder opened with them gives") {
  const Own kFrames[] = {{},
                         {.target_bytes = 6000},
                         {.max_frame_bytes = 4000},
                         {},
                         {.max_component_bytes = 1500},
                         {.quality = 20},
                         {.target_bytes = 9000, .max_component_bytes = 2500, .quality = 6},
                         {.target_bytes = 20000, .max_frame_bytes = 5000},
                         {}};
  const std::vector<Own> frames(std::begin(kFrames), std::end(kFrames));
  const struct {
    const char* stop;
    const char* set;  ///< parameter of the encoder
    const char* value;
  } kEncoders[] = {{"exact", "layers", "2"},         {"none", "layers", "1"},
                   {"exact", "quality", "3"},        {"exact", "target_bytes", "12000"},
                   {"psb", "target_bytes", "12000"}, {"bpi", "max_frame_bytes", "8000"},
                   {"exact", "layer_rates", "40,16"}};
  for (const auto& one : kEncoders) {
    for (const int gop : {1, 3}) {
      INFO(std::string(one.stop), " ", std::string(one.set), " ", std::string(one.value), " gop ",
           gop);
      cj2k_params p = make_params(260, 190, 3, 8);
      for (const auto& [k, v] :
           std::vector<std::pair<const char*, const char*>>{{"cblk", "8x8"},
                                                            {"device", "cpu"},
                                                            {"threads", "2"},
                                                            {"quant_step", "0.25"},
                                                            {"stop", one.stop}})
        set(p, k, v);
      set(p, one.set, one.value);
      p.gop = gop;
      const Picture picture = make_picture(p, Content::kTexture, 5);
      const std::vector<std::vector<uint8_t>> packets = encode_own(p, picture, frames);
      REQUIRE(packets.size() == frames.size());
      for (size_t i = 0; i < frames.size(); ++i) {
        INFO("frame ", i);
        cj2k_params alone = p;
        frames[i].set(alone);
        const Encoded expected = encode(alone, picture);
        REQUIRE(expected.status == CJ2K_OK);
        CHECK(packets[i] == expected.bytes);
        CHECK((packets[i] == packets[0]) == (expected.bytes == packets[0]));
      }
      CHECK(packets[1] != packets[0]);
      CHECK(packets[2].size() <= 4000);
    }
  }
}

TEST_CASE(
    "a frame's own limits that are none: one line with value and range, and the encoder goes on") {
  cj2k_params p = make_params(150, 90, 3, 8);
  p.min_frame_bytes = 700;
  p.quality = 3;
  const Picture picture = make_picture(p, Content::kTexture, 5);
  const std::vector<uint8_t> expected = encode(p, picture).bytes;
  const FrameMemory memory(picture);
  const struct {
    Own own;
    std::vector<std::string> words;
  } table[] = {
      {{.target_bytes = -1}, {"frame: target_bytes -1 not in [", "1099511627776]"}},
      {{.target_bytes = 5}, {"frame: target_bytes 5 not in [", "headers of a frame"}},
      {{.target_bytes = (int64_t{1} << 40) + 1}, {"target_bytes 1099511627777 not in ["}},
      {{.target_bytes = 600}, {"frame: min_frame_bytes 700 not in [0, 600]"}},
      {{.max_frame_bytes = 20}, {"frame: max_frame_bytes 20 not in ["}},
      {{.max_component_bytes = 1},
       {"frame: max_component_bytes 1 not in [", "headers of a component"}},
      {{.quality = 0.001}, {"frame: quality 0.001 not in [0.00390625, 256]"}},
      {{.quality = 257}, {"frame: quality 257 not in"}},
      {{.quality = -2}, {"frame: quality -2 not in"}},
      {{.quality = std::numeric_limits<double>::quiet_NaN()}, {"frame: quality ", "nan not in"}},
      {{.quality = std::numeric_limits<double>::infinity()}, {"frame: quality inf not in"}},
  };
  for (const auto& row : table) {
    LogText log;
    const EncoderPtr encoder = open(p, log);
    cj2k_frame frame = memory.frame;
    row.own.set(frame);
    log.text.clear();
    CHECK(cj2k_encoder_send_frame(encoder.get(), &frame) == CJ2K_INVALID);
    INFO(log.text);
    CHECK(std::count(log.text.begin(), log.text.end(), '\n') == 1);
    for (const std::string& word : row.words) CHECK(log.text.find(word) != std::string::npos);
    CHECK(cj2k_encoder_send_frame(encoder.get(), &memory.frame) == CJ2K_OK);
    CHECK(finish(encoder.get()) == expected);
  }
  p = make_params(150, 90, 3, 8);
  p.lossless = 1;
  LogText log;
  const EncoderPtr encoder = open(p, log);
  cj2k_frame frame = memory.frame;
  frame.quality = 2;
  CHECK(cj2k_encoder_send_frame(encoder.get(), &frame) == CJ2K_INVALID);
  CHECK(log.text.find("frame: lossless 1 excludes quality (which must be 0)") != std::string::npos);
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

/// The call must log one line that contains each of `words`.
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

/// A picture with `low` more bits per sample: `fill` makes them from the sample.
Picture widened(Picture picture, int32_t low, const std::function<int32_t(int32_t)>& fill) {
  for (ComponentPlane& plane : picture.components) {
    plane.depth += low;
    for (int32_t& sample : plane.samples) sample = sample * (1 << low) + fill(sample);
  }
  return picture;
}

TEST_CASE("source_depth: the upper bits of the samples are coded") {
  for (const bool is_signed : {false, true}) {
    cj2k_params p = make_params(70, 41, 3, 12);
    set(p, "lossless", "1");
    set(p, "is_signed", is_signed ? "1" : "0");
    const Picture picture = make_picture(p, Content::kTexture, 3);
    const std::vector<uint8_t> expected = encode(p, picture).bytes;
    set(p, "source_depth", "16");
    const Picture shifted = widened(picture, 4, [](int32_t) { return 0; });
    const Picture repeated = widened(picture, 4, [](int32_t v) { return v >> 8 & 15; });
    const Picture below = widened(picture, 4, [](int32_t v) { return v * 5 % 8; });
    for (const FrameLayout& layout :
         {FrameLayout{}, FrameLayout{4, 7, false, true, 12}, FrameLayout{2, 0, true, false, 2}}) {
      for (const char* low_bits : {"refuse", "round", "cut"}) {
        INFO(std::string(low_bits), " signed ", is_signed);
        set(p, "low_bits", low_bits);
        CHECK(encode(p, shifted, layout).bytes == expected);
        if (*low_bits == 'r' && low_bits[1] == 'o') {
          CHECK(encode(p, below, layout).bytes == expected);
        } else {
          CHECK(encode(p, repeated, layout).bytes == expected);
        }
      }
    }
  }
}

TEST_CASE("low_bits: a frame with bits that would be lost is refused, and the encoder goes on") {
  cj2k_params p = make_params(33, 21, 3, 12);
  const Picture picture = make_picture(p, Content::kTexture, 1);
  const std::vector<uint8_t> expected = encode(p, picture).bytes;
  set(p, "source_depth", "16");
  const Picture good = widened(picture, 4, [](int32_t) { return 0; });
  Picture bad = good;
  bad.components[1].samples[33 * 7 + 5] = 0x1233;
  LogText log;
  const EncoderPtr encoder = open(p, log);
  FrameMemory memory(bad);
  memory.frame.pts = 9;
  log.text.clear();
  CHECK(cj2k_encoder_send_frame(encoder.get(), &memory.frame) == CJ2K_INVALID);
  CHECK(log.text ==
        "frame 9: component 1 is 4659 at (5, 7), and depth 12 would lose the lowest 4 of its 16 "
        "bits; low_bits round rounds, depth 16 keeps them\n");
  CHECK(cj2k_encoder_last_error(encoder.get()) + std::string("\n") == log.text);
  const FrameMemory next(good);
  REQUIRE(cj2k_encoder_send_frame(encoder.get(), &next.frame) == CJ2K_OK);
  CHECK(finish(encoder.get()) == expected);
}

// Decoders clip, so at the ends of the range the picture is better than its coefficients say.
TEST_CASE("an estimated error is that before decoders round and clip") {
  for (const bool at_the_ends : {false, true}) {
    cj2k_params p = make_params(160, 120, 3, 12);
    p.target_bytes = 12000;
    Picture picture = make_picture(p, Content::kTexture, 5);
    for (ComponentPlane& plane : picture.components)
      for (int32_t& sample : plane.samples)
        sample = at_the_ends ? (sample < 2048 ? 0 : 4095) : 1024 + sample / 2;
    double mean[2] = {};
    for (const int measured : {0, 1}) {
      p.measure_mse = measured;
      const Encoded encoded = encode(p, picture);
      REQUIRE(encoded.status == CJ2K_OK);
      for (int c = 0; c < 3; ++c) mean[measured] += encoded.stats.mse[c] / 3;
    }
    INFO("estimated ", mean[0], ", measured ", mean[1]);
    if (at_the_ends)
      CHECK(mean[1] < 0.9 * mean[0]);
    else
      CHECK(mean[1] == doctest::Approx(mean[0]).epsilon(0.1));
  }
}

}  // namespace
}  // namespace cj2k::test
