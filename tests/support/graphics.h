// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Pictures that nobody photographed: flat fields, fades, title cards, ramps, screens. Their
// coefficients are alike or none, which photographs' never are.
#pragma once

#include <cstdint>
#include <vector>

#include "support/picture.h"

namespace cj2k::test {

/// One value per component.
Picture flat_picture(const cj2k_params& params, const std::vector<int32_t>& values);

/// Antialiased strokes, in rows like lines of text, on a flat ground. They stay clear of the edges
/// by an eighth of the picture on each side.
Picture title_card(const cj2k_params& params, const std::vector<int32_t>& ground,
                   const std::vector<int32_t>& ink, uint64_t seed);

/// From `from` on the left to `to` on the right, rounded.
Picture ramp(const cj2k_params& params, double from, double to);

/// Windows as a desktop shows them: flat rectangles, lines of one sample, strokes.
Picture screen(const cj2k_params& params, uint64_t seed);

}  // namespace cj2k::test
