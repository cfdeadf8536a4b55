// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <cstring>
#include <memory>

#include "coders/ebcot/tier1.h"
#include "core/ebcot/segments.h"
#include "pixels/target.h"
#include "support/check.h"
#include "support/test_blocks.h"

namespace cj2k {
namespace {

using namespace check;
using test::Fill;
using test::TestBlock;

constexpr Orientation kOrientations[] = {kLL, kHL, kLH, kHH};

/// A Tier1Output between canaries. bytes[-1] is part of the memory that may be written.
struct GuardedOutput {
  GuardedOutput() : bytes(kMaxBlockBytes + 1, 3), passes(kMaxPasses, 1), tails(kMaxPasses, 1) {
    out = {bytes.data() + 1, passes.data(), tails.data(), 0, 0};
  }
  /// Overwrites what the last block left, which must not influence the next.
  void poison(uint8_t with) {
    std::memset(bytes.data(), with, std::min(bytes.count(), out.num_bytes + 4096));
    std::memset(passes.data(), with, passes.count() * sizeof(CodingPass));
    std::memset(tails.data(), with, tails.count() * sizeof(PassTail));
  }
  bool guards_intact() const {
    return bytes.guards_intact() && passes.guards_intact() && tails.guards_intact();
  }
  Guarded<uint8_t> bytes;
  Guarded<CodingPass> passes;
  Guarded<PassTail> tails;
  Tier1Output out;
};

bool same_passes(const Tier1Output& a, const Tier1Output& b) {
  if (a.num_passes != b.num_passes) return false;
  for (int i = 0; i < a.num_passes; ++i) {
    const CodingPass &p = a.passes[i], &q = b.passes[i];
    if (p.length_bytes != q.length_bytes || p.distortion != q.distortion || p.plane != q.plane) {
      return false;
    }
  }
  return true;
}

bool same_tails(const Tier1Output& a, const Tier1Output& b, uint32_t style) {
  if ((style & CJ2K_STYLE_PTERM) == 0) return true;
  for (int i = 0; i + 1 < a.num_passes; ++i) {
    if (pass_terminates(style, i)) continue;
    const PassTail &p = a.tails[i], &q = b.tails[i];
    if (p.offset_bytes != q.offset_bytes || p.count != q.count ||
        std::memcmp(p.bytes, q.bytes, p.count) != 0) {
      return false;
    }
  }
  return true;
}

bool same_bytes(const Tier1Output& a, const Tier1Output& b) {
  return a.num_bytes == b.num_bytes && std::memcmp(a.bytes, b.bytes, a.num_bytes) == 0;
}

/// One forced target with its own memory, over many blocks. Each block meets what the last one left
/// in the memory.
class Comparison {
 public:
  void run(const TestBlock& source, Orientation orientation, uint32_t style, bool reversible) {
    Tier1Block block = source.block(orientation, style, reversible);
    expected_.poison(0x11);
    ref::encode_block(block, expected_.out);
    REQUIRE(expected_.guards_intact());
    // The last row ends at the end of the memory.
    const size_t bytes = source.samples().size() * sizeof(uint32_t);
    const FencedBytes::Fence fence =
        runs_++ % 2 == 0 ? FencedBytes::Fence::kBehind : FencedBytes::Fence::kBefore;
    FencedBytes fenced(bytes, fence);
    std::memcpy(fenced.data(), source.samples().data(), bytes);
    block.samples = reinterpret_cast<const uint32_t*>(fenced.data());
    for_each_target(simd::tier1_target, [&](const char*) {
      INFO(block.width, "x", block.height, " style ", style, " orientation ",
           static_cast<int>(orientation), " planes ", block.bit_planes);
      actual_.poison(0x77);
      simd::encode_block(block, scratch_, actual_.out);
      REQUIRE(same_passes(actual_.out, expected_.out));
      REQUIRE(same_bytes(actual_.out, expected_.out));
      REQUIRE(same_tails(actual_.out, expected_.out, style));
      REQUIRE(actual_.guards_intact());
    });
    REQUIRE(std::memcmp(fenced.data(), source.samples().data(), bytes) == 0);
  }

