// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "params/profiles.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "params/params.h"

namespace cj2k {
namespace {

// T.800 Table A.45.
constexpr Profile profile0() {
  Profile p;
  p.id = CJ2K_PROFILE_0;
  p.family = ProfileFamily::kPart1;
  p.rsiz = 0x0001;
  p.zero_offsets = true;
  p.tiles = ProfileTiles::kSquare128;
  p.small_ll = true;
  p.min_cblk = 32;
  p.max_cblk = 64;
  p.square_cblk = true;
  p.cblk_styles = 63 & ~(CJ2K_STYLE_RESET | CJ2K_STYLE_VSC);
  p.one_precinct_to_128 = true;
  p.first_parts_first = true;
  return p;
}

// T.800 Table A.45.
constexpr Profile profile1() {
  Profile p;
  p.id = CJ2K_PROFILE_1;
  p.family = ProfileFamily::kPart1;
  p.rsiz = 0x0002;
  p.tiles = ProfileTiles::kSquare1024;
  p.small_ll = true;
  p.max_cblk = 64;
  p.one_precinct_to_128 = true;
  return p;
}

// What the profiles for motion pictures have in common.
constexpr Profile motion_picture() {
  Profile p;
  p.is_unsigned = true;
  p.zero_offsets = true;
  p.tiles = ProfileTiles::kOne;
  p.wavelet = CJ2K_WAVELET_97;
  p.min_levels = 1;
  p.cblk_styles = 0;
  p.precincts_128_256 = true;
  p.progression = CJ2K_CPRL;
  p.tile_parts = CJ2K_TILE_PARTS_COMPONENT;
  p.one_layer = true;
  p.plain_markers = true;
  return p;
}

// T.800 Tables A.46 and A.47 and ST 429-4. The number of levels and of guard bits is fixed there or
// by the validators of ST 429-4.
constexpr Profile cinema(cj2k_profile id, uint16_t rsiz, int32_t width, int32_t height,
                         int32_t levels, int32_t guard_bits) {
  Profile p = motion_picture();
  p.id = id;
  p.family = ProfileFamily::kCinema;
  p.rsiz = rsiz;
  p.max_width = width;
  p.max_height = height;
  p.min_components = p.max_components = 3;
  p.min_depth = p.max_depth = 12;
  p.sampling = ProfileSampling::kFull;
  p.levels = p.min_levels = p.max_levels = levels;
  p.guard_bits = guard_bits;
  p.fixed_guard_bits = true;
  p.cblk = p.min_cblk = p.max_cblk = 32;
  p.needs_mct = true;
  p.two_progressions = rsiz == 0x0004;
  p.no_poc = !p.two_progressions;
  p.needs_comment = true;  // common wrappers fail without one
  return p;
}

// T.800 A.10, IMF profiles; `wider_than` is a rule of ST 2067-21.
constexpr Profile imf(cj2k_profile id, uint16_t rsiz, int32_t width, int32_t height,
                      int32_t max_levels) {
  Profile p = motion_picture();
  p.id = id;
  p.family = ProfileFamily::kImf;
  p.rsiz = rsiz;
  p.max_width = width;
  p.max_height = height;
  p.wider_than = width > 2048 ? width / 2 : 0;
  p.no_poc = true;
  p.max_components = 3;
  p.min_depth = 8;
  p.sampling = ProfileSampling::kHalfWidth;
  p.levels = p.max_levels = max_levels;
  p.cblk = p.min_cblk = p.max_cblk = 32;
  return p;
}

constexpr Profile imf_reversible(cj2k_profile id, uint16_t rsiz, int32_t width, int32_t height,
                                 int32_t max_levels, ProfileTiles tiles) {
  Profile p = imf(id, rsiz, width, height, max_levels);
  p.wavelet = CJ2K_WAVELET_53;
  p.tiles = tiles;
  return p;
}

// T.800 A.10, broadcast contribution profiles.
constexpr Profile broadcast(cj2k_profile id, uint16_t rsiz, cj2k_wavelet wavelet,
                            ProfileTiles tiles) {
  Profile p = motion_picture();
  p.id = id;
  p.family = ProfileFamily::kBroadcast;
  p.rsiz = rsiz;
  p.no_poc = true;
  p.min_depth = 8;
  p.max_depth = 12;
  p.sampling = ProfileSampling::kHalfEither;
  p.tiles = tiles;
  p.wavelet = wavelet;
  p.max_levels = 5;
  p.min_cblk = 32;
  p.max_cblk = 128;
  return p;
}

// ST 2067-21, APP2.HT.IRV and APP2.HT.REV. One guard bit is enough for any picture with the 9/7
// (plan_quant.cc).
constexpr Profile imf_ht(cj2k_profile id, cj2k_wavelet wavelet) {
  Profile p = motion_picture();
  p.id = id;
  p.family = ProfileFamily::kImfHt;
  p.max_width = p.max_height = 8192;
  p.min_depth = 8;
  p.equal_depth = true;
  p.sampling = ProfileSampling::kHalfWidth;
  p.wavelet = wavelet;
  p.levels = p.max_levels = 7;
  p.guard_bits = wavelet == CJ2K_WAVELET_97 ? 1 : 2;
  p.max_guard_bits = 2;
  p.min_cblk = 32;
  p.max_cblk = 128;
  p.max_cblk_height = 64;
  p.progression = CJ2K_RPCL;
  p.tile_parts = CJ2K_TILE_PARTS_RESOLUTION;
  p.no_poc = true;
  p.constant_steps = true;
  return p;
}

// DICOM PS3.5, transfer syntaxes of HTJ2K.
constexpr Profile dicom_ht(cj2k_profile id) {
  Profile p;
  p.id = id;
  p.family = ProfileFamily::kDicomHt;
  return p;
}

constexpr Profile dicom_ht_lossless(cj2k_profile id) {
  Profile p = dicom_ht(id);
  p.wavelet = CJ2K_WAVELET_53;
  p.needs_lossless = true;
  return p;
}

constexpr Profile dicom_ht_rpcl() {
  Profile p = dicom_ht_lossless(CJ2K_PROFILE_DICOM_HT_RPCL);
  p.progression = CJ2K_RPCL;
  p.thumbnail = true;
  p.needs_tlm = true;
  return p;
}

constexpr std::array kProfiles = {
    Profile{},
    profile0(),
    profile1(),
    cinema(CJ2K_PROFILE_CINEMA_2K, 0x0003, 2048, 1080, 5, 1),
    cinema(CJ2K_PROFILE_CINEMA_4K, 0x0004, 4096, 2160, 6, 2),
    imf(CJ2K_PROFILE_IMF_2K, 0x0400, 2048, 1556, 5),
    imf(CJ2K_PROFILE_IMF_4K, 0x0500, 4096, 3112, 6),
    imf(CJ2K_PROFILE_IMF_8K, 0x0600, 8192, 6224, 7),
    imf_reversible(CJ2K_PROFILE_IMF_2K_R, 0x0700, 2048, 1556, 5, ProfileTiles::kImf2k),
    imf_reversible(CJ2K_PROFILE_IMF_4K_R, 0x0800, 4096, 3112, 6, ProfileTiles::kImf4k),
    imf_reversible(CJ2K_PROFILE_IMF_8K_R, 0x0900, 8192, 6224, 7, ProfileTiles::kImf8k),
    broadcast(CJ2K_PROFILE_BROADCAST_SINGLE, 0x0100, CJ2K_WAVELET_97, ProfileTiles::kOne),
    broadcast(CJ2K_PROFILE_BROADCAST_MULTI, 0x0200, CJ2K_WAVELET_97, ProfileTiles::kFour),
    broadcast(CJ2K_PROFILE_BROADCAST_MULTI_R, 0x0300, CJ2K_WAVELET_53, ProfileTiles::kFour),
    imf_ht(CJ2K_PROFILE_IMF_HT, CJ2K_WAVELET_97),
    imf_ht(CJ2K_PROFILE_IMF_HT_R, CJ2K_WAVELET_53),
    dicom_ht(CJ2K_PROFILE_DICOM_HT),
    dicom_ht_lossless(CJ2K_PROFILE_DICOM_HT_R),
    dicom_ht_rpcl(),
};

static_assert([] {
  for (size_t i = 0; i < kProfiles.size(); ++i) {
    if (kProfiles[i].id != static_cast<cj2k_profile>(i)) return false;
  }
  return kProfiles.size() == CJ2K_PROFILE_DICOM_HT_RPCL + 1;
}());

constexpr int64_t kMega = 1000000;

/// A main level. A level of the broadcast profiles bounds bits/s itself.
struct Level {
  int64_t imf_samples;        // 10^6 samples/s
  int32_t max_sub_level;      // of IMF
  int64_t broadcast_samples;  // 10^6 samples/s
  int64_t broadcast_bits;     // Mbit/s
};
constexpr std::array<Level, kMaxMainLevel> kLevels = {{
    // Implementations disagree on the first level of broadcast, 64 or 65: the lower one is safe.
    {65, 1, 64, 200},
    {130, 1, 130, 200},
    {195, 1, 195, 200},
    {260, 2, 260, 400},
    {520, 3, 520, 800},
    {1200, 4, 1200, 1600},
    {2400, 5, 2400, 3200},
    {4800, 6, 4800, 6400},
    {9600, 7, 9600, 12800},
    {19200, 8, 19200, 25600},
    {38400, 9, 38400, 51200},
}};

const Level& level_of(int32_t main_level) {
  return kLevels[static_cast<size_t>(std::clamp(main_level, 1, kMaxMainLevel) - 1)];
}

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

const Profile& profile_of(cj2k_profile id) { return kProfiles[static_cast<size_t>(id)]; }

int32_t max_levels_of(const Profile& profile, int32_t tile_width, int32_t tile_height) {
  if (profile.family == ProfileFamily::kImfHt) {
    const int32_t side = std::max(tile_width, tile_height);
    return side <= 2048 ? 5 : side <= 4096 ? 6 : 7;
  }
  if (profile.family != ProfileFamily::kImf || profile.wavelet != CJ2K_WAVELET_53) {
    return profile.max_levels;
  }
  int32_t most = 4;
  for (int32_t width = 2048; width <= tile_width && width <= 8192; width *= 2) ++most;
  return std::min(most, profile.max_levels);
}

// The table has 8, 10, 12 and 16 bits; the depths between follow the same formula, which is also that
// of validators.
int32_t magnitude_bound_of(const cj2k_params& p) {
  if (profile_of(p.profile).family != ProfileFamily::kImfHt) return 0;
  const bool transform = p.mct == CJ2K_MCT_ON;
  if (p.wavelet == CJ2K_WAVELET_97) return p.depth[0] + 1 + (transform && p.depth[0] > 10);
  return p.depth[0] + 3 + transform + (p.levels > 5);
}

bool tiles_fit(const Profile& profile, const cj2k_params& p) {
  const int64_t w = p.tile_width, h = p.tile_height;
  const bool one = w == p.width && h == p.height;
  const bool square = w == h;
  switch (profile.tiles) {
    case ProfileTiles::kAny:
      return true;
    case ProfileTiles::kOne:
      return one;
    case ProfileTiles::kSquare128:
      return one || (square && w == 128);
    case ProfileTiles::kSquare1024: {
      // T.800 Table A.45: XTsiz / min(XRsiz, YRsiz) <= 1024. Offsets are free, so one tile is a tile
      // that reaches over the picture.
      int32_t least = 4;
      for (int c = 0; c < p.num_components; ++c) least = std::min({least, p.dx[c], p.dy[c]});
      const bool covers = p.tile_offset_x + w >= int64_t{p.image_offset_x} + p.width &&
                          p.tile_offset_y + h >= int64_t{p.image_offset_y} + p.height;
      return covers || (square && w <= int64_t{1024} * least);
    }
    case ProfileTiles::kImf2k:
      return one || (square && w == 1024);
    case ProfileTiles::kImf4k:
      return one || (square && (w == 1024 || w == 2048));
    case ProfileTiles::kImf8k:
      return one || (square && (w == 1024 || w == 2048 || w == 4096));
    case ProfileTiles::kFour: {
      const int64_t wide = ceil_div(p.width, w), high = ceil_div(p.height, h);
      return one || (wide == 2 && high == 2) || (wide == 1 && high == 4);
    }
  }
  return false;
}

int64_t bytes_per_frame(int64_t bits_per_second, int32_t num, int32_t den) {
  __extension__ using Wide = unsigned __int128;
  const Wide bytes = Wide(static_cast<uint64_t>(bits_per_second)) * static_cast<uint32_t>(den) /
                     (Wide(8) * static_cast<uint32_t>(num));
  return static_cast<int64_t>(std::min<Wide>(bytes, Wide(static_cast<uint64_t>(kMaxBytes))));
}

CinemaRate cinema_rate_of(cj2k_cinema_rate rate) {
  if (rate == CJ2K_CINEMA_RATE_HFR) return {500 * kMega, 400 * kMega, 500 * kMega};
  const int64_t chosen = rate == CJ2K_CINEMA_RATE_SAFE ? 230 : 250;
  return {250 * kMega, 200 * kMega, chosen * kMega};
}

int64_t max_samples_per_second(const Profile& profile, int32_t main_level) {
  const Level& level = level_of(main_level);
  const bool imf = profile.family == ProfileFamily::kImf;
  return (imf ? level.imf_samples : level.broadcast_samples) * kMega;
}

int32_t max_sub_level(int32_t main_level) { return level_of(main_level).max_sub_level; }

int64_t max_bits_per_second(const Profile& profile, int32_t main_level, int32_t sub_level) {
  if (profile.family == ProfileFamily::kBroadcast) {
    return level_of(main_level).broadcast_bits * kMega;
  }
  if (profile.family != ProfileFamily::kImf || sub_level <= 0) return 0;
  return int64_t{100} * kMega << sub_level;  // 200 Mbit/s at sub level 1, twice that at each next
}

uint16_t rsiz_of(const cj2k_params& p) {
  const Profile& profile = profile_of(p.profile);
  uint32_t rsiz = profile.rsiz;
  if (profile.family == ProfileFamily::kImf || profile.family == ProfileFamily::kBroadcast) {
    rsiz |= static_cast<uint32_t>(p.main_level);
  }
  if (profile.family == ProfileFamily::kImf) rsiz |= static_cast<uint32_t>(p.sub_level) << 4;
  if (p.coder == CJ2K_CODER_HT) rsiz |= 0x4000;  // there is a CAP marker segment (T.814)
  return static_cast<uint16_t>(rsiz);
}

Status set_rsiz(cj2k_params* p, int32_t rsiz, const Log& log) {
  if (rsiz == 0) return Status::kOk;
  if (rsiz == 0x4000) {  // Part 15 has no numbers of profiles
    if (p->coder == CJ2K_CODER_AUTO) p->coder = CJ2K_CODER_HT;
    return Status::kOk;
  }
  const auto found = std::find_if(kProfiles.begin(), kProfiles.end(), [rsiz](const Profile& row) {
    const bool imf = row.family == ProfileFamily::kImf;
    if (!imf && row.family != ProfileFamily::kBroadcast) return row.rsiz == rsiz;
    const int32_t main = rsiz & 15, rest = rsiz & ~(imf ? 0xFF : 0xF);
    return rest == row.rsiz && main >= 1 && main <= kMaxMainLevel;
  });
  if (found == kProfiles.end())
    return log.fail(Status::kInvalid, "Rsiz 0x%04x is of no profile", static_cast<unsigned>(rsiz));
  if (p->profile != CJ2K_PROFILE_NONE && p->profile != found->id) {
    return log.about("profile").fail(Status::kInvalid, "Rsiz 0x%04x contradicts profile %s",
                                     static_cast<unsigned>(rsiz),
                                     value_name("profile", p->profile));
  }
  p->profile = found->id;
  if (rsiz < 0x100) return Status::kOk;
  if (p->main_level == 0) p->main_level = rsiz & 15;
  if (p->sub_level < 0 && found->family == ProfileFamily::kImf) p->sub_level = rsiz >> 4 & 15;
  return Status::kOk;
}

ProfileCaps profile_caps(const cj2k_params& p) {
  const Profile& profile = profile_of(p.profile);
  if (profile.family == ProfileFamily::kCinema) {
    const CinemaRate rate = cinema_rate_of(p.cinema_rate);
    return {bytes_per_frame(rate.frame, p.frame_rate_num, p.frame_rate_den),
            bytes_per_frame(rate.component, p.frame_rate_num, p.frame_rate_den)};
  }
  const int64_t bits = p.lossless ? 0 : max_bits_per_second(profile, p.main_level, p.sub_level);
  if (bits == 0) return {0, 0};
  return {bytes_per_frame(bits, p.frame_rate_num, p.frame_rate_den), 0};
}

}  // namespace cj2k
