// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <cmath>

#include "params/latin.h"
#include "params/params.h"
#include "run/report.h"

namespace cj2k {
namespace {

TEST_CASE("report: errors as JSON strings") {
  CHECK(json_error("roi \"x\\\" é") == "{\"error\":\"roi \\\"x\\\\\\\" é\"}");
  CHECK(json_error("") == "{\"error\":\"\"}");
}

TEST_CASE("report: PSNR, q and JSON of an estimate after the colour transform") {
  cj2k_params p;
  set_default_params(&p);
  p.width = p.height = 64;
  p.mct = CJ2K_MCT_ON;
  Report report(p);
  cj2k_stats stats = {};
  stats.bytes = 1000;
  stats.mse[0] = 6;
  stats.slope_threshold = 24576;
  report.add(&stats);
  const double expected = 10 * std::log10(255 * 255 / 2.0);
  for (const double value : {stats.psnr, stats.component_psnr[0], stats.component_psnr[2]})
    CHECK(value == doctest::Approx(expected));
  CHECK(stats.component_psnr[3] == 0);
  CHECK(stats.q == doctest::Approx(std::sqrt(12 / (16 * std::log(2.0)))));

  cj2k_stats exact = {};
  report.add_failed();
  report.add(&exact);
  CHECK(std::isinf(exact.psnr));
  CHECK(exact.q == 0);
  CHECK(report.json(exact).starts_with("{\"bytes\":0,\"cap\":null,"));
  CHECK(report.json(exact).find("\"q\":0.0000,\"measured\":false,\"psnr\":null,") !=
        std::string::npos);
  CHECK(report.summary(1).find("500 bytes on average, 1000 at most; PSNR ") != std::string::npos);
  CHECK(report.summary(1).find("at worst (frame 0), estimated before") != std::string::npos);
}

TEST_CASE("report: frames below target_psnr") {
  cj2k_params p;
  set_default_params(&p);
  p.width = p.height = 64;
  p.measure_mse = 1;
  p.target_psnr = 45;
  Report report(p);
  for (const double mse : {1.0, 3.0}) {
    cj2k_stats stats = {};
    for (double& of : stats.mse) of = mse;
    report.add(&stats);
  }
  CHECK(report.summary(1).find("at worst (frame 1), measured; 1 below target_psnr 45") !=
        std::string::npos);
  cj2k_info info = {};
  info.backend = "cpu";
  info.device_name = "";
  CHECK(report.headline(info, 1).find("target_psnr 45, ") != std::string::npos);
  p.num_layer_psnr = 2;
  p.layer_psnr[0] = 30;
  p.layer_psnr[1] = 37.5;
  CHECK(Report(p).headline(info, 1).find("layer_psnr 30,37.5, ") != std::string::npos);
}

TEST_CASE("report: a cap that no frame needs is told") {
  cj2k_params p;
  set_default_params(&p);
  p.width = p.height = 64;
  p.target_bytes = 5000;
  p.wavelet = CJ2K_WAVELET_97;
  const auto told = [&p](int slope) {
    Report report(p);
    for (const int last : {0, slope}) {
      cj2k_stats stats = {};
      stats.bytes = 1000;
      stats.slope_threshold = last;
      report.add(&stats);
    }
    return report.summary(1).find("; no frame needs the cap: ") != std::string::npos;
  };
  CHECK(told(0));
  CHECK(!told(1));
  p.quality = 2;  // which cuts first
  CHECK(!told(0));
  p.quality = p.target_bytes = 0;
  CHECK(!told(0));
}

TEST_CASE("latin: every byte there and back") {
  for (int byte = 1; byte < 256; ++byte) {
    const std::string one(1, static_cast<char>(byte));
    const Latin back = to_latin(from_latin(one).c_str());
    CHECK(back.text == one);
    CHECK(back.missing == 0);
  }
}

}  // namespace
}  // namespace cj2k
