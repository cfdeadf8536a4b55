// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// cj2k-check on JP2 and MXF files, sequences and damaged files; the command and its exit status.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>

#include "conformance/editor.h"
#include "support/encode.h"
#include "support/image_io.h"
#include "support/process.h"

namespace cj2k::test {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr uint16_t kCod = 0xFF52, kQcd = 0xFF5C;

Bytes encoded(const char* format = "j2k", uint64_t seed = 1) {
  cj2k_params p = make_params(60, 45, 3, 8);
  p.lossless = 1;
  set(p, "format", format);
  set(p, "resolution_x", "11811");
  const Encoded result = encode(p, make_picture(p, Content::kTexture, seed));
  REQUIRE_MESSAGE(result.status == CJ2K_OK, result.log);
  return result.bytes;
}

void append(Bytes& out, const Bytes& more) { out.insert(out.end(), more.begin(), more.end()); }

/// Key, BER length of four bytes, value.
void append_klv(Bytes& out, const Bytes& key_end, const Bytes& value, const Bytes& key_begin) {
  append(out, key_begin);
  append(out, key_end);
  const size_t n = value.size();
  append(out, {0x83, static_cast<uint8_t>(n >> 16), static_cast<uint8_t>(n >> 8),
               static_cast<uint8_t>(n)});
  append(out, value);
}

const Bytes kElementKey = {0x06, 0x0E, 0x2B, 0x34, 0x01, 0x02, 0x01, 0x01};
const Bytes kSetKey = {0x06, 0x0E, 0x2B, 0x34, 0x02, 0x53, 0x01, 0x01};
const Bytes kPictureEnd = {0x0D, 0x01, 0x03, 0x01, 0x15, 0x01, 0x08, 0x01};
const Bytes kDescriptorEnd = {0x0D, 0x01, 0x01, 0x01, 0x01, 0x01, 0x29, 0x00};
constexpr size_t kKlvHeader = 20;

/// What the checker looks at in an MXF file: a descriptor of `kind` (default RGBA) with a frame rate of
/// 48 and `items`, and frames.
Bytes mxf(const std::vector<Bytes>& frames, const Bytes& items = {}, uint8_t kind = 0x29) {
  Bytes out, key = kDescriptorEnd, set = {0x30, 0x01, 0, 8, 0, 0, 0, 48, 0, 0, 0, 1};
  key[6] = kind;
  append(set, items);
  append_klv(out, key, set, kSetKey);
  for (const Bytes& frame : frames) append_klv(out, kPictureEnd, frame, kElementKey);
  return out;
}

size_t find(const Bytes& in, const char* word) {
  const std::string text(word);
  const auto at = std::search(in.begin(), in.end(), text.begin(), text.end());
  REQUIRE(at != in.end());
  return static_cast<size_t>(at - in.begin());
}

TEST_CASE("JP2 files: planted faults of the boxes") {
  const Bytes clean = encoded("jp2");
  check_plants(
      clean, {},
      {{"ftyp", [](Editor& e) { e.put(find(e.bytes, "ftyp") + 12, 1, 'x'); }, "jp2-ftyp"},
       {"ftyp is not second",
        [](Editor& e) {
          e.insert(12, {0, 0, 0, 8, 'f', 'r', 'e', 'e'});
        },
        "jp2-ftyp"},
       {"height", [](Editor& e) { e.put(find(e.bytes, "ihdr") + 4, 4, 46); }, "jp2-ihdr-size"},
       {"width", [](Editor& e) { e.put(find(e.bytes, "ihdr") + 8, 4, 61); }, "jp2-ihdr-size"},
       {"NC", [](Editor& e) { e.put(find(e.bytes, "ihdr") + 12, 2, 4); }, "jp2-ihdr-components"},
       {"BPC", [](Editor& e) { e.put(find(e.bytes, "ihdr") + 14, 1, 8); }, "jp2-ihdr-depth"},
       {"no ihdr", [](Editor& e) { e.put(find(e.bytes, "ihdr"), 1, 'x'); }, "jp2-ihdr"},
       {"no colr", [](Editor& e) { e.put(find(e.bytes, "colr"), 1, 'x'); }, "jp2-colr"},
       {"res: no resc", [](Editor& e) { e.put(find(e.bytes, "resc"), 1, 'x'); }, "jp2-res"},
       {"res: 1 / 0", [](Editor& e) { e.put(find(e.bytes, "resc") + 6, 2, 0); }, "jp2-res"},
       {"res: 0 / 1", [](Editor& e) { e.put(find(e.bytes, "resc") + 8, 2, 0); }, "jp2-res"},
       {"no jp2h", [](Editor& e) { e.put(find(e.bytes, "jp2h"), 1, 'x'); }, "jp2-jp2h"},
       {"length of a box", [](Editor& e) { e.put(find(e.bytes, "ftyp") - 4, 4, 3); }, "jp2-box"},
       {"length of jp2c", [](Editor& e) { e.put(find(e.bytes, "jp2c") - 4, 4, e.bytes.size()); },
        "jp2-box"},
       {"the codestream in it", [](Editor& e) { e.put(find(e.bytes, "jp2c") + 4 + 40, 2, 0); },
        "siz-components"}});
}

TEST_CASE("MXF files: every frame, the rate of the file, sequences, planted faults") {
  const Bytes first = encoded("j2k", 1), second = encoded("j2k", 2);
  const Bytes file = mxf({first, second, first});
  const cj2k_check::FileResult result = cj2k_check::check_bytes(file, {});
  CHECK_MESSAGE(result.report.errors() == 0, findings(file));
  CHECK(result.facts.frames == 3);
  CHECK(result.facts.kind == "MXF");
  CHECK(result.facts.fps == "48");
  const size_t last = file.size() - first.size();
  const auto in_last = [&](Editor& e, const std::function<void(Editor&)>& change) {
    Editor frame(Bytes(e.bytes.begin() + static_cast<ptrdiff_t>(last), e.bytes.end()));
    change(frame);
    REQUIRE(frame.bytes.size() == first.size());
    std::copy(frame.bytes.begin(), frame.bytes.end(),
              e.bytes.begin() + static_cast<ptrdiff_t>(last));
  };
  check_plants(
      file, {},
      {{"indefinite length", [&](Editor& e) { e.put(last - 4, 1, 0x80); }, "mxf-length"},
       {"key", [&](Editor& e) { e.put(last - kKlvHeader, 1, 7); }, "mxf-klv"},
       {"end of the file", [](Editor& e) { e.bytes.pop_back(); }, "mxf-truncated"},
       {"QCD of the last frame",
        [&](Editor& e) {
          in_last(e, [](Editor& f) {
            const size_t at = f.main_marker(kQcd) + 5;
            f.put(at, 1, f.get(at, 1) + 8);
          });
        },
        "sequence-qcd"},
       {"COD of the last frame",
        [&](Editor& e) { in_last(e, [](Editor& f) { f.put(f.main_marker(kCod) + 8, 1, 0); }); },
        "sequence-cod"},
       {"Rsiz of the last frame", [&](Editor& e) { in_last(e, [](Editor& f) { f.put(6, 2, 2); }); },
        "sequence-siz"}});
  CHECK(cj2k_check::check_bytes(mxf({}), {}).error.find("without") != std::string::npos);
  Bytes clip = mxf({first});
  clip[clip.size() - first.size() - 6] = 0x09;
  CHECK(cj2k_check::check_bytes(clip, {}).error.find("clip-wrapped") != std::string::npos);
}

/// A label as an item: primaries 0x3219, transfer 0x3210, matrix 0x321A.
Bytes label(uint8_t tag, uint8_t group, uint8_t value) {
  return {0x32, tag,  0,    16,   0x06, 0x0E, 0x2B,  0x34,  0x04, 0x01,
          0x01, 0x0D, 0x04, 0x01, 0x01, 0x01, group, value, 0,    0};
}

/// The layout of three components as an item.
Bytes layout(const Bytes& kinds) {
  Bytes item = {0x34, 0x01, 0, 16};
  for (uint8_t kind : kinds) append(item, {kind, 12});
  item.resize(20);
  return item;
}

Bytes joined(Bytes first, const Bytes& second) {
  append(first, second);
  return first;
}

TEST_CASE("MXF files: what the picture descriptor says of colour, against the profile") {
  constexpr uint8_t kRgba = 0x29, kCdci = 0x28;
  const Bytes frame = encoded();
  const Bytes xyz = joined(label(0x19, 3, 5), label(0x10, 1, 7)), rec709 = label(0x19, 3, 3);
  const Bytes named = joined(rec709, label(0x10, 1, 2));
  const auto finds = [&](const char* profile, const Bytes& items, uint8_t kind) {
    cj2k_check::Options options;
    options.profile = profile;
    const cj2k_check::FileResult result =
        cj2k_check::check_bytes(mxf({frame, frame}, items, kind), options);
    int found = 0;
    for (const cj2k_check::Finding& f : result.report.findings()) {
      if (f.rule != "mxf-colour") continue;
      CHECK(f.offset == kKlvHeader);
      found += f.severity == cj2k_check::Severity::kError ? 10 : 1;
    }
    return found;
  };
  for (const char* cinema : {"cinema2k", "cinema4k"}) {
    CHECK(finds(cinema, {}, kRgba) == 0);
    CHECK(finds(cinema, layout({}), kRgba) == 0);
    CHECK(finds(cinema, joined(xyz, layout({0xD8, 0xD9, 0xDA})), kRgba) == 0);
    CHECK(finds(cinema, layout({'R', 'G', 'B'}), kRgba) == 10);
    CHECK(finds(cinema, rec709, kRgba) == 10);
    CHECK(finds(cinema, label(0x10, 1, 2), kRgba) == 10);
    CHECK(finds(cinema, {}, kCdci) == 10);
  }
  for (const char* imf : {"imf_2k", "imf_ht_r"}) {
    CHECK(finds(imf, {}, kRgba) == 1);
    CHECK(finds(imf, rec709, kRgba) == 1);
    CHECK(finds(imf, named, kRgba) == 0);
    CHECK(finds(imf, named, kCdci) == 1);
    CHECK(finds(imf, joined(named, label(0x1A, 2, 2)), kCdci) == 0);
  }
  CHECK(finds("none", {}, kCdci) == 0);
}

TEST_CASE("MXF files: two fields in each element are two pictures at twice the rate") {
  const Bytes field = encoded("j2k", 1), other = encoded("j2k", 2);
  Bytes both = field, broken = field;
  append(both, other);
  append(broken, other);
  Editor editor(broken);
  editor.put(field.size() + 40, 2, 0);  // Csiz of the second field
  const Bytes file = mxf({both, both});
  cj2k_check::FileResult result = cj2k_check::check_bytes(file, {});
  CHECK_MESSAGE(result.report.errors() == 0, findings(file));
  CHECK(result.facts.frames == 4);
  CHECK(result.facts.fps == "96 (fields)");
  CHECK(findings(mxf({both, editor.bytes})).find("siz-components") != std::string::npos);
  CHECK(findings(mxf({both, field})).find("mxf-fields") != std::string::npos);
  CHECK(findings(mxf({field, both})).find("mxf-fields") != std::string::npos);
  cj2k_check::Options options;
  options.fps = cj2k_check::FrameRate{25, 1};
  result = cj2k_check::check_bytes(file, options);
  CHECK(result.facts.fps == "50 (fields)");
}

TEST_CASE("damaged files of every kind: findings, never more") {
  cj2k_check::Options options;
  options.limits.most_steps = 1 << 20;
  options.limits.most_blocks = 1 << 16;
  const std::vector<Bytes> starts = {encoded(), encoded("jp2"), mxf({encoded(), encoded()})};
  Random random(7);
  uint64_t errors = 0;
  for (int round = 0; round < 3000; ++round) {
    Bytes bytes = random.pick(starts);
    const int changes = random.range(1, 6);
    for (int i = 0; i < changes; ++i) {
      // Mostly in the headers.
      const int32_t end = static_cast<int32_t>(
          random.chance(70) ? std::min<size_t>(bytes.size(), 250) : bytes.size());
      const auto at = static_cast<size_t>(random.range(0, end - 1));
      if (random.chance(10)) {
        bytes.resize(at + 1);
      } else {
        bytes[at] = static_cast<uint8_t>(random.chance(30) ? random.range(0, 3) * 85
                                                           : random.range(0, 255));
      }
    }
    const cj2k_check::FileResult result = cj2k_check::check_bytes(bytes, options);
    errors += result.report.errors();
    CHECK(!cj2k_check::describe(result, false).empty());
  }
  CHECK(errors > 3000);
}

TEST_CASE("work and memory are bounded") {
  // 65535 layers of 4x4 code-blocks of a picture of 2^31 samples a side, in a few hundred bytes.
  Editor e(encoded());
  e.put(8, 4, 0x7FFFFFFF);
  e.put(12, 4, 0x7FFFFFFF);
  e.put(24, 4, 0x7FFFFFFF);
  e.put(28, 4, 0x7FFFFFFF);
  e.put(e.main_marker(kCod) + 6, 2, 65535);
  e.put(e.main_marker(kCod) + 10, 2, 0);
  const cj2k_check::FileResult result = cj2k_check::check_bytes(e.bytes, {});
  CHECK_MESSAGE(result.report.has("limit"), cj2k_check::describe(result, true));
}

std::string checker() { return CJ2K_CHECK_PROGRAM; }

TEST_CASE("the command: exit status, text, JSON, pipes, sequences") {
  const TempDir folder;
  const Bytes clean = encoded();
  Editor other(clean);
  other.put(other.main_marker(kCod) + 8, 1, 2);
  const auto write = [&](const char* name, const Bytes& bytes) {
    write_file(folder / name, bytes);
    return (folder / name).string();
  };
  const std::string good = write("good.j2c", clean), bad = write("bad.j2c", other.bytes);
  Bytes both = clean;
  append(both, clean);
  const std::string pair = write("pair.j2c", both), empty = write("empty.j2c", {});

  const ProcessResult fine = run_process({checker(), good});
  CHECK(fine.exit_code == 0);
  CHECK(fine.output.find("60x45, 3 components of 8 bits") != std::string::npos);
  const ProcessResult quiet = run_process({checker(), "--quiet", good});
  CHECK(quiet.output == "");
  const ProcessResult wrong = run_process({checker(), good, bad});
  CHECK(wrong.exit_code == 1);
  CHECK(wrong.output.find("error cod-mct [T.800 Table A.17] frame 0, offset ") !=
        std::string::npos);
  const ProcessResult json = run_process({checker(), "--json", bad});
  CHECK(json.output.find("\"rule\": \"cod-mct\"") != std::string::npos);
  if (have_program("python3")) {
    const ProcessResult parsed = run_process(
        {"sh", "-c", checker() + " --json " + good + " " + bad + " | python3 -m json.tool"});
    CHECK_MESSAGE(parsed.exit_code == 0, parsed.output);
  }
  const ProcessResult pipe =
      run_process({"sh", "-c", "cat " + good + " " + good + " | " + checker() + " -"});
  CHECK(pipe.exit_code == 0);
  CHECK(pipe.output.find("2 frames") != std::string::npos);
  CHECK(run_process({checker(), pair}).output.find("2 frames") != std::string::npos);

  Editor steps(clean);
  const size_t at = steps.main_marker(kQcd) + 5;
  steps.put(at, 1, steps.get(at, 1) + 8);
  const std::string next = write("next.j2c", steps.bytes);
  CHECK(run_process({checker(), good, next}).exit_code == 0);
  const ProcessResult sequence = run_process({checker(), "--sequence", good, next});
  CHECK(sequence.exit_code == 1);
  CHECK(sequence.output.find("sequence-qcd") != std::string::npos);

  CHECK(run_process({checker(), "--help"}).output.find("EXIT STATUS") != std::string::npos);
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{},
                                             {"--profile", "cinema8k", good},
                                             {"--fps", "0", good},
                                             {"--fps", "24/", good},
                                             {"--rate", "300", good},
                                             {"--fast", good},
                                             {"-j", good},
                                             {good, "--profile"},
                                             {empty},
                                             {(folder / "none.j2c").string()}}) {
    std::vector<std::string> command = {checker()};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const ProcessResult result = run_process(command);
    CAPTURE(arguments.size());
    CHECK_MESSAGE(result.exit_code == 2, result.output);
    CHECK(!result.output.empty());
  }
}

}  // namespace
}  // namespace cj2k::test
