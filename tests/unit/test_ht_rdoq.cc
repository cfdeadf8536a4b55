// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "coders/ht/ht_block.h"
#include "coders/ht/ht_rdoq.h"
#include "pixels/quantize.h"

namespace cj2k {
namespace {

constexpr float kStep = 0.375f;

/// Laplacian coefficients, and their magnitudes.
struct Block {
  Block(int width, int height, double scale, uint64_t seed)
      : width(width), height(height), stride((width + 15) / 16 * 16) {
    std::mt19937_64 random(seed);
    coefficients.resize(static_cast<size_t>(width * height));
    for (float& c : coefficients) {
      const double u = (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53;
      c = static_cast<float>(std::log(u) * scale * kStep * (random() % 2 == 0 ? 1 : -1));
    }
    samples.resize(static_cast<size_t>(stride * height));
    all = ref::quantize_97(coefficients.data(), width, width, height,
                           {1 / kStep, 0, (1u << 24) - 1}, samples.data(), stride);
  }
  HtSamples view(const std::vector<uint32_t>& of) const {
    return {of.data(), stride, width, height};
  }
  HtRdoqBlock rdoq(int plane, double lambda) const {
    return {view(samples), plane, coefficients.data(), width, 1 / kStep, lambda, {}};
  }
  int width, height;
  ptrdiff_t stride;
  std::vector<float> coefficients;
  std::vector<uint32_t> samples;
  uint32_t all;
};

uint32_t magnitude(uint32_t sample, int plane) { return (sample & ~kSignBit) >> plane; }

/// Squared error after the cleanup pass, in squared steps.
double squared_error(const Block& block, const std::vector<uint32_t>& samples, int plane) {
  double sum = 0;
  for (int y = 0; y < block.height; ++y) {
    for (int x = 0; x < block.width; ++x) {
      const uint32_t mu = magnitude(samples[static_cast<size_t>(y * block.stride + x)], plane);
      const double shown = mu == 0 ? 0 : std::ldexp(mu + 0.5, plane);
      const double value =
          std::fabs(block.coefficients[static_cast<size_t>(y * block.width + x)]) / kStep;
      sum += (value - shown) * (value - shown);
    }
  }
  return sum;
}

uint32_t cleanup_bytes(const HtSamples& samples, int plane) {
  std::vector<uint8_t> bytes(kMaxHtCleanupBytes);
  return ref::ht_cleanup(samples, plane, bytes.data());
}

TEST_CASE("RDOQ of HT lowers error + lambda bits, as the coder counts them") {
  const auto scratch = std::make_unique<HtRdoqScratch>();
  for (const auto& size : {std::pair{64, 64}, {1024, 4}, {4, 1024}, {33, 61}}) {
    const int width = size.first, height = size.second;
    for (const double scale : {0.4, 1.0, 3.0}) {
      for (const int plane : {0, 2, 5}) {
        CAPTURE(width);
        CAPTURE(height);
        CAPTURE(scale);
        CAPTURE(plane);
        const Block block(width, height, std::ldexp(scale, plane), 5);
        const double lambda = std::ldexp(0.2, 2 * plane);
        std::vector<uint32_t> out(block.samples.size());
        const HtRdoqResult result = ht_rdoq(block.rdoq(plane, lambda), *scratch, out.data());
        REQUIRE(result.changes > 10);
        REQUIRE_FALSE(result.is_empty);
        const double added =
            squared_error(block, out, plane) - squared_error(block, block.samples, plane);
        CHECK(std::fabs(result.added - added) < std::ldexp(0.01 * result.changes, 2 * plane));
        const double saved = 8.0 * (cleanup_bytes(block.view(block.samples), plane) -
                                    static_cast<double>(cleanup_bytes(block.view(out), plane)));
        CHECK(added - lambda * saved < -0.1 * lambda * result.changes);
      }
    }
  }
}

TEST_CASE("RDOQ of HT changes magnitudes by one, and no signs") {
  const auto scratch = std::make_unique<HtRdoqScratch>();
  const int plane = 3;
  const Block block(64, 50, 8, 9);
  std::vector<uint32_t> out(block.samples.size());
  const HtRdoqResult result = ht_rdoq(block.rdoq(plane, 14), *scratch, out.data());
  int changes = 0, ups = 0, wrong = 0;
  for (int y = 0; y < block.height; ++y) {
    for (int x = 0; x < block.width; ++x) {
      const auto i = static_cast<size_t>(y * block.stride + x);
      const uint32_t before = magnitude(block.samples[i], plane), after = magnitude(out[i], plane);
      changes += before != after;
      ups += after > before;
      if (before == after) wrong += out[i] != block.samples[i];
      if (before < after) wrong += before != 0 || out[i] << 1 != 1u << (plane + 1);
      if (before > after)
        wrong += before != after + 1 || magnitude(out[i] + 1, 0) != before << plane;
      wrong += magnitude(out[i], 0) != 0 && ((out[i] ^ block.samples[i]) & kSignBit) != 0;
    }
  }
  CHECK(wrong == 0);
  CHECK(changes >= result.changes / 2);  // a sample may go up after it went down
  CHECK(changes > ups);
  CHECK(ups > 0);
}

TEST_CASE("RDOQ of HT: a sample of 0 that goes up has the sign of its coefficient") {
  const auto scratch = std::make_unique<HtRdoqScratch>();
  const Block block(64, 50, 0.8, 9);
  std::vector<uint32_t> out(block.samples.size());
  std::vector<uint8_t> changes(kMostHtChangeBytes);
  REQUIRE(ht_rdoq(block.rdoq(0, 0.2), *scratch, out.data(), changes.data()).changes > 100);
  int negative = 0, wrong = 0;
  std::vector<uint32_t> applied;
  for (int y = 0; y < block.height; ++y) {
    for (int x = 0; x < block.width; ++x) {
      const auto i = static_cast<size_t>(y * block.stride + x);
      const bool is_negative = block.coefficients[static_cast<size_t>(y * block.width + x)] < 0;
      negative += is_negative && block.samples[i] == 0 && out[i] != 0;
      wrong += out[i] >> 31 != (is_negative && out[i] != 0 ? 1u : 0u);
      applied.push_back(block.samples[i]);
    }
  }
  CHECK(negative > 10);
  CHECK(wrong == 0);
  apply_ht_changes(changes.data(), 0, block.width, block.height, block.coefficients.data(),
                   block.width, applied.data());
  for (int y = 0; y < block.height; ++y) {
    CHECK(std::equal(out.begin() + y * block.stride, out.begin() + y * block.stride + block.width,
                     applied.begin() + y * block.width));
  }
}

TEST_CASE("RDOQ of HT takes blocks of any size, and may empty them") {
  const auto scratch = std::make_unique<HtRdoqScratch>();
  int empty = 0;
  for (const auto& [width, height] : {std::pair{1, 1}, {1, 1024}, {1023, 4}, {3, 5}, {2, 2}}) {
    const Block block(width, height, 2, 3);
    if (block.all == 0) continue;
    std::vector<uint32_t> out(block.samples.size());
    const HtRdoqResult much = ht_rdoq(block.rdoq(0, 100), *scratch, out.data());
    if (much.changes > 0) {
      uint32_t left = 0;
      for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x)
          left |= out[static_cast<size_t>(y * block.stride + x)] & ~kSignBit;
      }
      CHECK(much.is_empty == (left == 0));
      empty += much.is_empty;
    }
    CHECK(ht_rdoq(block.rdoq(0, 1e-9), *scratch, out.data()).added <= 0);
  }
  CHECK(empty > 0);
  // The samples of the 5/3 at plane 0 are exact.
  const Block block(64, 64, 2, 4);
  HtRdoqBlock reversible = block.rdoq(0, 0.2);
  reversible.coefficients = nullptr;
  std::vector<uint32_t> out(block.samples.size());
  CHECK(ht_rdoq(reversible, *scratch, out.data()).added > 0);
}

TEST_CASE("RDOQ of HT is for the two planes beside S, or for one of them") {
  // Lambda is ln 2 / 6 of S^2.
  const auto lambda = [](double s) { return s * s * std::log(2.0) / 6; };
  for (int plane = 0; plane < 12; ++plane) {
    CAPTURE(plane);
    CHECK(is_ht_rdoq_plane(lambda(23), plane, true) == (plane == 4 || plane == 5));  // 2^4.5
    CHECK(is_ht_rdoq_plane(lambda(17), plane, false) == (plane == 4));
    CHECK(is_ht_rdoq_plane(lambda(31), plane, false) == (plane == 4));
    CHECK(is_ht_rdoq_plane(lambda(33), plane, false) == (plane == 5));
  }
}

}  // namespace
}  // namespace cj2k
