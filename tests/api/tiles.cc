// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Pictures of many tiles, whose coefficients are in memory group by group (cpu/cpu_pixels.h): here
// with lossless and with stop = none above 4 M samples. measure_mse keeps all coefficients.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "support/encode.h"

namespace cj2k::test {
namespace {

using EncoderPtr = std::unique_ptr<cj2k_encoder, decltype(&cj2k_encoder_close)>;

EncoderPtr open(const cj2k_params& p) {
  cj2k_encoder* encoder = nullptr;
  REQUIRE(cj2k_encoder_open(&p, &encoder) == CJ2K_OK);
  return {encoder, cj2k_encoder_close};
}

/// 4.4 M samples of three components in 30 tiles, of which the first and the last are cut.
cj2k_params tiled_params() {
  cj2k_params p = make_params(1370, 1080, 3, 8);
  p.threads = 1;
  set(p, "tile", "301x256");
  set(p, "image_offset", "33x17");
  set(p, "tile_offset", "5x3");
  set(p, "coder", "ht");
  set(p, "lossless", "1");
  return p;
}

/// Sends a frame with a release function. @param released  its calls
void send(cj2k_encoder* encoder, cj2k_frame frame, int* released) {
  frame.release = [](void* opaque) { ++*static_cast<int*>(opaque); };
  frame.release_opaque = released;
  REQUIRE(cj2k_encoder_send_frame(encoder, &frame) == CJ2K_OK);
}

int64_t planned_bytes(const cj2k_params& p) {
  cj2k_info info = {};
  info.struct_size = sizeof info;
  REQUIRE(cj2k_params_info(&p, &info) == CJ2K_OK);
  return info.host_bytes;
}

TEST_CASE("tiles in groups: the bytes are those with all coefficients in memory") {
  const struct {
    const char* coding;  // name=value ...
    FrameLayout layout;
  } table[] = {
      {"", {}},
      {"coder=ebcot", {.interleaved = true}},
      {"levels=1", {.word_bytes = 4, .shift = 3, .bottom_up = true}},
      {"levels=0 mct=off", {.word_bytes = 2, .interleaved = true, .gap_bytes = 7}},
      {"dx=1,2,4 dy=1,2,1 mct=off", {}},
      {"lossless=0 stop=none target_bytes=300000", {.interleaved = true}},
      {"tile=4000x128", {}},
  };
  for (const auto& row : table) {
    cj2k_params p = tiled_params();
    std::string text = row.coding;
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find(' ', begin), text.size());
      const size_t equals = text.find('=', begin);
      set(p, text.substr(begin, equals - begin).c_str(), text.substr(equals + 1, end - equals - 1));
      begin = end + 1;
    }
    if (p.dx[1] > 1) p.height = 2400;
    CAPTURE(row.coding);
    const Picture picture = make_picture(p, Content::kTexture, 7);
    cj2k_params whole = p;
    whole.measure_mse = 1;
    CHECK(planned_bytes(p) < planned_bytes(whole) * 3 / 4);
    const std::vector<uint8_t> expected = encode(whole, picture, row.layout).bytes;
    REQUIRE(!expected.empty());
    CHECK(encode(p, picture, row.layout).bytes == expected);
    p.threads = 2;
    CHECK(encode(p, picture, row.layout).bytes == expected);
  }
}

TEST_CASE("tiles in groups: a frame is released once, when its blocks are coded") {
  for (const int threads : {1, 2}) {
    CAPTURE(threads);
    cj2k_params p = tiled_params();
    p.threads = threads;
    p.gop = p.async_depth = 2;
    const Picture picture = make_picture(p, Content::kTexture, 7);
    const std::vector<uint8_t> expected = encode(p, picture).bytes;
    const FrameMemory memory(picture);
    const EncoderPtr encoder = open(p);
    int released[4] = {};
    // Dropped before the GOP is full.
    send(encoder.get(), memory.frame, &released[0]);
    CHECK(released[0] == 0);
    REQUIRE(cj2k_encoder_flush(encoder.get()) == CJ2K_OK);
    CHECK(released[0] == 1);
    // One of the GOP's frames without release: it is copied.
    send(encoder.get(), memory.frame, &released[1]);
    {
      const FrameMemory gone(picture);
      REQUIRE(cj2k_encoder_send_frame(encoder.get(), &gone.frame) == CJ2K_OK);
    }
    cj2k_packet packet = {};
    packet.struct_size = sizeof packet;
    for (int i = 0; i < 2; ++i) {
      REQUIRE(cj2k_encoder_receive_packet(encoder.get(), &packet) == CJ2K_OK);
      CHECK(std::vector<uint8_t>(packet.data, packet.data + packet.size) == expected);
      cj2k_packet_release(&packet);
    }
    CHECK(released[1] == 1);
    send(encoder.get(), memory.frame, &released[2]);
    send(encoder.get(), memory.frame, &released[3]);
    REQUIRE(cj2k_encoder_flush(encoder.get()) == CJ2K_OK);
    CHECK(released[0] + released[1] + released[2] + released[3] == 4);
  }
}

}  // namespace
}  // namespace cj2k::test
