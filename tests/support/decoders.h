// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Other projects' decoders, run as programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cj2k.h"
#include "support/picture.h"

namespace cj2k::test {

enum class Decoder {
  kOpenJpeg,   ///< opj_decompress
  kFfmpeg,     ///< FFmpeg's own decoder (not its libopenjpeg wrapper)
  kGrok,       ///< grk_decompress, a fork of OpenJPEG
  kOpenJph,    ///< ojph_expand: Part 15 alone
  kOpenHtj2k,  ///< open_htj2k_dec
};
const char* decoder_name(Decoder decoder);

/// @return false if the program is missing and CJ2K_ALLOW_MISSING_DECODERS=1 allows that. This is
///         printed, and the caller skips the check. If it is not allowed, the running test fails.
bool use_decoder(Decoder decoder);

struct Decoded {
  std::optional<Picture> picture;
  std::string error;  ///< why there is no picture
};

/// Decodes a codestream or JP2 file that was made with `params`, which give the expected shape.
/// Warnings are not errors.
/// @param layers   that are decoded, with OpenJPEG and Grok; 0: all
/// @param program  to run; empty: the one in PATH
Decoded decode(Decoder decoder, const std::vector<uint8_t>& bytes, const cj2k_params& params,
               int layers = 0, const std::string& program = "");

/// The reason why the decoder (FFmpeg 5.1, OpenJPEG 2.5.0, Grok 10.0) cannot return the samples of
/// a legal picture made with `params`; null if it can. This is the only list of what comparisons
/// leave out.
const char* cannot_decode(Decoder decoder, const cj2k_params& params);

/// The reason why `error`, a message of the decoder, is a refusal that is known; null if it is a
/// failure.
const char* known_refusal(Decoder decoder, const std::string& error);

}  // namespace cj2k::test
