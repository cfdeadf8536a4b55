// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "cuda/ebcot_memory.h"

#include "cuda/gop_memory.h"

namespace cj2k::cuda {

EbcotMemory::EbcotMemory(const Plan& plan, const PlanTables& tables, bool on_device,
                         Carver& carver) {
  const auto style = static_cast<uint32_t>(plan.params.cblk_style);
  const auto frames = static_cast<uint64_t>(plan.params.gop);
  const uint64_t blocks = frames * plan.blocks.size();
  const uint64_t num_thresholds = frames * CJ2K_MAX_COMPONENTS;
  const uint64_t num_passes = on_device ? frames * tables.tier1.frame_passes : 0;
  const uint64_t num_tails = style & CJ2K_STYLE_PTERM ? num_passes : 0;
  const uint64_t device_blocks = on_device ? blocks : 0, device_frames = on_device ? frames : 0;
  words = carver.take<uint64_t>(device_frames * tables.frame_words);
  magnitudes = carver.take<uint32_t>(device_blocks);
  symbols = carver.take<uint8_t>(device_frames * tables.tier1.frame_symbols);
  pass_symbols = carver.take<PassSymbols>(tables.form == Tier1Form::kFused ? 0 : num_passes);
  passes = carver.take<CodingPass>(num_passes);
  tails = carver.take<PassTail>(num_tails);
  snapshots = carver.take<Tier1Snapshot>(num_passes);
  states = carver.take<Tier1State>(device_blocks);
  list = carver.take<uint32_t>(blocks);
  resumed_list = carver.take<uint32_t>(blocks);
  thresholds = carver.take<uint16_t>(num_thresholds);
  results = carver.take<Tier1Result>(blocks);
  hull = carver.take<HullPoint>(num_passes);
  segments = carver.take<SegmentEnd>(has_segments(style) ? num_passes : 0);
  hull_tails = carver.take<PassTail>(num_tails);
  totals = carver.take<uint32_t>(kTotals);
  packed = carver.take<PackedBytes>(blocks);
  scratch = carver.take<uint8_t>(
      on_device ? tier1_scratch_bytes(tables.form, tables.tier1, static_cast<uint32_t>(blocks))
                : 0);

  // Also needed without a cap in the parameters, because a frame may have its own cap.
  const cj2k_stop stop = plan.params.lossless ? CJ2K_STOP_NONE : plan.stop;
  const auto num_components = static_cast<uint32_t>(plan.components.size());
  const bool by_plane = stop == CJ2K_STOP_PSB || stop == CJ2K_STOP_BPI;
  weights = carver.take<uint32_t>(stop == CJ2K_STOP_EXACT ? blocks : 0);
  records = carver.take<PlaneRecord>(by_plane ? device_blocks : 0);
  uint64_t counter_bytes = 0;
  if (stop == CJ2K_STOP_EXACT) counter_bytes = slope_table_bytes(num_components);
  if (stop == CJ2K_STOP_PSB) counter_bytes = plane_slope_table_bytes(num_components);
  if (stop == CJ2K_STOP_BPI) counter_bytes = CJ2K_MAX_COMPONENTS * sizeof(uint64_t);
  stop_counters = carver.take<uint64_t>(device_frames * counter_bytes / sizeof(uint64_t));
  if (tables.rate.has_value()) {
    next_thresholds = carver.take<uint16_t>(on_device ? num_thresholds : 0);
    paused_passes = carver.take<uint8_t>(blocks);
  }
  if (!plan.has_rdoq) return;
  jobs = carver.take<Tier1Job>(device_blocks);
  rdoq_frames = carver.take<RdoqFrame>(frames);
  removed = carver.take<int64_t>(num_passes);
  total_removed = carver.take<double>(device_blocks);
  last_planes = carver.take<uint8_t>(device_blocks);
  votes = carver.take<uint8_t>(blocks);
  shifted = carver.take<float>(device_frames * tables.shifted_samples);
}

}  // namespace cj2k::cuda
