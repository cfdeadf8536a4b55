// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "cuda/rate_tables.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "coders/ht/ht_points.h"
#include "core/tag_tree.h"
#include "depth/early_stop.h"
#include "packets/markers.h"
#include "packets/packet_writer.h"

namespace cj2k::cuda {
namespace {

/// Room for the bits of a packet header, in words per block. A code has 30 bits and the tag trees
/// four, so this is four times as many; a header that needs even more is the host's.
constexpr uint32_t kWordsPerBlock = 4;
/// The first bit, the words that are read beyond the last bit, and deep trees of few blocks.
constexpr uint32_t kMoreWords = 16;
/// Hull points per block that one search may look at, and some for small frames. Usually these are
/// the points of a 64th of the bytes.
constexpr uint64_t kCandidatesPerBlock = 4, kMoreCandidates = 4096;

uint32_t tree_levels(uint32_t wide, uint32_t high) {
  uint32_t levels = 1;
  for (; wide > 1 || high > 1; ++levels) {
    wide = (wide + 1) / 2;
    high = (high + 1) / 2;
  }
  return levels;
}

/// @return the bytes of an array in the image
template <typename V>
uint64_t padded_bytes(const std::vector<V>& array) {
  return (array.size() * sizeof(V) + 15) / 16 * 16;
}

template <typename V>
uint8_t* store_array(uint8_t* image, const std::vector<V>& array) {
  std::memcpy(image, array.data(), array.size() * sizeof(V));
  return image + padded_bytes(array);
}

}  // namespace

bool device_allocates(const Plan& plan) {
  constexpr uint32_t kSegments = CJ2K_STYLE_BYPASS | CJ2K_STYLE_TERMALL | CJ2K_STYLE_PTERM;
  const cj2k_params& p = plan.params;
  if (p.layers != 1 || has_plt(plan) || plan.has_rdoq) return false;
  if (p.coder == CJ2K_CODER_HT) return p.lossless != 0 || !is_small_ht(plan);
  return (static_cast<uint32_t>(p.cblk_style) & kSegments) == 0 && plan.finer_subbands.empty();
}

RateTables::RateTables(const Plan& source, uint32_t max_points) {
  for (const Precinct& from : source.precincts) {
    RatePrecinct precinct{};
    precinct.first_block = from.first_block;
    precinct.num_blocks = from.num_blocks;
    precinct.first_band = static_cast<uint32_t>(bands.size());
    precinct.component = from.component;
    precinct.first_word = plan.num_words;
    precinct.num_words = from.num_blocks > 0 ? kWordsPerBlock * from.num_blocks + kMoreWords : 0;
    for (uint32_t b = 0; b < source.resolutions[from.resolution].num_subbands; ++b) {
      const PrecinctBand& band = source.precinct_bands[from.first_precinct_band + b];
      const uint32_t wide = band.blocks_wide, high = band.blocks_high;
      if (wide == 0 || high == 0) continue;
      bands.push_back({band.first_block, wide, high, plan.num_nodes});
      plan.num_nodes += static_cast<uint32_t>(TagTree::num_nodes(wide, high)) - wide * high;
      precinct.levels = std::max(precinct.levels, tree_levels(wide, high));
    }
    precinct.num_bands = static_cast<uint32_t>(bands.size()) - precinct.first_band;
    plan.num_words += precinct.num_words;
    plan.component_blocks[from.component] += from.num_blocks;
    ++plan.component_precincts[from.component];
    precincts.push_back(precinct);
  }
  for (const CodeBlock& block : source.blocks) {
    blocks.push_back({block.precinct, block.component,
                      static_cast<uint8_t>(tier1_size(block.width, block.height)),
                      static_cast<uint8_t>(block.max_bit_planes + block.planes_above),
                      block.orientation == kLL});
  }
  plan.num_precincts = static_cast<uint32_t>(precincts.size());
  plan.num_blocks = static_cast<uint32_t>(blocks.size());
  plan.num_components = static_cast<uint32_t>(source.components.size());
  // Of lossless frames everything is chosen, without a search.
  if (!source.params.lossless) {
    plan.max_candidates = static_cast<uint32_t>(
        std::min<uint64_t>(max_points, kCandidatesPerBlock * blocks.size() + kMoreCandidates));
  }
  plan.packet_marker_bytes =
      (source.params.sop ? kSopBytes : 0u) + (source.params.eph ? kEphBytes : 0u);
  plan.fixed_bytes = fixed_bytes(source);
  plan.sop = source.params.sop != 0;
  plan.eph = source.params.eph != 0;
  for (uint32_t c = 0; c < plan.num_components; ++c)
    plan.component_fixed_bytes[c] = component_fixed_bytes(source, c);
  add_packets(source);
}

void RateTables::add_packets(const Plan& source) {
  static_assert(kPartHeadBytes == kSotBytes + kSodBytes);
  packets.reserve(source.packets.size());
  uint32_t number = 0;
  for (const TilePart& part : source.tile_parts) {
    if (part.index == 0) number = 0;
    for (uint64_t k = 0; k < part.num_packets; ++k) {
      packets.push_back({source.packets[part.first_packet + k].precinct,
                         static_cast<uint16_t>(number++), static_cast<uint8_t>(k == 0), 0});
    }
    RateTilePart head{};
    uint8_t* const sod = store_sot(head.head, part, 0);
    sod[0] = kMarkerSod >> 8;
    sod[1] = kMarkerSod & 0xFF;
    parts.push_back(head);
  }
  assert(packets.size() == precincts.size());
  plan.num_parts = static_cast<uint32_t>(parts.size());
}

RateMemory::RateMemory(const RatePlan& plan, uint64_t frames, bool on_device, Carver& carver) {
  const uint64_t blocks = frames * plan.num_blocks;
  const uint64_t device_frames = on_device ? frames : 0;
  scratch = carver.take<uint8_t>(device_frames * rate_scratch_bytes(plan));
  chosen = carver.take<ChosenBlock>(on_device ? blocks : 0);
  outcomes = carver.take<RateOutcome>(frames);
  left = carver.take<double>(blocks);
  part_places = carver.take<uint32_t>(device_frames * plan.num_parts);
  packet_places = carver.take<uint32_t>(device_frames * plan.num_precincts);
  block_places = carver.take<uint32_t>(on_device ? blocks : 0);
}

uint64_t RateTables::bytes() const {
  return padded_bytes(precincts) + padded_bytes(bands) + padded_bytes(blocks) +
         padded_bytes(packets) + padded_bytes(parts);
}

void RateTables::store(uint8_t* image) const {
  image = store_array(store_array(store_array(image, precincts), bands), blocks);
  store_array(store_array(image, packets), parts);
}

RatePlan RateTables::on_device(const void* tables, const Tier1Job* jobs) const {
  const auto* at = static_cast<const uint8_t*>(tables);
  const auto next = [&at]<typename V>(const std::vector<V>& array) {
    const auto* const begin = reinterpret_cast<const V*>(at);
    at += padded_bytes(array);
    return begin;
  };
  RatePlan result = plan;
  result.precincts = next(precincts);
  result.bands = next(bands);
  result.blocks = next(blocks);
  result.packets = next(packets);
  result.parts = next(parts);
  result.jobs = jobs;
  return result;
}

}  // namespace cj2k::cuda
