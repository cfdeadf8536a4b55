// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The allocation of a film's bytes, and the log of a first pass.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "cj2k.h"
#include "cj2k_film.h"
#include "film/allocate.h"
#include "support/encode.h"
#include "support/picture.h"

namespace cj2k::test {
namespace {

using Bytes = std::vector<int64_t>;

/// A convex curve: from point i + 1 to i each byte removes 2^(i / 2 - 6 + 1/4).
cj2k_curve random_curve(Random& random, int32_t most, uint32_t headers = 100) {
  cj2k_curve curve{};
  double error = random.range(1, 1000);
  for (int i = 0; i < CJ2K_CURVE_POINTS; ++i) curve.bytes[i] = headers;
  for (int i = 0; i < CJ2K_CURVE_POINTS; ++i) {
    curve.error[i] = static_cast<float>(error);
    if (i + 1 == CJ2K_CURVE_POINTS) break;
    const int32_t bytes = i < 50 && random.chance(80) ? random.range(0, most) : 0;
    for (int below = 0; below <= i; ++below) curve.bytes[below] += static_cast<uint32_t>(bytes);
    error += bytes * std::exp2(i / 2.0 - 5.75);
  }
  return curve;
}

double error_at(const cj2k_curve& curve, int64_t bytes) {
  for (int i = CJ2K_CURVE_POINTS - 1; i > 0; --i) {
    if (bytes >= curve.bytes[i - 1]) continue;
    if (bytes <= curve.bytes[i]) return curve.error[i];
    const double share = static_cast<double>(bytes - curve.bytes[i]) /
                         static_cast<double>(curve.bytes[i - 1] - curve.bytes[i]);
    return curve.error[i] + share * (curve.error[i - 1] - curve.error[i]);
  }
  return curve.error[0];
}

double error_of(const std::vector<cj2k_curve>& curves, const Bytes& targets) {
  double error = 0;
  for (size_t f = 0; f < curves.size(); ++f) error += error_at(curves[f], targets[f]);
  return error;
}

int64_t sum(const Bytes& values) {
  return std::accumulate(values.begin(), values.end(), int64_t{0});
}

cj2k_film film_of(int64_t total) {
  cj2k_film film{};
  film.struct_size = sizeof film;
  film.total_bytes = total;
  return film;
}

Bytes allocate(const cj2k_film& film, const std::vector<cj2k_curve>& curves, const Bytes& caps = {},
               const Bytes& floors = {}) {
  Bytes targets(curves.size(), -1);
  const cj2k_status status =
      cj2k_film_allocate(&film, curves.data(), curves.size(), caps.empty() ? nullptr : caps.data(),
                         floors.empty() ? nullptr : floors.data(), targets.data());
  INFO(cj2k_encoder_last_error(nullptr));
  REQUIRE(status == CJ2K_OK);
  return targets;
}

/// The least error of three frames that are each cut at a point.
double least_error(const std::vector<cj2k_curve>& curves, int64_t total) {
  double least = 1e300;
  for (int a = 0; a < CJ2K_CURVE_POINTS; ++a) {
    for (int b = 0; b < CJ2K_CURVE_POINTS; ++b) {
      const int64_t left = total - curves[0].bytes[a] - curves[1].bytes[b];
      for (int c = 0; c < CJ2K_CURVE_POINTS; ++c) {
        if (curves[2].bytes[c] > left) continue;
        const double ab = static_cast<double>(curves[0].error[a]) + curves[1].error[b];
        least = std::min(least, ab + curves[2].error[c]);
        break;  // further points have more error
      }
    }
  }
  return least;
}

TEST_CASE("film: no other cut of the frames has less error") {
  Random random(1);
  for (int trial = 0; trial < 100; ++trial) {
    std::vector<cj2k_curve> curves;
    for (int f = 0; f < 3; ++f) curves.push_back(random_curve(random, 1 << random.range(1, 12)));
    const int64_t most = int64_t{curves[0].bytes[0]} + curves[1].bytes[0] + curves[2].bytes[0];
    const int64_t total = random.range(300, static_cast<int32_t>(most));
    const Bytes targets = allocate(film_of(total), curves);
    CHECK(sum(targets) == total);
    // A byte more or less at the cuts, since targets are whole bytes.
    CHECK(error_of(curves, targets) <= least_error(curves, total - 3) * (1 + 1e-6));
  }
}

TEST_CASE("film: totals to the byte, between floors and caps") {
  Random random(2);
  for (int trial = 0; trial < 500; ++trial) {
    const auto frames = static_cast<size_t>(random.range(1, 40));
    std::vector<cj2k_curve> curves;
    Bytes caps, floors;
    for (size_t f = 0; f < frames; ++f) {
      curves.push_back(random_curve(random, 1 << random.range(0, 14)));
      floors.push_back(random.chance(50) ? 0 : random.range(1, 3000));
      caps.push_back(random.chance(30) ? 0 : random.range(3000, 90000));
    }
    cj2k_film film = film_of(random.range(3000, 60000) * static_cast<int64_t>(frames));
    film.min_frame_bytes = random.chance(50) ? random.range(0, 500) : 0;
    film.max_frame_bytes = random.chance(50) ? random.range(3000, 90000) : 0;
    film.power = random.chance(50) ? 0 : 1 + random.range(0, 70) / 10.0;
    const Bytes targets = allocate(film, curves, caps, floors);
    int64_t most = 0;
    for (size_t f = 0; f < frames; ++f) {
      int64_t cap = film.total_bytes;
      for (const int64_t other : {film.max_frame_bytes, caps[f]})
        if (other > 0) cap = std::min(cap, other);
      REQUIRE(targets[f] <= cap);
      REQUIRE(targets[f] >= std::max({film.min_frame_bytes, floors[f], int64_t{100}}));
      most += cap;
    }
    REQUIRE(sum(targets) == std::min(most, film.total_bytes));
    CHECK(allocate(film, curves, caps, floors) == targets);
  }
}

TEST_CASE("film: a frame's target does not depend on the order of the frames") {
  Random random(3);
  std::vector<cj2k_curve> curves;
  for (int f = 0; f < 50; ++f) curves.push_back(random_curve(random, 5000));
  Bytes targets = allocate(film_of(2000000), curves);
  std::vector<cj2k_curve> turned(curves.rbegin(), curves.rend());
  Bytes other = allocate(film_of(2000000), turned);
  std::reverse(other.begin(), other.end());
  // What is left over after whole bytes goes to whoever is next.
  for (size_t f = 0; f < curves.size(); ++f) CHECK(std::abs(targets[f] - other[f]) <= 1);
}

TEST_CASE("film: frames are cut at one slope, and power moves bytes to the worst") {
  Random random(4);
  std::vector<cj2k_curve> curves;
  for (int f = 0; f < 12; ++f) curves.push_back(random_curve(random, 100 << (f % 6)));
  int64_t at_30 = 0;
  for (const cj2k_curve& curve : curves) at_30 += curve.bytes[30];
  const Bytes equal = allocate(film_of(at_30), curves);
  for (size_t f = 0; f < curves.size(); ++f) CHECK(equal[f] == curves[f].bytes[30]);
  double last = 1e300;
  for (const double power : {1.0, 1.5, 3.0, 8.0}) {
    cj2k_film film = film_of(at_30);
    film.power = power;
    const Bytes targets = allocate(film, curves);
    CHECK(sum(targets) == at_30);
    double worst = 0;
    for (size_t f = 0; f < curves.size(); ++f)
      worst = std::max(worst, error_at(curves[f], targets[f]));
    CHECK(worst < last);
    last = worst;
  }
}

TEST_CASE("film: budgets at the ends") {
  Random random(5);
  std::vector<cj2k_curve> curves;
  for (int f = 0; f < 3; ++f) curves.push_back(random_curve(random, 1000));
  CHECK(allocate(film_of(300), curves) == Bytes{100, 100, 100});
  // More than the curves know is spread evenly.
  const Bytes rich = allocate(film_of(int64_t{1} << 50), curves);
  CHECK(sum(rich) == int64_t{1} << 50);
  cj2k_film film = film_of(int64_t{1} << 50);
  film.max_frame_bytes = 5000000;
  CHECK(allocate(film, curves) == Bytes(3, 5000000));
}

void check_refused(const cj2k_film& film, const std::vector<cj2k_curve>& curves, const char* word,
                   const Bytes& caps = {}, const Bytes& floors = {}) {
  Bytes targets(curves.size() + 1, -1);
  CHECK(
      cj2k_film_allocate(&film, curves.data(), curves.size(), caps.empty() ? nullptr : caps.data(),
                         floors.empty() ? nullptr : floors.data(), targets.data()) == CJ2K_INVALID);
  const std::string error = cj2k_encoder_last_error(nullptr);
  INFO(error);
  CHECK(error.find(word) != std::string::npos);
  CHECK(targets == Bytes(curves.size() + 1, -1));
}

TEST_CASE("film: what is refused is named") {
  Random random(6);
  std::vector<cj2k_curve> curves{random_curve(random, 50), random_curve(random, 50)};
  check_refused(film_of(5000), {}, "0 frames");
  check_refused(film_of(0), curves, "total_bytes 0");
  check_refused(film_of((int64_t{1} << 50) + 1), curves, "1125899906842624");
  check_refused(film_of(199), curves, "total_bytes 199");
  check_refused(film_of(5000), curves, "frame 1: its floor of 900", {0, 800}, {0, 900});
  check_refused(film_of(5000), curves, "frame 0: cap -1", {-1, 0});
  cj2k_film film = film_of(5000);
  film.max_frame_bytes = 50;
  check_refused(film, curves, "floor of 100 bytes is above its cap, 50");
  film = film_of(5000);
  film.min_frame_bytes = INT64_MAX;
  check_refused(film, curves, "total_bytes 5000");
  film = film_of(5000);
  film.struct_size = 8;
  check_refused(film, curves, "struct_size");
  int64_t target = 0;
  film = film_of(5000);
  CHECK(cj2k_film_allocate(nullptr, curves.data(), 1, nullptr, nullptr, &target) == CJ2K_INVALID);
  CHECK(cj2k_film_allocate(&film, nullptr, 1, nullptr, nullptr, &target) == CJ2K_INVALID);
  CHECK(cj2k_film_allocate(&film, curves.data(), 1, nullptr, nullptr, nullptr) == CJ2K_INVALID);
  for (const double power : {0.5, 8.5, -1.0, std::nan("")}) {
    film = film_of(5000);
    film.power = power;
    check_refused(film, curves, "power");
  }
  std::vector<cj2k_curve> wrong = curves;
  wrong[1].bytes[7] = wrong[1].bytes[6] + 1;
  check_refused(film_of(5000), wrong, "frame 1: point 7");
  wrong = curves;
  wrong[0].error[9] = std::nanf("");
  check_refused(film_of(5000), wrong, "frame 0: point 9");
}

Lookahead lookahead_of(int64_t bits, int64_t reservoir) {
  Lookahead film;
  film.bits_per_second = bits;
  film.frame_rate_num = 24000;
  film.frame_rate_den = 1001;
  film.reservoir_bytes = reservoir;
  return film;
}

/// The targets of one pass that sees `before` frames behind and `ahead` frames ahead.
Bytes one_pass(Lookahead film, const std::vector<cj2k_curve>& curves, size_t ahead,
               size_t before = 30) {
  Bytes targets(curves.size(), -1);
  for (size_t f = 0; f < curves.size(); ++f) {
    const size_t first = f - std::min(f, before);
    const size_t end = std::min(curves.size(), f + ahead + 1);
    REQUIRE(next_target(std::span(curves).subspan(first, end - first), f - first, Log(), &film,
                        &targets[f]) == Status::kOk);
  }
  return targets;
}

/// Shots of frames that are alike.
std::vector<cj2k_curve> random_film(Random& random) {
  std::vector<cj2k_curve> curves;
  for (int shot = 0; shot < 6; ++shot)
    curves.insert(curves.end(), static_cast<size_t>(random.range(1, 40)),
                  random_curve(random, random.range(1, 600)));
  return curves;
}

TEST_CASE("lookahead: mean, reservoir, cap and floor hold at every frame") {
  Random random(8);
  for (int trial = 0; trial < 40; ++trial) {
    CAPTURE(trial);
    const std::vector<cj2k_curve> curves = random_film(random);
    Lookahead film =
        lookahead_of(random.range(100000, 3000000), random.chance(20) ? 0 : random.range(1, 90000));
    const int64_t bits = film.bits_per_second;
    film.max_frame_bytes = random.chance(50) ? bits / 8 * 3 / 2 / 23 : 0;
    film.min_frame_bytes = random.chance(50) ? bits / 8 / 2 / 24 : 0;
    const Bytes targets = one_pass(film, curves, static_cast<size_t>(random.range(0, 30)));
    int64_t all = 0, behind = 0;  // behind: the most that any frames up to here have above the mean
    for (size_t f = 0; f < targets.size(); ++f) {
      CAPTURE(f);
      const auto allowed = [&](size_t n) { return bits * 1001 * static_cast<int64_t>(n) / 192000; };
      all += targets[f];
      behind = std::max<int64_t>(behind, 0) + targets[f] - (allowed(f + 1) - allowed(f));
      REQUIRE(all <= allowed(f + 1));
      REQUIRE(behind <= film.reservoir_bytes);
      REQUIRE(targets[f] >= std::max<int64_t>(film.min_frame_bytes, 100));
      if (film.max_frame_bytes != 0) REQUIRE(targets[f] <= film.max_frame_bytes);
    }
  }
}

TEST_CASE("lookahead: easy frames save for hard ones, and for none that are not seen") {
  Random random(9);
  const cj2k_curve easy = random_curve(random, 100), hard = random_curve(random, 1000);
  std::vector<cj2k_curve> curves(60, easy);
  const Lookahead film = lookahead_of(int64_t{1500} * 8 * 24000 / 1001, 30000);
  for (const int64_t target : one_pass(film, curves, 24)) CHECK(target >= 1499);
  curves.insert(curves.end(), 30, hard);
  const Bytes equal(curves.size(), 1500), targets = one_pass(film, curves, 24);
  CHECK(error_of(curves, targets) < 0.9 * error_of(curves, equal));
  CHECK(sum(targets) <= sum(equal));
  CHECK(*std::min_element(targets.begin() + 60, targets.end()) > 1500);
  // Without a reservoir nothing moves.
  for (const int64_t target : one_pass(lookahead_of(film.bits_per_second, 0), curves, 24)) {
    CHECK(target <= 1500);
    CHECK(target >= 1499);
  }
}

TEST_CASE("lookahead: a floor above the mean is refused") {
  Random random(10);
  const std::vector<cj2k_curve> curves{random_curve(random, 50), random_curve(random, 50)};
  Lookahead film = lookahead_of(10000, 500);
  film.min_frame_bytes = 100;
  int64_t target = -1;
  CHECK(next_target(curves, 0, Log(), &film, &target) == Status::kInvalid);
  CHECK(std::string(error_text()) == "film: min_frame_bytes 100 is above the mean of a frame, 52");
  CHECK(target == -1);
  CHECK(film.frames == 0);
}

struct WrittenLog {
  cj2k_params params = make_params(640, 360, 3, 10);
  std::vector<cj2k_curve> curves;
  std::vector<uint8_t> bytes;

