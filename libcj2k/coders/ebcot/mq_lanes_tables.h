// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Table C.2 and the context labels as vectors of bytes, for MQ coding in lanes.
#pragma once

#include <cstdint>

#include "coders/ebcot/mq_lanes.h"
#include "core/ebcot/mq.h"

namespace cj2k::mq_lanes {

/// Where the registers of a lane lie: words are unpacked from the bytes of each 16 lanes, first the lower
/// eight of all, then the upper eight.
constexpr int register_of(int lane, int lanes) {
  return lane % 16 / 8 * (lanes / 2) + lane / 16 * 8 + lane % 8;
}

/// The row of kLaneIdle: Qe = 0, and it stays.
inline constexpr uint8_t kIdleRow = 47;
inline constexpr uint8_t kUniformRow = 46;

/// Table C.2 by row.
struct RowTables {
  alignas(64) uint8_t qe_low[64], qe_high[64];
  alignas(64) uint8_t shift[64];     ///< leading zeros of Qe
  alignas(64) uint8_t next_mps[64];  ///< row
  alignas(64) uint8_t next_lps[64];  ///< row | exchange of the MPS << 7
  constexpr RowTables() : qe_low(), qe_high(), shift(), next_mps(), next_lps() {
    for (int i = 0; i < 47; ++i) {
      const mq::internal::Row& row = mq::internal::kRows[i];
      qe_low[i] = static_cast<uint8_t>(row.qe & 255);
      qe_high[i] = static_cast<uint8_t>(row.qe >> 8);
      shift[i] = static_cast<uint8_t>(mq::internal::leading_zeros(row.qe) - 16);
      next_mps[i] = row.nmps;
      next_lps[i] = static_cast<uint8_t>(row.nlps | row.exchange << 7);
    }
    next_mps[kIdleRow] = next_lps[kIdleRow] = kIdleRow;
  }
};
inline constexpr RowTables kRowTables;

/// What the symbols of each context are compared with: the symbol without its bit, in all lanes.
struct ContextLabels {
  alignas(64) uint8_t adaptive[kLaneContexts][kMaxMqLanes];
  alignas(64) uint8_t uniform[kMaxMqLanes], idle[kMaxMqLanes], uniform_row[kMaxMqLanes];
  alignas(64) uint8_t lane_number[kMaxMqLanes];
  constexpr ContextLabels() : adaptive(), uniform(), idle(), uniform_row(), lane_number() {
    for (int lane = 0; lane < kMaxMqLanes; ++lane) {
      for (int i = 0; i < kLaneContexts; ++i) adaptive[i][lane] = mq::symbol(kLaneContext[i], 0);
      uniform[lane] = mq::symbol(mq::kUniform, 0);
      idle[lane] = kLaneIdle;
      uniform_row[lane] = kUniformRow;
      lane_number[lane] = static_cast<uint8_t>(lane);
    }
  }
};
inline constexpr ContextLabels kContextLabels;
inline constexpr uint8_t kContextMask = 0x3E;  ///< of a symbol: its context

/// Symbols of a lane without a block.
inline constexpr uint32_t kIdleChunks = 256;
struct IdleSymbols {
  mq::Symbol symbols[kLaneChunk * kIdleChunks];
  constexpr IdleSymbols() : symbols() {
    for (mq::Symbol& s : symbols) s = kLaneIdle;
  }
};
inline constexpr IdleSymbols kIdleSymbols;

}  // namespace cj2k::mq_lanes
