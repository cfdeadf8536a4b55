// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The tier-1 kernels against the reference: decisions, distortions, passes, lengths, bytes, tails.
#include <algorithm>
#include <cstring>
#include <span>

#include "shim/support.h"

// core/ after simt/: both define CJ2K_SIMT_HD.
#include "core/segments.h"
#include "support/test_blocks.h"
#include "tier1.h"

namespace cj2k::cuda {
namespace {

using cj2k::test::Fill;
using cj2k::test::TestBlock;
using cj2k::test::TestOutput;
using simt::test::Gpu;

#if defined(CJ2K_SIMT_SHIM)
const std::string kImplementation = "shim";
#else
const std::string kImplementation = "cuda";
#endif

struct Item {
  TestBlock source;
  Orientation orientation;
  bool reversible;
};

/// Bit-planes as tier1.h lays them out.
void append_planes(const TestBlock& source, std::vector<uint64_t>& words) {
  const int width = source.width(), height = source.height();
  const uint32_t words_wide = static_cast<uint32_t>((width + 15) / 16);
  const size_t first = words.size(), plane_words = tier1_plane_words(width, height);
  words.resize(first + plane_words * static_cast<size_t>(source.bit_planes() + 1));
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const size_t i = static_cast<size_t>(y * width + x);
      const size_t word =
          first + static_cast<size_t>(y / 4) * words_wide + static_cast<size_t>(x / 16);
      const int bit = x % 16 * 4 + y % 4;
      words[word] |= static_cast<uint64_t>(source.negative(i)) << bit;
      for (int p = 0; p < source.bit_planes(); ++p) {
        words[word + static_cast<size_t>(source.bit_planes() - p) * plane_words] |=
            static_cast<uint64_t>(source.magnitude(i) >> p & 1) << bit;
      }
    }
  }
}

/// What the kernels made of a batch, on the host.
struct Result {
  std::vector<Tier1Job> jobs;
  std::vector<uint8_t> symbols, bytes;
  std::vector<PassSymbols> pass_symbols;
  std::vector<CodingPass> passes;
  std::vector<PassTail> tails;
  std::vector<uint32_t> num_bytes;
};

struct Options {
  uint64_t seed = 1;
  int split_plane = 0;             ///< modelling in two calls, the second from this plane on
  uint32_t capacity = UINT32_MAX;  ///< of each block's bytes, at most
};

Result run(const std::vector<Item>& items, uint32_t style, const Options& options) {
  Gpu gpu(options.seed);
  Result r;
  std::vector<uint64_t> words;
  std::vector<uint32_t> lists[kTier1Sizes], all;
  size_t symbols = 0, bytes = 0;
  uint32_t passes = 0;
  for (const Item& item : items) {
    const TestBlock& b = item.source;
    const uint32_t capacity =
        std::min(options.capacity, tier1_byte_capacity(b.width(), b.height(), b.bit_planes()));
    r.jobs.push_back({words.size(), symbols, bytes, capacity, passes,
                      static_cast<uint16_t>(b.width()), static_cast<uint16_t>(b.height()),
                      item.orientation, static_cast<uint8_t>(b.bit_planes()),
                      static_cast<uint8_t>(item.reversible)});
    lists[tier1_size(b.width(), b.height())].push_back(static_cast<uint32_t>(all.size()));
    all.push_back(static_cast<uint32_t>(all.size()));
    append_planes(b, words);
    symbols += tier1_symbol_capacity(b.width(), b.height(), b.bit_planes());
    bytes += capacity;
    passes += tier1_passes(b.bit_planes());
  }
  // Any order of blocks will do.
  std::shuffle(all.begin(), all.end(), std::mt19937_64(options.seed));

  const auto d_jobs = gpu.upload(r.jobs);
  const auto d_words = gpu.upload(words);
  const size_t at_least_one = passes + 1;
  const auto d_symbols = gpu.make<uint8_t>(symbols + 16);
  const auto d_bytes = gpu.make<uint8_t>(bytes + 8);
  const auto d_pass_symbols = gpu.make<PassSymbols>(at_least_one);
  const auto d_passes = gpu.make<CodingPass>(at_least_one);
  const auto d_tails = gpu.make<PassTail>(at_least_one);
  const auto d_snapshots = gpu.make<Tier1Snapshot>(at_least_one);
  const auto d_num_bytes = gpu.make<uint32_t>(items.size());
  const bool pterm = (style & CJ2K_STYLE_PTERM) != 0;
  const Tier1Buffers buffers{
      d_jobs.as<Tier1Job>(),          d_words.as<uint64_t>(),
      d_symbols.as<uint8_t>(),        d_pass_symbols.as<PassSymbols>(),
      d_bytes.as<uint8_t>(),          d_num_bytes.as<uint32_t>(),
      d_passes.as<CodingPass>(),      pterm ? d_tails.as<PassTail>() : nullptr,
      d_snapshots.as<Tier1Snapshot>()};
  for (int size = 0; size < kTier1Sizes; ++size) {
    if (lists[size].empty()) continue;
    const auto d_list = gpu.upload(lists[size]);
    const Tier1List list{d_list.as<uint32_t>(), static_cast<uint32_t>(lists[size].size())};
    if (options.split_plane > 0) {
      REQUIRE(tier1_model(gpu.stream, buffers, list, size, style, kMaxBitPlanes,
                          options.split_plane) == Status::kOk);
    }
    REQUIRE(tier1_model(gpu.stream, buffers, list, size, style,
                        options.split_plane > 0 ? options.split_plane - 1 : kMaxBitPlanes,
                        0) == Status::kOk);
    REQUIRE(gpu.stream.synchronize() == Status::kOk);
  }
  const auto d_all = gpu.upload(all);
  REQUIRE(tier1_mq(gpu.stream, buffers, {d_all.as<uint32_t>(), static_cast<uint32_t>(all.size())},
                   style) == Status::kOk);
  r.symbols = gpu.download<uint8_t>(d_symbols, symbols);
  r.bytes = gpu.download<uint8_t>(d_bytes, bytes);
  r.pass_symbols = gpu.download<PassSymbols>(d_pass_symbols, passes);
  r.passes = gpu.download<CodingPass>(d_passes, passes);
  r.tails = gpu.download<PassTail>(d_tails, passes);
  r.num_bytes = gpu.download<uint32_t>(d_num_bytes, items.size());
  return r;
}