 private:
  GuardedOutput expected_, actual_;
  Tier1Scratch scratch_;
  int runs_ = 0;
};

struct Size {
  int width, height;
};

TEST_CASE("tier-1: the targets that run here") {
  std::string names;
  for_each_target(simd::tier1_target, [&](const char* name) { names += std::string(" ") + name; });
  MESSAGE("tier-1 ran on" << names);
}

TEST_CASE("tier-1: every target equals the reference, all styles and orientations") {
  Comparison comparison;
  uint64_t seed = 0;
  for (const Size size : {Size{1, 1}, Size{3, 5}, Size{17, 33}, Size{16, 4}}) {
    for (uint32_t style = 0; style < 64; ++style) {
      for (const Orientation orientation : kOrientations) {
        ++seed;
        const Fill fill = test::kFills[seed % std::size(test::kFills)];
        const int planes = 1 + static_cast<int>(seed * 5 % 9);
        comparison.run(TestBlock(size.width, size.height, planes, fill, seed), orientation, style,
                       seed % 2 == 0);
      }
    }
  }
}

TEST_CASE("tier-1: every target equals the reference, all shapes") {
  Comparison comparison;
  uint64_t seed = 10000;
  std::vector<Size> sizes = {{64, 64},  {32, 32},  {1024, 4}, {4, 1024}, {1024, 1}, {1, 1024},
                             {1024, 3}, {3, 1024}, {63, 65},  {65, 63},  {128, 32}, {16, 256},
                             {256, 16}, {17, 240}, {682, 6},  {585, 7}};
  for (int n = 1; n <= 40; ++n) {
    sizes.push_back({n, 1});
    sizes.push_back({1, n});
    sizes.push_back({n, 1 + n * 7 % 13});
  }
  for (const Size size : sizes) {
    for (int round = 0; round < 3; ++round) {
      ++seed;
      const Fill fill = test::kFills[seed % std::size(test::kFills)];
      comparison.run(TestBlock(size.width, size.height, 1 + static_cast<int>(seed % 6), fill, seed),
                     kOrientations[seed % 4], static_cast<uint32_t>(seed * 11 % 64), seed % 2 == 0);
    }
  }
}

TEST_CASE("tier-1: every target equals the reference, all numbers of bit-planes") {
  Comparison comparison;
  for (int planes = 0; planes <= 31; ++planes) {
    for (const Fill fill : test::kFills) {
      for (const uint32_t style : {0u, 1u, 1u + 16u + 8u, 63u}) {
        const uint64_t seed = static_cast<uint64_t>(planes) * 64 + style;
        comparison.run(TestBlock(19, 9, planes, fill, seed), kOrientations[seed / 7 % 4], style,
                       planes % 2 == 0);
      }
    }
  }
}

/// The most symbols and bytes that a block can have. The buffers must hold them.
TEST_CASE("tier-1: every target equals the reference, worst cases") {
  Comparison comparison;
  for (const Size size : {Size{64, 64}, Size{1024, 4}, Size{4, 1024}}) {
    for (const Fill fill : {Fill::kUniform, Fill::kOnes, Fill::kChecker}) {
      for (const uint32_t style : {0u, 63u}) {
        comparison.run(TestBlock(size.width, size.height, 31, fill, style), kHH, style, true);
      }
    }
  }
}

/// A block that pauses and resumes again and again ends as the same block. Only the bytes that
/// SavedCoder counts are carried over.
TEST_CASE("tier-1: paused and resumed blocks equal whole ones") {
  Tier1Scratch scratch;
  GuardedOutput whole;
  auto paused = std::make_unique<GuardedOutput>(), resumed = std::make_unique<GuardedOutput>();
  for_each_target(simd::tier1_target, [&](const char*) {
    std::mt19937_64 random(5);
    int pauses = 0;
    for (uint64_t seed = 0; seed < 192; ++seed) {
      const uint32_t style = static_cast<uint32_t>(seed % 64) & ~uint32_t{CJ2K_STYLE_PTERM};
      const TestBlock source(
          1 + static_cast<int>(random() % 40), 1 + static_cast<int>(random() % 40),
          1 + static_cast<int>(random() % 14), test::kFills[seed % std::size(test::kFills)], seed);
      const Tier1Block block = source.block(kOrientations[seed % 4], style, seed % 2 == 0);
      simd::encode_block(block, scratch, whole.out);
      SavedCoder saved[2];
      Tier1Stop stop{65535, 0, 1.0, nullptr, &saved[0], false};
      if (seed % 3 == 0) stop.threshold = static_cast<uint16_t>(96 * 256 + random() % 4096);
      paused->poison(0x33);
      simd::encode_block(block, scratch, paused->out, &stop);
      while (stop.paused) {
        ++pauses;
        INFO("seed ", seed, " passes ", paused->out.num_passes);
        const SavedCoder& from = *stop.saved;
        REQUIRE(paused->out.num_passes < whole.out.num_passes);
        REQUIRE(paused->out.num_bytes >=
                paused->out.passes[paused->out.num_passes - 1].length_bytes);
        resumed->poison(0x55);
        std::memcpy(resumed->out.bytes, paused->out.bytes, from.bytes_written);
        std::memcpy(resumed->out.passes, paused->out.passes,
                    static_cast<size_t>(paused->out.num_passes) * sizeof(CodingPass));
        resumed->out.num_passes = paused->out.num_passes;
        // Bytes that need not be kept are not kept.
        SavedCoder copy;
        std::memset(static_cast<void*>(&copy), 0xEE, sizeof copy);
        std::memcpy(static_cast<void*>(&copy), &from, saved_bytes(from.num_passes));
        stop.resume = &copy;
        stop.saved = stop.saved == &saved[0] ? &saved[1] : &saved[0];
        simd::encode_block(block, scratch, resumed->out, &stop);
        REQUIRE(resumed->guards_intact());
        std::swap(paused, resumed);
      }
      INFO("seed ", seed, " style ", style);
      REQUIRE(same_passes(paused->out, whole.out));
      REQUIRE(same_bytes(paused->out, whole.out));
    }
    CHECK(pauses > 800);
  });
}

/// Blocks of all sizes, styles and stops in one queue, and the results of each lane.
class ManyBlocks final : public Tier1Queue {
 public:
  static constexpr size_t kBlocks = 150;

