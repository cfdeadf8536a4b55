// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "roundtrip/roundtrip.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "support/codestream.h"
#include "support/image_io.h"
#include "tools/check/check.h"

namespace cj2k::test {
namespace {

/// FFmpeg rounds the 9/7 differently from OpenJPEG: 1 was the largest difference seen on OpenJPEG's
/// own codestreams of up to 12 bits.
constexpr int32_t kDecoderDifference = 1;
constexpr int32_t kDecoderDifference16Bit = 4;
constexpr double kQualityMarginDb = 6.0;
/// What coefficients that saturate with one guard bit (T.800 E.1) cost on noise and edges.
constexpr double kSaturationMarginDb = 12.0;
/// In a picture, or tiles, of so few samples the mean of the squared errors scatters, and most of them are at an
/// edge, where the synthesis of the 9/7 amplifies errors.
constexpr int64_t kTinyPictureSamples = 64;
constexpr double kTinyPictureMarginDb = 6.0;

/// Whether some tile has a resolution with one row or column, at an odd place. The 5/3 halves its coefficients (T.800
/// F.3.7), and if they are cut to odd numbers, OpenJPEG rounds towards 0, OpenJPH and FFmpeg down.
bool has_lone_odd_line(const cj2k_params& p) {
  const int levels = p.levels < 0 ? 5 : p.levels;
  const auto has = [levels](int32_t offset, int32_t size, int32_t tile, int32_t tile_offset,
                            int32_t step) {
    const int64_t end = int64_t{offset} + size;
    if (tile == 0) tile = static_cast<int32_t>(end - tile_offset);
    for (int64_t at = tile_offset; at < end; at += tile) {
      const int64_t begin = std::max<int64_t>(at, offset), stop = std::min(at + tile, end);
      for (int level = 0; level < levels; ++level) {
        const int64_t unit = int64_t{step} << level;
        const int64_t first = (begin + unit - 1) / unit;
        if ((stop + unit - 1) / unit == first + 1 && first % 2 == 1) return true;
      }
    }
    return false;
  };
  for (int c = 0; c < p.num_components; ++c) {
    if (has(p.image_offset_x, p.width, p.tile_width, p.tile_offset_x, p.dx[c]) ||
        has(p.image_offset_y, p.height, p.tile_height, p.tile_offset_y, p.dy[c]))
      return true;
  }
  return false;
}

}  // namespace

double quality_floor(const cj2k_params& params, double quality) {
  const bool transform = params.num_components >= 3 && params.mct != CJ2K_MCT_OFF;
  double floor = 999;
  for (int c = 0; c < params.num_components; ++c) {
    const double peak = static_cast<double>((1 << params.depth[c]) - 1);
    // At least the base step. With a colour transform the errors of three components add up.
    const double base =
        (params.quant_step > 0 ? params.quant_step : 1) * (transform ? std::sqrt(3) : 1);
    const double step = std::max(base, quality * peak / 255);
    floor = std::min(floor, 10 * std::log10(12 * peak * peak / (step * step)));
  }
  const bool saturates = params.guard_bits == 1 && params.wavelet != CJ2K_WAVELET_53;
  const auto side = [](int32_t picture, int32_t tile) {
    return int64_t{tile > 0 ? std::min(tile, picture) : picture};
  };
  const bool is_tiny =
      side(params.width, params.tile_width) * side(params.height, params.tile_height) <
      kTinyPictureSamples;
  return floor - kQualityMarginDb - (saturates ? kSaturationMarginDb : 0) -
         (is_tiny ? kTinyPictureMarginDb : 0);
}

Encoded check_roundtrip(const cj2k_params& params, const Picture& picture,
                        const std::vector<Decoder>& decoders, double psnr_floor) {
  const Encoded encoded = encode(params, picture);
  const int least_proof = params.verify == 0 ? 0 : params.lossless != 0 ? 2 : 1;
  INFO("parameters: ", describe(params));
  INFO("log: ", encoded.log);
  CHECK(encoded.status == CJ2K_OK);
  if (encoded.status != CJ2K_OK) return encoded;
  CHECK(encoded.stats.verified >= least_proof);
  CHECK(encoded.stats.bytes == static_cast<int64_t>(encoded.bytes.size()));
  // Keeps the file, to examine a failure with the decoders' own tools.
  if (const char* folder = std::getenv("CJ2K_KEEP")) {
    static int number = 0;
    const char* suffix = params.format == CJ2K_FORMAT_JP2 ? ".jp2" : ".j2k";
    write_file(std::filesystem::path(folder) / (std::to_string(number++) + suffix), encoded.bytes);
  }
  check_codestream(encoded.bytes);
  cj2k_check::Options rules;
  rules.profile = "none";
  const cj2k_check::FileResult checked = cj2k_check::check_bytes(encoded.bytes, rules);
  CHECK_MESSAGE(checked.report.findings().empty(), cj2k_check::describe(checked, true));

  std::optional<Picture> first;
  for (Decoder decoder : decoders) {
    if (cannot_decode(decoder, params) != nullptr || !use_decoder(decoder)) continue;
    INFO("decoder: ", std::string(decoder_name(decoder)));
    Decoded decoded = decode(decoder, encoded.bytes, params);
    INFO("error: ", decoded.error);
    // With one tile of one sample and poc, all decoders may refuse. Then cj2k-check alone is the judge.
    if (!decoded.picture && known_refusal(decoder, decoded.error) != nullptr) continue;
    CHECK(decoded.picture.has_value());
    if (!decoded.picture) continue;
    const bool lossless = params.lossless != 0;
    const int32_t difference = max_difference(picture, *decoded.picture);
    CHECK(difference >= 0);
    if (lossless) {
      INFO("first difference: ",
           difference == 0 ? std::string("none") : first_difference(picture, *decoded.picture));
      CHECK(difference == 0);
    } else if (difference >= 0) {
      CHECK(psnr(picture, *decoded.picture) >= psnr_floor);
    }
    if (first && !lossless) {
      const int32_t deepest = *std::max_element(params.depth, params.depth + params.num_components);
      const bool reversible = params.wavelet == CJ2K_WAVELET_53;
      const int32_t allowed = reversible     ? (has_lone_odd_line(params) ? 4 : 0)
                              : deepest > 12 ? kDecoderDifference16Bit
                                             : kDecoderDifference;
      INFO("first difference of the decoders: ", first_difference(*first, *decoded.picture));
      CHECK(max_difference(*first, *decoded.picture) <= allowed);
    }
    if (!first) first = std::move(decoded.picture);
  }
  return encoded;
}

}  // namespace cj2k::test
