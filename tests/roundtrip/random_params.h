// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Random legal parameters, for tests of all of them together.
#pragma once

#include "cj2k.h"
#include "support/picture.h"

namespace cj2k::test {

/// A number that the user of the test has set.
int from_environment(const char* name, int otherwise);

void choose_components(cj2k_params& p, Random& random);
/// Size, offsets and tiles.
void choose_grid(cj2k_params& p, Random& random);
/// Transform, code-blocks, packets and how it runs; not how much is coded.
void choose_coding(cj2k_params& p, Random& random);
/// Regions, rates of layers, padding, opacity, comments.
void choose_rest(cj2k_params& p, Random& random);
/// Takes away what coder = ht excludes.
void choose_ht(cj2k_params& p);
/// Sets what CJ2K_RANDOM_RESET names, separated by commas, to its default: by it tests/farm/configs.py looks for
/// the few parameters that a failure needs.
void reset_some(cj2k_params& p);

}  // namespace cj2k::test
