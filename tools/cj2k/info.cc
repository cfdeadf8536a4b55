// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "info.h"

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "../check/check.h"
#include "failure.h"

namespace cj2k_tool {
namespace {

constexpr const char* kHelp = R"(usage: cj2k info [--json] FILE...

Says what JPEG 2000 files are: codestreams (.j2k, .j2c, .jhc), JP2 and JPH files, MXF files with
JPEG 2000; "-" is the standard input. It is what cj2k-check says, which also has profiles to check
against, but here a violation does not change the exit status.

    --json    JSON instead of text

EXIT STATUS
    0  all files are read    1  one of them is none of these, or cannot be read    2  wrong usage
)";

}  // namespace

int run_info(int argc, char** argv) {
  bool json = false, only_files = false;
  std::vector<std::string> files;
  for (int i = 0; i < argc; ++i) {
    const std::string argument = argv[i];
    if (only_files || argument == "-" || !argument.starts_with('-')) {
      files.push_back(argument);
    } else if (argument == "--") {
      only_files = true;
    } else if (argument == "--json") {
      json = true;
    } else if (argument == "--help" || argument == "-h") {
      std::fputs(kHelp, stdout);
      return kDone;
    } else {
      throw UsageError("info: unknown option " + argument + " (cj2k info --help)");
    }
  }
  if (files.empty()) throw UsageError("info: no file (cj2k info --help)");
  int status = kDone;
  std::vector<cj2k_check::FileResult> results;
  for (const std::string& file : files) {
    cj2k_check::SequenceState sequence;
    cj2k_check::FileResult result = cj2k_check::check_file(file, {}, sequence);
    if (result.error.empty() && result.facts.siz.components.empty())
      result.error = "is no JPEG 2000 file";
    if (!result.error.empty()) {
      status = kFailed;
      std::fprintf(stderr, "cj2k: %s: %s\n", file.c_str(), result.error.c_str());
    }
    if (json) {
      results.push_back(std::move(result));
    } else if (result.error.empty()) {
      std::fputs(cj2k_check::describe(result, false).c_str(), stdout);
    }
  }
  if (json) std::fputs(cj2k_check::describe_json(results).c_str(), stdout);
  return status;
}

}  // namespace cj2k_tool