void require_same(const Tier1Output& actual, const Tier1Output& expected, uint32_t style,
                  const std::string& what) {
  INFO(what);
  REQUIRE(actual.num_passes == expected.num_passes);
  for (int i = 0; i < expected.num_passes; ++i) {
    INFO("pass ", i);
    const CodingPass &p = actual.passes[i], &q = expected.passes[i];
    REQUIRE(p.distortion == q.distortion);
    REQUIRE(p.length_bytes == q.length_bytes);
    REQUIRE(p.plane == q.plane);
    if ((style & CJ2K_STYLE_PTERM) == 0 || i + 1 == expected.num_passes ||
        pass_terminates(style, i)) {
      continue;
    }
    const PassTail &t = actual.tails[i], &u = expected.tails[i];
    REQUIRE(t.offset_bytes == u.offset_bytes);
    REQUIRE(t.count == u.count);
    REQUIRE(std::memcmp(t.bytes, u.bytes, t.count) == 0);
  }
  REQUIRE(actual.num_bytes == expected.num_bytes);
  REQUIRE(std::memcmp(actual.bytes, expected.bytes, expected.num_bytes) == 0);
}

/// What has been compared so far.
struct Totals {
  size_t blocks = 0, passes = 0, symbols = 0, bytes = 0;
};

void compare(const std::vector<Item>& items, uint32_t style, const Options& options,
             Totals& totals) {
  static TestOutput expected, by_host;
  Result r = run(items, style, options);
  for (size_t i = 0; i < items.size(); ++i) {
    const Tier1Job& job = r.jobs[i];
    const Tier1Block block =
        items[i].source.block(items[i].orientation, style, items[i].reversible);
    INFO("block ", i, ": ", block.width, "x", block.height, " style ", style, " orientation ",
         static_cast<int>(block.orientation), " planes ", block.bit_planes, " seed ", options.seed);
    ref::encode_block(block, expected.out);
    const std::span<const PassSymbols> pass_symbols(r.pass_symbols.data() + job.first_pass,
                                                    static_cast<size_t>(expected.out.num_passes));

    // The kernel's decisions through the host's coder: modelling alone.
    SegmentCoder<> coder(style, by_host.out);
    size_t end = 0;
    for (const PassSymbols& p : pass_symbols) {
      coder.code_pass(r.symbols.data() + job.symbols_bytes + p.offset_bytes, p.count,
                      static_cast<int>(p.plane), p.distortion, &p == &pass_symbols.back());
      REQUIRE(p.offset_bytes == (end + 15) / 16 * 16);
      end = p.offset_bytes + p.count;
      totals.symbols += p.count;
    }
    REQUIRE(end <= tier1_symbol_capacity(block.width, block.height, block.bit_planes));
    require_same(by_host.out, expected.out, style, "modelling");

    REQUIRE(r.num_bytes[i] <= job.bytes_capacity);
    const Tier1Output actual{r.bytes.data() + job.bytes_offset, r.passes.data() + job.first_pass,
                             r.tails.data() + job.first_pass, expected.out.num_passes,
                             r.num_bytes[i]};
    require_same(actual, expected.out, style, "MQ");
    ++totals.blocks;
    totals.passes += pass_symbols.size();
    totals.bytes += r.num_bytes[i];
  }
}

constexpr Orientation kOrientations[] = {kLL, kHL, kLH, kHH};
constexpr uint64_t kSchedules[] = {1, 2, 0xC0FFEE};

