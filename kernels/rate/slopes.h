// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The decisions of the early stops (stages/early_stop.h) on the device, so that a GOP is coded
// without asking the host: bytes by slope and the threshold for exact; for psb and bpi what each
// plane took and who stops. Integer sums and the rules of core/: the host's numbers exactly, in any
// order of threads. Asynchronous; allocates nothing.
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

/// Of each frame of a GOP: frames may have limits of their own. A kernel takes them as they are.
struct FrameTargets {
  static constexpr size_t kMostFrames = 64;  ///< of a GOP: the range of the parameter
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

/// Adds the hull segments of the blocks of a list, as tier1_hull has left them.
/// @param weights  [list.count()] that each block's bytes count for
Status slopes_accumulate(simt::Stream& stream, const Tier1Buffers& buffers, const Tier1List& list,
                         const Tier1Output& output, const uint32_t* weights,
                         const SlopeTables& tables);
/// RateControl::predict of frames 0 .. num_frames - 1.
/// @param targets     RateControl::prediction_targets of each frame
/// @param thresholds  [frame][CJ2K_MAX_COMPONENTS], as Tier1Stop takes them
Status slopes_predict(simt::Stream& stream, const SlopeTables& tables, uint32_t num_frames,
                      const FrameTargets& targets, uint16_t* thresholds);

// ---- psb and bpi ----

/// What the last plane made of a block.
struct alignas(16) PlaneRecord {
  uint32_t num_bytes;    ///< Tier1State::num_bytes after it
  uint32_t plane_bytes;  ///< that it added
  uint32_t slope;        ///< psb: of the last hull segment so far
  uint32_t active;       ///< 1: the block was coded in this plane
};

/// Device memory of the decisions. [blocks]: as Tier1Buffers. All zeroed before a GOP's first
/// plane.
struct PlaneDecisions {
  PlaneRecord* records;  ///< [blocks]
  uint64_t* bytes;       ///< psb: [frame][component][kSlopeEntries] by slope, 16-byte aligned;
                         ///< bpi: [frame][CJ2K_MAX_COMPONENTS]
  uint16_t* thresholds;  ///< psb: [frame][CJ2K_MAX_COMPONENTS] after the last plane
  uint32_t num_components;
};
constexpr uint64_t plane_slope_table_bytes(uint32_t num_components) {
  return uint64_t{num_components} * kSlopeEntries * sizeof(uint64_t);
}

/// The paper's three kernels for psb (section 5.2), after `plane` of all blocks of the frames 0 ..
/// num_frames - 1: adds each block's bytes at its slope; looks for the slope at which the targets
/// are used up; sets Tier1State::stopped of the blocks that may pause there (core/stop.h).
/// @param targets  RateControl::caps of each frame
Status stop_by_slope_bytes(simt::Stream& stream, const Tier1Buffers& buffers, uint32_t num_frames,
                           uint32_t plane, const FrameTargets& targets,
                           const PlaneDecisions& decisions);
/// bpi (section 5.3) likewise: bytes summed up per thread block, then per frame and component. All
/// blocks of a frame over its target stop, and of a component those that have been coded in this
/// plane.
Status stop_by_bytes(simt::Stream& stream, const Tier1Buffers& buffers, uint32_t num_frames,
                     uint32_t plane, const FrameTargets& targets, const PlaneDecisions& decisions);

}  // namespace cj2k::cuda
