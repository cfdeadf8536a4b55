// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include "golden/table.h"

namespace cj2k::test {
namespace {

/// 1302083 bytes are 250 Mbit/s at 24 frames/s, 130208 bytes are 25 Mbit/s.
const std::vector<std::string> kConfigurations = {
    "width=2048 height=1080 depth=12 target_bytes=1302083",
    "width=2048 height=1080 depth=12 target_bytes=130208",
    "width=2048 height=1080 depth=12 lossless=1",
    "width=2048 height=1080 depth=12 cblk=32x32 target_bytes=1302083 max_component_bytes=1041666 "
    "guard_bits=1 progression=cprl tile_parts=component "
    "precincts=256x256,256x256,256x256,256x256,256x256,128x128",
    "width=2048 height=1080 depth=12 cblk=32x32 target_bytes=130208 stop=psb",
    "width=2048 height=1080 depth=12 cblk=32x32 target_bytes=130208 stop=bpi",
    "width=2048 height=1080 depth=12 cblk=32x32 target_bytes=400000 stop=pst frames=2",
    "width=1920 height=1080 depth=10 dx=1,2,2 target_bytes=520833",
    "width=1920 height=1080 depth=10 dx=1,2,2 lossless=1",
    "width=1920 height=1080 dx=1,2,2 dy=1,2,2",
    "width=1920 height=1080 tile=512x512 layers=4 precincts=256x256,128x128 progression=rpcl "
    "target_bytes=800000",
    "width=3840 height=2160 depth=12 target_bytes=1302083",
    "width=3840 height=2160 depth=12 target_bytes=130208",
    "width=3840 height=2160 depth=12 lossless=1",
    "width=3840 height=2160 depth=12 cblk=32x32 target_bytes=1302083 stop=none",
    "width=3840 height=2160 depth=10 dx=1,2,2 target_bytes=1302083",
    "width=3840 height=2160 depth=10 dx=1,2,2 lossless=1",
    "width=3840 height=2160 tile=1024x1024 cblk_style=bypass target_bytes=1302083",
};

TEST_CASE("codestreams of real sizes are those of the table") {
  check_table("sizes.tsv", kConfigurations);
}

}  // namespace
}  // namespace cj2k::test
