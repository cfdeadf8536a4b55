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

/// There is one per encoder. Its workers call it at the same time, each with its own index.
class CpuBlockCoder {
 public:
  virtual ~CpuBlockCoder() = default;
  /// Quantises and codes some blocks of an order, in the calling thread. A block that paused in an
  /// earlier call resumes. Deterministic: yes. Throws std::bad_alloc.
  virtual void code(const CoefficientPlanes& planes, std::span<const uint32_t> blocks,
                    const BlockOrder& order, size_t worker, CpuBlocks& out) = 0;
  /// The same for triples of ColourOrder (coders/ebcot/colour_errors.h), with RDOQ.
  virtual void code_triples(const CoefficientPlanes& planes, std::span<const uint32_t> triples,
                            const BlockOrder& order, size_t worker, CpuBlocks& out) {
    code(planes, triples, order, worker, out);
  }
};

/// The block coder for the parameter coder = ebcot. Throws std::bad_alloc.
std::unique_ptr<CpuBlockCoder> make_cpu_ebcot(const Plan& plan, size_t workers);
/// The block coder for coder = ht. Throws std::bad_alloc.
std::unique_ptr<CpuBlockCoder> make_cpu_ht(const Plan& plan, size_t workers);

}  // namespace cj2k
