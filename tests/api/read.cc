// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Frames whose samples come from the caller's function: the bytes of frames in memory, in parts and at
// once, and what happens if the function fails.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/encode.h"

namespace cj2k::test {
namespace {

using EncoderPtr = std::unique_ptr<cj2k_encoder, decltype(&cj2k_encoder_close)>;
using Settings = std::vector<std::pair<const char*, const char*>>;

EncoderPtr open(const cj2k_params& p) {
  cj2k_encoder* encoder = nullptr;
  REQUIRE(cj2k_encoder_open(&p, &encoder) == CJ2K_OK);
  return {encoder, cj2k_encoder_close};
}

/// 4.4 M samples in 30 tiles, of which the first and the last are cut: read in parts with lossless.
cj2k_params tiled_params(const Settings& settings = {}) {
  cj2k_params p = make_params(1370, 1080, 3, 8);
  p.threads = 1;
  for (const auto& [name, value] : Settings{{"tile", "301x256"},
                                            {"image_offset", "33x17"},
                                            {"tile_offset", "5x3"},
                                            {"coder", "ht"},
                                            {"lossless", "1"}})
    set(p, name, value);
  for (const auto& [name, value] : settings) set(p, name, value);
  return p;
}

/// Gives the samples of a picture, and notes how it is asked.
struct Reader {
  Reader(const Picture& from, int bytes, int bits = 0)
      : picture(from), word_bytes(bytes), shift(bits) {}

  const Picture& picture;
  const int word_bytes, shift;
  int fail_at = -1;  ///< the call that fails; -1: none
  std::atomic<int> calls = 0, released = 0, wrong = 0, calls_now = 0;
  std::atomic<int64_t> most_samples = 0;  ///< of component 0 in one call

  static int read(void* opaque, const cj2k_read_part* parts) {
    auto& self = *static_cast<Reader*>(opaque);
    self.wrong += self.calls_now++ != 0 || self.released != 0;
    const bool fails = self.calls++ == self.fail_at;
    const int64_t samples = int64_t{parts[0].width} * parts[0].height;
    if (samples > self.most_samples) self.most_samples = samples;
    for (size_t c = 0; !fails && c < self.picture.components.size(); ++c)
      self.give(self.picture.components[c], parts[c]);
    --self.calls_now;
    return fails ? 5 : 0;
  }
  cj2k_frame frame(bool has_release = true) {
    cj2k_frame f = {};
    f.struct_size = sizeof f;
    f.width = picture.width;
    f.height = picture.height;
    for (size_t c = 0; c < picture.components.size(); ++c) {
      f.components[c].word_bytes = word_bytes;
      f.components[c].shift = shift;
    }
    f.pts = 4711;
    f.read = read;
    f.read_opaque = this;
    if (has_release) f.release = [](void* opaque) { ++static_cast<Reader*>(opaque)->released; };
    f.release_opaque = this;
    return f;
  }

