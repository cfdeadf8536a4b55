// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "info.h"

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "../check/check.h"
#include "command.h"
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
  bool json = false;
  const CommandLine line =
      parse_command("info", argc, argv, {"--json"},
                    [&json](const std::string&, const std::string&) { json = true; });
  if (line.help) {
    std::fputs(kHelp, stdout);
    return kDone;
  }
  const std::vector<std::string>& files = line.names;
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
