// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The layout of block coding in device memory, and results of kernels against the host's for the
// same coded blocks: packed hulls, the results of an early stop, and bytes packed and gathered.
#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "cuda/pixel_jobs.h"
#include "cuda/tier1_coder.h"
#include "device/kernel_check.h"

// The headers of what is tested.
#include "coders/hull.h"
#include "core/distortion.h"
#include "core/ebcot/segments.h"
#include "core/stop.h"
#include "kernels/ebcot/tier1.h"
#include "pixels/quantize.h"
#include "support/test_blocks.h"

namespace cj2k::cuda {
namespace {

using namespace cj2k::simt::test;
using cj2k::test::TestBlock;
using cj2k::test::TestOutput;

constexpr uint32_t kBypass = CJ2K_STYLE_BYPASS, kTermAll = CJ2K_STYLE_TERMALL,
                   kPterm = CJ2K_STYLE_PTERM;

Plan small_plan(const char* wavelet, const char* size, uint32_t style, const char* cblk) {
  cj2k_params params;
  cj2k_params_init(&params, sizeof params);
  const std::string width(size, std::strchr(size, 'x'));
  for (const auto& [key, value] : {std::pair<const char*, std::string>{"width", width},
                                   {"height", std::strchr(size, 'x') + 1},
                                   {"wavelet", wavelet},
                                   {"levels", "3"},
                                   {"cblk", cblk}}) {
    REQUIRE(cj2k_params_set(&params, key, value.c_str()) == CJ2K_OK);
  }
  params.cblk_style = static_cast<int32_t>(style);
  return checked_plan(params);
}

struct Laid {
  Plan plan;
  std::vector<QuantizeJob> quantize;
  uint64_t frame_words;
  Tier1Layout layout;
};
Laid lay_out(const Plan& plan, Tier1Form form) {
  Laid laid{plan, {}, 0, {}};
  laid.quantize = make_quantize_jobs(plan, make_frame_layout(plan), &laid.frame_words);
  laid.layout = make_tier1_layout(plan, laid.quantize, form);
  return laid;
}

TEST_CASE("tier-1 layout: rooms are aligned, large enough and side by side") {
  for (const Tier1Form form : {Tier1Form::kClassic, Tier1Form::kCibo, Tier1Form::kFused}) {
    const Laid laid = lay_out(small_plan("9/7", "333x217", 0, "64x16"), form);
    const Tier1Layout& layout = laid.layout;
    REQUIRE(layout.jobs.size() == laid.plan.blocks.size());
    uint64_t symbols = 0, bytes = 0;
    uint32_t passes = 0, max_planes = 0;
    for (size_t i = 0; i < layout.jobs.size(); ++i) {
      const Tier1Job& job = layout.jobs[i];
      const CodeBlock& block = laid.plan.blocks[i];
      REQUIRE(job.symbols_offset == symbols);
      REQUIRE(job.bytes_offset == bytes);
      REQUIRE(job.first_pass == passes);
      REQUIRE(job.first_word == laid.quantize[i].first_word);
      REQUIRE(job.width == block.width);
      REQUIRE(job.height == block.height);
      REQUIRE(job.orientation == block.orientation);
      REQUIRE(job.component == block.component);
      REQUIRE(job.max_bit_planes == block.max_bit_planes);
      REQUIRE(job.size == tier1_size(block.width, block.height));
      REQUIRE(job.weight == laid.plan.subbands[block.subband].distortion_weight);
      // Room for a bit and a sign of every sample, and for the decisions of interrupted runs.
      const uint64_t samples = uint64_t{block.width} * block.height;
      uint64_t room = 0;
      if (form == Tier1Form::kClassic) {
        room = tier1_symbol_capacity(block.width, block.height, block.max_bit_planes);
        REQUIRE(room >= samples * (block.max_bit_planes + 1u) + samples / 2);
      } else if (form == Tier1Form::kCibo) {
        room = 2 * tier1_symbol_capacity(block.width, block.height, 1);
        REQUIRE(room >= 2 * (2 * samples + samples / 2));
      }
      REQUIRE(room % 16 == 0);
      REQUIRE(job.bytes_capacity % 16 == 0);
      REQUIRE(job.bytes_capacity >= samples * block.max_bit_planes / 8);
      symbols += room;
      bytes += job.bytes_capacity;
      passes += 3u * block.max_bit_planes - 2;
      max_planes = std::max<uint32_t>(max_planes, block.max_bit_planes);
    }
    CHECK(layout.frame_symbols == symbols);
    CHECK(layout.frame_bytes == bytes);
    CHECK(layout.frame_passes == passes);
    CHECK(layout.max_bit_planes == max_planes);
  }
}

/// A block as some form of tier-1 leaves it on the device, and the same block on the host.
struct Coded {
  TestBlock source;
  std::vector<CodingPass> passes;
  std::vector<PassTail> tails;
  std::vector<uint8_t> bytes;
  bool finished;
  int planes_left;
};

Coded code(const Tier1Job& job, uint32_t style, bool reversible, uint64_t seed) {
  static TestOutput output;
  std::mt19937_64 random(seed);
  const auto fill = cj2k::test::kFills[random() % std::size(cj2k::test::kFills)];
  const int planes = static_cast<int>(random() % (job.max_bit_planes + 1u));
  Coded coded{TestBlock(job.width, job.height, planes, fill, seed), {}, {}, {}, true, 0};
  const Orientation orientation = static_cast<Orientation>(job.orientation);
  ref::encode_block(coded.source.block(orientation, style, reversible), output.out);
  int num_passes = output.out.num_passes;
  const int bit_planes = coded.source.bit_planes();
  // One block in three pauses after some plane, a few of them before the first plane.
  if (bit_planes > 0 && random() % 3 == 0) {
    coded.finished = false;
    const int coded_planes = static_cast<int>(random() % static_cast<uint64_t>(bit_planes));
    num_passes = num_passes_of(coded_planes);
    coded.planes_left = bit_planes - coded_planes;
  }
  coded.passes.assign(output.out.passes, output.out.passes + num_passes);
  coded.tails.assign(output.out.tails, output.out.tails + num_passes);
  coded.bytes.assign(output.out.bytes, output.out.bytes + output.out.num_bytes);
  REQUIRE(coded.bytes.size() <= job.bytes_capacity);
  return coded;
}

/// Writes bit-planes in the layout of kernels/ebcot/quantize.h.
void write_planes(const TestBlock& source, uint64_t* words) {
  const int width = source.width(), bits = source.bit_planes();
  const size_t words_wide = static_cast<size_t>((width + 15) / 16);
  const size_t plane_words = words_wide * static_cast<size_t>((source.height() + 3) / 4);
  std::fill_n(words, plane_words * static_cast<size_t>(bits > 0 ? bits + 1 : 0), 0);
  for (size_t i = 0; bits > 0 && i < source.count(); ++i) {
    const size_t x = i % static_cast<size_t>(width), y = i / static_cast<size_t>(width);
    uint64_t* word = words + y / 4 * words_wide + x / 16;
    const size_t bit = x % 16 * 4 + y % 4;
    *word |= uint64_t{source.negative(i)} << bit;
    for (int p = 0; p < bits; ++p) {
      word[static_cast<size_t>(bits - p) * plane_words] |= uint64_t{source.magnitude(i) >> p & 1}
                                                           << bit;
    }
  }
}

/// A GOP of coded blocks.
struct Gop {
  static constexpr uint32_t kFrames = 2;
  Laid laid;
  uint32_t style;
  bool reversible;
  std::vector<Coded> blocks;
  simt::DeviceBuffer jobs, words, magnitudes, bytes, passes, tails, states;
  Tier1Buffers buffers{};