Item make_item(int width, int height, int planes, uint64_t seed) {
  const uint64_t mixed = std::mt19937_64(seed)();
  const Fill fill = cj2k::test::kFills[mixed % std::size(cj2k::test::kFills)];
  return {TestBlock(width, height, planes, fill, seed), kOrientations[mixed >> 16 & 3],
          (mixed >> 18 & 1) != 0};
}

void report(const std::string& what, const Totals& totals) {
  MESSAGE(what << " on " << kImplementation << ": " << totals.blocks << " blocks, " << totals.passes
               << " passes, " << totals.symbols << " decisions, " << totals.bytes
               << " bytes equal the reference");
}

TEST_CASE("tier-1 kernels: all styles, orientations and fills") {
  Totals totals;
  uint64_t seed = 0;
  for (const uint64_t schedule : kSchedules) {
    for (uint32_t style = 0; style < 64; ++style) {
      std::vector<Item> items;
      for (const auto& [width, height] :
           {std::pair{1, 1}, {3, 5}, {17, 33}, {32, 32}, {16, 4}, {9, 8}, {33, 6}, {64, 64}}) {
        ++seed;
        items.push_back(make_item(width, height, 1 + static_cast<int>(seed * 5 % 9), seed));
      }
      items.insert(items.begin() + 2, make_item(8, 8, 0, seed));
      compare(items, style, {.seed = schedule}, totals);
    }
  }
  report("styles", totals);
}

TEST_CASE("tier-1 kernels: all shapes") {
  Totals totals;
  uint64_t seed = 1000;
  for (const uint64_t schedule : kSchedules) {
    for (const uint32_t style : {0u, 8u + 32u, 63u, 1u, 5u, 16u + 1u}) {
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
                                          {256, 16},
                                          {8, 512},
                                          {512, 8},
                                          {682, 6}}) {
        ++seed;
        items.push_back(make_item(width, height, 1 + static_cast<int>(seed % 6), seed));
      }
      compare(items, style, {.seed = schedule}, totals);
    }
  }
  report("shapes", totals);
}

TEST_CASE("tier-1 kernels: many blocks in a launch, blocks of zeros among them") {
  Totals totals;
  for (const uint64_t schedule : kSchedules) {
    std::vector<Item> items;
    for (uint64_t seed = 0; seed < 200; ++seed) {
      const int width = 1 + static_cast<int>(seed * 7 % 40),
                height = 1 + static_cast<int>(seed * 11 % 36);
      items.push_back(
          make_item(width, height, seed % 5 == 0 ? 0 : static_cast<int>(seed % 13), seed));
    }
    compare(items, static_cast<uint32_t>(schedule % 64), {.seed = schedule}, totals);
    compare({items.begin(), items.begin() + 1}, 0, {.seed = schedule}, totals);
  }
  report("launches", totals);
}

TEST_CASE("tier-1 kernels: all numbers of bit-planes") {
  Totals totals;
  for (const uint32_t style : {0u, 1u, 1u + 16u + 8u, 63u}) {
    std::vector<Item> items;
    for (int planes = 0; planes <= kMaxBitPlanes; ++planes) {
      items.push_back(make_item(19, 9, planes, static_cast<uint64_t>(planes) * 64 + style));
    }
    compare(items, style, {}, totals);
  }
  report("planes", totals);
}

/// The most decisions and bytes that a block can make: the buffers hold them.
TEST_CASE("tier-1 kernels: worst cases") {
  Totals totals;
  for (const uint32_t style : {0u, 63u, 63u - 16u, 1u + 4u}) {
    std::vector<Item> items;
    for (const Fill fill : {Fill::kUniform, Fill::kOnes, Fill::kChecker, Fill::kSparse}) {
      for (const auto& [width, height] : {std::pair{64, 64}, {32, 32}, {4, 1024}}) {
        for (const int planes : {1, 16}) {
          items.push_back({TestBlock(width, height, planes, fill, style), kHH, true});
        }
      }
    }
    compare(items, style, {}, totals);
  }
  report("worst cases", totals);
}

TEST_CASE("tier-1 kernels: modelling that goes on from a plane") {
  Totals totals;
  for (const int split : {1, 3, 7}) {
    for (const uint32_t style : {0u, 8u + 1u}) {
      std::vector<Item> items;
      for (uint64_t seed = 0; seed < 14; ++seed) {
        items.push_back(make_item(32, 32, 1 + static_cast<int>(seed % 10), seed));
        items.push_back(make_item(64, 64 - static_cast<int>(seed), 8, seed));
      }
      compare(items, style, {.seed = 3, .split_plane = split}, totals);
    }
  }
  report("split", totals);
}

TEST_CASE("tier-1 kernels: too little room for the bytes is said, and nothing written beyond") {
  std::vector<Item> items;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    items.push_back({TestBlock(32, 32, 9, Fill::kUniform, seed), kLH, false});
  }
  for (const uint32_t style : {0u, 63u}) {
    const Result r = run(items, style, {.capacity = 64});
    for (const uint32_t bytes : r.num_bytes) CHECK(bytes > 64);
  }
}

}  // namespace
}  // namespace cj2k::cuda