 private:
  void give(const ComponentPlane& plane, const cj2k_read_part& part) {
    if (part.x < 0 || part.y < 0 || part.width < 1 || part.height < 1 ||
        part.x + part.width > plane.width || part.y + part.height > plane.height) {
      ++wrong;
      return;
    }
    for (int32_t y = 0; y < part.height; ++y) {
      const int32_t* from = plane.samples.data() + int64_t{part.y + y} * plane.width + part.x;
      auto* to = static_cast<uint8_t*>(part.data) + y * part.stride_bytes;
      for (int32_t x = 0; x < part.width; ++x, to += word_bytes) {
        // The bits of the word that are no sample are noise.
        const uint32_t sample = static_cast<uint32_t>(from[x]) & ((1u << plane.depth) - 1);
        const uint32_t noise = 0x5A5A5A5Au << plane.depth;
        const uint32_t word = (sample | noise) << shift | ((1u << shift) - 1);
        std::memcpy(to, &word, static_cast<size_t>(word_bytes));
      }
    }
  }
};

Encoded receive(cj2k_encoder* encoder) {
  Encoded result;
  cj2k_packet packet = {};
  packet.struct_size = sizeof packet;
  result.status = cj2k_encoder_receive_packet(encoder, &packet);
  if (result.status == CJ2K_OK) {
    result.stats = stats_of(packet);
    result.bytes.assign(packet.data, packet.data + packet.size);
  } else if (result.status < 0) {
    CHECK(packet.pts == 4711);
    result.log = cj2k_encoder_last_error(encoder);
  }
  cj2k_packet_release(&packet);
  return result;
}

Encoded encode_read(const cj2k_params& p, Reader& reader, bool has_release = true) {
  const EncoderPtr encoder = open(p);
  const cj2k_frame frame = reader.frame(has_release);
  REQUIRE(cj2k_encoder_send_frame(encoder.get(), &frame) == CJ2K_OK);
  REQUIRE(cj2k_encoder_send_frame(encoder.get(), nullptr) == CJ2K_OK);
  return receive(encoder.get());
}

TEST_CASE("read: the bytes of a frame in memory") {
  const struct {
    Settings settings;
    int word_bytes, shift;
    bool in_parts;
  } table[] = {
      {{}, 1, 0, true},
      {{{"coder", "ebcot"}}, 2, 3, true},
      {{{"levels", "1"}, {"depth", "11"}}, 4, 7, true},
      {{{"levels", "0"}, {"mct", "off"}}, 1, 0, true},
      {{{"dx", "1,2,4"}, {"dy", "1,2,1"}, {"mct", "off"}, {"height", "2400"}}, 1, 0, true},
      {{{"lossless", "0"}, {"stop", "none"}, {"target_bytes", "300000"}}, 1, 0, true},
      {{{"tile", "4000x128"}, {"is_signed", "1"}}, 2, 0, true},
      {{{"depth", "8"}, {"source_depth", "10"}, {"low_bits", "round"}}, 2, 0, true},
      {{{"verify", "1"}}, 1, 0, false},
      {{{"lossless", "0"}, {"measure_mse", "1"}, {"target_bytes", "300000"}}, 1, 0, false},
      {{{"tile", "2000"}, {"lossless", "0"}, {"target_bytes", "300000"}}, 1, 0, false},
  };
  for (const auto& row : table) {
    cj2k_params p = tiled_params(row.settings);
    CAPTURE(describe(p));
    cj2k_params stored = p;
    for (int c = 0; c < 3; ++c) stored.depth[c] = std::max(p.depth[c], p.source_depth[c]);
    const Picture picture = make_picture(stored, Content::kTexture, 7);
    const FrameLayout layout{.word_bytes = row.word_bytes, .shift = row.shift};
    const std::vector<uint8_t> expected = encode(p, picture, layout).bytes;
    REQUIRE(!expected.empty());
    for (const int threads : {1, 2}) {
      for (const bool has_release : {true, false}) {
        if (threads == 1 && !has_release) continue;
        p.threads = threads;
        Reader reader(picture, row.word_bytes, row.shift);
        const Encoded read = encode_read(p, reader, has_release);
        REQUIRE(read.status == CJ2K_OK);
        CHECK(read.bytes == expected);
        CHECK(read.stats.verified == (p.verify == 1 ? 2 : 0));
        CHECK(reader.wrong == 0);
        CHECK(reader.released == (has_release ? 1 : 0));
        const auto& plane = picture.components[0];
        const int64_t all = int64_t{plane.width} * plane.height;
        if (row.in_parts && has_release) {
          CHECK(reader.most_samples < all);
        } else {
          CHECK(reader.calls == 1);
          CHECK(reader.most_samples == all);
        }
      }
    }
  }
}

TEST_CASE("read: an error is that of its frame alone") {
  const struct {
    bool in_parts;
    int gop;
    const char* steps;
  } table[] = {{true, 1, "auto"}, {true, 3, "auto"}, {true, 3, "2"}, {false, 1, "auto"}};
  for (const auto& row : table) {
    CAPTURE(row.in_parts);
    CAPTURE(row.gop);
    CAPTURE(row.steps);
    cj2k_params p = tiled_params({{"lossless", "0"},
                                  {"stop", "none"},
                                  {"target_bytes", "300000"},
                                  {"frame_steps", row.steps}});
    p.threads = 2;
    p.gop = row.gop;
    p.async_depth = 3;
    if (!row.in_parts) p.tile_width = p.tile_height = p.tile_offset_x = p.tile_offset_y = 0;
    const Picture picture = make_picture(p, Content::kTexture, 7);
    const std::vector<uint8_t> expected = encode(p, picture).bytes;
    for (const size_t bad : {0, 2}) {
      const EncoderPtr encoder = open(p);
      for (int round = 0; round < 2; ++round) {  // the encoder stays usable
        std::vector<std::unique_ptr<Reader>> readers;
        for (size_t i = 0; i < 3; ++i) {
          readers.push_back(std::make_unique<Reader>(picture, 1));
          if (i == bad && round == 0) readers[i]->fail_at = row.in_parts ? 1 : 0;
          const cj2k_frame frame = readers[i]->frame();
          REQUIRE(cj2k_encoder_send_frame(encoder.get(), &frame) == CJ2K_OK);
        }
        REQUIRE(cj2k_encoder_send_frame(encoder.get(), nullptr) == CJ2K_OK);
        for (size_t i = 0; i < 3; ++i) {
          const Encoded got = receive(encoder.get());
          const bool fails = i == bad && round == 0;
          CHECK(got.status == (fails ? CJ2K_READ : CJ2K_OK));
          if (fails) CHECK(got.log == "frame 4711: its function `read` returned 5");
          // Frames that keep the steps of the first have others where that one failed.
          const bool has_steps = round == 1 || bad != 0 || row.steps[0] == 'a';
          if (!fails && has_steps) CHECK(got.bytes == expected);
          CHECK(readers[i]->released == 1);
          CHECK(readers[i]->wrong == 0);
          if (fails) CHECK(readers[i]->calls == readers[i]->fail_at + 1);
        }
        REQUIRE(cj2k_encoder_flush(encoder.get()) == CJ2K_OK);
      }
    }
  }
}

TEST_CASE("read: without release, the error is that of send") {
  const cj2k_params p = tiled_params();
  const Picture picture = make_picture(p, Content::kTexture, 7);
  const EncoderPtr encoder = open(p);
  Reader reader(picture, 1);
  reader.fail_at = 0;
  const cj2k_frame frame = reader.frame(false);
  CHECK(cj2k_encoder_send_frame(encoder.get(), &frame) == CJ2K_READ);
  CHECK(std::string(cj2k_encoder_last_error(encoder.get())) ==
        "frame 4711: its function `read` returned 5");
  REQUIRE(cj2k_encoder_send_frame(encoder.get(), &frame) == CJ2K_OK);
  REQUIRE(cj2k_encoder_send_frame(encoder.get(), nullptr) == CJ2K_OK);
  CHECK(receive(encoder.get()).bytes == encode(p, picture).bytes);
}

TEST_CASE("read: what is refused") {
  const cj2k_params p = tiled_params({{"depth", "8"}, {"source_depth", "10"}});
  const Picture picture = make_picture(p, Content::kTexture, 7);
  Reader reader(picture, 2);
  const auto refused = [&](const cj2k_params& with, auto spoil) {
    const EncoderPtr encoder = open(with);
    cj2k_frame frame = reader.frame();
    spoil(frame);
    const cj2k_status status = cj2k_encoder_send_frame(encoder.get(), &frame);
    return std::pair(status, std::string(cj2k_encoder_last_error(encoder.get())));
  };
  const auto [low_bits, low_text] = refused(p, [](cj2k_frame&) {});
  CHECK(low_bits == CJ2K_NOT_SUPPORTED);
  CHECK(low_text.find("low_bits refuse") != std::string::npos);
  cj2k_params cut = p;
  cut.low_bits = CJ2K_LOW_BITS_CUT;
  const auto [data, data_text] = refused(cut, [](cj2k_frame& f) { f.components[1].data = &f; });
  CHECK(data == CJ2K_INVALID);
  CHECK(data_text.find("component 1 has data") != std::string::npos);
  const auto [cuda, cuda_text] = refused(cut, [](cj2k_frame& f) { f.memory = CJ2K_MEMORY_CUDA; });
  CHECK(cuda == CJ2K_INVALID);
  const auto [word, word_text] =
      refused(cut, [](cj2k_frame& f) { f.components[2].word_bytes = 1; });
  CHECK(word == CJ2K_INVALID);
  CHECK(reader.calls == 0);
  CHECK(reader.released == 0);
}

}  // namespace
}  // namespace cj2k::test
