// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Synthetic pictures: flat fields, fades, title cards, ramps, screens. Most of their coefficients
// are equal or zero, which never happens in photographs.
#pragma once

#include <cstdint>
#include <vector>

#include "support/picture.h"

namespace cj2k::test {

/// A picture with one value per component.
Picture flat_picture(const cj2k_params& params, const std::vector<int32_t>& values);

/// Antialiased strokes on a flat ground, in rows like lines of text. One eighth of the picture on
/// each side has no strokes.
Picture title_card(const cj2k_params& params, const std::vector<int32_t>& ground,
                   const std::vector<int32_t>& ink, uint64_t seed);

/// A ramp from `from` at the left edge to `to` at the right edge, rounded.
Picture ramp(const cj2k_params& params, double from, double to);

/// Windows like those of a desktop: flat rectangles, lines of one sample, strokes.
Picture screen(const cj2k_params& params, uint64_t seed);

}  // namespace cj2k::test
