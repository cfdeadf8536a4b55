// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "rate/slope_histogram.h"

#include <algorithm>

namespace cj2k {

void SlopeHistogram::clear() {
  for (size_t c = 0; c < used_.size(); ++c) {
    if (used_[c].end > 0) {
      std::fill(at_least_[c].begin() + used_[c].lowest, at_least_[c].begin() + used_[c].end,
                uint64_t{0});
    }
    used_[c] = {};
  }
}

void SlopeHistogram::add(uint32_t component, const CodedBlock& block, uint32_t points,
                         uint32_t weight) {
  if (points == 0) return;
  uint64_t* const h = at_least_[component].data();
  const HullPoint* const hull = block.hull;
  used_[component].add(hull[0].slope);
  used_[component].add(hull[points - 1].slope);  // slopes fall
  uint32_t before = 0;
  for (uint32_t i = 0; i < points; ++i) {
    h[hull[i].slope] += uint64_t{hull[i].length_bytes - before} * weight;
    before = hull[i].length_bytes;
  }
}

void SlopeHistogram::add(uint32_t component, const LayerCuts& cuts, int passes) {
  uint64_t* const h = at_least_[component].data();
  uint32_t before = 0;
  for (int i = 0; i < passes; ++i) {
    used_[component].add(cuts.slopes[i]);
    h[cuts.slopes[i]] += cuts.bytes[i] - before;
    before = cuts.bytes[i];
  }
}

void SlopeHistogram::sum() {
  for (size_t c = 0; c < used_.size(); ++c) {
    uint64_t* const h = at_least_[c].data();
    uint64_t bytes = 0;
    for (uint32_t slope = used_[c].end; slope-- > used_[c].lowest;) h[slope] = bytes += h[slope];
  }
}

uint64_t SlopeHistogram::bytes_at_least(uint32_t first, uint32_t end, uint32_t slope) const {
  uint64_t bytes = 0;
  for (uint32_t c = first; c < end; ++c) {
    if (slope < used_[c].end) bytes += at_least_[c][std::max(slope, used_[c].lowest)];
  }
  return bytes;
}

uint32_t SlopeHistogram::lowest_slope(uint32_t first, uint32_t end, uint64_t bytes) const {
  uint32_t low = 0, high = kAboveAllSlopes;
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    if (bytes_at_least(first, end, middle) <= bytes) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

SlopeThresholds predict_thresholds(const Plan& plan, const CodedBlock* blocks,
                                   std::span<const uint32_t> sample,
                                   std::span<const uint32_t> weights, const ByteTargets& targets,
                                   SlopeHistogram& histogram) {
  histogram.clear();
  for (size_t i = 0; i < sample.size(); ++i) {
    const CodedBlock& block = blocks[sample[i]];
    histogram.add(plan.blocks[sample[i]].component, block, block.num_hull, weights[i]);
  }
  histogram.sum();
  const auto num_components = static_cast<uint32_t>(plan.components.size());
  const uint32_t frame = histogram.lowest_slope(0, num_components, targets.frame);
  SlopeThresholds thresholds;
  thresholds.fill(targets.floor);
  for (uint32_t c = 0; c < num_components; ++c) {
    const uint32_t own = histogram.lowest_slope(c, c + 1, targets.component[c]);
    thresholds[c] = predicted_threshold(targets.floor, own, frame);
  }
  return thresholds;
}

uint16_t SlopeByteTable::threshold(uint64_t target) const {
  uint64_t sum = 0;
  for (uint32_t i = kEntries; i-- > 0;) {
    sum += bytes_[i];
    if (sum > target) return slope_of_entry(i);
  }
  return 0;
}

}  // namespace cj2k
