// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "cj2k.h"
#include "coders/coded_block.h"
#include "plan/plan.h"

namespace cj2k {

/// Adds what a frame's blocks say: passes, bytes, and, unless params.measure_mse, the squared error of
/// each component, which is not divided by its samples yet.
void add_block_stats(const Plan& plan, const Selection& selection, cj2k_stats* stats);

}  // namespace cj2k
