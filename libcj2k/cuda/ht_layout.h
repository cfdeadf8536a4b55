// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What the HT block coder of a GOP has in memory beside GopMemory and PinnedLayout, and where the
// segments of its blocks lie in GopMemory::coded: each cleanup plane of each block has a place for its
// worst case.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/carver.h"
#include "kernels/ht/ht_block.h"
#include "plan/plan.h"

namespace cj2k::cuda {

struct PlanTables;

/// The place of a cleanup plane: HtTask.
struct HtSlot {
  uint64_t cleanup;  ///< offset in the frame's bytes
  uint32_t rest, both;
};
struct HtLayout {
  std::vector<uint16_t> words;        ///< ht_vlc_words
  std::vector<uint32_t> first_slots;  ///< [plan.blocks] of plane 0 of a block; one slot per plane
  std::vector<HtSlot> slots;
  /// [plan.blocks + 1] HtHulls::first_points: a block of LL has room for the points of all its planes,
  /// others for kMostHtHull, without loss for one.
  std::vector<uint32_t> first_points;
  uint32_t frame_points = 0;
  uint64_t frame_bytes = 0;        ///< a multiple of 16
  uint32_t frame_tasks = 0;        ///< most tasks of a call for one frame
  uint32_t most_bytes = 0;         ///< most bytes of a point of a block
  uint64_t frame_point_bytes = 0;  ///< most bytes of one point of each block of a frame
};
HtLayout make_ht_layout(const Plan& plan);
/// Whether the device makes hulls for the host. Without loss they have one point, and the points of
/// layers need more than a hull says.
inline bool may_have_ht_hulls(const Plan& plan) {
  return !plan.params.lossless && plan.params.layers == 1;
}

/// In device and in page-locked memory:
///
///   of the samples   | peaks |                       by block of the GOP
///   of a call        | tasks | results | [choices] | [hulls] |
///   of ht_choose     | [lists] | [counts] |          on the device alone
///   of rate control  | coded | hull | codes | weights | totals P | [tile_parts] |  where it runs on the device
///
/// Arrays in brackets are empty without loss. Of the last row, only the one marked P is in
/// page-locked memory.
struct HtMemory {
  HtMemory() = default;
  HtMemory(const Plan& plan, const PlanTables& tables, bool on_device, Carver& carver);

  Span<uint32_t> peaks;
  Span<HtTask> tasks;
  Span<HtResult> results;
  Span<HtChoice> choices;  ///< in page-locked memory always
  Span<HullPoint> hulls;   ///< also empty unless may_have_ht_hulls
  Span<uint32_t> lists, counts;
  // HtHulls.
  Span<Tier1Result> coded;
  Span<HullPoint> hull;
  Span<HtPointCode> codes;
  Span<double> weights;
  Span<uint32_t> totals;  ///< as EbcotMemory::totals
  /// The tile-parts of the frames. Without loss empty: they replace the samples. With loss blocks may
  /// be coded anew, from the samples.
  Span<uint8_t> tile_parts;
};

}  // namespace cj2k::cuda
