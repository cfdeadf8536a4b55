// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Decoders that are not ours, run as programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cj2k.h"
#include "support/picture.h"

namespace cj2k::test {

enum class Decoder {
  kOpenJpeg,  ///< opj_decompress
  kFfmpeg,    ///< FFmpeg's own decoder (not its libopenjpeg wrapper)
  kGrok,      ///< grk_decompress, a fork of OpenJPEG
};
const char* decoder_name(Decoder decoder);

/// False where the program is missing and CJ2K_ALLOW_MISSING_DECODERS=1 allows that: the caller
/// leaves the check out, which is printed. Where it is not allowed the running test fails.
bool use_decoder(Decoder decoder);

struct Decoded {
  std::optional<Picture> picture;
  std::string error;  ///< why there is none
};

/// Decodes a codestream or JP2 file made with `params` (which say what shape to expect). Warnings
/// are no errors.
Decoded decode(Decoder decoder, const std::vector<uint8_t>& bytes, const cj2k_params& params);

/// Why the decoder (FFmpeg 5.1, OpenJPEG 2.5.0, Grok 10.0) cannot give back the samples of a legal
/// picture made with `params`; null where it can. The one list of what is left out of comparisons.
const char* cannot_decode(Decoder decoder, const cj2k_params& params);

/// Likewise where the decoder itself says that it cannot, in `error`; null where that is a failure.
/// To be trusted only where another decoder gives back the picture.
const char* known_refusal(Decoder decoder, const std::string& error);

}  // namespace cj2k::test
