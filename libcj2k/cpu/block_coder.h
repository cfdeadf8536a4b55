// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Where a block coder plugs into the CPU backend: from the coefficients of a frame to its
// CodedBlocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/arena.h"
#include "plan.h"
#include "stages/coded_block.h"
#include "stages/coefficients.h"
#include "stages/stop_rule.h"

namespace cj2k {

/// The coded blocks of one frame and the memory that they point into.
class CpuBlocks {
 public:
  /// Throws std::bad_alloc.
  CpuBlocks(const Plan& plan, size_t workers);
  static size_t bytes(const Plan& plan);

  const CodedBlock* all() const { return blocks_.data(); }
  CodedBlock& operator[](uint32_t index) { return blocks_[index]; }
  /// Memory that stays until `reset`. Throws std::bad_alloc.
  /// @param worker  of the calling thread (base/parallel.h)
  template <typename T>
  T* take(size_t worker, size_t count) {
    return arenas_[worker].take<T>(pool_, count);
  }
  /// A new frame.
  void reset();

 private:
  ChunkPool pool_;
  std::vector<Arena> arenas_;
  std::vector<CodedBlock> blocks_;
};

/// Where the blocks of a call pause.
struct BlockLimits {
  SlopeThresholds thresholds;  ///< of the components (core/stop.h); 0: at no slope
  uint32_t last_plane;         ///< planes below are not coded now
};

/// One per encoder; called by its workers at the same time, each with a number of its own.
class CpuBlockCoder {
 public:
  virtual ~CpuBlockCoder() = default;
  /// Quantises and codes some blocks of a frame, in the calling thread. One that an earlier call
  /// left goes on. Deterministic. Throws std::bad_alloc.
  virtual void code(const CoefficientPlanes& planes, std::span<const uint32_t> blocks,
                    const BlockLimits& limits, size_t worker, CpuBlocks& out) = 0;
};

/// coder = ebcot. Throws std::bad_alloc.
std::unique_ptr<CpuBlockCoder> make_cpu_ebcot(const Plan& plan, size_t workers);

}  // namespace cj2k
