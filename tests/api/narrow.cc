// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Coefficients of 16 bits, with the 9/7 quantised in the wavelet transform (cpu/cpu_pixels.h), against
// those of 32 bits, which measure_mse needs. With one thread the levels of the wavelet transform are a
// chain. HT frames are quantised with steps that are guessed, and anew if they choose other ones.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "support/encode.h"

namespace cj2k::test {
namespace {

void set_all(cj2k_params& p, const std::string& text) {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const size_t equals = text.find('=', begin);
    set(p, text.substr(begin, equals - begin).c_str(), text.substr(equals + 1, end - equals - 1));
    begin = end + 1;
  }
}

TEST_CASE("16 bits: the bytes are those with coefficients of 32 bits") {
  const struct {
    int depth;
    const char* coding;  // name=value ...
  } table[] = {
      {8, "target_bytes=40000"},
      {8, "target_bytes=40000 levels=1"},
      {8, "target_bytes=40000 levels=2 cblk_style=1"},
      {8, "target_bytes=40000 levels=3 stop=none"},
      {8, "target_bytes=40000 levels=4 stop=psb"},
      {8, "target_bytes=40000 levels=8 stop=bpi"},
      {8, "quality=4 tile=97x61 tile_offset=3x5 image_offset=7x9"},
      {8, "target_bytes=40000 dx=1,2,4 dy=1,2,1 mct=off tile=101x64"},
      {8, "target_bytes=40000 roi=20,30,80,60"},
      {8, "target_bytes=40000 coder=ht frame_steps=0"},
      {10, "target_bytes=40000"},
      {10, "target_bytes=40000 tile=97x61 levels=6"},
      {12, "target_bytes=40000 tile=128x128"},
      {12, "target_bytes=40000 levels=4 quant_step=0.25"},
      {14, "target_bytes=40000 levels=3"},
      {16, "target_bytes=40000 quant_step=0.0625"},
      {8, "target_bytes=40000 levels=0"},
      {16, "target_bytes=40000 levels=0"},
      {8, "target_bytes=40000 coder=ht"},
      {8, "target_bytes=100000 coder=ht cblk=16x16"},
      {8, "target_bytes=90000 coder=ht cblk=8x32 image_offset=7x9 levels=1"},
      {10, "target_bytes=90000 coder=ht cblk=16x8 precincts=64x32 levels=4 image_offset=5x2"},
      {12, "target_bytes=50000 coder=ht cblk=16x16 dx=1,2,2 dy=1,2,1 mct=off levels=3"},
      {8, "target_bytes=120000 coder=ht cblk=16x16 ht_passes=cleanup"},
      {8, "quality=4 coder=ht cblk=16x16"},
      {8, "wavelet=5/3 stop=psb target_bytes=40000"},
  };
  for (const auto& row : table) {
    CAPTURE(std::string(row.coding));
    cj2k_params p = make_params(331, 270, 3, row.depth);
    p.threads = 1;
    set_all(p, row.coding);
    cj2k_params wide = p;
    wide.measure_mse = 1;
    for (const Content content : {Content::kTexture, Content::kNoise}) {
      const Picture picture = make_picture(p, content, 7);
      const std::vector<uint8_t> expected = encode(wide, picture).bytes;
      REQUIRE(!expected.empty());
      CHECK(encode(p, picture).bytes == expected);
      cj2k_params threads = p;
      threads.threads = 2;
      CHECK(encode(threads, picture).bytes == expected);
    }
  }
}

/// The samples of a frame, which are noise as soon as the library may not read them.
struct LentFrame {
  explicit LentFrame(const Picture& picture) : memory(picture) {}
  void spoil() {
    for (int c = 0; c < 3; ++c)
      std::memset(const_cast<void*>(memory.frame.components[c].data), 0xA5,
                  static_cast<size_t>(memory.frame.components[c].stride_bytes) * 270);
  }
  FrameMemory memory;
};

TEST_CASE("16 bits: HT frames that choose other steps than those before") {
  cj2k_params p = make_params(331, 270);
  set_all(p, "coder=ht cblk=16x16 target_bytes=100000");
  cj2k_params wide = p;
  wide.measure_mse = 1;
  wide.threads = 1;
  const Picture picture = make_picture(p, Content::kTexture, 7);
  const int64_t targets[] = {100000, 100000, 100000, 120000, 120000, 120000,
                             120000, 120000, 120000, 120000, 90000};  // three step sets
  for (const int threads : {1, 2}) {
    for (const bool has_release : {false, true}) {
      CAPTURE(threads);
      CAPTURE(has_release);
      p.threads = threads;
      cj2k_encoder* encoder = nullptr;
      REQUIRE(cj2k_encoder_open(&p, &encoder) == CJ2K_OK);
      std::vector<std::vector<uint8_t>> packets;
      const auto receive = [&] {
        cj2k_packet packet = {};
        packet.struct_size = sizeof packet;
        const cj2k_status status = cj2k_encoder_receive_packet(encoder, &packet);
        if (status == CJ2K_OK) packets.emplace_back(packet.data, packet.data + packet.size);
        cj2k_packet_release(&packet);
        return status;
      };
      std::vector<std::unique_ptr<LentFrame>> frames;
      for (const int64_t target : targets) {
        cj2k_frame& frame = frames.emplace_back(std::make_unique<LentFrame>(picture))->memory.frame;
        frame.target_bytes = target;
        if (has_release) {
          frame.release_opaque = frames.back().get();
          frame.release = [](void* lent) { static_cast<LentFrame*>(lent)->spoil(); };
        }
        cj2k_status status;
        while ((status = cj2k_encoder_send_frame(encoder, &frame)) == CJ2K_AGAIN)
          REQUIRE(receive() == CJ2K_OK);
        REQUIRE(status == CJ2K_OK);
        if (!has_release) frames.back()->spoil();
      }
      REQUIRE(cj2k_encoder_send_frame(encoder, nullptr) == CJ2K_OK);
      while (receive() == CJ2K_OK) continue;
      cj2k_encoder_close(encoder);
      REQUIRE(packets.size() == std::size(targets));
      for (size_t i = 0; i < packets.size(); ++i) {
        wide.target_bytes = targets[i];
        CHECK(packets[i] == encode(wide, picture).bytes);
      }
    }
  }
}

}  // namespace
}  // namespace cj2k::test
