// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The scan at random: any picture with 1 to 16 bits, sizes at borders of blocks, precincts and tiles, any steps, 200 limits.
// CJ2K_SCAN_MINUTES sets the time, CJ2K_SCAN_SEED the first seed (the day's); each seed is a picture, and prints itself first.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <set>

#include "scan/scan.h"
#include "support/decoders.h"
#include "support/encode.h"

namespace cj2k::test {
namespace {

/// A size at a multiple of `border`, or a sample beside it.
int32_t near_border(Random& random, int32_t border, int32_t most) {
  const int32_t multiple = border * random.range(1, std::max(1, most / border));
  return std::clamp(multiple + random.range(-1, 1), 1, most);
}

std::string square(int32_t side) { return std::to_string(side) + "x" + std::to_string(side); }

/// Settings that all codings of a picture share, and a size that suits them.
ScanSize draw_size(Random& random) {
  ScanSize size = {1, 1, 100, 200};
  const int32_t high = random.range(2, 5), wide = random.range(2, 6);
  size.cblk = std::to_string(1 << wide) + "x" + std::to_string(1 << high);
  int32_t levels = 5;
  std::vector<int32_t> borders = {1 << wide, 1 << high};
  const auto set = [&size](const char* name, const std::string& value) {
    size.shared.emplace_back(name, value);
  };
  if (random.chance(40)) {
    levels = random.range(0, 7);
    set("levels", std::to_string(levels));
  }
  borders.push_back(1 << levels);
  if (random.chance(30)) {
    borders.push_back(1 << random.range(3, 7));
    set("precincts", square(borders.back()));
  }
  if (random.chance(30)) {
    borders.push_back(random.range(20, 140));
    set("tile", square(borders.back()));
  }
  if (random.chance(15)) {
    set("wavelet", "5/3");
  } else if (random.chance(50)) {
    // The sixteen step sets of an octave, and what is far from them.
    char text[32];
    std::snprintf(text, sizeof text, "%.6g",
                  std::exp2(-random.range(0, 15) / 16.0) * random.pick<double>({0.25, 0.5, 1, 8}));
    set("quant_step", text);
  }
  if (random.chance(10)) set("mct", "off");
  if (random.chance(10)) set("layers", std::to_string(random.range(2, 5)));
  const int32_t most = random.pick<int32_t>({24, 64, 64, 128, 200});
  size.width = near_border(random, random.pick(borders), most);
  size.height = near_border(random, random.pick(borders), most);
  size.decoded_in = 40;
  return size;
}

/// Leaves out codings that refuse the shared settings.
void draw_codings(Random& random, const Picture& picture, ScanSize& size) {
  const std::vector<Comparison> all = Scan::all_comparisons();
  for (int i = 0; i < 3; ++i) {
    const Comparison& one = random.pick(all);
    bool is_legal = true;
    for (const char* name : {one.coding, one.against}) {
      Subject subject = {"", &picture, size.cblk, size.cblk, size.shared};
      Limits limits;
      limits.quality = 4;
      is_legal = is_legal && code(subject, scan_coding(name), limits).error.empty();
    }
    if (is_legal) size.codings.emplace_back(one.coding);
  }
}

TEST_CASE("random pictures, sizes, depths and steps: 200 rates") {
  if (!use_decoder(Decoder::kOpenJpeg)) return;
  using Clock = std::chrono::steady_clock;
  const auto number = [](const char* name, double otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : std::atof(text);
  };
  const double minutes = number("CJ2K_SCAN_MINUTES", 0);
  const double day = std::floor(static_cast<double>(std::time(nullptr)) / 86400);
  const auto first = static_cast<uint64_t>(number("CJ2K_SCAN_SEED", 1000 * day));
  Scan scan;
  std::set<std::string> pictures;
  int64_t curves = 0;
  const Clock::time_point start = Clock::now();
  uint64_t seed = first;
  do {
    Random random(seed);
    ScanPicture of = random.pick(all_pictures());
    of.depth = random.range(1, 16);
    of.is_grey = random.chance(25);
    ScanSize size = draw_size(random);
    size.seed = seed;
    std::string text = of.name + " " + std::to_string(of.depth) + " bits " +
                       std::to_string(size.width) + "x" + std::to_string(size.height);
    for (const auto& [name, value] : size.shared) text += " --" + name + " " + value;
    INFO("CJ2K_SCAN_SEED=", seed, ": ", text);
    std::printf("CJ2K_SCAN_SEED=%llu: %s --cblk %s\n", static_cast<unsigned long long>(seed),
                text.c_str(), size.cblk.c_str());
    std::fflush(stdout);
    ++seed;
    const std::optional<Picture> picture = scan_picture(of, size.width, size.height, size.seed);
    if (!picture) continue;
    draw_codings(random, *picture, size);
    if (size.codings.empty()) continue;
    scan.run(of, random.pick<LimitKind>({std::begin(kLimitKinds), std::end(kLimitKinds)}), size);
    pictures.insert(of.name);
    curves += static_cast<int64_t>(size.codings.size());
  } while (std::chrono::duration<double>(Clock::now() - start).count() < 60 * minutes);
  // What estimates choose for a picture of a few blocks can be wrong by decibels; the table says how often.
  scan.check(4, 3, false);
  std::printf("seeds %llu to %llu: %zu pictures, %lld curves\n",
              static_cast<unsigned long long>(first), static_cast<unsigned long long>(seed - 1),
              pictures.size(), static_cast<long long>(curves));
}

}  // namespace
}  // namespace cj2k::test
