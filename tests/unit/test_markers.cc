// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "packets/jp2.h"
#include "packets/markers.h"
#include "packets/packet_writer.h"
#include "params/icc_profile.h"
#include "params/params.h"
#include "params_support.h"
#include "plan/plan.h"
#include "support/codestream_parser.h"
#include "support/picture.h"
#include "support/synthetic_frame.h"

namespace cj2k {
namespace {

using test::Bytes;
using test::get_be;

cj2k_params picture(int32_t width, int32_t height, int32_t components) {
  cj2k_params p;
  std::memset(&p, 0, sizeof p);
  p.struct_size = sizeof p;
  set_default_params(&p);
  p.width = width;
  p.height = height;
  p.num_components = components;
  return p;
}

std::unique_ptr<Plan> plan_of(const cj2k_params& p) {
  cj2k_params resolved;
  auto plan = std::make_unique<Plan>();
  REQUIRE(resolve_params(p, Log(), &resolved) == Status::kOk);
  REQUIRE(make_plan(resolved, Log(), plan.get()) == Status::kOk);
  return plan;
}

/// A main header alone, followed by a tile-part without packets so that the parser accepts it.
test::ParsedCodestream parse_main(std::vector<uint8_t>& bytes) {
  const uint8_t end[] = {0xFF, 0x90, 0, 10, 0, 0, 0, 0, 0, 14, 0, 1, 0xFF, 0x93, 0xFF, 0xD9};
  bytes.insert(bytes.end(), std::begin(end), std::end(end));
  return test::parse_codestream(bytes);
}

/// The whole codestream of an empty picture.
std::vector<uint8_t> empty_codestream(const Plan& plan) {
  test::SyntheticFrame::Shape shape;
  shape.empty_blocks = 1;
  const test::SyntheticFrame frame(plan, 1, shape);
  PacketScratch scratch(plan);
  PacketWriter writer(plan);
  for (uint32_t i = 0; i < plan.precincts.size(); ++i) {
    writer.encode_headers(frame.selection(), i, scratch);
  }
  std::vector<uint8_t> out(writer.frame_bytes());
  REQUIRE(writer.write(frame.selection(), out, 0) == out.size());
  return out;
}

TEST_CASE("main header: SIZ and COD say what the parameters say") {
  cj2k_params p = picture(1000, 600, 3);
  p.image_offset_x = 30;
  p.image_offset_y = 20;
  p.tile_offset_x = 10;
  p.tile_offset_y = 5;
  p.tile_width = 400;
  p.tile_height = 300;
  p.depth[0] = 12;
  p.depth[1] = p.depth[2] = 10;
  p.is_signed[2] = 1;
  p.dx[1] = p.dx[2] = 2;
  p.dy[2] = 4;
  p.levels = 3;
  p.layers = 300;
  p.cblk_width = 32;
  p.cblk_height = 128;
  p.cblk_style = 0x2A;
  p.progression = CJ2K_RPCL;
  p.num_precincts = 2;
  p.precinct_width[0] = 512;
  p.precinct_height[0] = 256;
  p.precinct_width[1] = 128;
  p.precinct_height[1] = 64;
  p.sop = 1;
  std::snprintf(p.comment, sizeof p.comment, "caf\xE9");
  const auto plan = plan_of(p);
  std::vector<uint8_t> bytes = make_main_header(*plan).bytes;
  const test::ParsedCodestream h = parse_main(bytes);

  REQUIRE(h.siz.size() == 36 + 9);
  CHECK(get_be(h.siz, 0, 2) == 0);
  const uint32_t grid[] = {1030, 620, 30, 20, 400, 300, 10, 5};
  for (size_t i = 0; i < 8; ++i) CHECK(get_be(h.siz, 2 + 4 * i, 4) == grid[i]);
  CHECK(get_be(h.siz, 34, 2) == 3);
  const uint8_t components[] = {11, 1, 1, 9, 2, 1, 0x89, 2, 4};
  for (size_t i = 0; i < 9; ++i) CHECK(h.siz[36 + i] == components[i]);

  const uint8_t cod[] = {3, 2, 300 >> 8, 300 & 255, 0, 3, 3, 5, 0x2A, 0, 0x67, 0x67, 0x67, 0x89};
  REQUIRE(h.cod.size() == sizeof cod);
  for (size_t i = 0; i < sizeof cod; ++i) {
    CAPTURE(i);
    CHECK(h.cod[i] == cod[i]);
  }
  REQUIRE(h.comments.size() == 1);
  CHECK(h.comments[0] == "caf\xE9");
}

TEST_CASE("main header: COD without precincts, with MCT and 5/3; no COM, no TLM") {
  cj2k_params p = picture(100, 60, 3);
  p.lossless = 1;
  p.eph = 1;
  p.comment[0] = 0;
  p.tlm = 0;
  const auto plan = plan_of(p);
  std::vector<uint8_t> bytes = make_main_header(*plan).bytes;
  const test::ParsedCodestream h = parse_main(bytes);
  const uint8_t cod[] = {4, 0, 0, 1, 1, 5, 4, 4, 0, 1};
  REQUIRE(h.cod.size() == sizeof cod);
  for (size_t i = 0; i < sizeof cod; ++i) CHECK(h.cod[i] == cod[i]);
  CHECK(h.comments.empty());
  for (const uint16_t marker : h.main_markers) {
    CHECK((marker == kMarkerSiz || marker == kMarkerCod || marker == kMarkerQcd ||
           marker == kMarkerQcc));
  }
}

TEST_CASE("main header: POC before TLM, an entry for each progression order change") {
  cj2k_params p = picture(100, 60, 3);
  p.layers = 300;
  p.num_poc = 2;
  p.poc[0] = {0, 1, 257, 5, 3, CJ2K_CPRL};
  p.poc[1] = {0, 0, 300, 6, 3, CJ2K_RLCP};
  const auto plan = plan_of(p);
  std::vector<uint8_t> bytes = make_main_header(*plan).bytes;
  const std::vector<uint8_t> poc = {0xFF, 0x5F, 0, 16, 0,        1,         257 >> 8, 257 & 255, 5,
                                    3,    4,    0, 0,  300 >> 8, 300 & 255, 6,        3,         1};
  const auto found = std::search(bytes.begin(), bytes.end(), poc.begin(), poc.end());
  CHECK(found != bytes.end());
  const test::ParsedCodestream h = parse_main(bytes);
  REQUIRE(h.poc.size() == 2);
  CHECK(h.poc[0].layer_end == 257);
  CHECK(h.poc[1].order == 1);
  CHECK(h.cod[1] == CJ2K_LRCP);  // COD keeps the parameter's
  const std::vector<uint16_t> markers = {kMarkerSiz, kMarkerCod, kMarkerQcd,
                                         kMarkerPoc, kMarkerTlm, kMarkerCom};
  CHECK(h.main_markers == markers);
}

TEST_CASE("main header: an RGN for each component of a region of interest") {
  cj2k_params p = picture(100, 60, 3);
  p.lossless = 1;
  p.num_roi = 1;
  p.roi[0] = {10, 10, 5, 5, 0};
  const auto plan = plan_of(p);
  std::vector<uint8_t> bytes = make_main_header(*plan).bytes;
  const test::ParsedCodestream h = parse_main(bytes);
  REQUIRE(h.rgn.size() == 3);
  for (uint32_t c = 0; c < 3; ++c) CHECK(h.rgn.at(c) == plan->roi_shifts[c]);
}

TEST_CASE("main header: QCD and QCC give each subband of the plan its step") {
  for (const int lossless : {0, 1}) {
    cj2k_params p = picture(300, 200, 4);
    p.lossless = lossless;
    p.mct = CJ2K_MCT_OFF;
    p.levels = 4;
    p.guard_bits = 3;
    p.depth[0] = p.depth[1] = 8;
    p.depth[2] = p.depth[3] = 11;
    const auto plan = plan_of(p);
    std::vector<uint8_t> bytes = make_main_header(*plan).bytes;
    const test::ParsedCodestream h = parse_main(bytes);
    for (uint32_t c = 0; c < 4; ++c) {
      const bool own = h.qcc.count(c) > 0;
      if (c == 1) CHECK_FALSE(own);
      if (lossless && c >= 2) CHECK(own);
      const Bytes q = own ? h.qcc.at(c) : h.qcd;
      REQUIRE(q.size() == (lossless ? 1 + 13 : 1 + 26));
      CHECK(q[0] == (3 << 5 | (lossless ? 0 : 2)));
      size_t i = 0;
      for (const Subband& band : plan->subbands) {
        if (band.component != c) continue;
        if (lossless) {
          CHECK(q[1 + i] == band.exponent << 3);
        } else {
          CHECK(get_be(q, 1 + 2 * i, 2) == (uint32_t{band.exponent} << 11 | band.mantissa));
        }
        ++i;
      }
      CHECK(i == 13);
    }
  }
}

TEST_CASE("TLM: 255 entries a segment, wide tile indices, and none when there are too many") {
  cj2k_params p = picture(255, 1, 1);
  p.tile_width = p.tile_height = 1;
  p.levels = 0;
  for (const int32_t tiles : {1, 255, 256, 510, 511, 30000, 65280}) {
    CAPTURE(tiles);
    p.width = tiles;
    const auto plan = plan_of(p);
    const std::vector<uint8_t> bytes = empty_codestream(*plan);
    CHECK(bytes.size() == fixed_bytes(*plan) + plan->packets.size());
    const test::ParsedCodestream h = test::parse_codestream(bytes);
    CHECK(make_main_header(*plan).tlm_entry_bytes == (tiles <= 255 ? 5 : 6));
    CHECK(std::count(h.main_markers.begin(), h.main_markers.end(), kMarkerTlm) ==
          (tiles + 254) / 255);
    CHECK(*std::max_element(h.tlm_entries.begin(), h.tlm_entries.end()) <= 255);
    REQUIRE(h.tlm.size() == static_cast<size_t>(tiles));
    for (uint32_t i = 0; i < h.tlm.size(); ++i) {
      REQUIRE(h.tlm[i].tile == i);
      REQUIRE(h.tlm[i].bytes == h.tile_parts[i].psot);
    }
  }

  // Ztlm counts to 255, which allows 65280 entries in total.
  p.width = 65281;
  const auto plan = plan_of(p);
  const std::vector<uint8_t> bytes = empty_codestream(*plan);
  CHECK(bytes.size() == fixed_bytes(*plan) + plan->packets.size());
  const test::ParsedCodestream h = test::parse_codestream(bytes);
  CHECK(make_main_header(*plan).tlm_offset == 0);
  CHECK(h.tlm.empty());
  CHECK(h.tile_parts.size() == 65281);
}

TEST_CASE("PLT: entries, several segments, and none when there are too many") {
  CHECK(plt_entry_bytes(1) == 1);
  CHECK(plt_entry_bytes(127) == 1);
  CHECK(plt_entry_bytes(128) == 2);
  CHECK(plt_entry_bytes(16383) == 2);
  CHECK(plt_entry_bytes(16384) == 3);
  CHECK(plt_entry_bytes(0xFFFFFFFF) == 5);

  cj2k_params p = picture(8, 8, 4);
  p.levels = 5;
  p.layers = 65535;
  p.plt = 1;
  const auto plan = plan_of(p);
  REQUIRE(plan->packets.size() == 24 * 65535);
  const std::vector<uint8_t> bytes = empty_codestream(*plan);
  const test::ParsedCodestream h = test::parse_codestream(bytes);
  REQUIRE(h.tile_parts.size() == 1);
  REQUIRE(h.tile_parts[0].plt.size() == plan->packets.size());
  for (const uint64_t packet_bytes : h.tile_parts[0].plt) REQUIRE(packet_bytes == 1);
  REQUIRE(h.tile_parts[0].plt_segments.size() == 25);
  for (size_t i = 0; i < 24; ++i) CHECK(h.tile_parts[0].plt_segments[i] == 65535);

  // Long entries. Every segment is filled until an entry does not fit, and the size stays within
  // the bound.
  for (const uint64_t packet_bytes : {uint64_t{200}, uint64_t{20000}, uint64_t{0xFFFFFFFF}}) {
    std::vector<uint8_t> out(2'000'000);
    PltWriter writer(out.data()), counter(nullptr);
    const uint64_t num_packets = 200'000;
    for (uint64_t i = 0; i < num_packets; ++i) {
      writer.add(packet_bytes);
      counter.add(packet_bytes);
    }
    const uint64_t size = writer.finish();
    CHECK(size == counter.finish());
    CHECK(size <=
          num_packets * plt_entry_bytes(packet_bytes) + max_plt_overhead_bytes(num_packets));
    uint64_t at = 0, segments = 0;
    while (at < size) {
      CHECK(get_be(out, at, 2) == 0xFF58);
      CHECK(out[at + 4] == segments++);
      at += 2 + get_be(out, at + 2, 2);
    }
    CHECK(at == size);
  }

  Plan huge = *plan;
  huge.tile_parts[0].num_packets = 256 * uint64_t{65528} / 5;
  CHECK(has_plt(huge));
  ++huge.tile_parts[0].num_packets;
  CHECK_FALSE(has_plt(huge));
}

TEST_CASE("SOP: Nsop begins again with each tile and after 65535") {
  cj2k_params p = picture(8, 8, 3);
  p.tile_width = 4;
  p.tile_height = 8;
  p.levels = 0;
  p.layers = 30000;
  p.sop = 1;
  const auto plan = plan_of(p);
  const std::vector<uint8_t> bytes = empty_codestream(*plan);
  const test::ParsedCodestream h = test::parse_codestream(bytes);
  REQUIRE(h.tile_parts.size() == 2);
  for (const test::ParsedTilePart& part : h.tile_parts) {
    REQUIRE(part.end - part.data == 90000 * 7);
    for (uint32_t i = 0; i < 90000; ++i) {
      REQUIRE(get_be(bytes, part.data + 7 * i, 4) == 0xFF910004);
      REQUIRE(get_be(bytes, part.data + 7 * i + 4, 2) == i % 65536);
    }
  }
}

TEST_CASE("padding: every size is a chain of COM segments") {
  std::vector<uint8_t> out(400'000, 0xA5);
  for (uint64_t bytes = kMinPaddingBytes; bytes < out.size() - 1; bytes += bytes < 64 ? 1 : 61) {
    uint8_t* const end = store_padding(out.data(), bytes);
    REQUIRE(end == out.data() + bytes);
    REQUIRE(out[bytes] == 0xA5);
    uint64_t at = 0;
    while (at < bytes) {
      REQUIRE(get_be(out, at, 2) == 0xFF64);
      REQUIRE(get_be(out, at + 2, 2) >= 5);
      at += 2 + get_be(out, at + 2, 2);
    }
    REQUIRE(at == bytes);
    std::fill(out.begin(), out.begin() + static_cast<ptrdiff_t>(bytes), 0xA5);
  }
  CHECK(store_padding(out.data(), 0) == out.data());
}

TEST_CASE("Psot: a tile-part of more than 32 bits is refused") {
  cj2k_params p = picture(64, 64, 3);
  p.levels = 0;
  const auto plan = plan_of(p);
  REQUIRE(plan->blocks.size() == 3);
  // The data is never read.
  uint8_t byte = 0;
  const HullPoint hull = {0x60000000, 1, 100, 0};
  std::vector<CodedBlock> blocks(3);
  for (CodedBlock& block : blocks) {
    block.data = &byte;
    block.hull = &hull;
    block.num_hull = block.num_passes = 1;
  }
  std::vector<uint8_t> final_points = {1, 1, 0};
  const Selection selection = {blocks.data(), final_points.data(), nullptr, 1};
  PacketScratch scratch(*plan);
  PacketWriter writer(*plan);
  const auto encode = [&] {
    for (uint32_t i = 0; i < 3; ++i) writer.encode_headers(selection, i, scratch);
  };
  encode();
  CHECK(writer.fits());
  final_points[2] = 1;
  encode();
  CHECK_FALSE(writer.fits());
  CHECK(writer.frame_bytes() > 3 * uint64_t{0x60000000});
  uint8_t* const nowhere = final_points.data();
  CHECK(writer.write(selection, std::span(nowhere, writer.frame_bytes()), 0) == 0);
}

TEST_CASE("component_fixed_bytes: the tile-part headers of one component") {
  cj2k_params p = picture(64, 64, 3);
  p.progression = CJ2K_CPRL;
  p.tile_parts = CJ2K_TILE_PARTS_COMPONENT;
  auto plan = plan_of(p);
  REQUIRE(plan->tile_parts.size() == 3);
  for (uint32_t c = 0; c < 3; ++c) CHECK(component_fixed_bytes(*plan, c) == 14);
  p.plt = 1;
  plan = plan_of(p);
  for (uint32_t c = 0; c < 3; ++c) CHECK(component_fixed_bytes(*plan, c) == 14 + 5);
  p.tile_parts = CJ2K_TILE_PARTS_NONE;
  plan = plan_of(p);
  for (uint32_t c = 0; c < 3; ++c) CHECK(component_fixed_bytes(*plan, c) == 0);
}

struct Box {
  std::string type;
  Bytes body;
};

std::vector<Box> boxes_of(Bytes bytes) {
  std::vector<Box> boxes;
  for (size_t at = 0; at < bytes.size();) {
    const uint32_t length = get_be(bytes, at, 4);
    REQUIRE(length >= 8);
    REQUIRE(at + length <= bytes.size());
    boxes.push_back({std::string(bytes.begin() + at + 4, bytes.begin() + at + 8),
                     bytes.subspan(at + 8, length - 8)});
    at += length;
  }
  return boxes;
}

std::vector<uint8_t> vector_of(Bytes bytes) { return {bytes.begin(), bytes.end()}; }

TEST_CASE("JP2: boxes") {
  using V = std::vector<uint8_t>;
  cj2k_params p = picture(300, 200, 3);
  p.format = CJ2K_FORMAT_JP2;
  p.image_offset_x = 7;
  auto plan = plan_of(p);
  std::vector<uint8_t> file = empty_codestream(*plan);
  std::vector<Box> boxes = boxes_of(file);
  REQUIRE(boxes.size() == 4);
  CHECK(boxes[0].type == "jP  ");
  CHECK(vector_of(boxes[0].body) == V{0x0D, 0x0A, 0x87, 0x0A});
  CHECK(boxes[1].type == "ftyp");
  CHECK(vector_of(boxes[1].body) == V{'j', 'p', '2', ' ', 0, 0, 0, 0, 'j', 'p', '2', ' '});
  CHECK(boxes[2].type == "jp2h");
  CHECK(boxes[3].type == "jp2c");
  CHECK(test::parse_codestream(boxes[3].body).end == boxes[3].body.size());
  std::vector<Box> header = boxes_of(boxes[2].body);
  REQUIRE(header.size() == 2);
  CHECK(header[0].type == "ihdr");
  CHECK(vector_of(header[0].body) == V{0, 0, 0, 200, 0, 0, 1, 44, 0, 3, 7, 7, 0, 0});
  CHECK(header[1].type == "colr");
  CHECK(vector_of(header[1].body) == V{1, 0, 0, 0, 0, 0, 16});

  // Components of different depth, and opacity.
  p.num_components = 4;
  p.depth[3] = 1;
  p.is_signed[1] = 1;
  p.mct = CJ2K_MCT_OFF;
  p.alpha = 1;
  p.colorspace = CJ2K_COLOR_SYCC;
  plan = plan_of(p);
  file = empty_codestream(*plan);
  boxes = boxes_of(file);
  header = boxes_of(boxes[2].body);
  REQUIRE(header.size() == 4);
  CHECK(header[0].body[10] == 255);
  CHECK(header[1].type == "bpcc");
  CHECK(vector_of(header[1].body) == V{7, 0x87, 7, 0});
  CHECK(vector_of(header[2].body) == V{1, 0, 0, 0, 0, 0, 18});
  CHECK(header[3].type == "cdef");
  CHECK(vector_of(header[3].body) ==
        V{0, 4, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 2, 0, 2, 0, 0, 0, 3, 0, 3, 0, 1, 0, 0});
}

TEST_CASE("JP2: colour space and channel definitions of every number of components") {
  using V = std::vector<uint8_t>;
  constexpr uint8_t kSrgb = 16, kGray = 17, kSycc = 18;
  // For each channel: its number, its type (0 colour, 1 opacity, 2 premultiplied opacity,
  // 65535 unspecified) and its association.
  const V red{0, 0, 0, 0, 0, 1}, green{0, 1, 0, 0, 0, 2}, blue{0, 2, 0, 0, 0, 3};
  const auto opacity = [](uint8_t c) { return V{0, c, 0, 1, 0, 0}; };
  const auto premultiplied = [](uint8_t c) { return V{0, c, 0, 2, 0, 0}; };
  const auto further = [](uint8_t c) { return V{0, c, 255, 255, 255, 255}; };
  const struct {
    int components, alpha;
    cj2k_colorspace space;
    bool subsampled;
    uint8_t enumerated;
    std::vector<V> channels;  // none: no cdef box
  } table[] = {
      {1, 0, CJ2K_COLOR_AUTO, false, kGray, {}},
      {2, 0, CJ2K_COLOR_AUTO, false, kGray, {red, further(1)}},
      {2, 1, CJ2K_COLOR_AUTO, false, kGray, {red, opacity(1)}},
      {3, 0, CJ2K_COLOR_AUTO, false, kSrgb, {}},
      {3, 0, CJ2K_COLOR_AUTO, true, kSycc, {}},
      {3, 0, CJ2K_COLOR_GRAY, false, kGray, {red, further(1), further(2)}},
      {3, 1, CJ2K_COLOR_AUTO, false, kGray, {red, further(1), opacity(2)}},
      {4, 0, CJ2K_COLOR_AUTO, false, kSrgb, {red, green, blue, further(3)}},
      {4, 0, CJ2K_COLOR_SYCC, true, kSycc, {red, green, blue, further(3)}},
      {4, 1, CJ2K_COLOR_AUTO, false, kSrgb, {red, green, blue, opacity(3)}},
      {4, 1, CJ2K_COLOR_AUTO, true, kSycc, {red, green, blue, opacity(3)}},
      {2, 2, CJ2K_COLOR_AUTO, false, kGray, {red, premultiplied(1)}},
      {4, 2, CJ2K_COLOR_AUTO, false, kSrgb, {red, green, blue, premultiplied(3)}},
      {4, 1, CJ2K_COLOR_GRAY, false, kGray, {red, further(1), further(2), opacity(3)}},
  };
  for (const auto& row : table) {
    INFO("components ", row.components, " alpha ", row.alpha, " colorspace ", row.space,
         " subsampled ", row.subsampled);
    cj2k_params p = picture(300, 200, row.components);
    p.format = CJ2K_FORMAT_JP2;
    p.alpha = row.alpha;
    p.colorspace = row.space;
    if (row.subsampled) p.dx[1] = p.dx[2] = 2;
    const auto plan = plan_of(p);
    const std::vector<uint8_t> file = empty_codestream(*plan);
    CHECK(file.size() == fixed_bytes(*plan) + plan->packets.size());
    const std::vector<Box> header = boxes_of(boxes_of(file)[2].body);
    REQUIRE(header.size() == (row.channels.empty() ? 2 : 3));
    CHECK(header[1].type == "colr");
    CHECK(vector_of(header[1].body) == V{1, 0, 0, 0, 0, 0, row.enumerated});
    if (row.channels.empty()) continue;
    V expected{0, static_cast<uint8_t>(row.components)};
    for (const V& channel : row.channels)
      expected.insert(expected.end(), channel.begin(), channel.end());
    CHECK(header[2].type == "cdef");
    CHECK(vector_of(header[2].body) == expected);
  }
}

TEST_CASE("JP2: an ICC profile where no enumerated colour space fits") {
  cj2k_params p = picture(300, 200, 3);
  p.format = CJ2K_FORMAT_JP2;
  const auto colour_box = [&p] {
    const auto plan = plan_of(p);
    const std::vector<uint8_t> file = empty_codestream(*plan);
    CHECK(file.size() == fixed_bytes(*plan) + plan->packets.size());
    const std::vector<Box> header = boxes_of(boxes_of(file)[2].body);
    CHECK(header[1].type == "colr");
    return vector_of(header[1].body);
  };
  const auto with_profile = [](const std::vector<uint8_t>& profile) {
    std::vector<uint8_t> body = {2, 0, 0};
    body.insert(body.end(), profile.begin(), profile.end());
    return body;
  };
  p.primaries = CJ2K_PRIMARIES_P3D65;
  cj2k_params q = p;
  q.colorspace = CJ2K_COLOR_SRGB;
  CHECK(colour_box() == with_profile(make_icc_profile(q)));
  p.colorspace = CJ2K_COLOR_SYCC;  // always enumerated
  CHECK(colour_box() == std::vector<uint8_t>{1, 0, 0, 0, 0, 0, 18});
  p.colorspace = q.colorspace = CJ2K_COLOR_XYZ;
  CHECK(colour_box() == with_profile(make_icc_profile(q)));
  // The caller's profile comes first, and is copied.
  p.colorspace = CJ2K_COLOR_SRGB;
  q = p;
  q.primaries = CJ2K_PRIMARIES_REC2020;
  std::vector<uint8_t> own = make_icc_profile(q);
  p.icc_profile = own.data();
  p.icc_profile_bytes = own.size();
  const auto plan = plan_of(p);
  CHECK(plan->params.icc_profile == nullptr);
  CHECK(plan->icc_profile == own);
  CHECK(colour_box() == with_profile(own));
  // A raw codestream has no place for it.
  p.format = CJ2K_FORMAT_J2K;
  CHECK(empty_codestream(*plan_of(p))[0] == 0xFF);
}

/// What a resolution box says, in samples per metre: 0 down, 1 across.
double resolution_of(const std::vector<uint8_t>& body, size_t which) {
  const size_t at = 4 * which;
  return static_cast<double>(get_be(body, at, 2)) / static_cast<double>(get_be(body, at + 2, 2)) *
         std::pow(10, static_cast<int8_t>(body[8 + which]));
}

TEST_CASE("JP2: capture resolution, as the nearest fraction") {
  cj2k_params p = picture(300, 200, 3);
  p.format = CJ2K_FORMAT_JP2;
  const auto body_of_box = [&p] {
    const std::vector<uint8_t> file = empty_codestream(*plan_of(p));
    const std::vector<Box> header = boxes_of(boxes_of(file)[2].body);
    REQUIRE(header.size() == 3);
    CHECK(header[2].type == "res ");
    const std::vector<Box> inside = boxes_of(header[2].body);
    REQUIRE(inside.size() == 1);
    CHECK(inside[0].type == "resc");
    REQUIRE(inside[0].body.size() == 10);
    return vector_of(inside[0].body);
  };
  const auto dpi = [](double value) { return value / 0.0254; };
  for (const auto& [x, y] : std::vector<std::pair<double, double>>{
           {dpi(300), 0}, {dpi(204), dpi(98)}, {2834, 5669}, {0.001, 0}, {1e9, 2e8}, {65536, 0}}) {
    p.resolution_x = x;
    p.resolution_y = y;
    const std::vector<uint8_t> body = body_of_box();
    CHECK(resolution_of(body, 1) == doctest::Approx(x).epsilon(1e-12));
    CHECK(resolution_of(body, 0) == doctest::Approx(y > 0 ? y : x).epsilon(1e-12));
  }
  p.resolution_x = dpi(300);
  p.resolution_y = 0;
  CHECK(body_of_box() == std::vector<uint8_t>{0x3A, 0x98, 0, 127, 0x3A, 0x98, 0, 127, 2, 2});
  test::Random random(1);
  for (int i = 0; i < 1000; ++i) {
    p.resolution_x = std::exp(random.range(-6900, 20700) / 1000.0);
    CHECK(resolution_of(body_of_box(), 1) == doctest::Approx(p.resolution_x).epsilon(1e-5));
  }
}

TEST_CASE("JP2: the caller's boxes") {
  cj2k_params p = picture(300, 200, 3);
  p.format = CJ2K_FORMAT_JP2;
  std::vector<uint8_t> boxes = {0, 0, 0, 28, 'u', 'u', 'i', 'd'};
  for (uint8_t i = 0; i < 20; ++i) boxes.push_back(i);
  for (const int byte : {0, 0, 0, 9, 0x78, 0x6D, 0x6C, 0x20, 0x78})  // an xml box
    boxes.push_back(static_cast<uint8_t>(byte));
  p.jp2_boxes = boxes.data();
  p.jp2_boxes_bytes = boxes.size();
  const std::vector<uint8_t> bytes = empty_codestream(*plan_of(p));
  const std::vector<Box> file = boxes_of(bytes);
  REQUIRE(file.size() == 6);
  CHECK(file[3].type == "uuid");
  CHECK(file[3].body.size() == 20);
  CHECK(file[4].type == "xml ");
  CHECK(file[5].type == "jp2c");
  const auto error = [&](size_t at, uint8_t value) {
    std::vector<uint8_t> spoilt = boxes;
    spoilt[at] = value;
    p.jp2_boxes = spoilt.data();
    return test::resolve_error(p);
  };
  CHECK(error(3, 29).find("the box at byte 29 has length") != std::string::npos);
  CHECK(error(3, 7).find("the box at byte 0 has length 7, not in [8, 37]") != std::string::npos);
  CHECK(error(31, 8).find("the box at byte 36 has length 120, not in [8, 1]") != std::string::npos);
  CHECK(error(31, 10).find("the box at byte 28 has length 10, not in [8, 9]") != std::string::npos);
  CHECK(error(4, 'j').find("the box at byte 0 is \"juid\", not uuid, xml or uinf") !=
        std::string::npos);
  CHECK(error(4, 0).find("is \"?uid\", not") != std::string::npos);
  p.jp2_boxes_bytes = 0;
  CHECK(test::resolve_error(p).find("jp2_boxes_bytes 0 not in [8, 67108864]") != std::string::npos);
  p.jp2_boxes_bytes = 8;
  p.jp2_boxes = nullptr;
  CHECK(test::resolve_error(p).find("jp2_boxes NULL") != std::string::npos);
  p.jp2_boxes_bytes = 0;
  p.resolution_y = 3;
  CHECK(test::resolve_error(p).find("resolution_y 3 without resolution_x") != std::string::npos);
}

TEST_CASE("JP2: a codestream beyond 32 bits runs to the end of the file") {
  uint8_t header[8] = {1, 1, 1, 1, 'j', 'p', '2', 'c'};
  set_jp2c_bytes(header + 8, 100);
  CHECK(get_be(header, 0, 4) == 108);
  set_jp2c_bytes(header + 8, 0xFFFFFFFF - 8);
  CHECK(get_be(header, 0, 4) == 0xFFFFFFFF);
  set_jp2c_bytes(header + 8, 0xFFFFFFFF - 7);
  CHECK(get_be(header, 0, 4) == 0);
}

}  // namespace
}  // namespace cj2k
