// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The scan with all limits, and with larger pictures and code-blocks.
#include <doctest/doctest.h>

#include "scan/scan.h"
#include "support/decoders.h"

namespace cj2k::test {
namespace {

/// testsrc loses up to 0.5 dB in blocks of 32x32 (docs/stop.md): 16 pairs of 1000.
constexpr int64_t kMoreAllowed = 8;

TEST_CASE("exact loses nothing: small pictures, all limits") {
  if (!use_decoder(Decoder::kOpenJpeg)) return;
  Scan scan;
  scan.run_all({256, 192});
  scan.check();
}

TEST_CASE("exact loses nothing: pictures of 640x480, some of the limits") {
  if (!use_decoder(Decoder::kOpenJpeg)) return;
  Scan scan;
  scan.run_all({640, 480, 12});
  scan.check(kMoreAllowed);
}

TEST_CASE("exact loses nothing: 2K pictures, few of the limits") {
  if (!use_decoder(Decoder::kOpenJpeg)) return;
  Scan scan;
  scan.run_all({2048, 1080, 3});
  scan.check(kMoreAllowed);
}

}  // namespace
}  // namespace cj2k::test
