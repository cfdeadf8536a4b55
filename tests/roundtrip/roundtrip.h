// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// One picture through the public API and back through other projects' decoders.
#pragma once

#include <vector>

#include "support/decoders.h"
#include "support/encode.h"
#include "support/picture.h"

namespace cj2k::test {

/// Encodes, checks every length in the codestream, also by the rules of cj2k-check, and decodes
/// with each decoder that can. If lossless = 1 the samples must come back. Otherwise the PSNR must
/// be at least `psnr_floor`, and decoders may differ by no more than they do on other encoders'
/// codestreams. A failure fails the running test.
Encoded check_roundtrip(const cj2k_params& params, const Picture& picture,
                        const std::vector<Decoder>& decoders, double psnr_floor);

/// The PSNR of a uniform quantiser with the step of `quality` at this depth, less a margin for the
/// effect of a wavelet codec on noise and edges, and for rounding to whole samples.
double quality_floor(const cj2k_params& params, double quality);

inline const std::vector<Decoder> kTwoDecoders = {Decoder::kOpenJpeg, Decoder::kFfmpeg};
inline const std::vector<Decoder> kAllDecoders = {Decoder::kOpenJpeg, Decoder::kFfmpeg,
                                                  Decoder::kGrok};
inline const std::vector<Decoder> kHtDecoders = {Decoder::kOpenJpeg, Decoder::kOpenJph};

}  // namespace cj2k::test
