// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The curves of frames (cj2k_packet_curve): the same however the encoder runs, and true.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "cj2k_film.h"
#include "support/check.h"
#include "support/encode.h"

namespace cj2k::test {
namespace {

std::vector<cj2k_curve> curves_of(cj2k_params p, cj2k_curves how,
                                  const std::vector<Picture>& pictures) {
  p.curves = how;
  cj2k_encoder* encoder = nullptr;
  const cj2k_status opened = cj2k_encoder_open(&p, &encoder);
  INFO(cj2k_encoder_last_error(nullptr));
  REQUIRE(opened == CJ2K_OK);
  std::vector<cj2k_curve> curves;
  cj2k_packet packet{};
  packet.struct_size = sizeof packet;
  const auto receive = [&] {
    while (cj2k_encoder_receive_packet(encoder, &packet) == CJ2K_OK) {
      CHECK((packet.size == 0) == (how == CJ2K_CURVES_ONLY));
      curves.emplace_back();
      CHECK(cj2k_packet_curve(&packet, &curves.back()) == CJ2K_OK);
      CHECK(stats_of(packet).blocks > 0);
      cj2k_packet_release(&packet);
    }
  };
  for (const Picture& picture : pictures) {
    const FrameMemory memory(picture);
    REQUIRE(cj2k_encoder_send_frame(encoder, &memory.frame) == CJ2K_OK);
    receive();
  }
  REQUIRE(cj2k_encoder_send_frame(encoder, nullptr) == CJ2K_OK);
  receive();
  cj2k_encoder_close(encoder);
  REQUIRE(curves.size() == pictures.size());
  return curves;
}

bool equal(const std::vector<cj2k_curve>& a, const std::vector<cj2k_curve>& b) {
  return a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), a.size() * sizeof(cj2k_curve)) == 0;
}

struct Case {
  const char *coder, *wavelet, *tile;
  int64_t cap, component_cap;
};
constexpr Case kCases[] = {{"ebcot", "9/7", "0", 40000, 0},    {"ebcot", "5/3", "0", 40000, 0},
                           {"ebcot", "9/7", "150x100", 0, 0},  {"ht", "9/7", "0", 40000, 0},
                           {"ht", "5/3", "150x100", 90000, 0}, {"ebcot", "9/7", "0", 40000, 9000}};

cj2k_params params_of(const Case& c) {
  cj2k_params p = make_params(333, 217, 3, 12);
  set(p, "coder", c.coder);
  set(p, "wavelet", c.wavelet);
  set(p, "tile", c.tile);
  set(p, "cblk", "16x16");
  p.max_frame_bytes = c.cap;
  p.max_component_bytes = c.component_cap;
  return p;
}

std::vector<Picture> pictures_of(const cj2k_params& p) {
  std::vector<Picture> pictures;
  for (const Content content : {Content::kTexture, Content::kNoise, Content::kFlat})
    pictures.push_back(make_picture(p, content, 3));
  return pictures;
}

TEST_CASE("curves: the same for all threads, batches and instruction sets") {
  for (const Case& c : kCases) {
    cj2k_params p = params_of(c);
    INFO(describe(p));
    const std::vector<Picture> pictures = pictures_of(p);
    for (const cj2k_curves how : {CJ2K_CURVES_ONLY, CJ2K_CURVES_WITH}) {
      p.threads = 1;
      const std::vector<cj2k_curve> one = curves_of(p, how, pictures);
      for (const int threads : {2, 7}) {
        p.threads = threads;
        CHECK(equal(curves_of(p, how, pictures), one));
      }
      p.gop = 2;
      CHECK(equal(curves_of(p, how, pictures), one));
      p.gop = 0;
      for (const int64_t target : check::targets()) {
        const check::ForceTarget force(target);
        CHECK(equal(curves_of(p, how, pictures), one));
      }
    }
  }
}

TEST_CASE("curves: they are curves, and hold component caps") {
  for (const Case& c : kCases) {
    const cj2k_params p = params_of(c);
    INFO(describe(p));
    for (const cj2k_curves how : {CJ2K_CURVES_ONLY, CJ2K_CURVES_WITH}) {
      const std::vector<cj2k_curve> curves = curves_of(p, how, pictures_of(p));
      for (const cj2k_curve& curve : curves) {
        for (int i = 1; i < CJ2K_CURVE_POINTS; ++i) {
          REQUIRE(curve.bytes[i] <= curve.bytes[i - 1]);
          REQUIRE(curve.error[i] >= curve.error[i - 1]);
        }
      }
      // The texture has something to cut.
      CHECK(curves[0].bytes[0] > 2 * curves[0].bytes[CJ2K_CURVE_POINTS - 1]);
      CHECK(curves[0].error[CJ2K_CURVE_POINTS - 1] > 2 * curves[0].error[0]);
      if (c.component_cap > 0) CHECK(curves[0].bytes[0] < 3 * c.component_cap + 2000);
    }
  }
}

