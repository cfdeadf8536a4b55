// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "cj2k.h"
#include "coders/coded_block.h"
#include "plan/plan.h"

namespace cj2k {

/// Adds the passes and bytes of a frame's blocks to the statistics; without params.measure_mse also
/// the squared error of each component, not yet divided by its samples.
void add_block_stats(const Plan& plan, const Selection& selection, cj2k_stats* stats);

}  // namespace cj2k
