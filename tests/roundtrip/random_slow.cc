// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Random legal combinations of all parameters. CJ2K_RANDOM_SEED=n runs only that seed,
// CJ2K_RANDOM_COUNT=n sets the number of seeds, CJ2K_RANDOM_FIRST=n the first one.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "roundtrip/random_params.h"
#include "roundtrip/roundtrip.h"

namespace cj2k::test {
namespace {

constexpr int kDefaultCount = 300;

/// @return the quality whose PSNR floor holds; 0 for a byte target, which promises none
double choose_rate(cj2k_params& p, Random& random, int64_t raw_bits) {
  if (random.chance(50)) {
    p.lossless = 1;
    return 0;
  }
  p.wavelet = random.chance(60) ? CJ2K_WAVELET_97 : CJ2K_WAVELET_53;
  if (random.chance(15)) p.quant_step = random.pick<double>({0.125, 0.5, 2});
  const double step = std::max(1.0, p.quant_step);
  if (random.chance(60)) {
    p.quality = random.pick<double>({0.25, 0.5, 1, 2, 4, 8});
    return std::max(
        p.quality,
        step * 255 / ((1 << *std::max_element(p.depth, p.depth + p.num_components)) - 1));
  }
  p.target_bytes = 0;
  cj2k_encoder* encoder = nullptr;
  cj2k_info info = {};
  info.struct_size = sizeof info;
  if (cj2k_encoder_open(&p, &encoder) != CJ2K_OK) return 0;  // the caller's own open reports why
  CHECK(cj2k_encoder_info(encoder, &info) == CJ2K_OK);
  cj2k_encoder_close(encoder);
  constexpr int64_t kEmptyPacketBytes = 12;  // SOP, one byte of header, EPH, PLT entry
  p.target_bytes = info.header_bytes + kEmptyPacketBytes * info.num_packets +
                   raw_bits / 8 / random.range(2, 20) + 50;
  return 0;
}

void check_random_combinations(cj2k_coder coder, const std::vector<Decoder>& decoders) {
  const int only = from_environment("CJ2K_RANDOM_SEED", -1);
  const int count = from_environment("CJ2K_RANDOM_COUNT", kDefaultCount);
  int coded = 0, refused = 0;
  const int first = from_environment("CJ2K_RANDOM_FIRST", 0);
  for (int seed = only >= 0 ? only : first; only >= 0 ? seed == only : coded < count; ++seed) {
    Random random(static_cast<uint64_t>(seed) + 1);
    cj2k_params p = make_params(1, 1);
    choose_components(p, random);
    choose_grid(p, random);
    choose_coding(p, random);
    if (coder == CJ2K_CODER_HT) choose_ht(p);
    reset_some(p);
    const Picture shape = picture_shape(p);
    double quality = choose_rate(p, random, shape.raw_bits());
    if (seed % 4 == 1 && quality > 0 && p.wavelet == CJ2K_WAVELET_97) {
      p.qfactor = 1 + seed * 7 % 100;
      p.quality = p.quant_step = quality = 0;
    }
    const Content content = random.pick(kAllContents);

    // Legal combinations that are refused for reasons this generator does not foresee. They are
    // counted, and the test checks their number.
    LogText log;
    p.log = LogText::append;
    p.log_opaque = &log;
    cj2k_encoder* encoder = nullptr;
    const cj2k_status status = cj2k_encoder_open(&p, &encoder);
    cj2k_encoder_close(encoder);
    p.log = nullptr;
    p.log_opaque = nullptr;
    INFO("CJ2K_RANDOM_SEED=", seed, " content ", std::string(content_name(content)));
    INFO("parameters: ", describe(p));
    INFO("log: ", log.text);
    if (status != CJ2K_OK) {
      CHECK(!log.text.empty());
      const bool foreseen = status == CJ2K_NOT_SUPPORTED ||
                            log.text.find("tile-part") != std::string::npos ||
                            log.text.find("no sample") != std::string::npos ||
                            log.text.find("without sample") != std::string::npos ||
                            log.text.find("precinct") != std::string::npos;
      CHECK(foreseen);
      ++refused;
      REQUIRE(refused < 200 + count);
      continue;
    }
    ++coded;
    const Picture picture = make_picture(p, content, random.next());
    // A constant is as far from what its step decodes to as chance has it: half a step at most.
    const double margin = content == Content::kFlat ? 4.8 : 0;
    const double floor = quality > 0 ? quality_floor(p, quality) - margin : 0;
    const Encoded encoded = check_roundtrip(p, picture, decoders, floor);
    if (p.target_bytes > 0) CHECK(static_cast<int64_t>(encoded.bytes.size()) <= p.target_bytes);
  }
  MESSAGE(coded << " combinations coded, " << refused << " refused");
}

TEST_CASE("random combinations") { check_random_combinations(CJ2K_CODER_EBCOT, kTwoDecoders); }

TEST_CASE("HT: random combinations") { check_random_combinations(CJ2K_CODER_HT, kHtDecoders); }

}  // namespace
}  // namespace cj2k::test