  WrittenLog() {
    params.max_frame_bytes = 50000;
    Random random(7);
    for (int f = 0; f < 5; ++f) curves.push_back(random_curve(random, 300));
    bytes.resize(cj2k_film_log_size(5));
    REQUIRE(cj2k_film_log_write(&params, curves.data(), 5, bytes.data()) == CJ2K_OK);
  }
  void check_refused(const char* word) const {
    size_t frames = 5;
    std::vector<cj2k_curve> read(5);
    CHECK(cj2k_film_log_read(&params, bytes.data(), bytes.size(), read.data(), &frames) ==
          CJ2K_INVALID);
    const std::string error = cj2k_encoder_last_error(nullptr);
    INFO(error);
    CHECK(error.find(word) != std::string::npos);
  }
};

TEST_CASE("film log: what was written is read, also with other rates") {
  WrittenLog log;
  CHECK(std::memcmp(log.bytes.data(), "CJ2KFILM\1\0\0", 12) == 0);  // version 1, for other machines
  set(log.params, "threads", "3");
  set(log.params, "quality", "7");
  set(log.params, "max_frame_bytes", "49999");
  size_t frames = 0;
  REQUIRE(cj2k_film_log_read(&log.params, log.bytes.data(), log.bytes.size(), nullptr, &frames) ==
          CJ2K_OK);
  REQUIRE(frames == 5);
  std::vector<cj2k_curve> read(5);
  REQUIRE(cj2k_film_log_read(&log.params, log.bytes.data(), log.bytes.size(), read.data(),
                             &frames) == CJ2K_OK);
  CHECK(std::memcmp(read.data(), log.curves.data(), 5 * sizeof(cj2k_curve)) == 0);
  frames = 4;
  CHECK(cj2k_film_log_read(&log.params, log.bytes.data(), log.bytes.size(), read.data(), &frames) ==
        CJ2K_INVALID);
}

TEST_CASE("film log: each damage is found") {
  WrittenLog log;
  Random random(8);
  for (int trial = 0; trial < 200; ++trial) {
    WrittenLog damaged = log;
    const auto at =
        trial < 56
            ? static_cast<size_t>(trial)
            : static_cast<size_t>(random.range(0, static_cast<int32_t>(log.bytes.size()) - 1));
    damaged.bytes[at] ^= static_cast<uint8_t>(1 << random.range(0, 7));
    damaged.check_refused("film log: ");
  }
  for (const size_t size :
       {size_t{0}, size_t{7}, size_t{8}, size_t{55}, size_t{56}, log.bytes.size() - 1,
        log.bytes.size() + 1, log.bytes.size() - sizeof(cj2k_curve)}) {
    WrittenLog other = log;
    other.bytes.resize(size);
    other.check_refused("film log: ");
  }
}

TEST_CASE("film log: of another film") {
  WrittenLog log;
  const auto check = [&log](const char* key, const char* value, const char* word) {
    WrittenLog other = log;
    set(other.params, key, value);
    other.check_refused(word);
  };
  check("width", "641", "640x360");
  check("depth", "12", "other parameters");
  check("coder", "ht", "other parameters");
  check("levels", "4", "other parameters");
  check("max_component_bytes", "30000", "other parameters");
  check("max_frame_bytes", "50001", "50000");
  check("max_frame_bytes", "0", "none");
}

}  // namespace
}  // namespace cj2k::test
