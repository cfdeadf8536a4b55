// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "cuda/ht_layout.h"

#include <algorithm>

#include "cuda/gop_memory.h"
#include "cuda/pinned_memory.h"
#include "plan/plan_caps.h"

namespace cj2k::cuda {
namespace {

/// Most bit-planes of a block, in any step set.
int most_planes(const Plan& plan, const CodeBlock& block) {
  int most = plan.subbands[block.subband].max_bit_planes;
  for (const std::vector<Subband>& bands : plan.finer_subbands)
    most = std::max<int>(most, bands[block.subband].max_bit_planes);
  return most;
}

}  // namespace

HtLayout make_ht_layout(const Plan& plan) {
  HtLayout layout;
  layout.words = ht_vlc_words();
  for (const CodeBlock& block : plan.blocks) {
    const int planes = most_planes(plan, block);
    const uint32_t both_room = ht_refinement_room(block.width, block.height);
    layout.first_slots.push_back(static_cast<uint32_t>(layout.slots.size()));
    const int num_slots = plan.params.lossless != 0 ? std::min(planes, 1) : planes;
    uint32_t most_bytes = 0;
    for (int plane = 0; plane < num_slots; ++plane) {
      const uint32_t room = ht_cleanup_room(block.width, block.height, planes - plane);
      const uint32_t rest = plan.params.lossless != 0 ? 0 : both_room;
      layout.slots.push_back({layout.frame_bytes, room, room + rest});
      layout.frame_bytes += room + uint64_t{2} * rest;
      most_bytes = std::max(most_bytes, room + rest);
    }
    layout.first_points.push_back(layout.frame_points);
    const auto all_points = static_cast<uint32_t>(3 * num_slots);
    layout.frame_points +=
        block.orientation == kLL ? all_points : std::min(all_points, kMostHtHull);
    layout.most_bytes = std::max(layout.most_bytes, most_bytes);
    layout.frame_point_bytes += most_bytes;
    // One task at least, for the squared error.
    layout.frame_tasks += static_cast<uint32_t>(std::max(num_slots, 1));
  }
  layout.first_points.push_back(layout.frame_points);
  return layout;
}

HtMemory::HtMemory(const Plan& plan, const PlanTables& tables, bool on_device, Carver& carver) {
  const HtLayout& layout = tables.ht;
  const auto frames = static_cast<uint64_t>(plan.params.gop);
  const uint64_t blocks = frames * plan.blocks.size(), most_tasks = frames * layout.frame_tasks;
  const bool chooses = on_device && plan.params.lossless == 0;
  peaks = carver.take<uint32_t>(blocks);
  tasks = carver.take<HtTask>(most_tasks);
  results = carver.take<HtResult>(most_tasks);
  choices = carver.take<HtChoice>(chooses || !on_device || tables.rate.has_value() ? blocks : 0);
  hulls = carver.take<HullPoint>(may_have_ht_hulls(plan) ? blocks * kMostHtHull : 0);
  lists = carver.take<uint32_t>(chooses ? most_tasks * kHtKinds : 0);
  counts = carver.take<uint32_t>(chooses ? kHtKinds : 0);
  if (!tables.rate.has_value()) return;
  const uint64_t points = on_device ? frames * layout.frame_points : 0;
  coded = carver.take<Tier1Result>(on_device ? blocks : 0);
  hull = carver.take<HullPoint>(points);
  codes = carver.take<HtPointCode>(points);
  weights = carver.take<double>(on_device ? blocks : 0);
  totals = carver.take<uint32_t>(kTotals);
  const bool keeps_samples = on_device && plan.params.lossless == 0;
  const uint64_t frame_bytes =
      std::min({layout.frame_point_bytes, cap_of(plan), raw_frame_bytes(plan)});
  tile_parts = carver.take<uint8_t>(keeps_samples ? frames * (frame_bytes + 16) : 0);
}

}  // namespace cj2k::cuda
