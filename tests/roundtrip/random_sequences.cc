// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Sequences at random legal parameters of all kinds, where frames have limits of their own: caps hold to the byte, threads and
// gop change no byte, the parameters as text and as the encoder tells them give the same bytes, OpenJPEG gets the picture back,
// and the errors that are measured are those that it shows. CJ2K_RANDOM_SEED=n runs only that seed, CJ2K_RANDOM_COUNT=n sets
// their number, CJ2K_RANDOM_FIRST=n the first one.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "roundtrip/random_params.h"
#include "roundtrip/roundtrip.h"
#include "support/codestream.h"

namespace cj2k::test {
namespace {

constexpr int kDefaultCount = 60;

/// The limits of one frame.
struct Own {
  int64_t target_bytes = 0, max_frame_bytes = 0, max_component_bytes = 0;
  double quality = 0;
};

struct Sequence {
  std::vector<Picture> pictures;
  std::vector<Own> own;  ///< of each picture, then those of the parameters
};

/// A cap from the least that is taken to more than can be used.
int64_t random_cap(Random& random, int64_t least, int64_t raw) {
  switch (random.range(0, 5)) {
    case 0:
      return least;
    case 1:
      return least + random.range(0, 400);
    case 2:
      return random.chance(50) ? int64_t{1} << 40 : least + 2 * raw;
    default:
      return least + raw / random.range(1, 60);
  }
}

void choose_visual(cj2k_params& p, Random& random) {
  p.tune = CJ2K_TUNE_VISUAL;
  if (random.chance(50)) p.visual_strength = random.pick<double>({0.0625, 0.3, 1, 4});
  if (random.chance(50)) p.visual_distance = random.pick<double>({0.1, 3, 100});
}

/// How much is coded, but for the caps.
void choose_loss(cj2k_params& p, Random& random) {
  p.measure_mse = 1;
  if (random.chance(20)) {
    p.lossless = 1;
    return;
  }
  if (random.chance(30)) p.wavelet = CJ2K_WAVELET_53;
  if (random.chance(30)) p.quality = random.pick<double>({0.00390625, 0.5, 1, 3.3, 40, 256});
  if (random.chance(25)) choose_visual(p, random);
  if (random.chance(40)) p.stop = static_cast<cj2k_stop>(random.range(0, 4));
  if (random.chance(30)) p.stop_margin = random.range(0, 4096);
  if (random.chance(50) && p.stop <= CJ2K_STOP_EXACT) p.effort = random.pick<int>({0, 2, 3});
  if (random.chance(30)) p.frame_steps = random.range(-1, 2);
  if (random.chance(10) && p.quality == 0 && p.wavelet != CJ2K_WAVELET_53) {
    p.qfactor = random.range(1, 100);
    p.quant_step = 0;
  }
}

void choose_coder(cj2k_params& p, Random& random) {
  if (!random.chance(25)) return;
  choose_ht(p);
  if (random.chance(25)) p.ht_passes = CJ2K_HT_PASSES_CLEANUP;
  if (p.stop > CJ2K_STOP_EXACT) p.stop = CJ2K_STOP_EXACT;
}

Own choose_caps(const cj2k_params& p, const cj2k_info& info, int64_t raw, Random& random) {
  Own own;
  if (p.lossless) return own;
  if (random.chance(50) && p.qfactor == 0)
    own.target_bytes = random_cap(random, info.least_frame_bytes, raw);
  if (random.chance(25)) own.max_frame_bytes = random_cap(random, info.least_frame_bytes, raw);
  if (random.chance(20))
    own.max_component_bytes =
        random_cap(random, info.least_component_bytes, raw / p.num_components);
  return own;
}

/// Encodes with one encoder. A frame that is refused, or an encoder that does not open, fails the running test.
std::vector<Encoded> encode_own(const cj2k_params& p, const Sequence& sequence, bool with_own) {
  std::vector<Encoded> packets;
  cj2k_encoder* raw = nullptr;
  const cj2k_status opened = cj2k_encoder_open(&p, &raw);
  INFO(std::string(cj2k_encoder_last_error(nullptr)));
  REQUIRE(opened == CJ2K_OK);
  const std::unique_ptr<cj2k_encoder, void (*)(cj2k_encoder*)> encoder(raw, cj2k_encoder_close);
  cj2k_packet packet = {};
  packet.struct_size = sizeof packet;
  for (size_t sent = 0; packets.size() < sequence.pictures.size();) {
    cj2k_status status;
    if (sent < sequence.pictures.size()) {
      FrameMemory memory(sequence.pictures[sent]);
      if (with_own) {
        const Own& own = sequence.own[sent];
        memory.frame.target_bytes = own.target_bytes;
        memory.frame.max_frame_bytes = own.max_frame_bytes;
        memory.frame.max_component_bytes = own.max_component_bytes;
        memory.frame.quality = own.quality;
      }
      status = cj2k_encoder_send_frame(raw, &memory.frame);
      sent += status == CJ2K_OK;
    } else {
      status = cj2k_encoder_send_frame(raw, nullptr);
    }
    INFO(std::string(cj2k_encoder_last_error(raw)));
    REQUIRE(status >= 0);
    while (cj2k_encoder_receive_packet(raw, &packet) == CJ2K_OK) {
      packets.push_back({CJ2K_OK, {packet.data, packet.data + packet.size}, stats_of(packet), ""});
      cj2k_packet_release(&packet);
    }
  }
  return packets;
}

void check_same(const std::vector<Encoded>& a, const std::vector<Encoded>& b) {
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    INFO("frame ", i, ": ", a[i].bytes.size(), " and ", b[i].bytes.size(), " bytes");
    CHECK(a[i].bytes == b[i].bytes);
  }
}

/// The caps of the frame, or of the parameters where it has none.
void check_caps(const cj2k_params& p, const Own& own, const Encoded& encoded) {
  const auto size = static_cast<int64_t>(encoded.bytes.size());
  const int64_t target = own.target_bytes ? own.target_bytes : p.target_bytes;
  const int64_t most = own.max_frame_bytes ? own.max_frame_bytes : p.max_frame_bytes;
  const int64_t component =
      own.max_component_bytes ? own.max_component_bytes : p.max_component_bytes;
  if (target != 0) CHECK(size <= target);
  if (most != 0) CHECK(size <= most);
  CHECK(size >= p.min_frame_bytes);
  for (int c = 0; component != 0 && c < p.num_components; ++c)
    CHECK(encoded.stats.component_bytes[c] <= component);
}

/// In a flat picture every sample may be at the same tie of rounding, and decoders that work with floats of 24 bits are off at 16.
void check_mse(const ComponentPlane& picture, const ComponentPlane& decoded, double measured) {
  const double shown = mean_squared_error(picture, decoded);
  const double count = static_cast<double>(picture.samples.size());
  const double unit = std::ldexp(1.0, 2 * std::max(0, picture.depth - 12));
  const double difference = std::abs(shown - measured);
  INFO("measured ", measured, " shown ", shown);
  CHECK((difference <= 0.15 * std::max(shown, measured) ||
         difference <= unit + 16 * (1 + std::sqrt(shown)) / count));
}

void check_decoded(const cj2k_params& p, const Picture& picture, const Encoded& encoded,
                   Decoder decoder) {
  if (cannot_decode(decoder, p) != nullptr || !use_decoder(decoder)) return;
  const Decoded decoded = decode(decoder, encoded.bytes, p);
  if (!decoded.picture && known_refusal(decoder, decoded.error) != nullptr) return;
  INFO(std::string(decoder_name(decoder)), ": ", decoded.error);
  REQUIRE(decoded.picture.has_value());
  if (p.lossless) CHECK(max_difference(picture, *decoded.picture) == 0);
  for (int c = 0; c < p.num_components; ++c) {
    INFO("component ", c);
    const auto i = static_cast<size_t>(c);
    check_mse(picture.components[i], decoded.picture->components[i], encoded.stats.mse[c]);
  }
}

/// OpenJPEG; with CJ2K_RANDOM_DECODERS=all each that takes such streams.
std::vector<Decoder> decoders_for(const cj2k_params& p) {
  const char* const text = std::getenv("CJ2K_RANDOM_DECODERS");
  if (text == nullptr || std::string(text) != "all") return {Decoder::kOpenJpeg};
  return p.coder == CJ2K_CODER_HT ? kHtDecoders : kTwoDecoders;
}

/// The parameters, each read as text and set from it.
cj2k_params through_text(const cj2k_params& p) {
  cj2k_params out = make_params(1, 1);
  cj2k_param_info info = {};
  info.struct_size = sizeof info;
  char text[CJ2K_MAX_PARAM_TEXT];
  for (int i = 0; cj2k_params_describe(i, &info) == CJ2K_OK; ++i) {
    REQUIRE(cj2k_params_get(&p, info.name, text, sizeof text) == CJ2K_OK);
    set(out, info.name, text);
  }
  return out;
}

/// The parameters as the encoder tells them, which can be given to another encoder.
cj2k_params as_told(const cj2k_params& p) {
  cj2k_encoder* encoder = nullptr;
  REQUIRE(cj2k_encoder_open(&p, &encoder) == CJ2K_OK);
  cj2k_params told = {};
  told.struct_size = sizeof told;
  CHECK(cj2k_encoder_params(encoder, &told) == CJ2K_OK);
  cj2k_encoder_close(encoder);
  told.async_depth = std::min(told.async_depth, 64);
  return told;
}

void check_sequence(cj2k_params p, const Sequence& sequence, Random& random) {
  const std::vector<Encoded> encoded = encode_own(p, sequence, true);
  cj2k_params other = p;
  other.threads = p.threads % 3 + 1;
  if (p.stop != CJ2K_STOP_PST) other.gop = random.pick<int>({1, 2, 8});
  check_same(encoded, encode_own(other, sequence, true));
  const std::vector<Encoded> without = encode_own(p, sequence, false);
  check_same(without, encode_own(through_text(p), sequence, false));
  const cj2k_params told = as_told(p);
  check_same(without, encode_own(told, sequence, false));
  for (size_t i = 0; i < encoded.size(); ++i) {
    INFO("frame ", i);
    check_codestream(encoded[i].bytes);
    check_caps(p, sequence.own[i], encoded[i]);
    for (const Decoder decoder : decoders_for(told))
      check_decoded(told, sequence.pictures[i], encoded[i], decoder);
  }
}

/// @return whether the parameters were legal
bool check_seed(int seed) {
  Random random(static_cast<uint64_t>(seed) + 1000000);
  cj2k_params p = make_params(1, 1);
  choose_components(p, random);
  choose_grid(p, random);
  choose_coding(p, random);
  choose_loss(p, random);
  choose_coder(p, random);
  choose_rest(p, random);
  set(p, "device", "cpu");
  reset_some(p);
  cj2k_info info = {};
  info.struct_size = sizeof info;
  if (cj2k_params_info(&p, &info) != CJ2K_OK) return false;
  const int64_t raw = picture_shape(p).raw_bits() / 8 + 1;
  const Own all = choose_caps(p, info, raw, random);
  p.target_bytes = all.target_bytes;
  p.max_frame_bytes = all.max_frame_bytes;
  p.max_component_bytes = all.max_component_bytes;
  if (p.stop == CJ2K_STOP_PST) p.gop = 2;
  INFO("CJ2K_RANDOM_SEED=", seed, " effort ", p.effort, " stop ", static_cast<int>(p.stop),
       " tune ", static_cast<int>(p.tune), " coder ", static_cast<int>(p.coder), " qfactor ",
       p.qfactor);
  INFO("parameters: ", describe(p));
  Sequence sequence;
  for (int i = random.range(1, 4); i > 0; --i) {
    sequence.pictures.push_back(make_picture(p, random.pick(kAllContents), random.next()));
    sequence.own.push_back(random.chance(40) ? choose_caps(p, info, raw, random) : Own{});
    if (!p.lossless && p.qfactor == 0 && random.chance(15))
      sequence.own.back().quality = random.pick<double>({0.01, 2, 17});
  }
  sequence.own.push_back(all);
  for (const Own& own : sequence.own) {  // no cap is below the floor
    for (const int64_t cap : {own.target_bytes, own.max_frame_bytes})
      if (cap != 0) p.min_frame_bytes = std::min(p.min_frame_bytes, cap);
  }
  check_sequence(p, sequence, random);
  return true;
}

TEST_CASE("random sequences") {
  const int only = from_environment("CJ2K_RANDOM_SEED", -1);
  if (only >= 0) {
    CHECK(check_seed(only));
    return;
  }
  const int count = from_environment("CJ2K_RANDOM_COUNT", kDefaultCount);
  const int first = from_environment("CJ2K_RANDOM_FIRST", 0);
  int coded = 0, seed = first;
  for (; coded < count; ++seed) {
    coded += check_seed(seed);
    REQUIRE(seed - first < 20 + 2 * count);  // few are refused
  }
  MESSAGE(coded << " of " << seed - first << " combinations coded");
}

}  // namespace
}  // namespace cj2k::test
