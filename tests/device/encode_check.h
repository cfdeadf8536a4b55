// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Whole encodes with both backends, compared.
#pragma once

#include <doctest/doctest.h>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "kernel_check.h"
#include "support/encode.h"

namespace cj2k::simt::test {

using cj2k::test::Content;
using cj2k::test::encode_sequence;
using cj2k::test::Encoded;
using cj2k::test::FrameLayout;
using cj2k::test::make_picture;
using cj2k::test::Picture;

using EncodeSettings = std::initializer_list<std::pair<const char*, std::string>>;

/// Resets the shim. It gets as many multiprocessors as one of three kinds of GPU.
inline void start_device(uint64_t seed) {
#if defined(CJ2K_SIMT_SHIM)
  shim::Options options;
  options.seed = seed;
  options.check_races = false;  // the checks of each kernel check races
  constexpr int kMultiprocessors[] = {132, 4, 46, 132, 4};
  options.num_multiprocessors = kMultiprocessors[seed % 5];
  shim::reset(options);
#else
  (void)seed;
#endif
}

inline std::vector<Picture> sequence(const cj2k_params& p, int frames) {
  constexpr Content kContents[] = {Content::kTexture, Content::kNoise, Content::kFlat};
  std::vector<Picture> pictures;
  for (int i = 0; i < frames; ++i)
    pictures.push_back(make_picture(p, kContents[i % 3], 100 + static_cast<uint64_t>(i)));
  return pictures;
}

/// Encodes with both backends and compares every packet.
/// @return the number of passes that were coded after their block had paused
inline int64_t check_equal(const cj2k_params& params, const std::vector<Picture>& pictures,
                           const FrameLayout& layout = {}) {
  cj2k_params on_cpu = params, on_device = params;
  cj2k::test::set(on_cpu, "device", "cpu");
  cj2k::test::set(on_device, "device", "cuda");
  const std::vector<Encoded> expected = encode_sequence(on_cpu, pictures, layout);
  const std::vector<Encoded> actual = encode_sequence(on_device, pictures, layout);
  INFO(cj2k::test::describe(on_device));
  REQUIRE(expected.size() == pictures.size());
  REQUIRE(actual.size() == pictures.size());
  int64_t resumed = 0;
  for (size_t i = 0; i < pictures.size(); ++i) {
    INFO("frame ", i, " tier1 ", static_cast<int>(params.tier1), " log: ", actual[i].log);
    REQUIRE(expected[i].status == CJ2K_OK);
    REQUIRE(actual[i].status == CJ2K_OK);
    CHECK(actual[i].bytes.size() == expected[i].bytes.size());
    CHECK(actual[i].bytes == expected[i].bytes);
    const cj2k_stats &a = actual[i].stats, &e = expected[i].stats;
    CHECK(a.passes_coded == e.passes_coded);
    CHECK(a.passes_resumed == e.passes_resumed);
    CHECK(a.bytes_coded == e.bytes_coded);
    CHECK(a.passes_left == e.passes_left);
    CHECK(a.slope_threshold == e.slope_threshold);
    CHECK(a.verified == e.verified);
    for (int c = 0; c < params.num_components; ++c) CHECK(a.mse[c] == e.mse[c]);
    resumed += a.rounds;
  }
  return resumed;
}
inline int64_t check_equal(const cj2k_params& params, int frames, const FrameLayout& layout = {}) {
  return check_equal(params, sequence(params, frames), layout);
}

}  // namespace cj2k::simt::test
