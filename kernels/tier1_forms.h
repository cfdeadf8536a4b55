// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The forms of tier-1 that have a file of their own (make_tier1_coder of tier1.h has the rest).
#pragma once

#include <cstdint>
#include <memory>

#include "tier1.h"

namespace cj2k::cuda {

/// Of the fused form, for any list: how much of each size is taken.
inline constexpr uint64_t kFusedScratchBytes = kTier1Sizes * sizeof(uint32_t);
std::unique_ptr<Tier1Coder> make_fused_coder(uint32_t style, bool reversible);

}  // namespace cj2k::cuda
