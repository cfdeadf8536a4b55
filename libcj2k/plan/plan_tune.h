// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What squared errors of a subband count in rate control with tune = visual. Used by plan_quant.cc.
#pragma once

#include "cj2k.h"
#include "core/orientation.h"

namespace cj2k {

/// The factor of a subband: its visual weight (plan_visual.h) to the power 2 * visual_strength; 1 with
/// tune = mse, for LL and for opacity. Subsampling counts as levels: a chroma plane of half the width
/// has one level less along rows. The viewing distance also counts as levels: twice as far is one
/// level finer. Weights between two levels lie on a line in log(weight); below the finest level,
/// its weight is kept.
/// @param params   resolved
/// @param use_mct  components 1 and 2 are colour differences, like those of colorspace sycc.
///                 Without them, and with X'Y'Z', all components have the weights of luma
double tune_weight(const cj2k_params& params, bool use_mct, int component, int level,
                   Orientation orientation);

}  // namespace cj2k
