// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <bit>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "coders/ebcot/rdoq.h"
#include "core/distortion.h"
#include "pixels/target.h"
#include "support/check.h"

namespace cj2k {
namespace {

using namespace check;

/// A block of coefficients whose size falls off as those of pictures do, and its samples.
struct Coefficients {
  Coefficients(int width, int height, double mean, bool reversible, uint64_t seed)
      : width(width),
        height(height),
        stride((width + 15) / 16 * 16),
        values(static_cast<size_t>(stride * height)) {
    uint64_t state = seed * 2862933555777941757u + 3037000493u;
    const auto random = [&] {
      state = state * 6364136223846793005u + 1442695040888963407u;
      return static_cast<double>(state >> 11) * 0x1p-53;
    };
    bool is_negative = false;
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        // Larger near a slanted line, so that contexts differ.
        const double near = std::abs(x - y / 2) % 24 < 4 ? 3 : 0.6;
        const double size = -std::log(1 - random()) * mean * near;
        // Mostly the sign of the sample before, so that the two signs of a context cost unlike bits.
        if (random() < 0.2) is_negative = !is_negative;
        const double signed_size = is_negative ? -size : size;
        values[y * stride + x] =
            static_cast<float>(reversible ? std::trunc(signed_size) : signed_size);
      }
    }
    for (const float v : values) {
      const auto m = static_cast<uint32_t>(std::fabs(v));
      samples.push_back(m | (v < 0 && m != 0 ? 0x80000000u : 0u));
      all |= m;
    }
  }
  RdoqBlock block(bool reversible, std::vector<uint32_t>& to) const {
    RdoqBlock b{};
    b.samples = to.data();
    b.stride = stride;
    b.width = width;
    b.height = height;
    b.coefficients = reversible ? nullptr : values.data();
    b.coefficient_stride = stride;
    b.inverse_step = 1;
    b.bit_planes = static_cast<int>(std::bit_width(all));
    // More than those of any wavelet, of either sign.
    b.overlaps = {{41, -37}, {-53, 29}};
    return b;
  }

  int width, height;
  ptrdiff_t stride;
  std::vector<float> values;
  std::vector<uint32_t> samples;
  uint32_t all = 0;
};

struct Outcome {
  std::vector<uint32_t> samples;
  RdoqResult result;
};

template <typename Rdoq>
Outcome run(const Coefficients& from, const RdoqBlock& like, RdoqScratch& scratch,
            const Rdoq& rdoq) {
  Outcome outcome{from.samples, {}};
  RdoqBlock b = like;
  b.samples = outcome.samples.data();
  rdoq(b, scratch, &outcome.result);
  return outcome;
}

/// @return changes
int compare(const Coefficients& from, const RdoqBlock& b, RdoqScratch& scratch) {
  CAPTURE(b.bit_planes);
  CAPTURE(from.width);
  CAPTURE(from.height);
  CAPTURE(b.plane);
  CAPTURE(static_cast<int>(b.kind));
  CAPTURE(b.style);
  const auto forwards = [](const RdoqBlock& block, RdoqScratch& z, RdoqResult* result) {
    ref::rdoq_block(block, z, result);
  };
  const auto backwards = [](const RdoqBlock& block, RdoqScratch& z, RdoqResult* result) {
    ref::rdoq_block(block, z, result, true);
  };
  const Outcome expected = run(from, b, scratch, forwards);
  // The samples of a group do not see each other's trials.
  CHECK(run(from, b, scratch, backwards).samples == expected.samples);
  for_each_target(simd::rdoq_target, [&](const char*) {
    const Outcome actual = run(from, b, scratch, simd::rdoq_block);
    REQUIRE(actual.samples == expected.samples);
    CHECK(actual.result.bit_planes == expected.result.bit_planes);
    CHECK(actual.result.changes == expected.result.changes);
    CHECK(actual.result.total == expected.result.total);
    for (int pass = 0; pass < kMaxPasses; ++pass)
      CHECK(actual.result.removed[pass] == expected.result.removed[pass]);
  });
  return expected.result.changes;
}