/// What a curve says of `bytes`, as log2 of the slope's point.
double point_at(const cj2k_curve& curve, double bytes) {
  int i = 0;
  while (i + 2 < CJ2K_CURVE_POINTS && curve.bytes[i + 1] > bytes) ++i;
  return i + (curve.bytes[i] - bytes) / std::max(1.0, double(curve.bytes[i]) - curve.bytes[i + 1]);
}

TEST_CASE("curves: an encode to a target is cut where the curve says") {
  cj2k_params p = make_params(1024, 768, 3, 12);
  const std::vector<Picture> picture{make_picture(p, Content::kTexture, 5)};
  for (const char* coder : {"ebcot", "ht"}) {
    set(p, "coder", coder);
    p.target_bytes = 0;
    p.max_frame_bytes = 400000;
    const cj2k_curve curve = curves_of(p, CJ2K_CURVES_ONLY, picture)[0];
    for (const int64_t target : {60000, 150000, 300000}) {
      INFO(coder, " ", target);
      p.target_bytes = target;
      const Encoded encoded = encode(p, picture[0]);
      REQUIRE(encoded.status == CJ2K_OK);
      const double point = point_at(curve, static_cast<double>(target));
      const double real = (encoded.stats.slope_threshold - 24576 + 6 * 256) / 128.0;
      CHECK(std::abs(point - real) < 1.5);  // three quarters of an octave
      const auto i = static_cast<int>(point);
      const double share = point - i;
      const double error = curve.error[i] * (1 - share) + curve.error[i + 1] * share;
      const double known =
          (encoded.stats.mse[0] + encoded.stats.mse[1] + encoded.stats.mse[2]) * 1024 * 768;
      CHECK(error / known > 0.7);
      CHECK(error / known < 1.4);
    }
  }
}

TEST_CASE("curves: a flat frame has the bytes that it takes") {
  cj2k_params p = make_params(640, 360, 3, 8);
  const std::vector<Picture> picture{make_picture(p, Content::kFlat, 5)};
  for (const char* coder : {"ebcot", "ht"}) {
    INFO(coder);
    set(p, "coder", coder);
    p.max_frame_bytes = 20000;
    const cj2k_curve curve = curves_of(p, CJ2K_CURVES_ONLY, picture)[0];
    set(p, "stop", "none");
    const cj2k_curve coded = curves_of(p, CJ2K_CURVES_WITH, picture)[0];
    CHECK(curve.bytes[0] == doctest::Approx(coded.bytes[0]).epsilon(0.02));
    CHECK(curve.error[0] == doctest::Approx(coded.error[0]).epsilon(0.1));
    set(p, "stop", "exact");
  }
}

TEST_CASE("curves: what is refused is named") {
  cj2k_params p = make_params(64, 64);
  const auto refused = [&p](cj2k_status status, const char* word) {
    cj2k_encoder* encoder = nullptr;
    CHECK(cj2k_encoder_open(&p, &encoder) == status);
    const std::string error = cj2k_encoder_last_error(nullptr);
    INFO(error);
    CHECK(error.find("curves") != std::string::npos);
    CHECK(error.find(word) != std::string::npos);
  };
  p.curves = static_cast<cj2k_curves>(3);
  refused(CJ2K_INVALID, "[0, 2]");
  p.curves = CJ2K_CURVES_ONLY;
  p.lossless = 1;
  refused(CJ2K_INVALID, "lossless");
  p.lossless = 0;
  set(p, "device", "cuda");
  refused(CJ2K_NOT_SUPPORTED, "cuda");
  // Without the parameter a packet has no curve.
  p = make_params(64, 64);
  cj2k_encoder* encoder = nullptr;
  REQUIRE(cj2k_encoder_open(&p, &encoder) == CJ2K_OK);
  const FrameMemory memory(make_picture(p, Content::kTexture, 3));
  REQUIRE(cj2k_encoder_send_frame(encoder, &memory.frame) == CJ2K_OK);
  REQUIRE(cj2k_encoder_send_frame(encoder, nullptr) == CJ2K_OK);
  cj2k_packet packet{};
  packet.struct_size = sizeof packet;
  REQUIRE(cj2k_encoder_receive_packet(encoder, &packet) == CJ2K_OK);
  cj2k_curve curve;
  CHECK(cj2k_packet_curve(&packet, &curve) == CJ2K_INVALID);
  cj2k_packet_release(&packet);
  CHECK(cj2k_packet_curve(&packet, &curve) == CJ2K_INVALID);
  cj2k_encoder_close(encoder);
}

}  // namespace
}  // namespace cj2k::test
