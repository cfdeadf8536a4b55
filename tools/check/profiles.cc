// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "profiles.h"

namespace cj2k_check {
namespace {

constexpr uint16_t kNothing[] = {0};
constexpr uint16_t kPackedHeaders[] = {kPpm, kPpt, 0};
constexpr uint16_t kNotInVideo[] = {kPoc, kPpm, kPpt, kRgn, 0};
constexpr uint16_t kNotInCinema4k[] = {kPpm, kPpt, kRgn, 0};
// What common cinema checkers know; any other marker stops them.
constexpr uint16_t kCinema2k[] = {kSoc, kSiz, kCod, kCoc, kQcd, kQcc,
                                  kTlm, kCom, kSot, kSod, kEoc, 0};
constexpr uint16_t kCinema4kMarkers[] = {kSoc, kSiz, kCod, kCoc, kQcd, kQcc, kTlm,
                                         kPoc, kCom, kSot, kSod, kEoc, 0};

constexpr uint8_t kAllStyles = 0x3F;
// Profile 0, T.800 Table A.45: no reset of contexts, no vertically causal contexts.
constexpr uint8_t kProfile0Styles = kBypass | kTermall | kPredictable | kSegmentationSymbols;
constexpr int kRpcl = 2, kCprl = 4;

constexpr Profile unrestricted() {
  return {"none",
          "T.800",
          0,
          0,
          0,
          0,
          0,
          0,
          0,
          0,
          Sampling::kAny,
          false,
          Tiling::kAny,
          0,
          kAnyValue,
          0,
          32,
          Blocks::kAny,
          kAllStyles,
          false,
          false,
          kAnyValue,
          kAnyValue,
          kAnyValue,
          kAnyValue,
          kAnyValue,
          Parts::kAny,
          false,
          Order::kAny,
          Rate::kNone,
          kNothing,
          nullptr,
          false};
}

constexpr Profile profile0() {
  Profile p = unrestricted();
  p.name = "profile0";
  p.clause = "T.800 Table A.45 (Profile 0)";
  p.rsiz = 1;
  p.rsiz_mask = 0xFFFF;
  p.sampling = Sampling::kPowersOfTwo;
  p.zero_origin = true;
  p.tiling = Tiling::kOneOr128;
  p.blocks = Blocks::k32Or64;
  p.block_styles = kProfile0Styles;
  p.lowest_128 = true;
  p.parts = Parts::kFirstPartsFirst;
  p.poc = Order::kFromZero;
  p.forbidden = kPackedHeaders;
  p.cod_in_main_only = true;
  return p;
}

constexpr Profile profile1() {
  Profile p = unrestricted();
  p.name = "profile1";
  p.clause = "T.800 Table A.45 (Profile 1)";
  p.rsiz = 2;
  p.rsiz_mask = 0xFFFF;
  p.tiling = Tiling::kOneOr1024;
  p.blocks = Blocks::kAtMost64;
  p.lowest_128 = true;
  p.poc = Order::kFromZero;
  return p;
}

/// What cinema, IMF and broadcast have in common.
constexpr Profile video(const char* name, const char* clause, uint16_t rsiz, uint16_t mask) {
  Profile p = unrestricted();
  p.name = name;
  p.clause = clause;
  p.rsiz = rsiz;
  p.rsiz_mask = mask;
  p.min_components = 1;
  p.zero_origin = true;
  p.tiling = Tiling::kOne;
  p.transform = 0;
  p.min_levels = 1;
  p.blocks = Blocks::k32;
  p.block_styles = 0;
  p.precincts_128_256 = true;
  p.progression = kCprl;
  p.layers = 1;
  p.parts = Parts::kByComponent;
  p.tlm = true;
  p.poc = Order::kNone;
  p.forbidden = kNotInVideo;
  p.cod_in_main_only = true;
  return p;
}

constexpr Profile cinema(bool is_4k) {
  Profile p = is_4k ? video("cinema4k", "T.800 A.10 (cinema 4K)", 4, 0xFFFF)
                    : video("cinema2k", "T.800 A.10 (cinema 2K)", 3, 0xFFFF);
  p.width = is_4k ? 4096 : 2048;
  p.height = is_4k ? 2160 : 1080;
  p.min_components = p.max_components = 3;
  p.min_depth = p.max_depth = 12;
  p.sampling = Sampling::kNone;
  // The standard: at most 5, and 1 to 6.
  p.min_levels = p.max_levels = is_4k ? 6 : 5;
  p.mct = 1;
  p.guard_bits = is_4k ? 2 : 1;
  p.scod = 1;
  p.rate = Rate::kCinema;
  p.known = is_4k ? kCinema4kMarkers : kCinema2k;
  if (is_4k) {
    p.parts = Parts::kCinema4k;
    p.poc = Order::kCinema4k;
    p.forbidden = kNotInCinema4k;
  }
  return p;
}

constexpr Profile imf(const char* name, const char* clause, uint16_t rsiz, uint32_t scale,
                      bool reversible) {
  Profile p = video(name, clause, rsiz, 0xFF00);
  p.width = 2048 * scale;
  p.height = 1556 * scale;
  p.max_components = 3;
  p.min_depth = 8;
  p.max_depth = 16;
  p.sampling = Sampling::kHorizontalChroma;
  p.max_levels = scale == 1 ? 5 : scale == 2 ? 6 : 7;
  p.rate = Rate::kImf;
  if (reversible) {
    p.transform = 1;
    p.tiling = Tiling::kPowersFrom1024;
    p.max_tile = 1024 * scale;
  }
  return p;
}

constexpr Profile broadcast(const char* name, const char* clause, uint16_t rsiz, bool multi,
                            bool reversible) {
  Profile p = video(name, clause, rsiz, 0xFFF0);
  p.max_components = 4;
  p.min_depth = 8;
  p.max_depth = 12;
  p.sampling = Sampling::kChroma;
  p.tiling = multi ? Tiling::kOneOrFour : Tiling::kOne;
  p.transform = reversible ? 1 : 0;
  p.max_levels = 5;
  p.blocks = Blocks::k32To128;
  p.rate = Rate::kBroadcast;
  return p;
}

/// SMPTE ST 2067-21: APP2.HT.REV and APP2.HT.IRV.
constexpr Profile imf_ht(const char* name, const char* clause, bool reversible) {
  Profile p = video(name, clause, 0x4000, 0x4000);
  p.width = p.height = 8192;
  p.max_components = 4;
  p.min_depth = 8;
  p.max_depth = 16;
  p.sampling = Sampling::kHorizontalChroma;
  p.transform = reversible ? 1 : 0;
  p.max_levels = 7;
  p.blocks = Blocks::k32To128x64;
  p.block_styles = kHighThroughput;
  p.progression = kRpcl;
  p.parts = Parts::kByResolution;
  p.part_15 = PartFifteen::kImf;
  return p;
}

/// DICOM PS3.5: transfer syntaxes with HTJ2K.
constexpr Profile dicom_ht(const char* name, const char* clause, PartFifteen rules) {
  Profile p = unrestricted();
  p.name = name;
  p.clause = clause;
  p.rsiz = p.rsiz_mask = 0x4000;
  p.block_styles = kHighThroughput | kCausal;
  p.transform = rules == PartFifteen::kDicom ? kAnyValue : 1;
  p.progression = rules == PartFifteen::kDicomRpcl ? kRpcl : kAnyValue;
  p.tlm = rules == PartFifteen::kDicomRpcl;
  p.part_15 = rules;
  return p;
}

constexpr Profile kProfiles[] = {
    unrestricted(),
    profile0(),
    profile1(),
    cinema(false),
    cinema(true),
    imf("imf_2k", "T.800 A.10 (IMF 2K)", 0x0400, 1, false),
    imf("imf_4k", "T.800 A.10 (IMF 4K)", 0x0500, 2, false),
    imf("imf_8k", "T.800 A.10 (IMF 8K)", 0x0600, 4, false),
    imf("imf_2k_r", "T.800 A.10 (IMF 2K reversible)", 0x0700, 1, true),
    imf("imf_4k_r", "T.800 A.10 (IMF 4K reversible)", 0x0800, 2, true),
    imf("imf_8k_r", "T.800 A.10 (IMF 8K reversible)", 0x0900, 4, true),
    broadcast("broadcast_single", "T.800 A.10 (broadcast, single tile)", 0x0100, false, false),
    broadcast("broadcast_multi", "T.800 A.10 (broadcast, multi-tile)", 0x0200, true, false),
    broadcast("broadcast_multi_r", "T.800 A.10 (broadcast, multi-tile reversible)", 0x0300, true,
              true),
    imf_ht("imf_ht", "SMPTE ST 2067-21 (APP2.HT.IRV)", false),
    imf_ht("imf_ht_r", "SMPTE ST 2067-21 (APP2.HT.REV)", true),
    dicom_ht("dicom_ht", "DICOM PS3.5 (HTJ2K)", PartFifteen::kDicom),
    dicom_ht("dicom_ht_r", "DICOM PS3.5 (HTJ2K lossless)", PartFifteen::kDicomLossless),
    dicom_ht("dicom_ht_rpcl", "DICOM PS3.5 (HTJ2K lossless RPCL)", PartFifteen::kDicomRpcl),
};

}  // namespace

const Profile* find_profile(const std::string& name) {
  for (const Profile& profile : kProfiles) {
    if (name == profile.name) return &profile;
  }
  return nullptr;
}

const Profile* profile_of(uint16_t rsiz) {
  if (rsiz == 0 || rsiz == 0x4000) return &kProfiles[0];
  for (const Profile& profile : kProfiles) {
    if (profile.rsiz_mask != 0 && profile.part_15 == PartFifteen::kNone &&
        (rsiz & profile.rsiz_mask) == profile.rsiz)
      return &profile;
  }
  return nullptr;
}

std::string profile_names() {
  std::string names;
  for (const Profile& profile : kProfiles) {
    if (!names.empty()) names += '|';
    names += profile.name;
  }
  return names;
}

std::string FrameRate::text() const {
  std::string text = std::to_string(numerator);
  if (denominator != 1) text.append("/").append(std::to_string(denominator));
  return text;
}

}  // namespace cj2k_check
