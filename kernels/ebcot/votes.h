// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Votes on steps (coders/coded_before.h) of blocks that are quantised.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "kernels/ebcot/tier1.h"

namespace cj2k::cuda {

/// The votes of the blocks of a list, which are quantised with the step set 0: step_vote of
/// coders/coded_before.h; kNone for blocks of LL.
/// @param votes  [list.count()] StepVote, in the order of the list
Status tier1_votes(simt::Stream& stream, const Tier1Buffers& buffers, const Tier1List& list,
                   uint8_t* votes);

}  // namespace cj2k::cuda
