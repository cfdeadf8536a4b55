// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Encodes of tiny pictures that together launch every kernel of the library, in each form of
// tier-1. They are small enough for compute-sanitizer (tests/gpu.sh), which checks only what runs.
#include <map>
#include <span>

#include "device/encode_check.h"

namespace cj2k::simt::test {
namespace {

struct Case {
  EncodeSettings settings;
  int32_t width, height;
  bool packed;  ///< R, G and B interleaved
};
/// 67x49 in blocks of 4x4 gives more blocks than the 512 that an early stop needs
/// (depth/early_stop.cc), with no more samples than sixteen blocks of 32x32. The other cases are
/// for one or two kernels each.
const Case kCases[] = {
    {{{"cblk", "4x4"}, {"levels", "2"}, {"target_bytes", "1500"}}, 67, 49, true},
    {{{"cblk", "4x4"}, {"wavelet", "5/3"}, {"target_bytes", "2500"}}, 67, 49, false},
    {{{"stop", "psb"}, {"target_bytes", "700"}, {"depth", "12"}, {"cblk", "8x8"}}, 50, 41, false},
    {{{"stop", "bpi"}, {"target_bytes", "900"}, {"mct", "off"}, {"cblk", "8x8"}}, 41, 50, false},
    {{{"stop", "none"}, {"target_bytes", "700"}, {"layers", "2"}, {"cblk", "8x8"}}, 50, 41, false},
    {{{"lossless", "1"}, {"mct", "off"}, {"levels", "1"}, {"cblk", "64x64"}}, 131, 66, false},
    {{{"lossless", "1"}, {"levels", "1"}, {"cblk_style", "bypass+termall"}}, 40, 33, true},
    {{{"lossless", "1"}, {"levels", "0"}, {"cblk_style", "pterm+segsym"}}, 33, 20, false},
    {{{"levels", "0"}, {"quality", "1"}}, 33, 20, false},
    {{{"lossless", "1"}, {"levels", "0"}, {"mct", "off"}, {"cblk", "4x1024"}}, 5, 600, false},
    {{{"levels", "0"}, {"mct", "off"}, {"target_bytes", "600"}}, 20, 33, false},
    {{{"depth", "9"}, {"source_depth", "12"}, {"low_bits", "round"}}, 37, 21, false},
    {{{"depth", "12"}, {"source_depth", "10"}, {"xyz", "rec709"}}, 37, 21, true},
};

const Case kHtCases[] = {
    {{{"coder", "ht"},
      {"cblk", "8x8"},
      {"num_components", "1"},
      {"levels", "3"},
      {"target_bytes", "4200"}},
     200,
     170,
     true},
    {{{"coder", "ht"},
      {"cblk", "8x8"},
      {"num_components", "1"},
      {"wavelet", "5/3"},
      {"target_bytes", "8500"}},
     200,
     170,
     false},
    {{{"coder", "ht"}, {"wavelet", "5/3"}, {"quality", "2"}, {"cblk_style", "vsc"}}, 67, 49, false},
    {{{"coder", "ht"}, {"lossless", "1"}, {"cblk", "64x64"}, {"levels", "1"}}, 80, 66, false},
    {{{"coder", "ht"}, {"effort", "2"}, {"target_bytes", "1500"}, {"levels", "2"}}, 67, 49, true},
    {{{"coder", "ht"}, {"effort", "2"}, {"wavelet", "5/3"}, {"quality", "8"}}, 67, 49, false},
};

const Case kRdoqCases[] = {
    {{{"effort", "2"}, {"target_bytes", "900"}, {"levels", "2"}, {"cblk", "16x16"}}, 67, 49, true},
    {{{"effort", "3"}, {"wavelet", "5/3"}, {"quality", "8"}, {"levels", "1"}}, 131, 66, false},
    {{{"effort", "2"}, {"levels", "0"}, {"cblk", "4x1024"}, {"target_bytes", "900"}},
     5,
     600,
     false},
};

bool is_for_rdoq(const std::string& kernel) {
  return kernel.starts_with("cj2k_rdoq_") || kernel == "cj2k_tier1_votes" ||
         kernel == "cj2k_colour_errors";
}

/// Whether the form launches this kernel. Those of coder = ht and of RDOQ are not for a form. Some others belong to certain forms, all others to every
/// form.
bool belongs_to(const std::string& kernel, const std::string& form) {
  const auto is = [&](const char* start) { return kernel.rfind(start, 0) == 0; };
  if (is("cj2k_ht_") || is_for_rdoq(kernel)) return false;
  if (is("cj2k_find_low_bits")) return false;  // of frames in device memory: backend_frames.cc
  if (is("cj2k_tier1_fused_") || is("cj2k_tier1_close")) return form == "fused";
  if (is("cj2k_tier1_model_")) return form != "fused";
  if (is("cj2k_tier1_mq_plane") || is("cj2k_tier1_sort_plane") || is("cj2k_tier1_start")) {
    return form == "cibo";
  }
  if (is("cj2k_tier1_mq") || is("cj2k_tier1_count") || is("cj2k_tier1_sort")) {
    return form == "classic";
  }
  return true;
}

std::map<std::string, uint64_t> launches() {
  std::map<std::string, uint64_t> counts;
  for (const KernelInfo* k = KernelInfo::first(); k != nullptr; k = k->next) {
    if (std::string(k->name).rfind("cj2k_sample_", 0) != 0) counts[k->name] = k->num_launches();
  }
  return counts;
}

void encode(const Case& c, const char* form, int64_t* resumed) {
  start_device(3);
  cj2k_params p = cj2k::test::make_params(c.width, c.height);
  for (const auto& [key, value] : c.settings) cj2k::test::set(p, key, value);
  cj2k::test::set(p, "tier1", form);
  cj2k::test::set(p, "gop", "2");
  cj2k::test::set(p, "threads", "1");
  FrameLayout layout;
  layout.interleaved = c.packed;
  *resumed += check_equal(p, 2, layout);
#if defined(CJ2K_SIMT_SHIM)
  shim::check_canaries();
#endif
}

void check_form(const char* form) {
  const auto before = launches();
  REQUIRE(before.size() > 30);
  int64_t resumed = 0;
  for (const Case& c : kCases) encode(c, form, &resumed);
  CHECK(resumed > 0);
  size_t ran = 0;
  for (const auto& [kernel, count] : launches()) {
    INFO(kernel, " with tier1=", std::string(form));
    const bool launched = count > before.at(kernel);
    CHECK(launched == belongs_to(kernel, form));
    ran += launched;
  }
  MESSAGE("tier1=", std::string(form), ": ", ran, " of the library's ", before.size(),
          " kernels ran; ", resumed, " passes of blocks that went on");
}

/// @param expected  number of kernels
void check_kernels(std::span<const Case> cases, bool (*is_one)(const std::string&),
                   size_t expected) {
  const auto before = launches();
  int64_t resumed = 0;
  for (const Case& c : cases) encode(c, "auto", &resumed);
  size_t ran = 0;
  for (const auto& [kernel, count] : launches()) {
    if (!is_one(kernel)) continue;
    INFO(kernel);
    CHECK(count > before.at(kernel));
    ++ran;
  }
  CHECK(ran == expected);
}

TEST_CASE("every kernel of the library runs: HT") {
  check_kernels(
      kHtCases, [](const std::string& k) { return k.starts_with("cj2k_ht_"); }, 18);
}
TEST_CASE("every kernel of the library runs: RDOQ") { check_kernels(kRdoqCases, is_for_rdoq, 5); }
TEST_CASE("every kernel of the library runs: classic") { check_form("classic"); }
TEST_CASE("every kernel of the library runs: cibo") { check_form("cibo"); }
TEST_CASE("every kernel of the library runs: fused") { check_form("fused"); }

}  // namespace
}  // namespace cj2k::simt::test
