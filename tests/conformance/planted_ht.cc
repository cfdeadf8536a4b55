// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Codestreams with HT code-blocks: each rule of CAP, CPF, the packets and the profiles broken once.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <utility>

#include "conformance/editor.h"
#include "support/encode.h"

namespace cj2k::test {
namespace {

using Body = std::vector<uint8_t>;
using Settings = std::initializer_list<std::pair<const char*, const char*>>;

constexpr uint16_t kCap = 0xFF50, kSiz = 0xFF51, kCod = 0xFF52, kCpf = 0xFF59, kQcd = 0xFF5C,
                   kRgn = 0xFF5E, kPoc = 0xFF5F, kPpm = 0xFF60, kTlm = 0xFF55;

std::vector<uint8_t> encoded(cj2k_params p, Settings settings, Content content) {
  p.coder = CJ2K_CODER_HT;
  for (const auto& [key, value] : settings) set(p, key, value);
  const Encoded result = encode(p, make_picture(p, content, 1));
  REQUIRE_MESSAGE(result.status == CJ2K_OK, result.log);
  return result.bytes;
}

std::function<void(Editor&)> cod(size_t field, int value) {
  return [=](Editor& e) { e.put(e.main_marker(kCod) + field, 1, static_cast<uint64_t>(value)); };
}
std::function<void(Editor&)> put(size_t at, int count, uint64_t value) {
  return [=](Editor& e) { e.put(at, count, value); };
}
std::function<void(Editor&)> ccap(uint16_t clear, uint16_t bits) {
  return [=](Editor& e) {
    const size_t at = e.main_marker(kCap) + 8;
    e.put(at, 2, (e.get(at, 2) & ~uint32_t{clear}) | bits);
  };
}
std::function<void(Editor&)> add(uint16_t code, const Body& body) {
  return [=](Editor& e) { e.add_segment(code, body); };
}
void own_steps_in_tile(Editor& e) {
  Body body = e.segment(kQcd);
  body.erase(body.begin(), body.begin() + 4);
  e.add_segment_in_part(0, kQcd, body);
}

bool finds(const std::vector<uint8_t>& bytes, const char* rule, const char* profile = "auto") {
  return cj2k_check::check_bytes(bytes, options_of(profile)).report.has(rule);
}

/// The bits of a packet header, with the stuffed ones.
class HeaderWriter {
 public:
  HeaderWriter& put(uint64_t value, int count) {
    while (count-- > 0) bit(static_cast<int>(value >> count & 1));
    return *this;
  }
  Body finish() {
    while (!at_start()) bit(0);
    if (!bytes_.empty() && bytes_.back() == 0xFF) bytes_.push_back(0);
    return bytes_;
  }

