// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "params/params_rules.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <thread>

#include "base/system.h"
#include "params/device_choice.h"
#include "params/icc_profile.h"
#include "params/jp2_boxes.h"
#include "params/params.h"
#include "params/params_profile.h"
#include "params/params_records.h"

namespace cj2k {
namespace {

constexpr int64_t kMaxCoordinate = std::numeric_limits<int32_t>::max();
constexpr int64_t kMaxTiles = 65535;  // T.800 A.4.2: Isot has 16 bits

bool is_power_of_two(int32_t value) { return value > 0 && (value & (value - 1)) == 0; }

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// One axis of the reference grid, T.800 B.2, B.3.
struct Axis {
  const char* size_name;
  const char* offset_name;
  const char* tile_name;
  const char* tile_offset_name;
  const char* subsampling_name;
  int32_t size, offset;
  int32_t* tile;
  int32_t tile_offset;
  const int32_t* subsampling;
};

// Checks one axis. The grid is limited to int32 (T.800 allows 2^32 - 1), so that coordinates are
// plain ints everywhere. A tile size of 0 becomes the size of one tile over the whole image. The
// tiles are counted.
Status resolve_axis(const Axis& axis, int num_components, const Log& log, int64_t* num_tiles) {
  const int64_t end = int64_t{axis.offset} + axis.size;
  if (end > kMaxCoordinate) {
    return log.about(axis.offset_name, axis.offset)
        .fail(Status::kInvalid, "%s %d + %s %d = %lld not in [1, %lld]", axis.offset_name,
              axis.offset, axis.size_name, axis.size, static_cast<long long>(end),
              static_cast<long long>(kMaxCoordinate));
  }
  if (axis.tile_offset > axis.offset) {
    return log.about(axis.tile_offset_name, axis.tile_offset, 0, axis.offset)
        .fail(Status::kInvalid, "%s %d not in [0, %s = %d]", axis.tile_offset_name,
              axis.tile_offset, axis.offset_name, axis.offset);
  }
  if (*axis.tile == 0) *axis.tile = static_cast<int32_t>(end - axis.tile_offset);
  if (int64_t{axis.tile_offset} + *axis.tile <= axis.offset) {
    return log
        .about(axis.tile_name, *axis.tile, axis.offset - axis.tile_offset + 1,
               static_cast<double>(kMaxCoordinate))
        .fail(Status::kInvalid,
              "%s %d not in [%d, %lld]: the first tile must reach into the picture "
              "(%s %d, %s %d)",
              axis.tile_name, *axis.tile, axis.offset - axis.tile_offset + 1,
              static_cast<long long>(kMaxCoordinate), axis.tile_offset_name, axis.tile_offset,
              axis.offset_name, axis.offset);
  }
  *num_tiles = ceil_div(end - axis.tile_offset, *axis.tile);
  for (int c = 0; c < num_components; ++c) {
    const int32_t d = axis.subsampling[c];
    if (!is_power_of_two(d)) {
      return log.about(axis.subsampling_name, d)
          .fail(Status::kInvalid, "%s[%d] %d is none of 1, 2, 4", axis.subsampling_name, c, d);
    }
    if (ceil_div(end, d) == ceil_div(axis.offset, d)) {
      return log.fail(
          Status::kInvalid, "component %d has no samples: %s[%d] %d with %s %d and %s %d", c,
          axis.subsampling_name, c, d, axis.offset_name, axis.offset, axis.size_name, axis.size);
    }
  }
  return Status::kOk;
}

Status resolve_grid(cj2k_params* p, const Log& log) {
  int64_t tiles_wide = 0, tiles_high = 0;
  const Axis x{"width",  "image_offset_x",  "tile_width",   "tile_offset_x",  "dx",
               p->width, p->image_offset_x, &p->tile_width, p->tile_offset_x, p->dx};
  const Axis y{"height",  "image_offset_y",  "tile_height",   "tile_offset_y",  "dy",
               p->height, p->image_offset_y, &p->tile_height, p->tile_offset_y, p->dy};
  CJ2K_TRY(resolve_axis(x, p->num_components, log, &tiles_wide));
  CJ2K_TRY(resolve_axis(y, p->num_components, log, &tiles_high));
  if (tiles_wide * tiles_high > kMaxTiles) {
    return log.about("tile").fail(
        Status::kInvalid, "%lld x %lld tiles of %dx%d: their number is not in [1, %lld]",
        static_cast<long long>(tiles_wide), static_cast<long long>(tiles_high), p->tile_width,
        p->tile_height, static_cast<long long>(kMaxTiles));
  }
  return Status::kOk;
}

// The limits of T.800 Tables A.18 (code-blocks) and A.21 (precincts).
Status check_blocks_and_precincts(const cj2k_params& p, const Log& log) {
  if (!is_power_of_two(p.cblk_width) || !is_power_of_two(p.cblk_height)) {
    return log.about("cblk").fail(Status::kInvalid,
                                  "cblk %dx%d: each side must be a power of two in [4, 1024]",
                                  p.cblk_width, p.cblk_height);
  }
  if (p.cblk_width * p.cblk_height > 4096) {
    return log.about("cblk").fail(Status::kInvalid, "cblk %dx%d: %d samples not in [16, 4096]",
                                  p.cblk_width, p.cblk_height, p.cblk_width * p.cblk_height);
  }
  if (p.num_precincts > p.levels + 1) {
    return log.about("num_precincts", p.num_precincts)
        .fail(Status::kInvalid, "num_precincts %d not in [0, levels + 1 = %d]", p.num_precincts,
              p.levels + 1);
  }
  for (int i = 0; i < p.num_precincts; ++i) {
    // Entry i is for resolution levels - i, and the last entry is also for all resolutions below.
    // Above resolution 0 a precinct is halved in its three subbands, so its sides are at least 2.
    const int32_t min = i < p.levels ? 2 : 1;
    for (const int32_t side : {p.precinct_width[i], p.precinct_height[i]}) {
      if (!is_power_of_two(side) || side < min) {
        return log.about("precincts")
            .fail(Status::kInvalid,
                  "precincts[%d] %dx%d: each side must be a power of two in [%d, 32768]", i,
                  p.precinct_width[i], p.precinct_height[i], min);
      }
    }
  }
  return Status::kOk;
}

// Opacity is not a colour (I.5.3.6).
int colours_of(const cj2k_params& p) { return p.num_components - (p.alpha ? 1 : 0); }

// T.800 G.2 requires three components of the same size. RCT and ICT make sense only if the
// components also have the same range of values.
Status resolve_mct(cj2k_params* p, const Log& log) {
  if (p->mct == CJ2K_MCT_OFF) return Status::kOk;
  const bool forced = p->mct == CJ2K_MCT_ON;
  if (p->num_components < 3) {
    if (forced) {
      return log.about("mct").fail(Status::kInvalid, "mct on with num_components %d not in [3, %d]",
                                   p->num_components, CJ2K_MAX_COMPONENTS);
    }
    p->mct = CJ2K_MCT_OFF;
    return Status::kOk;
  }
  for (int c = 1; c < 3; ++c) {
    if (p->depth[c] == p->depth[0] && p->is_signed[c] == p->is_signed[0] && p->dx[c] == p->dx[0] &&
        p->dy[c] == p->dy[0]) {
      continue;
    }
    if (forced) {
      return log.about("mct").fail(
          Status::kInvalid,
          "mct on with unlike components: component 0 has depth %d, is_signed %d, "
          "dx %d, dy %d; component %d has %d, %d, %d, %d",
          p->depth[0], p->is_signed[0], p->dx[0], p->dy[0], c, p->depth[c], p->is_signed[c],
          p->dx[c], p->dy[c]);
    }
    p->mct = CJ2K_MCT_OFF;
    return Status::kOk;
  }
  // Opacity is not a colour, and sYCC is already transformed. Both stay unchanged unless mct is on.
  if (!forced && (colours_of(*p) < 3 || p->colorspace == CJ2K_COLOR_SYCC)) {
    p->mct = CJ2K_MCT_OFF;
    return Status::kOk;
  }
  p->mct = CJ2K_MCT_ON;
  return Status::kOk;
}

// Red, green and blue have the same subsampling. Components 1 and 2 with another are chroma.
cj2k_colorspace chosen_colorspace(const cj2k_params& p) {
  if (colours_of(p) < 3) return CJ2K_COLOR_GRAY;
  for (int c = 1; c < 3; ++c) {
    if (p.dx[c] != p.dx[0] || p.dy[c] != p.dy[0]) return CJ2K_COLOR_SYCC;
  }
  return CJ2K_COLOR_SRGB;
}

// X'Y'Z' of SMPTE ST 428-1 has three components of 12 bits.
Status resolve_xyz(cj2k_params* p, const Log& log) {
  if (p->xyz == CJ2K_XYZ_OFF) return Status::kOk;
  if (p->xyz_gamma == 0) {
    const bool is_p3 = p->xyz == CJ2K_XYZ_P3D65 || p->xyz == CJ2K_XYZ_P3DCI;
    p->xyz_gamma = is_p3 ? 2.6 : 2.4;
  }
  if (p->num_components != 3 || p->alpha != 0) {
    return log.about("xyz").fail(Status::kInvalid,
                                 "xyz needs num_components 3 and alpha 0, not %d and %d",
                                 p->num_components, p->alpha);
  }
  if (p->colorspace == CJ2K_COLOR_AUTO) p->colorspace = CJ2K_COLOR_XYZ;
  if (p->colorspace != CJ2K_COLOR_XYZ)
    return log.about("xyz").fail(Status::kInvalid,
                                 "xyz needs colorspace xyz or auto: that is what is coded");
  for (int c = 0; c < 3; ++c) {
    if (p->source_depth[c] == 0) p->source_depth[c] = p->depth[c];
    if (p->depth[c] != 12 || p->is_signed[c] != 0) {
      return log.about("xyz").fail(Status::kInvalid,
                                   "xyz needs depth 12 and is_signed 0: component %d has %d, %d", c,
                                   p->depth[c], p->is_signed[c]);
    }
    if (p->source_depth[c] < 8 || p->source_depth[c] != p->source_depth[0]) {
      return log.about("xyz").fail(Status::kInvalid,
                                   "xyz needs one source_depth in [8, 16]: source_depth[%d] is %d, "
                                   "source_depth[0] %d",
                                   c, p->source_depth[c], p->source_depth[0]);
    }
    if (p->dx[c] != p->dx[0] || p->dy[c] != p->dy[0]) {
      return log.about("xyz").fail(
          Status::kInvalid,
          "xyz needs components alike: component %d has dx %d, dy %d, component 0 %d, %d", c,
          p->dx[c], p->dy[c], p->dx[0], p->dy[0]);
    }
  }
  return Status::kOk;
}

// The samples of the frames have at least the bits that are coded; with xyz also fewer.
Status resolve_source(cj2k_params* p, const Log& log) {
  CJ2K_TRY(resolve_xyz(p, log));
  for (int c = 0; c < CJ2K_MAX_COMPONENTS; ++c) {
    if (p->source_depth[c] == 0 || c >= p->num_components) p->source_depth[c] = p->depth[c];
    if (p->source_depth[c] < p->depth[c] && p->xyz == CJ2K_XYZ_OFF) {
      return log.about("source_depth", p->source_depth[c])
          .fail(Status::kInvalid, "source_depth[%d] %d not in [%d, 16], and not 0: depth[%d] is %d",
                c, p->source_depth[c], p->depth[c], c, p->depth[c]);
    }
  }
  return Status::kOk;
}

// What a JP2 file can say of the colours (I.5.3.3).
Status check_colour_specification(const cj2k_params& p, const Log& log) {
  if (p.icc_profile != nullptr || p.icc_profile_bytes != 0) {
    if (p.colorspace != CJ2K_COLOR_SRGB && p.colorspace != CJ2K_COLOR_GRAY) {
      return log.about("icc_profile")
          .fail(Status::kInvalid, "icc_profile with colorspace %s, not srgb or gray",
                p.colorspace == CJ2K_COLOR_SYCC ? "sycc" : "xyz");
    }
    const int colours = p.colorspace == CJ2K_COLOR_GRAY ? 1 : 3;
    return check_icc_profile(p.icc_profile, p.icc_profile_bytes, colours, log.about("icc_profile"));
  }
  const bool hdr = p.transfer == CJ2K_TRANSFER_PQ || p.transfer == CJ2K_TRANSFER_HLG;
  if (p.format == CJ2K_FORMAT_JP2 && hdr && needs_icc_profile(p) &&
      p.colorspace != CJ2K_COLOR_XYZ) {
    return log.about("format").fail(
        Status::kNotSupported,
        "format jp2 with transfer %s: JP2 files have no colour space for it; a raw "
        "codestream (format j2k) leaves it to its container",
        p.transfer == CJ2K_TRANSFER_PQ ? "pq" : "hlg");
  }
  return Status::kOk;
}

// What a JP2 file says beside that.
Status resolve_metadata(cj2k_params* p, const Log& log) {
  if (p->resolution_y > 0 && p->resolution_x == 0) {
    return log.about("resolution_x")
        .fail(Status::kInvalid, "resolution_y %g without resolution_x", p->resolution_y);
  }
  if (p->resolution_y == 0) p->resolution_y = p->resolution_x;
  if (p->jp2_boxes == nullptr && p->jp2_boxes_bytes == 0) return Status::kOk;
  return check_jp2_boxes(p->jp2_boxes, p->jp2_boxes_bytes, log.about("jp2_boxes"));
}

Status resolve_colour(cj2k_params* p, const Log& log) {
  if (p->alpha && p->num_components < 2) {
    return log.about("alpha", p->alpha)
        .fail(Status::kInvalid, "alpha %d with num_components %d not in [2, %d]", p->alpha,
              p->num_components, CJ2K_MAX_COMPONENTS);
  }
  // sRGB, sYCC and X'Y'Z' need three components beside opacity.
  const int colours = colours_of(*p);
  const char* const three = p->colorspace == CJ2K_COLOR_SRGB   ? "srgb"
                            : p->colorspace == CJ2K_COLOR_SYCC ? "sycc"
                            : p->colorspace == CJ2K_COLOR_XYZ  ? "xyz"
                                                               : nullptr;
  if (three != nullptr && colours < 3) {
    return log.about("colorspace")
        .fail(Status::kInvalid,
              "colorspace %s with num_components %d and alpha %d: %d beside alpha not in "
              "[3, %d]",
              three, p->num_components, p->alpha, colours, CJ2K_MAX_COMPONENTS);
  }
  if (p->colorspace == CJ2K_COLOR_AUTO) p->colorspace = chosen_colorspace(*p);
  CJ2K_TRY(check_colour_specification(*p, log));
  CJ2K_TRY(resolve_metadata(p, log));
  return resolve_mct(p, log);
}

// At 9 bits and more, a step of 1 LSB loses nothing that can be seen. At 8 bits and fewer it would
// leave the last decibels out of reach, so the step is 0.5 LSB there. With constant quality the
// step is at most half of the uniform step that `quality` stands for, because the zero bin is two
// steps wide; and a quarter of the one that `target_psnr` stands for, because decoders also round.
double chosen_quant_step(const cj2k_params& p) {
  int depth = 0;
  for (int c = 0; c < p.num_components; ++c) depth = std::max(depth, p.depth[c]);
  double step = depth <= 8 ? 0.5 : 1.0;
  if (p.num_roi > 0) {
    // The region's bit-planes lie above those of the background, and decoders hold 30 (plan_region).
    // Half an LSB of 8 bits takes all of them at 5 levels and two guard bits; each level more takes
    // two planes more, each guard bit one, and a step twice as large gives two back.
    const int doublings = std::max(p.levels - 5, 0) + (p.guard_bits - 1) / 2;
    step = std::clamp(std::ldexp(0.5, depth - 8 + doublings), step, 1024.0);
    return step;
  }
  if (p.quality == 0 && p.target_psnr == 0) return step;
  double most = std::ldexp(p.quality, depth - 8) / 2;
  if (p.target_psnr > 0) {
    const double error = (std::ldexp(1.0, depth) - 1) * std::pow(10, -p.target_psnr / 20);
    most = std::sqrt(12.0) * error / 4;
  }
  return std::clamp(most, kMinQuantStep, step);
}

// The steps of qfactor decide what is lost. Rates and other steps contradict them, caps may cut more.
Status check_qfactor(cj2k_params* p, const Log& log) {
  if (p->qfactor == 0) return Status::kOk;
  const char* other = p->lossless != 0          ? "lossless"
                      : p->quality != 0         ? "quality"
                      : p->quant_step != 0      ? "quant_step"
                      : p->target_bytes != 0    ? "target_bytes"
                      : p->num_layer_rates != 0 ? "layer_rates"
                                                : nullptr;
  if (other != nullptr) {
    return log.about(other).fail(Status::kInvalid, "qfactor %d excludes %s (which must be 0)%s",
                                 p->qfactor, other,
                                 p->lossless == 0 ? "; a cap is max_frame_bytes" : "");
  }
  if (p->wavelet == CJ2K_WAVELET_53) {
    return log.about("qfactor", p->qfactor)
        .fail(Status::kInvalid, "qfactor %d excludes wavelet 5/3, which has no steps", p->qfactor);
  }
  p->frame_steps = 0;
  return Status::kOk;
}

// A frame is cut at the slope that its PSNR asks for, after all its blocks are coded once.
Status resolve_target_psnr(cj2k_params* p, const Log& log) {
  if (p->target_psnr == 0) return Status::kOk;
  const char* other = p->lossless != 0            ? "lossless"
                      : p->quality != 0           ? "quality"
                      : p->qfactor != 0           ? "qfactor"
                      : p->curves != 0            ? "curves"
                      : p->effort >= 2            ? "effort 2 and 3"
                      : p->stop > CJ2K_STOP_EXACT ? "stop pst, psb and bpi"
                                                  : nullptr;
  if (other != nullptr) {
    return log.about("target_psnr", p->target_psnr)
        .fail(Status::kInvalid, "target_psnr %g excludes %s", p->target_psnr, other);
  }
  p->measure_mse = 1;
  return Status::kOk;
}

// Layers are cut at slopes, after the frame.
Status resolve_layer_psnr(cj2k_params* p, const Log& log) {
  if (p->num_layer_psnr == 0) return Status::kOk;
  const char* other = p->num_layer_rates != 0     ? "layer_rates"
                      : p->curves != 0            ? "curves"
                      : p->effort >= 2            ? "effort 2 and 3"
                      : p->coder == CJ2K_CODER_HT ? "coder ht"
                                                  : nullptr;
  if (other != nullptr)
    return log.about("layer_psnr").fail(Status::kInvalid, "layer_psnr excludes %s", other);
  if (p->num_layer_psnr != p->layers - 1) {
    return log.about("num_layer_psnr", p->num_layer_psnr)
        .fail(Status::kInvalid, "num_layer_psnr %d is not one less than layers %d",
              p->num_layer_psnr, p->layers);
  }
  for (int i = 1; i < p->num_layer_psnr; ++i) {
    if (!(p->layer_psnr[i] > p->layer_psnr[i - 1])) {
      return log.about("layer_psnr")
          .fail(Status::kInvalid, "layer_psnr[%d] %.15g not above layer_psnr[%d] %.15g", i,
                p->layer_psnr[i], i - 1, p->layer_psnr[i - 1]);
    }
  }
  p->measure_mse = 1;
  return Status::kOk;
}

Status resolve_rate(cj2k_params* p, const Log& log) {
  CJ2K_TRY(check_qfactor(p, log));
  CJ2K_TRY(resolve_target_psnr(p, log));
  CJ2K_TRY(resolve_layer_psnr(p, log));
  if (p->lossless) {
    const char* other = p->target_bytes != 0          ? "target_bytes"
                        : p->max_frame_bytes != 0     ? "max_frame_bytes"
                        : p->max_component_bytes != 0 ? "max_component_bytes"
                        : p->quality != 0             ? "quality"
                                                      : nullptr;
    if (other != nullptr) {
      return log.about(other).fail(Status::kInvalid, "lossless 1 excludes %s (which must be 0)",
                                   other);
    }
    if (p->wavelet == CJ2K_WAVELET_97) {
      return log.about("lossless", 1).fail(Status::kInvalid, "lossless 1 excludes wavelet 9/7");
    }
    p->tune = CJ2K_TUNE_MSE;  // nothing is lost that could be seen
  } else if (p->target_bytes == 0 && p->num_layer_rates == 0 && !has_quality(*p)) {
    p->quality = 2.0;
  }
  if (p->visual_strength == 0) p->visual_strength = 0.5;
  if (p->quant_step == 0 && p->qfactor == 0) p->quant_step = chosen_quant_step(*p);

  CJ2K_TRY(check_min_frame_bytes("", *p, log));
  if (p->num_layer_rates == 0) return Status::kOk;
  if (p->num_layer_rates != p->layers) {
    return log.about("num_layer_rates", p->num_layer_rates)
        .fail(Status::kInvalid, "num_layer_rates %d is not layers %d", p->num_layer_rates,
              p->layers);
  }
  for (int i = 1; i < p->num_layer_rates; ++i) {
    if (!(p->layer_rates[i] < p->layer_rates[i - 1])) {
      return log.about("layer_rates")
          .fail(Status::kInvalid, "layer_rates[%d] %.15g not below layer_rates[%d] %.15g", i,
                p->layer_rates[i], i - 1, p->layer_rates[i - 1]);
    }
  }
  return Status::kOk;
}

// What coder = ht excludes: styles that T.814 has no meaning for, and what decoders do not read.
Status check_coder(const cj2k_params& p, const Log& log) {
  if (p.coder != CJ2K_CODER_HT) {
    if (p.ht_passes == CJ2K_HT_PASSES_ALL) return Status::kOk;
    return log.about("ht_passes").fail(Status::kInvalid, "ht_passes cleanup needs coder ht");
  }
  const int32_t styles = p.cblk_style & ~CJ2K_STYLE_VSC;
  if (styles != 0) {
    return log.about("coder").fail(
        Status::kInvalid,
        "coder ht excludes cblk_style %d: of the styles, Part 15 has vsc (8) alone", styles);
  }
  if (p.num_roi != 0) {
    return log.about("coder").fail(
        Status::kNotSupported,
        "coder ht needs an empty roi, not one of %d rectangles: decoders do not read "
        "regions in HT blocks (OpenJPEG refuses them, OpenJPH ignores the shift)",
        p.num_roi);
  }
  if (p.stop != CJ2K_STOP_NONE && p.stop != CJ2K_STOP_EXACT) {
    return log.about("coder").fail(
        Status::kNotSupported,
        "coder ht needs stop exact (the default) or none: pst, psb and bpi stop between "
        "bit-planes of the MQ coder, and an HT block has no such places; exact leaves "
        "out the planes that the slope does not ask for");
  }
  return Status::kOk;
}

// What effort 2 and 3 exclude. Without loss they change nothing.
Status check_effort(const cj2k_params& p, const Log& log) {
  if (p.effort < 2 || p.lossless) return Status::kOk;
  if (p.stop != CJ2K_STOP_NONE && p.stop != CJ2K_STOP_EXACT) {
    return log.about("effort", p.effort)
        .fail(Status::kNotSupported,
              "effort %d needs stop exact or none: it codes blocks again at the slope that "
              "rate control finds",
              p.effort);
  }
  return Status::kOk;
}

}  // namespace

int32_t usable_cores() {
  int count = process_cores();
  if (count <= 0) count = static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(count, 1, 1024);
}

int64_t byte_cap(const cj2k_params& p) {
  if (p.target_bytes == 0 || p.max_frame_bytes == 0)
    return std::max(p.target_bytes, p.max_frame_bytes);
  return std::min(p.target_bytes, p.max_frame_bytes);
}

Status check_min_frame_bytes(const char* where, const cj2k_params& p, const Log& log) {
  const int64_t cap = byte_cap(p);
  // Padding lengthens the comment. If there is none, it is a COM segment of at least 7 bytes
  // (packets/markers.h), which can exceed min_frame_bytes by 6.
  const int64_t most = p.comment[0] != '\0' ? cap : std::max<int64_t>(cap - 6, 0);
  if (cap == 0 || p.min_frame_bytes <= most) return Status::kOk;
  return log
      .about("min_frame_bytes", static_cast<double>(p.min_frame_bytes), 0,
             static_cast<double>(most))
      .fail(Status::kInvalid, "%smin_frame_bytes %lld not in [0, %lld], the cap per frame%s", where,
            static_cast<long long>(p.min_frame_bytes), static_cast<long long>(most),
            most == cap ? "" : " less 6 (the comment is empty)");
}

void warn_of_stop(const cj2k_params& p, const Log& log) {
  if (p.stop <= CJ2K_STOP_EXACT || p.target_bytes != 0 || p.max_frame_bytes != 0 ||
      p.max_component_bytes != 0 || p.num_layer_rates != 0) {
    return;
  }
  log.print(CJ2K_LOG_WARNING, "stop %s is ignored: it needs a rate or a cap; without one it is %s",
            value_name("stop", p.stop), p.lossless ? "none" : "exact");
}

/// Curves come from hulls, which a device keeps to itself, and which a lossless frame does not cut.
Status resolve_curves(cj2k_params* p, const DeviceList& devices, const Log& log) {
  if (p->curves == CJ2K_CURVES_OFF) return Status::kOk;
  const int value = p->curves;
  if (value < CJ2K_CURVES_OFF || value > CJ2K_CURVES_ONLY)
    return log.about("curves", value)
        .fail(Status::kInvalid, "curves %d not in [0, %d]", value, CJ2K_CURVES_ONLY);
  if (p->lossless)
    return log.about("curves", value).fail(Status::kInvalid, "curves %d with lossless 1", value);
  if (devices.kind == DeviceList::kCuda) {
    return log.about("curves", value)
        .fail(Status::kNotSupported, "curves %d needs device cpu or auto, not \"%s\"", value,
              p->device);
  }
  std::snprintf(p->device, sizeof p->device, "cpu");
  return Status::kOk;
}

Status apply_param_rules(cj2k_params* p, const Log& log) {
  CJ2K_TRY(apply_profile(p, log));
  CJ2K_TRY(check_coder(*p, log));
  CJ2K_TRY(check_effort(*p, log));
  CJ2K_TRY(resolve_grid(p, log));
  CJ2K_TRY(check_blocks_and_precincts(*p, log));
  CJ2K_TRY(check_progressions(*p, log));
  CJ2K_TRY(check_regions(*p, log));
  CJ2K_TRY(resolve_rate(p, log));
  CJ2K_TRY(resolve_source(p, log));
  CJ2K_TRY(resolve_colour(p, log));
  if (p->threads == 0) p->threads = usable_cores();
  DeviceList devices;
  CJ2K_TRY(parse_devices(p->device, log, &devices));
  if (p->cuda_context != nullptr && devices.count > 1) {
    return log.fail(Status::kInvalid, "cuda_context with device \"%s\": a context is of one device",
                    p->device);
  }
  CJ2K_TRY(resolve_curves(p, devices, log));
  CJ2K_TRY(parse_devices(p->device, log, &devices));
  if (devices.kind == DeviceList::kCpu) choose_depth(p, false, 0);
  return Status::kOk;
}

void choose_depth(cj2k_params* p, bool cuda, int64_t blocks) {
  // The MQ coder uses one lane per block. This many blocks are about 500 on each of the 132
  // multiprocessors of an H200, where more GOPs were faster than more frames in them
  // (tests/bench/results/2026-11-27_h200.md).
  constexpr int64_t kFullDevice = 65536;
  constexpr int32_t kMostChosen = 8;
  if (p->gop == 0) {
    p->gop = 1;
    // PST uses the thresholds of the GOP before, so the bytes depend on `gop`. They must not depend
    // on the device, so the device does not choose `gop` there.
    const bool free_choice = cuda && p->stop != CJ2K_STOP_PST;
    while (free_choice && p->gop < kMostChosen && p->gop * blocks < kFullDevice) p->gop *= 2;
  }
  if (p->async_depth == 0) {
    // On the CPU, two frames keep the threads busy while the packets of one are written.
    p->async_depth = cuda ? cuda_gops(p->gop) * p->gop : p->threads == 1 ? 1 : 2;
  }
  p->async_depth = (p->async_depth + p->gop - 1) / p->gop * p->gop;
}

}  // namespace cj2k
