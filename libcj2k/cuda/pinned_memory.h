// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Page-locked host memory of a GOP in flight. All copies to and from its device memory
// (gop_memory.h) go through it.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/gop_memory.h"
#include "kernels/simt/device.h"
#include "plan/plan.h"

namespace cj2k::cuda {

/// Page-locked memory for data from the device: one chunk, allocated at open. PinnedLayout says for
/// what it is enough. Beyond that the pool adds chunks and keeps them; a device may stop for each.
class PinnedPool {
 public:
  Status reserve(simt::Context& context, uint64_t bytes);
  void reset() { chunk_ = used_ = 0; }
  Status take(uint64_t bytes, uint8_t** memory);
  /// Of the `taken` bytes that the last call of `take` gave, only the first `kept` stay taken.
  void shrink(uint64_t taken, uint64_t kept);
  /// What is taken after place() is free again after return_to.
  struct Place {
    size_t chunk, used;
  };
  Place place() const { return {chunk_, used_}; }
  /// Most bytes that `take` gives without a new chunk.
  uint64_t most() const;
  /// What is left of the memory that was allocated at open.
  uint64_t left_of_first() const { return chunk_ == 0 ? chunks_[0].bytes() - used_ : 0; }
  void return_to(const Place& place) {
    chunk_ = place.chunk;
    used_ = place.used;
  }

 private:
  simt::Context* context_ = nullptr;
  std::vector<simt::PinnedBuffer> chunks_;
  size_t chunk_ = 0, used_ = 0;
};

/// The cap of a frame by the parameters; kNoTarget: none.
uint64_t cap_of(const Plan& plan);

/// The arrays in CudaGopWork::pinned, its size, and the sizes of the pools, in bytes.
///
///     CudaGopWork::pinned   | gather | arrays of the block coder | rate |
///     CudaGopWork::hulls    | points, tails, segments |                  a pool, EBCOT alone
///     CudaGopWork::bytes    | brought ahead | chosen |                   a pool
///     CudaGopWork::input    | frames on their way up |                   when the first one needs it
///
/// The pool of hulls holds every pass of every block as a point, once. A block that goes on brings
/// its points again, but those that stopped early have few. The pool of bytes holds what may be
/// chosen: the caps of the parameters, or without one the most that blocks can take; and with a cap
/// what is brought before the choice, which may take nothing of the first part. So it grows only for
/// a frame with a cap of its own above that of the parameters, whose bytes are not known at open.
struct PinnedLayout {
  PinnedLayout(const Plan& plan, const PlanTables& tables);

  Span<GatherJob> gather;
  EbcotMemory ebcot;  ///< empty with coder = ht
  HtMemory ht;        ///< empty with coder = ebcot
  RateMemory rate;    ///< empty where rate control does not run on the device
  uint64_t bytes, hull_bytes, code_bytes;
  /// Of CudaGopWork::input: for frames in host memory that is not page-locked, from the first on.
  uint64_t input_bytes;
  uint64_t chosen_bytes;  ///< part of code_bytes that is kept for the bytes that are chosen
  uint64_t frame_jobs;    ///< most entries of `gather` for a frame
  uint64_t all_bytes() const { return bytes + hull_bytes + code_bytes + input_bytes; }
  /// Most bytes that may be brought before they are chosen.
  uint64_t most_ahead(const PinnedPool& pool) const {
    const uint64_t left = pool.left_of_first();
    return left > chosen_bytes ? left - chosen_bytes : 0;
  }

 private:
  void size_pools(const Plan& plan, const PlanTables& tables);
};

}  // namespace cj2k::cuda
