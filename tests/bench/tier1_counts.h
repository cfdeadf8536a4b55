// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// How many MQ decisions each pass of each code-block takes, counted in the CPU encoder.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/ebcot/coding_passes.h"
#include "support/picture.h"

namespace cj2k::bench {

struct BlockCounts {
  std::vector<uint16_t> passes;    ///< decisions of each pass that the planes of the block have
  std::vector<CodingPass> coding;  ///< [passes.size()] what each pass gives when all are coded
  uint16_t num_coded;              ///< passes that the encoder coded before the block first paused
  bool sampled;        ///< the block predicted the threshold, all planes of it are coded
  uint16_t threshold;  ///< log-slope at which the block might pause; 0: none
  double weight;       ///< Subband::distortion_weight
};
/// The blocks of one frame, in the order of the plan.
using FrameCounts = std::vector<BlockCounts>;

/// Encodes the pictures, and counts.
/// @param settings  parameters and their values, as text
std::vector<FrameCounts> count_decisions(
    const std::vector<test::Picture>& pictures,
    const std::vector<std::pair<std::string, std::string>>& settings);

}  // namespace cj2k::bench
