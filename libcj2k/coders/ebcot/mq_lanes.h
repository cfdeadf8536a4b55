// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// MQ coding of many code-blocks at once: one block in each byte lane of the vectors, 64 with
// AVX-512 (VBMI2) and 32 with AVX2. docs/tier1-layout.md draws it. The same bytes and registers as
// core/ebcot/mq.h, decision by decision.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/ebcot/mq.h"

namespace cj2k {

inline constexpr int kMaxMqLanes = 64;
/// Symbols of each lane that are coded in one go. A pass ends between two chunks.
inline constexpr size_t kLaneChunk = 16;
/// A symbol that changes nothing: its context is in a state with Qe = 0. Passes are padded with it.
inline constexpr mq::Symbol kLaneIdle = mq::symbol(14, 0);

/// The contexts that adapt, in the order in which lanes hold them. UNIFORM does not adapt.
inline constexpr int kLaneContexts = 18;
inline constexpr uint8_t kLaneContext[kLaneContexts] = {
    mq::kZero + 0, mq::kZero + 1, mq::kZero + 2, mq::kZero + 3, mq::kZero + 4,   mq::kZero + 5,
    mq::kZero + 6, mq::kZero + 7, mq::kZero + 8, mq::kRefine,   mq::kRefine + 1, mq::kRefine + 2,
    mq::kRun,      mq::kSign + 0, mq::kSign + 1, mq::kSign + 2, mq::kSign + 3,   mq::kSign + 4};

/// Working memory of one thread.
struct MqLaneMemory {
  /// State of each context in each lane: row of Table C.2 | MPS << 7.
  alignas(64) uint8_t contexts[kLaneContexts][kMaxMqLanes];
  /// Registers, in the order of mq_lanes::register_of. C is in two halves; B is the byte last written,
  /// which is not in memory yet.
  alignas(64) uint16_t a[kMaxMqLanes], c_low[kMaxMqLanes], c_high[kMaxMqLanes], ct[kMaxMqLanes],
      b[kMaxMqLanes];
  /// One chunk of all lanes, symbol by symbol.
  alignas(64) uint8_t chunk[kLaneChunk][kMaxMqLanes];
  /// Bytes of a chunk as they come, lane << 8 | byte. Sixteen symbols shift C by 15 bits each at most,
  /// and a byte takes at least 7 of them; stores go beyond the end by a vector.
  alignas(64) uint16_t log[kMaxMqLanes * (kLaneChunk * 15 / 7 + 2) + 64];
  const mq::Symbol* symbols[kMaxMqLanes];
  uint8_t* last[kMaxMqLanes];                ///< where B belongs
  alignas(64) uint32_t chunks[kMaxMqLanes];  ///< left of the pass
  uint8_t padding[kMaxMqLanes];              ///< idle symbols at the end of the pass
  bool runs[kMaxMqLanes];                    ///< the lane has a block
};

/// Contexts of one lane.
class LaneContexts {
 public:
  /// @param in_lane  state of context 0; the next one is kMaxMqLanes further
  explicit LaneContexts(const uint8_t* in_lane) : in_lane_(in_lane) {}
  explicit LaneContexts(const mq::State* in_pair) : in_pair_(in_pair) {}
  /// Sets the contexts that adapt.
  void copy_to(mq::State* contexts) const {
    for (size_t i = 0; i < kLaneContexts; ++i) {
      const unsigned v = in_pair_ == nullptr ? in_lane_[i * kMaxMqLanes] : 0;
      contexts[kLaneContext[i]] = in_pair_ != nullptr ? in_pair_[kLaneContext[i]]
                                                      : mq::kStates.states[(v & 63) * 2 + (v >> 7)];
    }
  }

 private:
  const uint8_t* in_lane_ = nullptr;
  const mq::State* in_pair_ = nullptr;
};

/// The next pass of a lane.
struct LanePass {
  const mq::Symbol* symbols;  ///< padded with kLaneIdle to a multiple of kLaneChunk
  size_t count;               ///< without the padding; at least 1
  /// Null: those that the lane has. Else as mq::Coder has them: the byte at `last` is B.
  const mq::Coder* registers;
  const mq::State* contexts;  ///< [mq::kNumContexts]; null: those that the lane has
};

/// Where the passes of the blocks come from.
class LaneSource {
 public:
  /// Begins a block in a lane. Its registers and contexts must be given.
  /// @return false: there is no block for this lane, now and later
  virtual bool start(int lane, LanePass* pass) = 0;
  /// All symbols of the lane's pass are coded, and its bytes are in memory.
  /// @return false: the block has ended, or pauses
  virtual bool pass_end(int lane, const mq::Coder& registers, const LaneContexts& contexts,
                        LanePass* pass) = 0;

 protected:
  ~LaneSource() = default;
};

namespace simd {
/// Lanes on this machine; 0: there are none.
int mq_lanes();
/// With fewer blocks than this at once, pairs are faster than lanes.
inline constexpr int kFewMqLanes = 12;
/// Codes all blocks of a source, in mq_lanes() lanes. The last ones, when only few lanes are left, in
/// pairs. Deterministic: yes. Allocates: no.
void code_lanes(LaneSource& source, MqLaneMemory& memory);
}  // namespace simd

}  // namespace cj2k
