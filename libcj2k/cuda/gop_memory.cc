// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "cuda/gop_memory.h"

#include <algorithm>

#include "coders/ebcot/colour_errors.h"
#include "cuda/block_coder.h"
#include "cuda/gop_choice.h"

namespace cj2k::cuda {

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

PlanTables::PlanTables(const Plan& plan)
    : form(tier1_form(plan)),
      input(plan),
      stored(make_stored_format(plan)),
      format(make_pixel_format(plan)),
      coded_words(make_coded_words(plan)),
      frame(make_frame_layout(plan)) {
  quantize = make_quantize_jobs(plan, frame, &frame_words);
  if (plan.has_rdoq) overlaps = make_overlaps(plan);
  if (plan.params.coder == CJ2K_CODER_HT) {
    ht = make_ht_layout(plan);
    most_pieces = kMostPieces;
  } else {
    tier1 = make_tier1_layout(plan, quantize, form);
    if (plan.has_rdoq && couples_colours(plan)) {
      colour = make_colour_jobs(plan);
      shifted_samples = frame.components[1].plane[0];  // those of component 0 come first
    }
  }
  if (device_allocates(plan)) rate.emplace(plan, tier1.frame_passes + ht.frame_points);
  Carver carver;
  for (int level = 1; level <= plan.params.levels; ++level) {
    levels.push_back(make_dwt_level(plan, frame, level));
    const DwtLevel& made = levels.back();
    const Span<DwtJob> jobs = carver.take<DwtJob>(made.jobs.size());
    on_device.levels.push_back({jobs, carver.take<DwtPart>(made.parts.size())});
  }
  on_device.quantize = carver.take<QuantizeJob>(quantize.size());
  on_device.colour = carver.take<ColourJob>(colour.size());
  on_device.overlaps = carver.take<Overlaps>(overlaps.size());
  on_device.tier1 = carver.take<Tier1Job>(tier1.jobs.size());
  on_device.ht_words = carver.take<uint16_t>(ht.words.size());
  on_device.ht_blocks = carver.take<HtPlanBlock>(ht.blocks.size());
  on_device.ht_bands = carver.take<HtBand>(ht.bands.size());
  on_device.ht_slots = carver.take<HtSlot>(ht.slots.size());
  if (rate.has_value()) {
    on_device.rate = carver.take<uint8_t>(rate->bytes());
    on_device.ht_first_points = carver.take<uint32_t>(ht.first_points.size());
  }
  const cj2k_params& p = plan.params;
  if (p.xyz != CJ2K_XYZ_OFF) {
    xyz = make_xyz_tables(p.xyz, p.xyz_gamma, p.source_depth[0]);
    on_device.xyz_linear = carver.take<float>(xyz->linear.size());
    on_device.xyz_codes = carver.take<uint32_t>(xyz->codes.size());
  }
  bytes = carver.bytes();
}

GopMemory::GopMemory(const Plan& plan, const PlanTables& tables) {
  const auto frames = static_cast<uint64_t>(plan.params.gop);
  Carver carver;
  coded_words = carver.take<uint8_t>(tables.coded_words.bytes);
  // The bytes of a block are gathered there, and a block of few samples can take more bytes coded.
  uint64_t most_bytes = tables.ht.most_bytes;
  for (const Tier1Job& job : tables.tier1.jobs)
    most_bytes = std::max<uint64_t>(most_bytes, job.bytes_capacity);
  samples = carver.take<int32_t>(std::max(frames * tables.frame.frame_samples,
                                          (most_bytes + sizeof(int32_t) - 1) / sizeof(int32_t)));
  input = {carver.bytes(), frames * tables.input.bytes};
  coded = carver.take<uint8_t>(frames * (tables.tier1.frame_bytes + tables.ht.frame_bytes));
  gather = carver.take<GatherJob>(frames * plan.blocks.size() * tables.most_pieces);
  if (plan.params.coder == CJ2K_CODER_HT) {
    ht = HtMemory(plan, tables, true, carver);
  } else {
    ebcot = EbcotMemory(plan, tables, true, carver);
  }
  if (tables.rate.has_value()) rate = RateMemory(tables.rate->plan, frames, true, carver);
  bytes = std::max(carver.bytes(), input.offset + input.bytes());
}

}  // namespace cj2k::cuda
