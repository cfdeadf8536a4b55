// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The scan at small sizes.
#include "scan/scan.h"

#include <doctest/doctest.h>

#include "support/decoders.h"

namespace cj2k::test {
namespace {

TEST_CASE("exact loses nothing: small pictures") {
  if (!use_decoder(Decoder::kOpenJpeg)) return;
  Scan scan;
  const char* percent = std::getenv("CJ2K_SCAN_PERCENT");
  const ScanSize size = {256, 192, 60, percent != nullptr ? std::atoi(percent) : 15, 100};
  for (const ScanPicture& picture : scan_pictures()) {
    for (const LimitKind kind : kLimitKinds) scan.run(picture, kind, size);
  }
  scan.print();
  for (const std::string& error : scan.errors()) FAIL_CHECK(error);
  for (const std::string& wrong : scan.wrong_measures()) FAIL_CHECK(wrong);
  for (const auto& [key, tally] : scan.tallies()) {
    INFO("rule ", key.first, ", ", key.second, ": worst ", tally.worst, ", ", tally.where);
    CHECK(tally.broken == 0);
  }
}

}  // namespace
}  // namespace cj2k::test
