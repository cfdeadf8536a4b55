// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace cj2k {

/// What the host needs of a code-block whose hull point a device has chosen: where its bytes are,
/// and what the statistics say of it. With a Contribution (stages/contribution.h) it stands for the
/// CodedBlock.
struct FinalBlock {
  double left_distortion;  ///< CodedBlock::total_distortion without what the chosen passes remove
  uint32_t first;          ///< where its chosen bytes begin, in units of 16 bytes
  uint32_t num_bytes;      ///< CodedBlock::num_bytes
  uint8_t passes;          ///< of the chosen point; 0: the block is not in
  uint8_t num_passes, num_passes_resumed, num_passes_left;  ///< as in CodedBlock
};

}  // namespace cj2k
