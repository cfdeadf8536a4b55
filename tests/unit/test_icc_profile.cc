// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The profiles of JP2 files: read back by a small reader of our own, and their colours compared
// with published ones.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "params/icc_profile.h"
#include "params_support.h"

namespace cj2k {
namespace {

using test::contains;
using test::valid;

using Profile = std::vector<uint8_t>;

uint32_t u32(const Profile& p, size_t at) {
  REQUIRE(at + 4 <= p.size());
  return uint32_t{p[at]} << 24 | uint32_t{p[at + 1]} << 16 | uint32_t{p[at + 2]} << 8 | p[at + 3];
}

double fixed(const Profile& p, size_t at) { return static_cast<int32_t>(u32(p, at)) / 65536.0; }

std::string name(const Profile& p, size_t at) {
  return std::string(p.begin() + static_cast<long>(at), p.begin() + static_cast<long>(at) + 4);
}

/// Where the entry of a tag is; 0 if there is none.
size_t entry(const Profile& p, const std::string& tag) {
  for (uint32_t i = 0; i < u32(p, 128); ++i) {
    if (name(p, 132 + 12 * i) == tag) return 132 + 12 * i;
  }
  return 0;
}

size_t offset(const Profile& p, const std::string& tag) {
  const size_t at = entry(p, tag);
  REQUIRE(at != 0);
  return u32(p, at + 4);
}

/// The curve of a component, at v in 0 .. 1.
double linear(const Profile& p, const std::string& tag, double v) {
  const size_t at = offset(p, tag);
  REQUIRE(name(p, at) == "curv");
  const uint32_t count = u32(p, at + 8);
  if (count == 0) return v;
  const auto value = [&](uint32_t i) { return p[at + 12 + 2 * i] * 256.0 + p[at + 13 + 2 * i]; };
  if (count == 1) return std::pow(v, value(0) / 256);
  const auto i = std::min(static_cast<uint32_t>(v * (count - 1)), count - 2);
  const double part = v * (count - 1) - i;
  return (value(i) * (1 - part) + value(i + 1) * part) / 65535;
}

cj2k_params params(cj2k_colorspace space, cj2k_primaries primaries, cj2k_transfer transfer) {
  cj2k_params p = valid();
  p.colorspace = space;
  p.primaries = primaries;
  p.transfer = transfer;
  return p;
}

void check_frame(const Profile& p, const std::string& space) {
  CHECK(u32(p, 0) == p.size());
  CHECK(p.size() % 4 == 0);
  CHECK(p.size() < 1200);
  CHECK(u32(p, 8) == 0x02100000);
  CHECK(name(p, 12) == "scnr");
  CHECK(name(p, 16) == space);
  CHECK(name(p, 20) == "XYZ ");
  CHECK(name(p, 36) == "acsp");
  const uint32_t count = u32(p, 128);
  for (uint32_t i = 0; i < count; ++i) {
    const size_t at = u32(p, 132 + 12 * i + 4), size = u32(p, 132 + 12 * i + 8);
    CHECK(at % 4 == 0);
    CHECK(at >= 132 + 12 * count);
    CHECK(at + size <= p.size());
  }
  for (const char* tag : {"desc", "cprt", "wtpt"}) CHECK(entry(p, tag) != 0);
  // ICC.1:2001 6.5.17: after the text 78 bytes, of a text in Unicode and one in ScriptCode.
  CHECK(u32(p, entry(p, "desc") + 8) == 12 + u32(p, offset(p, "desc") + 8) + 78);
}

}  // namespace

TEST_CASE("ICC: the primaries under D50 are the published ones") {
  const struct {
    cj2k_primaries primaries;
    double colorants[3][3];  // red, green, blue: X, Y, Z
  } table[] = {
      // sRGB, Display P3 and BT.2020 as in the profiles of their owners, to 4 decimals.
      {CJ2K_PRIMARIES_REC709,
       {{0.4361, 0.2225, 0.0139}, {0.3851, 0.7169, 0.0971}, {0.1431, 0.0606, 0.7139}}},
      {CJ2K_PRIMARIES_P3D65,
       {{0.5151, 0.2412, -0.0011}, {0.2920, 0.6922, 0.0419}, {0.1571, 0.0666, 0.7841}}},
      {CJ2K_PRIMARIES_REC2020,
       {{0.6735, 0.2790, -0.0019}, {0.1657, 0.6753, 0.0300}, {0.1251, 0.0457, 0.7969}}},
  };
  for (const auto& row : table) {
    const Profile p =
        make_icc_profile(params(CJ2K_COLOR_SRGB, row.primaries, CJ2K_TRANSFER_GAMMA22));
    check_frame(p, "RGB ");
    const char* const tags[] = {"rXYZ", "gXYZ", "bXYZ"};
    for (int c = 0; c < 3; ++c) {
      REQUIRE(name(p, offset(p, tags[c])) == "XYZ ");
      for (int i = 0; i < 3; ++i) {
        CAPTURE(row.primaries);
        CAPTURE(c);
        CAPTURE(i);
        CHECK(std::abs(fixed(p, offset(p, tags[c]) + 8 + 4 * static_cast<size_t>(i)) -
                       row.colorants[c][i]) < 0.0003);
      }
    }
  }
}

TEST_CASE("ICC: full red, green and blue of every set add up to D50") {
  for (int set = CJ2K_PRIMARIES_REC709; set <= CJ2K_PRIMARIES_REC601_525; ++set) {
    const Profile p = make_icc_profile(
        params(CJ2K_COLOR_SRGB, static_cast<cj2k_primaries>(set), CJ2K_TRANSFER_GAMMA24));
    const double d50[] = {0.9642, 1.0, 0.8249};
    for (size_t i = 0; i < 3; ++i) {
      double sum = 0;
      for (const char* tag : {"rXYZ", "gXYZ", "bXYZ"}) sum += fixed(p, offset(p, tag) + 8 + 4 * i);
      CAPTURE(set);
      CHECK(std::abs(sum - d50[i]) < 0.0001);
    }
  }
}

TEST_CASE("ICC: the curves") {
  const auto curve = [](cj2k_colorspace space, cj2k_transfer transfer, const char* tag, double v) {
    return linear(make_icc_profile(params(space, CJ2K_PRIMARIES_REC2020, transfer)), tag, v);
  };
  for (double v = 0; v <= 1; v += 1.0 / 64) {
    CAPTURE(v);
    const double srgb = v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
    for (const char* tag : {"rTRC", "gTRC", "bTRC"}) {
      CHECK(std::abs(curve(CJ2K_COLOR_SRGB, CJ2K_TRANSFER_SRGB, tag, v) - srgb) < 2e-5);
    }
    CHECK(curve(CJ2K_COLOR_SRGB, CJ2K_TRANSFER_LINEAR, "gTRC", v) == v);
    CHECK(curve(CJ2K_COLOR_GRAY, CJ2K_TRANSFER_LINEAR, "kTRC", v) == v);
    const struct {
      cj2k_transfer transfer;
      double gamma;
    } powers[] = {{CJ2K_TRANSFER_GAMMA22, 2.2},
                  {CJ2K_TRANSFER_GAMMA24, 2.4},
                  {CJ2K_TRANSFER_GAMMA26, 2.6},
                  {CJ2K_TRANSFER_GAMMA28, 2.8}};
    for (const auto& power : powers) {
      CHECK(std::abs(curve(CJ2K_COLOR_SRGB, power.transfer, "bTRC", v) - std::pow(v, power.gamma)) <
            0.0008);
      CHECK(std::abs(curve(CJ2K_COLOR_GRAY, power.transfer, "kTRC", v) - std::pow(v, power.gamma)) <
            0.0008);
    }
  }
  check_frame(
      make_icc_profile(params(CJ2K_COLOR_GRAY, CJ2K_PRIMARIES_REC709, CJ2K_TRANSFER_GAMMA22)),
      "GRAY");
}

TEST_CASE("ICC: X'Y'Z' white of RP 431-2 becomes D50") {
  // Primaries and transfer do not count: X'Y'Z' has its own.
  const Profile p =
      make_icc_profile(params(CJ2K_COLOR_XYZ, CJ2K_PRIMARIES_REC2020, CJ2K_TRANSFER_PQ));
  check_frame(p, "RGB ");
  const double code[] = {3794, 3960, 3890};  // RP 431-2: the reference white in 12 bits
  const double d50[] = {0.9642, 1.0, 0.8249};
  const char* const colorants[] = {"rXYZ", "gXYZ", "bXYZ"};
  const char* const curves[] = {"rTRC", "gTRC", "bTRC"};
  for (size_t i = 0; i < 3; ++i) {
    double sum = 0;
    for (size_t c = 0; c < 3; ++c) {
      sum += linear(p, curves[c], code[c] / 4095) * fixed(p, offset(p, colorants[c]) + 8 + 4 * i);
    }
    CAPTURE(i);
    CHECK(std::abs(sum - d50[i]) < 0.001);
  }
}

TEST_CASE("ICC: which pictures need a profile, and what is refused") {
  const auto needs = [](cj2k_colorspace s, cj2k_primaries p, cj2k_transfer t) {
    return needs_icc_profile(params(s, p, t));
  };
  CHECK_FALSE(needs(CJ2K_COLOR_SRGB, CJ2K_PRIMARIES_REC709, CJ2K_TRANSFER_SRGB));
  CHECK(needs(CJ2K_COLOR_SRGB, CJ2K_PRIMARIES_REC709, CJ2K_TRANSFER_LINEAR));
  CHECK(needs(CJ2K_COLOR_SRGB, CJ2K_PRIMARIES_REC2020, CJ2K_TRANSFER_SRGB));
  CHECK_FALSE(needs(CJ2K_COLOR_GRAY, CJ2K_PRIMARIES_REC2020, CJ2K_TRANSFER_SRGB));
  CHECK(needs(CJ2K_COLOR_GRAY, CJ2K_PRIMARIES_REC709, CJ2K_TRANSFER_GAMMA24));
  CHECK_FALSE(needs(CJ2K_COLOR_SYCC, CJ2K_PRIMARIES_REC2020, CJ2K_TRANSFER_PQ));
  CHECK(needs(CJ2K_COLOR_XYZ, CJ2K_PRIMARIES_REC709, CJ2K_TRANSFER_SRGB));

  for (const cj2k_transfer transfer : {CJ2K_TRANSFER_PQ, CJ2K_TRANSFER_HLG}) {
    cj2k_params p = params(CJ2K_COLOR_AUTO, CJ2K_PRIMARIES_REC2020, transfer);
    CHECK(test::resolve_error(p) == "");  // a raw codestream says nothing of colours
    p.format = CJ2K_FORMAT_JP2;
    CHECK(contains(test::resolve_error(p, Status::kNotSupported),
                   transfer == CJ2K_TRANSFER_PQ ? "format jp2 with transfer pq"
                                                : "format jp2 with transfer hlg"));
    p.num_components = 1;
    CHECK(contains(test::resolve_error(p, Status::kNotSupported), "format jp2 with transfer"));
    p.num_components = 3;
    p.colorspace = CJ2K_COLOR_SYCC;
    CHECK(test::resolve_error(p) == "");
    p.colorspace = CJ2K_COLOR_XYZ;
    CHECK(test::resolve_error(p) == "");
  }
}

TEST_CASE("ICC: the caller's profile is checked") {
  const Profile rgb =
      make_icc_profile(params(CJ2K_COLOR_SRGB, CJ2K_PRIMARIES_P3D65, CJ2K_TRANSFER_SRGB));
  const Profile gray =
      make_icc_profile(params(CJ2K_COLOR_GRAY, CJ2K_PRIMARIES_REC709, CJ2K_TRANSFER_LINEAR));
  cj2k_params p = valid();
  const auto error = [&p](const Profile& profile) {
    p.icc_profile = profile.data();
    p.icc_profile_bytes = profile.size();
    return test::resolve_error(p);
  };
  CHECK(error(rgb) == "");
  CHECK(contains(error(gray), "icc_profile is for GRAY, the picture is RGB"));
  p.num_components = 1;
  CHECK(error(gray) == "");
  CHECK(contains(error(rgb), "icc_profile is for RGB, the picture is GRAY"));
  p.num_components = 3;
  for (const cj2k_colorspace space : {CJ2K_COLOR_SYCC, CJ2K_COLOR_XYZ}) {
    p.colorspace = space;
    CHECK(contains(error(rgb), "icc_profile with colorspace "));
  }
  p.colorspace = CJ2K_COLOR_AUTO;

  const auto spoilt = [&](size_t at, uint8_t value) {
    Profile bad = rgb;
    bad.at(at) = value;
    return error(bad);
  };
  CHECK(contains(spoilt(3, 0), "icc_profile says it has"));
  CHECK(contains(spoilt(36, 'x'), "signature xcsp, not acsp"));
  CHECK(contains(spoilt(8, 3), "version 3, not 2 or 4"));
  CHECK(spoilt(8, 4) == "");
  CHECK(contains(spoilt(12, 'p'), "class pcnr"));
  CHECK(contains(spoilt(20, 'L'), "connects to LYZ,"));
  CHECK(contains(spoilt(128, 1), "tags, not in [1, "));
  CHECK(contains(spoilt(131, 3), "no tag rXYZ"));
  for (const char* tag : {"rXYZ", "gXYZ", "bXYZ", "rTRC", "gTRC", "bTRC"}) {
    CAPTURE(tag);
    const size_t at = entry(rgb, tag);
    CHECK(contains(spoilt(at + 3, 'x'), std::string("no tag ") + tag));
    CHECK(contains(spoilt(at + 4, 1), std::string("tag ") + tag));     // far behind the end
    CHECK(contains(spoilt(at + 8, 0xFF), std::string("tag ") + tag));  // longer than the profile
    // The curves share their data.
    const std::string first = std::string(tag).substr(1) == "TRC" ? "rTRC" : tag;
    CHECK(contains(spoilt(offset(rgb, tag), '?'), "tag " + first + " has type ?"));
  }
  CHECK(contains(spoilt(offset(rgb, "gTRC") + 8, 1), "for a curve of 16777472 points"));
  Profile table = rgb;
  std::copy_n("A2B0", 4, table.begin() + static_cast<long>(entry(table, "desc")));
  CHECK(contains(error(table), "tag A2B0, a lookup table"));

  for (size_t bytes : {size_t{1}, size_t{131}, kMaxIccBytes + 1}) {
    p.icc_profile = rgb.data();
    p.icc_profile_bytes = bytes;
    CHECK(contains(test::resolve_error(p), "not in [132, 1048576]"));
  }
  p.icc_profile_bytes = 0;
  CHECK(contains(test::resolve_error(p), "not in [132, 1048576]"));
  p.icc_profile = nullptr;
  p.icc_profile_bytes = 200;
  CHECK(contains(test::resolve_error(p), "icc_profile NULL"));
}

TEST_CASE("ICC: no damaged profile is read beyond its end") {
  // Each copy has a heap block of its exact size, so that AddressSanitizer sees every byte too many.
  const Profile rgb =
      make_icc_profile(params(CJ2K_COLOR_SRGB, CJ2K_PRIMARIES_P3D65, CJ2K_TRANSFER_SRGB));
  const Log silent;
  const auto accepted = [&silent](const Profile& profile) {
    const auto copy = std::make_unique<uint8_t[]>(profile.size());
    std::copy(profile.begin(), profile.end(), copy.get());
    return check_icc_profile(copy.get(), profile.size(), 3, silent) == Status::kOk;
  };
  CHECK(accepted(rgb));
  for (size_t bytes = 132; bytes < rgb.size(); ++bytes) {
    Profile cut(rgb.begin(), rgb.begin() + static_cast<long>(bytes));
    cut[2] = static_cast<uint8_t>(bytes >> 8);
    cut[3] = static_cast<uint8_t>(bytes);
    CAPTURE(bytes);
    // The last tag that is checked ends where the profile ends.
    CHECK_FALSE(accepted(cut));
  }
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    Profile bad = rgb;
    for (int flips = 0; flips < 3; ++flips) {
      // The header, the tags, and the first bytes of their data.
      bad[4 + random() % (entry(rgb, "bTRC") + 100 - 4)] ^=
          static_cast<uint8_t>(1u << random() % 8);
    }
    refused += !accepted(bad);
  }
  CHECK(refused > 2000);
}

}  // namespace cj2k
