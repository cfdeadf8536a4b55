// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The scan with all limits, and with larger pictures and code-blocks.
#include <doctest/doctest.h>

#include "scan/scan.h"
#include "support/decoders.h"

namespace cj2k::test {
namespace {

/// In blocks of 32x32 charts lose a little more (docs/stop.md), and a few of a hundred pairs are a large
/// share.
constexpr int64_t kMoreAllowed = 4, kFew = 3;

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
  scan.check(kMoreAllowed, kFew);
}

TEST_CASE("exact loses nothing: 2K pictures, few of the limits") {
  if (!use_decoder(Decoder::kOpenJpeg)) return;
  Scan scan;
  scan.run_all({2048, 1080, 3});
  scan.check(kMoreAllowed, kFew);
}

// Two hours of a core: test_scan --no-skip --test-case='every picture*'. CJ2K_SCAN_PICTURE names some of the pictures.
TEST_CASE("every picture, every coding, 200 limits of each kind" * doctest::skip()) {
  ScanSize size = {128, 96, 100, 200};
  size.decoded_in = 40;
  Scan scan(true);
  scan.run_all(size, all_pictures());
  scan.check(kMoreAllowed, kFew, false);
}

}  // namespace
}  // namespace cj2k::test
