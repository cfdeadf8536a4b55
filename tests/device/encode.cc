// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Whole encodes: the CUDA backend's codestreams equal those of the CPU backend.
#include "device/encode_check.h"

namespace cj2k::simt::test {
namespace {

/// Each seed encodes the same pictures with another order of threads and another number of
/// multiprocessors.
#if defined(CJ2K_SIMT_SHIM)
constexpr uint64_t kOrders[] = {1, 2, 0xC0FFEE};
#else
constexpr uint64_t kOrders[] = {1};
#endif

cj2k_params small(EncodeSettings settings) {
  cj2k_params p = cj2k::test::make_params(97, 75);
  cj2k::test::set(p, "cblk", "16x16");
  cj2k::test::set(p, "levels", "3");
  cj2k::test::set(p, "threads", "2");
  for (const auto& [key, value] : settings) cj2k::test::set(p, key, value);
  return p;
}

TEST_CASE("encodes on the device: every form of tier-1, GOPs of 1, 2 and 5, three orders") {
  for (const uint64_t seed : kOrders) {
    for (const char* tier1 : {"classic", "cibo", "fused"}) {
      for (const char* gop : {"1", "2", "5"}) {
        start_device(seed);
        INFO("seed ", seed);
        check_equal(small({{"tier1", tier1}, {"gop", gop}, {"target_bytes", "4000"}}), 6);
      }
    }
#if defined(CJ2K_SIMT_SHIM)
    shim::check_canaries();
    CHECK(shim::device_bytes_in_use() == 0);
    CHECK(shim::stats().launches > 0);
    MESSAGE("implementation shim, seed ", seed, ", ", shim::stats().launches, " launches");
#endif
  }
}

TEST_CASE("encodes on the device: options") {
  const std::vector<cj2k_params> table = {
      small({{"lossless", "1"}}),
      small({{"lossless", "1"}, {"depth", "12"}, {"cblk", "64x64"}}),
      small({{"quality", "4"}, {"depth", "12"}}),
      small({{"wavelet", "5/3"}, {"target_bytes", "3000"}}),
      small({{"tune", "visual"}, {"target_bytes", "3000"}}),
      small({{"tune", "visual"}, {"wavelet", "5/3"}, {"quality", "4"}, {"visual_distance", "3"}}),
      small({{"cblk_style", "bypass+termall"}, {"target_bytes", "5000"}}),
      small({{"cblk_style", "bypass+reset+vsc+segsym"}, {"layers", "3"}, {"target_bytes", "5000"}}),
      small({{"cblk_style", "pterm+segsym"}, {"target_bytes", "5000"}}),
      small({{"cblk_style", "pterm+bypass"}, {"layers", "4"}}),
      small({{"tile", "40x33"}, {"tile_offset", "3x5"}, {"image_offset", "7x9"}}),
      small({{"dx", "1,2,2"}, {"dy", "1,2,2"}, {"depth", "10"}, {"max_component_bytes", "1500"}}),
      small({{"num_components", "1"}, {"depth", "16"}, {"is_signed", "1"}}),
      small({{"num_components", "4"}, {"cblk", "1024x4"}, {"levels", "1"}}),
      small({{"cblk", "4x256"}, {"levels", "0"}, {"mct", "off"}}),
      small({{"stop", "none"}, {"target_bytes", "2500"}}),
      small({{"format", "jp2"}, {"precincts", "32x32"}, {"progression", "rpcl"}, {"plt", "1"}}),
      small({{"measure_mse", "1"}, {"target_bytes", "3000"}, {"gop", "2"}}),
      small({{"verify", "1"}, {"target_bytes", "3000"}, {"gop", "2"}}),
      small({{"verify", "1"}, {"lossless", "1"}, {"tile", "40x33"}}),
      small({{"roi", "30,20,25,20"}, {"cblk", "8x8"}, {"target_bytes", "4000"}}),
      small({{"roi", "30,20,25,20/0,0,5,5"}, {"lossless", "1"}, {"layers", "3"}}),
      small({{"roi", "30,20,25,20"}, {"stop", "psb"}, {"cblk", "8x8"}, {"target_bytes", "2500"}}),
      small({{"roi", "30,20,25,20"}, {"stop", "bpi"}, {"cblk", "8x8"}, {"target_bytes", "2500"}}),
      small({{"poc", "0,0,1,3,3,cprl/3,0,1,4,3,cprl"}, {"tile_parts", "component"}}),
      small({{"measure_mse", "1"}, {"tile", "40x33"}, {"wavelet", "5/3"}, {"quality", "9"}}),
      small({{"measure_mse", "1"}, {"levels", "0"}, {"mct", "off"}, {"quality", "9"}}),
      small({{"target_psnr", "38"}, {"gop", "2"}}),
      small({{"layer_psnr", "28,34"}, {"target_bytes", "3000"}, {"gop", "2"}}),
      small({{"target_psnr", "38"}, {"target_bytes", "3000"}, {"tile", "40x33"}}),
  };
  for (cj2k_params p : table) {
    for (const char* tier1 : {"classic", "cibo", "fused"}) {
      start_device(7);
      cj2k::test::set(p, "tier1", tier1);
      check_equal(p, 2);
    }
  }
}

TEST_CASE("encodes on the device: early stop with blocks that go on later") {
  for (const char* tier1 : {"classic", "cibo", "fused"}) {
    start_device(11);
    // Enough blocks for a sample (depth/early_stop.cc).
    cj2k_params p =
        small({{"cblk", "8x8"}, {"tier1", tier1}, {"gop", "3"}, {"target_bytes", "6000"}});
    p.width = 130;
    p.height = 118;
    check_equal(p, 3);
    cj2k::test::set(p, "target_bytes", "1500");
    cj2k::test::set(p, "cblk_style", "bypass+termall");
    check_equal(p, 3);
  }
}

TEST_CASE("encodes on the device: every stop strategy, GOPs of 1, 2 and 8") {
  for (const char* stop : {"none", "exact", "pst", "psb", "bpi"}) {
    for (const char* gop : {"1", "2", "8"}) {
      start_device(13);
      const char* tier1 = gop[0] == '2' ? "classic" : "cibo";
      cj2k_params p = small({{"cblk", "8x8"},
                             {"tier1", tier1},
                             {"gop", gop},
                             {"stop", stop},
                             {"target_bytes", "2500"}});
      p.width = 130;
      p.height = 118;
      check_equal(p, gop[0] == '8' ? 9 : 3);
      cj2k::test::set(p, "max_component_bytes", "900");
      cj2k::test::set(p, "depth", "12");
      check_equal(p, 3);
    }
  }
}

}  // namespace
}  // namespace cj2k::simt::test
