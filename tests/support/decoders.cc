// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "support/decoders.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "support/image_io.h"
#include "support/process.h"

namespace cj2k::test {
namespace {

const char* program_of(Decoder decoder) {
  switch (decoder) {
    case Decoder::kOpenJpeg:
      return "opj_decompress";
    case Decoder::kFfmpeg:
      return "ffmpeg";
    case Decoder::kGrok:
      return "grk_decompress";
  }
  return "";
}

/// opj_decompress and grk_decompress take three components with subsampled chroma for YCbCr and
/// turn them into RGB; one component at a time they leave alone.
bool looks_like_ycbcr(const cj2k_params& p) {
  return p.num_components == 3 && p.dx[0] == p.dy[0] && p.dx[1] != 1;
}

Decoded decode_pgx(const char* program, const TempDir& dir, const std::string& input,
                   const cj2k_params& params) {
  const Picture shape = picture_shape(params);
  const bool one_by_one = looks_like_ycbcr(params);
  Decoded result;
  Picture picture = shape;
  for (size_t c = 0; c < shape.components.size(); ++c) {
    if (one_by_one || c == 0) {
      std::vector<std::string> command = {program, "-i", input, "-o", (dir / "out.pgx").string()};
      if (one_by_one) command.insert(command.end(), {"-c", std::to_string(c)});
      const ProcessResult run = run_process(command);
      if (run.exit_code != 0) {
        result.error = std::string(program) + " ended with " + std::to_string(run.exit_code) +
                       ":\n" + run.output;
        return result;
      }
    }
    const auto plane = read_pgx(dir / ("out_" + std::to_string(one_by_one ? 0 : c) + ".pgx"));
    const ComponentPlane& expected = shape.components[c];
    if (!plane || plane->width != expected.width || plane->height != expected.height ||
        plane->depth != expected.depth || plane->is_signed != expected.is_signed) {
      result.error = std::string(program) + " wrote no component " + std::to_string(c) +
                     " of the shape expected";
      return result;
    }
    picture.components[c] = *plane;
  }
  result.picture = std::move(picture);
  return result;
}

struct FfmpegFormat {
  int word_bytes;
  bool planar;
  bool at_top;  ///< samples in the high bits of 16-bit words, else in the low bits of the deepest
                ///< component's
};

/// What the native decoder gives: packed words, or, subsampled, planes.
std::optional<FfmpegFormat> parse_format(const std::string& log) {
  const size_t line = log.find("Video: rawvideo");
  if (line == std::string::npos) return std::nullopt;
  static const std::map<std::string, FfmpegFormat> packed = {
      {"gray", {1, false, true}},    {"ya8", {1, false, true}},      {"rgb24", {1, false, true}},
      {"rgba", {1, false, true}},    {"gray16le", {2, false, true}}, {"ya16le", {2, false, false}},
      {"rgb48le", {2, false, true}}, {"rgba64le", {2, false, true}}};
  const std::string text = log.substr(line, log.find('\n', line) - line);
  for (size_t at = text.find(", "); at != std::string::npos; at = text.find(", ", at + 1)) {
    const size_t end = text.find_first_of("(,", at + 2);
    const std::string name = text.substr(at + 2, end - at - 2);
    if (const auto found = packed.find(name); found != packed.end()) return found->second;
    if (name.starts_with("yuv")) return FfmpegFormat{name.ends_with("le") ? 2 : 1, true, false};
  }
  return std::nullopt;
}

Decoded decode_ffmpeg(const TempDir& dir, const std::string& input, const cj2k_params& params) {
  const std::string output = (dir / "out.raw").string();
  const ProcessResult run =
      run_process({"ffmpeg", "-hide_banner", "-nostdin", "-threads", "1", "-c:v", "jpeg2000", "-i",
                   input, "-frames:v", "1", "-f", "rawvideo", output});
  Decoded result;
  const auto format = parse_format(run.output);
  const auto bytes = read_file(output);
  if (run.exit_code != 0 || !format || !bytes) {
    result.error = "ffmpeg ended with " + std::to_string(run.exit_code) + ":\n" + run.output;
    return result;
  }
  // Messages of the decoder at error level; its exit code proves nothing.
  for (const char* sign : {"Invalid data", "rror while decoding", "bitstream end", "cblk data"}) {
    if (run.output.find(sign) == std::string::npos) continue;
    result.error = "ffmpeg complained:\n" + run.output;
    return result;
  }
  Picture picture = picture_shape(params);
  const size_t n = picture.components.size(), word = static_cast<size_t>(format->word_bytes);
  int32_t deepest = 0;
  for (const ComponentPlane& plane : picture.components) deepest = std::max(deepest, plane.depth);
  size_t base = 0;
  for (size_t c = 0; c < n; ++c) {
    ComponentPlane& plane = picture.components[c];
    const int32_t top = word == 1 ? 8 : format->at_top ? 16 : deepest;
    const size_t step = format->planar ? word : n * word;
    if (!format->planar) base = c * word;
    if (bytes->size() < base + (plane.samples.size() - 1) * step + word) {
      result.error =
          "ffmpeg wrote only " + std::to_string(bytes->size()) + " bytes:\n" + run.output;
      return result;
    }
    for (size_t i = 0; i < plane.samples.size(); ++i) {
      const uint8_t* p = bytes->data() + base + i * step;
      plane.samples[i] = (word == 1 ? p[0] : p[0] | p[1] << 8) >> (top - plane.depth);
      if (plane.is_signed)
        plane.samples[i] += plane.min_value();  // it shifts signed samples as if they were unsigned
    }
    base += plane.samples.size() * word;
  }
  result.picture = std::move(picture);
  return result;
}

}  // namespace

const char* decoder_name(Decoder decoder) {
  switch (decoder) {
    case Decoder::kOpenJpeg:
      return "OpenJPEG";
    case Decoder::kFfmpeg:
      return "FFmpeg";
    case Decoder::kGrok:
      return "Grok";
  }
  return "";
}

bool use_decoder(Decoder decoder) {
  static std::map<Decoder, bool> known;
  if (const auto found = known.find(decoder); found != known.end()) return found->second;
  const bool present = have_program(program_of(decoder));
  const char* allowed = std::getenv("CJ2K_ALLOW_MISSING_DECODERS");
  if (!present && (allowed == nullptr || std::string(allowed) != "1")) {
    FAIL(program_of(decoder),
         " is not installed; CJ2K_ALLOW_MISSING_DECODERS=1 goes on without it");
  }
  if (!present)
    std::printf("SKIPPED: %s is not installed, nothing is decoded by it\n", program_of(decoder));
  return known[decoder] = present;
}

Decoded decode(Decoder decoder, const std::vector<uint8_t>& bytes, const cj2k_params& params) {
  const TempDir dir;
  const std::string input =
      (dir / (params.format == CJ2K_FORMAT_JP2 ? "in.jp2" : "in.j2k")).string();
  if (!write_file(input, bytes)) return {std::nullopt, "cannot write " + input};
  if (decoder == Decoder::kFfmpeg) return decode_ffmpeg(dir, input, params);
  return decode_pgx(program_of(decoder), dir, input, params);
}

const char* cannot_decode(Decoder decoder, const cj2k_params& p) {
  struct Row {
    Decoder decoder;
    bool (*applies)(const cj2k_params&);
    const char* reason;
  };
  static const Row table[] = {
      {Decoder::kGrok, looks_like_ycbcr, "its program turns subsampled components into RGB"},
  };
  for (const Row& row : table) {
    if (row.decoder == decoder && row.applies(p)) return row.reason;
  }
  return nullptr;
}

}  // namespace cj2k::test
