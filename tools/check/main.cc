// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// cj2k-check: the command.
#include <charconv>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "check.h"

namespace cj2k_check {
namespace {

enum Exit { kClean = 0, kViolations = 1, kUnreadable = 2 };

constexpr const char* kUsage =
    "usage: cj2k-check [--profile NAME] [--fps RATE] [--rate 250|500] [--sequence]\n"
    "                  [--json] [--quiet] FILE...\n";

constexpr const char* kHelp =
    R"(NAME
    cj2k-check - checks JPEG 2000 codestreams against ITU-T T.800 and its profiles

SYNOPSIS
    cj2k-check [--profile NAME] [--fps RATE] [--rate 250|500] [--sequence]
               [--json] [--quiet] FILE...

DESCRIPTION
    Reads codestreams (.j2c, .j2k), JP2 files, and MXF files with frame-wrapped JPEG 2000, frame by
    frame; "-" is the standard input, and codestreams may follow each other. Parses all headers,
    tile-parts and packets down to the lengths of code-blocks, and lists every violation with its
    rule, the clause it comes from, the value that was found, what is allowed, the frame, and the
    offset in the file. Nothing is decoded, but for the cleanup passes of HT code-blocks that could
    exceed what CAP promises. Warnings are not violations.

    Of an MXF file the picture descriptor is read, too: with a profile of digital cinema it must not
    name colours that are not X'Y'Z'; with one of IMF a warning says what it leaves out.

    Clauses are those of T.800, and T.814 for HTJ2K. "Common cinema checkers" stands for what programs that verify DCPs
    demand beyond it.

OPTIONS
    --profile NAME   the profile to check against; default auto: the one that Rsiz names
                     none (T.800 without a profile), profile0, profile1, cinema2k, cinema4k,
                     imf_2k, imf_4k, imf_8k, imf_2k_r, imf_4k_r, imf_8k_r (_r: reversible),
                     broadcast_single, broadcast_multi, broadcast_multi_r; with HTJ2K, which
                     Rsiz does not tell apart: imf_ht, imf_ht_r, dicom_ht, dicom_ht_r, dicom_ht_rpcl
    --fps RATE       frame rate, 24 or 24000/1001, for caps and levels; default: from the MXF file,
                     else 24
    --rate MBIT      cap of cinema profiles in Mbit/s: 250 (default), or 500 for high frame rates
    --sequence       the files are the frames of one sequence: SIZ, COD and QCD must be equal
    --json           JSON instead of text
    --quiet          only files with findings, and without the facts about them
    --help           this text

EXIT STATUS
    0  no violation    1  violations    2  a file cannot be read, or wrong usage

EXAMPLES
    cj2k-check --profile cinema4k --fps 24 --sequence frames/*.j2c
    cj2k-check --fps 24000/1001 track.mxf
    ffmpeg -i in.mov -c:v j2k_cuda -f rawvideo - | cj2k-check --json -
)";

int usage(const std::string& message) {
  std::fprintf(stderr, "cj2k-check: %s\n%s", message.c_str(), kUsage);
  return kUnreadable;
}

bool parse_number(const char*& at, const char* end, uint64_t& value) {
  const auto [next, status] = std::from_chars(at, end, value);
  at = next;
  return status == std::errc() && value > 0 && value <= 1000000000;
}

bool parse_rate(const std::string& text, FrameRate& rate) {
  const char *at = text.data(), *end = at + text.size();
  rate.denominator = 1;
  if (!parse_number(at, end, rate.numerator)) return false;
  if (at == end) return true;
  return *at++ == '/' && parse_number(at, end, rate.denominator) && at == end;
}

struct Arguments {
  Options options;
  std::vector<std::string> files;
  bool json = false, quiet = false, help = false;
};

/// @return what is wrong with an option that has a value, or ""
std::string set_value(Options& options, const std::string& name, const std::string& value) {
  if (name == "--profile") {
    options.profile = value;
    if (value == "auto" || find_profile(value) != nullptr) return "";
    return "--profile " + value + " is not one of auto|" + profile_names();
  }
  if (name == "--fps") {
    FrameRate rate;
    if (!parse_rate(value, rate))
      return "--fps " + value + " must be a rate, e.g. 24 or 24000/1001";
    options.fps = rate;
    return "";
  }
  if (value != "250" && value != "500") return "--rate " + value + " is not 250 or 500";
  options.cinema_megabits = value == "250" ? 250 : 500;
  return "";
}

/// @return what is wrong, or ""
std::string parse_arguments(int argc, char** argv, Arguments& out) {
  bool only_files = false;
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    if (only_files || name == "-" || name.rfind("--", 0) != 0) {
      if (!only_files && name.size() > 1 && name[0] == '-') return "unknown option " + name;
      out.files.push_back(name);
      continue;
    }
    if (name == "--") {
      only_files = true;
    } else if (name == "--json") {
      out.json = true;
    } else if (name == "--quiet") {
      out.quiet = true;
    } else if (name == "--sequence") {
      out.options.sequence = true;
    } else if (name == "--help") {
      out.help = true;
    } else {
      std::string value;
      const size_t equals = name.find('=');
      const bool attached = equals != std::string::npos;
      if (attached) {
        value = name.substr(equals + 1);
        name.resize(equals);
      }
      if (name != "--profile" && name != "--fps" && name != "--rate")
        return "unknown option " + name;
      if (!attached && ++i == argc) return name + " needs a value";
      if (!attached) value = argv[i];
      const std::string wrong = set_value(out.options, name, value);
      if (!wrong.empty()) return wrong;
    }
  }
  return out.files.empty() && !out.help ? "no file" : "";
}

int run(int argc, char** argv) {
  Arguments arguments;
  const std::string wrong = parse_arguments(argc, argv, arguments);
  if (!wrong.empty()) return usage(wrong);
  if (arguments.help) {
    std::fputs(kHelp, stdout);
    return kClean;
  }
  int status = kClean;
  SequenceState sequence;
  std::vector<FileResult> results;
  for (const std::string& file : arguments.files) {
    FileResult result = check_file(file, arguments.options, sequence);
    const bool clean = result.report.errors() == 0;
    if (!clean && status == kClean) status = kViolations;
    if (!result.error.empty()) status = kUnreadable;
    const bool silent = arguments.quiet && result.report.findings().empty() && result.error.empty();
    if (arguments.json) {
      results.push_back(std::move(result));
    } else if (!silent) {
      std::fputs(describe(result, arguments.quiet).c_str(), stdout);
    }
  }
  if (arguments.json) std::fputs(describe_json(results).c_str(), stdout);
  return status;
}

}  // namespace
}  // namespace cj2k_check

int main(int argc, char** argv) {
  try {
    return cj2k_check::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cj2k-check: %s\n", error.what());
    return cj2k_check::kUnreadable;
  }
}
