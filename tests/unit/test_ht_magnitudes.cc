// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The magnitude bits of HT blocks: what every format needs, and that words of 32 bits hold them.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "coders/ht/ht_block.h"
#include "params/params.h"
#include "plan/plan.h"
#include "plan/plan_quant.h"
#include "support/ht_decoder.h"

namespace cj2k {
namespace {

struct Most {
  int bit_planes = 0, bits = 0;
};

/// The largest M_b of a picture and the bits of its largest magnitude; {0, 0}: refused.
Most most_of(const cj2k_params& p, std::string* error = nullptr) {
  cj2k_params resolved;
  Plan plan;
  std::string message;
  const Log log(
      [](void* text, cj2k_log_level, const char* line) { *static_cast<std::string*>(text) = line; },
      &message);
  REQUIRE(resolve_params(p, log, &resolved) == Status::kOk);
  const Status status = make_plan(resolved, log, &plan);
  if (error != nullptr) *error = message;
  Most most;
  if (status != Status::kOk) return most;
  for (const Subband& band : plan.subbands) {
    most.bit_planes = std::max<int>(most.bit_planes, band.max_bit_planes);
    most.bits = std::max<int>(most.bits, band.magnitude_bits);
  }
  return most;
}

cj2k_params ht(int components, int depth) {
  cj2k_params p;
  set_default_params(&p);
  p.width = p.height = 2048;
  p.num_components = components;
  for (int32_t& d : p.depth) d = depth;
  p.coder = CJ2K_CODER_HT;
  return p;
}

TEST_CASE("HT lossless: M_b of every depth, with and without RCT") {
  // The nominal range of HH is two bits above the samples, and one of the two guard bits counts: depth
  // + 3. The RCT adds one. Shallow samples need more, since the rounding of the 5/3 adds up. The
  // worst picture leaves one bit-plane unused.
  constexpr int kGray[16] = {7, 8, 8, 8, 9, 10, 11, 12, 13, 14, 14, 15, 16, 17, 18, 19};
  constexpr int kRct[16] = {8, 8, 8, 9, 10, 11, 12, 13, 14, 14, 15, 16, 17, 18, 19, 20};
  for (int depth = 1; depth <= 16; ++depth) {
    for (const int components : {1, 3}) {
      cj2k_params p = ht(components, depth);
      p.lossless = 1;
      const Most most = most_of(p);
      CAPTURE(depth);
      CAPTURE(components);
      CHECK(most.bit_planes == (components == 1 ? kGray : kRct)[depth - 1]);
      CHECK(most.bits < most.bit_planes);
    }
  }
}

TEST_CASE("HT lossless: no depth, level or guard bit takes it beyond the limit") {
  Most worst;
  for (int depth = 1; depth <= 16; ++depth) {
    for (const int levels : {0, 1, 2, 3, 5, 8, 16, 32}) {
      for (int guard_bits = 1; guard_bits <= 7; ++guard_bits) {
        cj2k_params p = ht(3, depth);
        p.lossless = 1;
        p.levels = levels;
        p.guard_bits = guard_bits;
        const Most most = most_of(p);
        REQUIRE(most.bit_planes > 0);
        REQUIRE(most.bits <= most.bit_planes);
        worst.bit_planes = std::max(worst.bit_planes, most.bit_planes);
        worst.bits = std::max(worst.bits, most.bits);
      }
    }
  }
  CHECK(worst.bit_planes == 24);
  CHECK(worst.bits == 20);
}

TEST_CASE("HT lossy: up to 29 bit-planes are taken, 30 are refused with value and range") {
  for (const cj2k_wavelet wavelet : {CJ2K_WAVELET_97, CJ2K_WAVELET_53}) {
    int taken = 0;
    for (int guard_bits = 1; guard_bits <= 7; ++guard_bits) {
      cj2k_params p = ht(3, 16);
      p.wavelet = wavelet;
      p.guard_bits = guard_bits;
      p.quant_step = 0.015625;
      std::string error;
      const Most most = most_of(p, &error);
      taken = std::max(taken, most.bit_planes);
      if (most.bit_planes > 0) continue;
      CAPTURE(error);
      CHECK(wavelet == CJ2K_WAVELET_97);
      CHECK(error.find("quant_step 0.015625") != std::string::npos);
      CHECK(error.find("bit-planes not in [0, 29]") != std::string::npos);
    }
    CHECK(taken == (wavelet == CJ2K_WAVELET_97 ? kMaxHtBitPlanes : 24));
  }
}

TEST_CASE("HT: magnitudes of all 29 bits come back") {
  constexpr int kSide = 16;
  std::vector<uint32_t> samples(kSide * kSide);
  uint32_t seed = 1;
  for (uint32_t& sample : samples) {
    seed = seed * 1664525u + 1013904223u;
    sample = (seed & 0x80000000u) | (seed >> 3 & ((1u << kMaxHtBitPlanes) - 1));
  }
  samples[5] = (1u << kMaxHtBitPlanes) - 1;
  const HtSamples block{samples.data(), kSide, kSide, kSide};
  std::vector<uint8_t> bytes(kMaxHtCleanupBytes);
  bytes.resize(simd::ht_cleanup(block, 0, bytes.data()));
  const test::HtBlock read = test::decode_ht_block(bytes, {}, kSide, kSide, 1, 0, false);
  REQUIRE(read.error == nullptr);
  for (size_t i = 0; i < samples.size(); ++i) {
    const int64_t magnitude = samples[i] & 0x7FFFFFFFu;
    const int64_t doubled = magnitude == 0 ? 0 : 2 * magnitude + 1;
    CHECK(read.doubled[i] == ((samples[i] >> 31) != 0 ? -doubled : doubled));
  }
}

}  // namespace
}  // namespace cj2k
