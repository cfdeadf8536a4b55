// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "check.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "ht.h"

namespace cj2k_check {
namespace {

std::string text(uint64_t value) { return std::to_string(value); }

/// SIZ, COD, COC, QCD, QCC of all frames are those of the first.
void check_sequence(const Codestream& cs, SequenceState& sequence, Report& report) {
  struct Rule {
    uint16_t code;
    const char* name;
  };
  constexpr Rule rules[] = {{kSiz, "sequence-siz"},
                            {kCod, "sequence-cod"},
                            {kCoc, "sequence-coc"},
                            {kQcd, "sequence-qcd"},
                            {kQcc, "sequence-qcc"}};
  const bool first = sequence.empty();
  for (const Rule& rule : rules) {
    std::vector<uint8_t> bytes;
    size_t offset = 0;
    for (const MarkerSegment& m : cs.main_markers) {
      if (m.code != rule.code) continue;
      if (offset == 0) offset = m.offset;
      const Bytes segment = cs.bytes.subspan(m.offset, m.bytes);
      bytes.insert(bytes.end(), segment.begin(), segment.end());
    }
    if (first) {
      sequence[rule.code] = bytes;
    } else if (sequence[rule.code] != bytes) {
      report.error(rule.name, "SMPTE ST 422, common wrappers", offset,
                   marker_name(rule.code) + " unlike that of the first frame",
                   "the same in all frames");
    }
  }
}

void check_image_header(const ImageHeader& h, const Codestream& cs, const Frame& frame,
                        Report& report) {
  const Siz& s = cs.siz;
  if (s.components.empty()) return;
  // Offsets in the report are relative to the codestream.
  const uint64_t at = h.offset - frame.offset;
  if (h.width != s.x1 - s.x0 || h.height != s.y1 - s.y0)
    report.error("jp2-ihdr-size", "T.800 I.5.3.1", at, text(h.width) + "x" + text(h.height),
                 text(s.x1 - s.x0) + "x" + text(s.y1 - s.y0) + " as in SIZ");
  if (h.components != s.components.size())
    report.error("jp2-ihdr-components", "T.800 I.5.3.1", at, text(h.components),
                 text(s.components.size()) + " as in SIZ");
  const uint8_t first = s.components[0].ssiz;
  const bool alike = std::all_of(s.components.begin(), s.components.end(),
                                 [&](const SizComponent& c) { return c.ssiz == first; });
  if (h.depth != (alike ? first : 255))
    report.error("jp2-ihdr-depth", "T.800 I.5.3.1", at, hex(h.depth, 2),
                 hex(alike ? first : 255, 2) + " as in SIZ");
}

/// What MXF says of colour against what the profile is. Digital cinema is X'Y'Z'; nothing said is
/// nothing wrong, as common wrappers of it leave the labels out.
void check_colour(const PictureColour& said, const Profile& profile, Report& report) {
  // The labels of DCDM, and of cinema mezzanine with the same primaries.
  constexpr uint8_t kDcdmPrimaries = 0x05, kMezzaninePrimaries = 0x08, kDcdmTransfer = 0x07;
  const auto fail = [&](const std::string& found) {
    report.error("mxf-colour", "SMPTE ST 428-1", said.offset, found, "X'Y'Z'");
  };
  if (profile.rate == Rate::kCinema) {
    if (said.ycbcr) fail("Y'CbCr (a CDCI descriptor)");
    if (!said.components.empty() && said.components != "XYZ") fail("components " + said.components);
    if (said.primaries != 0 && said.primaries != kDcdmPrimaries &&
        said.primaries != kMezzaninePrimaries)
      fail("primaries of label 04.01.01.01.03." + hex(said.primaries, 2).substr(2));
    if (said.transfer != 0 && said.transfer != kDcdmTransfer)
      fail("transfer of label 04.01.01.01.01." + hex(said.transfer, 2).substr(2));
  }
  const bool imf = profile.rate == Rate::kImf || profile.part_15 == PartFifteen::kImf;
  if (imf && (said.primaries == 0 || said.transfer == 0 || (said.ycbcr && said.matrix == 0)))
    report.warning("mxf-colour", "SMPTE ST 2067-21, common IMF validators", said.offset,
                   std::string("no") + (said.primaries == 0 ? " primaries" : "") +
                       (said.transfer == 0 ? " transfer" : "") +
                       (said.ycbcr && said.matrix == 0 ? " matrix" : ""),
                   "all of them");
}

void note_facts(const Codestream& cs, const Profile& profile, Facts& facts) {
  facts.largest = std::max<uint64_t>(facts.largest, cs.size);
  facts.smallest = facts.frames == 0 ? cs.size : std::min<uint64_t>(facts.smallest, cs.size);
  facts.total += cs.size;
  for (const TilePart& part : cs.parts) facts.refined_blocks += part.refined_blocks;
  if (facts.frames++ > 0) return;
  facts.profile = profile.name;
  facts.siz = cs.siz;
  facts.cod = cs.main.cod;
  if (cs.main.qcd) facts.guard_bits = cs.main.qcd->guard_bits;
  facts.tile_parts = cs.parts.size();
  for (const TilePart& part : cs.parts) facts.packets += part.num_packets;
  facts.pcap = cs.pcap;
  facts.ccap = cs.ccap;
}

void check_frame(const Frame& frame, const FrameSource& source, const Options& options,
                 SequenceState& sequence, FileResult& result) {
  Report& report = result.report;
  report.set_frame(result.facts.frames, frame.offset);
  const uint64_t errors = report.errors();
  Codestream cs = parse_codestream(frame.bytes, report);
  check_capabilities(cs, report);
  check_packets(cs, options.limits, report);
  const Profile* profile =
      options.profile == "auto" ? profile_of(cs.siz.rsiz) : find_profile(options.profile);
  if (profile == nullptr) {
    report.warning("rsiz-unknown", "T.800 Table A.10", cs.siz.offset + 4, hex(cs.siz.rsiz),
                   "a profile that is checked: " + profile_names());
    profile = find_profile("none");
  }
  FrameRate fps = options.fps ? *options.fps : source.fps ? *source.fps : FrameRate{};
  fps.numerator *= source.fields;
  check_profile(*profile, {fps, options.cinema_megabits}, cs, report);
  if (source.image_header && cs.usable) check_image_header(*source.image_header, cs, frame, report);
  result.facts.fps = fps.text() + (source.fields > 1 ? " (fields)" : "") +
                     (options.fps || source.fps ? "" : " (assumed)");
  note_facts(cs, *profile, result.facts);
  // The main header of a frame that cannot be read would break rules over and over.
  if (cs.usable || report.errors() == errors) check_sequence(cs, sequence, report);
  if (source.colour && result.facts.frames == 1) {
    report.set_frame(0, 0);  // its offset is that in the file
    check_colour(*source.colour, *profile, report);
  }
}

FileResult check_input(const std::string& path, std::unique_ptr<Input> input,
                       const Options& options, SequenceState& sequence) {
  FileResult result;
  result.path = path;
  const std::unique_ptr<FrameSource> source = make_source(std::move(input));
  result.facts.kind = source->kind();
  Frame frame;
  for (;;) {
    result.report.set_frame(result.facts.frames, 0);
    if (!source->next(frame, result.report)) break;
    result.facts.across = source->across;
    result.facts.down = source->down;
    result.facts.metadata = source->metadata;
    check_frame(frame, *source, options, sequence, result);
  }
  result.error = source->error;
  if (result.error.empty() && result.facts.frames == 0 && result.report.errors() == 0)
    result.error = "is empty";
  return result;
}

}  // namespace

FileResult check_file(const std::string& path, const Options& options, SequenceState& sequence) {
  if (!options.sequence) sequence.clear();
  std::unique_ptr<Input> input = Input::open(path);
  if (input != nullptr) return check_input(path, std::move(input), options, sequence);
  FileResult result;
  result.path = path;
  result.error = std::strerror(errno);
  return result;
}

FileResult check_bytes(Bytes bytes, const Options& options) {
  SequenceState sequence;
  return check_input("memory", Input::over(bytes), options, sequence);
}

}  // namespace cj2k_check
