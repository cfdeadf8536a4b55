// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "support/decoders.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
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
    case Decoder::kOpenJph:
      return "ojph_expand";
    case Decoder::kOpenHtj2k:
      return "open_htj2k_dec";
  }
  return "";
}

bool subsampled_alike(const cj2k_params& p) {
  for (int c = 1; c < p.num_components; ++c) {
    if (p.dx[c] != p.dx[0] || p.dy[c] != p.dy[0]) return false;
  }
  return true;
}

/// The colour space that a JP2 file declares.
cj2k_colorspace named_space(const cj2k_params& p) {
  if (p.colorspace != CJ2K_COLOR_AUTO) return p.colorspace;
  if (p.num_components - (p.alpha ? 1 : 0) < 3) return CJ2K_COLOR_GRAY;
  const bool alike =
      p.dx[1] == p.dx[0] && p.dx[2] == p.dx[0] && p.dy[1] == p.dy[0] && p.dy[2] == p.dy[0];
  return alike ? CJ2K_COLOR_SRGB : CJ2K_COLOR_SYCC;
}

/// opj_decompress and grk_decompress convert to RGB what a JP2 file declares as sYCC, and three
/// components with subsampled chroma. They leave a single component as it is.
bool looks_like_ycbcr(const cj2k_params& p) {
  if (p.format == CJ2K_FORMAT_JP2 && named_space(p) == CJ2K_COLOR_SYCC) return true;
  return p.num_components == 3 && p.dx[0] == p.dy[0] && p.dx[1] != 1 && !subsampled_alike(p);
}

/// An entry of `poc` meets packets that an entry before it has, or begins before that one.
bool has_poc_that_goes_back(const cj2k_params& p) {
  bool met[CJ2K_MAX_COMPONENTS][CJ2K_MAX_RESOLUTIONS] = {};
  for (int i = 0; i < p.num_poc; ++i) {
    if (i > 0 && (p.poc[i].resolution_begin < p.poc[i - 1].resolution_begin ||
                  p.poc[i].component_begin < p.poc[i - 1].component_begin)) {
      return true;
    }
    for (int c = p.poc[i].component_begin; c < p.poc[i].component_end; ++c) {
      for (int r = p.poc[i].resolution_begin; r < p.poc[i].resolution_end; ++r) {
        if (met[c][r]) return true;
        met[c][r] = true;
      }
    }
  }
  return false;
}

/// AUTO: as without a profile.
int levels_of(const cj2k_params& p) { return p.levels < 0 ? 5 : p.levels; }

bool has_layers(const cj2k_params& p) { return p.layers > 1; }

bool has_poc(const cj2k_params& p) { return p.num_poc > 0; }

bool has_region(const cj2k_params& p) { return p.num_roi > 0; }

/// More than one level of the 9/7 on a lone row and column.
bool has_levels_of_one_sample_97(const cj2k_params& p) {
  const int32_t width = p.tile_width > 0 ? std::min(p.tile_width, p.width) : p.width;
  const int32_t height = p.tile_height > 0 ? std::min(p.tile_height, p.height) : p.height;
  return p.lossless == 0 && p.wavelet != CJ2K_WAVELET_53 &&
         std::max(width, height) < int64_t{1} << std::max(levels_of(p) - 1, 0);
}

bool has_region_and_bypass(const cj2k_params& p) {
  return p.num_roi > 0 && (p.cblk_style & CJ2K_STYLE_BYPASS) != 0;
}

/// A region whose shift and bit-planes together are more than 27.
bool has_deep_region(const cj2k_params& p) {
  if (p.num_roi == 0) return false;
  const int32_t deepest = *std::max_element(p.depth, p.depth + p.num_components);
  const bool reversible = p.lossless != 0 || p.wavelet == CJ2K_WAVELET_53;
  return !reversible || deepest > 8 || p.guard_bits > 3 || p.roi[0].shift != 0;
}

