// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Every field of a codestream wrong once: cj2k-check finds each fault by its rule.
#include <doctest/doctest.h>

#include "conformance/editor.h"
#include "support/encode.h"

namespace cj2k::test {
namespace {

using Body = std::vector<uint8_t>;

constexpr uint16_t kCap = 0xFF50, kSiz = 0xFF51, kCod = 0xFF52, kCoc = 0xFF53, kTlm = 0xFF55,
                   kPlm = 0xFF57, kPlt = 0xFF58, kQcd = 0xFF5C, kQcc = 0xFF5D, kRgn = 0xFF5E,
                   kPoc = 0xFF5F, kPpm = 0xFF60, kPpt = 0xFF61, kCrg = 0xFF63, kCom = 0xFF64;

std::vector<uint8_t> encoded(std::initializer_list<std::pair<const char*, const char*>> settings,
                             Content content = Content::kTexture) {
  cj2k_params p = make_params(64, 48, 3, 8);
  p.lossless = 1;
  for (const auto& [key, value] : settings) set(p, key, value);
  const Encoded result = encode(p, make_picture(p, content, 1));
  REQUIRE_MESSAGE(result.status == CJ2K_OK, result.log);
  return result.bytes;
}

/// One tile with layers, SOP, EPH, PLT and precincts; the packets of layer 0 come first.
std::vector<uint8_t> plain() {
  return encoded({{"levels", "2"},
                  {"layers", "2"},
                  {"sop", "1"},
                  {"eph", "1"},
                  {"plt", "1"},
                  {"precincts", "32x32"},
                  {"cblk", "16x16"}});
}

const Plant kMainHeader[] = {
    {"SOC", [](Editor& e) { e.put(1, 1, 0x4E); }, "soc"},
    {"COM before SIZ",
     [](Editor& e) {
       e.insert(2, {0xFF, 0x64, 0, 5, 0, 1, 'x'});
     },
     "siz-place"},
    {"Lsiz", [](Editor& e) { e.set_body(kSiz, Body(50, 1)); }, "siz-length"},
    {"Rsiz bit 14", [](Editor& e) { e.put(6, 2, 0x4000); }, "cap-rsiz"},
    {"Rsiz of no profile", [](Editor& e) { e.put(6, 2, 0x0F00); }, "rsiz-unknown"},
    {"Xsiz", [](Editor& e) { e.put(8, 4, 0); }, "siz-size"},
    {"Ysiz", [](Editor& e) { e.put(12, 4, 0); }, "siz-size"},
    {"XOsiz", [](Editor& e) { e.put(16, 4, 64); }, "siz-offset"},
    {"YOsiz", [](Editor& e) { e.put(20, 4, 99); }, "siz-offset"},
    {"XTsiz", [](Editor& e) { e.put(24, 4, 0); }, "siz-tile-size"},
    {"YTsiz", [](Editor& e) { e.put(28, 4, 0); }, "siz-tile-size"},
    {"XTOsiz", [](Editor& e) { e.put(32, 4, 1); }, "siz-tile-offset"},
    {"YTOsiz", [](Editor& e) { e.put(36, 4, 1); }, "siz-tile-offset"},
    {"too many tiles",
     [](Editor& e) {
       e.put(8, 4, 70000);
       e.put(24, 4, 1);
     },
     "siz-tiles"},
    {"Csiz", [](Editor& e) { e.put(40, 2, 0); }, "siz-components"},
    {"Ssiz", [](Editor& e) { e.put(42, 1, 38); }, "siz-depth"},
    {"XRsiz", [](Editor& e) { e.put(43, 1, 0); }, "siz-sampling"},
    {"YRsiz", [](Editor& e) { e.put(50, 1, 0); }, "siz-sampling"},
    {"two SIZ", [](Editor& e) { e.insert(e.main_marker(kCod), e.segment(kSiz)); }, "marker-twice"},
    {"no COD", [](Editor& e) { e.remove_segment(kCod); }, "cod-missing"},
    {"two COD", [](Editor& e) { e.insert(e.main_marker(kCod), e.segment(kCod)); }, "marker-twice"},
    {"Lcod",
     [](Editor& e) {
       Body body = e.segment(kCod);
       body.erase(body.begin(), body.begin() + 4);
       body.push_back(0x55);
       e.set_body(kCod, body);
     },
     "cod-length"},
    {"Scod", [](Editor& e) { e.put(e.main_marker(kCod) + 4, 1, 0x87); }, "cod-scod"},
    {"progression", [](Editor& e) { e.put(e.main_marker(kCod) + 5, 1, 5); }, "cod-progression"},
    {"layers", [](Editor& e) { e.put(e.main_marker(kCod) + 6, 2, 0); }, "cod-layers"},
    {"MCT", [](Editor& e) { e.put(e.main_marker(kCod) + 8, 1, 2); }, "cod-mct"},
    {"MCT of unlike components", [](Editor& e) { e.put(45, 1, 9); }, "mct-components"},
    {"levels", [](Editor& e) { e.put(e.main_marker(kCod) + 9, 1, 33); }, "cod-levels"},
    {"code-block width", [](Editor& e) { e.put(e.main_marker(kCod) + 10, 1, 9); },
     "cod-block-size"},
    {"code-block height", [](Editor& e) { e.put(e.main_marker(kCod) + 11, 1, 7); },
     "cod-block-size"},
    {"code-block style", [](Editor& e) { e.put(e.main_marker(kCod) + 12, 1, 0x80); },
     "cod-block-style"},
    {"transform", [](Editor& e) { e.put(e.main_marker(kCod) + 13, 1, 2); }, "cod-transform"},
    {"precinct exponent", [](Editor& e) { e.put(e.main_marker(kCod) + 15, 1, 0x50); },
     "cod-precincts"},
    {"COC of component 3",
     [](Editor& e) {
       e.add_segment(kCoc, {3, 0, 2, 2, 2, 0, 1});
     },
     "coc-component"},
    {"Scoc",
     [](Editor& e) {
       e.add_segment(kCoc, {1, 2, 2, 2, 2, 0, 1});
     },
     "coc-scoc"},
    {"Lcoc",
     [](Editor& e) {
       e.add_segment(kCoc, {1, 0, 2, 2, 2, 0, 1, 9});
     },
     "coc-length"},
    {"levels of COC",
     [](Editor& e) {
       e.add_segment(kCoc, {1, 0, 40, 2, 2, 0, 1});
     },
     "coc-levels"},
    {"MCT of unlike wavelets",
     [](Editor& e) {
       e.add_segment(kCoc, {1, 0, 2, 2, 2, 0, 0});
     },
     "mct-components"},
    {"no QCD", [](Editor& e) { e.remove_segment(kQcd); }, "qcd-missing"},
    {"Sqcd", [](Editor& e) { e.put(e.main_marker(kQcd) + 4, 1, 0x43); }, "qcd-style"},
    {"quantisation with the 5/3",
     [](Editor& e) {
       Body body(15, 0x48);
       body[0] = 0x42;
       e.set_body(kQcd, body);
     },
     "qcd-transform"},
    {"Lqcd",
     [](Editor& e) {
       e.set_body(kQcd, {0x42, 0x48, 0, 0x48});
     },
     "qcd-length"},
    {"a step too few", [](Editor& e) { e.set_body(kQcd, Body(7, 0x40)); }, "qcd-steps"},
    {"a step too many", [](Editor& e) { e.set_body(kQcd, Body(9, 0x40)); }, "qcd-steps"},
    {"QCC of component 3",
     [](Editor& e) {
       e.add_segment(kQcc, {3, 0x40, 0x48});
     },
     "qcc-component"},
    {"two QCC of a component",
     [](Editor& e) {
       e.add_segment(kQcc, {1, 0x40, 64, 64, 64, 64, 64, 64, 64});
       e.add_segment(kQcc, {1, 0x40, 64, 64, 64, 64, 64, 64, 64});
     },
     "qcc-component"},
    {"steps of QCC",
     [](Editor& e) {
       e.add_segment(kQcc, {1, 0x40, 0x48});
     },
     "qcc-steps"},
    {"RGN of component 9",
     [](Editor& e) {
       e.add_segment(kRgn, {9, 0, 3});
     },
     "rgn-component"},
    {"Srgn",
     [](Editor& e) {
       e.add_segment(kRgn, {1, 1, 3});
     },
     "rgn-style"},
    {"Lrgn",
     [](Editor& e) {
       e.add_segment(kRgn, {1, 0, 3, 3});
     },
     "rgn-length"},
    {"Lpoc",
     [](Editor& e) {
       e.add_segment(kPoc, {0, 0, 0, 2, 3, 3});
     },
     "poc-length"},
    {"RSpoc",
     [](Editor& e) {
       e.add_segment(kPoc, {3, 0, 0, 2, 3, 3, 0});
     },
     "poc-resolutions"},
    {"CSpoc",
     [](Editor& e) {
       e.add_segment(kPoc, {0, 3, 0, 2, 3, 3, 0});
     },
     "poc-components"},
    {"LYEpoc",
     [](Editor& e) {
       e.add_segment(kPoc, {0, 0, 0, 0, 3, 3, 0});
     },
     "poc-layers"},
    {"Ppoc",
     [](Editor& e) {
       e.add_segment(kPoc, {0, 0, 0, 2, 3, 3, 5});
     },
     "poc-order"},
    {"POC without the last layer",
     [](Editor& e) {
       e.add_segment(kPoc, {0, 0, 0, 1, 3, 3, 0});
     },
     "poc-incomplete"},
    {"Ztlm", [](Editor& e) { e.put(e.main_marker(kTlm) + 4, 1, 1); }, "tlm-index"},
    {"Stlm", [](Editor& e) { e.put(e.main_marker(kTlm) + 5, 1, 0x70); }, "tlm-stlm"},
    {"Ttlm", [](Editor& e) { e.put(e.main_marker(kTlm) + 6, 1, 1); }, "tlm-tile"},
    {"Ptlm",
     [](Editor& e) {
       const size_t at = e.main_marker(kTlm) + 7;
       e.put(at, 4, e.get(at, 4) + 1);
     },
     "tlm-bytes"},
    {"Ltlm",
     [](Editor& e) {
       e.set_body(kTlm, {0, 0x50, 0, 0, 0});
     },
     "tlm-length"},
    {"a TLM entry too many",
     [](Editor& e) {
       e.add_segment(kTlm, {1, 0x50, 0, 0, 0, 0, 9}, kTlm);
     },
     "tlm-count"},
    {"Zplm",
     [](Editor& e) {
       e.add_segment(kPlm, {1, 1, 9});
     },
     "plm-index"},
    {"Nplm",
     [](Editor& e) {
       e.add_segment(kPlm, {0, 9, 9});
     },
     "plm-length"},
    {"PLM of two tile-parts",
     [](Editor& e) {
       e.add_segment(kPlm, {0, 1, 9, 1, 9});
     },
     "plm-count"},
    {"Zppm",
     [](Editor& e) {
       e.add_segment(kPpm, {4, 0, 0, 0, 1, 0});
     },
     "ppm-index"},
    {"Nppm",
     [](Editor& e) {
       e.add_segment(kPpm, {0, 0, 0, 1, 0, 0});
     },
     "ppm-length"},
    {"Lcrg",
     [](Editor& e) {
       e.add_segment(kCrg, {0, 0, 0, 0});
     },
     "crg-length"},
    {"COM without text",
     [](Editor& e) {
       e.set_body(kCom, {0, 1});
     },
     "com-empty"},
    {"Rcom", [](Editor& e) { e.put(e.main_marker(kCom) + 4, 2, 7); }, "com-kind"},
    {"CAP without its Rsiz",
     [](Editor& e) {
       e.add_segment(kCap, {0, 2, 0, 0, 0, 7});
     },
     "cap-rsiz"},
    {"Lcap",
     [](Editor& e) {
       e.put(6, 2, 0x4000);
       e.add_segment(kCap, {0, 2, 0, 0});
     },
     "cap-length"},
    {"unknown marker",
     [](Editor& e) {
       e.add_segment(0xFF70, {0, 0});
     },
     "marker-unknown"},
    {"PLT in the main header",
     [](Editor& e) {
       e.add_segment(kPlt, {0, 1});
     },
     "marker-place"},
    {"length of a marker segment", [](Editor& e) { e.put(e.main_marker(kCom) + 2, 2, 1); },
     "marker-length"},
    {"no marker",
     [](Editor& e) {
       e.insert(e.main_marker(kCom), {0x12, 0x34});
     },
     "marker-expected"},
};

const Plant kTileParts[] = {
    {"Lsot", [](Editor& e) { e.put(e.part(0) + 2, 2, 11); }, "sot-length"},
    {"Isot", [](Editor& e) { e.put(e.part(0) + 4, 2, 1); }, "sot-tile"},
    {"Psot too long", [](Editor& e) { e.put(e.part(0) + 6, 4, e.bytes.size()); }, "sot-psot"},
    {"Psot a byte too short",
     [](Editor& e) {
       const size_t at = e.part(0) + 6;
       e.put(at, 4, e.get(at, 4) - 1);
     },
     "sot-psot"},
    {"Psot within the header", [](Editor& e) { e.put(e.part(0) + 6, 4, 13); }, "sot-psot"},
    {"TPsot", [](Editor& e) { e.put(e.part(0) + 10, 1, 1); }, "sot-tpsot"},
    {"TNsot", [](Editor& e) { e.put(e.part(0) + 11, 1, 2); }, "sot-tnsot"},
    {"no SOD", [](Editor& e) { e.put(e.part_data(0) - 2, 2, 0xFF90); }, "sod-missing"},
    {"TLM in a tile-part",
     [](Editor& e) {
       e.add_segment_in_part(0, kTlm, {0, 0x50, 0, 0, 0, 0, 1});
     },
     "marker-place"},
    {"two POC in a tile-part",
     [](Editor& e) {
       e.add_segment_in_part(0, kPoc, {0, 0, 0, 2, 3, 3, 0});
       e.add_segment_in_part(0, kPoc, {0, 0, 0, 2, 3, 3, 0});
     },
     "marker-twice"},
    {"levels of a COD of a tile",
     [](Editor& e) {
       e.add_segment_in_part(0, kCod, {0, 0, 0, 1, 0, 34, 4, 4, 0, 1});
     },
     "cod-levels"},
    {"Zplt", [](Editor& e) { e.put(e.part(0) + 16, 1, 3); }, "plt-index"},
    {"a length of PLT", [](Editor& e) { e.put(e.part(0) + 17, 1, e.get(e.part(0) + 17, 1) ^ 1); },
     "plt-bytes"},
    {"a length too many in PLT",
     [](Editor& e) {
       const size_t length = e.part(0) + 14;
       const size_t end = length + e.get(length, 2);
       e.put(length, 2, e.get(length, 2) + 1);
       e.insert_in_part(0, end, {5});
     },
     "plt-count"},
    {"Zppt",
     [](Editor& e) {
       e.add_segment_in_part(0, kPpt, {1, 0});
     },
     "ppt-index"},
    {"PPT of too many headers", [](Editor& e) { e.add_segment_in_part(0, kPpt, Body(200, 0)); },
     "packed-headers-rest"},
    {"PPM and PPT",
     [](Editor& e) {
       e.add_segment(kPpm, {0, 0, 0, 0, 1, 0});
       e.add_segment_in_part(0, kPpt, {0, 0});
     },
     "ppm-and-ppt"},
    {"no EOC", [](Editor& e) { e.erase(e.bytes.size() - 2, 2); }, "eoc-missing"},
    {"bytes behind EOC",
     [](Editor& e) {
       e.insert(e.bytes.size(), {0, 0, 0});
     },
     "eoc-trailing"},
};

const Plant kPackets[] = {
    {"Lsop", [](Editor& e) { e.put(e.part_data(0) + 2, 2, 5); }, "sop-length"},
    {"Nsop", [](Editor& e) { e.put(e.part_data(0) + 4, 2, 7); }, "sop-number"},
    {"SOP without its bit", [](Editor& e) { e.put(e.main_marker(kCod) + 4, 1, 5); },
     "sop-unexpected"},
    {"EPH without its bit", [](Editor& e) { e.put(e.main_marker(kCod) + 4, 1, 3); },
     "eph-unexpected"},
    {"a byte too many", [](Editor& e) { e.insert_in_part(0, e.part_end(0), {0}); },
     "tile-part-rest"},
    {"a byte too few", [](Editor& e) { e.erase_in_part(0, e.part_end(0) - 1, 1); },
     "packet-truncated"},
    {"a marker in the data", [](Editor& e) { e.put(e.part_end(0) - 20, 2, 0xFFD9); },
     "packet-marker"},
    {"0xFF and more than 0x8F in a code-block",
     [](Editor& e) { e.put(e.part_end(0) - 20, 2, 0xFFA0); }, "block-stuffing"},
    {"0xFF at the end of a code-block", [](Editor& e) { e.put(e.part_end(0) - 1, 1, 0xFF); },
     "block-segment-end"},
    {"no stuffed bit in a packet header", [](Editor& e) { e.put(e.part_data(0) + 6, 2, 0xFFFF); },
     "packet-header-stuffing"},
    {"all bit-planes of a code-block missing",
     [](Editor& e) {  // and the guard bits: none
       Body body(8, 8);
       body[0] = 0;
       e.set_body(kQcd, body);
     },
     "block-bitplanes"},
    {"a layer more than there are packets", [](Editor& e) { e.put(e.main_marker(kCod) + 6, 2, 3); },
     "packet-missing"},
};

TEST_CASE("planted: every field of the main header") {
  check_plants(plain(), {}, {std::begin(kMainHeader), std::end(kMainHeader)});
}

TEST_CASE("planted: tile-part headers") {
  check_plants(plain(), {}, {std::begin(kTileParts), std::end(kTileParts)});
}

TEST_CASE("planted: packets") {
  check_plants(plain(), {}, {std::begin(kPackets), std::end(kPackets)});
}

TEST_CASE("planted: what other codestreams are needed for") {
  check_plants(
      encoded({{"levels", "2"}}), {},
      {{"EPH is missing", [](Editor& e) { e.put(e.main_marker(kCod) + 4, 1, 4); }, "eph-missing"},
       {"no TLM entry",
        [](Editor& e) {
          e.set_body(kTlm, {0, 0x50});
        },
        "tlm-count"},
       {"PLM with a wrong length",
        [](Editor& e) {
          e.add_segment(kPlm, {0, 3, 1, 1, 1});
        },
        "plt-bytes"},
       {"MCT of two components",
        [](Editor& e) {
          Body body = e.segment(kSiz);
          body.erase(body.begin(), body.begin() + 4);
          body.erase(body.end() - 3, body.end());
          body[35] = 2;
          e.set_body(kSiz, body);
        },
        "mct-components"}});
  // 9/7 with derived step sizes would have one.
  cj2k_params p = make_params(64, 48, 1, 8);
  const Encoded lossy = encode(p, make_picture(p, Content::kTexture, 1));
  check_plants(
      lossy.bytes, {},
      {{"derived steps", [](Editor& e) { e.put(e.main_marker(kQcd) + 4, 1, 0x41); }, "qcd-steps"},
       {"no quantisation with the 9/7", [](Editor& e) { e.set_body(kQcd, Body(17, 0x40)); },
        "qcd-transform"}});
  const std::vector<uint8_t> raw =
      encoded({{"cblk_style", "bypass"}, {"layers", "1"}}, Content::kNoise);
  check_plants(raw, {},
               {{"0xFF and 0x80 in a raw segment",
                 [](Editor& e) {  // wherever it is: all of the data
                   for (size_t at = e.part_end(0) - 40; at < e.part_end(0); at += 2)
                     e.put(at, 2, 0xFF88);
                 },
                 "block-stuffing"}});
}

TEST_CASE("planted: several tiles and tile-parts") {
  const std::vector<uint8_t> tiles = encoded(
      {{"tile", "32x24"}, {"progression", "rlcp"}, {"levels", "1"}, {"tile_parts", "resolution"}});
  const auto swap_parts = [](Editor& e, size_t a) {  // with the next
    const size_t first = e.part(a), second = e.part(a + 1), end = e.part_end(a + 1);
    const std::vector<uint8_t> part(e.bytes.begin() + static_cast<ptrdiff_t>(first),
                                    e.bytes.begin() + static_cast<ptrdiff_t>(second));
    e.insert(end, part);
    e.erase(first, part.size());
  };
  check_plants(
      tiles, {},
      {{"tile-parts in the wrong order", [&](Editor& e) { swap_parts(e, 0); }, "sot-tpsot"},
       {"tiles unlike TLM", [&](Editor& e) { swap_parts(e, 1); }, "tlm-tile"},
       {"a tile is missing",
        [](Editor& e) {
          const size_t at = e.part(e.num_parts() - 2);
          e.erase(at, e.bytes.size() - 2 - at);
        },
        "tile-missing"},
       {"a tile-part is missing", [](Editor& e) { e.erase(e.part(1), e.part(2) - e.part(1)); },
        "sot-tnsot"},
       {"packets cross the end of a tile-part",
        [](Editor& e) {  // the last byte of the first tile-part goes to the next
          const uint8_t last = e.bytes[e.part_end(0) - 1];
          e.erase_in_part(0, e.part_end(0) - 1, 1);
          e.insert_in_part(1, e.part_data(1), {last});
        },
        "packet-truncated"},
       {"QCD in the second tile-part",
        [](Editor& e) {
          e.add_segment_in_part(1, kQcd, {0x40, 64, 64, 64, 64});
        },
        "marker-place"},
       {"steps of a QCD of a tile",
        [](Editor& e) {
          e.add_segment_in_part(2, kQcd, {0x40, 64, 64, 64});
        },
        "qcd-steps"},
       {"TNsot of one tile-part", [](Editor& e) { e.put(e.part(1) + 11, 1, 5); }, "sot-tnsot"}});
}

}  // namespace
}  // namespace cj2k::test
