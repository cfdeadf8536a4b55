// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Whole encodes with coder = ht: the CUDA backend's codestreams equal those of the CPU backend.
#include <algorithm>

#include "depth/ht_prediction.h"
#include "device/encode_check.h"
#include "params/params.h"
#include "support/on_steps.h"
#if defined(CJ2K_SIMT_SHIM)
#include "device/backend_check.h"
#endif

namespace cj2k::simt::test {
namespace {

cj2k_params small(EncodeSettings settings) {
  cj2k_params p = cj2k::test::make_params(97, 75);
  cj2k::test::set(p, "coder", "ht");
  cj2k::test::set(p, "cblk", "16x16");
  cj2k::test::set(p, "levels", "3");
  cj2k::test::set(p, "threads", "2");
  for (const auto& [key, value] : settings) cj2k::test::set(p, key, value);
  return p;
}

TEST_CASE("HT on the device: GOPs of 1, 2 and 5") {
  for (const char* gop : {"1", "2", "5"}) {
    start_device(static_cast<uint64_t>(gop[0]));
    check_equal(small({{"gop", gop}, {"target_bytes", "4000"}}), 6);
    check_equal(small({{"gop", gop}, {"lossless", "1"}}), 3);
#if defined(CJ2K_SIMT_SHIM)
    shim::check_canaries();
    CHECK(shim::device_bytes_in_use() == 0);
#endif
  }
}

TEST_CASE("HT on the device: the first frame chooses the steps of all") {
  cj2k_params p = small({{"cblk", "8x8"}, {"target_bytes", "6000"}, {"frame_steps", "first"}});
  p.width = 130;
  p.height = 118;
  for (const char* gop : {"1", "2", "5"}) {
    start_device(static_cast<uint64_t>(gop[0]));
    cj2k::test::set(p, "gop", gop);
    check_equal(p, 6);
  }
  cj2k::test::set(p, "stop", "none");
  check_equal(p, 3);
}

TEST_CASE("HT on the device: pictures that were JPEG 2000 before keep their steps") {
  cj2k_params p = small({{"num_components", "1"}, {"target_bytes", "9000"}, {"gop", "3"}});
  p.width = 256;
  p.height = 192;
  Plan plan;
  cj2k_params resolved;
  REQUIRE(resolve_params(p, Log(), &resolved) == Status::kOk);
  REQUIRE(make_plan(resolved, Log(), &plan) == Status::kOk);
  const std::vector<Picture> pictures = {cj2k::test::picture_on_steps(plan, 4, 1, 1),
                                         make_picture(p, Content::kTexture, 2),
                                         cj2k::test::picture_on_steps(plan, 4, 1, 3)};
  for (const char* steps : {"1", "first"}) {
    cj2k::test::set(p, "frame_steps", steps);
    start_device(5);
    check_equal(p, pictures);
    for (const char* device : {"cpu", "cuda"}) {
      cj2k::test::set(p, "device", device);
      const std::string log = encode_sequence(p, pictures).back().log;
      int noticed = 0;
      for (size_t at = 0; (at = log.find("was JPEG 2000 before", at)) != std::string::npos; ++at)
        ++noticed;
      CHECK(noticed == (std::string(steps) == "first" ? 1 : 2));
    }
  }
}

TEST_CASE("HT on the device: options") {
  const std::vector<cj2k_params> table = {
      small({{"lossless", "1"}, {"depth", "12"}, {"cblk", "64x64"}}),
      small({{"lossless", "1"}, {"depth", "16"}, {"is_signed", "1"}}),
      small({{"quality", "4"}, {"depth", "12"}}),
      small({{"quality", "1"}, {"frame_steps", "0"}}),
      small({{"wavelet", "5/3"}, {"target_bytes", "3000"}}),
      small({{"wavelet", "5/3"}, {"quality", "3"}, {"cblk_style", "vsc"}}),
      small({{"cblk_style", "vsc"}, {"target_bytes", "5000"}, {"cblk", "32x32"}}),
      small({{"frame_steps", "0"}, {"target_bytes", "5000"}}),
      small({{"target_bytes", "5000"}, {"min_frame_bytes", "4800"}}),
      small({{"tile", "40x33"}, {"tile_offset", "3x5"}, {"image_offset", "7x9"}}),
      small({{"tile", "40x33"}, {"target_bytes", "6000"}, {"cblk", "8x8"}}),
      small({{"dx", "1,2,2"}, {"dy", "1,2,2"}, {"depth", "10"}, {"max_component_bytes", "1500"}}),
      small({{"num_components", "1"}, {"depth", "16"}}),
      small({{"num_components", "4"}, {"cblk", "1024x4"}, {"levels", "1"}}),
      small({{"cblk", "4x256"}, {"levels", "0"}, {"mct", "off"}}),
      small({{"stop", "none"}, {"target_bytes", "2500"}}),
      small({{"stop", "none"}, {"lossless", "1"}, {"layers", "2"}}),
      small({{"layers", "3"}, {"target_bytes", "5000"}}),
      small({{"ht_passes", "cleanup"}, {"target_bytes", "5000"}, {"gop", "2"}}),
      small({{"ht_passes", "cleanup"}, {"frame_steps", "0"}, {"layers", "2"}, {"quality", "3"}}),
      small({{"layers", "2"}, {"wavelet", "5/3"}, {"layer_rates", "2"}, {"quality", "5"}}),
      small({{"format", "jp2"}, {"precincts", "32x32"}, {"progression", "rpcl"}, {"plt", "1"}}),
      small({{"measure_mse", "1"}, {"target_bytes", "3000"}, {"gop", "2"}}),
      small({{"measure_mse", "1"}, {"tile", "40x33"}, {"wavelet", "5/3"}, {"quality", "9"}}),
      small({{"verify", "1"}, {"target_bytes", "3000"}, {"gop", "2"}}),
      small({{"verify", "1"}, {"lossless", "1"}, {"layers", "2"}}),
      small({{"source_depth", "10"}, {"xyz", "rec709"}, {"depth", "12"}, {"target_bytes", "5000"}}),
  };
  for (const cj2k_params& p : table) {
    start_device(7);
    check_equal(p, 2);
  }
  // An interleaved frame.
  FrameLayout layout;
  layout.interleaved = true;
  start_device(7);
  check_equal(small({{"target_bytes", "4000"}}), 2, layout);
}

TEST_CASE("HT on the device: blocks that go on, other steps, caps from nearly nothing to all") {
  int64_t resumed = 0;
  for (const char* bytes : {"700", "1500", "6000", "15000", "60000"}) {
    start_device(11);
    cj2k_params p = small({{"cblk", "8x8"}, {"gop", "3"}, {"target_bytes", bytes}});
    p.width = 130;
    p.height = 118;
    resumed += check_equal(p, 3);
    cj2k::test::set(p, "max_component_bytes", "900");
    cj2k::test::set(p, "depth", "12");
    resumed += check_equal(p, 3);
  }
  CHECK(resumed > 0);
}

uint64_t launches(const std::string& kernel) {
  for (const KernelInfo* k = KernelInfo::first(); k != nullptr; k = k->next) {
    if (k->name == kernel) return k->num_launches();
  }
  FAIL("there is no kernel ", kernel);
  return 0;
}
/// More than the 512 blocks from which on passes are chosen.
cj2k_params many_blocks(EncodeSettings settings) {
  cj2k_params p = small(settings);
  cj2k::test::set(p, "cblk", "8x8");
  cj2k::test::set(p, "num_components", "1");
  p.width = 200;
  p.height = 170;
  return p;
}

TEST_CASE("HT on the device: passes that the slope can choose, from 0.1 to 4 bit/pixel") {
  const uint64_t before = launches("cj2k_ht_choose_97");
  uint64_t expected = 0;
  for (const char* bytes : {"425", "1300", "4200", "8500", "17000"}) {
    for (const char* steps : {"0", "1", "first"}) {
      start_device(13);
      check_equal(many_blocks({{"gop", "2"}, {"target_bytes", bytes}, {"frame_steps", steps}}), 2);
      ++expected;
    }
    check_equal(many_blocks({{"ht_passes", "cleanup"}, {"target_bytes", bytes}}), 2);
  }
  CHECK(launches("cj2k_ht_choose_97") - before >= expected);
  const uint64_t before_53 = launches("cj2k_ht_choose_53");
  start_device(13);
  check_equal(many_blocks({{"wavelet", "5/3"}, {"target_bytes", "4200"}}), 2);
  check_equal(many_blocks({{"wavelet", "5/3"}, {"layers", "2"}, {"target_bytes", "9000"}}), 2);
  CHECK(launches("cj2k_ht_choose_53") - before_53 >= 2);
}

TEST_CASE("HT on the device: nothing is chosen of few blocks, without a cap, without loss") {
  const uint64_t before = launches("cj2k_ht_choose_97") + launches("cj2k_ht_choose_53");
  start_device(13);
  check_equal(small({{"target_bytes", "4000"}}), 2);
  check_equal(many_blocks({{"stop", "none"}, {"target_bytes", "4000"}}), 1);
  check_equal(many_blocks({{"lossless", "1"}}), 1);
  CHECK(launches("cj2k_ht_choose_97") + launches("cj2k_ht_choose_53") == before);
}

/// Most of the bytes are in blocks that the samples do not stand for, so rate control ends far from
/// the slope that they predict.
TEST_CASE("HT on the device: a wrong prediction, and the blocks coded again") {
  cj2k_params p = many_blocks({{"target_bytes", "2500"}, {"frame_steps", "0"}});
  bool is_coded_again = false;
  for (const int corner : {40, 64, 90}) {
    Picture picture = make_picture(p, Content::kTexture, 5);
    const Picture noise = make_picture(p, Content::kNoise, 6);
    for (int y = 0; y < corner; ++y)
      std::copy_n(noise.components[0].samples.begin() + y * p.width, corner,
                  picture.components[0].samples.begin() + y * p.width);
    start_device(13);
    is_coded_again |= check_equal(p, {picture}) > 0;
  }
  CHECK(is_coded_again);
}

TEST_CASE("HT on the device: RDOQ") {
  const uint64_t before = launches("cj2k_ht_change_97") + launches("cj2k_ht_change_53");
  int64_t rounds = 0;
  for (const char* effort : {"2", "3"}) {
    const auto with = [&](EncodeSettings settings) {
      cj2k_params p = small(settings);
      cj2k::test::set(p, "effort", effort);
      return p;
    };
    for (const cj2k_params& p : {
             with({{"target_bytes", "4000"}, {"gop", "2"}}),
             with({{"target_bytes", "1500"}, {"cblk", "64x64"}, {"depth", "12"}}),
             with({{"target_bytes", "2500"}, {"wavelet", "5/3"}, {"cblk_style", "vsc"}}),
             with({{"quality", "3"}, {"stop", "none"}}),
             with({{"target_bytes", "3000"}, {"ht_passes", "cleanup"}, {"frame_steps", "0"}}),
             with({{"target_bytes", "5000"}, {"layers", "3"}, {"tile", "40x33"}}),
             with({{"quality", "6"}, {"wavelet", "5/3"}, {"cblk", "4x256"}}),
             with({{"target_bytes", "3000"}, {"cblk", "1024x4"}, {"mct", "off"}}),
             with({{"target_bytes", "3000"}, {"measure_mse", "1"}, {"gop", "2"}}),
             with({{"target_bytes", "3000"}, {"verify", "1"}}),
             with({{"lossless", "1"}}),
         }) {
      start_device(7);
      rounds += check_equal(p, 2);
    }
  }
  for (const char* bytes : {"425", "1300", "4200", "8500"}) {
    for (const char* effort : {"2", "3"}) {
      start_device(13);
      rounds +=
          check_equal(many_blocks({{"gop", "2"}, {"target_bytes", bytes}, {"effort", effort}}), 3);
    }
    check_equal(many_blocks({{"effort", "2"}, {"target_bytes", bytes}, {"wavelet", "5/3"}}), 1);
  }
  CHECK(launches("cj2k_ht_change_97") + launches("cj2k_ht_change_53") > before + 30);
  CHECK(rounds > 0);
}

#if defined(CJ2K_SIMT_SHIM)
/// Encodes the frames as one GOP. @return how often the host waited for the device
uint64_t waits_of_gop(cj2k_params p, const std::vector<Picture>& pictures) {
  start_device(3);
  cj2k::test::set(p, "device", "cuda");
  cj2k::test::set(p, "gop", std::to_string(pictures.size()));
  Session session(p);
  REQUIRE(session.opened == CJ2K_OK);
  const uint64_t before = shim::host_calls().waits;
  for (const Picture& picture : pictures) {
    const cj2k::test::FrameMemory memory(picture);
    REQUIRE(session.send(memory.frame) == CJ2K_OK);
  }
  session.drain();
  REQUIRE(session.results.size() == pictures.size());
  return shim::host_calls().waits - before;
}

TEST_CASE("HT on the device: a GOP waits no more often than a frame") {
  cj2k_params p = small({{"cblk", "8x8"}, {"target_bytes", "6000"}});
  p.width = 130;
  p.height = 118;
  // Frames need different numbers of predictions and rounds. The most count.
  const std::vector<Picture> pictures = sequence(p, 8);
  uint64_t least = ~uint64_t{0}, most = 0;
  for (size_t i = 0; i < pictures.size(); ++i) {
    const uint64_t waits = waits_of_gop(p, {pictures[i]});
    if (i < 3) CHECK(waits_of_gop(p, std::vector<Picture>(5, pictures[i])) == waits);
    least = std::min(least, waits);
    most = std::max(most, waits);
  }
  CHECK(least < most);
  CHECK(waits_of_gop(p, pictures) == most);
  // The transform, the shares, and the bytes.
  CHECK(most <= 2 + kMostHtOrders);
}

TEST_CASE("HT on the device: where no other steps are better, the larger sample is coded once") {
  // At these bytes steps are below two LSB, so frames keep those of quant_step.
  cj2k_params p = small({{"cblk", "8x8"}, {"target_bytes", "24000"}});
  p.width = 130;
  p.height = 118;
  // The estimate, the larger sample, and the rest with the bytes.
  for (const uint64_t seed : {1, 2, 5}) {
    CAPTURE(seed);
    CHECK(waits_of_gop(p, {make_picture(p, Content::kTexture, seed)}) == 3);
  }
}
#endif

}  // namespace
}  // namespace cj2k::simt::test