TEST_CASE("rdoq: windows in words equal the reference, and so do groups from their end") {
  const auto scratch = std::make_unique<RdoqScratch>();
  int changes = 0, blocks = 0;
  const std::pair<int, int> kSizes[] = {{32, 32}, {64, 64}, {1, 1},  {1, 9},    {9, 1},   {5, 3},
                                        {17, 13}, {3, 70},  {70, 5}, {4, 1024}, {1024, 4}};
  for (const auto& [width, height] : kSizes) {
    for (const double mean : {0.7, 6.0, 40.0}) {
      for (const bool reversible : {false, true}) {
        ++blocks;
        const Coefficients from(width, height, mean, reversible, static_cast<uint64_t>(blocks));
        std::vector<uint32_t> samples = from.samples;
        RdoqBlock b = from.block(reversible, samples);
        for (int plane = 0; plane < b.bit_planes; plane += 1 + blocks % 2) {
          b.plane = plane;
          b.kind = plane + 1 == b.bit_planes ? PassKind::kCleanup
                                             : static_cast<PassKind>((blocks + plane) % 3);
          b.orientation = static_cast<Orientation>((blocks + plane) % 4);
          b.rounds = 1 + (blocks + plane) % 2;
          b.style = plane % 3 == 0 ? 0u
                                   : static_cast<uint32_t>(plane % 3 == 1 ? CJ2K_STYLE_VSC
                                                                          : CJ2K_STYLE_BYPASS);
          b.lambda = std::ldexp(blocks % 2 == 0 ? 0.3 : 0.7, 2 * plane);
          changes += compare(from, b, *scratch);
        }
      }
    }
  }
  CHECK(changes > 1000);
}

TEST_CASE("rdoq: raw planes and large magnitudes equal the reference") {
  const auto scratch = std::make_unique<RdoqScratch>();
  for (const double mean : {3000.0, 1e6, 1e7}) {
    const Coefficients from(24, 18, mean, false, 5);
    std::vector<uint32_t> samples = from.samples;
    RdoqBlock b = from.block(false, samples);
    b.style = CJ2K_STYLE_BYPASS;
    b.rounds = 2;
    for (int plane : {0, 3, b.bit_planes - 6}) {
      b.plane = plane;
      b.kind = PassKind::kRefinement;
      b.lambda = std::ldexp(0.4, 2 * plane);
      compare(from, b, *scratch);
    }
  }
}

/// What a decoder shows of a magnitude after the planes from `plane` on.
double shown(uint32_t sample, int plane) {
  const uint32_t q = (sample & 0x7FFFFFFF) >> plane;
  return q == 0 ? 0 : std::ldexp(q + 0.5, plane);
}

/// Bytes of the planes from `plane` on.
double bytes_of(const Coefficients& from, const std::vector<uint32_t>& samples, int planes,
                int plane) {
  std::vector<uint8_t> bytes(kMaxBlockBytes + 64);
  std::vector<CodingPass> passes(kMaxPasses);
  std::vector<PassTail> tails(kMaxPasses);
  Tier1Output out{bytes.data() + 64, passes.data(), tails.data(), 0, 0};
  Tier1Scratch tier1;
  simd::encode_block({samples.data(), from.stride, from.width, from.height, kLL, 0, false, planes},
                     tier1, out);
  const int num_passes = num_passes_of(planes - plane);
  return num_passes > 0 ? passes[static_cast<size_t>(num_passes - 1)].length_bytes : 0;
}

RdoqBlock cut_in_plane_2(const Coefficients& from, std::vector<uint32_t>& samples) {
  RdoqBlock b = from.block(false, samples);
  b.plane = 2;
  b.kind = PassKind::kCleanup;
  b.rounds = 2;
  b.lambda = 0.3 * 16;
  return b;
}

TEST_CASE("rdoq: bytes and error fall together, and the corrections are the true distortion") {
  const Coefficients from(64, 64, 6, false, 9);
  std::vector<uint32_t> samples = from.samples;
  RdoqBlock b = cut_in_plane_2(from, samples);
  b.overlaps = {};
  const auto scratch = std::make_unique<RdoqScratch>();
  const Outcome after = run(from, b, *scratch, simd::rdoq_block);
  REQUIRE(after.result.changes > 50);
  double error[2] = {0, 0}, more = 0, total = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    const double v = std::fabs(static_cast<double>(from.values[i]));
    const double before = v - shown(from.samples[i], b.plane);
    const double r = shown(after.samples[i], b.plane);
    error[0] += before * before;
    error[1] += (v - r) * (v - r);
    if (after.samples[i] == from.samples[i]) continue;
    const double m = after.samples[i] & 0x7FFFFFFF;
    const double assumed = m == 0 ? 0 : m + 0.5;
    more += 2 * r * (v - assumed);
    total += v * v - assumed * assumed;
  }
  const double bytes[2] = {bytes_of(from, from.samples, b.bit_planes, b.plane),
                           bytes_of(from, after.samples, after.result.bit_planes, b.plane)};
  CHECK(error[1] + b.lambda * 8 * bytes[1] < error[0] + b.lambda * 8 * bytes[0] - 100);
  CHECK(bytes[1] < bytes[0]);
  double told = 0;
  for (int pass = 0; pass < kMaxPasses; ++pass) {
    const int plane = after.result.bit_planes - num_planes_begun(pass + 1);
    told +=
        static_cast<double>(after.result.removed[pass]) * std::ldexp(1.0, plane) / kDistortionOne;
  }
  // The coefficients are known to 2^-8 here, each of the corrections is rounded to a quarter of 2^p.
  CHECK(told == doctest::Approx(more).epsilon(0.03));
  CHECK(after.result.total + told == doctest::Approx(total).epsilon(0.03));
}

