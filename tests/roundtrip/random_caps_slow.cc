// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Small frames under random caps: none is over its cap, and what the cap leaves unused is counted. CJ2K_RANDOM_COUNT=n sets the
// number of frames, CJ2K_RANDOM_FIRST=n the first seed, one for each encoder of 50 frames.
#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "roundtrip/random_params.h"
#include "support/encode.h"

namespace cj2k::test {
namespace {

constexpr int kDefaultCount = 4000, kFramesAnEncoder = 50;

/// Frames by the share of the cap that they use. Frames that end before the cap are left out: they have all bits.
struct Shares {
  static constexpr std::array<double, 6> kFrom = {99.9, 99.5, 99, 98, 95, 0};
  std::array<int64_t, kFrom.size()> frames = {};
  int64_t all = 0;

  void add(double percent) {
    size_t i = 0;
    while (percent < kFrom[i]) ++i;
    ++frames[i];
    ++all;
  }
  std::string text() const {
    std::string out;
    for (size_t i = 0; i < kFrom.size(); ++i)
      out += " from " + std::to_string(kFrom[i]).substr(0, 4) + " %: " + std::to_string(frames[i]);
    return out;
  }
};

cj2k_params random_params(Random& random) {
  cj2k_params p =
      make_params(random.range(8, 200), random.range(8, 140), random.pick<int>({1, 3, 3, 4}),
                  random.pick<int>({1, 8, 8, 10, 12, 16}));
  if (p.num_components == 3 && random.chance(25)) set(p, "dx", "1,2,2");
  p.coder = random.chance(40) ? CJ2K_CODER_HT : CJ2K_CODER_EBCOT;
  if (random.chance(25)) p.wavelet = CJ2K_WAVELET_53;
  p.levels = random.range(0, 6);
  p.cblk_width = 1 << random.range(2, 6);
  p.cblk_height = 1 << random.range(2, 6);
  p.effort = random.range(0, 3);
  if (random.chance(25)) p.tune = CJ2K_TUNE_VISUAL;
  if (random.chance(20)) p.layers = random.range(2, 4);
  if (random.chance(20)) p.plt = 1;
  if (random.chance(15)) p.format = CJ2K_FORMAT_JP2;
  if (p.coder == CJ2K_CODER_EBCOT && random.chance(20)) p.cblk_style = random.range(0, 63);
  p.threads = p.gop = p.async_depth = 1;
  set(p, "device", "cpu");
  return p;
}

/// Encodes pictures with one encoder, each under a cap of its own.
/// @return frames; 0 if the parameters are not legal
int check_encoder(Random& random, std::array<Shares, 2>& shares) {
  const cj2k_params p = random_params(random);
  cj2k_info info = {};
  info.struct_size = sizeof info;
  if (cj2k_params_info(&p, &info) != CJ2K_OK) return 0;
  cj2k_encoder* raw = nullptr;
  REQUIRE(cj2k_encoder_open(&p, &raw) == CJ2K_OK);
  const std::unique_ptr<cj2k_encoder, void (*)(cj2k_encoder*)> encoder(raw, cj2k_encoder_close);
  INFO("parameters: ", describe(p));
  const auto all = static_cast<int32_t>(picture_shape(p).raw_bits() / 8);
  for (int i = 0; i < kFramesAnEncoder; ++i) {
    const Picture picture = make_picture(p, random.pick(kAllContents), random.next());
    FrameMemory memory(picture);
    const int64_t cap =
        info.least_frame_bytes + random.range(0, random.chance(50) ? all / 20 : all);
    memory.frame.target_bytes = cap;
    cj2k_packet packet = {};
    packet.struct_size = sizeof packet;
    REQUIRE(cj2k_encoder_send_frame(raw, &memory.frame) == CJ2K_OK);
    REQUIRE(cj2k_encoder_receive_packet(raw, &packet) == CJ2K_OK);
    const auto bytes = static_cast<int64_t>(packet.size);
    const bool is_cut = stats_of(packet).slope_threshold > 0;
    cj2k_packet_release(&packet);
    CHECK_MESSAGE(bytes <= cap, "frame ", i);
    if (is_cut)
      shares[p.coder == CJ2K_CODER_HT ? 1 : 0].add(100.0 * static_cast<double>(bytes) /
                                                   static_cast<double>(cap));
  }
  return kFramesAnEncoder;
}

TEST_CASE("frames under random caps") {
  const int count = from_environment("CJ2K_RANDOM_COUNT", kDefaultCount);
  std::array<Shares, 2> shares;
  int64_t frames = 0;
  for (int seed = from_environment("CJ2K_RANDOM_FIRST", 0); frames < count; ++seed) {
    Random random(static_cast<uint64_t>(seed) + 2000000);
    INFO("CJ2K_RANDOM_SEED=", seed);
    frames += check_encoder(random, shares);
  }
  MESSAGE(frames << " frames, none above its cap");
  MESSAGE("EBCOT:" << shares[0].text());
  MESSAGE("HT:" << shares[1].text());
}

}  // namespace
}  // namespace cj2k::test
