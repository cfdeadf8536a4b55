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

/// The place of a cleanup plane: HtTask.
struct HtSlot {
  uint64_t cleanup;  ///< offset in the frame's bytes
  uint32_t rest, both;
};
struct HtLayout {
  std::vector<uint16_t> words;        ///< ht_vlc_words
  std::vector<uint32_t> first_slots;  ///< [plan.blocks] of plane 0 of a block; one slot per plane
  std::vector<HtSlot> slots;
  uint64_t frame_bytes = 0;        ///< a multiple of 16
  uint32_t frame_tasks = 0;        ///< most tasks of a call for one frame
  uint32_t most_bytes = 0;         ///< most bytes of a point of a block
  uint64_t frame_point_bytes = 0;  ///< most bytes of one point of each block of a frame
};
HtLayout make_ht_layout(const Plan& plan);
/// Whether the device makes hulls. Without loss they have one point, and the points of layers need
/// more than a hull says.
inline bool may_have_ht_hulls(const Plan& plan) {
  return !plan.params.lossless && plan.params.layers == 1;
}

/// In device and in page-locked memory:
///
///   of the samples   | peaks |                       by block of the GOP
///   of a call        | tasks | results | [choices] | [hulls] |
///   of ht_choose     | [lists] | [counts] |          on the device alone
///
/// Arrays in brackets are empty without loss.
struct HtMemory {
  HtMemory() = default;
  HtMemory(const Plan& plan, const HtLayout& layout, bool on_device, Carver& carver);

  Span<uint32_t> peaks;
  Span<HtTask> tasks;
  Span<HtResult> results;
  Span<HtChoice> choices;  ///< in page-locked memory always
  Span<HullPoint> hulls;   ///< also empty unless may_have_ht_hulls
  Span<uint32_t> lists, counts;
};

}  // namespace cj2k::cuda
