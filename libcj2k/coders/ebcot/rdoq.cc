// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "coders/ebcot/rdoq.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "coders/ebcot/rdoq_model.h"
#include "core/distortion.h"

namespace cj2k {
namespace {

/// 2^(i / 256) by repeated products, so that no libm is needed.
constexpr std::array<double, 256> make_powers() {
  std::array<double, 256> powers{};
  double power = 1;
  for (double& p : powers) {
    p = power;
    power *= 1.0027112750502024854;
  }
  return powers;
}
constexpr std::array<double, 256> kPowers = make_powers();

}  // namespace

double rdoq_lambda(uint16_t slope, double weight) {
  const int above = slope - kSlopeUnit;
  const int octave = above >> 8;
  return std::ldexp(kPowers[static_cast<size_t>(above & 255)], octave) / (weight * 8);
}

int lowest_rdoq_plane(uint16_t slope, double weight, bool reversible) {
  PassKind kind;
  const auto lower = static_cast<uint16_t>(std::max(slope - kRdoqDepth, 0));
  return rdoq_plane(rdoq_lambda(lower, weight), reversible, &kind);
}

namespace rdoq {

Costs costs_of(const PassCounts counts[kTrackedPlanes]) {
  Costs costs;
  for (unsigned c = 0; c < mq::kNumContexts; ++c) set_costs_of(counts, c, &costs);
  return costs;
}

bool may_pay(const Model& model, const Costs& costs, const PassCounts counts[kTrackedPlanes]) {
  return !may_ask(model) || may_pay(model, [&](int up, int pass) {
    return model.lambda * rate_of(costs, counts[up].of(pass)) + counts[up].error[pass];
  });
}

int count_planes(const RdoqBlock& block) {
  uint32_t all = 0;
  for (int y = 0; y < block.height; ++y) {
    const uint32_t* row = block.samples + y * block.stride;
    for (int x = 0; x < block.width; ++x) all |= row[x];
  }
  return static_cast<int>(std::bit_width(all & kMagnitude));
}

void load(const RdoqBlock& block, RdoqScratch& scratch) {
  constexpr float kMost = kMostUnits * (1 << kRdoqFraction);
  const float scale = std::ldexp(1.0f, kRdoqFraction - block.plane);
  const float inverse_step = block.inverse_step;
  for (int y = 0; y < block.height; ++y) {
    const uint32_t* __restrict row = block.samples + y * block.stride;
    uint32_t* __restrict before = scratch.before + y * block.width;
    int32_t* __restrict values = scratch.value + y * block.width;
    if (block.coefficients == nullptr) {
      for (int x = 0; x < block.width; ++x) {
        before[x] = row[x];
        const auto q = static_cast<float>(static_cast<int32_t>(row[x] & kMagnitude));
        values[x] = static_cast<int32_t>(std::min(q * scale, kMost));
      }
      continue;
    }
    const float* __restrict from = block.coefficients + y * block.coefficient_stride;
    for (int x = 0; x < block.width; ++x) {
      const auto coefficient = std::bit_cast<uint32_t>(from[x]);
      before[x] = (row[x] & kMagnitude) | (coefficient & ~kMagnitude);
      const float q = std::bit_cast<float>(coefficient & kMagnitude) * inverse_step * scale;
      // Positive floats compare as their bits do, which compilers make vectors of.
      const int32_t clamped = std::min(std::bit_cast<int32_t>(q), std::bit_cast<int32_t>(kMost));
      values[x] = static_cast<int32_t>(std::bit_cast<float>(clamped));
    }
  }
}

}  // namespace rdoq
}  // namespace cj2k
