// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "params/colours.h"

#include <algorithm>
#include <iterator>

namespace cj2k {
namespace {

/// H.273 Table 2. Code point 2 says that the primaries are not known.
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

}  // namespace

Status set_colours(cj2k_params* p, int primaries, int transfer, const Log& log) {
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
              primaries, primaries == 2 ? " (not known)" : "");
  }
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