 private:
  bool at_start() const { return left_ == (stuffed_ ? 7 : 8); }
  void bit(int value) {
    if (at_start()) bytes_.push_back(0);
    --left_;
    bytes_.back() = static_cast<uint8_t>(bytes_.back() | value << left_);
    if (left_ > 0) return;
    stuffed_ = bytes_.back() == 0xFF;
    left_ = stuffed_ ? 7 : 8;
  }
  Body bytes_;
  int left_ = 8;
  bool stuffed_ = false;
};

/// A packet with one block: its cleanup pass above `zeros` bit-planes, more passes if `refined`, and
/// bytes that are their own segments.
struct OneBlock {
  int zeros, passes;
  uint32_t cleanup_bytes, refinement_bytes;
};
Body packet_of(const OneBlock& block) {
  constexpr int kLengthBits = 16;  // Lblock: 3 and 13 more
  HeaderWriter header;
  header.put(1, 1).put(1, 1);  // not empty; the block is included
  for (int i = 0; i < block.zeros; ++i) header.put(0, 1);
  header.put(1, 1);
  if (block.passes == 1) header.put(0, 1);
  if (block.passes == 2) header.put(2, 2);
  if (block.passes > 2) header.put(static_cast<uint64_t>(12 + block.passes - 3), 4);
  const int placeholders = (block.passes - 1) / 3 * 3;
  header.put(0x1FFF, 13).put(0, 1);
  header.put(block.cleanup_bytes, kLengthBits + (placeholders > 0 ? 2 : 0));
  const int rest = block.passes - placeholders - 1;
  if (rest > 0) header.put(block.refinement_bytes, kLengthBits + rest - 1);
  Body packet = header.finish();
  packet.insert(packet.end(), block.cleanup_bytes + block.refinement_bytes, 0);
  const size_t end = packet.size() - block.refinement_bytes;
  if (block.cleanup_bytes >= 2) packet[end - 2] = 2;  // Scup
  return packet;
}
std::function<void(Editor&)> packet(const OneBlock& block) {
  return [=](Editor& e) {
    e.erase_in_part(0, e.part_data(0), e.part_end(0) - e.part_data(0));
    e.insert_in_part(0, e.part_data(0), packet_of(block));
  };
}

TEST_CASE("planted HT: CAP and CPF") {
  const cj2k_params p = make_params(64, 48, 3, 12);
  check_plants(encoded(p, {{"lossless", "1"}, {"levels", "2"}}, Content::kNoise), {},
               {{"Pcap of another part",
                 [](Editor& e) { e.put(e.main_marker(kCap) + 4, 4, 0x00010000); }, "cap-missing"},
                {"HTONLY and code-blocks of Part 1", cod(12, 0), "cap-ht-only"},
                {"HTDECLARED and code-blocks of both kinds",
                 [](Editor& e) {
                   ccap(0, 0x4000)(e);
                   cod(12, 0xC0)(e);
                 },
                 "cap-mixed"},
                {"bits 15 and 14", ccap(0, 0x8000), "cap-blocks"},
                {"bit 8", ccap(0, 0x0100), "cap-reserved"},
                {"HTREV and the 9/7", cod(13, 0), "cap-transform"},
                {"RGNFREE and RGN", add(kRgn, {0, 0, 1}), "cap-region"},
                {"HOMOGENEOUS and QCD in a tile", own_steps_in_tile, "cap-homogeneous"},
                {"B below a magnitude", ccap(0x1F, 0), "ht-magnitudes"},
                {"bypass", cod(12, 0x41), "ht-block-style"},
                {"bit 7 without bit 6", cod(12, 0x80), "cod-block-style"},
                {"Lcpf", add(kCpf, {0, 2, 0}), "cpf-length"},
                {"no word in CPF", add(kCpf, {}), "cpf-length"},
                {"CPF that ends in 0", add(kCpf, {0, 2, 0, 0}), "cpf-value"}});
  // A corresponding profile is legal, of codestreams of Part 15.
  Editor with_cpf(encoded(p, {{"lossless", "1"}}, Content::kTexture));
  with_cpf.add_segment(kCpf, {0, 2});
  CHECK(findings(with_cpf.bytes) == findings(encoded(p, {{"lossless", "1"}}, Content::kTexture)));
  cj2k_params part1 = make_params(64, 48, 1, 8);
  const Encoded plain = encode(part1, make_picture(part1, Content::kTexture, 1));
  check_plants(plain.bytes, {}, {{"CPF in Part 1", add(kCpf, {0, 2}), "cpf-part-15"}});
}

TEST_CASE("planted HT: packets and cleanup segments") {
  // M_b is 9.
  const cj2k_params p = make_params(64, 64, 1, 8);
  const std::vector<uint8_t> clean =
      encoded(p, {{"lossless", "1"}, {"levels", "0"}}, Content::kNoise);
  for (const OneBlock& block : {OneBlock{8, 1, 40, 0}, OneBlock{5, 2, 40, 8},
                                OneBlock{5, 3, 40, 2046}, OneBlock{3, 5, 40, 8}}) {
    Editor editor(clean);
    packet(block)(editor);
    CHECK(findings(editor.bytes) == findings(clean));
  }
  check_plants(
      clean, {},
      {{"Scup of 0", [](Editor& e) { e.put(e.part_end(0) - 2, 2, 0x1000); }, "ht-cleanup-tail"},
       {"Scup above 4079", [](Editor& e) { e.put(e.part_end(0) - 2, 2, 0x00FF); },
        "ht-cleanup-tail"},
       {"Scup above the segment",
        [](Editor& e) {
          packet({8, 1, 40, 0})(e);
          e.put(e.part_end(0) - 1, 1, 3);
        },
        "ht-cleanup-tail"},
       {"a cleanup segment of a byte", packet({8, 1, 1, 0}), "ht-cleanup-bytes"},
       {"a cleanup segment of no bytes", packet({8, 1, 0, 0}), "ht-cleanup-bytes"},
       {"a cleanup segment of 65535 bytes", packet({8, 1, 65535, 0}), "ht-cleanup-bytes"},
       {"a refinement of 2047 bytes", packet({5, 3, 40, 2047}), "ht-refinement-bytes"},
       {"a refinement of no bytes", packet({5, 2, 40, 0}), "ht-refinement-empty"},
       {"SigProp below bit-plane 0", packet({8, 2, 40, 8}), "block-passes"},
       {"placeholders below bit-plane 0", packet({8, 4, 40, 0}), "block-passes"},
       {"0xFF and more than 0x8F", [](Editor& e) { e.put(e.part_end(0) - 20, 2, 0xFFA0); },
        "block-stuffing"},
       {"a byte too many", [](Editor& e) { e.insert_in_part(0, e.part_end(0), {0}); },
        "tile-part-rest"},
       {"a byte too few", [](Editor& e) { e.erase_in_part(0, e.part_end(0) - 1, 1); },
        "packet-truncated"}});
}

TEST_CASE("planted HT: two sets of passes in two layers") {
  cj2k_params p = make_params(64, 64, 1, 8);
  const std::vector<uint8_t> clean =
      encoded(p, {{"lossless", "1"}, {"levels", "0"}, {"layers", "2"}}, Content::kNoise);
  // The block again in the second layer: not empty, included, 3 passes, Lblock as before.
  HeaderWriter again;
  Body second = again.put(1, 1).put(1, 1).put(12, 4).put(0, 1).put(8, 17).finish();
  second.insert(second.end(), 8, 0);
  const auto two_packets = [&](const OneBlock& first) {
    return [=](Editor& e) {
      packet(first)(e);
      e.insert_in_part(0, e.part_end(0), second);
    };
  };
  check_plants(clean, {},
               {{"cleanup, and three passes more", two_packets({4, 1, 40, 0}), "ht-sets"}});
}

TEST_CASE("HT: magnitudes in cleanup passes are counted to the bit") {
  for (int bits = 9; bits <= 15; ++bits) {
    for (const auto& size : {std::pair{64, 64}, {61, 3}, {5, 33}, {1, 1}, {40, 17}}) {
      const int width = size.first, height = size.second;
      cj2k_params p = make_params(width, height, 1, 16);
      set(p, "is_signed", "1");
      set(p, "coder", "ht");
      set(p, "lossless", "1");
      set(p, "levels", "0");
      Picture picture = picture_shape(p);
      Random random(static_cast<uint64_t>(bits * 100 + width));
      const int32_t most = (1 << bits) - 1;
      for (int32_t& sample : picture.components[0].samples)
        sample = random.range(-most, most) >> random.range(0, bits);
      picture.components[0].samples.back() = random.chance(50) ? most : -(1 << (bits - 1));
      const Encoded result = encode(p, picture);
      REQUIRE(result.status == CJ2K_OK);
      CAPTURE(bits);
      CAPTURE(width);
      Editor editor(result.bytes);
      ccap(0x1F, static_cast<uint16_t>(bits - 8))(editor);
      CHECK_MESSAGE(!finds(editor.bytes, "ht-magnitudes"), findings(editor.bytes));
      CHECK(!finds(editor.bytes, "ht-cleanup"));
      ccap(0x1F, static_cast<uint16_t>(bits - 9))(editor);
      CHECK(finds(editor.bytes, "ht-magnitudes"));
    }
  }
}

TEST_CASE("HT: conformance streams of Part 15 break no rule") {
  const char* const media = std::getenv("CJ2K_TEST_MEDIA");
  for (const char* name :
       {"ds0_ht_01_b11", "ds0_ht_09_b11", "ds0_ht_12_b11", "ds1_ht_04_b9", "hifi_ht1_02"}) {
    const std::filesystem::path path =
        std::filesystem::path(media != nullptr ? media : "") / "conformance" / name;
    std::ifstream file(path.string() + ".j2k", std::ios::binary);
    if (!file) {
      MESSAGE("SKIPPED: there is no ", path.string(), ".j2k (CJ2K_TEST_MEDIA)");
      continue;
    }
    const std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(file)), {});
    CHECK_MESSAGE(cj2k_check::check_bytes(bytes, {}).report.findings().empty(), findings(bytes));
  }
}

