// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "params/colours.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>

#include "params/params.h"
#include "params/profiles.h"

namespace cj2k {
namespace {

/// In each table of H.273.
constexpr int kNotKnown = 2;

/// H.273 Table 2.
constexpr struct {
  int code;
  cj2k_primaries jp2;
  cj2k_xyz xyz;  ///< OFF: not a source of X'Y'Z'
} kPrimaries[] = {
    {1, CJ2K_PRIMARIES_REC709, CJ2K_XYZ_REC709},  {2, CJ2K_PRIMARIES_REC709, CJ2K_XYZ_OFF},
    {5, CJ2K_PRIMARIES_REC601_625, CJ2K_XYZ_OFF}, {6, CJ2K_PRIMARIES_REC601_525, CJ2K_XYZ_OFF},
    {7, CJ2K_PRIMARIES_REC601_525, CJ2K_XYZ_OFF}, {9, CJ2K_PRIMARIES_REC2020, CJ2K_XYZ_REC2020},
    {11, CJ2K_PRIMARIES_P3DCI, CJ2K_XYZ_P3DCI},   {12, CJ2K_PRIMARIES_P3D65, CJ2K_XYZ_P3D65},
};

/// H.273 Table 3. JP2 files say sRGB for the curve of BT.709 and its kin, as other writers do.
constexpr struct {
  int code;
  cj2k_transfer jp2;
  double gamma;  ///< the exponent that it names; 0: none
} kTransfers[] = {
    {1, CJ2K_TRANSFER_SRGB, 0},      {2, CJ2K_TRANSFER_SRGB, 0},
    {4, CJ2K_TRANSFER_GAMMA22, 2.2}, {5, CJ2K_TRANSFER_GAMMA28, 2.8},
    {6, CJ2K_TRANSFER_SRGB, 0},      {7, CJ2K_TRANSFER_SRGB, 0},
    {8, CJ2K_TRANSFER_LINEAR, 1},    {11, CJ2K_TRANSFER_SRGB, 0},
    {12, CJ2K_TRANSFER_SRGB, 0},     {13, CJ2K_TRANSFER_SRGB, 2.2},
    {14, CJ2K_TRANSFER_SRGB, 0},     {15, CJ2K_TRANSFER_SRGB, 0},
    {16, CJ2K_TRANSFER_PQ, 0},       {17, CJ2K_TRANSFER_GAMMA26, 2.6},
    {18, CJ2K_TRANSFER_HLG, 0},
};

/// @return the row of a code point; null: there is none
template <typename Table>
const auto* find(const Table& table, int code) {
  const auto* row = std::find_if(std::begin(table), std::end(table),
                                 [code](const auto& one) { return one.code == code; });
  return row == std::end(table) ? nullptr : row;
}

/// What contradicts the profile, though no codestream shows it: an error or, with
/// profile_strict = 0, a warning, and the codestream claims the profile all the same.
class SourceRules {
 public:
  SourceRules(const cj2k_params& p, const Log& log) : p_(p), log_(log) {}

  Status check(const SourceColours& of) const {
    const ProfileFamily family = profile_of(p_.profile).family;
    if (family == ProfileFamily::kCinema) return check_cinema();
    const bool is_imf = family == ProfileFamily::kImf || family == ProfileFamily::kImfHt;
    return is_imf ? check_imf(of) : Status::kOk;
  }

 private:
  bool is_xyz() const { return p_.colorspace == CJ2K_COLOR_XYZ || p_.xyz != CJ2K_XYZ_OFF; }

  Status contradicts(const std::string& what) const {
    const char* const name = value_name("profile", p_.profile);
    if (p_.profile_strict)
      return log_.about("profile").fail(Status::kInvalid, "profile %s %s", name, what.c_str());
    log_.print(CJ2K_LOG_WARNING, "profile %s %s", name, what.c_str());
    return Status::kOk;
  }

