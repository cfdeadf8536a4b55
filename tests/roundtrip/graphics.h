// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What pictures that nobody photographed must come back as (graphics.cc: some of them, quickly;
// graphics_slow.cc: all).
#pragma once

#include <cstdint>
#include <vector>

#include "support/encode.h"
#include "support/picture.h"

namespace cj2k::test {

/// One value per component through OpenJPEG: every sample is off by 1 at most, under any cap above
/// 2 kB, and stats.mse is the truth.
void check_flat(cj2k_params params, const std::vector<int32_t>& values, int64_t cap);

/// Encodes under a cap, measured, and decodes with OpenJPEG: the cap is filled, or every plane of
/// every block is coded; stats.mse is the truth.
/// @return the decoded picture, no components on failure
Picture check_capped(cj2k_params params, const Picture& picture, int64_t cap);

/// stats.mse against what was decoded: within 1 % or 0.01 for each component.
void check_mse(const cj2k_stats& stats, const Picture& picture, const Picture& decoded);

}  // namespace cj2k::test