/// @param layers      that are decoded; 0: all
/// @param one_by_one  a component in each run
/// @param digits      of a component's number in a file name
Decoded decode_pgx(const std::string& program, const TempDir& dir, const std::string& input,
                   const cj2k_params& params, int layers, bool one_by_one, size_t digits) {
  const Picture shape = picture_shape(params);
  Decoded result;
  Picture picture = shape;
  std::string printed;
  for (size_t c = 0; c < shape.components.size(); ++c) {
    if (one_by_one || c == 0) {
      std::vector<std::string> command = {program, "-i", input, "-o", (dir / "out.pgx").string()};
      if (layers > 0) command.insert(command.end(), {"-l", std::to_string(layers)});
      if (one_by_one) command.insert(command.end(), {"-c", std::to_string(c)});
      const ProcessResult run = run_process(command);
      if (run.exit_code != 0) {
        result.error =
            program + " ended with " + std::to_string(run.exit_code) + ":\n" + run.output;
        return result;
      }
      printed = run.output;
    }
    const std::string number = std::to_string(one_by_one ? 0 : c);
    const auto plane =
        read_pgx(dir / ("out_" + std::string(digits - number.size(), '0') + number + ".pgx"));
    const ComponentPlane& expected = shape.components[c];
    if (!plane || plane->width != expected.width || plane->height != expected.height ||
        plane->depth != expected.depth || plane->is_signed != expected.is_signed) {
      result.error = program + " wrote no component " + std::to_string(c) +
                     " of the shape expected:\n" + printed;
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
  /// Samples are in the high bits of 16-bit words; false: in the low bits of the deepest
  /// component's words.
  bool at_top;
};

/// The format that the native decoder returns: packed words, or planes if subsampled.
std::optional<FfmpegFormat> parse_format(const std::string& log) {
  const size_t line = log.find("Video: rawvideo");
  if (line == std::string::npos) return std::nullopt;
  static const std::map<std::string, FfmpegFormat> packed = {
      {"gray", {1, false, true}},    {"ya8", {1, false, true}},      {"rgb24", {1, false, true}},
      {"rgba", {1, false, true}},    {"gray16le", {2, false, true}}, {"ya16le", {2, false, false}},
      {"rgb48le", {2, false, true}}, {"rgba64le", {2, false, true}}, {"xyz12le", {2, false, true}}};
  const std::string text = log.substr(line, log.find('\n', line) - line);
  for (size_t at = text.find(", "); at != std::string::npos; at = text.find(", ", at + 1)) {
    const size_t end = text.find_first_of("(,", at + 2);
    const std::string name = text.substr(at + 2, end - at - 2);
    if (const auto found = packed.find(name); found != packed.end()) return found->second;
    if (name.starts_with("yuv")) return FfmpegFormat{name.ends_with("le") ? 2 : 1, true, false};
  }
  return std::nullopt;
}

/// FFmpeg 5.1 has a fixed set of formats:
/// - grey and RGB in full resolution, or with 8 bits if all components have the same subsampling;
/// - YCbCr as 4:2:2 and 4:2:0, with 8 bits also 4:4:0, 4:1:1 and 4:1:0;
/// - no YCbCr if a JP2 file declares RGB or grey.
bool lacks_pixel_format(const cj2k_params& p) {
  const int n = p.num_components;
  const int32_t deepest = *std::max_element(p.depth, p.depth + n);
  if (subsampled_alike(p)) return p.dx[0] * p.dy[0] != 1 && (n == 4 || deepest != 8);
  if (p.format == CJ2K_FORMAT_JP2 && named_space(p) != CJ2K_COLOR_SYCC) return true;
  if (n < 3 || p.dx[0] * p.dy[0] != 1 || p.dx[1] != p.dx[2] || p.dy[1] != p.dy[2]) return true;
  if (n == 4 && p.dx[3] * p.dy[3] != 1) return true;
  const bool common = p.dx[1] == 2 && p.dy[1] <= 2;
  const bool rare = (p.dx[1] == 4 && p.dy[1] != 2) || (p.dx[1] == 1 && p.dy[1] == 2);
  return !common && !(rare && n == 3 && deepest <= 8);
}

bool is_by_position(const cj2k_params& p) {
  return p.progression >= CJ2K_RPCL || std::any_of(p.poc, p.poc + p.num_poc, [](const auto& entry) {
           return entry.progression >= CJ2K_RPCL;
         });
}

/// The iterators of opj_decompress skip a precinct whose size on the reference grid exceeds 31
/// bits.
bool overflows_precinct_size(const cj2k_params& p) {
  if (!is_by_position(p)) return false;
  for (int i = 0; i <= levels_of(p); ++i) {  // i: levels below the highest resolution
    const int entry = std::min(i, p.num_precincts - 1);
    const int32_t larger =
        p.num_precincts == 0 ? 32768 : std::max(p.precinct_width[entry], p.precinct_height[entry]);
    if (std::bit_width(static_cast<uint32_t>(larger)) - 1 + i >= 29) return true;
  }
  return false;
}

/// CPRL, where FFmpeg takes each resolution's first precinct at the corner of the tile, though that of a resolution may begin
/// at a later position.
bool is_cprl_beside_precinct(const cj2k_params& p) {
  bool is_cprl = p.progression == CJ2K_CPRL;
  for (int i = 0; i < p.num_poc; ++i) is_cprl |= p.poc[i].progression == CJ2K_CPRL;
  return is_cprl && p.num_precincts > 0 &&
         (p.tile_width > 0 || p.image_offset_x > 0 || p.image_offset_y > 0);
}

/// Whether a tile has no sample of some component along one axis.
bool has_gap(int32_t offset, int32_t size, int32_t tile, int32_t tile_offset, int32_t step) {
  const int64_t end = int64_t{offset} + size;
  if (tile == 0) tile = static_cast<int32_t>(end - tile_offset);
  for (int64_t at = tile_offset; at < end; at += tile) {
    const int64_t from = std::max<int64_t>(at, offset), to = std::min(at + tile, end);
    if (from < to && (from + step - 1) / step == (to + step - 1) / step) return true;
  }
  return false;
}

bool has_empty_tile_component(const cj2k_params& p) {
  for (int c = 0; c < p.num_components; ++c) {
    if (has_gap(p.image_offset_x, p.width, p.tile_width, p.tile_offset_x, p.dx[c]) ||
        has_gap(p.image_offset_y, p.height, p.tile_height, p.tile_offset_y, p.dy[c]))
      return true;
  }
  return false;
}

/// In the orders by position FFmpeg counts precincts of a resolution without samples.
bool has_empty_resolution_by_position(const cj2k_params& p) {
  for (int level = 0; is_by_position(p) && level <= std::min(levels_of(p), 16); ++level) {
    for (int c = 0; c < p.num_components; ++c) {
      if (has_gap(p.image_offset_x, p.width, p.tile_width, p.tile_offset_x, p.dx[c] << level) ||
          has_gap(p.image_offset_y, p.height, p.tile_height, p.tile_offset_y, p.dy[c] << level))
        return true;
    }
  }
  return false;
}

bool differ_in_depth(const cj2k_params& p) {
  for (int c = 1; c < p.num_components; ++c) {
    if (p.depth[c] != p.depth[0] || p.is_signed[c] != p.is_signed[0]) return true;
  }
  return false;
}

Decoded decode_ffmpeg(const std::string& program, const TempDir& dir, const std::string& input,
                      const cj2k_params& params) {
  const std::string output = (dir / "out.raw").string();
  std::vector<std::string> command = {program, "-hide_banner", "-nostdin", "-threads",
                                      "1",     "-c:v",         "jpeg2000"};
  // Its probe takes a JPH file for a film.
  if (params.coder == CJ2K_CODER_HT && params.format == CJ2K_FORMAT_JP2)
    command.insert(command.end(), {"-f", "image2"});
  command.insert(command.end(), {"-i", input, "-frames:v", "1", "-f", "rawvideo", output});
  const ProcessResult run = run_process(command);
  Decoded result;
  const auto format = parse_format(run.output);
  const auto bytes = read_file(output);
  if (run.exit_code != 0 || !format || !bytes) {
    result.error = "ffmpeg ended with " + std::to_string(run.exit_code) + ":\n" + run.output;
    return result;
  }
  // The decoder's messages at error level. Its exit code proves nothing.
  for (const char* sign :
       {"Invalid data", "rror while decoding", "bitstream end", "cblk data", "outside limits"}) {
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
    // Its planes have the size of a component without image offset.
    const size_t columns =
        format->planar ? (params.width + params.dx[c] - 1) / params.dx[c] : plane.width;
    const size_t rows =
        format->planar ? (params.height + params.dy[c] - 1) / params.dy[c] : plane.height;
    if (!format->planar) base = c * word;
    if (bytes->size() < base + (columns * rows - 1) * step + word) {
      result.error =
          "ffmpeg wrote only " + std::to_string(bytes->size()) + " bytes:\n" + run.output;
      return result;
    }
    for (size_t i = 0; i < plane.samples.size(); ++i) {
      const size_t width = static_cast<size_t>(plane.width);
      const uint8_t* p = bytes->data() + base + (i / width * columns + i % width) * step;
      plane.samples[i] = (word == 1 ? p[0] : p[0] | p[1] << 8) >> (top - plane.depth);
      // The decoder shifts signed samples as if they were unsigned.
      if (plane.is_signed) plane.samples[i] += plane.min_value();
    }
    base += columns * rows * word;
  }
  result.picture = std::move(picture);
  return result;
}

/// Planes one after the other: bytes, or words of 16 bits, the low byte first.
std::optional<Picture> read_planes(const std::string& path, const cj2k_params& params) {
  const auto bytes = read_file(path);
  if (!bytes) return std::nullopt;
  Picture picture = picture_shape(params);
  size_t at = 0;
  for (ComponentPlane& plane : picture.components) {
    const size_t word = plane.depth > 8 ? 2 : 1;
    if (bytes->size() < at + plane.samples.size() * word) return std::nullopt;
    for (auto& sample : plane.samples) {
      sample = (*bytes)[at] | (word == 2 ? (*bytes)[at + 1] << 8 : 0);
      at += word;
    }
  }
  return picture;
}

Decoded decode_openjph(const std::string& program, const TempDir& dir, const std::string& input,
                       const cj2k_params& params) {
  const bool in_planes = !subsampled_alike(params);
  const std::string output = (dir / (in_planes                    ? "out.yuv"
                                     : params.num_components == 1 ? "out.pgm"
                                                                  : "out.ppm"))
                                 .string();
  const ProcessResult run = run_process({program, "-i", input, "-o", output});
  Decoded result;
  if (run.exit_code == 0)
    result.picture = in_planes ? read_planes(output, params) : read_pnm(output);
  if (!result.picture) {
    result.error = "ojph_expand ended with " + std::to_string(run.exit_code) + ":\n" + run.output;
  }
  return result;
}

/// ojph_expand writes PGM and PPM files of 8 bits and more, and reads no boxes.
bool is_not_pnm(const cj2k_params& p) {
  const Picture shape = picture_shape(p);
  for (const ComponentPlane& plane : shape.components) {
    if (plane.is_signed || plane.depth != p.depth[0] || plane.depth < 8) return true;
  }
  return (p.num_components != 1 && p.num_components != 3) || !subsampled_alike(p) ||
         p.format != CJ2K_FORMAT_J2K;
}

/// ojph_expand 0.9 gives no picture, or another one, where a tile is so small that high-pass bands of
/// the lowest level are empty. It does so with codestreams of ojph_compress too.
bool has_empty_bands(const cj2k_params& p) {
  const auto smallest = [](int32_t offset, int32_t size, int32_t tile, int32_t tile_offset) {
    if (tile == 0) return size;
    const int32_t first = std::min(tile_offset + tile, offset + size) - offset;
    const int32_t last = (offset + size - tile_offset - 1) % tile + 1;
    return std::min({first, last, size});
  };
  const int32_t width = smallest(p.image_offset_x, p.width, p.tile_width, p.tile_offset_x);
  const int32_t height = smallest(p.image_offset_y, p.height, p.tile_height, p.tile_offset_y);
  const int64_t step = int64_t{*std::max_element(p.dx, p.dx + p.num_components)} *
                           *std::max_element(p.dy, p.dy + p.num_components)
                       << levels_of(p);
  return (p.num_precincts > 0 ? std::min(width, height) : std::max(width, height)) <= step;
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
    case Decoder::kOpenJph:
      return "OpenJPH";
    case Decoder::kOpenHtj2k:
      return "OpenHTJ2K";
  }
  return "";
}

bool use_decoder(Decoder decoder) {
  static std::map<Decoder, bool> known;
  if (const auto found = known.find(decoder); found != known.end()) return found->second;
  const bool present = have_program(program_of(decoder));
  const char* allowed = std::getenv("CJ2K_ALLOW_MISSING_DECODERS");
  if (!present && (allowed == nullptr || std::string(allowed) != "1")) {
    FAIL(std::string(program_of(decoder)),
         " is not installed; CJ2K_ALLOW_MISSING_DECODERS=1 goes on without it");
  }
  if (!present) {
    std::printf("SKIPPED: %s is not installed, nothing is decoded by it\n", program_of(decoder));
  }
  return known[decoder] = present;
}

Decoded decode(Decoder decoder, const std::vector<uint8_t>& bytes, const cj2k_params& params,
               int layers, const std::string& program) {
  const TempDir dir;
  // Programs go by the name.
  const bool is_for_ht = decoder == Decoder::kOpenJph || decoder == Decoder::kOpenHtj2k;
  const bool is_file = params.format == CJ2K_FORMAT_JP2;
  const char* name = is_for_ht ? (is_file ? "in.jph" : "in.j2c") : is_file ? "in.jp2" : "in.j2k";
  const std::string input = (dir / name).string();
  const std::string run = program.empty() ? program_of(decoder) : program;
  if (!write_file(input, bytes)) return {std::nullopt, "cannot write " + input};
  if (decoder == Decoder::kFfmpeg) return decode_ffmpeg(run, dir, input, params);
  if (decoder == Decoder::kOpenJph) return decode_openjph(run, dir, input, params);
  const bool one_by_one = decoder != Decoder::kOpenHtj2k && looks_like_ycbcr(params);
  return decode_pgx(run, dir, input, params, layers, one_by_one,
                    decoder == Decoder::kOpenHtj2k ? 2 : 1);
}

const char* cannot_decode(Decoder decoder, const cj2k_params& p) {
  struct Row {
    Decoder decoder;
    bool (*applies)(const cj2k_params&);
    const char* reason;
  };
  static const Row table[] = {
      {Decoder::kFfmpeg, lacks_pixel_format, "it has no pixel format for this subsampling"},
      {Decoder::kOpenJpeg, overflows_precinct_size,
       "it leaves out precincts of 2^31 and more in the orders by position"},
      {Decoder::kGrok, overflows_precinct_size, "as OpenJPEG"},
      {Decoder::kGrok, looks_like_ycbcr, "its program turns subsampled components into RGB"},
      {Decoder::kOpenJpeg, has_empty_tile_component,
       "it refuses tiles without a component's samples"},
      {Decoder::kFfmpeg, has_empty_tile_component, "as OpenJPEG"},
      {Decoder::kOpenJpeg, has_region_and_bypass,
       "with a region it takes the first raw pass of BYPASS at another plane"},
      {Decoder::kGrok, has_region_and_bypass, "as OpenJPEG"},
      {Decoder::kFfmpeg, has_region, "it has no max-shift"},
      {Decoder::kFfmpeg, has_empty_resolution_by_position,
       "it miscounts the precincts of tiles that are empty at a resolution"},
      {Decoder::kFfmpeg, has_levels_of_one_sample_97,
       "it loses what levels of the 9/7 make of one sample"},
      {Decoder::kFfmpeg, is_cprl_beside_precinct, "its order is another one"},
      {Decoder::kGrok, has_deep_region, "it holds 27 bit-planes with the shift of a region"},
      {Decoder::kGrok, has_poc_that_goes_back,
       "it loses its place where a progression order change goes back behind what it has read"},
      {Decoder::kOpenJph, has_layers, "it decodes the first layer alone"},
      {Decoder::kOpenJph, is_not_pnm, "its program has no file format for the picture"},
      {Decoder::kOpenJph, has_poc, "it has no progression order changes"},
      {Decoder::kOpenJph, has_empty_bands, "it fails on bands without samples"},
      {Decoder::kGrok, differ_in_depth, "its program writes no PGX of components that differ"},
  };
  for (const Row& row : table) {
    if (row.decoder == decoder && row.applies(p)) return row.reason;
  }
  return nullptr;
}

const char* known_refusal(Decoder decoder, const std::string& error) {
  struct Row {
    Decoder decoder;
    const char* message;
    const char* reason;
  };
  static const Row table[] = {
      {Decoder::kOpenJpeg, "unsupported bpno_plus_one",
       "it holds 30 bit-planes with a region's shift"},
      {Decoder::kOpenJpeg, "Tiles don't all have the same dimension",
       "with poc and resolutions without samples it counts those of a component wrong"},
      {Decoder::kFfmpeg, "large step is not implemented",
       "in the orders by position its steps have 31 bits"},
      {Decoder::kFfmpeg, "Too many tile parts", "it takes 32 tile-parts a tile"},
  };
  for (const Row& row : table) {
    if (row.decoder == decoder && error.find(row.message) != std::string::npos) return row.reason;
  }
  return nullptr;
}

}  // namespace cj2k::test
