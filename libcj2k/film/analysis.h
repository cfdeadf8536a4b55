// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The curve of a frame without an encode (curves = only). The blocks of each kind of subband are put
// in the order of their magnitudes and cut into groups; the block in the middle of each group is coded
// and stands for the others. Its slopes move by the ratio of their magnitudes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cj2k.h"
#include "coders/coded_block.h"
#include "depth/stop_rule.h"
#include "film/curve.h"
#include "pixels/coefficients.h"
#include "plan/plan.h"
#include "plan/plan_caps.h"

namespace cj2k {

/// The analysis of one frame at a time: measure all blocks, then code order() until goes_on() says no.
class FrameAnalysis {
 public:
  /// Throws std::bad_alloc. `plan` must outlive it.
  explicit FrameAnalysis(const Plan& plan);

  /// Measures the blocks [begin, end). Different blocks may be measured at the same time.
  void measure(const CoefficientPlanes& planes, size_t begin, size_t end);
  /// Chooses the sample of a frame whose blocks are all measured.
  void begin(const RateLimits& limits);
  /// What to code.
  const BlockOrder& order() const { return order_; }
  /// @param blocks  [plan.blocks]; those of the order are coded
  /// @return whether order() must be coded further; else curve() is complete
  bool goes_on(const CodedBlock* blocks);
  const cj2k_curve& curve() const { return curve_; }

 private:
  int first_point();
  double expected_bytes(int point) const;
  void set_point(int point);
  double most_bytes() const;
  void extend();

  const Plan& plan_;
  const uint64_t empty_bytes_;
  std::vector<uint32_t> kind_;     ///< [blocks] component, level and orientation
  std::vector<uint32_t> sum_;      ///< [blocks] of magnitudes
  std::vector<uint32_t> by_kind_;  ///< all blocks, by kind and sum
  std::vector<uint32_t> stands_;   ///< [blocks] the coded block that stands for this one
  /// [blocks] 256 log2 of what an expected sample is, over the step that trades at slope 1
  std::vector<int> log_means_;
  std::vector<uint32_t> sample_;
  RateLimits limits_{};
  BlockOrder order_{};
  int point_ = 0;  ///< of the curve, down to which blocks are coded
  cj2k_curve curve_{};
};

}  // namespace cj2k
