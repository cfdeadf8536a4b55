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
#include "plan.h"

namespace cj2k::cuda {

/// Page-locked memory for data from the device. It begins with one chunk of the planned size and
/// adds chunks when a frame needs more.
class PinnedPool {
 public:
  Status reserve(simt::Context& context, uint64_t bytes);
  void reset() { chunk_ = used_ = 0; }
  Status take(uint64_t bytes, uint8_t** memory);
  /// What is taken after place() is free again after return_to.
  struct Place {
    size_t chunk, used;
  };
  Place place() const { return {chunk_, used_}; }
  /// Most bytes that `take` gives without a new chunk.
  uint64_t most() const;
  void return_to(const Place& place) {
    chunk_ = place.chunk;
    used_ = place.used;
  }

 private:
  simt::Context* context_ = nullptr;
  std::vector<simt::PinnedBuffer> chunks_;
  size_t chunk_ = 0, used_ = 0;
};

/// Offsets in CudaGopWork::pinned, its size, and the planned sizes of the pools, in bytes.
struct PinnedLayout {
  PinnedLayout(const Plan& plan, const PlanTables& tables);

  uint64_t list, resumed_list, weights, thresholds, results, totals, packed, gather;
  uint64_t outcomes, left, paused_passes;  ///< empty unless rate control runs on the device
  uint64_t peaks, ht_tasks, ht_results, ht_choices, ht_hulls;  ///< empty with coder = ebcot
  uint64_t bytes, hull_bytes, code_bytes;
  /// Of CudaGopWork::input: for frames in host memory that is not page-locked, from the first on.
  uint64_t input_bytes;
  uint64_t frame_jobs;  ///< most entries of `gather` for a frame
  uint64_t all_bytes() const { return bytes + hull_bytes + code_bytes + input_bytes; }
};

}  // namespace cj2k::cuda
