// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Lists of blocks for tier-1 on the device, and the CodedBlocks made from its results.
#pragma once

#include <cstdint>
#include <span>

#include "backend.h"
#include "coders/coded_block.h"
#include "cuda/tier1_coder.h"

namespace cj2k::cuda {

/// Lists the blocks of the requests by their numbers in the GOP, sorted by tier1_size. The blocks
/// of a frame stay in the order of the plan, because neighbours in a subband take about the same
/// work.
/// @param on_device  where the list will be in device memory
/// @param list       written; needs room for all blocks
/// @param share      blocks of each frame in place of those of the request
/// @param weights    written: the one of share_weights for each entry of `list`
Tier1List list_blocks(const Tier1Layout& layout, std::span<const BlockRequest> requests,
                      const uint32_t* on_device, uint32_t* list,
                      const std::vector<uint32_t>* share = nullptr,
                      const std::vector<uint32_t>* share_weights = nullptr,
                      uint32_t* weights = nullptr);

/// The results of the device for a list. segments and tails are null where there are none.
struct ListOutput {
  const HullPoint* hulls;
  const SegmentEnd* segments;
  const PassTail* tails;
};
/// Makes the CodedBlock of a block from the result of a call.
/// @param before  the block before the call
CodedBlock coded_block(const Tier1Job& job, uint32_t style, const Tier1Result& result,
                       const ListOutput& output, const CodedBlock& before);

}  // namespace cj2k::cuda
