// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

#include "cj2k.h"
#include "support/picture.h"

namespace cj2k::test {

/// Encodes `picture` at each target with one set of parameters. No frame exceeds its target. If the
/// picture has the bits (its size without a target is larger), at least 99.9 % of the target is
/// used. Prints the share used.
void check_targets(const cj2k_params& params, const Picture& picture,
                   const std::vector<int64_t>& targets, const std::string& name);

/// The same with max_component_bytes = target / 1.25, as digital cinema requires, and one tile-part
/// per component, so that the codestream itself shows the bytes of each component.
void check_component_caps(cj2k_params params, const Picture& picture,
                          const std::vector<int64_t>& targets, const std::string& name);

/// Bytes per frame at `mbit` Mbit/s and 24 frames/s.
inline int64_t bytes_at(int64_t mbit) { return mbit * 1000000 / 8 / 24; }

}  // namespace cj2k::test
