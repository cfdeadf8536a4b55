// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The layout of device memory: the tables of a plan, which all frames share, and the arrays of a
// GOP in flight. All sizes follow from the plan, so they are known before a device is opened.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cuda/ht_layout.h"
#include "cuda/pixel_jobs.h"
#include "cuda/rate_tables.h"
#include "cuda/tier1_coder.h"
#include "kernels/pixels/pixels.h"
#include "pixels/xyz.h"
#include "plan/plan.h"

namespace cj2k::cuda {

/// Divides one piece of memory into arrays that are aligned to 256 bytes.
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

/// Memory for the words of a frame during the upload. The rows are copied as the application has
/// them if they fit into `bytes`, else packed, with one word of 1 or 2 bytes per sample.
struct InputLayout {
  explicit InputLayout(const Plan& plan);
  /// Layout of a packed component, in bytes. Rows are 16-byte aligned.
  struct Component {
    uint64_t offset;
    uint32_t row_bytes;
    uint32_t word_bytes;
  };
  std::vector<Component> components;
  /// Bytes for a frame: a third more than all components packed, so that rows with four words per
  /// pixel fit, of which three are used.
  uint64_t bytes;
};

/// The tables of a plan, and where they lie in device memory.
struct PlanTables {
  /// Throws std::bad_alloc.
  PlanTables(const Plan& plan, Tier1Form form);

  InputLayout input;
  PixelFormat stored;  ///< of the samples in a frame
  PixelFormat format;  ///< of the coded samples
  CodedWords coded_words;
  std::optional<XyzTables> xyz;
  FrameLayout frame;
  std::vector<DwtLevel> levels;  ///< [level - 1]
  std::vector<QuantizeJob> quantize;
  uint64_t frame_words = 0;        ///< 64-bit words of a frame's bit-planes
  Tier1Layout tier1;               ///< empty with coder = ht
  HtLayout ht;                     ///< empty with coder = ebcot
  std::optional<RateTables> rate;  ///< where rate control runs on the device

  // Offsets in the device memory of the tables, and its size, in bytes.
  struct Level {
    uint64_t jobs, parts;
  };
  std::vector<Level> level_offsets;
  uint64_t quantize_offset = 0, tier1_offset = 0, ht_words_offset = 0, rate_offset = 0;
  uint64_t xyz_linear_offset = 0, xyz_codes_offset = 0;  ///< with xyz only
  uint64_t bytes = 0;
};

/// Counters in GopMemory::totals: hull points, segments, 16-byte units of packed bytes.
inline constexpr uint32_t kTotals = 3;

/// Offsets of the arrays in the device memory of one GOP, in bytes.
struct GopMemory {
  GopMemory(const Plan& plan, const PlanTables& tables, Tier1Form form, uint64_t scratch_bytes);

  /// Frames from host memory. All arrays below but samples and coded_words lie there too: they are
  /// written when the last frame has been read.
  uint64_t input = 0;
  uint64_t samples = 0;
  uint64_t coded_words = 0;  ///< of one frame: the frames of a GOP are read one after the other
  uint64_t coded = 0, gather = 0;
  // EBCOT alone.
  uint64_t words = 0, magnitudes = 0;
  uint64_t symbols = 0, pass_symbols = 0;  ///< empty with the fused form
  uint64_t passes = 0, tails = 0, snapshots = 0, states = 0;
  uint64_t list = 0, resumed_list = 0, thresholds = 0, results = 0, hull = 0, segments = 0,
           hull_tails = 0;
  uint64_t totals = 0, packed = 0, scratch = 0;
  /// Arrays for the decisions of the early stops (slopes.h). exact uses weights and stop_counters;
  /// psb and bpi use records and stop_counters; arrays that are not used are empty. stop_counters
  /// counts the coded bytes: by slope (exact, psb) or by component (bpi).
  uint64_t weights = 0, records = 0, stop_counters = 0;
  // Rate control on the device (cuda/device_rate.h).
  uint64_t rate_scratch = 0, chosen = 0, outcomes = 0, next_thresholds = 0, paused_passes = 0,
           left = 0, part_places = 0, packet_places = 0, block_places = 0;
  /// Sizes of the arrays, which must be zeroed.
  uint64_t records_bytes = 0, stop_counters_bytes = 0;
  // HT alone.
  uint64_t peaks = 0, ht_tasks = 0, ht_results = 0;
  uint64_t ht_choices = 0, ht_hulls = 0;
  uint64_t ht_lists = 0, ht_counts = 0;  ///< ht_choose
  /// Size of `samples`. After block coding, the bytes of blocks are packed or gathered there.
  uint64_t samples_bytes = 0;
  uint64_t bytes = 0;  ///< size of the device memory

 private:
  void take_ebcot(const Plan& plan, const PlanTables& tables, Tier1Form form,
                  uint64_t scratch_bytes, Carver& carver);
  void take_rate(const Plan& plan, const PlanTables& tables, Carver& carver);
};

}  // namespace cj2k::cuda
