// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The curve of a frame without an encode (curves = only). The magnitudes of each block are counted in
// classes, and a model of the block coder says what bytes the block takes down to the step of each
// class. LL blocks, which are few, are coded: the model takes flat pictures for many bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cj2k.h"
#include "coders/coded_block.h"
#include "depth/stop_rule.h"
#include "film/curve.h"
#include "pixels/coefficients.h"
#include "plan/plan.h"
#include "plan/plan_caps.h"

namespace cj2k {

/// The analysis of one frame at a time: measure all blocks, code order(), then take the curve.
class FrameAnalysis {
 public:
  /// Blocks that are measured at a time.
  static constexpr size_t kGrain = 64;

  /// Throws std::bad_alloc. `plan` must outlive it.
  explicit FrameAnalysis(const Plan& plan);

  /// Measures the blocks [begin, end). `begin` is a multiple of kGrain; `end` too, or all blocks end
  /// there. Different blocks may be measured at the same time.
  void measure(const CoefficientPlanes& planes, size_t begin, size_t end);
  /// What to code.
  const BlockOrder& order() const { return order_; }
  /// @param blocks  [plan.blocks]; those of the order are coded
  /// @param limits  those of the components count
  cj2k_curve curve(const CodedBlock* blocks, const RateLimits& limits) const;

 private:
  const Plan& plan_;
  const uint64_t empty_bytes_;
  std::vector<uint32_t> coded_;  ///< blocks of LL
  BlockOrder order_{};
  std::vector<CurveSum> sums_;  ///< [blocks / kGrain, rounded up], of the others
};

}  // namespace cj2k
