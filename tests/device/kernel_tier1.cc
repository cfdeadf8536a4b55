// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The tier-1 kernels against the CPU: passes, distortions, lengths, bytes and tails, where blocks
// pause, and the state they pause with.
#include "cuda/tier1_coder.h"
#include "device/tier1_gop.h"

namespace cj2k::cuda {
namespace {

using cj2k::test::Fill;
using cj2k::test::TestBlock;
using test::Gop;
using test::Item;
using test::make_item;
using test::Options;
using test::Totals;

#if defined(CJ2K_SIMT_SHIM)
const std::string kImplementation = "shim";
#else
const std::string kImplementation = "cuda";
#endif

constexpr Tier1Form kForms[] = {Tier1Form::kClassic, Tier1Form::kCibo, Tier1Form::kFused};
constexpr uint64_t kSchedules[] = {1, 2, 0xC0FFEE};

void report(const std::string& what, const Totals& totals) {
  MESSAGE(what << " on " << kImplementation << ": " << totals.blocks << " blocks, " << totals.passes
               << " passes, " << totals.bytes << " bytes equal the CPU's; " << totals.paused
               << " paused, " << totals.resumed << " had been resumed");
}

/// All forms, coded in one call.
void check_whole(const std::vector<Item>& items, Options options, Totals& totals) {
  for (const Tier1Form form : kForms) {
    options.form = form;
    Gop gop(items, options);
    gop.code(gop.all());
    gop.compare(totals);
    gop.compare_with_whole();
  }
}

/// The long checks come in two parts, so that the first one notices in seconds what is wrong everywhere.
bool is_in(bool first_part, uint32_t run) { return (run % 9 == 0) == first_part; }

void check_styles(bool first_part) {
  Totals totals;
  uint64_t seed = 0;
  for (uint32_t style = 0; style < 64; ++style) {
    if (!is_in(first_part, style)) {
      seed += 8;
      continue;
    }
    std::vector<Item> items;
    for (const auto& [width, height] :
         {std::pair{1, 1}, {3, 5}, {17, 33}, {32, 32}, {16, 4}, {9, 8}, {33, 6}, {64, 64}}) {
      ++seed;
      const int planes = 1 + static_cast<int>(seed * 5 % 9);
      items.push_back(make_item(width, height, {planes, 9 - planes}, seed));
    }
    items.insert(items.begin() + 2, make_item(8, 8, {0, 3}, seed));
    for (const uint64_t schedule : kSchedules) {
      check_whole(items, {.seed = schedule, .style = style, .reversible = style % 5 < 2}, totals);
    }
  }
  report("styles", totals);
}
TEST_CASE("tier-1 kernels: eight styles, orientations and fills") { check_styles(true); }
TEST_CASE("tier-1 kernels: all other styles, orientations and fills") { check_styles(false); }

TEST_CASE("tier-1 kernels: all shapes") {
  Totals totals;
  uint64_t seed = 1000;
  for (const uint64_t schedule : kSchedules) {
    for (const uint32_t style : {0u, 8u + 32u, 63u, 5u}) {
      std::vector<Item> items;
      for (const auto& [width, height] : {std::pair{64, 64},
                                          {1024, 4},
                                          {4, 1024},
                                          {32, 32},
                                          {1024, 1},
                                          {1, 1024},
                                          {1024, 3},
                                          {3, 1024},
                                          {63, 61},
                                          {128, 32},
                                          {16, 256},
                                          {682, 6}}) {
        ++seed;
        items.push_back(make_item(width, height, {1 + static_cast<int>(seed % 6)}, seed));
      }
      check_whole(items, {.seed = schedule, .style = style, .reversible = style == 0}, totals);
    }
  }
  report("shapes", totals);
}

TEST_CASE("tier-1 kernels: many blocks of several frames, blocks of zeros among them") {
  Totals totals;
  for (const uint64_t schedule : kSchedules) {
    std::vector<Item> items;
    for (uint64_t seed = 0; seed < 90; ++seed) {  // more than 256 blocks
      const int width = 1 + static_cast<int>(seed * 7 % 40),
                height = 1 + static_cast<int>(seed * 11 % 36);
      const int planes = seed % 5 == 0 ? 0 : static_cast<int>(seed % 13);
      items.push_back(make_item(width, height, {planes, (planes + 3) % 7, planes / 2}, seed));
    }
    check_whole(items, {.seed = schedule, .style = static_cast<uint32_t>(schedule % 64)}, totals);
    items.resize(1);
    check_whole(items, {.seed = schedule}, totals);
  }
  report("launches", totals);
}

TEST_CASE("tier-1 kernels: all numbers of bit-planes") {
  Totals totals;
  for (const uint32_t style : {0u, 1u, 1u + 16u + 8u, 63u}) {
    std::vector<Item> items;
    for (int planes = 0; planes <= kMaxBitPlanes; ++planes) {
      items.push_back(make_item(19, 9, {planes}, static_cast<uint64_t>(planes) * 64 + style));
    }
    check_whole(items, {.style = style, .reversible = style == 1}, totals);
  }
  report("planes", totals);
}

/// The most decisions and bytes that a block can have. The buffers must hold them.
TEST_CASE("tier-1 kernels: worst cases") {
  Totals totals;
  for (const uint32_t style : {0u, 63u, 63u - 16u, 1u + 4u}) {
    std::vector<Item> items;
    for (const Fill fill : {Fill::kUniform, Fill::kOnes, Fill::kChecker, Fill::kSparse}) {
      for (const auto& [width, height] : {std::pair{64, 64}, {32, 32}, {4, 1024}}) {
        Item item{width, height, kHH, 0, 1.0, {}};
        for (const int planes : {1, 12})
          item.frames.emplace_back(width, height, planes, fill, style);
        items.push_back(item);
      }
    }
    check_whole(items, {.style = style, .reversible = true}, totals);
  }
  report("worst cases", totals);
}

/// A few large and many small blocks that stop at different planes.
std::vector<Item> stop_items(uint64_t seed, bool large) {
  std::vector<Item> items;
  for (const auto& [width, height] :
       {std::pair{32, 32}, {17, 33}, {5, 3}, {32, 32}, {30, 8}, {64, 64}, {4, 1024}}) {
    ++seed;
    if (width * height == 4096 && !large) continue;
    const int planes = 3 + static_cast<int>(seed * 5 % 8);
    items.push_back(make_item(width, height, {planes, 11 - planes}, seed));
  }
  return items;
}

void check_thresholds(bool first_part) {
  Totals totals;
  size_t by_form[std::size(kForms)] = {};
  for (uint32_t run = 0; run < 3 * 64; ++run) {
    if (!is_in(first_part, run)) continue;
    const uint32_t style = run % 64;
    const auto items = stop_items(100 * run, run % 7 == 0);  // large blocks in many styles
    for (const Tier1Form form : kForms) {
      Gop gop(items, {form, kSchedules[run / 64], style, style % 2 == 0});
      std::mt19937_64 random(run);
      std::vector<uint16_t> thresholds(gop.num_frames() * CJ2K_MAX_COMPONENTS);
      for (int round = 0; round < 3; ++round) {
        // Near the slopes of the planes 4, 2, 0. One component of one frame has no threshold.
        for (uint16_t& t : thresholds) {
          t = static_cast<uint16_t>(kSlopeUnit + 512 * (5 - 2 * round) +
                                    static_cast<int>(random() % 1536));
        }
        thresholds[random() % thresholds.size()] = 0;
        auto blocks = gop.all();
        if (round == 1) {
          std::erase_if(blocks, [&](uint32_t b) { return b % 3 == style % 3; });
        }
        gop.code(blocks, thresholds);
        const size_t before = totals.paused;
        gop.compare(totals);
        by_form[static_cast<size_t>(form)] += totals.paused - before;
      }
      gop.code(gop.all());
      gop.compare(totals);
      gop.compare_with_whole();
    }
  }
  CHECK(totals.paused > (first_part ? 150 : 1300));
  CHECK(totals.modelled_to_pause > by_form[0] / 3);
  CHECK(by_form[0] == by_form[1]);
  CHECK(by_form[0] == by_form[2]);
  report("thresholds", totals);
}
TEST_CASE("tier-1 kernels: pause at the CPU's planes, and go on, with falling thresholds") {
  check_thresholds(true);
}
TEST_CASE("tier-1 kernels: pause at the CPU's planes, and go on, in every style") {
  check_thresholds(false);
}

/// The lowest threshold at which the block pauses after `planes` planes or fewer.
uint16_t lowest_to_pause(const TestBlock& block, const Item& item, const Options& options,
                         int planes) {
  static cj2k::Tier1Scratch scratch;
  static cj2k::test::TestOutput output;
  static cj2k::SavedCoder saved;
  uint32_t low = 0, high = kMaxSlope;
  while (high - low > 1) {
    const uint32_t threshold = (low + high) / 2;
    cj2k::Tier1Stop stop{static_cast<uint16_t>(threshold), 0, item.weight, nullptr, &saved, false};
    simd::encode_block(block.block(item.orientation, options.style, options.reversible), scratch,
                       output.out, &stop);
    const bool pauses = stop.paused && output.out.num_passes <= num_passes_of(planes);
    (pauses ? high : low) = threshold;
  }
  return static_cast<uint16_t>(high);
}

TEST_CASE("tier-1 kernels: pause at the lowest threshold that lets a block, and at one less") {
  Totals totals;
  std::mt19937_64 random(1);
  uint64_t seed = 11000;
  for (const uint32_t style : {0u, 1u, 4u, 16u, 63u, 0u, 0u, 2u, 0u, 9u, 0u, 0u}) {
    const auto items = stop_items(seed += 100, false);
    for (const Tier1Form form : kForms) {
      const Options options{form, kSchedules[style % 3], style, style % 2 == 1};
      Gop gop(items, options);
      for (int round = 0; round < 2; ++round) {
        std::vector<uint16_t> thresholds(gop.num_frames() * CJ2K_MAX_COMPONENTS);
        for (size_t f = 0; f < gop.num_frames(); ++f) {
          for (size_t i = 0; i < 2 * items.size(); ++i) {
            const Item& item = items[random() % items.size()];
            const TestBlock& block = item.frames[f];
            const int planes = 1 + static_cast<int>(random() % 4) + 2 * round;
            uint16_t& threshold = thresholds[f * CJ2K_MAX_COMPONENTS + item.component];
            if (random() % 4 == 0 && block.bit_planes() > 0)  // or no plane at all
              threshold = static_cast<uint16_t>(best_slope_left(item.weight, block.bit_planes()) +
                                                random() % 2);
            if (planes >= block.bit_planes()) continue;
            if (threshold == 0 || random() % 2 == 0)
              threshold = static_cast<uint16_t>(lowest_to_pause(block, item, options, planes) -
                                                random() % 2);
          }
        }
        gop.code(gop.all(), thresholds);
        gop.compare(totals);
      }
      gop.code(gop.all());
      gop.compare(totals);
      gop.compare_with_whole();
    }
  }
  CHECK(totals.paused > 150);
  report("lowest thresholds", totals);
}

void check_every_plane(bool first_part) {
  Totals totals;
  for (uint32_t style = 0; style < 64; ++style) {
    if (!is_in(first_part, style)) continue;
    const auto items = stop_items(7000 + 100 * style, style == 0);
    for (const Tier1Form form : kForms) {
      Gop gop(items, {form, kSchedules[style % 3], style, style % 2 == 1});
      uint32_t top = 0;
      for (const Item& item : items) {
        for (const TestBlock& block : item.frames) {
          top = std::max(top, static_cast<uint32_t>(block.bit_planes()));
        }
      }
      for (uint32_t plane = top + 1; plane-- > 0;) {
        gop.code(gop.all(), {}, plane);
        gop.compare(totals);
      }
      gop.compare_with_whole();
    }
    // Code down to one plane; with a slope above all others, so that every block pauses after the
    // next plane; then to the end.
    Gop gop(items, {kForms[style % std::size(kForms)], style, style, style % 2 == 1});
    gop.code(gop.all(), {}, style % 9);
    gop.compare(totals);
    gop.code(gop.all(), std::vector<uint16_t>(2 * CJ2K_MAX_COMPONENTS, kMaxSlope));
    gop.compare(totals);
    gop.code(gop.all());
    gop.compare(totals);
    gop.compare_with_whole();
  }
  CHECK(totals.paused > (first_part ? 200 : 1700));
  report("every plane", totals);
}
TEST_CASE("tier-1 kernels: pause after every plane, or at one, and go on") {
  check_every_plane(true);
}
TEST_CASE("tier-1 kernels: pause after every plane, or at one, and go on, in every style") {
  check_every_plane(false);
}

void check_stops(bool first_part) {
  Totals totals;
  for (uint32_t style = 0; style < 64; ++style) {
    if (!is_in(first_part, style)) continue;
    const auto items = stop_items(9000 + 100 * style, style == 0);
    for (const Tier1Form form : kForms) {
      const Options options{form, kSchedules[style % 3], style, style % 2 == 1};
      {
        Gop gop(items, options);
        std::mt19937_64 random(style);
        std::vector<uint32_t> last(gop.num_blocks());  // plane after which a block stops
        for (uint32_t& plane : last) plane = static_cast<uint32_t>(random() % 12);
        gop.code_planes([&](uint32_t b, uint32_t plane) { return plane <= last[b]; }, totals);
        // CIBO models a plane before it is known who stops; nobody else does.
        const bool is_cibo = form == Tier1Form::kCibo;
        CHECK(gop.num_modelled_ahead() == (is_cibo ? gop.num_begun_and_paused() : 0));
      }
      Gop gop(items, options);
      gop.code_planes([](uint32_t, uint32_t) { return false; }, totals);
      gop.compare_with_whole();
    }
  }
  CHECK(totals.paused > (first_part ? 500 : 4300));
  report("stops", totals);
}
TEST_CASE("tier-1 kernels: plane by plane, with blocks that stop for good, some before the first") {
  check_stops(true);
}
TEST_CASE("tier-1 kernels: plane by plane, with blocks that stop for good, in every style") {
  check_stops(false);
}

TEST_CASE("tier-1 kernels: too little room for the bytes is said, and nothing written beyond") {
  std::vector<Item> items;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    items.push_back({32, 32, kLH, 0, 1.0, {TestBlock(32, 32, 9, Fill::kUniform, seed)}});
  }
  for (const Tier1Form form : kForms) {
    for (const uint32_t style : {0u, 4u, 63u}) {
      for (const uint32_t capacity : {16u, 64u, 240u, 512u}) {
        Gop gop(items, {.form = form, .style = style, .capacity = capacity});
        gop.code(gop.all());
        for (const uint32_t bytes : gop.num_bytes()) CHECK(bytes > capacity);
        gop.compare_guards();
      }
    }
  }
}

/// Coded by tests/ptx/per_decision.py, which divides the instructions of each kernel by the decisions.
TEST_CASE("tier-1 kernels: blocks like those of pictures") {
  std::vector<Item> items;
  for (uint64_t seed = 0; seed < 64; ++seed) {
    Item item{32, 32, test::kOrientations[seed % 4], 0, 1.0, {}};
    item.frames.emplace_back(32, 32, 7, Fill::kLaplacian, seed);
    items.push_back(std::move(item));
  }
  Totals totals;
  for (const Tier1Form form : kForms) {
    Gop gop(items, {.form = form});
    gop.code(gop.all());
    gop.compare(totals);
    if (form == Tier1Form::kClassic) MESSAGE("MQ decisions: " << gop.num_decisions());
  }
  report("like pictures", totals);
}

TEST_CASE("tier-1 kernels: an empty list codes nothing") {
  const auto items = stop_items(1, false);
  for (const Tier1Form form : kForms) {
    Gop gop(items, {.form = form});
    gop.code({});
    Totals totals;
    gop.compare(totals);
    CHECK(totals.passes == 0);
  }
}

}  // namespace
}  // namespace cj2k::cuda
