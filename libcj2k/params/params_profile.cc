// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "params/params_profile.h"

#include <algorithm>
#include <cinttypes>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "params/params.h"
#include "params/params_rules.h"
#include "params/profiles.h"

namespace cj2k {
namespace {

/// The 9/7 of tiles with a longer side has a sixth level, where no profile says how many: it is worth
/// 0.00 to 0.28 dB (tests/bench/results/2026-11-26_levels.md).
constexpr int32_t kLargeSide = 2048;

/// The parameters under one profile. Contradictions are errors or warnings.
class ProfileRules {
 public:
  ProfileRules(cj2k_params* params, const Log& log)
      : p_(*params), log_(log), profile_(profile_of(params->profile)) {}

  Status apply() {
    if (profile_.family == ProfileFamily::kNone) {
      set_coding();
      return apply_rate();
    }
    CJ2K_TRY(check_picture());
    set_tiles();
    CJ2K_TRY(check_tiles());
    set_coding();
    CJ2K_TRY(check_coding());
    CJ2K_TRY(check_blocks());
    CJ2K_TRY(check_markers());
    return apply_rate();
  }
  bool contradicted() const { return contradicted_; }

 private:
  const char* name() const { return value_name("profile", profile_.id); }
  /// What is wrong, as "NAME VALUE", and what the profile has: an error, or a warning.
  [[gnu::format(CJ2K_PRINTF, 3, 4)]] Status contradicts(const char* has, const char* format, ...) {
    char what[256];
    va_list args;
    va_start(args, format);
    std::vsnprintf(what, sizeof what, format, args);
    va_end(args);
    const ErrorSubject subject = std::exchange(subject_, {});
    if (p_.profile_strict) {
      return log_.about(subject.param, subject.value, subject.min, subject.max)
          .fail(Status::kInvalid, "%s: profile %s %s", what, name(), has);
    }
    log_.print(CJ2K_LOG_WARNING, "%s: profile %s %s", what, name(), has);
    contradicted_ = true;
    return Status::kOk;
  }
  void about(const char* param, int64_t value, int64_t min, int64_t max);
  Status check(const char* name, int64_t value, int64_t min, int64_t max);
  Status check_picture();
  Status check_component(int c);
  void set_tiles();
  Status check_tiles();
  void set_coding();
  void set_precincts();
  void set_progressions();
  Status check_coding();
  Status check_levels();
  Status check_thumbnail();
  Status check_progressions();
  Status check_blocks();
  Status check_precincts();
  Status check_markers();
  Status apply_rate();
  Status apply_cinema_rate();
  Status apply_levels();
  Status choose_levels(int64_t bytes);
  Status check_sub_level();
  Status check_cap(const char* name, int64_t bytes, int64_t cap, int64_t bits_per_second);
  void limit_rate(const ProfileCaps& caps);
  bool has_target() const { return p_.target_bytes != 0 || p_.num_layer_rates != 0; }
  double samples_per_second() const;
  int64_t level_bytes(int32_t main_level, int32_t sub_level) const {
    return bytes_per_frame(max_bits_per_second(profile_, main_level, sub_level), p_.frame_rate_num,
                           p_.frame_rate_den);
  }

