// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The profiles as data: what a codestream of each profile must be, what the library chooses for it,
// and how many bytes it may have. T.800 A.10 (Profile-0, Profile-1, cinema, broadcast, IMF);
// SMPTE ST 429-4 (cinema), ST 2067-21 (IMF; APP2.HT.REV and APP2.HT.IRV with HTJ2K), DICOM PS3.5
// (HTJ2K). params_profile.cc applies them to the parameters.
//
// Those with HTJ2K have no number in Rsiz or in CPF: Rsiz says Part 15, CAP says the rest.
#pragma once

#include <cstdint>

#include "base/log.h"
#include "base/status.h"
#include "cj2k.h"

namespace cj2k {

enum class ProfileFamily { kNone, kPart1, kCinema, kImf, kBroadcast, kImfHt, kDicomHt };

/// Which subsampling (XRsiz, YRsiz) components may have.
enum class ProfileSampling {
  kAny,         ///< 1, 2 or 4, which is all that the library has
  kFull,        ///< 1x1
  kHalfWidth,   ///< 1x1; components 1 and 2 may both be 2x1
  kHalfEither,  ///< 1x1; components 1 and 2 may both be 2x1 or 2x2
};

/// Which tiles a picture may have. One tile is legal in each.
enum class ProfileTiles {
  kAny,
  kOne,
  kSquare128,   ///< 128x128
  kSquare1024,  ///< square, up to 1024 samples of the least subsampled component
  kImf2k,       ///< 1024x1024
  kImf4k,       ///< 1024x1024, 2048x2048
  kImf8k,       ///< 1024x1024, 2048x2048, 4096x4096
  kFour,        ///< 2 x 2 or 1 x 4; 2 x 2 is chosen
};

/// One profile. A bound of 0 is none.
struct Profile {
  cj2k_profile id = CJ2K_PROFILE_NONE;
  ProfileFamily family = ProfileFamily::kNone;
  uint16_t rsiz = 0;  ///< without levels

  int32_t max_width = 0, max_height = 0;
  int32_t wider_than = 0;  ///< application rules want narrower pictures in a smaller profile
  int32_t min_components = 1, max_components = CJ2K_MAX_COMPONENTS;
  int32_t min_depth = 1, max_depth = 16;
  bool equal_depth = false;
  ProfileSampling sampling = ProfileSampling::kAny;
  bool is_unsigned = false;
  bool zero_offsets = false;
  ProfileTiles tiles = ProfileTiles::kAny;

  cj2k_wavelet wavelet = CJ2K_WAVELET_AUTO;  ///< AUTO: any
  int32_t min_levels = 0, max_levels = 32;   ///< see max_levels_of
  int32_t levels = 5;                        ///< chosen
  bool small_ll = false;                     ///< one tile: the LL band has at most 128x128 samples
  bool thumbnail = false;                    ///< a side of the lowest resolution has at most 64
  int32_t guard_bits = 2;                    ///< chosen
  bool fixed_guard_bits = false;             ///< and no other is legal
  int32_t max_guard_bits = 7;
  int32_t cblk = 64;                      ///< chosen, both sides
  int32_t min_cblk = 4, max_cblk = 1024;  ///< of each side
  int32_t max_cblk_height = 1024;
  bool square_cblk = false;
  int32_t cblk_styles = 63;          ///< legal ones
  bool precincts_128_256 = false;    ///< 128x128 at the lowest resolution, 256x256 above
  bool one_precinct_to_128 = false;  ///< resolutions up to 128x128 have one precinct
  cj2k_progression progression = CJ2K_PROGRESSION_AUTO;  ///< AUTO: any
  cj2k_tile_parts tile_parts = CJ2K_TILE_PARTS_AUTO;     ///< AUTO: any
  bool two_progressions = false;  ///< POC: all resolutions but the highest, then the highest
  bool no_poc = false;
  bool first_parts_first = false;  ///< TPsot = 0 of all tiles before any other tile-part
  bool one_layer = false;
  bool needs_mct = false;
  bool plain_markers = false;  ///< TLM; no SOP, EPH, PLT
  bool needs_comment = false;
  bool needs_tlm = false;
  bool needs_lossless = false;
  bool constant_steps = false;  ///< QCD is the same in all frames
  bool has_ht() const {
    return family == ProfileFamily::kImfHt || family == ProfileFamily::kDicomHt;
  }
};

const Profile& profile_of(cj2k_profile id);

/// The most levels for the size of a tile: the reversible IMF profiles and IMF with HTJ2K depend on
/// it.
int32_t max_levels_of(const Profile& profile, int32_t tile_width, int32_t tile_height);

/// B of Ccap15 (T.814) as the profile of resolved parameters fixes it: magnitudes of cleanup passes
/// are below 2^B. 0: the profile has no such rule.
int32_t magnitude_bound_of(const cj2k_params& p);

/// Whether tiles of this size are legal in a picture of that size with offsets 0.
bool tiles_fit(const Profile& profile, const cj2k_params& p);

/// floor(bits_per_second / 8 / frame_rate), at most kMaxBytes (params.h).
int64_t bytes_per_frame(int64_t bits_per_second, int32_t frame_rate_num, int32_t frame_rate_den);

/// Bits/s of the cinema profiles.
struct CinemaRate {
  int64_t frame;      ///< the cap of a frame
  int64_t component;  ///< the cap of a component, tile-part headers included
  int64_t chosen;     ///< taken where no rate is set
};
CinemaRate cinema_rate_of(cj2k_cinema_rate rate);

inline constexpr int32_t kMaxMainLevel = 11;
/// Samples/s of all components together that a main level allows.
int64_t max_samples_per_second(const Profile& profile, int32_t main_level);
/// The highest sub level of an IMF main level.
int32_t max_sub_level(int32_t main_level);
/// Bits/s that a level allows. Broadcast profiles have no sub levels. 0: no bound.
int64_t max_bits_per_second(const Profile& profile, int32_t main_level, int32_t sub_level);

/// Rsiz of resolved parameters, T.800 Table A.10.
uint16_t rsiz_of(const cj2k_params& p);

/// Sets profile, levels and coder as a value of Rsiz says, where they are not set.
/// @param p  all fields are known
/// @return kOk | kInvalid: it is none of a profile here, or contradicts the profile that is set
Status set_rsiz(cj2k_params* p, int32_t rsiz, const Log& log);

/// The caps that the profile of resolved parameters puts on a frame and on a component, in bytes.
/// 0: none.
struct ProfileCaps {
  int64_t frame, component;
};
ProfileCaps profile_caps(const cj2k_params& p);

}  // namespace cj2k
