// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Blocks on their way into tier-1 on the device, and what comes back of each.
#pragma once

#include <cstdint>
#include <span>

#include "backend.h"
#include "cuda/tier1_coder.h"
#include "stages/coded_block.h"

namespace cj2k::cuda {

/// Numbers in the GOP of the requests' blocks, by size of block. Those of a frame stay in the order
/// of the plan: neighbours of a subband take about the same work.
/// @param list       room for all of them
/// @param on_device  where they go to
Tier1List list_blocks(const Tier1Layout& layout, std::span<const BlockRequest> requests,
                      const uint32_t* on_device, uint32_t* list);
/// The same blocks of several frames, likewise.
/// @param weights       of the blocks, or empty
/// @param list_weights  [as list] theirs in its order
Tier1List list_blocks(const Tier1Layout& layout, std::span<const uint32_t> frames,
                      std::span<const uint32_t> blocks, std::span<const uint32_t> weights,
                      const uint32_t* on_device, uint32_t* list, uint32_t* list_weights);

/// What the device gave for a list; segments and tails null where there are none.
struct ListOutput {
  const HullPoint* hulls;
  const SegmentEnd* segments;
  const PassTail* tails;
};
/// The block after a call that coded it from the state `before`.
CodedBlock coded_block(const Tier1Job& job, uint32_t style, const Tier1Result& result,
                       const ListOutput& output, const CodedBlock& before);

}  // namespace cj2k::cuda
