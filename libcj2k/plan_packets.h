// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The order of the packets and their division into tile-parts (T.800 B.12, A.4.2). Used by plan.cc.
#pragma once

#include "base/log.h"
#include "base/status.h"
#include "plan.h"

namespace cj2k {

/// Fills plan->packets, tile after tile. Needs the arrays up to plan->precincts.
void add_packets(Plan* plan);

/// Fills plan->tile_parts from plan->packets.
/// @return kOk | kInvalid: a tile has more than 255 tile-parts
Status add_tile_parts(Plan* plan, const Log& log);

}  // namespace cj2k