/// Squared error of the picture, per squared norm of a basis function, with the part of the overlaps that
/// RDOQ aims at.
double error_with(const Overlaps& overlaps, const Coefficients& from,
                  const std::vector<uint32_t>& samples, int plane) {
  const auto error = [&](int x, int y) -> double {
    if (x < 0 || y < 0 || x >= from.width || y >= from.height) return 0;
    const auto i = static_cast<size_t>(y * from.stride + x);
    const double v = from.values[i];
    return v - std::copysign(shown(samples[i], plane), v);
  };
  double sum = 0;
  for (int y = 0; y < from.height; ++y) {
    for (int x = 0; x < from.width; ++x) {
      double near = 0;
      for (int d = 1; d <= 2; ++d) {
        near += overlaps.x[d - 1] * (error(x - d, y) + error(x + d, y)) +
                overlaps.y[d - 1] * (error(x, y - d) + error(x, y + d));
      }
      sum += error(x, y) * (error(x, y) + near / 256);
    }
  }
  return sum;
}

TEST_CASE("rdoq: overlaps of basis functions lower error + lambda bits of the picture") {
  for (const Overlaps overlaps : {Overlaps{{-31, 13}, {-31, 13}}, Overlaps{{32, 0}, {-33, 4}}}) {
    const Coefficients from(64, 64, 6, false, 9);
    std::vector<uint32_t> samples = from.samples;
    RdoqBlock b = cut_in_plane_2(from, samples);
    const auto scratch = std::make_unique<RdoqScratch>();
    double cost[2], error[2];
    for (int i = 0; i < 2; ++i) {
      b.overlaps = i == 0 ? Overlaps{} : overlaps;
      const Outcome after = run(from, b, *scratch, simd::rdoq_block);
      error[i] = error_with(overlaps, from, after.samples, b.plane);
      cost[i] =
          error[i] + b.lambda * 8 * bytes_of(from, after.samples, after.result.bit_planes, b.plane);
    }
    CHECK(cost[1] < cost[0] - 0.01 * error[0]);
  }
}

TEST_CASE("rdoq: a block where no pass pays is left alone") {
  const Coefficients from(32, 32, 0.4, false, 11);
  std::vector<uint32_t> samples = from.samples;
  RdoqBlock b = from.block(false, samples);
  REQUIRE(b.bit_planes >= 2);
  REQUIRE(b.bit_planes <= kTrackedPlanes);
  b.plane = 0;
  b.kind = PassKind::kCleanup;
  b.rounds = 1;
  const auto scratch = std::make_unique<RdoqScratch>();
  b.lambda = 8;
  CHECK(compare(from, b, *scratch) == 0);
  b.lambda = 0.3;
  CHECK(compare(from, b, *scratch) > 0);
}

TEST_CASE("rdoq: lambda and the cut") {
  CHECK(rdoq_lambda(24576, 1) == doctest::Approx(1.0 / 8));
  CHECK(rdoq_lambda(24576 + 256, 2) == doctest::Approx(1.0 / 8));
  CHECK(rdoq_lambda(24576 - 128, 1) == doctest::Approx(std::sqrt(0.5) / 8));
  PassKind kind;
  for (const bool reversible : {false, true}) {
    CHECK(rdoq_plane(4.0, reversible, &kind) == 2);  // log4 = 1, x = 1.75
    CHECK(kind == PassKind::kCleanup);
    CHECK(rdoq_plane(7.0, reversible, &kind) == 2);  // log4 = 1.40, x = 2.15
    CHECK(kind == PassKind::kSignificance);
    CHECK(rdoq_plane(1e-6, reversible, &kind) == 0);
    CHECK(kind == PassKind::kCleanup);
  }
  CHECK(rdoq_plane(0.8, false, &kind) == 1);  // log4 = -0.16, x = 0.59
  CHECK(kind == PassKind::kCleanup);
  CHECK(rdoq_plane(0.8, true, &kind) == 0);
  CHECK(kind == PassKind::kSignificance);
  CHECK(rdoq_plane(0.6, false, &kind) == 0);  // x = 0.38
  CHECK(kind == PassKind::kSignificance);
  CHECK(rdoq_plane(0.6, true, &kind) == 0);
  CHECK(kind == PassKind::kCleanup);
  // x = 0.82 and 0.60: both after the clean-up pass of plane 1. 3/8 octave below, 0.63 and 0.41.
  CHECK(lowest_rdoq_plane(24576 + 1060, 2, false) == 1);
  CHECK(lowest_rdoq_plane(24576 + 947, 2, false) == 0);
  CHECK(lowest_rdoq_plane(1, 1, false) == 0);
}

}  // namespace
}  // namespace cj2k
