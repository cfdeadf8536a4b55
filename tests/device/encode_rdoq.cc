// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Whole encodes with EBCOT and effort 2 and 3: the CUDA backend's codestreams equal those of the CPU
// backend.
#include <algorithm>

#include "device/encode_check.h"
#include "params/params.h"
#include "support/on_steps.h"

namespace cj2k::simt::test {
namespace {

cj2k_params with_effort(const char* effort, EncodeSettings settings) {
  cj2k_params p = cj2k::test::make_params(97, 75);
  cj2k::test::set(p, "cblk", "16x16");
  cj2k::test::set(p, "levels", "3");
  cj2k::test::set(p, "threads", "2");
  for (const auto& [key, value] : settings) cj2k::test::set(p, key, value);
  cj2k::test::set(p, "effort", effort);
  return p;
}

/// So many blocks that the larger sample predicts where rate control will end.
cj2k_params of_many_blocks(const char* effort, EncodeSettings settings) {
  cj2k_params p = with_effort(effort, settings);
  cj2k::test::set(p, "cblk", "8x8");
  p.width = 200;
  p.height = 170;
  return p;
}

uint64_t launches_of_rdoq() {
  uint64_t count = 0;
  for (const KernelInfo* k = KernelInfo::first(); k != nullptr; k = k->next)
    if (std::string(k->name).starts_with("cj2k_rdoq")) count += k->num_launches();
  return count;
}

TEST_CASE("RDOQ of EBCOT on the device: few blocks, styles, shapes, layers, tiles") {
  const uint64_t before = launches_of_rdoq();
  for (const char* effort : {"2", "3"}) {
    for (const cj2k_params& p : {
             with_effort(effort, {{"target_bytes", "4000"}, {"gop", "2"}}),
             with_effort(effort, {{"target_bytes", "1500"}, {"cblk", "64x64"}, {"depth", "12"}}),
             with_effort(effort, {{"target_bytes", "2500"}, {"wavelet", "5/3"}, {"gop", "2"}}),
             with_effort(effort, {{"target_bytes", "2500"}, {"cblk_style", "vsc+segsym"}}),
             with_effort(effort, {{"target_bytes", "2500"}, {"cblk_style", "bypass+termall"}}),
             with_effort(effort, {{"target_bytes", "2500"}, {"cblk_style", "pterm+reset"}}),
             with_effort(effort, {{"quality", "3"}, {"stop", "none"}}),
             with_effort(effort, {{"quality", "2"}, {"gop", "2"}}),
             with_effort(effort, {{"target_bytes", "3000"}, {"frame_steps", "0"}}),
             with_effort(effort, {{"target_bytes", "3000"}, {"frame_steps", "first"}}),
             with_effort(effort, {{"target_bytes", "5000"}, {"layers", "3"}, {"tile", "40x33"}}),
             with_effort(effort, {{"target_bytes", "3000"}, {"cblk", "1024x4"}, {"mct", "off"}}),
             with_effort(effort, {{"quality", "6"}, {"cblk", "4x256"}, {"tune", "visual"}}),
             with_effort(effort, {{"target_bytes", "3000"}, {"measure_mse", "1"}, {"gop", "2"}}),
             with_effort(effort, {{"target_bytes", "3000"}, {"verify", "1"}}),
             with_effort(effort, {{"target_bytes", "3000"}, {"num_components", "4"}}),
             with_effort(effort, {{"target_bytes", "2000"}, {"num_components", "1"}}),
             with_effort(effort, {{"target_bytes", "3000"}, {"tier1", "fused"}}),
             with_effort(effort, {{"lossless", "1"}}),
         }) {
      start_device(7);
      check_equal(p, 2);
    }
  }
  CHECK(launches_of_rdoq() > before + 30);
}

TEST_CASE("RDOQ of EBCOT on the device: thresholds and steps are predicted") {
  int64_t rounds = 0;
  for (const char* bytes : {"850", "2600", "8400", "17000"}) {
    for (const auto& [effort, steps] :
         {std::pair{"2", "0"}, {"2", "1"}, {"2", "first"}, {"3", "1"}}) {
      start_device(13);
      rounds += check_equal(
          of_many_blocks(effort, {{"gop", "2"}, {"target_bytes", bytes}, {"frame_steps", steps}}),
          2);
    }
  }
  check_equal(of_many_blocks("3", {{"target_bytes", "2600"}, {"wavelet", "5/3"}}), 1);
  check_equal(of_many_blocks("3", {{"quality", "4"}, {"gop", "2"}}), 2);
  check_equal(of_many_blocks("2", {{"target_bytes", "8400"}, {"cblk_style", "pterm"}}), 1);
  CHECK(rounds > 0);
}

TEST_CASE("RDOQ of EBCOT on the device: pictures that were JPEG 2000 before keep their steps") {
  for (const int side : {256, 512}) {  // few blocks, and enough to predict
    cj2k_params p =
        with_effort("2", {{"num_components", "1"}, {"target_bytes", "9000"}, {"gop", "3"}});
    p.width = p.height = side;
    Plan plan;
    cj2k_params resolved;
    REQUIRE(resolve_params(p, Log(), &resolved) == Status::kOk);
    REQUIRE(make_plan(resolved, Log(), &plan) == Status::kOk);
    start_device(3);
    check_equal(p,
                {cj2k::test::picture_on_steps(plan, 4, 1, 1), make_picture(p, Content::kTexture, 2),
                 cj2k::test::picture_on_steps(plan, 4, 1, 3)});
    cj2k::test::set(p, "device", "cuda");
    const std::string log =
        encode_sequence(p, {cj2k::test::picture_on_steps(plan, 4, 1, 1)}).back().log;
    CHECK(log.find("was JPEG 2000 before") != std::string::npos);
  }
}

}  // namespace
}  // namespace cj2k::simt::test
