// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What one device keeps in its memory: the tables of a plan, the same for all frames, and the
// arrays of a GOP in flight. All sizes follow from the plan, so they are known before there is a
// device.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/pixel_jobs.h"
#include "cuda/tier1_coder.h"
#include "kernels/pixels/pixels.h"
#include "plan.h"

namespace cj2k::cuda {

/// Cuts one piece of memory into arrays aligned to 256 bytes.
class Carver {
 public:
  /// @return offset of the array
  uint64_t take(uint64_t bytes) {
    const uint64_t at = bytes_;
    bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return at;
  }
  uint64_t bytes() const { return bytes_; }

 private:
  static constexpr uint64_t kAlignment = 256;
  uint64_t bytes_ = 0;
};

/// Samples of a frame on their way to the device: the rows as the application has them where they
/// fit into `bytes`, else packed, one word of 1 or 2 bytes a sample.
struct InputLayout {
  explicit InputLayout(const Plan& plan);
  /// A component packed; rows 16-byte aligned.
  struct Component {
    uint64_t offset;
    uint32_t row_bytes;
    uint32_t word_bytes;
  };
  std::vector<Component> components;
  uint64_t bytes;  ///< a third more than all packed: four words where three are used
};

struct PlanTables {
  /// Throws std::bad_alloc.
  PlanTables(const Plan& plan, Tier1Form form);

  InputLayout input;
  PixelFormat format;
  FrameLayout frame;
  std::vector<DwtLevel> levels;
  std::vector<QuantizeJob> quantize;
  uint64_t frame_words = 0;
  Tier1Layout tier1;

  // Offsets in the tables' device memory.
  struct Level {
    uint64_t jobs, parts;
  };
  std::vector<Level> level_offsets;
  uint64_t quantize_offset = 0, tier1_offset = 0;
  uint64_t bytes = 0;
};

/// Offsets in the device memory of one GOP.
struct GopMemory {
  GopMemory(const Plan& plan, const PlanTables& tables, Tier1Form form, uint64_t scratch_bytes);

  uint64_t input, samples, words, magnitudes;
  uint64_t symbols, pass_symbols;  ///< none with fused: both 0
  uint64_t coded, passes, tails, snapshots, states;
  uint64_t list, thresholds, results, hull, segments, hull_tails, totals, gather, scratch;
  /// Of the early stop's decisions (slopes.h): exact: weights, stop_counters; psb, bpi: records,
  /// stop_counters. Else empty.
  uint64_t weights, records, stop_counters;
  uint64_t records_bytes, stop_counters_bytes;  ///< what is to be zeroed
  uint64_t samples_bytes;  ///< also where bytes are gathered, when the samples have been quantised
  uint64_t bytes;
};

}  // namespace cj2k::cuda
