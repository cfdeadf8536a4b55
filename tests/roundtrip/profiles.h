// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What a codestream of a profile must keep, measured on its bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "cj2k.h"

namespace cj2k::test {

/// The largest and the smallest numbers of bytes seen.
struct CapUse {
  int64_t most_frame = 0, least_frame = INT64_MAX;
  int64_t most_part = 0;       ///< Psot
  int64_t most_component = 0;  ///< sum of the Psot of a component
};

/// Checks the bytes of a cinema frame against caps as verifiers measure them: the whole packet,
/// each tile-part with its header, and the tile-parts of a component together.
void check_caps(const std::vector<uint8_t>& bytes, int64_t frame_cap, int64_t component_cap,
                CapUse* use);

/// A cinema profile at this size and frame rate.
cj2k_params cinema_params(const char* profile, int32_t width, int32_t height,
                          const char* frame_rate);

}  // namespace cj2k::test