  ManyBlocks() {
    std::mt19937_64 random(11);
    for (size_t i = 0; i < kBlocks; ++i) {
      const auto below = [&](uint64_t n) { return static_cast<int>(random() % n); };
      const uint32_t style = random() % 2 == 0 ? 0 : static_cast<uint32_t>(random() % 64);
      const Fill fill = test::kFills[random() % std::size(test::kFills)];
      // One block in eight has no plane.
      const TestBlock source(1 + below(40), 1 + below(40), i % 8 == 5 ? 0 : 1 + below(14), fill, i);
      sources_.push_back(std::make_unique<TestBlock>(source));
      blocks_.push_back(sources_.back()->block(kOrientations[i % 4], style, i % 2 == 0));
      const bool stops = i % 3 != 1 && (style & CJ2K_STYLE_PTERM) == 0;
      thresholds_.push_back(stops ? static_cast<uint16_t>(90 * 256 + below(4096)) : uint16_t{0});
    }
  }

  /// Encodes each block by itself.
  void encode_alone(Tier1Scratch& scratch) {
    for (next_ = 0; next_ < kBlocks; ++next_) {
      Tier1Task task;
      prepare(0, &task);
      simd::encode_block(task.block, scratch, *task.out, task.stop);
      expected_.push_back(result(0));
    }
  }
  void encode(Tier1Scratch* scratch) {
    next_ = 0;
    results_.assign(kBlocks, {});
    lanes_ended_ = 0;
    simd::encode_blocks(*this, scratch);
    REQUIRE(lanes_ended_ == kTier1Lanes);
  }
  void compare() const {
    for (size_t i = 0; i < kBlocks; ++i) {
      INFO("block ", i, " style ", blocks_[i].style);
      REQUIRE(results_[i].made);
      REQUIRE(results_[i].paused == expected_[i].paused);
      REQUIRE(results_[i].bytes == expected_[i].bytes);
      REQUIRE(results_[i].lengths == expected_[i].lengths);
      REQUIRE(results_[i].distortions == expected_[i].distortions);
    }
  }
  size_t num_paused() const {
    return static_cast<size_t>(std::count_if(expected_.begin(), expected_.end(),
                                             [](const Result& r) { return r.paused; }));
  }

  bool next(int lane, Tier1Task* task) override {
    // The second lane ends early and the first continues alone.
    if (next_ == kBlocks || (lane == 1 && next_ > kBlocks - 10)) {
      ++lanes_ended_;
      return false;
    }
    prepare(lane, task);
    ++next_;
    return true;
  }
  void done(int lane) override { results_[lanes_[lane].index] = result(lane); }

 private:
  struct Result {
    bool made = false, paused = false;
    std::vector<uint8_t> bytes;
    std::vector<uint32_t> lengths;
    std::vector<int64_t> distortions;
  };
  struct Lane {
    size_t index = 0;
    GuardedOutput output;
    SavedCoder saved;
    Tier1Stop stop{};
  };

  void prepare(int number, Tier1Task* task) {
    Lane& lane = lanes_[number];
    lane.index = next_;
    lane.output.poison(0x44);
    lane.stop = {thresholds_[next_], 0, 1.0, nullptr, &lane.saved, false};
    *task = {blocks_[next_], &lane.output.out, &lane.stop};
  }
  Result result(int number) const {
    const Lane& lane = lanes_[number];
    const Tier1Output& out = lane.output.out;
    REQUIRE(lane.output.guards_intact());
    Result r{true, lane.stop.paused, {out.bytes, out.bytes + out.num_bytes}, {}, {}};
    for (int i = 0; i < out.num_passes; ++i) {
      r.lengths.push_back(out.passes[i].length_bytes);
      r.distortions.push_back(out.passes[i].distortion);
    }
    return r;
  }

