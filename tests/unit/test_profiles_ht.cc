// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Profiles with the HT block coder: IMF (ST 2067-21 APP2.HT.IRV, APP2.HT.REV) and DICOM.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "packets/markers.h"
#include "params/profiles.h"
#include "plan/plan.h"
#include "unit/params_support.h"

namespace {

using namespace cj2k::test;
using cj2k::Status;

cj2k_params under(cj2k_profile profile, int width, int height, int depth) {
  cj2k_params p = valid();
  p.profile = profile;
  p.width = width;
  p.height = height;
  for (int32_t& d : p.depth) d = depth;
  p.threads = 1;
  return p;
}

std::string text_of(const cj2k_params& p, const char* key) {
  char text[CJ2K_MAX_PARAM_TEXT];
  REQUIRE(cj2k::get_param(p, key, text, sizeof text, {}) == Status::kOk);
  return text;
}

cj2k::Plan plan_of(const cj2k_params& p) {
  cj2k::Plan plan;
  Messages m;
  const Status status = cj2k::make_plan(resolved(p), m.log, &plan);
  INFO(m.last());
  REQUIRE(status == Status::kOk);
  return plan;
}

/// Ccap15 of the main header; the CAP marker segment follows SIZ.
uint16_t ccap15_of(const cj2k::Plan& plan) {
  const std::vector<uint8_t> bytes = cj2k::make_main_header(plan).bytes;
  const size_t siz = 2 + size_t{static_cast<size_t>(bytes[4]) << 8 | bytes[5]} + 2;
  REQUIRE(bytes[siz] == 0xFF);
  REQUIRE(bytes[siz + 1] == 0x50);
  return static_cast<uint16_t>(bytes[siz + 8] << 8 | bytes[siz + 9]);
}

int most_bit_planes(const cj2k::Plan& plan) {
  int most = 0;
  for (const cj2k::Subband& band : plan.subbands) {
    most = std::max<int>(most, band.max_bit_planes);
    CHECK(band.magnitude_bits <= band.max_bit_planes);
  }
  return most;
}

}  // namespace

TEST_CASE("HT profiles: what each sets") {
  struct Row {
    cj2k_profile profile;
    int width, height;
    const char *wavelet, *levels, *guard_bits, *cblk, *progression, *tile_parts, *precincts;
    int lossless, frame_steps;
  };
  const char* const at_5 = "256x256,256x256,256x256,256x256,256x256,128x128";
  const char* const at_6 = "256x256,256x256,256x256,256x256,256x256,256x256,128x128";
  const char* const at_7 = "256x256,256x256,256x256,256x256,256x256,256x256,256x256,128x128";
  const std::vector<Row> rows = {
      {CJ2K_PROFILE_IMF_HT, 2048, 1080, "9/7", "5", "1", "64x64", "rpcl", "resolution", at_5, 0, 0},
      {CJ2K_PROFILE_IMF_HT, 1080, 2049, "9/7", "6", "1", "64x64", "rpcl", "resolution", at_6, 0, 0},
      {CJ2K_PROFILE_IMF_HT, 8192, 4320, "9/7", "7", "1", "64x64", "rpcl", "resolution", at_7, 0, 0},
      {CJ2K_PROFILE_IMF_HT_R, 4096, 2160, "5/3", "6", "2", "64x64", "rpcl", "resolution", at_6, 1,
       0},
      {CJ2K_PROFILE_DICOM_HT, 512, 512, "9/7", "5", "2", "64x64", "lrcp", "none", "", 0, 1},
      {CJ2K_PROFILE_DICOM_HT_R, 512, 512, "5/3", "5", "2", "64x64", "lrcp", "none", "", 1, 1},
      {CJ2K_PROFILE_DICOM_HT_RPCL, 2048, 4096, "5/3", "5", "2", "64x64", "rpcl", "none", "", 1, 1},
      {CJ2K_PROFILE_DICOM_HT_RPCL, 4096, 2049, "5/3", "6", "2", "64x64", "rpcl", "none", "", 1, 1},
  };
  for (const Row& row : rows) {
    INFO("profile ", static_cast<int>(row.profile), " width ", row.width);
    const cj2k_params r = resolved(under(row.profile, row.width, row.height, 12));
    CHECK(text_of(r, "coder") == "ht");
    CHECK(text_of(r, "wavelet") == row.wavelet);
    CHECK(text_of(r, "levels") == row.levels);
    CHECK(text_of(r, "guard_bits") == row.guard_bits);
    CHECK(text_of(r, "cblk") == row.cblk);
    CHECK(text_of(r, "progression") == row.progression);
    CHECK(text_of(r, "tile_parts") == row.tile_parts);
    CHECK(text_of(r, "precincts") == row.precincts);
    CHECK(r.lossless == row.lossless);
    CHECK(r.frame_steps == row.frame_steps);
    CHECK(r.tlm == 1);
    CHECK(cj2k::rsiz_of(r) == 0x4000);
    CHECK(cj2k::rsiz_of(resolved(r)) == 0x4000);
  }
}

