// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// How well the eye sees errors in each subband, and the steps of the parameter qfactor.
#pragma once

#include "cj2k.h"
#include "core/orientation.h"

namespace cj2k {

/// What a component shows.
enum class Shown { kLuma, kBlueDifference, kRedDifference };

/// @param use_mct  the ICT or RCT is on
Shown shown_by(const cj2k_params& params, bool use_mct, int component);

/// The visual weight of amplitudes in a subband: 1 where the eye is most sensitive, less elsewhere.
/// That of the low-pass band is 1. Chroma that is subsampled has, along that axis, the weights of the
/// full grid at lower frequencies.
/// @param level   decomposition level, 1 .. 32
/// @param dx, dy  subsampling of the component
double visual_weight(Shown shown, int level, Orientation orientation, int dx, int dy);

/// What qfactor asks for.
struct QFactorScale {
  double step;  ///< of luma with weight 1, error-normalised, as a share of the nominal range
  double weight_power;  ///< how far the weights count: 1 = in full, 0 = not at all
};
/// @param qfactor  1 .. 100
/// @param depth    bits per sample
QFactorScale qfactor_scale(int qfactor, int depth);

/// The step of a subband in LSB of the deepest component, error-normalised: quant_step, or that of
/// qfactor.
double band_step(const cj2k_params& params, bool use_mct, int component, int level,
                 Orientation orientation);

}  // namespace cj2k