  cj2k_params& p_;
  const Log& log_;
  const Profile& profile_;
  bool contradicted_ = false;
  ErrorSubject subject_;  ///< of the next contradiction
};

void ProfileRules::about(const char* param, int64_t value, int64_t min, int64_t max) {
  std::snprintf(subject_.param, sizeof subject_.param, "%s", param);
  subject_.value = static_cast<double>(value);
  subject_.min = static_cast<double>(min);
  subject_.max = static_cast<double>(max);
}

Status ProfileRules::check(const char* name, int64_t value, int64_t min, int64_t max) {
  if (value >= min && value <= max) return Status::kOk;
  char has[96];
  if (min == max) {
    std::snprintf(has, sizeof has, "has %" PRId64, min);
  } else {
    std::snprintf(has, sizeof has, "has %" PRId64 " to %" PRId64, min, max);
  }
  about(name, value, min, max);
  return contradicts(has, "%s %" PRId64, name, value);
}

// ---- The picture ----

Status ProfileRules::check_component(int c) {
  char name[32];
  std::snprintf(name, sizeof name, "depth[%d]", c);
  CJ2K_TRY(check(name, p_.depth[c], profile_.min_depth, profile_.max_depth));
  if (profile_.is_unsigned && p_.is_signed[c]) {
    CJ2K_TRY(contradicts("has unsigned samples", "is_signed[%d] 1", c));
  }
  const int32_t dx = p_.dx[c], dy = p_.dy[c];
  const bool chroma = (c == 1 || c == 2) && p_.dx[1] == p_.dx[2] && p_.dy[1] == p_.dy[2];
  const ProfileSampling sampling = profile_.sampling;
  const bool half_width =
      sampling == ProfileSampling::kHalfWidth || sampling == ProfileSampling::kHalfEither;
  const bool fits = sampling == ProfileSampling::kAny || (dx == 1 && dy == 1) ||
                    (half_width && chroma && dx == 2 && dy == 1) ||
                    (sampling == ProfileSampling::kHalfEither && chroma && dx == 2 && dy == 2);
  if (fits) return Status::kOk;
  return contradicts(sampling == ProfileSampling::kFull ? "has components of one size (4:4:4)"
                     : sampling == ProfileSampling::kHalfWidth ? "has 4:4:4 and 4:2:2"
                                                               : "has 4:4:4, 4:2:2 and 4:2:0",
                     "component %d subsampled by %dx%d", c, dx, dy);
}

Status ProfileRules::check_picture() {
  if (profile_.max_width > 0) {
    CJ2K_TRY(check("width", p_.width, 1, profile_.max_width));
    CJ2K_TRY(check("height", p_.height, 1, profile_.max_height));
  }
  if (profile_.wider_than > 0 && p_.width <= profile_.wider_than) {
    log_.print(CJ2K_LOG_WARNING,
               "width %d: IMF validators want profile %s for pictures wider than %d only", p_.width,
               name(), profile_.wider_than);
  }
  CJ2K_TRY(
      check("num_components", p_.num_components, profile_.min_components, profile_.max_components));
  for (int c = 0; c < p_.num_components; ++c) {
    CJ2K_TRY(check_component(c));
    if (!profile_.equal_depth || p_.depth[c] == p_.depth[0]) continue;
    CJ2K_TRY(contradicts("has components of one depth", "depth[%d] %d with depth[0] %d", c,
                         p_.depth[c], p_.depth[0]));
  }
  if (!profile_.zero_offsets) return Status::kOk;
  if (p_.image_offset_x != 0 || p_.image_offset_y != 0) {
    CJ2K_TRY(contradicts("has 0x0", "image_offset %dx%d", p_.image_offset_x, p_.image_offset_y));
  }
  if (p_.tile_offset_x != 0 || p_.tile_offset_y != 0) {
    CJ2K_TRY(contradicts("has 0x0", "tile_offset %dx%d", p_.tile_offset_x, p_.tile_offset_y));
  }
  return Status::kOk;
}

void ProfileRules::set_tiles() {
  if (profile_.tiles != ProfileTiles::kFour || p_.tile_width != 0 || p_.tile_height != 0) return;
  // Even sizes, so that subsampled components are cut alike. A picture of 1 or 2 rows stays whole.
  const auto half = [](int32_t size) { return (size + 3) / 4 * 2; };
  if (half(p_.width) >= p_.width || half(p_.height) >= p_.height) return;
  p_.tile_width = half(p_.width);
  p_.tile_height = half(p_.height);
}

Status ProfileRules::check_tiles() {
  cj2k_params whole = p_;  // with the sizes for which 0 stands
  if (whole.tile_width == 0) whole.tile_width = p_.image_offset_x - p_.tile_offset_x + p_.width;
  if (whole.tile_height == 0) whole.tile_height = p_.image_offset_y - p_.tile_offset_y + p_.height;
  if (tiles_fit(profile_, whole)) return Status::kOk;
  const char* has = "has one tile";
  if (profile_.tiles == ProfileTiles::kSquare128) has = "has one tile, or tiles of 128x128";
  if (profile_.tiles == ProfileTiles::kSquare1024) has = "has one tile, or squares up to 1024x1024";
  if (profile_.tiles == ProfileTiles::kImf2k) has = "has one tile, or tiles of 1024x1024";
  if (profile_.tiles == ProfileTiles::kImf4k) has = "has one tile, or 1024x1024 or 2048x2048";
  if (profile_.tiles == ProfileTiles::kImf8k) {
    has = "has one tile, or 1024x1024, 2048x2048 or 4096x4096";
  }
  if (profile_.tiles == ProfileTiles::kFour) has = "has one tile, or 2 x 2, or 1 x 4";
  return contradicts(has, "tile %dx%d", p_.tile_width, p_.tile_height);
}

// ---- Coding ----

void ProfileRules::set_precincts() {
  if (!profile_.precincts_128_256 || p_.num_precincts != 0) return;
  p_.num_precincts = p_.levels + 1;
  for (int i = 0; i <= p_.levels; ++i) {
    p_.precinct_width[i] = p_.precinct_height[i] = i < p_.levels ? 256 : 128;
  }
}

/// The resolutions of a 2K picture come first, so that a 2K decoder can stop after them.
void ProfileRules::set_progressions() {
  if (!profile_.two_progressions || p_.num_poc != 0 || p_.levels == 0) return;
  const int32_t r = p_.levels, c = p_.num_components;
  p_.poc[0] = {0, 0, p_.layers, r, c, CJ2K_CPRL};
  p_.poc[1] = {r, 0, p_.layers, r + 1, c, CJ2K_CPRL};
  p_.num_poc = 2;
}

Status ProfileRules::check_progressions() {
  if (profile_.no_poc && p_.num_poc != 0) {
    CJ2K_TRY(contradicts("has none", "poc with %d entries", p_.num_poc));
  }
  // Cinema, IMF and broadcast have no RGN.
  if ((profile_.no_poc || profile_.two_progressions) && p_.num_roi != 0) {
    CJ2K_TRY(contradicts("has none", "roi with %d rectangles", p_.num_roi));
  }
  if (profile_.two_progressions) {
    const auto is = [](const cj2k_progression_change& e, int32_t begin, int32_t end) {
      return e.resolution_begin == begin && e.component_begin == 0 && e.layer_end == 1 &&
             e.resolution_end == end && e.component_end == 3 && e.progression == CJ2K_CPRL;
    };
    const int32_t r = p_.levels;
    if (p_.num_poc != 2 || !is(p_.poc[0], 0, r) || !is(p_.poc[1], r, r + 1)) {
      CJ2K_TRY(contradicts("has 0,0,1,6,3,cprl/6,0,1,7,3,cprl", "poc with %d entries", p_.num_poc));
    }
  }
  // T.800 Table A.45, parsability.
  const bool at_origin = p_.poc[0].resolution_begin == 0 && p_.poc[0].component_begin == 0;
  if (profile_.id == CJ2K_PROFILE_0 && p_.num_poc != 0 && !at_origin) {
    CJ2K_TRY(contradicts("has 0 for both", "poc from resolution %d, component %d",
                         p_.poc[0].resolution_begin, p_.poc[0].component_begin));
  }
  return Status::kOk;
}

void ProfileRules::set_coding() {
  if (p_.coder == CJ2K_CODER_AUTO) {
    p_.coder = profile_.has_ht() ? CJ2K_CODER_HT : CJ2K_CODER_EBCOT;
  }
  if (p_.frame_steps < 0) p_.frame_steps = profile_.constant_steps ? 0 : 1;
  const bool may_be_lossless =
      !has_target() && !has_quality(p_) && p_.max_frame_bytes == 0 && p_.max_component_bytes == 0;
  if (profile_.wavelet == CJ2K_WAVELET_53 && may_be_lossless) p_.lossless = 1;
  if (p_.wavelet == CJ2K_WAVELET_AUTO) {
    p_.wavelet = p_.lossless                             ? CJ2K_WAVELET_53
                 : profile_.wavelet != CJ2K_WAVELET_AUTO ? profile_.wavelet
                                                         : CJ2K_WAVELET_97;
  }
  if (p_.levels < 0) {
    p_.levels = profile_.levels;
    const int32_t tile_width = p_.tile_width != 0 ? p_.tile_width : p_.width;
    const int32_t tile_height = p_.tile_height != 0 ? p_.tile_height : p_.height;
    const bool is_free = p_.profile == CJ2K_PROFILE_NONE && p_.wavelet == CJ2K_WAVELET_97;
    const int32_t side = std::max(std::min(tile_width, p_.width), std::min(tile_height, p_.height));
    if (is_free && side > kLargeSide) ++p_.levels;
    p_.levels = std::min(p_.levels, max_levels_of(profile_, tile_width, tile_height));
    while (profile_.small_ll && std::max(tile_width, tile_height) > int64_t{128} << p_.levels) {
      ++p_.levels;
    }
    while (profile_.thumbnail && std::min(p_.width, p_.height) > int64_t{64} << p_.levels) {
      ++p_.levels;
    }
  }
  if (p_.guard_bits == 0) p_.guard_bits = profile_.guard_bits;
  if (p_.cblk_width == 0 && p_.cblk_height == 0) p_.cblk_width = p_.cblk_height = profile_.cblk;
  set_precincts();
  set_progressions();
  if (p_.progression == CJ2K_PROGRESSION_AUTO) {
    p_.progression =
        profile_.progression == CJ2K_PROGRESSION_AUTO ? CJ2K_LRCP : profile_.progression;
  }
  if (p_.tile_parts == CJ2K_TILE_PARTS_AUTO) {
    p_.tile_parts =
        profile_.tile_parts == CJ2K_TILE_PARTS_AUTO ? CJ2K_TILE_PARTS_NONE : profile_.tile_parts;
  }
  // Not for components that the profile does not have: they may be unlike.
  if (p_.mct == CJ2K_MCT_AUTO && profile_.needs_mct && !contradicted_) p_.mct = CJ2K_MCT_ON;
}

/// The levels must take the picture down to 64 samples along one side.
Status ProfileRules::check_thumbnail() {
  const int64_t most = int64_t{64} << std::min(p_.levels, 24);
  if (!profile_.thumbnail || std::min(p_.width, p_.height) <= most) return Status::kOk;
  return contradicts("has a lowest resolution of at most 64 samples along one side",
                     "levels %d of %dx%d", p_.levels, p_.width, p_.height);
}

Status ProfileRules::check_levels() {
  const int32_t tile_width = p_.tile_width != 0 ? p_.tile_width : p_.width;
  const int32_t tile_height = p_.tile_height != 0 ? p_.tile_height : p_.height;
  CJ2K_TRY(check("levels", p_.levels, profile_.min_levels,
                 max_levels_of(profile_, tile_width, tile_height)));
  CJ2K_TRY(check_thumbnail());
  const int64_t side = std::max(tile_width, tile_height);
  if (!profile_.small_ll || p_.levels >= 24 || side <= int64_t{128} << p_.levels) {
    return Status::kOk;
  }
  return contradicts("has at most 128x128 samples in the lowest resolution of a tile",
                     "levels %d with tiles of %dx%d", p_.levels, tile_width, tile_height);
}

Status ProfileRules::check_coding() {
  const cj2k_coder coder = profile_.has_ht() ? CJ2K_CODER_HT : CJ2K_CODER_EBCOT;
  if (p_.coder != coder) {
    CJ2K_TRY(contradicts(coder == CJ2K_CODER_HT ? "has ht" : "has ebcot", "coder %s",
                         value_name("coder", p_.coder)));
  }
  if (profile_.constant_steps && p_.frame_steps == 1)
    CJ2K_TRY(check("frame_steps", p_.frame_steps, 0, 0));
  if (profile_.wavelet != CJ2K_WAVELET_AUTO) {
    if (p_.lossless && profile_.wavelet == CJ2K_WAVELET_97) {
      CJ2K_TRY(contradicts("is lossy (9/7 wavelet)", "lossless 1"));
    } else if (p_.wavelet != profile_.wavelet) {
      char has[32];
      std::snprintf(has, sizeof has, "has %s", value_name("wavelet", profile_.wavelet));
      CJ2K_TRY(contradicts(has, "wavelet %s", value_name("wavelet", p_.wavelet)));
    }
  }
  CJ2K_TRY(check_levels());
  if (profile_.needs_lossless && !p_.lossless) {
    CJ2K_TRY(contradicts("is lossless", "lossless 0"));
  }
  if (profile_.fixed_guard_bits) {
    CJ2K_TRY(check("guard_bits", p_.guard_bits, profile_.guard_bits, profile_.guard_bits));
  }
  CJ2K_TRY(check("guard_bits", p_.guard_bits, 1, profile_.max_guard_bits));
  if (profile_.progression != CJ2K_PROGRESSION_AUTO && p_.progression != profile_.progression) {
    char has[32];
    std::snprintf(has, sizeof has, "has %s", value_name("progression", profile_.progression));
    CJ2K_TRY(contradicts(has, "progression %s", value_name("progression", p_.progression)));
  }
  CJ2K_TRY(check_progressions());
  if (profile_.one_layer) CJ2K_TRY(check("layers", p_.layers, 1, 1));
  if (profile_.needs_mct && p_.mct == CJ2K_MCT_OFF) CJ2K_TRY(contradicts("has on", "mct off"));
  return Status::kOk;
}

Status ProfileRules::check_precincts() {
  if (p_.num_precincts == 0 && !profile_.precincts_128_256) return Status::kOk;
  for (int32_t i = 0; i <= p_.levels; ++i) {
    const int32_t at = std::min(i, p_.num_precincts - 1);
    const int32_t width = p_.precinct_width[at], height = p_.precinct_height[at];
    if (profile_.precincts_128_256) {
      const int32_t side = i < p_.levels ? 256 : 128;
      if (width == side && height == side) continue;
      return contradicts("has 128x128 at the lowest resolution and 256x256 above",
                         "precincts[%d] %dx%d", i, width, height);
    }
    const int64_t scale = int64_t{1} << i;
    const bool small = p_.width <= 128 * scale && p_.height <= 128 * scale;
    if (profile_.one_precinct_to_128 && small && (width < 128 || height < 128)) {
      return contradicts("has one precinct in resolutions up to 128x128", "precincts[%d] %dx%d", i,
                         width, height);
    }
  }
  return Status::kOk;
}

Status ProfileRules::check_blocks() {
  const int32_t w = p_.cblk_width, h = p_.cblk_height;
  const int32_t min = profile_.min_cblk, max = profile_.max_cblk;
  const int32_t max_height = std::min(max, profile_.max_cblk_height);
  if (w < min || h < min || w > max || h > max_height || (profile_.square_cblk && w != h)) {
    char has[64];
    if (min == max) {
      std::snprintf(has, sizeof has, "has %dx%d", min, min);
    } else if (profile_.square_cblk) {
      std::snprintf(has, sizeof has, "has %dx%d and %dx%d", min, min, max, max);
    } else if (max_height < max) {
      std::snprintf(has, sizeof has, "has %dx%d to %dx%d", min, min, max, max_height);
    } else {
      std::snprintf(has, sizeof has, "has sides from %d to %d", min, max);
    }
    CJ2K_TRY(contradicts(has, "cblk %dx%d", w, h));
  }
  if (p_.cblk_style & ~profile_.cblk_styles) {
    CJ2K_TRY(contradicts(profile_.cblk_styles == 0 ? "has none" : "has neither reset nor vsc",
                         "cblk_style %d", p_.cblk_style));
  }
  return check_precincts();
}

Status ProfileRules::check_markers() {
  if (profile_.tile_parts != CJ2K_TILE_PARTS_AUTO && p_.tile_parts != profile_.tile_parts) {
    char has[32];
    std::snprintf(has, sizeof has, "has %s", value_name("tile_parts", profile_.tile_parts));
    CJ2K_TRY(contradicts(has, "tile_parts %s", value_name("tile_parts", p_.tile_parts)));
  }
  const bool many_tiles = (p_.tile_width != 0 && p_.tile_width < p_.width) ||
                          (p_.tile_height != 0 && p_.tile_height < p_.height);
  if (profile_.first_parts_first && many_tiles && p_.tile_parts != CJ2K_TILE_PARTS_NONE) {
    CJ2K_TRY(contradicts("has the first tile-parts of all tiles before the others",
                         "tile_parts %s with tiles of %dx%d",
                         value_name("tile_parts", p_.tile_parts), p_.tile_width, p_.tile_height));
  }
  if (profile_.plain_markers) {
    CJ2K_TRY(check("sop", p_.sop, 0, 0));
    CJ2K_TRY(check("eph", p_.eph, 0, 0));
    CJ2K_TRY(check("plt", p_.plt, 0, 0));
    CJ2K_TRY(check("tlm", p_.tlm, 1, 1));
  }
  if (profile_.needs_tlm) CJ2K_TRY(check("tlm", p_.tlm, 1, 1));
  if (profile_.needs_comment && p_.comment[0] == '\0') {
    CJ2K_TRY(contradicts("has one: common wrappers fail without it", "comment \"\""));
  }
  return Status::kOk;
}

// ---- Rates and levels ----

/// T.800 measures levels in samples of all components together.
double ProfileRules::samples_per_second() const {
  int64_t samples = 0;
  for (int c = 0; c < p_.num_components; ++c) {
    samples += int64_t{(p_.width - 1) / p_.dx[c] + 1} * ((p_.height - 1) / p_.dy[c] + 1);
  }
  return static_cast<double>(samples) * p_.frame_rate_num / p_.frame_rate_den;
}

Status ProfileRules::check_cap(const char* name, int64_t bytes, int64_t cap, int64_t bits) {
  if (bytes <= cap) return Status::kOk;
  const double rate = static_cast<double>(p_.frame_rate_num) / p_.frame_rate_den;
  char has[128];
  std::snprintf(has, sizeof has, "has at most %" PRId64 " (%.6g Mbit/s at %.6g frames/s)", cap,
                static_cast<double>(bits) / 1e6, rate);
  about(name, bytes, 0, cap);
  return contradicts(has, "%s %" PRId64 " (%.6g Mbit/s)", name, bytes,
                     static_cast<double>(bytes) * 8 * rate / 1e6);
}

/// Sets the caps that are unset or, under profile_strict = 0, were left as they are.
void ProfileRules::limit_rate(const ProfileCaps& caps) {
  if (p_.max_frame_bytes == 0 && caps.frame != 0) p_.max_frame_bytes = caps.frame;
  if (p_.max_component_bytes == 0 && caps.component != 0) p_.max_component_bytes = caps.component;
}

Status ProfileRules::apply_cinema_rate() {
  const CinemaRate rate = cinema_rate_of(p_.cinema_rate);
  if (p_.cinema_rate == CJ2K_CINEMA_RATE_HFR &&
      int64_t{p_.frame_rate_num} <= int64_t{30} * p_.frame_rate_den) {
    CJ2K_TRY(contradicts("has it above 30 frames/s only", "cinema_rate hfr at %.6g frames/s",
                         static_cast<double>(p_.frame_rate_num) / p_.frame_rate_den));
  }
  const ProfileCaps caps = profile_caps(p_);
  CJ2K_TRY(check_cap("target_bytes", p_.target_bytes, caps.frame, rate.frame));
  CJ2K_TRY(check_cap("max_frame_bytes", p_.max_frame_bytes, caps.frame, rate.frame));
  CJ2K_TRY(
      check_cap("max_component_bytes", p_.max_component_bytes, caps.component, rate.component));
  const int64_t chosen = bytes_per_frame(rate.chosen, p_.frame_rate_num, p_.frame_rate_den);
  if (!has_target() && !p_.lossless) {
    if (!has_quality(p_)) {
      p_.target_bytes = p_.max_frame_bytes != 0 ? p_.max_frame_bytes : chosen;
    } else if (p_.max_frame_bytes == 0) {
      p_.max_frame_bytes = chosen;
    }
  }
  if (!p_.lossless) limit_rate(caps);
  return Status::kOk;
}

Status ProfileRules::check_sub_level() {
  const bool imf = profile_.family == ProfileFamily::kImf;
  if (!imf || profile_.wavelet == CJ2K_WAVELET_53) {
    if (p_.sub_level > 0) CJ2K_TRY(contradicts("has none", "sub_level %d", p_.sub_level));
    p_.sub_level = 0;
    return Status::kOk;
  }
  return p_.sub_level == 0 ? contradicts("has 1 to 9", "sub_level 0") : Status::kOk;
}

/// Chooses the lowest levels for the samples and `bytes` of a frame (0: no rate is set), and checks
/// those that are set.
Status ProfileRules::choose_levels(int64_t bytes) {
  const bool has_sub = profile_.family == ProfileFamily::kImf && p_.sub_level != 0;
  const double samples = samples_per_second();
  const int32_t main = p_.main_level, sub = p_.sub_level;
  const auto bytes_fit = [&](int32_t m, int32_t s) {
    return max_bits_per_second(profile_, m, s) == 0 || bytes <= level_bytes(m, s);
  };
  int32_t m = main != 0 ? main : 1;
  const auto fits = [&] {
    const int32_t most = has_sub ? max_sub_level(m) : 0;
    return samples <= static_cast<double>(max_samples_per_second(profile_, m)) &&
           (sub < 0 ? bytes_fit(m, most) : sub <= most || !has_sub) &&
           (sub < 0 || bytes_fit(m, sub));
  };
  if (main == 0) {
    while (m < kMaxMainLevel && !fits()) ++m;
  }
  p_.main_level = m;
  const int32_t most = has_sub ? max_sub_level(m) : 0;
  char has[128];
  if (samples > static_cast<double>(max_samples_per_second(profile_, m))) {
    std::snprintf(has, sizeof has, "has at most %.6g at main level %d",
                  static_cast<double>(max_samples_per_second(profile_, m)) / 1e6, m);
    CJ2K_TRY(contradicts(has, "%.6g Msamples/s", samples / 1e6));
  }
  if (has_sub && sub > most) {
    std::snprintf(has, sizeof has, "has at most %d at main level %d", most, m);
    CJ2K_TRY(contradicts(has, "sub_level %d", sub));
  }
  if (sub < 0) {
    // The lowest for the bytes. Without a rate, the highest: its cap leaves most room.
    p_.sub_level = bytes == 0 ? most : 1;
    while (p_.sub_level < most && !bytes_fit(m, p_.sub_level)) ++p_.sub_level;
  }
  const int64_t bits = max_bits_per_second(profile_, m, p_.sub_level);
  if (bits == 0 || p_.lossless) return Status::kOk;
  CJ2K_TRY(check_cap("target_bytes", p_.target_bytes, level_bytes(m, p_.sub_level), bits));
  return check_cap("max_frame_bytes", p_.max_frame_bytes, level_bytes(m, p_.sub_level), bits);
}

Status ProfileRules::apply_levels() {
  CJ2K_TRY(check_sub_level());
  int64_t bytes = p_.target_bytes != 0 ? p_.target_bytes : p_.max_frame_bytes;
  if (p_.lossless && profile_.family == ProfileFamily::kBroadcast) {
    // What a lossless frame takes is known afterwards only. It takes less than the samples do.
    int64_t bits = 0;
    for (int c = 0; c < p_.num_components; ++c) {
      bits +=
          int64_t{(p_.width - 1) / p_.dx[c] + 1} * ((p_.height - 1) / p_.dy[c] + 1) * p_.depth[c];
    }
    bytes = (bits + 7) / 8;
  }
  CJ2K_TRY(choose_levels(bytes));
  if (!p_.lossless) limit_rate(profile_caps(p_));
  return Status::kOk;
}

Status ProfileRules::apply_rate() {
  const bool cinema = profile_.family == ProfileFamily::kCinema;
  const bool levels =
      profile_.family == ProfileFamily::kImf || profile_.family == ProfileFamily::kBroadcast;
  if ((cinema || levels) && p_.frame_rate_num == 0) {
    return log_.about("frame_rate")
        .fail(Status::kInvalid, "frame_rate 0 (unknown): profile %s needs it for its %s", name(),
              cinema ? "caps" : "levels");
  }
  if (levels) return apply_levels();
  if (p_.main_level != 0) {
    CJ2K_TRY(contradicts("has no levels", "main_level %d", p_.main_level));
  }
  if (p_.sub_level > 0) CJ2K_TRY(contradicts("has no levels", "sub_level %d", p_.sub_level));
  p_.sub_level = 0;
  return cinema ? apply_cinema_rate() : Status::kOk;
}

}  // namespace

Status apply_profile(cj2k_params* p, const Log& log) {
  if (p->frame_rate_num > 0 && p->frame_rate_den == 0) {
    return log.about("frame_rate", p->frame_rate_num)
        .fail(Status::kInvalid, "frame_rate %d/0: the denominator is not in [1, 2147483647]",
              p->frame_rate_num);
  }
  ProfileRules rules(p, log);
  CJ2K_TRY(rules.apply());
  if (!rules.contradicted()) return Status::kOk;
  log.print(CJ2K_LOG_WARNING, "the codestream does not claim profile %s (Rsiz 0)",
            value_name("profile", p->profile));
  p->profile = CJ2K_PROFILE_NONE;
  p->main_level = p->sub_level = 0;
  return Status::kOk;
}

}  // namespace cj2k