TEST_CASE("HT profiles: without one, the coder is EBCOT and HT follows the frame") {
  CHECK(resolved(valid()).coder == CJ2K_CODER_EBCOT);
  cj2k_params p = valid();
  p.coder = CJ2K_CODER_HT;
  CHECK(resolved(p).frame_steps == 1);
}

TEST_CASE("HT profiles: where QCD is constant, the first frame may choose it") {
  cj2k_params p = under(CJ2K_PROFILE_IMF_HT, 1920, 1080, 12);
  p.frame_steps = 2;
  CHECK(resolved(p).frame_steps == 2);
  p.frame_steps = 3;
  CHECK(contains(resolve_error(p), "frame_steps 3 not in [0, 2]"));
}

TEST_CASE("HT profiles: parameter B of the table of ST 2067-21") {
  struct Row {
    int depth, rev, rev_one, rev_both, irv, irv_transform;
  };
  for (const Row& row : {Row{8, 11, 12, 13, 9, 9}, Row{10, 13, 14, 15, 11, 11},
                         Row{12, 15, 16, 17, 13, 14}, Row{16, 19, 20, 21, 17, 18}}) {
    for (const bool transform : {false, true}) {
      for (const int width : {1920, 3840}) {
        CAPTURE(row.depth);
        CAPTURE(transform);
        CAPTURE(width);
        cj2k_params p = under(CJ2K_PROFILE_IMF_HT_R, width, 64, row.depth);
        p.mct = transform ? CJ2K_MCT_ON : CJ2K_MCT_OFF;
        const int both = transform + (width > 2048);
        const int rev = both == 0 ? row.rev : both == 1 ? row.rev_one : row.rev_both;
        CHECK(ccap15_of(plan_of(p)) == rev - 8);
        CHECK(most_bit_planes(plan_of(p)) <= rev);
        p.profile = CJ2K_PROFILE_IMF_HT;
        const int irv = transform ? row.irv_transform : row.irv;
        CHECK(ccap15_of(plan_of(p)) == (0x20 | (irv - 8)));
      }
    }
  }
}

TEST_CASE("HT profiles: with the 5/3, every legal depth and number of levels stays within B") {
  for (int depth = 8; depth <= 16; ++depth) {
    for (int levels = 1; levels <= 7; ++levels) {
      for (const int guard_bits : {0, 1}) {
        for (const cj2k_mct mct : {CJ2K_MCT_OFF, CJ2K_MCT_ON}) {
          cj2k_params p = under(CJ2K_PROFILE_IMF_HT_R, 4100, 40, depth);
          p.levels = levels;
          p.guard_bits = guard_bits;
          p.mct = mct;
          CAPTURE(depth);
          CAPTURE(levels);
          CHECK(most_bit_planes(plan_of(p)) <= cj2k::magnitude_bound_of(resolved(p)));
        }
      }
    }
  }
}

