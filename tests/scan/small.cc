// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The scan at small sizes, with some of the limits, and that it finds what is lost.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>

#include "scan/scan.h"
#include "support/decoders.h"

namespace cj2k::test {
namespace {

Point made_point(double squared_error, int64_t bytes) {
  Point point;
  point.squared_error = squared_error;
  point.samples = 100000;
  point.bytes = point.most_component_bytes = bytes;
  return point;
}

TEST_CASE("rules: what counts as a loss") {
  Limits cap;
  cap.target_bytes = 1000;
  const auto loss = [](double mine, double other, const Limits& limits, bool is_same) {
    return loss_db(made_point(mine, 1000), made_point(other, 1000), limits, 8, is_same);
  };
  CHECK(loss(1e6, 1e6, cap, true) == 0);
  CHECK(loss(2e6, 1e6, cap, true) == doctest::Approx(3.0103));
  CHECK(loss(0.5e6, 1e6, cap, true) == doctest::Approx(-3.0103));
  // 200 wrong samples of 100000: 240 may be chance, 400 not. Where codings differ, 2000 are few, too.
  CHECK(loss(240, 200, cap, true) < 0);
  CHECK(loss(400, 200, cap, true) > 1);
  CHECK(loss(2100, 2000, cap, true) > 0.2);
  CHECK(loss(2100, 2000, cap, false) < 0);
  CHECK(loss(1e6, 0, cap, true) > 50);
  // Constant quality: as many bytes more as the smaller error is worth are no loss.
  Limits quality;
  quality.quality = 4;
  quality.max_frame_bytes = 100000;
  const double worth = error_per_byte(4, 8) * 500;
  CHECK(worth == doctest::Approx(7393.57));
  const Point none = made_point(1e6, 5000);
  CHECK(loss_db(made_point(1e6, 5004), none, quality, 8, true) == 0);
  CHECK(loss_db(made_point(1e6 - worth, 5504), none, quality, 8, true) ==
        doctest::Approx(0).epsilon(1e-9));
  CHECK(loss_db(made_point(1e6, 5504), none, quality, 8, true) > 0.03);
  // A cap that binds: bytes count nothing.
  CHECK(loss_db(made_point(1e6, 5500), made_point(1e6, 99900), quality, 8, true) == 0);
  CHECK(percent_over_caps(made_point(1, 1000), cap) == 0);
  CHECK(percent_over_caps(made_point(1, 1010), cap) == doctest::Approx(1));
  cap.max_component_bytes = 900;
  CHECK(percent_over_caps(made_point(1, 1000), cap) > 11);
}

TEST_CASE("a scan finds a strategy that loses, and an effort that is worse than another") {
  Scan scan(
      {{1, "planted_bpi", "effort1_none", 0.01, true}, {3, "effort1", "effort3", 0.02, false}});
  for (const ScanPicture& picture : scan_pictures()) {
    if (picture.name == "testsrc" || picture.name == "film")
      scan.run(picture, LimitKind::kTarget, {256, 192, 40});
  }
  CHECK(scan.tallies().at({1, "planted_bpi : effort1_none"}).broken > 2);
  CHECK(scan.tallies().at({3, "effort1 : effort3"}).broken > 5);
  CHECK(scan.tallies().at({5, "all : cap"}).broken == 0);
}

TEST_CASE("exact loses nothing: small pictures, some of the limits") {
  if (!use_decoder(Decoder::kOpenJpeg)) return;
  const auto number = [](const char* name, int otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : std::atoi(text);
  };
  ScanSize size = {256, 192, number("CJ2K_SCAN_PERCENT", 8)};
  size.seed = static_cast<uint64_t>(number("CJ2K_SCAN_SEED", 1));
  Scan scan;
  scan.run_all(size);
  scan.check(2, 2);  // of so few pairs, chance may break more than the known share
}

}  // namespace
}  // namespace cj2k::test