/// By hand from the rules, so that the table of the library is not the judge.
constexpr Settings kImfSettings = {
    {"progression", "rpcl"},
    {"tile_parts", "resolution"},
    {"levels", "5"},
    {"guard_bits", "1"},
    {"frame_steps", "0"},
    {"quant_step", "16"},
    {"precincts", "256x256,256x256,256x256,256x256,256x256,128x128"}};

std::vector<Plant> imf_plants() {
  return {
      {"Rsiz", put(6, 2, 0x0412), "profile-rsiz"},
      {"Xsiz", put(8, 4, 9000), "profile-size"},
      {"XOsiz", put(16, 4, 2), "profile-origin"},
      {"XTsiz", put(24, 4, 100), "profile-tiles"},
      {"Csiz",
       [](Editor& e) {
         Body body = e.segment(kSiz);
         body.erase(body.begin(), body.begin() + 4);
         body[35] = 5;
         body.insert(body.end(), {body[36], 1, 1, body[36], 1, 1});
         e.set_body(kSiz, body);
       },
       "profile-components"},
      {"17 bits", put(42, 1, 16), "profile-depth"},
      {"7 bits", put(42, 1, 6), "profile-depth"},
      {"unlike depths", put(45, 1, 8), "profile-depth"},
      {"signed", put(42, 1, 0x89), "profile-signed"},
      {"YRsiz", put(47, 1, 2), "profile-sampling"},
      {"CPRL", cod(5, 4), "profile-progression"},
      {"layers", cod(7, 2), "profile-layers"},
      {"6 levels of a small picture", cod(9, 6), "profile-levels"},
      {"no levels", cod(9, 0), "profile-levels"},
      {"blocks of 32x128",
       [](Editor& e) {
         cod(10, 3)(e);
         cod(11, 5)(e);
       },
       "profile-blocks"},
      {"blocks of 16x64", cod(10, 2), "profile-blocks"},
      {"vertically causal", cod(12, 0x48), "profile-block-style"},
      {"code-blocks of Part 1", cod(12, 0), "profile-block-style"},
      {"precincts", cod(15, 0x78), "profile-precincts"},
      {"lowest precincts", cod(14, 0x88), "profile-precincts"},
      {"no TLM", [](Editor& e) { e.remove_segment(kTlm); }, "profile-tlm"},
      {"RGN", add(kRgn, {0, 0, 1}), "profile-marker"},
      {"PPM", add(kPpm, {0, 0, 0, 0, 0}), "profile-marker"},
      {"POC", add(kPoc, {0, 0, 0, 1, 6, 3, 2}), "profile-marker"},
      {"QCD in a tile-part", own_steps_in_tile, "profile-marker-place"},
      {"TNsot", [](Editor& e) { e.put(e.part(0) + 11, 1, 0); }, "profile-tnsot"},
      {"a part more in Pcap",
       [](Editor& e) {
         e.set_body(kCap, {0, 3, 0, 0, 0, 6, 0, 0});
       },
       "profile-pcap"},
      {"RGN allowed", ccap(0, 0x1000), "profile-ccap"},
      {"tile headers allowed", ccap(0, 0x0800), "profile-ccap"},
      {"HTDECLARED", ccap(0, 0x4000), "profile-ccap"},
      {"B of 74", ccap(0x1F, 31), "profile-magnitudes"},
  };
}

