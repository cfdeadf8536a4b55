// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "roundtrip/film.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "cj2k_film.h"
#include "support/encode.h"
#include "support/picture.h"

namespace cj2k::test {
namespace {

using Bytes = std::vector<int64_t>;

/// One frame of a film: what it is of, and its bounds.
struct FilmFrame {
  size_t picture;
  int64_t cap = 0, floor = 0, target = 0;  ///< cap: of this frame alone; 0: none
};

struct Film {
  cj2k_params params;
  std::vector<Picture> pictures;
  std::vector<cj2k_curve> curves;  ///< of the pictures
  std::vector<FilmFrame> frames;
  int64_t least = 0;  ///< bytes of an empty frame

  std::vector<cj2k_curve> frame_curves() const {
    std::vector<cj2k_curve> all;
    for (const FilmFrame& frame : frames) all.push_back(curves[frame.picture]);
    return all;
  }
};

/// Sends frames and gives their packets, in order.
template <typename SendFrame, typename TakePacket>
void run_encoder(const cj2k_params& params, size_t frames, SendFrame&& send, TakePacket&& take,
                 const cj2k_film_pass* pass = nullptr) {
  cj2k_encoder* encoder = nullptr;
  const cj2k_status opened = cj2k_encoder_open_film(&params, pass, &encoder);
  INFO(cj2k_encoder_last_error(nullptr));
  REQUIRE(opened == CJ2K_OK);
  size_t received = 0;
  for (size_t sent = 0; sent <= frames; ++sent) {
    REQUIRE((sent < frames ? send(encoder, sent) : cj2k_encoder_send_frame(encoder, nullptr)) ==
            CJ2K_OK);
    cj2k_packet packet{};
    packet.struct_size = sizeof packet;
    while (cj2k_encoder_receive_packet(encoder, &packet) == CJ2K_OK) {
      take(packet, received++);
      cj2k_packet_release(&packet);
    }
  }
  cj2k_encoder_close(encoder);
  REQUIRE(received == frames);
}

Film make_film(const char* coder, Random& random) {
  Film film;
  cj2k_params& p = film.params;
  p = make_params(random.range(24, 96), random.range(24, 64), random.chance(60) ? 3 : 1,
                  random.pick<int32_t>({8, 10, 12}));
  set(p, "coder", coder);
  set(p, "cblk", random.chance(50) ? "16x16" : "32x32");
  set(p, "levels", random.chance(50) ? "2" : "3");
  if (random.chance(25)) set(p, "wavelet", "5/3");
  if (random.chance(25)) set(p, "tile", "40x40");
  if (random.chance(25)) set(p, "layers", "3");
  if (random.chance(25)) set(p, "plt", "1");
  p.threads = random.range(1, 2);
  p.gop = random.range(0, 3);
  cj2k_info info{};
  info.struct_size = sizeof info;
  REQUIRE(cj2k_params_info(&p, &info) == CJ2K_OK);
  film.least = info.least_frame_bytes;
  for (const Content content : kAllContents)
    for (uint64_t seed = 0; seed < 3; ++seed)
      film.pictures.push_back(make_picture(p, content, random.next()));
  const int64_t raw = film.pictures[0].raw_bits() / 8;
  p.max_frame_bytes = film.least + 100 + random.range(0, static_cast<int32_t>(raw));
  if (random.chance(25))
    p.max_component_bytes = film.least + random.range(100, static_cast<int32_t>(raw / 2 + 200));
  if (random.chance(25)) p.min_frame_bytes = film.least + random.range(0, 60);
  cj2k_params analysis = p;
  analysis.curves = CJ2K_CURVES_ONLY;
  film.curves.resize(film.pictures.size());
  run_encoder(
      analysis, film.pictures.size(),
      [&](cj2k_encoder* encoder, size_t n) {
        const FrameMemory memory(film.pictures[n]);
        return cj2k_encoder_send_frame(encoder, &memory.frame);
      },
      [&](const cj2k_packet& packet, size_t n) {
        REQUIRE(cj2k_packet_curve(&packet, &film.curves[n]) == CJ2K_OK);
      });
  for (int32_t shot = random.range(1, 12); shot > 0; --shot) {
    const auto picture =
        static_cast<size_t>(random.range(0, static_cast<int32_t>(film.pictures.size()) - 1));
    film.frames.insert(film.frames.end(), static_cast<size_t>(random.range(1, 30)), {picture});
  }
  return film;
}

/// Gives the frames their bytes by one budget, with caps and floors of their own.
int64_t allocate(Film& film, Random& random) {
  Bytes caps, floors;
  int64_t least = 0, most = 0;
  for (FilmFrame& frame : film.frames) {
    const int64_t headers = std::max<int64_t>(
        film.curves[frame.picture].bytes[CJ2K_CURVE_POINTS - 1], film.params.min_frame_bytes);
    frame.cap = random.chance(70) ? 0 : headers + random.range(0, 2000);
    frame.floor = random.chance(70) ? 0 : headers + random.range(0, 50);
    int64_t cap = film.params.max_frame_bytes;
    if (frame.cap != 0) cap = std::min(cap, frame.cap);
    frame.floor = std::min(frame.floor, cap);
    caps.push_back(frame.cap);
    floors.push_back(frame.floor);
    least += std::max(frame.floor, headers);
    most += cap;
  }
  cj2k_film budget{};
  budget.struct_size = sizeof budget;
  budget.total_bytes = least + (most - least) * random.range(0, 110) / 100;
  budget.max_frame_bytes = film.params.max_frame_bytes;
  budget.min_frame_bytes = film.params.min_frame_bytes;
  budget.power = random.chance(70) ? 0 : random.range(10, 80) / 10.0;
  Bytes targets(film.frames.size());
  const std::vector<cj2k_curve> curves = film.frame_curves();
  const cj2k_status status = cj2k_film_allocate(&budget, curves.data(), curves.size(), caps.data(),
                                                floors.data(), targets.data());
  INFO(cj2k_encoder_last_error(nullptr));
  REQUIRE(status == CJ2K_OK);
  for (size_t f = 0; f < targets.size(); ++f) film.frames[f].target = targets[f];
  return budget.total_bytes;
}

/// One pass with lookahead, whose targets the library keeps to itself.
cj2k_film_pass look_ahead(Film& film, Random& random) {
  cj2k_film_pass pass{};
  pass.struct_size = sizeof pass;
  film.params.frame_rate_num = 24000;
  film.params.frame_rate_den = 1001;
  int64_t headers = film.params.min_frame_bytes;
  for (const cj2k_curve& curve : film.curves)
    headers = std::max<int64_t>(headers, curve.bytes[CJ2K_CURVE_POINTS - 1]);
  const int64_t mean = headers + random.range(1, 3000);
  film.params.max_frame_bytes = std::max(film.params.max_frame_bytes, mean);
  pass.bits_per_second = (mean + 1) * 8 * 24000 / 1001;
  pass.reservoir_bytes = random.chance(20) ? 0 : random.range(1, 100000);
  pass.ahead = random.range(0, 24);
  return pass;
}

/// Encodes the film and checks each packet. @return bytes of the packets
/// @param pass  null: each frame has its target
Bytes encode_film(const Film& film, FilmUse& use, const cj2k_film_pass* pass = nullptr) {
  Bytes sizes;
  run_encoder(
      film.params, film.frames.size(),
      [&](cj2k_encoder* encoder, size_t n) {
        auto memory = std::make_unique<FrameMemory>(film.pictures[film.frames[n].picture]);
        cj2k_frame& frame = memory->frame;
        if (pass == nullptr) frame.target_bytes = film.frames[n].target;
        frame.release = [](void* owner) { delete static_cast<FrameMemory*>(owner); };
        frame.release_opaque = memory.get();
        const cj2k_status sent = cj2k_encoder_send_frame(encoder, &frame);
        if (sent == CJ2K_OK) (void)memory.release();
        return sent;
      },
      [&](const cj2k_packet& packet, size_t n) {
        const FilmFrame& frame = film.frames[n];
        const auto size = static_cast<int64_t>(packet.size);
        CAPTURE(n);
        REQUIRE(size >= std::max(film.least, film.params.min_frame_bytes));
        REQUIRE(size <= film.params.max_frame_bytes);
        if (frame.cap != 0) REQUIRE(size <= frame.cap);
        const cj2k_stats stats = stats_of(packet);
        for (int32_t c = 0; c < film.params.num_components; ++c)
          if (film.params.max_component_bytes != 0)
            REQUIRE(stats.component_bytes[c] <= film.params.max_component_bytes);
        sizes.push_back(size);
        ++use.frames;
        if (pass != nullptr) return;
        REQUIRE(frame.target >= frame.floor);
        REQUIRE(size <= frame.target);
        use.most_left = std::max(use.most_left, frame.target - size);
        use.left += frame.target - size;
        use.all += frame.target;
      },
      pass);
  return sizes;
}

}  // namespace

FilmUse soak_films(const char* coder, int64_t frames, uint64_t seed) {
  FilmUse use;
  Random random(seed);
  for (int number = 0; use.frames < frames; ++number) {
    INFO(coder);
    CAPTURE(seed);
    CAPTURE(number);
    Film film = make_film(coder, random);
    if (number % 2 == 0) {
      const int64_t total = allocate(film, random);
      const Bytes sizes = encode_film(film, use);
      REQUIRE(std::accumulate(sizes.begin(), sizes.end(), int64_t{0}) <= total);
      continue;
    }
    const cj2k_film_pass pass = look_ahead(film, random);
    const auto allowed = [&pass](int64_t n) {
      return pass.bits_per_second * 1001 * n / (8 * 24000);
    };
    int64_t all = 0, above = 0;  // above: the most that frames up to here have above their mean
    const Bytes sizes = encode_film(film, use, &pass);
    for (size_t f = 0; f < sizes.size(); ++f) {
      const auto n = static_cast<int64_t>(f);
      all += sizes[f];
      above = std::max<int64_t>(above, 0) + sizes[f] - (allowed(n + 1) - allowed(n));
      REQUIRE(all <= allowed(n + 1));
      REQUIRE(above <= pass.reservoir_bytes);
    }
  }
  return use;
}

TEST_CASE("films: no frame over its caps, no total over its budget, no reservoir exceeded") {
  for (const char* coder : {"ebcot", "ht"}) CHECK(soak_films(coder, 1000, 1).frames >= 1000);
}

/// Of frames with more than a thousand blocks. With few blocks no point may be as small as what is left.
TEST_CASE("films: all but a ten thousandth of the budget is used") {
  for (const char* coder : {"ebcot", "ht"}) {
    INFO(coder);
    Film film;
    film.params = make_params(640, 480, 3, 10);
    set(film.params, "coder", coder);
    set(film.params, "cblk", "32x32");
    cj2k_film budget{};
    budget.struct_size = sizeof budget;
    for (size_t n = 0; n < 6; ++n) {
      film.pictures.push_back(make_picture(film.params, Content::kTexture, n));
      film.frames.push_back({n});
    }
    cj2k_params analysis = film.params;
    analysis.curves = CJ2K_CURVES_ONLY;
    for (const Picture& picture : film.pictures) {
      run_encoder(
          analysis, 1,
          [&](cj2k_encoder* encoder, size_t) {
            const FrameMemory memory(picture);
            return cj2k_encoder_send_frame(encoder, &memory.frame);
          },
          [&](const cj2k_packet& packet, size_t) {
            REQUIRE(cj2k_packet_curve(&packet, &film.curves.emplace_back()) == CJ2K_OK);
          });
    }
    for (const int64_t mean : {30000, 100000}) {
      budget.total_bytes = mean * 6;
      Bytes targets(6);
      REQUIRE(cj2k_film_allocate(&budget, film.curves.data(), 6, nullptr, nullptr,
                                 targets.data()) == CJ2K_OK);
      for (size_t f = 0; f < 6; ++f) film.frames[f].target = targets[f];
      film.params.max_frame_bytes = 2 * mean;
      FilmUse use;
      encode_film(film, use);
      CHECK(use.all == budget.total_bytes);
      CHECK(use.left * 10000 <= use.all);
    }
  }
}

}  // namespace cj2k::test
