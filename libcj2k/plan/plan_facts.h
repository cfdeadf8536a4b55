// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What follows from the parameters of a plan as a whole, so that no stage works it out again. Used
// by plan.cc.
#pragma once

#include "plan/plan.h"

namespace cj2k {

/// Fills plan->rsiz, plan->magnitude_bound, plan->stop and plan->has_rdoq. Needs plan->blocks.
void add_facts(Plan* plan);

}  // namespace cj2k