  std::vector<std::unique_ptr<TestBlock>> sources_;
  std::vector<Tier1Block> blocks_;
  std::vector<uint16_t> thresholds_;
  std::vector<Result> expected_, results_;
  Lane lanes_[kTier1Lanes];
  size_t next_ = 0;
  int lanes_ended_ = 0;
};

TEST_CASE("tier-1: blocks in pairs come to what each comes to alone") {
  Tier1Scratch scratch[kTier1Lanes];
  auto blocks = std::make_unique<ManyBlocks>();
  blocks->encode_alone(scratch[0]);
  CHECK(blocks->num_paused() > 10);
  for_each_target(simd::tier1_target, [&](const char*) {
    blocks->encode(scratch);
    blocks->compare();
  });
}

/// Gives each block once to the lanes of simd::encode_blocks.
class Pairs final : public Tier1Queue {
 public:
  Pairs(const std::vector<TestBlock>& sources, uint32_t style, test::TestOutput* outputs)
      : sources_(sources), style_(style), outputs_(outputs) {}
  bool next(int lane, Tier1Task* task) override {
    if (next_ == sources_.size()) return false;
    const size_t i = next_++;
    *task = {sources_[i].block(kOrientations[i % 4], style_, false), &outputs_[lane].out, nullptr};
    return true;
  }
  void done(int) override {}

 private:
  const std::vector<TestBlock>& sources_;
  const uint32_t style_;
  test::TestOutput* const outputs_;
  size_t next_ = 0;
};

TEST_CASE("bench tier-1" * doctest::skip()) {
  struct Case {
    const char* what;
    int size, planes;
    Fill fill;
    uint32_t style;
  };
  auto output = std::make_unique<test::TestOutput>();
  auto outputs = std::make_unique<test::TestOutput[]>(kTier1Lanes);
  Tier1Scratch scratch[kTier1Lanes];
  for (const Case& c : {Case{"64x64, 8 planes, Laplacian", 64, 8, Fill::kLaplacian, 0},
                        Case{"64x64, 12 planes, Laplacian", 64, 12, Fill::kLaplacian, 0},
                        Case{"32x32, 8 planes, Laplacian", 32, 8, Fill::kLaplacian, 0},
                        Case{"64x64, 8 planes, sparse", 64, 8, Fill::kSparse, 0},
                        Case{"64x64, 8 planes, noise", 64, 8, Fill::kUniform, 0},
                        Case{"64x64, 12 planes, BYPASS", 64, 12, Fill::kLaplacian, 1}}) {
    std::vector<TestBlock> sources;
    for (uint64_t seed = 0; seed < 16; ++seed) {
      sources.emplace_back(c.size, c.size, c.planes, c.fill, seed);
    }
    const auto run = [&](const char* name, auto encode, double times) {
      using Clock = std::chrono::steady_clock;
      double best = 1e30, coded_bits = 0;
      for (int round = 0; round < 12; ++round) {
        coded_bits = 0;
        const auto start = Clock::now();
        for (size_t i = 0; i < sources.size(); ++i) {
          encode(sources[i].block(kOrientations[i % 4], c.style, false));
          coded_bits += 8.0 * static_cast<double>(output->out.num_bytes);
        }
        best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
        if (round * times > 12) break;
      }
      const double blocks = static_cast<double>(sources.size());
      std::printf("%-30s %-10s %9.1f us/block %6.2f ns/sample %6.2f ns/coded bit (%.0f bytes)\n",
                  c.what, name, best * 1e6 / blocks, best * 1e9 / (blocks * c.size * c.size),
                  best * 1e9 / coded_bits, coded_bits / 8 / blocks);
    };
    run(
        "ref", [&](const Tier1Block& b) { ref::encode_block(b, output->out); }, 8);
    for_each_target(simd::tier1_target, [&](const char* name) {
      run(
          name, [&](const Tier1Block& b) { simd::encode_block(b, scratch[0], output->out); }, 1);
    });
    for_each_target(simd::tier1_target, [&](const char* name) {
      double best = 1e30;
      for (int round = 0; round < 12; ++round) {
        const auto start = std::chrono::steady_clock::now();
        Pairs pairs(sources, c.style, outputs.get());
        simd::encode_blocks(pairs, scratch);
        best = std::min(
            best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
      }
      const double blocks = static_cast<double>(sources.size());
      std::printf("%-30s %-10s %9.1f us/block %6.2f ns/sample, in pairs\n", c.what, name,
                  best * 1e6 / blocks, best * 1e9 / (blocks * c.size * c.size));
    });
  }
}

}  // namespace
}  // namespace cj2k
