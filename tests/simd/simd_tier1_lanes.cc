// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Blocks in lanes against the reference: all styles, shapes and stops, on each target that has lanes.
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "coders/ebcot/mq_lanes.h"
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

/// The results of a block.
struct Coded {
  std::vector<uint8_t> bytes;
  std::vector<CodingPass> passes;
  std::vector<PassTail> tails;  ///< with PTERM, of the passes that have one
};

Coded coded(const Tier1Output& out, uint32_t style) {
  Coded c;
  c.bytes.assign(out.bytes, out.bytes + out.num_bytes);
  c.passes.assign(out.passes, out.passes + out.num_passes);
  for (int i = 0; (style & CJ2K_STYLE_PTERM) != 0 && i + 1 < out.num_passes; ++i)
    c.tails.push_back(pass_terminates(style, i) ? PassTail{} : out.tails[i]);
  return c;
}

bool operator==(const Coded& a, const Coded& b) {
  if (a.bytes != b.bytes || a.passes.size() != b.passes.size()) return false;
  for (size_t i = 0; i < a.passes.size(); ++i) {
    const CodingPass &p = a.passes[i], &q = b.passes[i];
    if (p.length_bytes != q.length_bytes || p.distortion != q.distortion || p.plane != q.plane)
      return false;
  }
  for (size_t i = 0; i < a.tails.size(); ++i) {
    const PassTail &p = a.tails[i], &q = b.tails[i];
    if (p.offset_bytes != q.offset_bytes || p.count != q.count ||
        std::memcmp(p.bytes, q.bytes, p.count) != 0)
      return false;
  }
  return true;
}

/// A block, what the reference makes of it, and how far the lanes have come.
struct Work {
  Work(TestBlock b, Orientation o, uint32_t s, uint16_t t, int last)
      : source(std::move(b)), orientation(o), style(s), threshold(t), last_plane(last) {}
  TestBlock source;
  Orientation orientation;
  uint32_t style;
  uint16_t threshold;
  int last_plane;  ///< of the first call; lower by one plane in each call
  Coded expected;
  Coded now;
  SavedCoder saved = {};
  std::vector<uint8_t> kept;  ///< bytes that `saved` counts, more than the block has for now
  int calls = 0;
  bool paused = true;
};

/// The memory of a lane, no larger than is promised, between canaries.
struct Lane {
  Lane(size_t samples, int planes)
      : bytes(max_block_bytes(samples, planes) + 1, 3),
        passes(kMaxPasses, 1),
        tails(kMaxPasses, 1) {
    out = {bytes.data() + 1, passes.data(), tails.data(), 0, 0};
  }
  Guarded<uint8_t> bytes;
  Guarded<CodingPass> passes;
  Guarded<PassTail> tails;
  Tier1Output out;
  Tier1Stop stop;
  SavedCoder saved = {};
  Work* work = nullptr;
};

/// All blocks, and those that have paused again and again until they end.
class Blocks final : public Tier1Queue {
 public:
  void add(Work work) {
    auto output = std::make_unique<test::TestOutput>();
    ref::encode_block(work.source.block(work.orientation, work.style, true), output->out);
    work.expected = coded(output->out, work.style);
    samples_ = std::max(samples_, static_cast<size_t>(work.source.stride()) * work.source.height());
    planes_ = std::max(planes_, work.source.bit_planes());
    works_.push_back(std::make_unique<Work>(std::move(work)));
  }

  /// @return pauses
  int run() {
    Tier1Scratch scratch;
    Tier1Lanes memory(samples_, planes_);
    lanes_.clear();
    for (int i = 0; i < simd::mq_lanes(); ++i)
      lanes_.push_back(std::make_unique<Lane>(samples_, planes_));
    for (const auto& work : works_) {
      work->calls = 0;
      work->paused = true;
    }
    int pauses = 0;
    for (bool any = true; any;) {
      next_ = 0;
      simd::encode_in_lanes(*this, scratch, memory);
      any = false;
      for (const auto& work : works_) any |= work->paused;
      for (const auto& work : works_) pauses += work->paused;
    }
    for (size_t i = 0; i < works_.size(); ++i) {
      INFO("block ", i, " style ", works_[i]->style, " ", works_[i]->source.width(), "x",
           works_[i]->source.height(), " calls ", works_[i]->calls);
      REQUIRE((works_[i]->now == works_[i]->expected));
    }
    return pauses;
  }