TEST_CASE("HT profiles: contradictions name the profile and the value") {
  struct Row {
    cj2k_profile profile;
    const char *key, *value, *says;
  };
  const std::vector<Row> rows = {
      {CJ2K_PROFILE_IMF_HT, "coder", "ebcot", "coder ebcot: profile imf_ht has ht"},
      {CJ2K_PROFILE_IMF_HT, "frame_steps", "1", "frame_steps 1: profile imf_ht has 0"},
      {CJ2K_PROFILE_IMF_HT, "lossless", "1", "lossless 1: profile imf_ht is lossy (9/7 wavelet)"},
      {CJ2K_PROFILE_IMF_HT, "wavelet", "5/3", "wavelet 5/3: profile imf_ht has 9/7"},
      {CJ2K_PROFILE_IMF_HT, "progression", "cprl", "progression cprl: profile imf_ht has rpcl"},
      {CJ2K_PROFILE_IMF_HT, "tile_parts", "none", "tile_parts none: profile imf_ht has resolution"},
      {CJ2K_PROFILE_IMF_HT, "tlm", "0", "tlm 0: profile imf_ht has 1"},
      {CJ2K_PROFILE_IMF_HT, "cblk", "32x128", "cblk 32x128: profile imf_ht has 32x32 to 128x64"},
      {CJ2K_PROFILE_IMF_HT, "cblk_style", "vsc", "cblk_style 8: profile imf_ht has none"},
      {CJ2K_PROFILE_IMF_HT, "levels", "6", "levels 6: profile imf_ht has 1 to 5"},
      {CJ2K_PROFILE_IMF_HT, "guard_bits", "3", "guard_bits 3: profile imf_ht has 1 to 2"},
      {CJ2K_PROFILE_IMF_HT, "layers", "2", "layers 2: profile imf_ht has 1"},
      {CJ2K_PROFILE_IMF_HT, "depth", "12,12,10", "depth[2] 10 with depth[0] 12: profile imf_ht"},
      {CJ2K_PROFILE_IMF_HT, "depth", "7", "depth[0] 7: profile imf_ht has 8 to 16"},
      {CJ2K_PROFILE_IMF_HT, "dy", "1,2,2", "component 1 subsampled by 1x2: profile imf_ht"},
      {CJ2K_PROFILE_IMF_HT, "tile", "256x256", "tile 256x256: profile imf_ht has one tile"},
      {CJ2K_PROFILE_IMF_HT, "precincts", "256x256", "precincts[5] 256x256: profile imf_ht"},
      {CJ2K_PROFILE_IMF_HT, "roi", "0,0,64,64", "roi with 1 rectangles: profile imf_ht has none"},
      {CJ2K_PROFILE_IMF_HT, "main_level", "3", "main_level 3: profile imf_ht has no levels"},
      {CJ2K_PROFILE_IMF_HT_R, "wavelet", "9/7", "wavelet 9/7: profile imf_ht_r has 5/3"},
      {CJ2K_PROFILE_DICOM_HT, "coder", "ebcot", "coder ebcot: profile dicom_ht has ht"},
      {CJ2K_PROFILE_DICOM_HT_R, "target_bytes", "90000", "lossless 0: profile dicom_ht_r is"},
      {CJ2K_PROFILE_DICOM_HT_RPCL, "levels", "2", "levels 2 of 1920x1080: profile dicom_ht_rpcl"},
      {CJ2K_PROFILE_DICOM_HT_RPCL, "tlm", "0", "tlm 0: profile dicom_ht_rpcl has 1"},
      {CJ2K_PROFILE_CINEMA_2K, "coder", "ht", "coder ht: profile cinema2k has ebcot"},
      {CJ2K_PROFILE_1, "coder", "ht", "coder ht: profile profile1 has ebcot"},
  };
  for (const Row& row : rows) {
    cj2k_params p = under(row.profile, 1920, 1080, 12);
    REQUIRE(set(&p, "frame_rate", "24") == Status::kOk);
    REQUIRE(set(&p, row.key, row.value) == Status::kOk);
    const std::string error = resolve_error(p);
    CHECK_MESSAGE(contains(error, row.says), row.key, " ", row.value, ": ", error);
  }
  CHECK(contains(resolve_error(under(CJ2K_PROFILE_IMF_HT, 8193, 64, 12)),
                 "width 8193: profile imf_ht has 1 to 8192"));
}

TEST_CASE("HT profiles: a contradiction that is a warning leaves HT blocks without the bound") {
  cj2k_params p = under(CJ2K_PROFILE_IMF_HT, 1920, 1080, 12);
  p.profile_strict = 0;
  p.progression = CJ2K_CPRL;
  const cj2k_params r = resolved(p);
  CHECK(r.profile == CJ2K_PROFILE_NONE);
  CHECK(r.coder == CJ2K_CODER_HT);
  CHECK(cj2k::magnitude_bound_of(r) == 0);
}
