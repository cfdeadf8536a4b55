// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// How far blocks are coded, as data: the request of a strategy (depth/early_stop.h) to a backend.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/ht/plane_choice.h"
#include "core/slope_search.h"
#include "plan/plan.h"

namespace cj2k {

struct CodedBlock;   // coders/coded_block.h
struct FrameResult;  // rate/frame_result.h
struct RateLimits;   // plan/plan_caps.h

/// A part of the blocks of a plan, spread evenly over each subband. It stands for all blocks.
struct BlockShare {
  std::vector<uint32_t> blocks;   ///< indices of its blocks, rising
  std::vector<uint32_t> weights;  ///< [blocks] blocks of the same subband that each one stands for
  std::vector<uint32_t> rest;     ///< indices of all other blocks, rising
};

/// The share that is coded first, to predict from.
struct BlockSample : BlockShare {
  explicit BlockSample(const Plan& plan);
  std::vector<uint32_t> all;  ///< indices of all blocks, rising
  BlockShare larger;          ///< coder = ht, and RDOQ: a second sample; otherwise empty
};

/// When blocks pause or stop. They do so only after a bit-plane, and never with PTERM.
enum class StopRule : uint8_t {
  /// Each block is coded until it may pause at the threshold of its component (core/stop.h); with
  /// threshold 0, to its last plane. A paused block resumes and codes at least one plane. A block
  /// that cannot reach the threshold in any plane is not begun.
  kThresholds,
  /// All planes of the sample's blocks are coded. Their bytes by slope predict the thresholds at
  /// which the targets are used up (core/slope_search.h). The rest is coded by kThresholds with
  /// these.
  /// depth/ebcot_prediction.h and depth/ht_prediction.h have the orders of a frame.
  kPredicted,
  /// psb and bpi: all blocks are coded together, plane by plane from the highest. After each plane
  /// some blocks stop for good: psb decides by the bytes at each slope, bpi by the sum of bytes
  /// (core/stop.h).
  kSlopeBytes,
  kBytes,
};

inline constexpr StopRule kStopRules[] = {StopRule::kThresholds, StopRule::kPredicted,
                                          StopRule::kSlopeBytes, StopRule::kBytes};

/// Blocks of one frame to code, and how far.
struct BlockOrder {
  std::span<const uint32_t> blocks;  ///< indices, rising
  SlopeThresholds thresholds{};      ///< per component (core/stop.h); 0: blocks pause at no slope
  uint32_t last_plane = 0;           ///< planes below are not coded now
  uint32_t step_set = 0;             ///< quantisation of the frame (plan/plan.h)
  bool anew = false;                 ///< blocks that are coded already begin again
  /// Blocks vote on their steps (coders/coded_before.h). Needs step set 0.
  bool votes = false;
  HtPoints points = HtPoints::kNearSlope;  ///< coder = ht
  bool is_trial = false;                   ///< coder = ht: to predict from, with all passes
  /// coder = ht, HtPoints::kAll: the planes of all slopes from `thresholds` up to these are coded.
  SlopeThresholds highest{};
  /// Per component, the log-slope at which rate control is expected to end, for RDOQ
  /// (coders/ebcot/rdoq.h); 0: none. Needs `anew`, and effort 2 or 3.
  SlopeThresholds rdoq{};
};

/// What a backend says of a request besides the coded blocks.
struct BlockOutcome {
  bool coded_before = false;  ///< kPredicted: so the votes say
  /// kPredicted with RDOQ: the blocks of the larger sample (BlockSample::larger) without it.
  std::span<const CodedBlock> plain{};
  /// Not null if the backend has run rate control, and no block resumes. Valid until the next GOP with
  /// the same GopWork.
  const FrameResult* result = nullptr;
  /// Not 0: cj2k_frame::read returned this, and the blocks are not coded.
  int read_error = 0;
};

/// What a strategy asks for: for kThresholds an order. For the other rules all blocks, and the order
/// says at the end how they were coded: thresholds, step_set and rdoq.
struct BlockRequest : BlockOrder {
  uint32_t frame = 0;
  StopRule rule = StopRule::kThresholds;
  ByteTargets targets{};  ///< for all rules but kThresholds
  bool steps_known =
      false;  ///< step_set is given, with kPredicted too; then also a result: it may not change
  /// Where it is not null, the backend may run rate control and resume blocks by itself, under these
  /// limits and by the rules of the host (Backend::code_blocks).
  const RateLimits* limits = nullptr;
  BlockOutcome outcome{};
};

}  // namespace cj2k
