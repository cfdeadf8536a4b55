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

int rdoq_plane(double lambda, bool reversible, PassKind* kind) {
  int position = log_slope(lambda, 1) - kSlopeUnit + 384;  // 512 (log4(lambda) + 3/4)
  if (reversible && position < 512) position -= 256;
  const bool early = (position & 511) < 256;
  *kind = early && position >= 0 ? PassKind::kSignificance : PassKind::kCleanup;
  return std::max((position >> 9) + (early ? 0 : 1), 0);
}

int lowest_rdoq_plane(uint16_t slope, double weight, bool reversible) {
  PassKind kind;
  const auto lower = static_cast<uint16_t>(std::max(slope - kRdoqDepth, 0));
  return rdoq_plane(rdoq_lambda(lower, weight), reversible, &kind);
}

namespace rdoq {

Costs costs_of(const PassCounts counts[kTrackedPlanes]) {
  const auto all = [](const PassCounts& of, unsigned c, unsigned bit) {
    return of.significance.n[c][bit] + of.refinement.n[c][bit] + of.cleanup.n[c][bit];
  };
  Costs costs;
  for (unsigned c = 0; c < mq::kNumContexts; ++c) {
    uint32_t n[2] = {all(counts[0], c, 0), all(counts[0], c, 1)};
    if (n[0] + n[1] < kFewDecisions) {
      n[0] += all(counts[1], c, 0);
      n[1] += all(counts[1], c, 1);
    }
    for (unsigned bit = 0; bit < 2; ++bit) {
      // Half a decision of each bit more, so that no cost is infinite.
      const int cost = log_slope(2 * (n[0] + n[1]) + 2, 2 * n[bit] + 1) - kSlopeUnit;
      costs.bits[c][bit] = static_cast<uint16_t>(cost);
    }
  }
  for (uint16_t& bit : costs.bits[mq::kUniform]) bit = kBitCost;
  return costs;
}

bool may_pay(const Model& model, const Costs& costs, const PassCounts counts[kTrackedPlanes]) {
  if (!may_ask(model)) return true;
  const auto rate = [&](const Counts& of) {
    int64_t r = 0;
    for (unsigned c = 0; c < mq::kNumContexts; ++c)
      r += int64_t{of.n[c][0]} * costs.bits[c][0] + int64_t{of.n[c][1]} * costs.bits[c][1];
    return r;
  };
  int64_t j = 0;
  for (int up = model.tracked - 1; up >= 0; --up) {
    const PassCounts& of = counts[up];
    j += model.lambda * rate(of.significance) + of.error[0];
    if (j < 0) return true;
    if (model.has_refinement(up)) j += model.lambda * rate(of.refinement) + of.error[1];
    if (j < 0) return true;
    if (model.has_cleanup(up)) j += model.lambda * rate(of.cleanup) + of.error[2];
    if (j < 0) return true;
  }
  return false;
}

Model::Model(const RdoqBlock& block, int planes_now)
    : plane(block.plane),
      planes(planes_now),
      kind(plane == planes - 1 ? PassKind::kCleanup : block.kind),
      reversible(block.coefficients == nullptr),
      tracked(std::min(planes - plane, kTrackedPlanes)) {
  const double in_units = std::ldexp(block.lambda, 2 * (kRdoqFraction - plane)) / kBitCost;
  lambda = static_cast<int64_t>(std::clamp(in_units, 1.0, 0x1p30));
  for (int up = 0; up < tracked; ++up)
    raw[up] = !is_highest(up) && pass_is_raw(block.style, 3 * (planes - 1 - plane - up) - 2);
}

uint32_t Model::changed(int32_t value, uint32_t m, int up) const {
  const int s = plane + up;
  const uint32_t q = m >> s;
  const bool down = q != 0;
  if (value >= static_cast<int32_t>(kMostUnits * (1 << kRdoqFraction))) return m;
  const uint32_t other = down ? q - 1 : 1;
  const int64_t before = value - (q == 0 ? 0 : at(q, up));
  const int64_t after = value - (other == 0 ? 0 : at(other, up));
  const int64_t gate = q == 0 ? 0 : down && q == 1 ? kZeroGate : kGate;
  if (after * after - before * before > lambda * gate) return m;
  const uint32_t result = down ? (q << s) - 1 : other << s;
  if (result >> planes != 0) return m;
  return highest_changed(m, result) < tracked ? result : m;
}

int Model::highest_changed(uint32_t m, uint32_t other) const {
  return static_cast<int>(std::bit_width((m ^ other) >> plane)) - 1;
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

/// What a pass removes is linear in the coefficient: v^2 - (v - r)^2 and so on. So the correction
/// is 2 v' (after - before) where v' is the coefficient less the value that tier-1 assumes.
void add_correction(const Model& model, int32_t value, uint32_t m, bool early, RdoqResult* result) {
  const double v = std::ldexp(static_cast<double>(value), model.plane - kRdoqFraction);
  const double assumed = m + (model.reversible ? 0.0 : 0.5);
  const double more = v - (m == 0 ? 0.0 : assumed);
  result->total += v * v - (m == 0 ? 0.0 : assumed * assumed);
  int64_t* removed = result->removed;
  const int highest = static_cast<int>(std::bit_width(m)) - 1;
  for (int p = highest; p >= model.plane; --p) {
    const int pass = 3 * (model.planes - 1 - p) - (p == highest ? (early ? 2 : 0) : 1);
    // In units of 2^p / kDistortionOne.
    double steps = p == highest ? 3 : (m >> p & 1) != 0 ? 1 : -1;
    if (model.reversible && p == 0) steps = p == highest ? 2 : (m & 1) != 0 ? 0 : -2;
    const int64_t change = std::llrint(kDistortionOne * steps * more);
    removed[pass] += change;
    result->total -= static_cast<double>(change) * std::ldexp(1.0, p) * (1.0 / kDistortionOne);
  }
}

}  // namespace rdoq
}  // namespace cj2k
