// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// MQ coding in lanes against core/ebcot/mq.h: the bytes of every block, and the registers and contexts
// at every pass end, on each target that has lanes.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "coders/ebcot/mq_lanes.h"
#include "core/ebcot/mq.h"
#include "pixels/target.h"
#include "support/check.h"

namespace cj2k {
namespace {

using namespace check;

/// How the decisions of a stream are chosen.
enum class Kind { kRandom, kSkewed, kMps, kLps, kAlternate, kUniform, kOnes, kRuns, kCount };

struct State {
  uint32_t a, c, ct;
  size_t bytes;
  uint8_t last;
  std::vector<mq::State> contexts;
  bool operator==(const State&) const = default;
};

/// The decisions of a block, and what the scalar coder makes of them.
struct Stream {
  struct Pass {
    size_t begin, count;
    bool restarts;  ///< registers are new, as after a termination
    bool resets;    ///< contexts are new
  };
  std::vector<mq::Symbol> symbols;
  std::vector<Pass> passes;
  std::vector<State> states;  ///< at the pass ends
  std::vector<uint8_t> bytes;
};

State state_of(const mq::Coder& coder, const mq::State* contexts, const uint8_t* first) {
  State s{coder.a, coder.c, coder.ct, static_cast<size_t>(coder.last + 1 - first), *coder.last, {}};
  for (const uint8_t c : kLaneContext) s.contexts.push_back(contexts[c]);
  return s;
}

class StreamMaker {
 public:
  explicit StreamMaker(uint64_t seed) : random_(seed) {}

  /// Codes while it makes up decisions, so that these can depend on the states.
  Stream make(Kind kind, int num_passes, int most_symbols, bool with_restarts) {
    Stream stream;
    stream.bytes.assign(64 + static_cast<size_t>(num_passes * most_symbols) * 3, 0);
    uint8_t* const first = stream.bytes.data() + 1;
    mq::Coder coder;
    mq::State contexts[mq::kNumContexts];
    for (int p = 0; p < num_passes; ++p) {
      const bool starts = p == 0 || (with_restarts && random_() % 3 == 0);
      const bool resets = p == 0 || (with_restarts && random_() % 3 == 0);
      if (starts) mq::start(coder, p == 0 ? first : coder.last + 1);
      if (starts && *coder.last == 0xFF) *coder.last = 0x7F;  // as a segment that ended
      if (resets) mq::reset_contexts(contexts);
      const size_t begin = stream.symbols.size();
      const size_t count = 1 + random_() % static_cast<size_t>(most_symbols);
      for (size_t i = 0; i < count; ++i) {
        const mq::Symbol s = next(kind, contexts);
        stream.symbols.push_back(s);
        mq::encode(coder, contexts, s);
      }
      stream.symbols.resize(begin + (count + kLaneChunk - 1) / kLaneChunk * kLaneChunk, kLaneIdle);
      stream.passes.push_back({begin, count, starts, resets});
      stream.states.push_back(state_of(coder, contexts, first));
    }
    return stream;
  }

 private:
  mq::Symbol next(Kind kind, const mq::State* contexts) {
    const auto r = static_cast<unsigned>(random_() & 0xFFFF);
    unsigned context = r % 19;
    context = context == 18 ? unsigned{mq::kUniform} : kLaneContext[context];
    const unsigned mps = contexts[context] & 1, bit = r >> 15;
    switch (kind) {
      case Kind::kSkewed:
        return mq::symbol(context, r >> 8 & 15 ? mps : mps ^ 1);
      case Kind::kMps:
        return mq::symbol(context % 3, contexts[context % 3] & 1);
      case Kind::kLps:
        return mq::symbol(context, mps ^ 1);
      case Kind::kAlternate:
        return mq::symbol(mq::kRefine, ++count_ & 1);
      case Kind::kUniform:
        return mq::symbol(mq::kUniform, bit);
      case Kind::kOnes:
        return mq::symbol(mq::kUniform, 1);
      case Kind::kRuns:  // long runs, then one LPS of the highest cost: the longest shifts
        return mq::symbol(
            mq::kRun, ++count_ % 700 == 0 ? (contexts[mq::kRun] & 1) ^ 1 : contexts[mq::kRun] & 1);
      default:
        return mq::symbol(context, bit);
    }
  }
  std::mt19937_64 random_;
  unsigned count_ = 0;
};

/// Hands streams to the lanes and compares.
class Checker final : public LaneSource {
 public:
  explicit Checker(const std::vector<Stream>& streams) : streams_(streams) {}
  void run(MqLaneMemory& memory) {
    std::memset(static_cast<void*>(&memory), 0xC3, sizeof memory);  // nothing is taken over
    simd::code_lanes(*this, memory);
    CHECK(ended_ == streams_.size());
    CHECK(wrong_states_ == 0);
    CHECK(wrong_bytes_ == 0);
  }
  bool start(int lane, LanePass* pass) override {
    if (next_ == streams_.size()) return false;
    Lane& l = lanes_[lane];
    l.stream = &streams_[next_++];
    l.bytes.assign(l.stream->bytes.size(), 0);
    l.pass = 0;
    mq::start(l.coder, l.bytes.data() + 1);
    set(l, pass);
    return true;
  }
  bool pass_end(int lane, const mq::Coder& registers, const LaneContexts& contexts,
                LanePass* pass) override {
    Lane& l = lanes_[lane];
    mq::State states[mq::kNumContexts];
    contexts.copy_to(states);
    l.coder = registers;
    const State expected = l.stream->states[l.pass];
    wrong_states_ += state_of(registers, states, l.bytes.data() + 1) != expected;
    if (++l.pass < l.stream->passes.size()) {
      set(l, pass);
      return true;
    }
    wrong_bytes_ += l.bytes != l.stream->bytes;
    ++ended_;
    return false;
  }

