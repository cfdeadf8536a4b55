// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// cj2k_transcode: from one block coder to the other and back, over random configurations. A codestream
// that is transcoded to the coder that it has already keeps its coefficients alone, in one layer. So
// the way through the other coder must end in the same bytes, and the bytes say all coefficients and how
// many of their planes are known. CJ2K_TRANSCODE_COUNT=n sets the number of configurations,
// CJ2K_RANDOM_SEED=n runs only that one.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cj2k_transcode.h"
#include "roundtrip/random_params.h"
#include "roundtrip/roundtrip.h"
#include "support/codestream.h"
#include "tools/check/check.h"

namespace cj2k::test {
namespace {

constexpr int kDefaultCount = 120;
constexpr int kPixelsEvery = 8;  ///< configurations for one whose pixels are compared

std::vector<uint8_t> transcode(cj2k_coder coder, const std::vector<uint8_t>& in, int threads = 1,
                               int layers = 0) {
  void* out = nullptr;
  size_t bytes = 0;
  const cj2k_status status =
      cj2k_transcode(coder, layers, 0, threads, in.data(), in.size(), &out, &bytes);
  INFO(std::string(cj2k_encoder_last_error(nullptr)));
  REQUIRE(status == CJ2K_OK);
  const auto* const data = static_cast<const uint8_t*>(out);
  std::vector<uint8_t> result(data, data + bytes);
  cj2k_free(out);
  return result;
}

/// @return empty: the headers alone take more than the cap
std::vector<uint8_t> recap(const std::vector<uint8_t>& in, size_t cap, int threads = 1) {
  void* out = nullptr;
  size_t bytes = 0;
  const auto most = static_cast<int64_t>(cap);
  const cj2k_status status =
      cj2k_transcode(CJ2K_CODER_AUTO, 0, most, threads, in.data(), in.size(), &out, &bytes);
  const std::string error = cj2k_encoder_last_error(nullptr);
  INFO(error);
  for (const char* what : {"the headers take", "the boxes take"}) {
    if (status == CJ2K_INVALID && error.find(what) != std::string::npos) return {};
  }
  REQUIRE(status == CJ2K_OK);
  const auto* const data = static_cast<const uint8_t*>(out);
  std::vector<uint8_t> result(data, data + bytes);
  cj2k_free(out);
  return result;
}

void check_rules(const std::vector<uint8_t>& bytes) {
  cj2k_check::Options options;
  options.profile = "none";
  const cj2k_check::FileResult result = cj2k_check::check_bytes(bytes, options);
  INFO(cj2k_check::describe(result, true));
  CHECK(result.error.empty());
  CHECK(result.report.errors() == 0);
}

/// Both ways through the other coder. A layer of HT has all of a code-block, so the way through HT comes back
/// to the same bytes when all layers become one.
/// @return with HT, and with EBCOT
std::pair<std::vector<uint8_t>, std::vector<uint8_t>> check_there_and_back(
    const std::vector<uint8_t>& bytes) {
  const std::vector<uint8_t> ht = transcode(CJ2K_CODER_HT, bytes);
  const std::vector<uint8_t> ebcot = transcode(CJ2K_CODER_EBCOT, bytes, 2);
  const std::vector<uint8_t> back = transcode(CJ2K_CODER_EBCOT, ht);
  CHECK(transcode(CJ2K_CODER_HT, ebcot, 3) == ht);
  CHECK(transcode(CJ2K_CODER_HT, back) == ht);
  CHECK(transcode(CJ2K_CODER_EBCOT, ebcot) == ebcot);
  const std::vector<uint8_t> one = transcode(CJ2K_CODER_EBCOT, bytes, 1, 1);
  CHECK(transcode(CJ2K_CODER_EBCOT, ebcot, 1, 1) == one);
  CHECK(transcode(CJ2K_CODER_EBCOT, back, 1, 1) == one);
  CHECK(transcode(CJ2K_CODER_EBCOT, transcode(CJ2K_CODER_HT, bytes, 1, 1)) == one);
  for (const std::vector<uint8_t>* stream : {&ht, &ebcot, &back, &one}) {
    check_rules(*stream);
    check_codestream(*stream);
  }
  return {ht, ebcot};
}

/// The decoder shows the same samples for all of them.
void check_pixels(Decoder decoder, cj2k_params p, const std::vector<uint8_t>& bytes,
                  const std::vector<uint8_t>& ht, const std::vector<uint8_t>& ebcot) {
  if (cannot_decode(decoder, p) != nullptr) return;
  const Decoded shown = decode(decoder, bytes, p);
  if (!shown.picture && known_refusal(decoder, shown.error) != nullptr) return;
  REQUIRE_MESSAGE(shown.picture, shown.error);
  for (const cj2k_coder coder : {CJ2K_CODER_HT, CJ2K_CODER_EBCOT}) {
    p.coder = coder;
    // Grok 10 and FFmpeg 5.1 do not read all of HT (docs/htj2k.md).
    if (coder == CJ2K_CODER_HT && decoder != Decoder::kOpenJpeg) continue;
    const Decoded again = decode(decoder, coder == CJ2K_CODER_HT ? ht : ebcot, p);
    if (!again.picture && known_refusal(decoder, again.error) != nullptr) continue;
    REQUIRE_MESSAGE(again.picture, again.error);
    CHECK_MESSAGE(max_difference(*shown.picture, *again.picture) == 0,
                  first_difference(*shown.picture, *again.picture));
  }
}

/// Under a part of the bytes, and under more than there are.
void check_recap(const std::vector<uint8_t>& bytes, const std::vector<uint8_t>& ebcot,
                 Random& random) {
  const size_t cap = bytes.size() * static_cast<size_t>(random.range(20, 100)) / 100;
  const std::vector<uint8_t> cut = recap(bytes, cap);
  if (!cut.empty()) {
    CHECK(cut.size() <= cap);
    CHECK(recap(bytes, cap, 3) == cut);
    check_rules(cut);
    check_codestream(cut);
    CHECK(transcode(CJ2K_CODER_EBCOT, transcode(CJ2K_CODER_HT, cut), 1, 1) ==
          transcode(CJ2K_CODER_EBCOT, cut, 1, 1));
  }
  CHECK(transcode(CJ2K_CODER_EBCOT, recap(bytes, 2 * ebcot.size())) == ebcot);
}

void choose_rate(cj2k_params& p, Random& random) {
  if (random.chance(30)) {
    p.lossless = 1;
    return;
  }
  p.wavelet = random.chance(60) ? CJ2K_WAVELET_97 : CJ2K_WAVELET_53;
  if (random.chance(30)) {
    p.quality = random.pick<double>({0.25, 1, 4});
    return;
  }
  p.target_bytes = picture_shape(p).raw_bits() / 8 / random.range(2, 20) + 4000;
}

/// @return false: the parameters are refused
bool check_random(int seed, bool has_decoder) {
  Random random(static_cast<uint64_t>(seed) + 7001);
  cj2k_params p = make_params(1, 1);
  choose_components(p, random);
  choose_grid(p, random);
  choose_coding(p, random);
  if (random.chance(40)) choose_ht(p);
  choose_rate(p, random);
  cj2k_encoder* encoder = nullptr;
  const cj2k_status status = cj2k_encoder_open(&p, &encoder);
  cj2k_encoder_close(encoder);
  if (status != CJ2K_OK) return false;
  const Picture picture = make_picture(p, random.pick(kAllContents), random.next());
  INFO("CJ2K_RANDOM_SEED=", seed, " parameters: ", describe(p));
  const Encoded encoded = encode(p, picture);
  REQUIRE_MESSAGE(encoded.status == CJ2K_OK, encoded.log);
  const auto both = check_there_and_back(encoded.bytes);
  if (p.num_roi == 0) check_recap(encoded.bytes, both.second, random);
  if (has_decoder && seed % kPixelsEvery == 0)
    check_pixels(Decoder::kOpenJpeg, p, encoded.bytes, both.first, both.second);
  return true;
}

}  // namespace

TEST_CASE("transcode: random configurations, there and back") {
  const bool has_decoder = use_decoder(Decoder::kOpenJpeg);
  const int only = from_environment("CJ2K_RANDOM_SEED", -1);
  const int count = from_environment("CJ2K_TRANSCODE_COUNT", kDefaultCount);
  int coded = 0, seed = std::max(only, 0);
  for (; only >= 0 ? seed == only : coded < count; ++seed) {
    if (check_random(seed, has_decoder)) ++coded;
    REQUIRE(seed < 3 * count + 200 + only);
  }
  MESSAGE(coded << " of " << seed << " configurations coded");
}

TEST_CASE("transcode: decoders show the same picture") {
  const std::vector<Decoder> decoders = {Decoder::kOpenJpeg, Decoder::kGrok, Decoder::kFfmpeg};
  for (const char* style : {"0", "bypass", "termall+reset+vsc", "vsc"}) {
    for (const bool is_lossless : {true, false}) {
      cj2k_params p = make_params(203, 147);
      set(p, "cblk_style", style);
      set(p, is_lossless ? "lossless" : "target_bytes", is_lossless ? "1" : "12000");
      set(p, "layers", "3");
      INFO("parameters: ", describe(p));
      const Picture picture = make_picture(p, Content::kTexture, 3);
      const Encoded encoded = encode(p, picture);
      REQUIRE(encoded.status == CJ2K_OK);
      const auto both = check_there_and_back(encoded.bytes);
      if (is_lossless && use_decoder(Decoder::kOpenJph)) {
        cj2k_params with_ht = p;
        with_ht.coder = CJ2K_CODER_HT;
        // OpenJPH 0.9 shows the first layer alone (docs/htj2k.md).
        const Decoded shown =
            decode(Decoder::kOpenJph, transcode(CJ2K_CODER_HT, encoded.bytes, 1, 1), with_ht);
        REQUIRE_MESSAGE(shown.picture, shown.error);
        CHECK(max_difference(picture, *shown.picture) == 0);
      }
      for (const Decoder decoder : decoders) {
        if (use_decoder(decoder)) check_pixels(decoder, p, encoded.bytes, both.first, both.second);
      }
    }
  }
}

/// With one step in QCD, from which those of all bands follow (T.800 A.6.4, E-5). Its exponents are as large
/// as before or larger, so the planes that are there go on to fit.
std::vector<uint8_t> with_derived_steps(std::vector<uint8_t> bytes) {
  const uint8_t qcd[] = {0xFF, 0x5C};
  const auto at = std::search(bytes.begin(), bytes.end(), std::begin(qcd), std::end(qcd));
  REQUIRE(at != bytes.end());
  const int count = (at[3] - 3) / 2;
  int exponent = 0;
  for (int b = 0; b < count; ++b)
    exponent = std::max(exponent, (at[5 + 2 * b] >> 3) + (b == 0 ? 0 : (b - 1) / 3));
  at[3] = 5;
  at[4] = static_cast<uint8_t>((at[4] & 0xE0) | 1);
  at[5] = static_cast<uint8_t>(exponent << 3 | 2);
  bytes.erase(at + 7, at + 5 + 2 * count);
  return bytes;
}

TEST_CASE("transcode: steps that are derived from one") {
  if (!use_decoder(Decoder::kOpenJpeg)) return;
  cj2k_params p = make_params(203, 147);
  set(p, "target_bytes", "20000");
  const Encoded encoded = encode(p, make_picture(p, Content::kTexture, 3));
  REQUIRE(encoded.status == CJ2K_OK);
  const std::vector<uint8_t> derived = with_derived_steps(encoded.bytes);
  CHECK(derived.size() == encoded.bytes.size() - 2 * 15);
  const auto both = check_there_and_back(derived);
  check_pixels(Decoder::kOpenJpeg, p, derived, both.first, both.second);
}

TEST_CASE("transcode: each layer shows what it showed") {
  if (!use_decoder(Decoder::kOpenJpeg)) return;
  for (const char* coder : {"ebcot", "ht"}) {
    for (const char* progression : {"lrcp", "rpcl"}) {
      for (const char* rate : {"lossless=1", "target_bytes=30000", "target_bytes=9000"}) {
        cj2k_params p = make_params(203, 147);
        set(p, "coder", coder);
        set(p, "progression", progression);
        set(p, "layers", "4");
        set(p, "cblk", "16x16");
        const std::string text = rate;
        set(p, text.substr(0, text.find('=')).c_str(), text.substr(text.find('=') + 1).c_str());
        const Picture picture = make_picture(p, Content::kTexture, 3);
        const std::vector<uint8_t> bytes = encode(p, picture).bytes;
        const std::vector<uint8_t> ebcot = transcode(CJ2K_CODER_EBCOT, bytes);
        const std::vector<uint8_t> ht = transcode(CJ2K_CODER_HT, bytes);
        const std::vector<uint8_t> cut = recap(bytes, bytes.size() * 8 / 10);
        const auto shown = [&](const std::vector<uint8_t>& stream, cj2k_coder of, int layer) {
          cj2k_params with = p;
          with.coder = of;
          const Decoded decoded = decode(Decoder::kOpenJpeg, stream, with, layer);
          REQUIRE_MESSAGE(decoded.picture, decoded.error);
          return *decoded.picture;
        };
        double least = 0;
        for (int layer = 1; layer <= p.layers; ++layer) {
          INFO("parameters: ", describe(p), ", layer ", layer);
          const Picture before = shown(bytes, p.coder, layer);
          const Picture after = shown(ebcot, CJ2K_CODER_EBCOT, layer);
          CHECK_MESSAGE(max_difference(before, after) == 0, first_difference(before, after));
          // More passes, whose samples may still be further from the middle of their intervals.
          CHECK(psnr(picture, shown(ht, CJ2K_CODER_HT, layer)) >= psnr(picture, before) - 0.001);
          const double of_cut = psnr(picture, shown(cut, CJ2K_CODER_EBCOT, layer));
          CHECK(of_cut >= least);
          // A few blocks end before the passes that the first layer had of them.
          if (layer == 1) CHECK(of_cut >= std::min(psnr(picture, before), 60.0) - 0.01);
          least = of_cut;
        }
        const Picture whole = shown(bytes, p.coder, 4);
        CHECK(max_difference(whole, shown(ht, CJ2K_CODER_HT, 4)) == 0);
        for (const std::vector<uint8_t>* stream : {&ebcot, &ht, &cut})
          CHECK(check_codestream(*stream).cod[3] == 4);
        CHECK(check_codestream(transcode(CJ2K_CODER_HT, bytes, 1, 1)).cod[3] == 1);
      }
    }
  }
}

TEST_CASE("transcode: with a cap as good as the source coded under it") {
  if (!use_decoder(Decoder::kOpenJpeg)) return;
  for (const char* bits : {"8", "12"}) {
    for (const Content content : {Content::kTexture, Content::kNoise}) {
      cj2k_params p = make_params(320, 240);
      set(p, "depth", bits);
      set(p, "cblk", "32x32");
      const Picture picture = make_picture(p, content, 3);
      const auto psnr_of = [&](const std::vector<uint8_t>& bytes) {
        const Decoded shown = decode(Decoder::kOpenJpeg, bytes, p);
        REQUIRE_MESSAGE(shown.picture, shown.error);
        return psnr(picture, *shown.picture);
      };
      set(p, "target_bytes", "15000");
      const std::vector<uint8_t> fresh = encode(p, picture).bytes;
      for (const char* before : {"18000", "25000", "40000", "100000"}) {
        set(p, "target_bytes", before);
        INFO("depth ", bits, ", ", before, " bytes before");
        const std::vector<uint8_t> cut = recap(encode(p, picture).bytes, 15000);
        CHECK(cut.size() <= 15000);
        CHECK(cut.size() > 14900);
        CHECK(psnr_of(cut) > psnr_of(fresh) - 0.1);
      }
    }
  }
}

TEST_CASE("transcode: every cap is used") {
  cj2k_params p = make_params(255, 129, 3, 8);
  set(p, "lossless", "1");
  const std::vector<uint8_t> bytes = encode(p, make_picture(p, Content::kTexture, 5)).bytes;
  constexpr size_t kCaps = 300;
  for (size_t i = kCaps / 10; i < kCaps; ++i) {
    const size_t cap = bytes.size() * i / kCaps;
    const size_t used = recap(bytes, cap).size();
    CAPTURE(cap);
    CHECK(used <= cap);
    CHECK(used >= cap * 9 / 10);  // a few blocks: a pass of one is hundreds of bytes
  }
}

TEST_CASE("transcode: a cap below the headers is refused, and HT has none") {
  cj2k_params p = make_params(150, 110);
  set(p, "lossless", "1");
  const std::vector<uint8_t> bytes = encode(p, make_picture(p, Content::kTexture, 5)).bytes;
  CHECK(recap(bytes, 60).empty());
  CHECK(!recap(bytes, 400).empty());
  void* out = nullptr;
  size_t count = 0;
  CHECK(cj2k_transcode(CJ2K_CODER_HT, 0, 400, 1, bytes.data(), bytes.size(), &out, &count) ==
        CJ2K_NOT_SUPPORTED);
  CHECK(cj2k_transcode(CJ2K_CODER_AUTO, 0, -1, 1, bytes.data(), bytes.size(), &out, &count) ==
        CJ2K_INVALID);
  set(p, "format", "jp2");
  const std::vector<uint8_t> file = encode(p, make_picture(p, Content::kTexture, 5)).bytes;
  const std::vector<uint8_t> cut = recap(file, 3000);
  CHECK(cut.size() <= 3000);
  CHECK(cut.size() > 2900);
  CHECK(std::equal(file.begin(), file.begin() + 70, cut.begin()));
  CHECK(recap(file, 80).empty());
}

TEST_CASE("transcode: what stays, and what does not") {
  cj2k_params p = make_params(150, 110);
  set(p, "tile", "64x64");
  set(p, "tile_parts", "resolution");
  set(p, "progression", "rpcl");
  set(p, "precincts", "32x32");
  set(p, "plt", "1");
  set(p, "sop", "1");
  set(p, "eph", "1");
  set(p, "comment", "kept");
  set(p, "profile", "none");
  set(p, "lossless", "1");
  const Encoded encoded = encode(p, make_picture(p, Content::kTexture, 5));
  REQUIRE(encoded.status == CJ2K_OK);
  const ParsedCodestream before = check_codestream(encoded.bytes);
  const std::vector<uint8_t> ht = transcode(CJ2K_CODER_HT, encoded.bytes);
  const ParsedCodestream after = check_codestream(ht);
  CHECK(after.cap.size() == 6);
  CHECK(after.tlm.size() == before.tlm.size());
  CHECK(after.comments == before.comments);
  CHECK(after.tile_parts.size() == before.tile_parts.size());
  for (size_t i = 0; i < before.tile_parts.size(); ++i) {
    CHECK(after.tile_parts[i].tile == before.tile_parts[i].tile);
    CHECK(after.tile_parts[i].plt.size() == before.tile_parts[i].plt.size());
  }
  // The way back gives the very codestream, which has one layer, no style and no profile.
  CHECK(transcode(CJ2K_CODER_EBCOT, ht) == encoded.bytes);
}

TEST_CASE("transcode: boxes stay but for the brand") {
  cj2k_params p = make_params(60, 50);
  set(p, "format", "jp2");
  set(p, "lossless", "1");
  const Encoded encoded = encode(p, make_picture(p, Content::kTexture, 5));
  REQUIRE(encoded.status == CJ2K_OK);
  const std::vector<uint8_t> ht = transcode(CJ2K_CODER_HT, encoded.bytes);
  CHECK(std::string(ht.begin() + 20, ht.begin() + 24) == "jph ");
  CHECK(std::string(ht.begin() + 28, ht.begin() + 32) == "jph ");
  check_rules(ht);
  CHECK(transcode(CJ2K_CODER_EBCOT, ht) == encoded.bytes);
  CHECK(transcode(CJ2K_CODER_AUTO, encoded.bytes) == ht);
  CHECK(transcode(CJ2K_CODER_AUTO, ht) == encoded.bytes);
}

TEST_CASE("transcode: what is damaged or not supported is refused by name") {
  cj2k_params p = make_params(150, 110);
  set(p, "lossless", "1");
  const Encoded encoded = encode(p, make_picture(p, Content::kTexture, 5));
  REQUIRE(encoded.status == CJ2K_OK);
  const auto refused = [](std::vector<uint8_t> bytes, cj2k_status status, const char* what) {
    void* out = nullptr;
    size_t count = 1;
    CHECK(cj2k_transcode(CJ2K_CODER_HT, 0, 0, 1, bytes.data(), bytes.size(), &out, &count) ==
          status);
    CHECK(out == nullptr);
    CHECK(count == 0);
    const std::string error = cj2k_encoder_last_error(nullptr);
    CHECK_MESSAGE(error.find(what) != std::string::npos, error);
  };
  const auto changed = [&](size_t at, uint8_t value) {
    std::vector<uint8_t> bytes = encoded.bytes;
    bytes[at] = value;
    return bytes;
  };
  std::vector<uint8_t> bytes = encoded.bytes;
  bytes.resize(bytes.size() / 2);
  refused(bytes, CJ2K_INVALID, "Psot");
  bytes.resize(30);
  refused(bytes, CJ2K_INVALID, "the end of the data");
  refused({1, 2, 3}, CJ2K_INVALID, "no SOC");
  refused(changed(6, 0x80), CJ2K_NOT_SUPPORTED, "Part 2");
  bytes = encoded.bytes;
  bytes.insert(bytes.end(), encoded.bytes.begin(), encoded.bytes.end());
  refused(bytes, CJ2K_INVALID, "bytes after EOC");
  cj2k_params region = p;
  set(region, "roi", "20,30,50,40");
  bytes = encode(region, make_picture(p, Content::kTexture, 5)).bytes;
  refused(bytes, CJ2K_NOT_SUPPORTED, "RGN");
  CHECK(transcode(CJ2K_CODER_EBCOT, bytes) == bytes);
  void* out = nullptr;
  size_t count = 0;
  CHECK(cj2k_transcode(CJ2K_CODER_HT, 2, 0, 1, bytes.data(), 9, &out, &count) == CJ2K_INVALID);
  CHECK(cj2k_transcode(2, 0, 0, 1, bytes.data(), 9, &out, &count) == CJ2K_INVALID);
  CHECK(cj2k_transcode(CJ2K_CODER_HT, 0, 0, -1, bytes.data(), 9, &out, &count) == CJ2K_INVALID);
  CHECK(cj2k_transcode(CJ2K_CODER_HT, 0, 0, 1, nullptr, 9, &out, &count) == CJ2K_INVALID);
  CHECK(cj2k_transcode(CJ2K_CODER_HT, 0, 0, 1, bytes.data(), 9, nullptr, &count) == CJ2K_INVALID);
  CHECK(cj2k_transcode(CJ2K_CODER_HT, 0, 0, 1, bytes.data(), 9, &out, nullptr) == CJ2K_INVALID);
  cj2k_free(nullptr);
}

TEST_CASE("transcode: random bytes of packets are refused, or stay what they are") {
  for (const char* coder : {"ebcot", "ht"}) {
    cj2k_params p = make_params(150, 110);
    set(p, "coder", coder);
    set(p, "target_bytes", "6000");
    set(p, "layers", "2");
    const Encoded encoded = encode(p, make_picture(p, Content::kTexture, 5));
    REQUIRE(encoded.status == CJ2K_OK);
    Random random(4);
    int taken = 0, errors = 0;
    for (int i = 0; i < 300; ++i) {
      std::vector<uint8_t> bytes = encoded.bytes;
      const auto last = static_cast<int32_t>(bytes.size()) - 1;
      bytes[static_cast<size_t>(random.range(0, last))] =
          static_cast<uint8_t>(random.range(0, 255));
      void* out = nullptr;
      size_t count = 0;
      if (cj2k_transcode(CJ2K_CODER_HT, 0, 0, 1, bytes.data(), bytes.size(), &out, &count) !=
          CJ2K_OK) {
        ++errors;
        continue;
      }
      const auto* const data = static_cast<const uint8_t*>(out);
      const std::vector<uint8_t> ht(data, data + count);
      cj2k_free(out);
      ++taken;
      CHECK(transcode(CJ2K_CODER_EBCOT, ht, 1, 1) == transcode(CJ2K_CODER_EBCOT, bytes, 1, 1));
    }
    CHECK(taken > 30);
    CHECK(errors > 10);
  }
}

}  // namespace cj2k::test
