// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The interface of block coders in the CPU backend: the coefficients of a frame become its
// CodedBlocks.
#pragma once

#include <atomic>
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

/// A list of blocks from which several workers take one after the other.
class SharedBlocks {
 public:
  explicit SharedBlocks(std::span<const uint32_t> blocks) : blocks_(blocks) {}
  /// @param following  the next one in the list, or the same one
  /// @return false: there are no more
  bool take(uint32_t* block, uint32_t* following) {
    const size_t i = next_.fetch_add(1, std::memory_order_relaxed);
    if (i >= blocks_.size()) return false;
    *block = blocks_[i];
    *following = blocks_[i + 1 < blocks_.size() ? i + 1 : i];
    return true;
  }
  size_t size() const { return blocks_.size(); }

 private:
  const std::span<const uint32_t> blocks_;
  std::atomic<size_t> next_ = 0;
};

/// There is one per encoder. Its workers call it at the same time, each with its own index.
class CpuBlockCoder {
 public:
  virtual ~CpuBlockCoder() = default;
  /// Quantises and codes some blocks of an order, in the calling thread. A block that paused in an
  /// earlier call resumes. Deterministic: yes. Throws std::bad_alloc.
  virtual void code(const CoefficientPlanes& planes, std::span<const uint32_t> blocks,
                    const BlockOrder& order, size_t worker, CpuBlocks& out) = 0;
  /// Whether lists of this many blocks are coded faster by `code_shared`.
  virtual bool shares(size_t) const { return false; }
  /// The same, with blocks that all workers take from one list.
  virtual void code_shared(const CoefficientPlanes&, SharedBlocks&, const BlockOrder&, size_t,
                           CpuBlocks&) {}
  /// Triples that `code_triples` codes together, if the list has so many; 0: any number.
  virtual size_t triples_at_once() const { return 0; }
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
