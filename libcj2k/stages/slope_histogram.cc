// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "stages/slope_histogram.h"

#include <algorithm>

namespace cj2k {

void SlopeHistogram::clear() {
  for (std::vector<uint64_t>& h : at_least_) std::fill(h.begin(), h.end(), uint64_t{0});
}

void SlopeHistogram::add(uint32_t component, const CodedBlock& block, uint32_t points,
                         uint32_t weight) {
  std::vector<uint64_t>& h = at_least_[component];
  uint32_t before = 0;
  for (uint32_t i = 0; i < points; ++i) {
    h[block.hull[i].slope] += uint64_t{block.hull[i].length_bytes - before} * weight;
    before = block.hull[i].length_bytes;
  }
}

void SlopeHistogram::add(uint32_t component, const LayerCuts& cuts, int passes) {
  std::vector<uint64_t>& h = at_least_[component];
  uint32_t before = 0;
  for (int i = 0; i < passes; ++i) {
    h[cuts.slopes[i]] += cuts.bytes[i] - before;
    before = cuts.bytes[i];
  }
}

void SlopeHistogram::sum() {
  for (std::vector<uint64_t>& h : at_least_) {
    for (uint32_t slope = kAboveAllSlopes; slope-- > 0;) h[slope] += h[slope + 1];
  }
}

uint64_t SlopeHistogram::bytes_at_least(uint32_t first, uint32_t end, uint32_t slope) const {
  uint64_t bytes = 0;
  for (uint32_t c = first; c < end; ++c) bytes += at_least_[c][slope];
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
