// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The order of packets and their split into tile-parts (T.800 B.12, A.4.2). For plan.cc.
#pragma once

#include "base/log.h"
#include "base/status.h"
#include "plan.h"

namespace cj2k {

/// Fills plan->packets from everything up to plan->precincts, tile after tile.
void add_packets(Plan* plan);

/// Fills plan->tile_parts from plan->packets.
/// @return kOk | kInvalid: a tile of more than 255 tile-parts
Status add_tile_parts(Plan* plan, const Log& log);

}  // namespace cj2k
