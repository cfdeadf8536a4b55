// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// MQ coding in lanes: what is the same on all targets. Chunks are fetched from the streams of the
// lanes and transposed, coded (mq_lanes_avx512-inl.h, mq_lanes_avx2-inl.h), and their bytes are
// distributed.
#include <cstring>

#include "coders/ebcot/mq_lanes.h"
#include "coders/ebcot/mq_lanes_tables.h"
#include "core/ebcot/mq.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "coders/ebcot/mq_lanes_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "coders/ebcot/mq_pairs-inl.h"

// Highway numbers better targets of x86 lower.
#undef CJ2K_MQ_LANES
#if HWY_ARCH_X86_64 && HWY_TARGET <= HWY_AVX3_DL
#define CJ2K_MQ_LANES 64
#include "coders/ebcot/mq_lanes_avx512-inl.h"
#elif HWY_ARCH_X86_64 && HWY_TARGET <= HWY_AVX2
#define CJ2K_MQ_LANES 32
#include "coders/ebcot/mq_lanes_avx2-inl.h"
#else
#define CJ2K_MQ_LANES 0
#endif

HWY_BEFORE_NAMESPACE();
namespace cj2k {
namespace HWY_NAMESPACE {
namespace {

#if CJ2K_MQ_LANES > 0
/// One of the 16 x 16 transpositions has four steps of unpacking.
HWY_INLINE void interleave(const Vector* from, Vector* to) {
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    to[2 * i] = unpack_low(from[i], from[i + 8]);
    to[2 * i + 1] = unpack_high(from[i], from[i + 8]);
  }
}

/// Gets the next chunk of all lanes.
HWY_NOINLINE void fetch_chunk(MqLaneMemory& m) {
  constexpr int kAhead = 192;  // bytes; measured
  Vector x[16], y[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) x[i] = load_streams(m.symbols + i);
  interleave(x, y);
  interleave(y, x);
  interleave(x, y);
  interleave(y, x);
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) store_vector(x[i], m.chunk[i]);
  for (int lane = 0; lane < kLanes; ++lane) __builtin_prefetch(m.symbols[lane] + kAhead);
}

/// A lane that goes on without the others, in a pair.
struct LoneLane {
  int lane = -1;
  mq::Coder coder{};
  mq::State contexts[mq::kNumContexts];
  const mq::Symbol* symbols = nullptr;
  size_t left = 0;
};

class LaneCoder {
 public:
  LaneCoder(LaneSource& source, MqLaneMemory& memory) : source_(source), m_(memory) {}

  HWY_ATTR void code() {
    for (int lane = 0; lane < kLanes; ++lane) start(lane);
    while (num_running_ >= simd::kFewMqLanes) {
      fetch_chunk(m_);
      distribute(code_chunk(m_));
      end_chunk();
    }
    code_in_pairs();
  }

 private:
  void start(int lane) {
    LanePass pass{};
    m_.runs[lane] = source_.start(lane, &pass);
    if (m_.runs[lane]) {
      ++num_running_;
      begin(lane, pass);
      return;
    }
    static constexpr mq::Coder kIdleCoder{0x8000, 0, 12, nullptr};
    load(lane, kIdleCoder, 0);
    m_.last[lane] = nullptr;
    for (auto& context : m_.contexts) context[lane] = 0;
    idle(lane);
  }
  void idle(int lane) {
    m_.symbols[lane] = mq_lanes::kIdleSymbols.symbols;
    m_.chunks[lane] = mq_lanes::kIdleChunks;
  }

  void load(int lane, const mq::Coder& coder, uint8_t b) {
    const int i = mq_lanes::register_of(lane, kLanes);
    m_.a[i] = static_cast<uint16_t>(coder.a);
    m_.c_low[i] = static_cast<uint16_t>(coder.c);
    m_.c_high[i] = static_cast<uint16_t>(coder.c >> 16);
    m_.ct[i] = static_cast<uint16_t>(coder.ct);
    m_.b[i] = b;
  }
  mq::Coder registers(int lane) const {
    const int i = mq_lanes::register_of(lane, kLanes);
    return {m_.a[i], static_cast<uint32_t>(m_.c_high[i]) << 16 | m_.c_low[i], m_.ct[i],
            m_.last[lane]};
  }
  static uint8_t lane_state(mq::State state) {
    unsigned number = 0;
    while (mq::kStates.states[number] != state) ++number;
    return static_cast<uint8_t>(number >> 1 | (number & 1) << 7);
  }
  LaneContexts contexts(int lane) const { return LaneContexts(&m_.contexts[0][lane]); }

  void begin(int lane, const LanePass& pass) {
    if (pass.registers != nullptr) {
      load(lane, *pass.registers, *pass.registers->last);
      m_.last[lane] = pass.registers->last;
    }
    if (pass.contexts != nullptr) {
      for (int i = 0; i < kLaneContexts; ++i)
        m_.contexts[i][lane] = lane_state(pass.contexts[kLaneContext[i]]);
    }
    m_.symbols[lane] = pass.symbols;
    m_.chunks[lane] = static_cast<uint32_t>((pass.count + kLaneChunk - 1) / kLaneChunk);
    m_.padding[lane] = static_cast<uint8_t>(m_.chunks[lane] * kLaneChunk - pass.count);
  }