  bool next(int number, Tier1Task* task) override {
    while (next_ < works_.size() && !works_[next_]->paused) ++next_;
    if (next_ == works_.size()) return false;
    Work& work = *works_[next_++];
    Lane& lane = *lanes_[static_cast<size_t>(number)];
    lane.work = &work;
    std::memset(static_cast<void*>(&lane.saved), 0xEE, sizeof lane.saved);
    lane.stop = {
        work.threshold, std::max(work.last_plane - work.calls, 0), 1.0, nullptr, &lane.saved,
        false};
    std::memset(lane.bytes.data(), 0x55, std::min<size_t>(lane.bytes.count(), 5000));
    if (work.calls > 0) {  // only what SavedCoder counts is carried over
      std::copy(work.kept.begin(), work.kept.end(), lane.out.bytes);
      std::copy(work.now.passes.begin(), work.now.passes.end(), lane.out.passes);
      lane.out.num_passes = static_cast<int>(work.now.passes.size());
      lane.stop.resume = &work.saved;
    }
    *task = {work.source.block(work.orientation, work.style, true), &lane.out, &lane.stop};
    return true;
  }
  void done(int number) override {
    const Lane& lane = *lanes_[static_cast<size_t>(number)];
    REQUIRE(
        (lane.bytes.guards_intact() && lane.passes.guards_intact() && lane.tails.guards_intact()));
    Work& work = *lane.work;
    work.now = coded(lane.out, work.style);
    work.paused = lane.stop.paused;
    if (work.paused) {
      work.kept.assign(lane.out.bytes, lane.out.bytes + lane.saved.bytes_written);
      std::memset(static_cast<void*>(&work.saved), 0xDD, sizeof work.saved);
      std::memcpy(static_cast<void*>(&work.saved), &lane.saved, saved_bytes(lane.out.num_passes));
    }
    ++work.calls;
  }

 private:
  std::vector<std::unique_ptr<Work>> works_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  size_t samples_ = 0, next_ = 0;
  int planes_ = 0;
};

int run_all(Blocks& blocks) {
  int pauses = 0;
  for_each_target(simd::tier1_target, [&](const char*) {
    if (simd::mq_lanes() > 0) pauses = blocks.run();
  });
  return pauses;
}

TEST_CASE("tier-1 in lanes: equal to the reference, all styles") {
  Blocks blocks;
  uint64_t seed = 500;
  for (uint32_t style = 0; style < 64; ++style) {
    for (int i = 0; i < 6; ++i, ++seed) {
      const Fill fill = test::kFills[seed % std::size(test::kFills)];
      blocks.add(
          Work(TestBlock(1 + static_cast<int>(seed * 7 % 40), 1 + static_cast<int>(seed * 5 % 40),
                         static_cast<int>(seed % 15), fill, seed),
               kOrientations[seed % 4], style, 0, 0));
    }
  }
  run_all(blocks);
}

TEST_CASE("tier-1 in lanes: equal to the reference, all shapes and the most symbols and bytes") {
  const int shapes[][2] = {{64, 64}, {1024, 4}, {4, 1024}, {1024, 1}, {1, 1024},
                           {63, 65}, {128, 32}, {17, 240}, {585, 7}};
  for (const int planes : {6, 31}) {
    Blocks blocks;
    uint64_t seed = 900;
    for (int i = 0; i < (planes == 31 ? 1 : 3); ++i) {
      for (const auto& shape : shapes) {
        for (const Fill fill : test::kFills) {
          ++seed;
          blocks.add(Work(TestBlock(shape[0], shape[1], planes, fill, seed),
                          kOrientations[seed % 4], seed % 3 == 0 ? 63 : 0, 0, 0));
        }
      }
    }
    run_all(blocks);
  }
}

/// Blocks pause by slope and by plane, and resume, also where modelling expected something else.
TEST_CASE("tier-1 in lanes: paused and resumed blocks equal whole ones, all styles") {
  Blocks blocks;
  std::mt19937_64 random(7);
  for (uint64_t seed = 0; seed < 640; ++seed) {
    const uint32_t style = static_cast<uint32_t>(seed % 64) & ~uint32_t{CJ2K_STYLE_PTERM};
    const auto below = [&](uint64_t n) { return static_cast<int>(random() % n); };
    const auto threshold = static_cast<uint16_t>(seed % 3 == 0   ? 65535
                                                 : seed % 3 == 1 ? 92 * 256 + below(2 * 4096)
                                                                 : 0);
    const Fill fill = test::kFills[random() % std::size(test::kFills)];
    blocks.add(Work(TestBlock(1 + below(64), 1 + below(64), 1 + below(14), fill, seed),
                    kOrientations[seed % 4], style, threshold, seed % 3 == 1 ? 0 : 12));
  }
  CHECK((simd::mq_lanes() == 0 || run_all(blocks) > 1500));
}

}  // namespace
}  // namespace cj2k
