// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What decoders must return for synthetic pictures. graphics.cc tests some of them quickly,
// graphics_slow.cc all of them.
#pragma once

#include <cstdint>
#include <vector>

#include "support/encode.h"
#include "support/picture.h"

namespace cj2k::test {

/// A picture with one value per component, decoded by OpenJPEG. Every sample differs by 1 at most,
/// under any cap above 2 kB, and stats.mse matches the decoded picture.
void check_flat(cj2k_params params, const std::vector<int32_t>& values, int64_t cap);

/// Encodes under a cap with a measured MSE, and decodes with OpenJPEG. Either the cap is filled or
/// every plane of every block is coded, and stats.mse matches the decoded picture.
/// @return the decoded picture; without components on failure
Picture check_capped(cj2k_params params, const Picture& picture, int64_t cap);

/// Compares stats.mse with the decoded picture: within 1 % or 0.01 for each component.
void check_mse(const cj2k_stats& stats, const Picture& picture, const Picture& decoded);

}  // namespace cj2k::test