TEST_CASE("planted HT: IMF, APP2.HT.IRV") {
  const cj2k_params p = make_params(400, 300, 3, 10);
  std::vector<Plant> plants = imf_plants();
  plants.push_back({"5/3", cod(13, 1), "profile-transform"});
  plants.push_back({"HTREV", ccap(0x20, 0), "profile-ccap"});
  plants.push_back({"B above the table", ccap(0x1F, 6), "imf-magnitudes"});
  Editor table(encoded(p, kImfSettings, Content::kTexture));
  ccap(0x1F, 10 + 1 - 8)(table);
  const std::vector<uint8_t> clean = table.bytes;
  check_plants(clean, options_of("imf_ht"), plants);
  CHECK(finds(encoded(p, {{"progression", "rpcl"}}, Content::kTexture), "profile-tile-parts",
              "imf_ht"));
  // 4:4:4:4 is legal.
  cj2k_params four = make_params(400, 300, 4, 10);
  const std::vector<uint8_t> alpha = encoded(four, kImfSettings, Content::kTexture);
  CHECK_MESSAGE(cj2k_check::check_bytes(alpha, options_of("imf_ht")).report.errors() == 0,
                findings(alpha, options_of("imf_ht")));
}

TEST_CASE("planted HT: IMF, APP2.HT.REV") {
  cj2k_params p = make_params(400, 300, 3, 10);
  p.lossless = 1;
  std::vector<Plant> plants = imf_plants();
  plants.push_back({"9/7", cod(13, 0), "profile-transform"});
  plants.push_back({"HTIRV", ccap(0, 0x20), "profile-ccap"});
  plants.push_back({"another B", ccap(0x1F, 7), "profile-magnitudes"});
  Editor clean(encoded(p, kImfSettings, Content::kTexture));
  ccap(0x1F, 10 + 3 + 1 - 8)(clean);  // the table: 10 bits with a colour transform
  check_plants(clean.bytes, options_of("imf_ht_r"), plants);
}

