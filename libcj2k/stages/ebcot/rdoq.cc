// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "stages/ebcot/rdoq.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "core/distortion.h"
#include "stages/ebcot/rdoq_model.h"

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

int rdoq_plane(double lambda, PassKind* kind) {
  const int position = log_slope(lambda, 1) - kSlopeUnit + 384;  // 512 (log4(lambda) + 3/4)
  const bool early = (position & 511) < 256;
  *kind = early && position >= 0 ? PassKind::kSignificance : PassKind::kCleanup;
  return std::max((position >> 9) + (early ? 0 : 1), 0);
}

namespace rdoq {

Costs costs_of(const Counts& counts, const Counts& above) {
  Costs costs;
  for (unsigned c = 0; c < mq::kNumContexts; ++c) {
    uint32_t n[2] = {counts.n[c][0], counts.n[c][1]};
    if (n[0] + n[1] < kFewDecisions) {
      n[0] += above.n[c][0];
      n[1] += above.n[c][1];
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

uint32_t Model::changed(int32_t value, uint32_t m, int up, bool down) const {
  const int s = plane + up;
  const uint32_t q = m >> s;
  if (down && q == 0) return m;
  if (value >= static_cast<int32_t>(kMostUnits * (1 << kRdoqFraction))) return m;
  const uint32_t other = down ? q - 1 : q + 1;
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
  int i = 0;
  for (int y = 0; y < block.height; ++y) {
    const uint32_t* row = block.samples + y * block.stride;
    const float* from = block.coefficients + y * block.coefficient_stride;
    for (int x = 0; x < block.width; ++x, ++i) {
      const uint32_t m = row[x] & kMagnitude;
      const float q = block.coefficients == nullptr ? static_cast<float>(m)
                                                    : std::fabs(from[x]) * block.inverse_step;
      const bool negative = block.coefficients == nullptr ? row[x] >> 31 != 0 : from[x] < 0;
      scratch.before[i] = m | (negative ? ~kMagnitude : 0);
      scratch.value[i] = static_cast<int32_t>(std::min(q * scale, kMost));
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
