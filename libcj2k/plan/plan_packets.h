// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The order of the packets and their division into tile-parts (T.800 B.12, A.4.2). Used by plan.cc.
#pragma once

#include <cstdint>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "plan/plan.h"

namespace cj2k {

/// Fills plan->packets, tile after tile. Needs the arrays up to plan->precincts.
/// @return the first packet of each entry of `poc` in each tile, rising; empty without poc
std::vector<uint64_t> add_packets(Plan* plan);

/// Fills plan->tile_parts from plan->packets.
/// @param changes  what add_packets has returned
/// @return kOk | kInvalid: a tile has more than 255 tile-parts
Status add_tile_parts(Plan* plan, const std::vector<uint64_t>& changes, const Log& log);

}  // namespace cj2k