  /// Moves the bytes of a chunk to their blocks.
  void distribute(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      const unsigned entry = m_.log[i];
      *m_.last[entry >> 8]++ = static_cast<uint8_t>(entry);
    }
  }

  void end_chunk() {
    for (int lane = 0; lane < kLanes; ++lane) {
      m_.symbols[lane] += kLaneChunk;
      m_.chunks[lane] -= 1;
    }
    for (uint64_t ended = ended_lanes(m_); ended != 0; ended &= ended - 1)
      end_pass(__builtin_ctzll(ended));
  }
  void end_pass(int lane) {
    if (!m_.runs[lane]) {
      idle(lane);
      return;
    }
    *m_.last[lane] = static_cast<uint8_t>(m_.b[mq_lanes::register_of(lane, kLanes)]);
    LanePass pass{};
    if (source_.pass_end(lane, registers(lane), contexts(lane), &pass)) {
      begin(lane, pass);
    } else {
      --num_running_;
      start(lane);
    }
  }

  /// Takes a lane that runs out of the vectors. @return whether there is one
  bool take(LoneLane& lone) {
    while (next_lone_ < kLanes && !m_.runs[next_lone_]) ++next_lone_;
    if (next_lone_ == kLanes) return false;
    const int lane = next_lone_++;
    lone.lane = lane;
    lone.coder = registers(lane);
    *lone.coder.last = static_cast<uint8_t>(m_.b[mq_lanes::register_of(lane, kLanes)]);
    mq::reset_contexts(lone.contexts);  // sets UNIFORM
    contexts(lane).copy_to(lone.contexts);
    lone.symbols = m_.symbols[lane];
    lone.left = m_.chunks[lane] * kLaneChunk - m_.padding[lane];
    return true;
  }
  /// Makes sure that the lane has decisions to code. @return false: there are no more
  bool refill(LoneLane& lone) {
    while (lone.left == 0) {
      if (lone.lane < 0) return take(lone);
      LanePass pass{};
      if (source_.pass_end(lone.lane, lone.coder, LaneContexts(lone.contexts), &pass) ||
          source_.start(lone.lane, &pass)) {
        begin(lone, pass);
      } else {
        lone.lane = -1;
      }
    }
    return true;
  }
  static void begin(LoneLane& lone, const LanePass& pass) {
    if (pass.registers != nullptr) lone.coder = *pass.registers;
    if (pass.contexts != nullptr) std::memcpy(lone.contexts, pass.contexts, sizeof lone.contexts);
    lone.symbols = pass.symbols;
    lone.left = pass.count;
  }

  HWY_ATTR void code_in_pairs() {
    LoneLane lone[2];
    bool runs[2] = {refill(lone[0]), refill(lone[1])};
    while (runs[0] && runs[1]) {
      const size_t count = HWY_MIN(lone[0].left, lone[1].left);
      code_decisions(PairHalf{lone[0].coder, lone[0].contexts, lone[0].symbols},
                     PairHalf{lone[1].coder, lone[1].contexts, lone[1].symbols}, count);
      for (int i : {0, 1}) {
        lone[i].symbols += count;
        lone[i].left -= count;
        runs[i] = refill(lone[i]);
      }
    }
    for (int i : {0, 1}) {
      while (runs[i]) {
        code_decisions(lone[i].coder, lone[i].contexts, lone[i].symbols, lone[i].left);
        lone[i].left = 0;
        runs[i] = refill(lone[i]);
      }
    }
  }

  LaneSource& source_;
  MqLaneMemory& m_;
  int num_running_ = 0;
  int next_lone_ = 0;  ///< lanes before it are taken
};

void CodeLanes(LaneSource& source, MqLaneMemory& memory) { LaneCoder(source, memory).code(); }
#else
void CodeLanes(LaneSource&, MqLaneMemory&) {}
#endif

}  // namespace

HWY_DLLEXPORT void MqCodeLanes(LaneSource& source, MqLaneMemory& memory) {
  CodeLanes(source, memory);
}
HWY_DLLEXPORT int MqLanes() { return CJ2K_MQ_LANES; }
HWY_DLLEXPORT int64_t MqLanesTarget() { return HWY_TARGET; }

}  // namespace HWY_NAMESPACE
}  // namespace cj2k
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cj2k::simd {
HWY_EXPORT(MqCodeLanes);
HWY_EXPORT(MqLanes);
HWY_EXPORT(MqLanesTarget);

int64_t mq_lanes_target() { return HWY_DYNAMIC_DISPATCH(MqLanesTarget)(); }
int mq_lanes() { return HWY_DYNAMIC_DISPATCH(MqLanes)(); }
void code_lanes(LaneSource& source, MqLaneMemory& memory) {
  HWY_DYNAMIC_DISPATCH(MqCodeLanes)(source, memory);
}
}  // namespace cj2k::simd
#endif  // HWY_ONCE
