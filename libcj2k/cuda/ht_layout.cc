// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "cuda/ht_layout.h"

#include <algorithm>
#include <bit>

#include "coders/ebcot/rdoq.h"
#include "coders/ht/ht_points.h"
#include "coders/ht/ht_rdoq.h"
#include "core/quantizer.h"
#include "core/stop.h"
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

/// Number of a band in a step set (HtPlanBlock::band).
uint32_t band_number(uint32_t subband, bool in_region) { return 2 * subband + (in_region ? 1 : 0); }

/// The bands of all step sets.
std::vector<HtBand> make_bands(const Plan& plan) {
  std::vector<HtBand> bands;
  for (uint32_t set = 0; set <= plan.finer_subbands.size(); ++set) {
    for (uint32_t number = 0; number < 2 * plan.subbands.size(); ++number) {
      CodeBlock block{};
      block.subband = number / 2;
      block.in_region = number == band_number(block.subband, true);
      const Subband& band = subband_of(plan, block, set);
      const auto rounder = std::bit_cast<uint32_t>(quantizer_rounder(band.unit));
      bands.push_back({distortion_weight(plan, block, set),
                       band.inverse_step,
                       static_cast<uint16_t>(rounder >> 16),
                       band.max_bit_planes,
                       {}});
    }
  }
  return bands;
}

}  // namespace

HtLayout make_ht_layout(const Plan& plan) {
  HtLayout layout;
  layout.words = ht_vlc_words();
  layout.bands = make_bands(plan);
  for (const CodeBlock& block : plan.blocks) {
    const int planes = most_planes(plan, block);
    const uint32_t both_room = ht_refinement_room(block.width, block.height);
    const int num_slots = plan.params.lossless != 0 ? std::min(planes, 1) : planes;
    layout.blocks.push_back({static_cast<uint32_t>(layout.slots.size()),
                             band_number(block.subband, block.in_region),
                             static_cast<uint16_t>(block.width * block.height),
                             static_cast<uint8_t>(num_slots), block.component, block.orientation});
    uint32_t most_bytes = 0;
    const auto add_slot = [&](int lowest) {
      const uint32_t room = ht_cleanup_room(block.width, block.height, planes - lowest);
      const uint32_t rest = plan.params.lossless != 0 ? 0 : both_room;
      layout.slots.push_back({layout.frame_bytes, room, room + rest});
      layout.frame_bytes += room + uint64_t{2} * rest;
      most_bytes = std::max(most_bytes, room + rest);
    };
    for (int plane = 0; plane < num_slots; ++plane) add_slot(plane);
    if (plan.has_rdoq) {
      for (int k = 0; k < kMostHtRdoqPlanes; ++k) add_slot(0);
      layout.change_bytes =
          std::max(layout.change_bytes, ht_change_bytes(block.width, block.height));
    }
    layout.first_points.push_back(layout.frame_points);
    const auto all_points = static_cast<uint32_t>(3 * num_slots);
    layout.frame_points +=
        block.orientation == kLL ? all_points : std::min(all_points, kMostHtHull);
    layout.most_bytes = std::max(layout.most_bytes, most_bytes);
    layout.frame_point_bytes += most_bytes;
    // One task at least, for the squared error.
    layout.frame_tasks += static_cast<uint32_t>(std::max(num_slots, 1));
    layout.frame_tasks += plan.has_rdoq ? kMostHtRdoqPlanes : 0;
  }
  layout.first_points.push_back(layout.frame_points);
  return layout;
}

HtBlockTable HtLayout::table(const Plan& plan, const HtPlanBlock* on_blocks, const HtBand* on_bands,
                             const HtSlot* on_slots, const Overlaps* on_overlaps) const {
  return {on_blocks,      static_cast<uint32_t>(blocks.size()),
          on_bands,       static_cast<uint32_t>(2 * plan.subbands.size()),
          on_slots,       frame_bytes,
          ht_rules(plan), may_have_ht_hulls(plan),
          on_overlaps};
}

HtOrder ht_order(const BlockOrder& order) {
  HtOrder made{{}, {}, {}, static_cast<uint8_t>(order.step_set), order.points, order.is_trial};
  std::transform(order.rdoq.begin(), order.rdoq.end(), made.rdoq, rdoq_error);
  std::copy(order.thresholds.begin(), order.thresholds.end(), made.thresholds);
  std::copy(order.highest.begin(), order.highest.end(), made.highest);
  return made;
}

uint32_t most_ht_tasks(const HtPlanBlock& block, uint16_t threshold, uint16_t highest,
                       bool has_rdoq) {
  const uint32_t planes = std::max<uint32_t>(block.num_slots, 1);
  const bool is_near = pause_threshold(threshold, block.orientation) > 0 && highest <= threshold;
  return (is_near ? std::min<uint32_t>(planes, kHtNearPlanes) : planes) +
         (has_rdoq ? kMostHtRdoqPlanes : 0);
}

HtMemory::HtMemory(const Plan& plan, const PlanTables& tables, bool on_device, Carver& carver) {
  const HtLayout& layout = tables.ht;
  const auto frames = static_cast<uint64_t>(plan.params.gop);
  const uint64_t blocks = frames * plan.blocks.size(), most_tasks = frames * layout.frame_tasks;
  list = carver.take<uint32_t>(blocks);
  choices = carver.take<HtChoice>(blocks);
  results = carver.take<HtResult>(most_tasks);
  hulls = carver.take<HullPoint>(may_have_ht_hulls(plan) ? blocks * kMostHtHull : 0);
  totals = carver.take<uint32_t>(tables.rate.has_value() ? kTotals : 0);
  if (on_device || keeps_coefficients(plan))
    changes = carver.take<uint8_t>(blocks * kMostHtRdoqPlanes * layout.change_bytes);
  if (!on_device) return;
  peaks = carver.take<uint32_t>(blocks);
  tasks = carver.take<HtTask>(most_tasks);
  lists = carver.take<uint32_t>(plan.params.lossless == 0 ? most_tasks * kHtKinds : 0);
  counts = carver.take<uint32_t>(kHtKinds + 1);
  if (!tables.rate.has_value()) return;
  const uint64_t points = frames * layout.frame_points;
  coded = carver.take<Tier1Result>(blocks);
  hull = carver.take<HullPoint>(points);
  codes = carver.take<HtPointCode>(points);
  weights = carver.take<double>(blocks);
  const bool keeps_samples = plan.params.lossless == 0;
  const uint64_t frame_bytes =
      std::min({layout.frame_point_bytes, cap_of(plan), raw_frame_bytes(plan)});
  tile_parts = carver.take<uint8_t>(keeps_samples ? frames * (frame_bytes + 16) : 0);
}

}  // namespace cj2k::cuda