  /// The frame rates of ST 428-1, ST 428-11 and ST 429-13: players have no others.
  Status check_cinema() const {
    if (!is_xyz())
      CJ2K_TRY(
          contradicts("is X'Y'Z', the frames are not: xyz auto (or rec709, p3d65, p3dci, rec2020) "
                      "makes X'Y'Z' of R'G'B'"));
    if (p_.frame_rate_num == 0 || p_.frame_rate_den == 0) return Status::kOk;  // open asks for it
    const double rate = static_cast<double>(p_.frame_rate_num) / p_.frame_rate_den;
    int nearest = 24;
    for (const int other : {25, 30, 48, 50, 60, 96, 100, 120})
      if (std::abs(other - rate) < std::abs(nearest - rate)) nearest = other;
    if (rate == nearest) return Status::kOk;
    return contradicts("has 24, 25, 30, 48, 50, 60, 96, 100 or 120 frames per second, these are " +
                       std::to_string(p_.frame_rate_num) + "/" + std::to_string(p_.frame_rate_den) +
                       "; the nearest is " + std::to_string(nearest));
  }

  Status check_imf(const SourceColours& of) const {
    if (is_xyz()) return contradicts("is R'G'B' or Y'CbCr (ST 2067-21), the frames are X'Y'Z'");
    const bool is_ycc = p_.colorspace == CJ2K_COLOR_SYCC;
    std::string missing;
    if (of.primaries == kNotKnown) missing += " primaries";
    if (of.transfer == kNotKnown) missing += " transfer";
    if (is_ycc && of.matrix == kNotKnown) missing += " matrix";
    if (!missing.empty())
      CJ2K_TRY(contradicts("says what the colours are, the frames have no" + missing));
    if (!is_ycc || !of.full_range) return Status::kOk;
    return contradicts("has Y'CbCr of limited range, the frames are of full range");
  }

  const cj2k_params& p_;
  const Log& log_;
};

}  // namespace

Status set_colours(cj2k_params* p, const SourceColours& of, const Log& log) {
  const int primaries = of.primaries, transfer = of.transfer;
  const auto* const from = find(kPrimaries, primaries);
  const auto* const curve = find(kTransfers, transfer);
  const bool is_hdr = curve != nullptr && curve->gamma == 0 && curve->jp2 != CJ2K_TRANSFER_SRGB;
  if (p->xyz != CJ2K_XYZ_OFF && is_hdr) {
    return log.about("transfer", transfer)
        .fail(Status::kInvalid,
              "xyz has no place for the highlights of %s: tone-map the frames before, for example "
              "to BT.709",
              curve->jp2 == CJ2K_TRANSFER_PQ ? "PQ (SMPTE ST 2084)" : "HLG (ARIB STD-B67)");
  }
  const bool is_auto = p->xyz == CJ2K_XYZ_AUTO;
  if (is_auto && (from == nullptr || from->xyz == CJ2K_XYZ_OFF)) {
    return log.about("primaries", primaries)
        .fail(Status::kInvalid,
              "xyz auto: the frames have primaries %d of H.273%s, not 1 (BT.709), 9 (BT.2020), 11 "
              "(P3, white of DCI) or 12 (P3, D65); use xyz rec709, rec2020, p3dci or p3d65",
              primaries, primaries == kNotKnown ? " (not known)" : "");
  }
  CJ2K_TRY(SourceRules(*p, log).check(of));
  // AUTO becomes xyz, or gray, by itself (params_rules.cc).
  const int colours = p->num_components - (p->alpha != 0 ? 1 : 0);
  const bool is_rgb =
      p->xyz == CJ2K_XYZ_OFF &&
      (p->colorspace == CJ2K_COLOR_SRGB || (p->colorspace == CJ2K_COLOR_AUTO && colours >= 3));
  const bool is_gray =
      p->colorspace == CJ2K_COLOR_GRAY || (p->colorspace == CJ2K_COLOR_AUTO && colours < 3);
  const bool is_said = p->format == CJ2K_FORMAT_JP2 && (is_rgb || is_gray);
  if (is_said && (curve == nullptr || (is_rgb && from == nullptr))) {
    const char* const name = curve == nullptr ? "transfer" : "primaries";
    const int code = curve == nullptr ? transfer : primaries;
    return log.about(name, code)
        .fail(Status::kNotSupported,
              "format jp2 has no colour space for %s %d (H.273); use "
              "format j2k, or convert the colours",
              name, code);
  }
  p->primaries = from == nullptr ? CJ2K_PRIMARIES_REC709 : from->jp2;
  p->transfer = curve == nullptr ? CJ2K_TRANSFER_SRGB : curve->jp2;
  if (is_auto) p->xyz = from->xyz;
  if (p->xyz != CJ2K_XYZ_OFF) p->xyz_gamma = curve == nullptr ? 0 : curve->gamma;
  return Status::kOk;
}

}  // namespace cj2k
