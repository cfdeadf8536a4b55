// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The forms of tier-1 that have a file of their own (make_tier1_coder of tier1.h has the rest).
#pragma once

#include <cstdint>
#include <memory>

#include "tier1.h"

namespace cj2k::cuda {

std::unique_ptr<Tier1Coder> make_fused_coder(uint32_t style, bool reversible);

}  // namespace cj2k::cuda