TEST_CASE("HT: IMF profiles keep every magnitude within B, at any quality") {
  for (const int depth : {8, 10, 12, 16}) {
    for (const bool mct : {false, true}) {
      for (const Content content : {Content::kEdges, Content::kNoise, Content::kTexture}) {
        cj2k_params p = make_params(300, 200, 3, depth);
        set(p, "profile", "imf_ht");
        set(p, "quality", "0.02");
        set(p, "mct", mct ? "on" : "off");
        const Encoded result = encode(p, make_picture(p, content, 1));
        REQUIRE_MESSAGE(result.status == CJ2K_OK, result.log);
        CAPTURE(depth);
        CAPTURE(mct);
        CHECK(findings(result.bytes, options_of("imf_ht")) == "memory: 0 errors, 0 warnings\n");
      }
    }
  }
  // Without the profile, the same steps have larger magnitudes.
  cj2k_params p = make_params(300, 200, 3, 8);
  Editor without(encoded(p, {{"quality", "0.02"}}, Content::kEdges));
  ccap(0x1F, 8 + 1 - 8)(without);
  CHECK(finds(without.bytes, "ht-magnitudes"));
}

TEST_CASE("planted HT: DICOM") {
  const cj2k_params p = make_params(150, 90, 1, 12);
  const std::vector<uint8_t> lossless =
      encoded(p, {{"lossless", "1"}, {"progression", "rpcl"}, {"levels", "2"}}, Content::kTexture);
  check_plants(lossless, options_of("dicom_ht"),
               {{"Rsiz", put(6, 2, 0), "profile-rsiz"},
                {"code-blocks of Part 1", cod(12, 0), "profile-block-style"}});
  check_plants(lossless, options_of("dicom_ht_r"), {{"9/7", cod(13, 0), "profile-transform"}});
  check_plants(lossless, options_of("dicom_ht_rpcl"),
               {{"LRCP", cod(5, 0), "profile-progression"},
                {"no TLM", [](Editor& e) { e.remove_segment(kTlm); }, "profile-tlm"},
                {"levels", cod(9, 0), "profile-thumbnail"}});
  const std::vector<uint8_t> lossy =
      encoded(p, {{"wavelet", "5/3"}, {"target_bytes", "3000"}}, Content::kTexture);
  CHECK(finds(lossy, "profile-lossless", "dicom_ht_r"));
  CHECK(!finds(lossless, "profile-lossless", "dicom_ht_r"));
  CHECK(cj2k_check::check_bytes(lossy, options_of("dicom_ht")).report.errors() == 0);
}

TEST_CASE("HT: Rsiz of Part 15 names no profile, and is known") {
  const cj2k_params p = make_params(64, 48, 3, 8);
  const std::vector<uint8_t> bytes = encoded(p, {}, Content::kTexture);
  const cj2k_check::FileResult result = cj2k_check::check_bytes(bytes, {});
  CHECK_MESSAGE(result.report.findings().empty(), findings(bytes));
  CHECK(result.facts.profile == "none");
}

}  // namespace
}  // namespace cj2k::test
