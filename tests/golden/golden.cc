// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include "golden/table.h"

namespace cj2k::test {
namespace {

const std::vector<std::string> kConfigurations = {
    "width=161 height=97 lossless=1",
    "width=161 height=97 lossless=1 depth=16 num_components=1",
    "width=161 height=97 lossless=1 mct=off depth=12",
    "width=161 height=97",
    "width=161 height=97 depth=12 quality=0.5",
    "width=161 height=97 wavelet=5/3 quality=4",
    "width=161 height=97 target_psnr=42",
    "width=161 height=97 depth=12 wavelet=5/3 coder=ht target_psnr=50 target_bytes=20000",
    "width=161 height=97 target_bytes=8000",
    "width=161 height=97 depth=10 wavelet=5/3 target_bytes=8000",
    "width=161 height=97 depth=12 cblk=32x32 target_bytes=8000 max_component_bytes=6400 "
    "guard_bits=1 progression=cprl "
    "tile_parts=component precincts=256x256,256x256,256x256,256x256,256x256,128x128",
    "width=161 height=97 layers=6 target_bytes=9000 progression=rlcp",
    "width=161 height=97 layer_rates=40,20,10 sop=1 eph=1",
    "width=161 height=97 layer_psnr=28,36 target_bytes=9000",
    "width=161 height=97 tile=70x50 image_offset=11x7 tile_offset=3x2 progression=rpcl "
    "precincts=32x32 plt=1 layers=2",
    "width=161 height=97 num_components=4 alpha=1 format=jp2 progression=pcrl",
    "width=161 height=97 dx=1,2,2 dy=1,2,2 depth=10 progression=pcrl precincts=64x64",
    "width=161 height=97 lossless=1 is_signed=1 depth=9 levels=3",
    "width=161 height=97 cblk_style=bypass+termall cblk=64x16",
    "width=161 height=97 lossless=1 cblk_style=bypass+reset+vsc+pterm+segsym cblk=16x64",
    "width=161 height=97 num_components=1 min_frame_bytes=20000 comment=padded",
    "width=3 height=5 lossless=1",
    "width=1 height=1 num_components=1",
    // Each code-block style, with several rows of code-blocks in each subband of the first levels.
    "width=416 height=272 depth=12 lossless=1 cblk_style=bypass",
    "width=416 height=272 depth=12 lossless=1 cblk_style=reset",
    "width=416 height=272 depth=12 lossless=1 cblk_style=termall",
    "width=416 height=272 depth=12 lossless=1 cblk_style=vsc",
    "width=416 height=272 depth=12 lossless=1 cblk_style=pterm",
    "width=416 height=272 depth=12 lossless=1 cblk_style=segsym",
    "width=416 height=272 depth=12 target_bytes=70000 cblk_style=bypass",
    "width=416 height=272 depth=12 target_bytes=70000 cblk_style=reset",
    "width=416 height=272 depth=12 target_bytes=70000 cblk_style=termall",
    "width=416 height=272 depth=12 target_bytes=70000 cblk_style=vsc",
    "width=416 height=272 depth=12 target_bytes=70000 cblk_style=pterm",
    "width=416 height=272 depth=12 target_bytes=70000 cblk_style=segsym",
    "width=416 height=272 target_bytes=40000 cblk_style=bypass+termall cblk=32x32",
    "width=416 height=272 target_bytes=40000 cblk_style=bypass+pterm cblk=32x32",
    "width=416 height=272 target_bytes=40000 cblk_style=bypass+termall+pterm cblk=32x32",
    "width=416 height=272 target_bytes=40000 cblk_style=reset+termall+vsc cblk=32x32",
    "width=416 height=272 target_bytes=40000 cblk_style=vsc+segsym layers=5 cblk=32x32",
    "width=416 height=272 target_bytes=40000 cblk_style=bypass+reset+termall+vsc+pterm+segsym",
    "width=416 height=272 lossless=1 cblk_style=bypass+reset+termall+vsc+pterm+segsym layers=3",
    // Block shapes and levels.
    "width=416 height=272 cblk=4x4 target_bytes=30000",
    "width=416 height=272 cblk=1024x4 target_bytes=30000",
    "width=416 height=272 cblk=4x1024 lossless=1",
    "width=416 height=272 cblk=16x256 levels=1",
    "width=416 height=272 levels=0 lossless=1",
    "width=416 height=272 levels=0 target_bytes=50000",
    "width=416 height=272 levels=9 target_bytes=30000",
    // Tiles, precincts and layers with every progression.
    "width=500 height=300 tile=256x128 precincts=64x64 layers=4 progression=lrcp "
    "target_bytes=60000",
    "width=500 height=300 tile=256x128 precincts=64x64 layers=4 progression=rlcp "
    "target_bytes=60000",
    "width=500 height=300 tile=256x128 precincts=64x64 layers=4 progression=rpcl "
    "target_bytes=60000",
    "width=500 height=300 tile=256x128 precincts=64x64 layers=4 progression=pcrl "
    "target_bytes=60000",
    "width=500 height=300 tile=256x128 precincts=64x64 layers=4 progression=cprl "
    "target_bytes=60000",
    "width=500 height=300 tile=256x128 precincts=128x64,64x32 layer_rates=60,30,15,8 "
    "progression=rlcp tile_parts=resolution sop=1 eph=1 plt=1",
    "width=500 height=300 tile=130x140 image_offset=33x65 tile_offset=32x64 dx=1,2,4 dy=1,2,1 "
    "depth=10,12,9 progression=pcrl precincts=64x32 lossless=1",
    "width=500 height=300 depth=16 lossless=1",
    "width=500 height=300 depth=12 quant_step=0.25 guard_bits=3",
    // The block coder of Part 15.
    "width=161 height=97 coder=ht lossless=1",
    "width=3 height=5 coder=ht lossless=1",
    "width=416 height=272 depth=12 coder=ht lossless=1 cblk_style=vsc",
    "width=416 height=272 depth=16 num_components=1 coder=ht lossless=1 cblk=4x1024",
    "width=416 height=272 coder=ht cblk=1024x4",
    "width=416 height=272 coder=ht wavelet=5/3 quality=4",
    "width=416 height=272 coder=ht target_bytes=40000",
    "width=416 height=272 coder=ht target_bytes=40000 frame_steps=0 cblk=32x32",
    "width=416 height=272 coder=ht target_bytes=40000 ht_passes=cleanup",
    "width=416 height=272 coder=ht target_bytes=40000 ht_passes=cleanup cblk=16x16 layers=2",
    "width=500 height=300 depth=10 tile=256x128 precincts=64x64 progression=rpcl coder=ht "
    "target_bytes=60000 format=jp2",
    "width=416 height=272 coder=ht lossless=1 layers=4",
    "width=416 height=272 qfactor=85 layers=3",
    "width=416 height=272 depth=12 coder=ht qfactor=90 dx=1,2 colorspace=sycc cblk=32x32",
    "width=1024 height=576 depth=12 coder=ht target_bytes=250000 max_component_bytes=150000 "
    "frames=2",
    // Progression order changes; the first is the order of a 4K cinema codestream.
    "width=500 height=300 depth=12 cblk=32x32 target_bytes=90000 max_component_bytes=70000 "
    "levels=6 "
    "precincts=256x256,256x256,256x256,256x256,256x256,256x256,128x128 progression=cprl "
    "tile_parts=component poc=0,0,1,6,3,cprl/6,0,1,7,3,cprl",
    "width=500 height=300 tile=256x128 precincts=64x64 layers=4 target_bytes=60000 plt=1 "
    "tile_parts=resolution poc=0,0,1,3,3,rlcp/0,1,3,6,2,rpcl/2,0,2,5,3,pcrl/0,0,4,6,3,lrcp",
    // Regions of interest.
    "width=500 height=300 cblk=16x16 target_bytes=60000 roi=120,80,90,70",
    "width=500 height=300 cblk=32x32 lossless=1 layers=4 tile=256x128 dx=1,2,2 mct=off "
    "roi=10,10,60,50/300,200,20,90,15",
    // More than 512 code-blocks, so that a stop strategy stops early.
    "width=1024 height=576 depth=12 cblk=32x32 target_bytes=250000",
    "width=1024 height=576 depth=12 cblk=32x32 target_bytes=250000 stop=none",
    "width=1024 height=576 depth=12 cblk=32x32 target_bytes=250000 stop=psb",
    "width=1024 height=576 depth=12 cblk=32x32 target_bytes=250000 stop=bpi",
    "width=1024 height=576 depth=12 cblk=32x32 target_bytes=100000 stop=pst frames=3",
    "width=1024 height=576 depth=12 cblk=32x32 target_bytes=100000 stop=pst stop_margin=0 "
    "gop=2 frames=5",
    "width=1024 height=576 depth=12 cblk=32x32 target_bytes=100000 cblk_style=bypass+termall",
    "width=1024 height=576 depth=12 cblk=32x32 target_bytes=100000 cblk_style=vsc stop=psb",
    "width=1024 height=576 depth=12 cblk=32x32 layers=6 target_bytes=200000 stop=bpi",
    // Effort: stop strategies of 0, rate-distortion optimised quantisation of 2 and 3.
    "width=1024 height=576 depth=12 cblk=32x32 target_bytes=40000 effort=0",
    "width=1024 height=576 depth=12 cblk=32x32 target_bytes=250000 effort=0",
    "width=1024 height=576 depth=12 cblk=32x32 target_bytes=100000 effort=2 frames=2",
    "width=1024 height=576 depth=12 cblk=32x32 target_bytes=100000 effort=3",
    "width=416 height=272 effort=2 frame_steps=0 cblk_style=bypass+vsc target_bytes=40000",
    "width=416 height=272 wavelet=5/3 effort=3 quality=4 cblk=32x32",
    "width=500 height=300 tile=256x128 layers=4 progression=rpcl effort=3 target_bytes=60000 "
    "max_component_bytes=30000",
    "width=1024 height=576 depth=12 cblk=32x32 target_bytes=100000 coder=ht effort=2 frames=2",
    "width=416 height=272 wavelet=5/3 coder=ht effort=3 quality=4 cblk=1024x4",
    "width=500 height=300 tile=256x128 layers=4 progression=rpcl coder=ht effort=2 "
    "ht_passes=cleanup target_bytes=60000 max_component_bytes=30000",
};

TEST_CASE("codestreams are those of the table") { check_table("golden.tsv", kConfigurations); }

}  // namespace
}  // namespace cj2k::test
