// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "cuda/gop_memory.h"

#include <algorithm>

#include "coders/ht/ht_points.h"
#include "depth/early_stop.h"
#include "kernels/rate/slopes.h"

namespace cj2k::cuda {
namespace {

constexpr uint32_t kTails = CJ2K_STYLE_PTERM;

}  // namespace

InputLayout::InputLayout(const Plan& plan) {
  uint64_t next = 0;
  for (const cj2k::Component& c : plan.components) {
    const uint32_t word_bytes = read_depth(plan, c) <= 8 ? 1 : 2;
    const auto row = static_cast<uint32_t>(c.rect.width()) * word_bytes;
    const uint32_t row_bytes = (row + 15) / 16 * 16;
    components.push_back({next, row_bytes, word_bytes});
    next += uint64_t{row_bytes} * static_cast<uint64_t>(c.rect.height());
  }
  bytes = (next + next / 3 + 255) / 256 * 256;
}

PlanTables::PlanTables(const Plan& plan, Tier1Form form)
    : input(plan),
      stored(make_stored_format(plan)),
      format(make_pixel_format(plan)),
      coded_words(make_coded_words(plan)),
      frame(make_frame_layout(plan)) {
  quantize = make_quantize_jobs(plan, frame, &frame_words);
  if (plan.params.coder == CJ2K_CODER_HT) {
    ht = make_ht_layout(plan);
  } else {
    tier1 = make_tier1_layout(plan, quantize, form);
    if (device_allocates(plan)) rate.emplace(plan, tier1.frame_passes);
  }
  Carver carver;
  for (int level = 1; level <= plan.params.levels; ++level) {
    levels.push_back(make_dwt_level(plan, frame, level));
    const DwtLevel& made = levels.back();
    level_offsets.push_back({carver.take(made.jobs.size() * sizeof(DwtJob)),
                             carver.take(made.parts.size() * sizeof(DwtPart))});
  }
  quantize_offset = carver.take(quantize.size() * sizeof(QuantizeJob));
  tier1_offset = carver.take(tier1.jobs.size() * sizeof(Tier1Job));
  ht_words_offset = carver.take(ht.words.size() * sizeof(uint16_t));
  if (rate.has_value()) rate_offset = carver.take(rate->bytes());
  const cj2k_params& p = plan.params;
  if (p.xyz != CJ2K_XYZ_OFF) {
    xyz = make_xyz_tables(p.xyz, p.xyz_gamma, p.source_depth[0]);
    xyz_linear_offset = carver.take(xyz->linear.size() * sizeof(float));
    xyz_codes_offset = carver.take(xyz->codes.size() * sizeof(uint32_t));
  }
  bytes = carver.bytes();
}

GopMemory::GopMemory(const Plan& plan, const PlanTables& tables, Tier1Form form,
                     uint64_t scratch_bytes) {
  const auto frames = static_cast<uint64_t>(plan.params.gop);
  const uint64_t blocks = frames * plan.blocks.size();
  Carver carver;
  coded_words = carver.take(tables.coded_words.bytes);
  samples_bytes = frames * tables.frame.frame_samples * sizeof(int32_t);
  // The bytes of a block are gathered there, and a block of few samples can take more bytes coded.
  for (const Tier1Job& job : tables.tier1.jobs) {
    samples_bytes = std::max<uint64_t>(samples_bytes, job.bytes_capacity);
  }
  samples_bytes = std::max<uint64_t>(samples_bytes, tables.ht.most_bytes);
  samples = carver.take(samples_bytes);
  input = carver.bytes();
  if (plan.params.coder == CJ2K_CODER_HT) {
    coded = carver.take(frames * tables.ht.frame_bytes);
    peaks = carver.take(blocks * sizeof(uint32_t));
    ht_tasks = carver.take(frames * tables.ht.frame_tasks * sizeof(HtTask));
    ht_results = carver.take(frames * tables.ht.frame_tasks * sizeof(HtResult));
    if (plan.params.lossless == 0) ht_choices = carver.take(blocks * sizeof(HtChoice));
    if (may_have_ht_hulls(plan)) ht_hulls = carver.take(blocks * kMostHtHull * sizeof(HullPoint));
    if (!plan.params.lossless) {
      ht_lists = carver.take(frames * tables.ht.frame_tasks * kHtKinds * sizeof(uint32_t));
      ht_counts = carver.take(kHtKinds * sizeof(uint32_t));
    }
    gather = carver.take(2 * blocks * sizeof(GatherJob));
  } else {
    take_ebcot(plan, tables, form, scratch_bytes, carver);
  }
  bytes = std::max(carver.bytes(), input + frames * tables.input.bytes);
}

void GopMemory::take_ebcot(const Plan& plan, const PlanTables& tables, Tier1Form form,
                           uint64_t scratch_bytes, Carver& carver) {
  const auto frames = static_cast<uint64_t>(plan.params.gop);
  const auto style = static_cast<uint32_t>(plan.params.cblk_style);
  const uint64_t blocks = frames * plan.blocks.size();
  const uint64_t num_passes = frames * tables.tier1.frame_passes;
  words = carver.take(frames * tables.frame_words * sizeof(uint64_t));
  magnitudes = carver.take(blocks * sizeof(uint32_t));
  const bool is_fused = form == Tier1Form::kFused;
  symbols = carver.take(frames * tables.tier1.frame_symbols);
  pass_symbols = carver.take(is_fused ? 0 : num_passes * sizeof(PassSymbols));
  coded = carver.take(frames * tables.tier1.frame_bytes);
  passes = carver.take(num_passes * sizeof(CodingPass));
  tails = carver.take(style & kTails ? num_passes * sizeof(PassTail) : 0);
  snapshots = carver.take(num_passes * sizeof(Tier1Snapshot));
  states = carver.take(blocks * sizeof(Tier1State));
  list = carver.take(blocks * sizeof(uint32_t));
  resumed_list = carver.take(blocks * sizeof(uint32_t));
  thresholds = carver.take(frames * CJ2K_MAX_COMPONENTS * sizeof(uint16_t));
  results = carver.take(blocks * sizeof(Tier1Result));
  hull = carver.take(num_passes * sizeof(HullPoint));
  segments = carver.take(has_segments(style) ? num_passes * sizeof(SegmentEnd) : 0);
  hull_tails = carver.take(style & kTails ? num_passes * sizeof(PassTail) : 0);
  totals = carver.take(kTotals * sizeof(uint32_t));
  packed = carver.take(blocks * sizeof(PackedBytes));
  gather = carver.take(blocks * sizeof(GatherJob));
  scratch = carver.take(scratch_bytes);

  // Also needed without a cap in the parameters, because a frame may have its own cap.
  const cj2k_stop stop = plan.params.lossless ? CJ2K_STOP_NONE : plan.stop;
  const auto num_components = static_cast<uint32_t>(plan.components.size());
  const bool by_plane = stop == CJ2K_STOP_PSB || stop == CJ2K_STOP_BPI;
  weights = carver.take(stop == CJ2K_STOP_EXACT ? blocks * sizeof(uint32_t) : 0);
  records_bytes = by_plane ? blocks * sizeof(PlaneRecord) : 0;
  records = carver.take(records_bytes);
  stop_counters_bytes = 0;
  if (stop == CJ2K_STOP_EXACT) stop_counters_bytes = frames * slope_table_bytes(num_components);
  if (stop == CJ2K_STOP_PSB) stop_counters_bytes = frames * plane_slope_table_bytes(num_components);
  if (stop == CJ2K_STOP_BPI) stop_counters_bytes = frames * CJ2K_MAX_COMPONENTS * sizeof(uint64_t);
  stop_counters = carver.take(stop_counters_bytes);
  if (tables.rate.has_value()) take_rate(plan, tables, carver);
}

void GopMemory::take_rate(const Plan& plan, const PlanTables& tables, Carver& carver) {
  const auto frames = static_cast<uint64_t>(plan.params.gop);
  const uint64_t blocks = frames * plan.blocks.size();
  rate_scratch = carver.take(frames * rate_scratch_bytes(tables.rate->plan));
  chosen = carver.take(blocks * sizeof(ChosenBlock));
  outcomes = carver.take(frames * sizeof(RateOutcome));
  next_thresholds = carver.take(frames * CJ2K_MAX_COMPONENTS * sizeof(uint16_t));
  paused_passes = carver.take(blocks);
  left = carver.take(blocks * sizeof(double));
  const RatePlan& rate = tables.rate->plan;
  part_places = carver.take(frames * rate.num_parts * sizeof(uint32_t));
  packet_places = carver.take(frames * rate.num_precincts * sizeof(uint32_t));
  block_places = carver.take(blocks * sizeof(uint32_t));
}

}  // namespace cj2k::cuda
