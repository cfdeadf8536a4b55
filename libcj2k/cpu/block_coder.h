// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The interface of block coders in the CPU backend: the coefficients of a frame become its
// CodedBlocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/arena.h"
#include "coders/coded_block.h"
#include "core/ht/plane_choice.h"
#include "depth/stop_rule.h"
#include "pixels/coefficients.h"
#include "plan/plan.h"

namespace cj2k {

/// The coded blocks of one frame, and the memory that they point to.
class CpuBlocks {
 public:
  /// Throws std::bad_alloc.
  CpuBlocks(const Plan& plan, size_t workers);
  static size_t bytes(const Plan& plan);

  const CodedBlock* all() const { return blocks_.data(); }
  CodedBlock& operator[](uint32_t index) { return blocks_[index]; }
  /// Takes memory that is valid until `reset`. Throws std::bad_alloc.
  /// @param worker  worker_index() of the calling thread (base/parallel.h)
  template <typename T>
  T* take(size_t worker, size_t count) {
    return arenas_[worker].take<T>(pool_, count);
  }
  /// Begins a new frame.
  void reset();

 private:
  ChunkPool pool_;
  std::vector<Arena> arenas_;
  std::vector<CodedBlock> blocks_;
};

/// There is one per encoder. GOPs call it at the same time.
class CpuBlockCoder {
 public:
  virtual ~CpuBlockCoder() = default;
  /// Quantises and codes the blocks of an order as tasks of the encoder's threads, and waits for
  /// them. A block that paused in an earlier call resumes. Deterministic: yes. Throws
  /// std::bad_alloc.
  virtual void code(const CoefficientPlanes& planes, const BlockOrder& order, CpuBlocks& out) = 0;
};

/// Most blocks in one part of a loop.
inline constexpr size_t kMaxBlockGrain = 16;
/// Blocks, or triples of them, in one part of a loop over so many.
size_t block_grain(size_t count, size_t most = kMaxBlockGrain);

/// The block coder for the parameter coder = ebcot. Throws std::bad_alloc.
std::unique_ptr<CpuBlockCoder> make_cpu_ebcot(const Plan& plan, size_t workers, bool keeps_state);
/// The block coder for coder = ht. Throws std::bad_alloc.
std::unique_ptr<CpuBlockCoder> make_cpu_ht(const Plan& plan, size_t workers);

}  // namespace cj2k
