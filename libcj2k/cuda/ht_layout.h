// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The tables of the HT block coder, and what it has in memory of a GOP beside GopMemory and
// PinnedLayout. The segments of its blocks lie in GopMemory::coded: each cleanup plane of each block has
// a place for its worst case.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/carver.h"
#include "depth/stop_rule.h"
#include "kernels/ht/ht_block.h"
#include "plan/plan.h"

namespace cj2k::cuda {

struct PlanTables;

struct HtLayout {
  std::vector<uint16_t> words;      ///< ht_vlc_words
  std::vector<HtPlanBlock> blocks;  ///< [plan.blocks]
  std::vector<HtBand> bands;        ///< HtBlockTable
  std::vector<HtSlot> slots;
  /// [plan.blocks + 1] HtHulls::first_points: a block of LL has room for the points of all its planes,
  /// others for kMostHtHull, without loss for one.
  std::vector<uint32_t> first_points;
  uint32_t frame_points = 0;
  uint64_t frame_bytes = 0;        ///< a multiple of 16
  uint32_t frame_tasks = 0;        ///< most tasks of a call for one frame
  uint32_t most_bytes = 0;         ///< most bytes of a point of a block
  uint64_t frame_point_bytes = 0;  ///< most bytes of one point of each block of a frame
  uint32_t change_bytes = 0;       ///< HtChanges::stride; 0 without RDOQ

  /// @param on_blocks, on_bands, on_slots  `blocks`, `bands` and `slots` in device memory
  /// @param on_overlaps                    HtBlockTable::overlaps
  HtBlockTable table(const Plan& plan, const HtPlanBlock* on_blocks, const HtBand* on_bands,
                     const HtSlot* on_slots, const Overlaps* on_overlaps) const;
};
HtLayout make_ht_layout(const Plan& plan);
HtOrder ht_order(const BlockOrder& order);
/// Most tasks of a block in a call.
/// @param threshold, highest  of its component
uint32_t most_ht_tasks(const HtPlanBlock& block, uint16_t threshold, uint16_t highest,
                       bool has_rdoq);
/// Whether the device makes hulls for the host. Without loss they have one point, and the points of
/// layers need more than a hull says.
inline bool may_have_ht_hulls(const Plan& plan) {
  return !plan.params.lossless && plan.params.layers == 1;
}

/// In device and in page-locked memory:
///
///   of the samples   | peaks |                              on the device alone
///   of a call        | list | choices | results | [hulls] |
///   between kernels  | tasks | [lists] | counts |            on the device alone
///   of RDOQ          | [changes] |           in page-locked memory with keeps_coefficients
///   of rate control  | totals P | coded | hull | codes | weights | [tile_parts] |
///
/// Arrays in brackets are empty without loss; `changes` also without RDOQ. The entries of `list`,
/// `choices` and `hulls` are blocks. The last row is there where rate control runs on the device; its
/// first array is in page-locked memory, too.
struct HtMemory {
  HtMemory() = default;
  HtMemory(const Plan& plan, const PlanTables& tables, bool on_device, Carver& carver);

  Span<uint32_t> peaks;  ///< by block of the GOP
  Span<uint32_t> list;
  Span<HtChoice> choices;
  Span<HtResult> results;
  Span<HullPoint> hulls;  ///< also empty unless may_have_ht_hulls
  Span<HtTask> tasks;
  Span<uint32_t> lists;
  Span<uint32_t> counts;  ///< HtTaskLists::counts, then HtWork::num_tasks
  Span<uint8_t> changes;  ///< HtChanges
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