  Gop(Gpu& gpu, const Plan& plan, uint64_t seed)
      : laid(lay_out(plan, Tier1Form::kFused)),
        style(static_cast<uint32_t>(plan.params.cblk_style)),
        reversible(plan.reversible) {
    const Tier1Layout& layout = laid.layout;
    const size_t num_jobs = layout.jobs.size(), num_passes = kFrames * layout.frame_passes;
    std::mt19937_64 random(seed);
    std::vector<uint64_t> host_words(kFrames * laid.frame_words);
    for (uint64_t& w : host_words) w = random();  // words that are not written must not matter
    std::vector<uint32_t> host_magnitudes;
    std::vector<uint8_t> host_bytes(kFrames * layout.frame_bytes, 0xA5);
    std::vector<CodingPass> host_passes(num_passes, {12345, 3, -7});
    std::vector<PassTail> host_tails(num_passes, {54321, 5, {}});
    std::vector<Tier1State> host_states;
    for (uint32_t f = 0; f < kFrames; ++f) {
      for (const Tier1Job& job : layout.jobs) {
        blocks.push_back(code(job, style, reversible, random()));
        const Coded& b = blocks.back();
        write_planes(b.source, host_words.data() + f * laid.frame_words + job.first_word);
        uint32_t magnitude = 0;
        for (size_t i = 0; i < b.source.count(); ++i) magnitude |= b.source.magnitude(i);
        host_magnitudes.push_back(magnitude);
        const size_t first_pass = f * size_t{layout.frame_passes} + job.first_pass;
        std::copy(
            b.bytes.begin(), b.bytes.end(),
            host_bytes.begin() + static_cast<ptrdiff_t>(f * layout.frame_bytes + job.bytes_offset));
        std::copy(b.passes.begin(), b.passes.end(),
                  host_passes.begin() + static_cast<ptrdiff_t>(first_pass));
        std::copy(b.tails.begin(), b.tails.end(),
                  host_tails.begin() + static_cast<ptrdiff_t>(first_pass));
        Tier1State state{};
        state.num_bytes = static_cast<uint32_t>(b.bytes.size());
        state.num_passes = static_cast<uint8_t>(b.passes.size());
        state.finished = b.finished;
        state.paused = !b.finished && !b.passes.empty();
        host_states.push_back(state);
      }
    }
    jobs = gpu.upload(layout.jobs);
    words = gpu.upload(host_words);
    magnitudes = gpu.upload(host_magnitudes);
    bytes = gpu.upload(host_bytes);
    passes = gpu.upload(host_passes);
    states = gpu.upload(host_states);
    if ((style & kPterm) != 0) tails = gpu.upload(host_tails);
    buffers.jobs = jobs.as<Tier1Job>();
    buffers.shared_jobs = buffers.num_blocks = static_cast<uint32_t>(num_jobs);
    buffers.planes = {words.as<uint64_t>(), laid.frame_words, magnitudes.as<uint32_t>()};
    buffers.frame_bytes = layout.frame_bytes;
    buffers.frame_passes = layout.frame_passes;
    buffers.bytes = bytes.as<uint8_t>();
    buffers.passes = passes.as<CodingPass>();
    buffers.tails = (style & kPterm) != 0 ? tails.as<PassTail>() : nullptr;
    buffers.states = states.as<Tier1State>();
  }
  const Tier1Job& job(uint32_t block) const { return laid.layout.jobs[block % buffers.num_blocks]; }

