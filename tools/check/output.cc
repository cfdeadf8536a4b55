// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cstdio>

#include "check.h"

namespace cj2k_check {
namespace {

std::string text(uint64_t value) { return std::to_string(value); }

constexpr const char* kOrders[] = {"LRCP", "RLCP", "RPCL", "PCRL", "CPRL"};

std::string plural(uint64_t count, const char* what) {
  return text(count) + " " + what + (count == 1 ? "" : "s");
}

std::string describe_facts(const Facts& f) {
  const Siz& s = f.siz;
  std::string out = "  " + f.kind + ", " + plural(f.frames, "frame") + ", profile " + f.profile +
                    " (Rsiz " + hex(s.rsiz) + "), " + f.fps + " fps\n";
  if (s.components.empty() || !f.cod) return out;
  const SizComponent& c = s.components[0];
  out += "  " + text(s.x1 - s.x0) + "x" + text(s.y1 - s.y0) + ", " +
         plural(s.components.size(), "component") + " of " + text(c.depth()) + " bits, " +
         plural(uint64_t{s.tiles_across()} * s.tiles_down(), "tile") + " in " +
         plural(f.tile_parts, "tile-part") + ", " + plural(f.packets, "packet") + "\n";
  const CodingStyle& style = f.cod->style;
  out += std::string("  ") + (style.transform == 1 ? "5/3" : "9/7") + ", " +
         plural(style.levels, "level") + ", code-blocks " +
         text(uint64_t{1} << style.block_width_log2) + "x" +
         text(uint64_t{1} << style.block_height_log2) + " style " + hex(style.block_style, 2) +
         ", " + (f.cod->progression <= 4 ? kOrders[f.cod->progression] : "?") + ", " +
         plural(f.cod->layers, "layer") + ", MCT " + text(f.cod->mct) + ", " +
         plural(f.guard_bits, "guard bit") + "\n";
  if (f.pcap != 0) {
    out += "  CAP: Pcap " + hex(f.pcap, 8);
    for (const uint16_t ccap : f.ccap) out += ", Ccap " + hex(ccap);
    if ((style.block_style & kHighThroughput) != 0)
      out += f.refined_blocks > 0 ? ", with refinement passes" : ", cleanup passes alone";
    out += "\n";
  }
  if (f.across > 0 || !f.metadata.empty()) {
    std::string line;
    if (f.across > 0) {
      char resolution[80];
      std::snprintf(resolution, sizeof resolution, "%.6g x %.6g samples per inch",
                    f.across * 0.0254, f.down * 0.0254);
      line = resolution;
    }
    for (const std::string& box : f.metadata) line += (line.empty() ? "" : ", ") + box;
    out += "  " + line + "\n";
  }
  out += "  bytes per frame: " + text(f.smallest) + " to " + text(f.largest) + ", mean " +
         text(f.frames > 0 ? f.total / f.frames : 0) + "\n";
  return out;
}

const char* severity_name(Severity severity) {
  return severity == Severity::kError ? "error" : "warning";
}

std::string quote(const std::string& value) {
  std::string out = "\"";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7F) {  // file names may have any bytes
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", byte);
      out += escaped;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string finding_json(const Finding& f) {
  return "{\"severity\": " + quote(severity_name(f.severity)) + ", \"rule\": " + quote(f.rule) +
         ", \"clause\": " + quote(f.clause) + ", \"frame\": " + text(f.frame) +
         ", \"offset\": " + text(f.offset) + ", \"found\": " + quote(f.found) +
         ", \"allowed\": " + quote(f.allowed) + "}";
}

std::string resolution_json(const Facts& f) {
  if (f.across == 0) return "null";
  char out[80];
  std::snprintf(out, sizeof out, "[%.9g, %.9g]", f.across, f.down);
  return out;
}

std::string list_json(const std::vector<std::string>& values) {
  std::string out = "[";
  for (const std::string& value : values) out += (out.size() > 1 ? ", " : "") + quote(value);
  return out + "]";
}

std::string result_json(const FileResult& r) {
  const Facts& f = r.facts;
  std::string out =
      "  {\"file\": " + quote(r.path) +
      ",\n   \"unreadable\": " + (r.error.empty() ? "null" : quote(r.error)) +
      ",\n   \"kind\": " + quote(f.kind) + ", \"profile\": " + quote(f.profile) +
      ", \"rsiz\": " + text(f.siz.rsiz) + ", \"fps\": " + quote(f.fps) +
      ",\n   \"frames\": " + text(f.frames) + ", \"smallest_bytes\": " + text(f.smallest) +
      ", \"largest_bytes\": " + text(f.largest) + ", \"width\": " + text(f.siz.x1 - f.siz.x0) +
      ", \"height\": " + text(f.siz.y1 - f.siz.y0) +
      ", \"components\": " + text(f.siz.components.size()) + ", \"pcap\": " + text(f.pcap) +
      ", \"refined_blocks\": " + text(f.refined_blocks) +
      ",\n   \"samples_per_metre\": " + resolution_json(f) +
      ", \"metadata\": " + list_json(f.metadata) + ",\n   \"errors\": " + text(r.report.errors()) +
      ", \"warnings\": " + text(r.report.warnings()) + ",\n   \"counts\": {";
  const char* separator = "";
  for (const auto& [rule, count] : r.report.counts()) {
    out += separator + quote(rule) + ": " + text(count);
    separator = ", ";
  }
  out += "},\n   \"findings\": [";
  separator = "\n    ";
  for (const Finding& finding : r.report.findings()) {
    out += separator + finding_json(finding);
    separator = ",\n    ";
  }
  return out + "]}";
}

}  // namespace

std::string describe(const FileResult& result, bool quiet) {
  const Report& report = result.report;
  std::string out = result.path + ": ";
  if (!result.error.empty()) out += result.error + "; ";
  out += plural(report.errors(), "error") + ", " + plural(report.warnings(), "warning") + "\n";
  if (!quiet && result.facts.frames > 0) out += describe_facts(result.facts);
  for (const Finding& f : report.findings()) {
    out += std::string("  ") + severity_name(f.severity) + " " + f.rule + " [" + f.clause +
           "] frame " + text(f.frame) + ", offset " + text(f.offset) + ": " + f.found +
           "; allowed: " + f.allowed + "\n";
  }
  for (const auto& [rule, count] : report.counts()) {
    if (count > Report::kMostPerRule)
      out += "  " + rule + ": " + text(count - Report::kMostPerRule) + " more\n";
  }
  return out;
}

std::string describe_json(const std::vector<FileResult>& results) {
  std::string out = "{\"files\": [\n";
  for (size_t i = 0; i < results.size(); ++i)
    out += result_json(results[i]) + (i + 1 < results.size() ? ",\n" : "\n");
  return out + "]}\n";
}

}  // namespace cj2k_check
