// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "cuda/ebcot_memory.h"

#include "cuda/gop_memory.h"

namespace cj2k::cuda {
namespace {

uint64_t num_frames(const Plan& plan) { return static_cast<uint64_t>(plan.params.gop); }
uint64_t num_blocks(const Plan& plan) { return num_frames(plan) * plan.blocks.size(); }
uint64_t num_thresholds(const Plan& plan) { return num_frames(plan) * CJ2K_MAX_COMPONENTS; }

}  // namespace

EbcotMemory::EbcotMemory(const Plan& plan, const PlanTables& tables, Tier1Form form,
                         Carver& carver) {
  const auto style = static_cast<uint32_t>(plan.params.cblk_style);
  const uint64_t frames = num_frames(plan), blocks = num_blocks(plan);
  const uint64_t num_passes = frames * tables.tier1.frame_passes;
  const uint64_t num_tails = style & CJ2K_STYLE_PTERM ? num_passes : 0;
  words = carver.take<uint64_t>(frames * tables.frame_words);
  magnitudes = carver.take<uint32_t>(blocks);
  symbols = carver.take<uint8_t>(frames * tables.tier1.frame_symbols);
  pass_symbols = carver.take<PassSymbols>(form == Tier1Form::kFused ? 0 : num_passes);
  passes = carver.take<CodingPass>(num_passes);
  tails = carver.take<PassTail>(num_tails);
  snapshots = carver.take<Tier1Snapshot>(num_passes);
  states = carver.take<Tier1State>(blocks);
  list = carver.take<uint32_t>(blocks);
  resumed_list = carver.take<uint32_t>(blocks);
  thresholds = carver.take<uint16_t>(num_thresholds(plan));
  results = carver.take<Tier1Result>(blocks);
  hull = carver.take<HullPoint>(num_passes);
  segments = carver.take<SegmentEnd>(has_segments(style) ? num_passes : 0);
  hull_tails = carver.take<PassTail>(num_tails);
  totals = carver.take<uint32_t>(kTotals);
  packed = carver.take<PackedBytes>(blocks);
  scratch =
      carver.take<uint8_t>(tier1_scratch_bytes(form, tables.tier1, static_cast<uint32_t>(blocks)));

  // Also needed without a cap in the parameters, because a frame may have its own cap.
  const cj2k_stop stop = plan.params.lossless ? CJ2K_STOP_NONE : plan.stop;
  const auto num_components = static_cast<uint32_t>(plan.components.size());
  const bool by_plane = stop == CJ2K_STOP_PSB || stop == CJ2K_STOP_BPI;
  weights = carver.take<uint32_t>(stop == CJ2K_STOP_EXACT ? blocks : 0);
  records = carver.take<PlaneRecord>(by_plane ? blocks : 0);
  uint64_t counter_bytes = 0;
  if (stop == CJ2K_STOP_EXACT) counter_bytes = slope_table_bytes(num_components);
  if (stop == CJ2K_STOP_PSB) counter_bytes = plane_slope_table_bytes(num_components);
  if (stop == CJ2K_STOP_BPI) counter_bytes = CJ2K_MAX_COMPONENTS * sizeof(uint64_t);
  stop_counters = carver.take<uint64_t>(frames * counter_bytes / sizeof(uint64_t));
  if (!tables.rate.has_value()) return;
  const RatePlan& rate = tables.rate->plan;
  rate_scratch = carver.take<uint8_t>(frames * rate_scratch_bytes(rate));
  chosen = carver.take<ChosenBlock>(blocks);
  outcomes = carver.take<RateOutcome>(frames);
  next_thresholds = carver.take<uint16_t>(num_thresholds(plan));
  paused_passes = carver.take<uint8_t>(blocks);
  left = carver.take<double>(blocks);
  part_places = carver.take<uint32_t>(frames * rate.num_parts);
  packet_places = carver.take<uint32_t>(frames * rate.num_precincts);
  block_places = carver.take<uint32_t>(blocks);
}

EbcotPinned::EbcotPinned(const Plan& plan, const PlanTables& tables, Carver& carver) {
  const uint64_t blocks = num_blocks(plan);
  list = carver.take<uint32_t>(blocks);
  resumed_list = carver.take<uint32_t>(blocks);
  weights = carver.take<uint32_t>(blocks);
  thresholds = carver.take<uint16_t>(num_thresholds(plan));
  results = carver.take<Tier1Result>(blocks);
  totals = carver.take<uint32_t>(kTotals);
  packed = carver.take<PackedBytes>(blocks);
  if (!tables.rate.has_value()) return;
  outcomes = carver.take<RateOutcome>(num_frames(plan));
  left = carver.take<double>(blocks);
  paused_passes = carver.take<uint8_t>(blocks);
}

}  // namespace cj2k::cuda
