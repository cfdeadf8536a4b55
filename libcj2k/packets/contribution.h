// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What a code-block adds to a packet header if the frame has one layer: its bits depend on the
// block and the chosen hull point alone, so they are made once and not at each measurement.
#pragma once

#include <cstdint>

#include "coders/coded_block.h"
#include "core/contribution_code.h"

namespace cj2k {

/// @param points  hull points of the block that are in; 0: the block is not in the packet
Contribution contribution_of(const CodedBlock& block, uint32_t points);

}  // namespace cj2k
