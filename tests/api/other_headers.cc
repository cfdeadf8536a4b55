// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Callers that were compiled with an older or a newer cj2k.h, and sizes that no header has.
#include "api/other_headers.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "cj2k_film.h"
#include "support/encode.h"

namespace cj2k::test {
namespace {

std::vector<uint8_t> taken;

void take(const uint8_t* data, size_t size) { taken.assign(data, data + size); }

TEST_CASE("programs compiled with an older and with a newer cj2k.h") {
  cj2k_params p = make_params(OTHER_WIDTH, OTHER_HEIGHT, 1, 8);
  p.levels = 3;
  const Picture picture = make_picture(p, Content::kTexture, 3);
  const std::vector<uint8_t> expected = encode(p, picture).bytes;
  REQUIRE(!expected.empty());
  std::vector<unsigned char> samples;
  for (const int32_t sample : picture.components[0].samples)
    samples.push_back(static_cast<unsigned char>(sample));
  for (const auto run : {run_older_program, run_newer_program}) {
    taken.clear();
    const int failed_line = run(samples.data(), take);
    CHECK(failed_line == 0);
    CHECK(taken == expected);
  }
}

/// A struct at the start of a page of zeros, so that every size under test can be read.
template <typename Struct>
struct Roomy {
  Struct s;
  char zeros[65536] = {};
};

/// Each invalid size is refused with one line, and the struct stays as it was.
template <typename Struct>
void check_sizes(const char* name, Struct valid, size_t least,
                 const std::function<cj2k_status(Struct*)>& call, const cj2k_encoder* encoder) {
  auto roomy = std::make_unique<Roomy<Struct>>();
  for (const size_t bytes : {size_t{0}, sizeof(size_t), least - 1, size_t{65537}, SIZE_MAX}) {
    roomy->s = valid;
    roomy->s.struct_size = bytes;
    const Roomy<Struct> before = *roomy;
    INFO(std::string(name), " of ", bytes, " bytes");
    CHECK(call(&roomy->s) == CJ2K_INVALID);
    CHECK(std::memcmp(&before, roomy.get(), sizeof before) == 0);
    const std::string text = cj2k_encoder_last_error(encoder);
    INFO(text);
    CHECK(text == std::string(name) + ": struct_size " + std::to_string(bytes) + " not in [" +
                      std::to_string(least) + ", 65536]");
  }
  for (const size_t bytes : {least + 1, sizeof(Struct) - 4, sizeof(Struct) + 4}) {
    roomy->s = valid;
    roomy->s.struct_size = bytes;
    INFO(std::string(name), " of ", bytes, " bytes");
    if (bytes < least) continue;  // a packet
    CHECK(call(&roomy->s) == CJ2K_INVALID);
    CHECK(std::string(cj2k_encoder_last_error(encoder)) ==
          std::string(name) + ": struct_size " + std::to_string(bytes) + " is not a multiple of 8");
  }
  for (const size_t bytes : {least, sizeof(Struct), size_t{65536}}) {
    roomy->s = valid;
    roomy->s.struct_size = bytes;
    INFO(std::string(name), " of ", bytes,
         " bytes: ", std::string(cj2k_encoder_last_error(encoder)));
    CHECK(call(&roomy->s) == CJ2K_OK);
  }
}

TEST_CASE("struct_size 0, too small for the first fields, or absurdly large is refused") {
  const cj2k_params p = make_params(48, 40, 1, 8);
  cj2k_encoder* encoder = nullptr;
  REQUIRE(cj2k_encoder_open(&p, &encoder) == CJ2K_OK);
  const FrameMemory memory(make_picture(p, Content::kTexture, 3));
  cj2k_packet packet = {};
  packet.struct_size = sizeof packet;

  check_sizes<cj2k_params>(
      "params", p, offsetof(cj2k_params, lossless),
      [](cj2k_params* s) {
        cj2k_encoder* other = nullptr;
        const cj2k_status status = cj2k_encoder_open(s, &other);
        cj2k_encoder_close(other);
        return status;
      },
      nullptr);
  check_sizes<cj2k_params>(
      "params", p, offsetof(cj2k_params, lossless),
      [&](cj2k_params* s) { return cj2k_encoder_params(encoder, s); }, encoder);
  check_sizes<cj2k_params>(
      "params", p, offsetof(cj2k_params, lossless),
      [](cj2k_params* s) { return cj2k_params_set(s, "levels", "2"); }, nullptr);
  check_sizes<cj2k_info>(
      "info", {}, offsetof(cj2k_info, threads),
      [&](cj2k_info* s) { return cj2k_encoder_info(encoder, s); }, encoder);
  check_sizes<cj2k_info>(
      "info", {}, offsetof(cj2k_info, threads),
      [&](cj2k_info* s) { return cj2k_params_info(&p, s); }, nullptr);
  check_sizes<cj2k_param_info>(
      "param_info", {}, offsetof(cj2k_param_info, min),
      [](cj2k_param_info* s) { return cj2k_params_describe(1, s); }, nullptr);
  check_sizes<cj2k_frame>(
      "frame", memory.frame, offsetof(cj2k_frame, pts),
      [&](cj2k_frame* s) {
        const cj2k_status status = cj2k_encoder_send_frame(encoder, s);
        if (status == CJ2K_OK) CHECK(cj2k_encoder_flush(encoder) == CJ2K_OK);
        return status;
      },
      encoder);
  check_sizes<cj2k_packet>(
      "packet", {}, sizeof(cj2k_packet),
      [&](cj2k_packet* s) {
        REQUIRE(cj2k_encoder_flush(encoder) == CJ2K_OK);
        REQUIRE(cj2k_encoder_send_frame(encoder, &memory.frame) == CJ2K_OK);
        REQUIRE(cj2k_encoder_send_frame(encoder, nullptr) == CJ2K_OK);
        const cj2k_status status = cj2k_encoder_receive_packet(encoder, s);
        if (status == CJ2K_OK) cj2k_packet_release(s);
        return status;
      },
      encoder);
  REQUIRE(cj2k_encoder_receive_packet(encoder, &packet) == CJ2K_EOF);
  REQUIRE(cj2k_encoder_flush(encoder) == CJ2K_OK);
  REQUIRE(cj2k_encoder_send_frame(encoder, &memory.frame) == CJ2K_OK);
  REQUIRE(cj2k_encoder_send_frame(encoder, nullptr) == CJ2K_OK);
  REQUIRE(cj2k_encoder_receive_packet(encoder, &packet) == CJ2K_OK);
  check_sizes<cj2k_stats>(
      "stats", {}, offsetof(cj2k_stats, component_bytes),
      [&](cj2k_stats* s) { return cj2k_packet_stats(&packet, s); }, nullptr);
  cj2k_stats stats = {};
  for (const size_t inside : {offsetof(cj2k_stats, component_bytes), offsetof(cj2k_stats, mse),
                              offsetof(cj2k_stats, stage_ms)}) {
    stats.struct_size = inside + 8;
    CHECK(cj2k_packet_stats(&packet, &stats) == CJ2K_INVALID);
    CHECK(std::string(cj2k_encoder_last_error(nullptr)).find("ends inside") != std::string::npos);
    stats.struct_size = inside;
    CHECK(cj2k_packet_stats(&packet, &stats) == CJ2K_OK);
  }
  cj2k_packet_release(&packet);
  cj2k_encoder_close(encoder);

  cj2k_params none;
  for (const size_t bytes : {size_t{0}, offsetof(cj2k_params, lossless) - 1, size_t{65537}})
    CHECK(cj2k_params_init(&none, bytes) == CJ2K_INVALID);
}

TEST_CASE("struct_size of films") {
  const cj2k_params p = make_params(48, 40, 1, 8);
  cj2k_film_pass first = {};
  first.pass = 1;
  check_sizes<cj2k_film_pass>(
      "film_pass", first, sizeof(cj2k_film_pass),
      [&](cj2k_film_pass* s) {
        cj2k_encoder* encoder = nullptr;
        const cj2k_status status = cj2k_encoder_open_film(&p, s, &encoder);
        cj2k_encoder_close(encoder);
        return status;
      },
      nullptr);
  cj2k_curve curve = {};
  std::fill(std::begin(curve.bytes), std::end(curve.bytes), 100);
  cj2k_film film = {};
  film.total_bytes = 1000;
  check_sizes<cj2k_film>(
      "film", film, sizeof(cj2k_film),
      [&](cj2k_film* s) {
        int64_t target = 0;
        return cj2k_film_allocate(s, &curve, 1, nullptr, nullptr, &target);
      },
      nullptr);
}

#define SIZES_IN(Struct, field) \
#field, offsetof(Struct, field), offsetof(Struct, field) + sizeof(Struct::field)

TEST_CASE("struct_size that ends inside an array is refused") {
  const cj2k_params p = make_params(48, 40, 1, 8);
  const struct {
    const char* name;
    size_t begin, end;
  } kArrays[] = {
      {SIZES_IN(cj2k_params, roi)},         {SIZES_IN(cj2k_params, precinct_width)},
      {SIZES_IN(cj2k_params, layer_rates)}, {SIZES_IN(cj2k_params, precinct_height)},
      {SIZES_IN(cj2k_params, layer_psnr)},  {SIZES_IN(cj2k_params, poc)},
      {SIZES_IN(cj2k_params, comment)},     {SIZES_IN(cj2k_params, device)},
  };
  for (size_t bytes = offsetof(cj2k_params, lossless); bytes <= sizeof p; bytes += 8) {
    cj2k_params part = p;
    part.struct_size = bytes;
    std::string expected;
    for (const auto& array : kArrays)
      if (bytes > array.begin && bytes < array.end)
        expected = "params: struct_size " + std::to_string(bytes) + " ends inside " + array.name +
                   ", bytes " + std::to_string(array.begin) + " to " +
                   std::to_string(array.end - 1);
    INFO(bytes);
    const bool is_taken = cj2k_params_set(&part, "depth", "8") == CJ2K_OK;
    CHECK(is_taken == expected.empty());
    if (!is_taken) CHECK(std::string(cj2k_encoder_last_error(nullptr)) == expected);
    cj2k_params fresh = p;
    CHECK((cj2k_params_init(&fresh, bytes) == CJ2K_OK) == expected.empty());
  }
}

}  // namespace
}  // namespace cj2k::test
