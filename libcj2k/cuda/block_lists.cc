// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "cuda/block_lists.h"

namespace cj2k::cuda {

Tier1List list_blocks(const Tier1Layout& layout, std::span<const BlockRequest> requests,
                      const uint32_t* on_device, uint32_t* list, const std::vector<uint32_t>* share,
                      const std::vector<uint32_t>* share_weights, uint32_t* weights) {
  Tier1List result{on_device, {}};
  for (int size = 0; size < kTier1Sizes; ++size) {
    const uint32_t* const first = list;
    for (const BlockRequest& request : requests) {
      const std::span<const uint32_t> blocks = share != nullptr ? *share : request.blocks;
      for (size_t i = 0; i < blocks.size(); ++i) {
        if (layout.jobs[blocks[i]].size != size) continue;
        *list++ = request.frame * layout.num_blocks + blocks[i];
        if (share_weights != nullptr) *weights++ = (*share_weights)[i];
      }
    }
    result.counts[size] = static_cast<uint32_t>(list - first);
  }
  return result;
}

CodedBlock coded_block(const Tier1Job& job, uint32_t style, const Tier1Result& result,
                       const ListOutput& output, const CodedBlock& before) {
  CodedBlock coded{};
  coded.is_coded = true;
  coded.zero_bit_planes = static_cast<uint8_t>(job.max_bit_planes - result.bit_planes);
  coded.num_passes = result.num_passes;
  if (before.num_passes > 0) {
    coded.num_passes_resumed =
        static_cast<uint8_t>(result.num_passes - before.num_passes + before.num_passes_resumed);
  }
  coded.num_hull = result.num_hull;
  coded.planes_left = result.planes_left;
  coded.num_passes_left =
      static_cast<uint8_t>(num_passes_of(result.bit_planes) - result.num_passes);
  coded.num_bytes = result.num_bytes;
  coded.total_distortion = result.total_distortion + result.left_distortion;
  if (result.num_hull > 0) {
    coded.hull = output.hulls + result.first_hull;
    if (output.tails != nullptr) coded.tails = output.tails + result.first_hull;
    if (output.segments != nullptr) {
      coded.segments = output.segments + result.first_segment;
      coded.num_segments = static_cast<uint8_t>(num_terminated(style, result.num_passes));
    }
  }
  return coded;
}

}  // namespace cj2k::cuda
