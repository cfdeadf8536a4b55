// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The decisions of the early stops (depth/early_stop.h) on the device, so that a GOP is coded
// without asking the host. For exact: the bytes by slope, and the thresholds that follow from them.
// For psb and bpi: the bytes that each plane took, and the blocks that stop. All sums are integers
// and all rules are those of core/, so the results equal those of the host in any order of threads.
// All functions are asynchronous and allocate nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "core/slope_search.h"
#include "kernels/ebcot/tier1.h"

namespace cj2k::simt {
class Stream;
}  // namespace cj2k::simt

namespace cj2k::cuda {

/// The targets of each frame of a GOP, because frames may have limits of their own. Passed to
/// kernels by value.
struct FrameTargets {
  static constexpr size_t kMostFrames = 64;  ///< the maximum of cj2k_params::gop
  ByteTargets of[kMostFrames];
};

// ---- exact ----

/// Bytes of hull segments by slope, [frame][component][kAboveAllSlopes], in device memory.
struct SlopeTables {
  uint64_t* bytes;  ///< 16-byte aligned; zeroed before the first call of a GOP
  uint32_t num_components;
};
constexpr uint64_t slope_table_bytes(uint32_t num_components) {
  return uint64_t{num_components} * kAboveAllSlopes * sizeof(uint64_t);
}

/// Adds the bytes of the hull segments of the blocks of a list, from the output of tier1_hull.
/// @param weights  [list.count()] factor for the bytes of each block
Status slopes_accumulate(simt::Stream& stream, const Tier1Buffers& buffers, const Tier1List& list,
                         const Tier1Output& output, const uint32_t* weights,
                         const SlopeTables& tables);
/// RateControl::predict for the frames 0 .. num_frames - 1.
/// @param targets     RateControl::prediction_targets of each frame
/// @param thresholds  [frame][CJ2K_MAX_COMPONENTS] written, for Tier1Limits::thresholds
Status slopes_predict(simt::Stream& stream, const SlopeTables& tables, uint32_t num_frames,
                      const FrameTargets& targets, uint16_t* thresholds);

// ---- psb and bpi ----

/// What coding the last plane did to a block.
struct alignas(16) PlaneRecord {
  uint32_t num_bytes;    ///< Tier1State::num_bytes after the plane
  uint32_t plane_bytes;  ///< bytes that the plane added
  uint32_t slope;        ///< psb: log-slope of the last hull segment so far
  uint32_t active;       ///< 1: the block was coded in this plane
};

/// Device memory of the decisions, zeroed before the first plane of a GOP.
struct PlaneDecisions {
  PlaneRecord* records;  ///< [blocks], as in Tier1Buffers
  /// Bytes coded so far. psb: [frame][component][kSlopeEntries] by slope, 16-byte aligned; bpi:
  /// [frame][CJ2K_MAX_COMPONENTS].
  uint64_t* bytes;
  uint16_t* thresholds;  ///< psb: [frame][CJ2K_MAX_COMPONENTS] log-slopes after the last plane
  uint32_t num_components;
};
constexpr uint64_t plane_slope_table_bytes(uint32_t num_components) {
  return uint64_t{num_components} * kSlopeEntries * sizeof(uint64_t);
}

/// The three kernels of the paper for psb (section 5.2), called after `plane` of all blocks of the
/// frames 0 .. num_frames - 1 is coded. The first adds the bytes of each block at its slope, the
/// second finds the slope at which the targets are used up, and the third sets Tier1State::stopped
/// of the blocks that may pause at that slope (core/stop.h).
/// @param targets  RateControl::caps of each frame
Status stop_by_slope_bytes(simt::Stream& stream, const Tier1Buffers& buffers, uint32_t num_frames,
                           uint32_t plane, const FrameTargets& targets,
                           const PlaneDecisions& decisions);
/// bpi (section 5.3), called after `plane` of all blocks is coded. Adds up the bytes per thread
/// block, then per frame and component. If a frame is over its target, all its blocks stop. If a
/// component is over its target, those of its blocks that were coded in this plane stop.
/// @param targets  RateControl::caps of each frame
Status stop_by_bytes(simt::Stream& stream, const Tier1Buffers& buffers, uint32_t num_frames,
                     uint32_t plane, const FrameTargets& targets, const PlaneDecisions& decisions);

}  // namespace cj2k::cuda
