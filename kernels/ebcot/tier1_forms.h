// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The forms of tier-1 that have a file of their own (make_tier1_coder of tier1.h has the rest).
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/ebcot/tier1.h"

namespace cj2k::cuda {

/// Of the fused form, for any list: how much of each size is taken.
inline constexpr uint64_t kFusedScratchBytes = kTier1Sizes * sizeof(uint32_t);
/// @param max_thread_blocks  for tests: as on a device that runs no more at a time; 0: as many as
///                           it runs
std::unique_ptr<Tier1Coder> make_fused_coder(uint32_t style, bool reversible,
                                             uint32_t max_thread_blocks = 0);

/// How the fused form spreads `count` blocks of one tier1_size: as many thread blocks as the device
/// runs at a time, each with as many slots in use as it takes, fewer than there are where the list
/// is short.
struct FusedGrid {
  uint32_t thread_blocks;
  uint32_t num_slots;  ///< in use, of each group
  uint32_t max_slots;  ///< that a group has
};
FusedGrid fused_grid(int size, uint32_t count, int num_multiprocessors, uint32_t max_thread_blocks);

}  // namespace cj2k::cuda