  /// `count` blocks in any order, but grouped by size.
  std::vector<uint32_t> pick(size_t count, uint64_t seed) const {
    std::vector<uint32_t> list(blocks.size());
    std::iota(list.begin(), list.end(), 0u);
    std::shuffle(list.begin(), list.end(), std::mt19937_64(seed));
    list.resize(std::min(count, list.size()));
    std::stable_sort(list.begin(), list.end(),
                     [&](uint32_t a, uint32_t b) { return job(a).size < job(b).size; });
    return list;
  }
};

/// Counts what has been compared.
struct Totals {
  size_t blocks = 0, points = 0, segments = 0, tails = 0, paused = 0, bytes = 0;
  size_t packed = 0, cut = 0, no_room = 0;
};

void compare_block(const Gop& gop, uint32_t number, bool keep_all, const Tier1Result& result,
                   const HullPoint* hull, const SegmentEnd* segments, const PassTail* tails,
                   Totals& totals) {
  const Coded& b = gop.blocks[number];
  const Tier1Job& job = gop.job(number);
  INFO("block ", number, ": ", job.width, "x", job.height, ", planes ", b.source.bit_planes());
  HullPoint expected[kMaxPasses];
  double total = 0;
  const auto num_passes = static_cast<int>(b.passes.size());
  const int points =
      build_hull(b.passes.data(), num_passes, job.weight, keep_all, expected, &total);
  REQUIRE(result.num_hull == points);
  REQUIRE(result.num_passes == num_passes);
  REQUIRE(result.bit_planes == b.source.bit_planes());
  REQUIRE(result.planes_left == b.planes_left);
  REQUIRE(result.num_bytes == b.bytes.size());
  REQUIRE(std::bit_cast<uint64_t>(result.total_distortion) == std::bit_cast<uint64_t>(total));
  double left = 0;
  if (b.planes_left > 0) {
    left = job.weight *
           LeftPlanes(b.planes_left, gop.reversible)
               .error(ref::left_distortion(b.source.samples().data(), b.source.stride(), job.width,
                                           job.height, b.planes_left, gop.reversible));
    ++totals.paused;
  }
  REQUIRE(std::bit_cast<uint64_t>(result.left_distortion) == std::bit_cast<uint64_t>(left));
  if (points > 0) {
    REQUIRE(std::memcmp(hull, expected, static_cast<size_t>(points) * sizeof(HullPoint)) == 0);
  }
  for (int pass = 0; segments != nullptr && pass < num_passes; ++pass) {
    if (!pass_terminates(gop.style, pass)) continue;
    REQUIRE(segments->bytes == b.passes[static_cast<size_t>(pass)].length_bytes);
    REQUIRE(segments->passes == static_cast<uint32_t>(pass + 1));
    ++segments;
    ++totals.segments;
  }
  for (int i = 0; tails != nullptr && i < points; ++i) {
    const int pass = expected[i].passes - 1;
    const bool last = pass + 1 == num_passes && b.finished;
    const PassTail tail =
        last || pass_terminates(gop.style, pass) ? PassTail{} : b.tails[static_cast<size_t>(pass)];
    REQUIRE(std::memcmp(tails + i, &tail, sizeof tail) == 0);
    totals.tails += tail.count > 0;
  }
  ++totals.blocks;
  totals.points += static_cast<size_t>(points);
}

/// Packs the bytes of the blocks of a list after its hulls. A part of the thresholds is 0.
/// @param share  of the room that all blocks need, in quarters; 4: all fit
void check_packed(Gpu& gpu, const Gop& gop, const std::vector<uint32_t>& list,
                  const Tier1List& device_list, const Tier1Output& output, bool keep_all,
                  bool has_thresholds, uint32_t share, Totals& totals) {
  std::mt19937_64 random(list.size() + share);
  std::vector<uint16_t> thresholds(Gop::kFrames * CJ2K_MAX_COMPONENTS);
  for (uint16_t& t : thresholds)
    t = static_cast<uint16_t>(random() % 3 == 0 ? 0 : kMaxSlope * 3 / 8 + random() % 2048);
  std::vector<uint32_t> lengths;
  uint32_t total = 0;
  for (const uint32_t number : list) {
    const Coded& b = gop.blocks[number];
    HullPoint hull[kMaxPasses];
    double removed = 0;
    const int points = build_hull(b.passes.data(), static_cast<int>(b.passes.size()),
                                  gop.job(number).weight, keep_all, hull, &removed);
    const size_t frame = number / gop.buffers.num_blocks;
    const Tier1Job& job = gop.job(number);
    const uint32_t threshold =
        has_thresholds ? pause_threshold(thresholds[frame * CJ2K_MAX_COMPONENTS + job.component],
                                         static_cast<Orientation>(job.orientation))
                       : 0;
    uint32_t length = 0;
    int taken = 0;
    while (taken < points && hull[taken].slope + kPackMargin >= threshold)
      length = hull[taken++].length_bytes;
    totals.cut += taken < points;
    lengths.push_back(length);
    total += (length + 15) / 16;
  }
  const uint32_t room = total * share / 4;
  const auto on_device = gpu.upload(thresholds);
  const auto packed = gpu.make<PackedBytes>(list.size());
  const auto bytes = gpu.make<uint8_t>(room * 16);
  const auto sum = gpu.upload(std::vector<uint32_t>(1, kPoison));
  REQUIRE(tier1_pack(gpu.stream, gop.buffers, device_list,
                     {has_thresholds ? on_device.as<uint16_t>() : nullptr}, output,
                     {packed.as<PackedBytes>(), bytes.as<uint8_t>(), room, sum.as<uint32_t>()}) ==
          Status::kOk);
  REQUIRE(gpu.download<uint32_t>(sum, 1)[0] == total);
  const auto host_packed = gpu.download<PackedBytes>(packed, list.size());
  const auto host_bytes = gpu.download<uint8_t>(bytes, room * 16);
  std::vector<int> used(room);
  for (size_t i = 0; i < list.size(); ++i) {
    const PackedBytes& one = host_packed[i];
    if (one.length_bytes == 0 && lengths[i] > 0) {
      REQUIRE(share < 4);
      ++totals.no_room;
      continue;
    }
    REQUIRE(one.length_bytes == lengths[i]);
    const uint32_t units = (lengths[i] + 15) / 16;
    if (units == 0) continue;
    REQUIRE(one.first + units <= room);
    for (uint32_t u = 0; u < units; ++u) REQUIRE(used[one.first + u]++ == 0);
    REQUIRE(std::memcmp(host_bytes.data() + size_t{16} * one.first,
                        gop.blocks[list[i]].bytes.data(), lengths[i]) == 0);
    ++totals.packed;
  }
}

void check_hulls(Gpu& gpu, const Gop& gop, const std::vector<uint32_t>& list, bool keep_all,
                 Totals& totals) {
  size_t num_points = 0, num_segments = 0;
  Tier1List device_list{nullptr, {0, 0, 0}};
  for (const uint32_t number : list) {
    const Coded& b = gop.blocks[number];
    HullPoint hull[kMaxPasses];
    double total = 0;
    const int passes = static_cast<int>(b.passes.size());
    num_points += static_cast<size_t>(
        build_hull(b.passes.data(), passes, gop.job(number).weight, keep_all, hull, &total));
    for (int pass = 0; pass < passes; ++pass) num_segments += pass_terminates(gop.style, pass);
    ++device_list.counts[gop.job(number).size];
  }
  const bool with_segments = (gop.style & (kBypass | kTermAll)) != 0;
  const bool with_tails = (gop.style & kPterm) != 0;
  // The buffers have exactly the room needed. A canary lies behind each.
  const auto blocks = gpu.upload(list);
  const auto results = gpu.make<Tier1Result>(list.size());
  const auto hull = gpu.make<HullPoint>(num_points);
  const auto segments = gpu.make<SegmentEnd>(num_segments);
  const auto tails = gpu.make<PassTail>(num_points);
  const auto sums = gpu.upload(std::vector<uint32_t>(2, kPoison));
  device_list.blocks = blocks.as<uint32_t>();
  const Tier1Output output{results.as<Tier1Result>(), hull.as<HullPoint>(),
                           with_segments ? segments.as<SegmentEnd>() : nullptr,
                           with_tails ? tails.as<PassTail>() : nullptr, sums.as<uint32_t>()};
  REQUIRE(tier1_hull(gpu.stream, gop.buffers, device_list, gop.style, gop.reversible, keep_all,
                     output) == Status::kOk);
  const auto host_results = gpu.download<Tier1Result>(results, list.size());
  const auto host_hull = gpu.download<HullPoint>(hull, num_points);
  const auto host_sums = gpu.download<uint32_t>(sums, 2);
  std::vector<SegmentEnd> host_segments;
  std::vector<PassTail> host_tails;
  if (with_segments) host_segments = gpu.download<SegmentEnd>(segments, num_segments);
  if (with_tails) host_tails = gpu.download<PassTail>(tails, num_points);
  REQUIRE(host_sums[0] == num_points);
  REQUIRE(host_sums[1] == num_segments);

  std::vector<int> hull_used(num_points), segments_used(num_segments);
  for (size_t i = 0; i < list.size(); ++i) {
    const Tier1Result& r = host_results[i];
    REQUIRE(r.first_hull + r.num_hull <= num_points);
    for (uint32_t k = 0; k < r.num_hull; ++k) ++hull_used[r.first_hull + k];
    if (with_segments) {
      const auto count = static_cast<uint32_t>(num_terminated(gop.style, r.num_passes));
      REQUIRE(r.first_segment + count <= num_segments);
      for (uint32_t k = 0; k < count; ++k) ++segments_used[r.first_segment + k];
    }
    compare_block(gop, list[i], keep_all, r, host_hull.data() + r.first_hull,
                  with_segments ? host_segments.data() + r.first_segment : nullptr,
                  with_tails ? host_tails.data() + r.first_hull : nullptr, totals);
  }
  REQUIRE(std::count(hull_used.begin(), hull_used.end(), 1) == static_cast<ptrdiff_t>(num_points));
  REQUIRE(std::count(segments_used.begin(), segments_used.end(), 1) ==
          static_cast<ptrdiff_t>(num_segments));
  for (const bool has_thresholds : {false, true}) {
    for (const uint32_t share : {4u, 2u}) {
      check_packed(gpu, gop, list, device_list, output, keep_all, has_thresholds, share, totals);
    }
  }
}

TEST_CASE("tier-1 hulls: what the host makes of the same passes") {
  Totals totals;
  for_each_seed("hulls", [&](Gpu& gpu, uint64_t seed) {
    struct Case {
      const char *wavelet, *size, *cblk;
      uint32_t style;
      bool keep_all;
    };
    for (const Case& c :
         {Case{"9/7", "97x61", "32x32", 0, false}, Case{"5/3", "129x70", "64x64", kBypass, true},
          Case{"5/3", "50x200", "4x256", kTermAll | kPterm, false},
          Case{"9/7", "61x93", "16x64", kPterm, false},
          Case{"9/7", "211x9", "1024x4", kBypass | kPterm, true}}) {
      INFO(c.wavelet, " ", c.size, " style ", c.style);
      const Gop gop(gpu, small_plan(c.wavelet, c.size, c.style, c.cblk), seed);
      for (const size_t count : {gop.blocks.size(), size_t{33}, size_t{1}, size_t{0}}) {
        check_hulls(gpu, gop, gop.pick(count, seed + count), c.keep_all, totals);
      }
    }
  });
  CHECK(totals.tails > 0);
  CHECK(totals.segments > 0);
  CHECK(totals.paused > 0);
  CHECK(totals.packed > 0);
  CHECK(totals.cut > 0);
  CHECK(totals.no_room > 0);
  MESSAGE(totals.blocks << " blocks (" << totals.paused << " not finished), " << totals.points
                        << " hull points, " << totals.segments << " segment ends, " << totals.tails
                        << " tails equal the host's");
}

/// The blocks that a call adds: those with Tier1State::stopped keep their results.
std::vector<uint8_t> stop_some(Gpu& gpu, Gop& gop, uint64_t seed) {
  auto states = gpu.download<Tier1State>(gop.states, gop.blocks.size());
  std::mt19937_64 random(seed);
  std::vector<uint8_t> stopped;
  for (Tier1State& state : states) stopped.push_back(state.stopped = random() % 2);
  gop.states = gpu.upload(states);
  gop.buffers.states = gop.states.as<Tier1State>();
  return stopped;
}

uint32_t num_points(const Gop& gop, uint32_t number) {
  const Coded& b = gop.blocks[number];
  HullPoint hull[kMaxPasses];
  double total = 0;
  return static_cast<uint32_t>(build_hull(b.passes.data(), static_cast<int>(b.passes.size()),
                                          gop.job(number).weight, false, hull, &total));
}

TEST_CASE("tier-1 hulls by number: a second call adds to the first") {
  Totals totals;
  for_each_seed("hulls by number", [&](Gpu& gpu, uint64_t seed) {
    Gop gop(gpu, small_plan("9/7", "97x161", 0, "32x32"), seed);
    const std::vector<uint32_t> all = gop.pick(gop.blocks.size(), seed);
    const std::vector<uint32_t> half(all.begin(),
                                     all.begin() + static_cast<ptrdiff_t>(all.size() / 2));
    const auto d_all = gpu.upload(all);
    const auto size = [](const auto& list) { return static_cast<uint32_t>(list.size()); };
    const Tier1List first{d_all.as<uint32_t>(), {size(half), 0, 0}};
    const Tier1List list{d_all.as<uint32_t>(), {size(all) - 7, 4, 3}};
    std::vector<uint8_t> stopped = stop_some(gpu, gop, seed);
    uint32_t points = 0;
    for (const uint32_t number : half) points += num_points(gop, number);
    for (size_t i = 0; i < all.size(); ++i) {
      if (stopped[all[i]] == 0) points += num_points(gop, all[i]);
    }
    for (const uint32_t missing : {0u, 9u}) {
      const auto results = gpu.upload(std::vector<Tier1Result>(all.size()));
      const auto hull = gpu.make<HullPoint>(points - missing);
      const auto sums = gpu.upload(std::vector<uint32_t>(2, kPoison));
      Tier1Output output{results.as<Tier1Result>(),
                         hull.as<HullPoint>(),
                         nullptr,
                         nullptr,
                         sums.as<uint32_t>(),
                         true};
      output.room = points - missing;
      REQUIRE(tier1_hull(gpu.stream, gop.buffers, first, 0, false, false, output) == Status::kOk);
      output.adds = true;
      REQUIRE(tier1_hull(gpu.stream, gop.buffers, list, 0, false, false, output) == Status::kOk);
      REQUIRE(gpu.download<uint32_t>(sums, 2)[0] == points);
      const auto host_results = gpu.download<Tier1Result>(results, all.size());
      const auto host_hull = gpu.download<HullPoint>(hull, points - missing);
      for (size_t i = 0; i < all.size(); ++i) {
        const Tier1Result& r = host_results[all[i]];
        if (stopped[all[i]] != 0 && i >= half.size()) {
          REQUIRE(r.num_passes == 0);  // not written
          REQUIRE(r.left_distortion == 0);
          continue;
        }
        if (missing > 0 && r.num_hull == 0 && num_points(gop, all[i]) > 0) {
          ++totals.cut;
          continue;
        }
        compare_block(gop, all[i], false, r, host_hull.data() + r.first_hull, nullptr, nullptr,
                      totals);
      }
    }
  });
  CHECK(totals.cut > 0);
  CHECK(totals.paused > 0);
}

TEST_CASE("tier-1 gather: the first bytes of blocks, and nothing else") {
  Totals totals;
  for_each_seed("gather", [&](Gpu& gpu, uint64_t seed) {
    const Gop gop(gpu, small_plan("9/7", "131x77", 0, "64x64"), seed);
    for (const size_t count : {gop.blocks.size(), size_t{5}, size_t{1}, size_t{0}}) {
      std::mt19937_64 random(seed);
      std::vector<GatherJob> jobs;
      uint64_t end = 0;
      for (const uint32_t number : gop.pick(count, seed)) {
        const auto bytes = static_cast<uint32_t>(gop.blocks[number].bytes.size());
        const uint32_t length = random() % 4 == 0 ? 0
                                : random() % 2    ? bytes
                                                  : static_cast<uint32_t>(random() % (bytes + 1));
        const Tier1Layout& layout = gop.laid.layout;
        const uint64_t from = number / layout.jobs.size() * layout.frame_bytes +
                              layout.jobs[number % layout.jobs.size()].bytes_offset;
        jobs.push_back({from, end + random() % 3 * 16, length, number, 0, 0});
        end = (jobs.back().to + length + 15) / 16 * 16;
      }
      const auto device_jobs = gpu.upload(jobs);
      const auto out = gpu.upload(std::vector<uint8_t>(end, 0xA5));
      REQUIRE(tier1_gather(gpu.stream, gop.buffers.bytes, device_jobs.as<GatherJob>(),
                           static_cast<uint32_t>(jobs.size()), out.as<uint8_t>()) == Status::kOk);
      std::vector<uint8_t> actual = gpu.download<uint8_t>(out, end);
      std::vector<uint8_t> expected(end, 0xA5);
      for (const GatherJob& job : jobs) {
        const std::vector<uint8_t>& bytes = gop.blocks[job.block].bytes;
        std::copy_n(bytes.begin(), job.length_bytes,
                    expected.begin() + static_cast<ptrdiff_t>(job.to));
        // Up to the next multiple of 16, any bytes are allowed.
        const uint64_t from = job.to + job.length_bytes, to = (from + 15) / 16 * 16;
        for (uint64_t i = from; i < to; ++i) actual[i] = expected[i];
        totals.bytes += job.length_bytes;
      }
      REQUIRE(first_difference(actual, expected) == -1);
    }
  });
  CHECK(totals.bytes > 0);
  MESSAGE(totals.bytes << " bytes gathered");
}

}  // namespace
}  // namespace cj2k::cuda
