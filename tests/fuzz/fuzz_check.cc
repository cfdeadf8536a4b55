// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Bytes -> the conformance checker, as a file of any kind. Every result is right except a crash, a
// hang, or findings without text. An empty corpus folder gets codestreams to start from.
#include <cstdint>
#include <vector>

#include "seeds.h"
#include "tools/check/check.h"

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  const std::vector<cj2k_fuzz::Settings> seeds = {
      {{"lossless", "1"}, {"plt", "1"}},
      {{"target_bytes", "1400"}, {"layers", "3"}, {"tile", "20x30"}, {"sop", "1"}, {"eph", "1"}},
      {{"cblk", "8x8"}, {"precincts", "16x16"}, {"progression", "rpcl"}, {"levels", "2"}},
      {{"progression", "cprl"}, {"tile_parts", "component"}, {"cblk_style", "bypass+termall"}},
      {{"progression", "pcrl"}, {"precincts", "16x16"}, {"format", "jp2"}}};
  cj2k_fuzz::write_seeds(*argc, *argv, seeds);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cj2k_check;
  if (size == 0) return 0;
  static const char* const profiles[] = {"auto",     "none",     "profile0",       "profile1",
                                         "cinema4k", "imf_4k_r", "broadcast_multi"};
  Options options;
  options.profile = profiles[data[size - 1] % 7];
  options.limits.most_blocks = 1 << 18;
  options.limits.most_steps = 1 << 22;
  const FileResult result = check_bytes({data, size}, options);
  for (const Finding& finding : result.report.findings()) {
    cj2k_fuzz::must(!finding.rule.empty() && !finding.clause.empty() && !finding.found.empty());
  }
  cj2k_fuzz::must(!describe(result, false).empty());
  return 0;
}
