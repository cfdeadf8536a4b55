// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// How far the blocks of a frame are coded (cj2k_params::stop). A strategy asks for blocks, looks at
// what came of them, and asks again, until rate control has chosen from what there is.
//
//   none   every block to its last plane.
//   exact  only as far as rate control looks, without loss. A sample of the blocks is coded to the
//          end and predicts the slope at which rate control will stop (constant quality without a
//          cap knows it). The other blocks are coded down to that slope. Rate control then says
//          where it really stopped: a block that paused above that slope, and has planes left that
//          could reach it, goes on, and rate control runs again, until there is none.
//   pst, psb, bpi   the strategies of Martinez-del-Amor, Bruns and Sparenberg, "Parallel efficient
//          rate control methods for JPEG 2000" (2017), sections 5.1 to 5.3. Nothing goes on after
//          its stop, so they lose quality. They need a cap in bytes; without one they are `exact`.
//          With PTERM all are `none`.
//
// But for pst, which is told where the GOP before ended, all depends on the frame alone: the bytes
// do not depend on what was encoded before, or in parallel.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "backend.h"
#include "core/slope_search.h"
#include "plan.h"
#include "stages/rate.h"

namespace cj2k {

/// What every frame's EarlyStop looks up.
struct BlockSample {
  explicit BlockSample(const Plan& plan);
  std::vector<uint32_t> all;      ///< every block
  std::vector<uint32_t> blocks;   ///< indices, rising
  std::vector<uint32_t> weights;  ///< blocks of the same subband that each stands for
  std::vector<uint32_t> rest;     ///< all others, rising
};

/// The strategy that the frames of a plan are coded by: params.stop, or what stands in for it.
/// Exact may still have no cap to predict for (RateControl::has_cap).
cj2k_stop stop_in_force(const Plan& plan);

/// What a request is for: blocks, or a step whose decisions the backend takes itself
/// (Backend::decides). The frames of a GOP ask for the same one.
enum class CodeStep : uint8_t {
  kBlocks,   ///< Backend::code_blocks
  kSampled,  ///< Backend::code_sampled
  kPlanes,   ///< Backend::code_planes
};

/// The decisions of one frame: begin, then code what `request` says and ask for the `next`. Reuses
/// its memory.
class EarlyStop {
 public:
  /// `plan` and `sample` must outlive it. Throws std::bad_alloc.
  /// @param backend_decides  Backend::decides
  static std::unique_ptr<EarlyStop> make(const Plan& plan, const BlockSample& sample,
                                         bool backend_decides);
  virtual ~EarlyStop() = default;

  /// A new frame.
  /// @param previous  for pst: where the last frame of the GOP before ended; 0: there was none
  virtual void begin(const RateControl& rate, const SlopeThresholds& previous) = 0;
  /// The request has been coded: prepares the next one, or returns false when the final selection
  /// is in `rate`.
  virtual bool next(const CodedBlock* blocks, RateControl& rate) = 0;

  /// What to code; `frame` is the caller's.
  BlockRequest request(uint32_t frame) const { return {frame, wanted_, thresholds_}; }
  /// Planes below this one are not coded now. The frames of a GOP ask for the same one.
  uint32_t last_plane() const { return last_plane_; }
  CodeStep step() const { return step_; }
  /// After kSampled, before `next`: where the other blocks might stop.
  void set_thresholds(const SlopeThresholds& thresholds) { thresholds_ = thresholds; }

 protected:
  EarlyStop(const Plan& plan, const BlockSample& sample);
  /// Wants the blocks that are not coded yet, or paused although neither their slope nor what they
  /// have left is below the threshold of their component.
  bool want_open(const CodedBlock* blocks, const SlopeThresholds& thresholds);

  const Plan& plan_;
  const BlockSample& sample_;
  SlopeThresholds thresholds_{};
  uint32_t last_plane_ = 0;
  CodeStep step_ = CodeStep::kBlocks;
  std::span<const uint32_t> wanted_;
  std::vector<uint32_t> open_;
};

/// Bytes by slope, for psb (core/slope_search.h).
class SlopeByteTable {
 public:
  static constexpr uint32_t kEntries = kSlopeEntries;

  void clear() { bytes_.fill(0); }
  void add(uint16_t slope, uint32_t bytes) { bytes_[slope_entry(slope)] += bytes; }
  /// The lowest slope of the entry at which the bytes of this and all steeper ones exceed
  /// `target`; 0: they do not.
  uint16_t threshold(uint64_t target) const;
  const std::array<uint64_t, kEntries>& bytes() const { return bytes_; }

 private:
  std::array<uint64_t, kEntries> bytes_{};
};

/// psb and bpi (early_stop_planes.cc).
std::unique_ptr<EarlyStop> make_plane_stop(const Plan& plan, const BlockSample& sample,
                                           bool backend_decides);

}  // namespace cj2k