 private:
  struct Lane {
    const Stream* stream;
    std::vector<uint8_t> bytes;
    size_t pass;
    mq::Coder coder;
    mq::State contexts[mq::kNumContexts];
  };
  static void set(Lane& l, LanePass* pass) {
    const Stream::Pass& p = l.stream->passes[l.pass];
    if (p.restarts && l.pass > 0) {
      mq::start(l.coder, l.coder.last + 1);
      if (*l.coder.last == 0xFF) *l.coder.last = 0x7F;
    }
    if (p.resets) mq::reset_contexts(l.contexts);
    *pass = {l.stream->symbols.data() + p.begin, p.count, p.restarts ? &l.coder : nullptr,
             p.resets ? l.contexts : nullptr};
  }

  const std::vector<Stream>& streams_;
  Lane lanes_[kMaxMqLanes];
  size_t next_ = 0, ended_ = 0;
  int wrong_states_ = 0, wrong_bytes_ = 0;
};

void compare_all(const std::vector<Stream>& streams) {
  const auto memory = std::make_unique<MqLaneMemory>();
  for_each_target(simd::mq_lanes_target, [&](const char*) {
    if (simd::mq_lanes() > 0) Checker(streams).run(*memory);
  });
}

TEST_CASE("MQ lanes: the targets that have them") {
  std::string names;
  for_each_target(simd::mq_lanes_target, [&](const char* name) {
    names += std::string(" ") + name + "=" + std::to_string(simd::mq_lanes());
    CHECK(simd::mq_lanes() <= kMaxMqLanes);
  });
  MESSAGE("MQ lanes:" << names);
}

TEST_CASE("MQ lanes: bytes, registers and contexts of random and adverse streams") {
  StreamMaker maker(1);
  for (int kind = 0; kind < static_cast<int>(Kind::kCount); ++kind) {
    std::vector<Stream> streams;
    for (int i = 0; i < 200; ++i)
      streams.push_back(maker.make(static_cast<Kind>(kind), 1 + i % 12, 1 + i * 7, i % 3 == 0));
    INFO("kind ", kind);
    compare_all(streams);
  }
}

TEST_CASE("MQ lanes: all kinds beside each other, long streams") {
  StreamMaker maker(2);
  std::vector<Stream> streams;
  for (int i = 0; i < 300; ++i)
    streams.push_back(
        maker.make(static_cast<Kind>(i % static_cast<int>(Kind::kCount)), 4, 6000, i % 5 == 0));
  compare_all(streams);
}

/// With few streams the lanes hand over to pairs at once, with none there is nothing to do.
TEST_CASE("MQ lanes: any number of streams") {
  StreamMaker maker(3);
  for (const int count : {0, 1, 2, 11, 12, 13, 31, 32, 33, 63, 64, 65, 129}) {
    std::vector<Stream> streams;
    for (int i = 0; i < count; ++i)
      streams.push_back(maker.make(static_cast<Kind>(i % 8), 1 + i % 5, 50 + i, i % 2 == 0));
    INFO("streams ", count);
    compare_all(streams);
  }
}

/// Gives the streams out and checks nothing.
class Feeder final : public LaneSource {
 public:
  explicit Feeder(const std::vector<Stream>& streams) : streams_(streams) {
    for (Lane& lane : lanes_) lane.bytes.resize(size_t{1} << 20);
  }
  bool start(int lane, LanePass* pass) override {
    if (next_ == streams_.size()) return false;
    Lane& l = lanes_[lane];
    mq::start(l.coder, l.bytes.data() + 1);
    mq::reset_contexts(l.contexts);
    *pass = {streams_[next_++].symbols.data(), 0, &l.coder, l.contexts};
    pass->count = streams_[next_ - 1].passes[0].count;
    return true;
  }
  bool pass_end(int, const mq::Coder&, const LaneContexts&, LanePass*) override { return false; }

 private:
  struct Lane {
    std::vector<uint8_t> bytes;
    mq::Coder coder;
    mq::State contexts[mq::kNumContexts];
  };
  const std::vector<Stream>& streams_;
  Lane lanes_[kMaxMqLanes];
  size_t next_ = 0;
};

TEST_CASE("bench MQ lanes" * doctest::skip()) {
  StreamMaker maker(4);
  std::vector<Stream> streams;
  double decisions = 0;
  for (int i = 0; i < 256; ++i) {
    streams.push_back(maker.make(Kind::kSkewed, 1, 30000, false));
    decisions += static_cast<double>(streams.back().passes[0].count);
  }
  std::sort(streams.begin(), streams.end(),
            [](const Stream& a, const Stream& b) { return a.symbols.size() > b.symbols.size(); });
  const auto memory = std::make_unique<MqLaneMemory>();
  for_each_target(simd::mq_lanes_target, [&](const char* name) {
    if (simd::mq_lanes() == 0) return;
    double best = 1e30;
    for (int round = 0; round < 20; ++round) {
      Feeder feeder(streams);
      const auto start = std::chrono::steady_clock::now();
      simd::code_lanes(feeder, *memory);
      best = std::min(
          best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    std::printf("%-10s %d lanes %6.3f ns a decision\n", name, simd::mq_lanes(),
                best * 1e9 / decisions);
  });
}

}  // namespace
}  // namespace cj2k
