// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The rules of depth/stop_rule.h on the CPU. kernels/rate/slopes.h has them on the GPU.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "coders/coded_block.h"
#include "depth/stop_rule.h"
#include "plan/plan.h"
#include "rate/slope_histogram.h"

namespace cj2k {

/// Codes blocks of a frame.
using CodeSome = std::function<void(const BlockOrder&)>;

/// There is one per frame in flight. The memory is reused from frame to frame.
class CpuStopRules {
 public:
  /// `plan` must outlive it. Throws std::bad_alloc.
  explicit CpuStopRules(const Plan& plan);
  ~CpuStopRules();
  static int64_t bytes(const Plan& plan);

  /// Codes the blocks of a request by its rule.
  /// @param sample  for StopRule::kPredicted
  /// @param blocks  [plan.blocks] results of `code`
  void run(BlockRequest& request, const BlockSample& sample, const CodedBlock* blocks,
           const CodeSome& code);

 private:
  struct PlaneTables;
  void run_planes(const BlockRequest& request, const CodedBlock* blocks, const CodeSome& code);
  void stop_by_slope(const ByteTargets& targets, const CodedBlock* blocks);
  void stop_by_bytes(const BlockRequest& request);

  const Plan& plan_;
  std::unique_ptr<SlopeHistogram> histogram_;  ///< for kPredicted
  std::vector<CodedBlock> plain_;              ///< BlockOutcome::plain
  // The rest is for kSlopeBytes and kBytes.
  uint32_t max_planes_ = 0;
  std::vector<uint32_t> open_;         ///< blocks that are coded in the plane
  std::vector<uint32_t> plane_bytes_;  ///< [open_] bytes that the plane took
  std::vector<uint32_t> bytes_;        ///< [plan.blocks] bytes of each block so far
  std::vector<uint8_t> stopped_;       ///< [plan.blocks] 1: stopped for good
  std::unique_ptr<PlaneTables> tables_;
};

}  // namespace cj2k
