// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// One picture through the public API and back through decoders that are not ours.
#pragma once

#include <vector>

#include "support/decoders.h"
#include "support/encode.h"
#include "support/picture.h"

namespace cj2k::test {

/// Encodes, checks every length in the codestream, decodes with each decoder that can. lossless =
/// 1: the samples come back. Else: PSNR is at least `psnr_floor`, and decoders differ by no more
/// than they do on other encoders' codestreams. Failures are those of the running test.
Encoded check_roundtrip(const cj2k_params& params, const Picture& picture,
                        const std::vector<Decoder>& decoders, double psnr_floor);

/// The PSNR that a uniform quantiser of the step that `quality` names would give at this depth,
/// less a margin for what a wavelet codec does to noise and edges and for rounding to whole
/// samples.
double quality_floor(const cj2k_params& params, double quality);

inline const std::vector<Decoder> kTwoDecoders = {Decoder::kOpenJpeg, Decoder::kFfmpeg};
inline const std::vector<Decoder> kAllDecoders = {Decoder::kOpenJpeg, Decoder::kFfmpeg,
                                                  Decoder::kGrok};

}  // namespace cj2k::test
