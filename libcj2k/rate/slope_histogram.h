// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The bytes of hull segments by slope, and the slope at which a number of bytes is used up
// (core/slope_search.h). kernels/rate/slopes.h does the same on the GPU.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "coders/coded_block.h"
#include "core/slope_search.h"
#include "plan/plan.h"

namespace cj2k {

/// The bytes at each of the 65,536 slopes, per component; 512 KB per component. The memory is
/// reused.
class SlopeHistogram {
 public:
  /// Throws std::bad_alloc.
  explicit SlopeHistogram(size_t num_components)
      : at_least_(num_components, std::vector<uint64_t>(kAboveAllSlopes)), used_(num_components) {}
  static int64_t bytes(size_t num_components) {
    return static_cast<int64_t>(num_components * kAboveAllSlopes * sizeof(uint64_t));
  }

  void clear();
  /// Adds the hull segments that end at the first `points` points of a block, `weight` times.
  void add(uint32_t component, const CodedBlock& block, uint32_t points, uint32_t weight);
  /// Adds the passes that lower layers may take of a block.
  void add(uint32_t component, const LayerCuts& cuts, int passes);
  /// Call it after the last `add` and before the first query.
  void sum();

  /// @return bytes of the components [first, end) at `slope` and above
  uint64_t bytes_at_least(uint32_t first, uint32_t end, uint32_t slope) const;
  /// @return the lowest slope at which bytes_at_least is at most `bytes`
  uint32_t lowest_slope(uint32_t first, uint32_t end, uint64_t bytes) const;

 private:
  /// The range of slopes with bytes: all entries outside are 0. Pictures use a tenth of the slopes.
  struct Range {
    uint32_t lowest = kAboveAllSlopes, end = 0;
    void add(uint32_t slope) {
      lowest = slope < lowest ? slope : lowest;
      end = slope + 1 > end ? slope + 1 : end;
    }
  };

  std::vector<std::vector<uint64_t>> at_least_;  ///< [component][65536]
  std::vector<Range> used_;                      ///< [component]
};

/// The thresholds of StopRule::kPredicted, from a coded sample.
/// @param blocks   [plan.blocks]; the blocks of the sample are coded
/// @param sample   BlockSample::blocks
/// @param weights  BlockSample::weights
SlopeThresholds predict_thresholds(const Plan& plan, const CodedBlock* blocks,
                                   std::span<const uint32_t> sample,
                                   std::span<const uint32_t> weights, const ByteTargets& targets,
                                   SlopeHistogram& histogram);

/// The bytes in each quarter octave of slope, for StopRule::kSlopeBytes.
class SlopeByteTable {
 public:
  static constexpr uint32_t kEntries = kSlopeEntries;

  void clear() { bytes_.fill(0); }
  void add(uint16_t slope, uint32_t bytes) { bytes_[slope_entry(slope)] += bytes; }
  /// Adds up the entries from the steepest down, until the sum exceeds `target`.
  /// @return the lowest slope of the last entry added; 0: the sum of all does not exceed `target`
  uint16_t threshold(uint64_t target) const;
  const std::array<uint64_t, kEntries>& bytes() const { return bytes_; }

 private:
  std::array<uint64_t, kEntries> bytes_{};
};

}  // namespace cj2k
