// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// frame_steps=first: the first frame chooses the quantiser steps of all, whatever the threads and
// GOPs.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "roundtrip/roundtrip.h"
#include "support/codestream_parser.h"

namespace cj2k::test {
namespace {

cj2k_params params_with(int effort, const char* coder) {
  cj2k_params p = make_params(640, 360, 3, 8);
  p.effort = effort;
  set(p, "coder", coder);
  set(p, "cblk", "16x16");
  p.target_bytes = 40000;
  return p;
}

/// Frames that want different steps.
std::vector<Picture> shot(const cj2k_params& p) {
  std::vector<Picture> frames;
  for (const Content content : {Content::kTexture, Content::kNoise, Content::kEdges,
                                Content::kTexture, Content::kNoise, Content::kGradient})
    frames.push_back(make_picture(p, content, frames.size()));
  return frames;
}

std::vector<uint8_t> qcd_of(const Encoded& frame) {
  const Bytes qcd = parse_codestream(frame.bytes).qcd;
  return {qcd.begin(), qcd.end()};
}

TEST_CASE("frame_steps first: one QCD, that of the first frame, and the same bytes everywhere") {
  struct Row {
    int effort;
    const char *coder, *profile;
  };
  for (const Row row : {Row{2, "ebcot", "none"}, Row{3, "ebcot", "none"}, Row{1, "ht", "none"},
                        Row{2, "ebcot", "imf_2k"}, Row{1, "ht", "imf_ht"}}) {
    CAPTURE(row.coder);
    CAPTURE(row.effort);
    CAPTURE(row.profile);
    cj2k_params p = params_with(row.effort, row.coder);
    const bool has_profile = std::string(row.profile) != "none";
    if (has_profile) {
      set(p, "cblk", "auto");
      set(p, "profile", row.profile);
      set(p, "frame_rate", "24");
      p.target_bytes = 20000;
    }
    const std::vector<Picture> frames = shot(p);
    set(p, "frame_steps", "first");
    p.threads = 1;
    const std::vector<Encoded> kept = encode_sequence(p, frames);
    INFO(kept.back().log);
    REQUIRE(kept.size() == frames.size());
    for (const Encoded& frame : kept) {
      REQUIRE(frame.status == CJ2K_OK);
      CHECK(frame.bytes.size() <= static_cast<size_t>(p.target_bytes));
      CHECK(qcd_of(frame) == qcd_of(kept[0]));
    }
    // Another first frame chooses other steps.
    const std::vector<Encoded> noise = encode_sequence(p, {frames[1], frames[0]});
    REQUIRE(noise.size() == 2);
    CHECK(qcd_of(noise[0]) != qcd_of(kept[0]));
    CHECK(qcd_of(noise[1]) == qcd_of(noise[0]));
    for (const int threads : {2, 5}) {
      for (const int gop : {1, 2, 4}) {
        CAPTURE(threads);
        CAPTURE(gop);
        p.threads = threads;
        p.gop = gop;
        p.async_depth = 3 * gop;
        const std::vector<Encoded> again = encode_sequence(p, frames);
        REQUIRE(again.size() == frames.size());
        for (size_t i = 0; i < again.size(); ++i) CHECK(again[i].bytes == kept[i].bytes);
      }
    }
    if (has_profile) {
      p.gop = p.async_depth = 0;
      check_roundtrip(p, frames[1], {Decoder::kOpenJpeg}, 5);
      continue;
    }
    // The first frame is as if each chose for itself.
    set(p, "frame_steps", "1");
    CHECK(encode(p, frames[0]).bytes == kept[0].bytes);
    CHECK(encode(p, frames[1]).bytes != kept[1].bytes);
  }
}

TEST_CASE("frame_steps first: after a flush, the next first frame chooses") {
  cj2k_params p = params_with(2, "ebcot");
  set(p, "frame_steps", "first");
  p.threads = 2;
  p.async_depth = 4;
  const std::vector<Picture> frames = shot(p);
  cj2k_encoder* raw = nullptr;
  REQUIRE(cj2k_encoder_open(&p, &raw) == CJ2K_OK);
  const std::unique_ptr<cj2k_encoder, void (*)(cj2k_encoder*)> encoder(raw, cj2k_encoder_close);
  const auto first_of = [&](size_t first, size_t count, bool drains) {
    Encoded result;
    for (size_t i = first; i < first + count; ++i) {
      const FrameMemory memory(frames[i]);
      REQUIRE(cj2k_encoder_send_frame(raw, &memory.frame) == CJ2K_OK);
    }
    if (drains) {
      REQUIRE(cj2k_encoder_send_frame(raw, nullptr) == CJ2K_OK);
      cj2k_packet packet = {};
      packet.struct_size = sizeof packet;
      REQUIRE(cj2k_encoder_receive_packet(raw, &packet) == CJ2K_OK);
      result.bytes.assign(packet.data, packet.data + packet.size);
      cj2k_packet_release(&packet);
    }
    CHECK(cj2k_encoder_flush(raw) == CJ2K_OK);
    return result.bytes;
  };
  p.threads = 1;
  first_of(0, 3, false);  // dropped while they are coded
  CHECK(first_of(1, 2, true) == encode(p, frames[1]).bytes);
  CHECK(first_of(0, 4, true) == encode(p, frames[0]).bytes);
}

TEST_CASE("frame_steps first: without cap, without stop, and in constant quality") {
  cj2k_params p = params_with(2, "ebcot");
  set(p, "frame_steps", "first");
  const std::vector<Picture> frames = shot(p);
  for (const char* change : {"stop=none", "quality=4", "lossless=1", "wavelet=5/3", "qfactor=50"}) {
    CAPTURE(change);
    cj2k_params q = p;
    const std::string text = change;
    const size_t equals = text.find('=');
    if (text != "stop=none" && text != "wavelet=5/3") q.target_bytes = 0;
    set(q, text.substr(0, equals).c_str(), text.substr(equals + 1));
    const std::vector<Encoded> kept = encode_sequence(q, frames);
    REQUIRE(kept.size() == frames.size());
    for (const Encoded& frame : kept) {
      REQUIRE(frame.status == CJ2K_OK);
      CHECK(qcd_of(frame) == qcd_of(kept[0]));
    }
  }
}

}  // namespace
}  // namespace cj2k::test
