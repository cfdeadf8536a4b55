// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The memory of blocks that are coded in lanes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "coders/ebcot/mq_lanes.h"
#include "coders/ebcot/segment_coder.h"
#include "coders/ebcot/tier1.h"

namespace cj2k {

/// A block in a lane. Its passes are modelled before they are coded.
struct LaneBlock {
  explicit LaneBlock(const Tier1Task& t) : task(t), coder(t.block.style, *t.out) {}
  const Tier1Task task;
  SegmentCoder coder;
  int plane = -1;                ///< the next one to model; -1: all are modelled
  int num_passes = 0, next = 0;  ///< modelled passes; the one that is coded
  struct Pass {
    uint32_t begin, count;  ///< symbols
    int64_t distortion;
    uint8_t plane;
    PassKind kind;
  } passes[kMaxPasses];
};

struct Tier1Lanes::Impl {
  Impl(size_t samples, int bit_planes)
      // Each pass is padded, and stores go beyond the end by two vectors.
      : room(max_block_symbols(samples, bit_planes) +
             kLaneChunk * static_cast<size_t>(num_passes_of(bit_planes)) + 192),
        symbols(new mq::Symbol[room * kMaxMqLanes]) {}
  mq::Symbol* symbols_of(int lane) const {
    return symbols.get() + room * static_cast<size_t>(lane);
  }

  const size_t room;
  const std::unique_ptr<mq::Symbol[]> symbols;
  std::optional<LaneBlock> blocks[kMaxMqLanes];
  MqLaneMemory mq;
};

}  // namespace cj2k
