// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Bytes of hull segments by their slope, and the slope at which a number of bytes is used up
// (core/slope_search.h; kernels/rate/slopes.h is the GPU's).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/slope_search.h"
#include "plan.h"
#include "stages/coded_block.h"

namespace cj2k {

/// Every one of the 65,536 slopes, per component; 512 KB each. Reuses its memory.
class SlopeHistogram {
 public:
  /// Throws std::bad_alloc.
  explicit SlopeHistogram(size_t num_components)
      : at_least_(num_components, std::vector<uint64_t>(kAboveAllSlopes + 1)) {}
  static int64_t bytes(size_t num_components) {
    return static_cast<int64_t>(num_components * (kAboveAllSlopes + 1) * sizeof(uint64_t));
  }

  void clear();
  /// The segments of a block's first `points` hull points.
  void add(uint32_t component, const CodedBlock& block, uint32_t points, uint32_t weight);
  /// After the last `add`, before anything is asked.
  void sum();

  /// Bytes of the components [first, end) at `slope` and above.
  uint64_t bytes_at_least(uint32_t first, uint32_t end, uint32_t slope) const;
  /// Lowest slope at which these take at most `bytes`.
  uint32_t lowest_slope(uint32_t first, uint32_t end, uint64_t bytes) const;

 private:
  std::vector<std::vector<uint64_t>> at_least_;  ///< [component][65537]
};

/// Thresholds for StopRule::kPredicted, from a coded sample.
/// @param blocks  [plan.blocks]
SlopeThresholds predict_thresholds(const Plan& plan, const CodedBlock* blocks,
                                   std::span<const uint32_t> sample,
                                   std::span<const uint32_t> weights, const ByteTargets& targets,
                                   SlopeHistogram& histogram);

/// Quarter octaves of slope, for StopRule::kSlopeBytes.
class SlopeByteTable {
 public:
  static constexpr uint32_t kEntries = kSlopeEntries;

  void clear() { bytes_.fill(0); }
  void add(uint16_t slope, uint32_t bytes) { bytes_[slope_entry(slope)] += bytes; }
  /// The lowest slope of the entry at which the bytes of this and all steeper ones exceed
  /// `target`; 0: they do not.
  uint16_t threshold(uint64_t target) const;
  const std::array<uint64_t, kEntries>& bytes() const { return bytes_; }

 private:
  std::array<uint64_t, kEntries> bytes_{};
};

}  // namespace cj2k
